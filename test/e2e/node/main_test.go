// Package node tests what a container on a real node sees of GPUs: etcd, kube-apiserver, kube-scheduler, fgpu, kubelet,
// containerd with NRI, runc and fgpu-node, all as they are shipped. Only the GPUs are not real: device files without a
// driver behind them.
//
// `run` prepares namespaces of their own and starts the tests there. Environment, all set by it:
//
//	FGPU_BIN, FGPU_NODE, FGPU_FAKE_NVML   what is under test, and the scripted library of the driver
//	FGPU_NRI_PROBE                        another plugin of the runtime (test/nri/probe)
//	FGPU_CONTROL_PLANE                    folder with etcd, kube-apiserver, kube-scheduler (scripts/control-plane)
//	FGPU_KUBELET                          folder with kubelet (scripts/control-plane --kubelet)
//	FGPU_CONTAINERD                       folder with containerd, its shim, ctr (scripts/control-plane --containerd)
//	FGPU_CONTROLLERS                      folder with kube-controller-manager and kubectl (--controllers), in a fresh cluster
//	FGPU_IMAGES                           folder with the images of fgpu and fgpu-node (scripts/image), in a fresh cluster
//	FGPU_NODE_BOX                         the program of the images (box/)
//	FGPU_NODE_DIR, FGPU_NODE_CGROUP       where everything is kept; the cgroup of all pods
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fgpu.io/fgpu/test/e2e/harness"
)

var (
	plane   *harness.ControlPlane
	theNode *machine
	began   = time.Now()
)

// say prints progress with the time since the start.
func say(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "node e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx := context.Background()
	dir := os.Getenv("FGPU_NODE_DIR")
	if err := addressIsOurs(); err != nil {
		return 1, err
	}
	for _, name := range []string{"FGPU_BIN", "FGPU_NODE", "FGPU_FAKE_NVML", "FGPU_NRI_PROBE",
		"FGPU_CONTROL_PLANE", "FGPU_KUBELET", "FGPU_CONTAINERD", "FGPU_NODE_BOX", "FGPU_NODE_DIR", "FGPU_NODE_CGROUP"} {
		if os.Getenv(name) == "" {
			return 1, fmt.Errorf("%s is not set: start the tests with scripts/node-e2e", name)
		}
	}
	if err := os.Setenv("PATH", os.Getenv("FGPU_CONTAINERD")+":"+os.Getenv("PATH")); err != nil { // containerd looks for its shim
		return 1, err
	}
	if isFresh() {
		err := startFresh(ctx, dir)
		if plane != nil {
			defer plane.Stop()
		}
		if err != nil {
			return 1, err
		}
		return m.Run(), nil
	}
	var err error
	if plane, err = harness.StartControlPlane(ctx, os.Getenv("FGPU_CONTROL_PLANE"), dir); err != nil {
		return 1, err
	}
	defer plane.Stop()
	say("etcd and kube-apiserver: ready")
	stop, err := startFgpu(ctx)
	if err != nil {
		return 1, err
	}
	if theNode, err = startMachine(ctx, dir); err != nil {
		return 1, err
	}
	code := m.Run()
	if err := errors.Join(theNode.stopAgent(), stop()); err != nil {
		return 1, err
	}
	return code, nil
}

var theFgpu *harness.Fgpu

// startFgpu runs fgpu and its kube-scheduler from the shipped files of the form "dedicated"; only addresses and paths are replaced.
func startFgpu(ctx context.Context) (stop func() error, err error) {
	manifest := func(name string) string { return filepath.Join("..", "..", "..", "manifests", "dedicated", name) }
	agents := func(name string) string { return filepath.Join("..", "..", "..", "manifests", "node", name) }
	if err := plane.Apply(ctx, manifest("namespace.yaml"), manifest("rbac.yaml"), agents("namespace.yaml"), agents("rbac.yaml"),
		agents("policy.yaml")); err != nil {
		return nil, err
	}
	kubeconfig, err := plane.Kubeconfig(ctx, "fgpu-system", "fgpu")
	if err != nil {
		return nil, err
	}
	fgpu, err := plane.StartFgpu(ctx, os.Getenv("FGPU_BIN"), "fgpu", manifest("fgpu.yaml"), kubeconfig)
	theFgpu = fgpu
	if err != nil {
		return nil, err
	}
	if kubeconfig, err = plane.Kubeconfig(ctx, "fgpu-system", "fgpu-scheduler"); err != nil {
		return nil, err
	}
	config := filepath.Join(plane.Dir, "scheduler.yaml")
	ours := []harness.Replacement{{Old: `kubeconfig: ""`, New: fmt.Sprintf("kubeconfig: %q", kubeconfig)},
		{Old: "http://127.0.0.1:9443", New: fgpu.VerbsURL}}
	if err := harness.Adapt(manifest("scheduler.yaml"), config, ours...); err != nil {
		return nil, err
	}
	scheduler, err := plane.StartScheduler(ctx, "fgpu", config)
	if err != nil {
		return nil, err
	}
	advertisedConfig = filepath.Join(plane.Dir, "scheduler-advertised.yaml")
	if err := harness.Adapt(manifest("scheduler-advertised.yaml"), advertisedConfig, append(ours,
		harness.Replacement{Old: "schedulerName: fgpu-scheduler", New: "schedulerName: " + advertised},
		harness.Replacement{Old: "leaderElect: true", New: "leaderElect: false"})...); err != nil {
		return nil, err
	}
	say("fgpu and kube-scheduler: ready")
	return func() error {
		if err := scheduler.Stop(); err != nil {
			return err
		}
		return fgpu.StopCleanly()
	}, nil
}
