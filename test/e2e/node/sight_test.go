package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The whole way: a pod with one line, kube-scheduler, fgpu, kubelet, containerd, fgpu-node, runc.
func TestAPodSeesItsGPUAlone(t *testing.T) {
	s := newScene(t)
	p := s.create(podOf("one", box("main", cudaImage, "fgpu.io/gpu-milli=300")))
	s.alone(p, "main", s.gpuOf(p))
}

// What the image says, what the pod says, and both, is not what the container sees.
func TestAPodWithoutAGPUSeesNone(t *testing.T) {
	s := newScene(t)
	all := corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}
	image, pod, both := box("image", cudaImage), box("pod", boxImage), box("both", cudaImage)
	pod.Env, both.Env = []corev1.EnvVar{all}, []corev1.EnvVar{all}
	p := s.create(podOf("plain", image, pod, both, box("neither", boxImage)))
	for _, name := range []string{"image", "pod", "both", "neither"} {
		s.nothing(p, name)
	}
}

// A container in a namespace that is exempt has what its image says: so what others see is the agent's work, and the
// program that looks can see more than "void".
func TestAnExemptNamespaceIsLeftAsItIs(t *testing.T) {
	s := newScene(t)
	s.namespace = "kube-system"
	p := s.create(podOf("system", box("main", cudaImage)))
	seen := s.sees(p, "main")
	equal(s, "NVIDIA_VISIBLE_DEVICES", seen.Visible, []string{"all"})
	equal(s, "files", seen.Nodes, []string{})
}

// One of two containers has a GPU, and the init container and the sidecar have none.
func TestOnlyTheContainerThatAsksHasTheGPU(t *testing.T) {
	s := newScene(t)
	first, sidecar, always := box("first", cudaImage), box("sidecar", cudaImage), corev1.ContainerRestartPolicyAlways
	first.Args, sidecar.RestartPolicy = []string{"glance"}, &always
	p := podOf("pair", box("with", cudaImage, "fgpu.io/gpu-milli=300"), box("without", cudaImage))
	p.Spec.InitContainers = []corev1.Container{first, sidecar}
	p = s.create(p)
	gpu := s.gpuOf(p)
	s.nothing(p, "first")
	s.nothing(p, "sidecar")
	s.alone(p, "with", gpu)
	s.nothing(p, "without")
}

// An init container has its GPU while it runs.
func TestAnInitContainerHasItsGPU(t *testing.T) {
	s := newScene(t)
	first := box("first", cudaImage, "fgpu.io/gpu-milli=1000")
	first.Args = []string{"glance"}
	p := podOf("early", box("main", cudaImage))
	p.Spec.InitContainers = []corev1.Container{first}
	p = s.create(p)
	s.alone(p, "first", s.gpuOf(p))
	s.nothing(p, "main")
}

// A sidecar and two containers, each with its own share; what they see may be one GPU or several.
func TestASidecarAndTwoContainersHaveTheirOwn(t *testing.T) {
	s := newScene(t)
	sidecar, always := box("sidecar", cudaImage, "fgpu.io/gpu-milli=300"), corev1.ContainerRestartPolicyAlways
	sidecar.RestartPolicy = &always
	p := podOf("three", box("half", cudaImage, "fgpu.io/gpu-milli=500"), box("most", cudaImage, "fgpu.io/gpu-milli=900"))
	p.Spec.InitContainers = []corev1.Container{sidecar}
	p = s.create(p)
	s.gpuOf(p)
	for _, name := range []string{"sidecar", "half", "most"} {
		s.alone(p, name, s.gpuOfContainer(p, name))
	}
}

// A container with two GPUs sees both.
func TestSeveralGPUs(t *testing.T) {
	s := newScene(t)
	p := s.create(podOf("two", box("main", cudaImage, "fgpu.io/gpu-count=2")))
	seen := s.sees(p, "main")
	equal(s, "files", seen.Nodes, []string{"/dev/nvidia0", "/dev/nvidia1"})
	equal(s, "GPUs that its cgroup allows", seen.Allowed, []int{0, 1})
}

// Two pods with a share each of one GPU see that one.
func TestTwoPodsShareAGPU(t *testing.T) {
	s := newScene(t)
	for _, name := range []string{"first", "second"} {
		p := s.create(unscheduled(name))
		s.bindAs(p, 1, 500)
		s.alone(p, "main", 1)
	}
}
