package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPodWithAPresetNodeIsCounted(t *testing.T) {
	c := newCluster(t, gpuNode("preset", 2, gib80))
	c.install(dedicated)
	c.recorder.Bypass("preset")
	p := pod("preset", "fgpu.io/gpu-milli=700")
	p.Spec.NodeName = "preset"
	c.create(p)
	c.counted("preset")
}

func TestAPodBoundWithoutAnAssignmentIsCounted(t *testing.T) {
	c := newCluster(t, gpuNode("direct", 2, gib80))
	c.install(dedicated)
	c.recorder.Bypass("direct")
	p := pod("direct", "fgpu.io/gpu-milli=700")
	p.Spec.SchedulerName = "nobody"
	c.create(p)
	c.must(nil, plane.Client.CoreV1().Pods(c.namespace).Bind(c.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "direct"}, Target: corev1.ObjectReference{Kind: "Node", Name: "direct"},
	}, metav1.CreateOptions{}))
	c.counted("direct")
}

// counted checks that a pod of 700 milli on a node with two GPUs counts on both, because nobody knows which
// one it uses, and that it stops counting when it is gone.
func (c *cluster) counted(name string) {
	c.Helper()
	c.eventually("it counts as foreign on both GPUs", func() (bool, string) {
		s, err := c.fgpu.State(c.ctx)
		if err != nil {
			return false, err.Error()
		}
		for _, n := range s.Nodes {
			for _, g := range n.GPUs {
				if g.Milli.Charged != 700 || len(g.Allocations) != 1 || g.Allocations[0].State != "foreign" {
					return false, fmt.Sprintf("%s: %d milli charged, allocations %+v", g.UUID, g.Milli.Charged, g.Allocations)
				}
			}
		}
		return len(s.Nodes) > 0, "no node"
	})
	c.create(pod("half", "fgpu.io/gpu-milli=500"))
	c.refused("half")
	c.create(pod("beside", "fgpu.io/gpu-milli=300"))
	c.bound("beside")
	c.must(nil, c.remove(name))
	c.bound("half")
	c.sound()
}
