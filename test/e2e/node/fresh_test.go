package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fgpu.io/fgpu/test/e2e/harness"
)

// A fresh cluster: a control plane with its own kube-scheduler and kube-controller-manager, and one node. fgpu is not there yet;
// tests install it with kubectl, from images, as an admin does. FGPU_NODE_FRESH=1 runs these tests and no others.

const (
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

// importProducts imports the images of scripts/image as they are, and kube-scheduler, which is one file.
func (m *machine) importProducts(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(os.Getenv("FGPU_IMAGES"), "*.tar"))
	if err != nil || len(files) != 2 {
		return fmt.Errorf("images of fgpu and fgpu-node in FGPU_IMAGES=%q: %v %w", os.Getenv("FGPU_IMAGES"), files, err)
	}
	for _, file := range files {
		if err := m.ctr(ctx, "images", "import", file); err != nil {
			return err
		}
	}
	scheduler, err := os.ReadFile(filepath.Join(plane.Bin, "kube-scheduler"))
	if err != nil {
		return err
	}
	return m.importAll(ctx, map[string]imageOf{schedulerImage: {programs: map[string][]byte{"usr/bin/kube-scheduler": scheduler},
		env: []string{"PATH=/usr/bin"}, entrypoint: "kube-scheduler"}})
}
