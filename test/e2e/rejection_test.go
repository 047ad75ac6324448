package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasons collects the notes of all FailedScheduling events of a pod.
func (c *cluster) reasons(name string) []string {
	c.Helper()
	events, err := plane.Client.EventsV1().Events(c.namespace).List(c.ctx, metav1.ListOptions{})
	c.must(events, err)
	var notes []string
	for _, e := range events.Items {
		if e.Regarding.Name == name && e.Reason == "FailedScheduling" {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

func TestAnUnschedulablePodGetsATrueAndConstantReason(t *testing.T) {
	c := newCluster(t, gpuNode("reason-a", 1, gib80), gpuNode("reason-b", 1, gib80))
	c.install(dedicated)
	// Two different causes, one on each node: a has compute but no memory left, b memory but no compute.
	on := func(name, node string, requests ...string) {
		p := pod(name, requests...)
		p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": node}
		c.create(p)
		c.bound(name)
	}
	on("memory", "reason-a", "fgpu.io/gpu-milli=100", "fgpu.io/gpu-memory-mib=80000")
	on("compute", "reason-b", "fgpu.io/gpu-milli=900", "fgpu.io/gpu-memory-mib=1024")
	for i := range 3 {
		on(fmt.Sprintf("tick-%d", i), "reason-b", "fgpu.io/gpu-milli=5", "fgpu.io/gpu-memory-mib=128")
	}
	c.create(pod("waiting", "fgpu.io/gpu-milli=500", "fgpu.io/gpu-memory-mib=8192"))
	first := c.refused("waiting")
	for _, want := range []string{"0/2 nodes are available", "enough free compute", "enough free memory"} {
		if !strings.Contains(first, want) {
			t.Errorf("reason %q lacks %q", first, want)
		}
	}
	// The amounts that are free change, the causes do not: so must not the text. A deleted pod wakes the waiting one in
	// every minor; a new one does so since 1.32 only.
	attempts := func() int {
		n, err := c.scheduler.Attempts(c.ctx)
		c.must(n, err)
		return n["unschedulable"]
	}
	for i := range 3 {
		before := attempts()
		on(fmt.Sprintf("small-%d", i), "reason-b", "fgpu.io/gpu-milli=10", "fgpu.io/gpu-memory-mib=256")
		c.must(nil, c.remove(fmt.Sprintf("tick-%d", i)))
		c.eventually("the pod was tried again", func() (bool, string) {
			return attempts() > before, fmt.Sprintf("%d attempts", attempts())
		})
		if again := c.refused("waiting"); again != first {
			t.Errorf("the reason changed from %q to %q", first, again)
		}
	}
	c.eventually("the reason stands in an Event", func() (bool, string) {
		notes := c.reasons("waiting")
		return len(notes) > 0, "no FailedScheduling event"
	})
	for _, note := range c.reasons("waiting") {
		if !strings.Contains(note, first) && !strings.Contains(first, note) {
			t.Errorf("an event says %q, the pod's condition %q", note, first)
		}
	}

	// Nothing changes any more: kube-scheduler must not ask in a loop.
	time.Sleep(2 * time.Second)
	before := attempts()
	time.Sleep(10 * time.Second)
	if after := attempts(); after-before > 2 {
		t.Errorf("%d attempts in a row although nothing changed: kube-scheduler spins", after-before)
	}
	c.sound()
}

func TestAPodThatNoNodeCanEverTakeIsToldSo(t *testing.T) {
	c := newCluster(t, gpuNode("small", 2, gib80), plainNode("no-gpu"))
	c.install(dedicated)
	c.create(pod("huge", "fgpu.io/gpu-memory-mib=100000"), pod("many", "fgpu.io/gpu-count=3"))
	c.refusedFor("huge", "less memory", "no GPU")
	c.refusedFor("many", "fewer GPUs")
}

func TestAWaitingPodIsBoundWhenAGPUNodeAppears(t *testing.T) {
	c := newCluster(t, plainNode("no-gpu-yet"))
	c.install(dedicated)
	c.create(pod("early", "fgpu.io/gpu-milli=500"))
	c.refused("early")
	n, err := plane.Client.CoreV1().Nodes().Create(c.ctx, gpuNode("arrival", 1, gib80), metav1.CreateOptions{})
	c.must(n, err)
	c.nodes = append(c.nodes, n)
	c.recorder.SetNodes(c.nodes)
	if p := c.bound("early"); p.Spec.NodeName != "arrival" {
		t.Errorf("bound to %s", p.Spec.NodeName)
	}
	c.sound()
}
