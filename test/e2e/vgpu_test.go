package e2e

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/checker"
)

// The device plugin of K8vGPUSharing is imitated: its node publishes what it would.

func TestVGPUUnitsShareTheGPUsOfNodesThatSayHowManyThereAre(t *testing.T) {
	c := newCluster(t, plainNode("units", "nvidia.com/vgpu=2000"), plainNode("more-units", "nvidia.com/vgpu=1000"))
	c.install(dedicated)
	var pods []*corev1.Pod
	for i := range 9 { // three on each of three GPUs
		pods = append(pods, pod(fmt.Sprintf("three-hundred-%d", i), "nvidia.com/vgpu=300"))
	}
	c.create(pods...)
	c.allBound(9)
	// 300 units are left, a hundred on each GPU.
	c.create(pod("two-hundred", "nvidia.com/vgpu=200"))
	c.refusedFor("two-hundred", "compute")
	c.create(pod("hundred", "nvidia.com/vgpu=100"), pod("not-whole", "nvidia.com/vgpu=1500"))
	c.bound("hundred")
	c.refused("not-whole")
	c.sound()
}

// F59: half a GPU was refused as an inventory, and rounded up to a whole one where kubelet picks.
func TestHalfAGPUIsHalfAGPU(t *testing.T) {
	c := newCluster(t, plainNode("half", "nvidia.com/vgpu=500"))
	c.install(dedicated)
	// kube-scheduler does not count these names: what refuses is fgpu.
	c.create(pod("eight-hundred", "fgpu.io/gpu-milli=800"), pod("whole", "fgpu.io/gpu-count=1"))
	c.refusedFor("eight-hundred", "compute")
	c.refused("whole")
	c.create(pod("three-hundred", "nvidia.com/vgpu=300"))
	c.bound("three-hundred")
	c.create(pod("two-hundred", "fgpu.io/gpu-milli=200"))
	c.bound("two-hundred")
	c.create(pod("third", "fgpu.io/gpu-milli=1"))
	c.refusedFor("third", "compute")
	c.sound()
}

func TestHalfAGPUOfAPluginIsHalfAGPU(t *testing.T) {
	s := checker.Default()
	s.Compute = map[corev1.ResourceName]int64{"fgpu.io/gpu-milli": 1000}
	s.Plugin, s.Sold = []corev1.ResourceName{"nvidia.com/vgpu"}, map[corev1.ResourceName]int64{"nvidia.com/vgpu": 1000}
	c := newClusterWith(t, s, plainNode("plugin-half", "nvidia.com/vgpu=500"))
	c.installResources(dedicated, `resources:
  compute:
  - {name: fgpu.io/gpu-milli, unitsPerGPU: 1000}
  - {name: nvidia.com/vgpu, unitsPerGPU: 1000, picks: kubelet}
`)
	c.create(pod("eight-hundred", "fgpu.io/gpu-milli=800"))
	c.refusedFor("eight-hundred", "compute")
	c.create(pod("three-hundred", "nvidia.com/vgpu=300"), pod("two-hundred", "nvidia.com/vgpu=200"))
	for _, name := range []string{"three-hundred", "two-hundred"} {
		if p := c.bound(name); p.Annotations["fgpu.io/visible-devices.c0"] != "" {
			t.Errorf("%s is told to use %q, but kubelet picks", name, p.Annotations["fgpu.io/visible-devices.c0"])
		}
	}
	c.create(pod("third", "nvidia.com/vgpu=1"), pod("share", "fgpu.io/gpu-milli=1"))
	c.refused("third")
	c.refusedFor("share", "whole GPUs")
	c.sound()
}

func TestQualityOfServiceThroughARestart(t *testing.T) {
	s := checker.Default()
	s.QoS, s.NothingLent, s.MaxSharers = "equal-share", true, 4
	c := newClusterWith(t, s, plainNode("qos", "nvidia.com/vgpu=2000"))
	c.installWith(dedicated, "devices: {qos: equal-share, lendIdleCompute: forbid, maxSharers: 4}\n")
	for _, x := range []struct{ name, units, qos, percentage string }{
		{"even", "10", "", "25"}, {"larger", "300", "", "30"}, {"effort", "100", "best-effort", "10"}, {"fixed", "450", "fixed-share", "45"},
		{"equal", "20", "equal-share", "25"},
	} {
		p := pod(x.name, "nvidia.com/vgpu="+x.units)
		if x.qos != "" {
			p = annotated(p, "fgpu.io/qos="+x.qos)
		}
		c.create(p)
		if got := c.bound(x.name).Annotations["fgpu.io/mps-active-thread-percentage.c0"]; got != x.percentage {
			t.Errorf("%s may use %s%%, expected %s%%", x.name, got, x.percentage)
		}
	}
	c.sound()
	c.stopped(c.fgpu)
	c.must(nil, c.fgpu.Start(c.ctx))
	c.sound()
	// 1350 of 2000 are charged: what is asked for would fit, the even part does not fit everywhere.
	c.create(pod("sixth", "nvidia.com/vgpu=1"), pod("seventh", "nvidia.com/vgpu=1"), pod("eighth", "nvidia.com/vgpu=1"))
	c.eventually("two more have an even part", func() (bool, string) {
		n := c.recorder.Bound()
		return n == 7, fmt.Sprintf("%d are bound", n)
	})
	c.sound()
}

// profiled is a node whose plugin publishes virtual GPUs of one profile.
func profiled(name, label, profile string, n int) *corev1.Node {
	node := plainNode(name, fmt.Sprintf("nvidia.com/gpu=%d", n))
	node.Labels[label] = profile
	return node
}

func TestTheSmallestVirtualGPUThatFitsWhereverItIs(t *testing.T) {
	c := newCluster(t, profiled("a-sixteen", "vgpu.type", "v100-16q-16GB", 1), profiled("four", "virtual.gpu.type", "v100-4q-4GB", 2),
		profiled("z-eight", "virtual.gpu.type", "v100-8q-8GB", 1), profiled("unknown", "vgpu.type", "v100-8z-8GB", 1))
	c.install(dedicated)
	for _, x := range []struct{ name, memory, node string }{
		{"six", "6Gi", "z-eight"}, {"small", "1Gi", "four"}, {"six-more", "6Gi", "a-sixteen"}, {"four-more", "4Gi", "four"},
	} {
		c.create(annotated(pod(x.name), "fgpu.io/gpu-memory="+x.memory))
		if p := c.bound(x.name); p.Spec.NodeName != x.node {
			t.Errorf("%s of %s is on %s, expected %s", x.name, x.memory, p.Spec.NodeName, x.node)
		}
	}
	c.create(annotated(pod("none-left"), "fgpu.io/gpu-memory=1Gi"))
	c.refusedFor("none-left", "held whole", "device plugin")
	// As K8vGPUSharing's own users ask: the plugin hands out what nobody guesses about.
	whole := pod("by-selector", "nvidia.com/gpu=1")
	whole.Spec.NodeSelector = map[string]string{"vgpu.type": "v100-8z-8GB"}
	c.create(whole)
	if p := c.bound("by-selector"); p.Spec.NodeName != "unknown" {
		t.Errorf("by-selector is on %s", p.Spec.NodeName)
	}
	taken := pod("taken", "nvidia.com/gpu=1")
	taken.Spec.NodeSelector = map[string]string{"virtual.gpu.type": "v100-8q-8GB"}
	c.create(taken)
	c.refusedFor("taken", "shares")
	c.told("unknown", "does not guess")
	c.sound()
}

func TestTheSmallestInstanceOfAllNodes(t *testing.T) {
	c := newCluster(t, migNode("a-large", "3g.20gb@4 3g.20gb@0"), migNode("b-medium", "2g.10gb@2"), gpuNode("c-gpu", 1, gib80))
	c.install(dedicated)
	var got []string
	for i := range 4 {
		c.create(annotated(pod(fmt.Sprint("nine-", i)), "fgpu.io/gpu-memory=9Gi"))
		got = append(got, c.bound(fmt.Sprint("nine-", i)).Spec.NodeName)
	}
	if want := []string{"b-medium", "a-large", "a-large", "c-gpu"}; !slices.Equal(got, want) {
		t.Errorf("they are on %v, expected %v", got, want)
	}
	c.sound()
}
