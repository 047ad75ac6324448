package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/checker"
)

// migNode has one A100 of 40 GB for each layout, "3g.20gb@4 1g.5gb@0"; "-" is a GPU that is not in MIG mode.
func migNode(name string, layouts ...string) *corev1.Node {
	type instance struct {
		UUID    string `json:"uuid"`
		Profile string `json:"profile"`
		Start   int    `json:"start"`
		MemMiB  int64  `json:"memMib"`
	}
	type gpu struct {
		UUID   string      `json:"uuid"`
		Index  int         `json:"index"`
		Model  string      `json:"model"`
		MemMiB int64       `json:"memMib"`
		MIG    *[]instance `json:"mig,omitempty"`
	}
	memory := map[string]int64{"1g.5gb": 4864, "2g.10gb": 9830, "3g.20gb": 19968}
	var gpus []gpu
	for i, layout := range layouts {
		g := gpu{UUID: fmt.Sprintf("GPU-%s-%d", name, i), Index: i, Model: "NVIDIA-A100-SXM4-40GB", MemMiB: 40960}
		if layout != "-" {
			list := []instance{}
			for _, text := range strings.Fields(layout) {
				profile, at, _ := strings.Cut(text, "@")
				list = append(list, instance{fmt.Sprintf("MIG-%s-%d-%s", name, i, at), profile, int(at[0] - '0'), memory[profile]})
			}
			g.MIG = &list
		}
		gpus = append(gpus, g)
	}
	text, err := json.Marshal(map[string]any{"v": 1, "gpus": gpus})
	if err != nil {
		panic(err)
	}
	n := plainNode(name)
	n.Annotations = map[string]string{checker.InventoryKey: string(text)}
	return n
}

func TestSevenPodsGetTheSevenInstancesOfAnA100(t *testing.T) {
	c := newCluster(t, migNode("seven", "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6"))
	c.install(dedicated)
	for i := range 7 {
		c.create(annotated(pod(fmt.Sprintf("one-%d", i)), "fgpu.io/mig-profile=1g.5gb"))
	}
	var got []string
	for i := range 7 {
		p := c.bound(fmt.Sprintf("one-%d", i))
		got = append(got, c.devices(p)["main"]...)
		if p.Annotations["fgpu.io/visible-devices.c0"] != got[i] {
			t.Errorf("%s sees %q and has %q", p.Name, p.Annotations["fgpu.io/visible-devices.c0"], got[i])
		}
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != 7 {
		t.Errorf("seven pods have %v", got)
	}
	c.create(annotated(pod("eighth"), "fgpu.io/mig-profile=1g.5gb"))
	c.refusedFor("eighth", "MIG instances", "taken")
	c.sound()
}

func TestFourTwoSliceInstancesOfAnA100AreImpossible(t *testing.T) {
	c := newCluster(t, migNode("two-slices", "2g.10gb@0 2g.10gb@2 2g.10gb@4"))
	c.install(dedicated)
	c.create(annotated(pod("four"), "fgpu.io/mig-profile=2g.10gb", "fgpu.io/gpu-count=4"))
	c.refusedFor("four", "cannot be cut")
	c.create(annotated(pod("three"), "fgpu.io/mig-profile=2g.10gb", "fgpu.io/gpu-count=3"))
	if got := c.devices(c.bound("three"))["main"]; len(got) != 3 {
		t.Errorf("three have %v", got)
	}
	c.sound()
}

func TestARequestForMemoryGetsTheSmallestInstanceAndSharesGetNone(t *testing.T) {
	c := newCluster(t, migNode("memory", "3g.20gb@4 2g.10gb@2 1g.5gb@0", "-"))
	c.install(dedicated)
	for _, x := range []struct{ name, memory, want string }{
		{"small", "4Gi", "MIG-memory-0-0"}, {"medium", "4Gi", "MIG-memory-0-2"}, {"large", "12Gi", "MIG-memory-0-4"},
		{"rest", "4Gi", "GPU-memory-1"},
	} {
		c.create(annotated(pod(x.name), "fgpu.io/gpu-memory="+x.memory))
		if got := c.devices(c.bound(x.name))["main"]; !slices.Equal(got, []string{x.want}) {
			t.Errorf("%s has %v, expected %s", x.name, got, x.want)
		}
	}
	c.create(annotated(pod("share"), "fgpu.io/gpu-fraction=0.3"))
	if got := c.devices(c.bound("share"))["main"]; !slices.Equal(got, []string{"GPU-memory-1"}) {
		t.Errorf("the share is on %v", got)
	}
	c.create(annotated(pod("whole"), "fgpu.io/gpu-count=1"))
	c.refused("whole")
	c.sound()
}

func TestInstancesOfAPluginAreCountedAndLeftToKubelet(t *testing.T) {
	c := newCluster(t, plainNode("counted", "nvidia.com/mig-1g.5gb=2", "nvidia.com/mig-3g.20gb=1"))
	c.install(dedicated)
	c.create(pod("a", "nvidia.com/mig-1g.5gb=1"), pod("b", "nvidia.com/mig-1g.5gb=1"), pod("c", "nvidia.com/mig-3g.20gb=1"))
	for _, name := range []string{"a", "b", "c"} {
		if p := c.bound(name); p.Annotations["fgpu.io/visible-devices.c0"] != "" {
			t.Errorf("%s was told to use %q", name, p.Annotations["fgpu.io/visible-devices.c0"])
		}
	}
	c.create(pod("d", "nvidia.com/mig-1g.5gb=1"))
	c.refused("d") // by kube-scheduler itself, from allocatable
	c.create(annotated(pod("past-the-plugin"), "fgpu.io/mig-profile=1g.5gb"))
	c.refusedFor("past-the-plugin", "MIG instances", "plugin")
	c.eventually("three counted instances are held", func() (bool, string) {
		state, err := c.fgpu.State(c.ctx)
		if err != nil {
			return false, err.Error()
		}
		held := 0
		for _, n := range state.Nodes {
			for _, g := range n.GPUs {
				if g.MIG != nil && g.MIG.Counted {
					held += len(g.Allocations)
				}
			}
		}
		return held == 3, fmt.Sprintf("%d are", held)
	})
	c.sound()
}
