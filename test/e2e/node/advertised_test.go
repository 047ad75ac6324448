package node

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The form "advertised", with totals that nobody wrote but the agent: a second kube-scheduler beside the one of the form
// "dedicated", with the shipped file.

const advertised = "fgpu-advertised"

var advertisedConfig string // startFgpu writes it

func TestTheAgentsTotalsPreemptAndAreWhatAnAutoscalerSees(t *testing.T) {
	s := newScene(t)
	s.must(awaitPublished(s.ctx))
	scheduler, err := plane.StartScheduler(s.ctx, advertised, advertisedConfig)
	s.must(err)
	defer func() { s.must(scheduler.Stop()) }()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Value: 1000}
	_, err = plane.Client.SchedulingV1().PriorityClasses().Create(s.ctx, class, metav1.CreateOptions{})
	s.must(err)
	defer func() {
		s.must(plane.Client.SchedulingV1().PriorityClasses().Delete(s.ctx, class.Name, metav1.DeleteOptions{}))
	}()
	share := func(name, milli string) *corev1.Pod {
		p := podOf(name, box("main", cudaImage, "fgpu.io/gpu-milli="+milli))
		p.Spec.SchedulerName = advertised
		return p
	}
	holders := map[int]string{}
	for _, name := range []string{"first", "second"} {
		p := s.create(share(name, "800"))
		gpu := s.gpuOf(p)
		s.alone(p, "main", gpu)
		holders[gpu] = name
	}
	if len(holders) != len(gpus) {
		t.Fatalf("the two pods hold %v", holders)
	}

	// 400 of 2000 milli are left. kube-scheduler itself says so, by NodeResourcesFit: what the simulation of a cluster
	// autoscaler runs, too, on this node and on a copy of it, which has the totals. So it would add a node.
	equalPriority := s.create(share("equal", "500"))
	s.until("kube-scheduler's reason", func() (bool, string) {
		for _, c := range s.get("equal").Status.Conditions {
			if c.Type == corev1.PodScheduled && strings.Contains(c.Message, "1 Insufficient fgpu.io/gpu-milli") {
				return c.Reason == corev1.PodReasonUnschedulable, c.Message
			}
		}
		return false, fmt.Sprint(s.get("equal").Status.Conditions)
	})
	s.remove(equalPriority.Name)

	// A pod of higher priority: kube-scheduler asks a pod to go, kubelet ends it, and its share of the GPU is the other's.
	high := share("high", "600")
	high.Spec.PriorityClassName = class.Name
	high = s.create(high)
	gpu := s.gpuOf(high)
	s.alone(high, "main", gpu)
	left := 0
	for _, name := range holders {
		if p, err := plane.Client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{}); err == nil && p.DeletionTimestamp == nil {
			left++
		}
	}
	equal(s, "pods of lower priority that are left", left, 1)
}
