package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

const (
	requiredPlugins = "required-plugins.noderesource.dev"
	cdiContainer    = "nvidia.cdi.k8s.io/container."
	kaiContainer    = "nvidia.com/container."
)

// serveHandOffs runs fgpu from the shipped configuration with a hand-off by the label `pool` of a node.
func (c *cluster) serveHandOffs() {
	c.Helper()
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest("dedicated", "fgpu.yaml"), config, harness.Replacement{Old: "election: none\n", New: `election: none
devices:
  overrides:
  - {nodeSelector: {pool: cdi}, handOff: nvidia-cdi}
  - {nodeSelector: {pool: kai}, handOff: kai-fractioning}
`}))
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, config, kubeconfig); err != nil {
		c.Fatal(err)
	}
	c.startScheduler(dedicated)
}

func pooled(n *corev1.Node, pool string) *corev1.Node {
	n.Labels["pool"] = pool
	return n
}

// The Binding carries the keys past the shipped policies, which keep everybody else from writing them.
func TestTheBindingSaysWhatTheProgramOfTheNodeReads(t *testing.T) {
	byAgent := gpuNode("of-agent", 1, gib80)
	byAgent.Annotations[checker.InventoryKey] = strings.Replace(byAgent.Annotations[checker.InventoryKey], `"v":1`, `"v":1,"by":"fgpu-node"`, 1)
	settings := checker.Default()
	settings.HandOffs = map[string]string{"of-cdi": "nvidia-cdi", "of-kai": "kai-fractioning"}
	c := newClusterWith(t, settings, pooled(gpuNode("of-cdi", 1, gib80), "cdi"), pooled(gpuNode("of-kai", 1, gib80), "kai"), byAgent)
	c.serveHandOffs()
	on := func(name, node string, pairs ...string) *corev1.Pod {
		p := annotated(pod(name, "fgpu.io/gpu-milli=300"), pairs...)
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		return p
	}
	c.create(on("cdi", "of-cdi", requiredPlugins+"=[a]"), on("kai", "of-kai"), on("agent", "of-agent", requiredPlugins+"=- a\n- \"b\"\n"))
	for name, want := range map[string]map[string]string{
		"cdi": {cdiContainer + "main": "nvidia.com/gpu=GPU-of-cdi-0", requiredPlugins: "[a]", "fgpu.io/visible-devices.c0": ""},
		"kai": {kaiContainer + "main.gpus.devices": "GPU-of-kai-0", kaiContainer + "main.gpu-memory.request": "24576Mi",
			kaiContainer + "main.gpu-memory.limit": "24576Mi", kaiContainer + "main.gpu-compute.mode": "time-slicing",
			kaiContainer + "main.gpu-compute.portion": "0.3"},
		"agent": {requiredPlugins: `["a","b","fgpu"]`, "fgpu.io/visible-devices.c0": "GPU-of-agent-0"},
	} {
		p := c.bound(name)
		if p.Annotations[checker.AssignmentKey] == "" {
			t.Errorf("%s has no record", name)
		}
		for key, value := range want {
			if got := p.Annotations[key]; got != value {
				t.Errorf("%s: %s is %q, expected %q", name, key, got, value)
			}
		}
	}

	// Nobody else: neither later, nor in the place of fgpu.
	c.denied("another GPU, later", c.annotate("cdi", cdiContainer+"main", `"nvidia.com/gpu=all"`), "exemptNamespaces")
	c.denied("no memory limit, later", c.annotate("kai", kaiContainer+"main.gpu-memory.limit", `"1Ti"`), "exemptNamespaces")
	_, err := plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, on("forged", "of-kai", kaiContainer+"main.gpu-compute.portion=1"), dryRun)
	c.denied("forged at once", err, "exemptNamespaces")
	waiting := on("waiting", "of-kai")
	waiting.Spec.SchedulerName = "nobody"
	c.create(waiting)
	err = plane.Client.CoreV1().Pods(c.namespace).Bind(c.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "waiting", Annotations: map[string]string{kaiContainer + "main.gpus.devices": "all"}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "of-kai"}}, metav1.CreateOptions{DryRun: dryRun.DryRun})
	c.denied("a Binding of somebody else", err, "only fgpu may send")
	c.sound()
}

func TestAPodWithANameTooLongForTheHandOffIsRefusedWithAReason(t *testing.T) {
	settings := checker.Default()
	settings.HandOffs = map[string]string{"long-names": "nvidia-cdi"}
	c := newClusterWith(t, settings, pooled(gpuNode("long-names", 1, gib80), "cdi"))
	c.serveHandOffs()
	named := func(name string, bytes int) *corev1.Pod {
		p := pod(name, "fgpu.io/gpu-milli=300")
		p.Spec.Containers[0].Name = strings.Repeat("n", bytes)
		return p
	}
	c.create(named("fits", 53), named("too-long", 54))
	key := cdiContainer + strings.Repeat("n", 53)
	if got := c.bound("fits").Annotations[key]; got != "nvidia.com/gpu=GPU-long-names-0" {
		t.Errorf("%s is %q", key, got)
	}
	c.refusedFor("too-long", "name of a container is too long")
	c.sound()
}
