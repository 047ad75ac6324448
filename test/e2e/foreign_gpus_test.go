package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shown waits until /state says this of the node.
func (c *cluster) shown(node, what string, is bool) {
	c.Helper()
	c.eventually(fmt.Sprintf("node %s to have %s: %v in /state", node, what, is), func() (bool, string) {
		body, err := c.fgpu.Ops(c.ctx, "/state?node="+node)
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(string(body), `"name":"`+node+`"`) && strings.Contains(string(body), what) == is, string(body)
	})
}

// Issue item 15: ten tenths of one GPU became ten GPUs for shares.
func TestAllocatableAloneMakesNoGPUs(t *testing.T) {
	c := newCluster(t, plainNode("ten", "nvidia.com/gpu=10"))
	c.install(dedicated)
	c.create(pod("share", "fgpu.io/gpu-milli=100"))
	c.refusedFor("share", "device plugin")
	c.told("ten", "no shares")
	c.create(pod("whole", "nvidia.com/gpu=1"))
	if p := c.bound("whole"); p.Spec.NodeName != "ten" {
		t.Errorf("a pod for nvidia.com/gpu is on %s", p.Spec.NodeName)
	}
	c.sound()
}

func TestAllocatableMakesGPUsWhereTheAdminSaysSo(t *testing.T) {
	c := newCluster(t, plainNode("ten", "nvidia.com/gpu=10"),
		labelled(plainNode("vouched", "nvidia.com/gpu=1"), "fgpu.io/allocatable=whole-gpus"))
	c.install(dedicated)
	c.create(pod("a", "fgpu.io/gpu-milli=600"), pod("b", "fgpu.io/gpu-milli=400"))
	for _, name := range []string{"a", "b"} {
		if p := c.bound(name); p.Spec.NodeName != "vouched" {
			t.Errorf("%s is on %s", name, p.Spec.NodeName)
		}
	}
	c.create(pod("c", "fgpu.io/gpu-milli=100"))
	c.refused("c")
	c.sound()
}

// gpuSlice is what the NVIDIA driver for dynamic resource allocation publishes of a node.
func gpuSlice(node *corev1.Node) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name + "-gpu.nvidia.com"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver:   "gpu.nvidia.com",
			NodeName: &node.Name,
			Pool:     resourcev1.ResourcePool{Name: node.Name, Generation: 1, ResourceSliceCount: 1},
			Devices:  []resourcev1.Device{{Name: "gpu-0"}},
		},
	}
}

func TestResourceSlicesCloseTheirNode(t *testing.T) {
	node := gpuNode("dra", 1, gib80)
	c := newCluster(t, node)
	c.install(dedicated)
	slices := plane.Client.ResourceV1().ResourceSlices()
	slice, err := slices.Create(c.ctx, gpuSlice(node), metav1.CreateOptions{})
	c.must(slice, err)
	t.Cleanup(func() { _ = slices.Delete(c.ctx, slice.Name, metav1.DeleteOptions{}) })
	c.shown("dra", `"elsewhere":true`, true)
	c.create(pod("share", "fgpu.io/gpu-milli=100"))
	c.refusedFor("share", "another system")
	c.must(nil, slices.Delete(c.ctx, slice.Name, metav1.DeleteOptions{}))
	if p := c.bound("share"); p.Spec.NodeName != "dra" { // who waits is told
		t.Errorf("the share is on %s", p.Spec.NodeName)
	}
	c.sound()
}
