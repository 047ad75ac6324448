package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// kai is a pod that asks in the annotations of Run:ai and KAI-Scheduler, on one node.
func kai(name, node string, pairs ...string) *corev1.Pod {
	p := annotated(pod(name), pairs...)
	p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	return p
}

// serveKAI runs fgpu from the shipped configuration with dialects.kai, behind the form that such pods need.
func (c *cluster) serveKAI() {
	c.Helper()
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest("dedicated", "fgpu.yaml"), config,
		harness.Replacement{Old: "election: none\n", New: "election: none\ndialects: {kai: serve}\n"}))
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, config, kubeconfig); err != nil {
		c.Fatal(err)
	}
	c.startScheduler(dedicated)
}

func TestFractionsInTheAnnotationsOfRunAI(t *testing.T) {
	settings := checker.Default()
	settings.KAI = true
	c := newClusterWith(t, settings, gpuNode("eighths", 1, 81559), gpuNode("sixteen", 1, 81559),
		gpuNode("several", 2, 81559), gpuNode("foreign", 2, 81559))
	c.serveKAI()

	var eighths, others []*corev1.Pod
	for i := range 8 {
		eighths = append(eighths, kai(fmt.Sprintf("eighth-%d", i), "eighths", "gpu-fraction=0.125"))
	}
	c.create(eighths...)
	for _, p := range eighths {
		if got := c.devices(c.bound(p.Name)); len(got["main"]) != 1 || got["main"][0] != "GPU-eighths-0" {
			t.Errorf("%s has %v", p.Name, got)
		}
	}
	c.create(kai("pair", "several", "gpu-fraction=0.5", "gpu-fraction-num-devices=2"))
	if got := c.devices(c.bound("pair")); len(got["main"]) != 2 {
		t.Errorf("the pair has %v", got)
	}
	second := kai("second", "several", "gpu-memory=20480", "gpu-fraction-container-name=worker")
	second.Spec.Containers = append(second.Spec.Containers, container("worker"))
	others = append(others, second)
	for i := range 8 { // wherever they go, one GPU has room for the second, which takes 0.26
		others = append(others, kai(fmt.Sprintf("small-%d", i), "several", "gpu-fraction=0.06"))
	}
	for i := range 16 {
		others = append(others, kai(fmt.Sprintf("sixteen-%d", i), "sixteen", "gpu-fraction=0.06"))
	}
	c.create(others...)
	for _, p := range others {
		c.bound(p.Name)
	}
	if p := c.bound("second"); len(c.devices(p)["worker"]) != 1 || len(c.devices(p)["main"]) != 0 ||
		p.Annotations["fgpu.io/visible-devices.c1"] == "" ||
		p.Annotations["fgpu.io/mps-pinned-device-mem-limit.c1"] != "0=20480M" {
		t.Errorf("hand-off of the named container: %v", p.Annotations)
	}

	// Bound past fgpu, as KAI's own binder would: on every GPU, because nobody knows which.
	bypass := kai("bypass", "foreign", "gpu-fraction=0.7")
	bypass.Spec.SchedulerName = "kai-scheduler"
	c.recorder.Bypass("bypass")
	c.create(bypass)
	c.must(nil, plane.Client.CoreV1().Pods(c.namespace).Bind(c.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "bypass"}, Target: corev1.ObjectReference{Kind: "Node", Name: "foreign"},
	}, metav1.CreateOptions{}))
	c.create(kai("beside", "foreign", "gpu-fraction=0.4"))
	c.refused("beside")

	c.create(kai("ninth", "eighths", "gpu-fraction=0.125"))
	c.refusedFor("ninth", "too few GPUs")
	c.sound()
	c.fgpu.Kill()
	c.must(nil, c.fgpu.Start(c.ctx))
	c.sound()
	c.must(nil, c.remove("eighth-3"))
	c.bound("ninth")
	c.sound()
}

func TestImpossibleFractionsOfRunAIAreRefusedWithTheirReason(t *testing.T) {
	settings := checker.Default()
	settings.KAI = true
	c := newClusterWith(t, settings, gpuNode("impossible", 2, gib80))
	c.serveKAI()
	const fraction, memory = "gpu-fraction", "gpu-memory"
	bad := map[string]struct {
		pod    *corev1.Pod
		reason string
	}{
		"nan":        {annotated(pod("nan"), "gpu-fraction=NaN"), fraction},
		"zero":       {annotated(pod("zero"), "gpu-fraction=0"), fraction},
		"one":        {annotated(pod("one"), "gpu-fraction=1"), fraction},
		"large":      {annotated(pod("large"), "gpu-fraction=1.5"), fraction},
		"comma":      {annotated(pod("comma"), "gpu-fraction=0,5"), fraction},
		"unit":       {annotated(pod("unit"), "gpu-memory=4Gi"), memory},
		"both":       {annotated(pod("both"), "gpu-fraction=0.5", "gpu-memory=4096"), "not both"},
		"native":     {annotated(pod("native"), "gpu-fraction=0.5", "fgpu.io/gpu-fraction=0.5"), "two vocabularies"},
		"resource":   {annotated(pod("resource", "fgpu.io/gpu-milli=500"), "gpu-fraction=0.5"), "two vocabularies"},
		"nobody":     {annotated(pod("nobody"), "gpu-fraction=0.5", "gpu-fraction-container-name=x"), "names no container"},
		"no-devices": {annotated(pod("no-devices"), "gpu-fraction=0.5", "gpu-fraction-num-devices=0"), "number of GPUs"},
	}
	var pods []*corev1.Pod
	for _, b := range bad {
		pods = append(pods, b.pod)
	}
	c.create(pods...)
	for name, b := range bad {
		c.refusedFor(name, b.reason)
		c.eventually("an Event names the reason", func() (bool, string) {
			notes := c.reasons(name)
			return len(notes) > 0 && strings.Contains(notes[0], b.reason), fmt.Sprint(notes)
		})
	}
	c.create(annotated(pod("good"), "gpu-fraction=0.5"))
	c.bound("good")
	c.sound()
}
