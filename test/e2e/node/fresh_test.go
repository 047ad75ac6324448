package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"fgpu.io/fgpu/test/e2e/harness"
)

// A fresh cluster: a control plane with its own kube-scheduler and kube-controller-manager, and one node. fgpu is not there yet;
// tests install it with kubectl, from images, as an admin does. FGPU_NODE_FRESH=1 runs these tests and no others.

const (
	fgpuImage      = "fgpu.test/fgpu:1"
	fgpuNodeImage  = "fgpu.test/fgpu-node:1"
	schedulerImage = "registry.k8s.io/kube-scheduler:v1.36.3" // as the manifests have it
	driverRoot     = "/run/nvidia/driver"                     // of the GPU Operator
)

func isFresh() bool { return os.Getenv("FGPU_NODE_FRESH") != "" }

func startFresh(ctx context.Context, dir string) error {
	var err error
	if plane, err = harness.StartControlPlane(ctx, os.Getenv("FGPU_CONTROL_PLANE"), dir, harness.ServeForPods(nodeIP)); err != nil {
		return err
	}
	if _, err := plane.StartControllers(ctx, os.Getenv("FGPU_CONTROLLERS")); err != nil {
		return err
	}
	kubeconfig, err := plane.UserKubeconfig("system:kube-scheduler")
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "default-scheduler.yaml")
	if err := write(config, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"clientConnection: {kubeconfig: %q}\nleaderElection: {leaderElect: false}\n", kubeconfig); err != nil {
		return err
	}
	if _, err := plane.StartScheduler(ctx, "default", config); err != nil {
		return err
	}
	say("control plane: ready")
	theNode = &machine{dir: dir}
	if err := theNode.fakeGPUs(); err != nil {
		return err
	}
	if err := theNode.driver(); err != nil {
		return err
	}
	if err := theNode.startContainerd(ctx); err != nil {
		return err
	}
	if err := theNode.importProducts(ctx); err != nil {
		return err
	}
	if err := theNode.startKubelet(ctx); err != nil {
		return err
	}
	say("containerd and kubelet: ready")
	return nil
}

// driver puts the scripted library of the driver, with its script, where the GPU Operator puts NVIDIA's.
func (m *machine) driver() error {
	library, err := os.ReadFile(os.Getenv("FGPU_FAKE_NVML"))
	if err != nil {
		return err
	}
	script, err := os.ReadFile(m.path("gpus"))
	if err != nil {
		return err
	}
	path := filepath.Join(driverRoot, "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, library, 0o755); err != nil {
		return err
	}
	return os.WriteFile(path+".script", script, 0o644)
}

// importProducts makes the images that an admin would make.
func (m *machine) importProducts(ctx context.Context) error {
	images := map[string]imageOf{}
	for name, file := range map[string]string{fgpuImage: os.Getenv("FGPU_BIN"), fgpuNodeImage: os.Getenv("FGPU_NODE"),
		schedulerImage: filepath.Join(plane.Bin, "kube-scheduler")} {
		programs, err := withLibraries(ctx, file)
		if err != nil {
			return err
		}
		images[name] = imageOf{programs: programs, env: []string{"PATH=/usr/bin"}, entrypoint: filepath.Base(file)}
	}
	return m.importAll(ctx, images)
}

var libraryPath = regexp.MustCompile(`(/\S+) \(0x`)

// withLibraries are a program, in /usr/bin, and all that its loader needs.
func withLibraries(ctx context.Context, program string) (map[string][]byte, error) {
	files := map[string]string{"usr/bin/" + filepath.Base(program): program}
	out, err := exec.CommandContext(ctx, "ldd", program).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "not a dynamic executable") {
		return nil, fmt.Errorf("ldd %s: %w: %s", program, err, out)
	}
	for _, match := range libraryPath.FindAllStringSubmatch(string(out), -1) {
		files[strings.TrimPrefix(match[1], "/")] = match[1]
	}
	content := map[string][]byte{}
	for name, file := range files {
		if content[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return content, nil
}
