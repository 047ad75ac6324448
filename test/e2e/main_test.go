// Package e2e drives real etcd, kube-apiserver and kube-scheduler with fgpu in front, from the files in
// manifests/. Nothing is mocked and nothing is skipped: without a control plane or without the fgpu binary
// the tests fail.
//
// Environment:
//
//	FGPU_BIN            the binary under test (default ../../build/release/fgpu)
//	FGPU_CONTROL_PLANE  folder with etcd, kube-apiserver, kube-scheduler (default: scripts/control-plane builds it)
//	FGPU_KUBE_SCHEDULER a kube-scheduler of another minor (scripts/test-minors)
//	FGPU_E2E_SEED       number that chooses the random moments of faults (default: the clock; always printed)
//	FGPU_E2E_KEEP       set: keep logs and data also when everything passed
package e2e

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"fgpu.io/fgpu/test/e2e/harness"
)

var (
	plane  *harness.ControlPlane
	root   string // of the repository
	binary string
	dice   *rand.Rand
	began  = time.Now()
)

func manifest(parts ...string) string {
	return filepath.Join(append([]string{root, "manifests"}, parts...)...)
}

// say prints progress with the time since the start.
func say(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	var err error
	if root, err = filepath.Abs(filepath.Join("..", "..")); err != nil {
		return 1, err
	}
	if binary = os.Getenv("FGPU_BIN"); binary == "" {
		binary = filepath.Join(root, "build", "release", "fgpu")
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return 1, err
	}
	seed := time.Now().UnixNano() % 1000000
	if text := os.Getenv("FGPU_E2E_SEED"); text != "" {
		if seed, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 1, fmt.Errorf("FGPU_E2E_SEED: %w", err)
		}
	}
	dice = rand.New(rand.NewSource(seed))
	say("random moments of faults: FGPU_E2E_SEED=%d", seed)

	bin, err := controlPlane()
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "fgpu-e2e-")
	if err != nil {
		return 1, err
	}
	ctx := context.Background()
	if plane, err = harness.StartControlPlane(ctx, bin, dir); err != nil {
		return 1, err
	}
	defer plane.Stop()
	if path := os.Getenv("FGPU_KUBE_SCHEDULER"); path != "" {
		plane.SchedulerPath = path
	}
	say("etcd and kube-apiserver serve; the kube-scheduler is %s", plane.SchedulerPath)
	if err := plane.Apply(ctx, manifest("dedicated", "namespace.yaml"), manifest("dedicated", "rbac.yaml"),
		manifest("control-plane", "rbac.yaml"), manifest("control-plane", "flow-control.yaml"),
		manifest("flow-control", "flow-schemas.yaml"), manifest("policies", "policies.yaml")); err != nil {
		return 1, err
	}
	if err := policiesAreInForce(ctx); err != nil {
		return 1, err
	}
	code := m.Run()
	if sharedFgpu != nil && sharedFgpu.Running() {
		if err := sharedFgpu.StopCleanly(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			code = 1
		}
	}
	for _, line := range timings {
		fmt.Println(line)
	}
	if code != 0 || os.Getenv("FGPU_E2E_KEEP") != "" {
		say("logs are in %s", dir)
		return code, nil
	}
	plane.Stop()
	return code, os.RemoveAll(dir)
}

// controlPlane finds the binaries, building what is missing.
func controlPlane() (string, error) {
	if dir := os.Getenv("FGPU_CONTROL_PLANE"); dir != "" {
		return dir, nil
	}
	cmd := exec.Command(filepath.Join(root, "scripts", "control-plane"))
	cmd.Stderr = os.Stdout // its progress is ours
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/control-plane: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}
