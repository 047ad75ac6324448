package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"fgpu.io/fgpu/test/e2e/harness"
)

const namespace = "throughput"

// each runs f for 0..n-1, some of them at a time, and returns the errors.
func each(n int, f func(int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	next := make(chan int)
	for range min(16, n) {
		wg.Go(func() {
			for i := range next {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

func gpuNode(i int) *corev1.Node {
	name := fmt.Sprintf("gpu-node-%05d", i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	var gpus []string
	for g := range 8 {
		gpus = append(gpus, fmt.Sprintf(`{"uuid":"GPU-%05d-%d","index":%d,"memMib":81920}`, i, g, g))
	}
	n.Annotations = map[string]string{"fgpu.io/gpus": `{"v":1,"gpus":[` + strings.Join(gpus, ",") + `]}`}
	n.Status.Allocatable = harness.Quantities("cpu=128", "memory=1Ti", "pods=250")
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// isUnplanned: of every `each` pods one (0: none) has a port of its node, so planning ahead leaves it alone.
func isUnplanned(i, each int) bool { return each > 0 && i%each == each-1 }

// waitingPod asks for half a GPU: 250 of them fill 16 nodes.
func waitingPod(i int, annotation bool, unplanned int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", i), Namespace: namespace}}
	amounts := []string{"cpu=10m", "memory=16Mi"}
	if annotation {
		p.Annotations = map[string]string{"fgpu.io/gpu-fraction": "0.5"}
	} else {
		amounts = append(amounts, "fgpu.io/gpu-milli=500")
	}
	q := harness.Quantities(amounts...)
	p.Spec = corev1.PodSpec{SchedulerName: "fgpu-scheduler", Containers: []corev1.Container{{Name: "main",
		Image: "example.com/none", Resources: corev1.ResourceRequirements{Limits: q, Requests: q}}}}
	if isUnplanned(i, unplanned) {
		port := int32(20000 + i) // nobody else has it, so it keeps the pod from no node
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
	}
	return p
}

func (b *bench) createPods(ctx context.Context, n int, annotation bool) error {
	return each(n, func(i int) error {
		_, err := b.plane.Client.CoreV1().Pods(namespace).Create(ctx, waitingPod(i, annotation, b.unplanned), metav1.CreateOptions{})
		return err
	})
}

func (b *bench) deletePods(ctx context.Context, n int) error {
	zero := int64(0)
	return each(n, func(i int) error {
		return b.plane.Client.CoreV1().Pods(namespace).Delete(ctx, waitingPod(i, false, 0).Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	})
}

// A binding is a pod that was seen with a node.
type binding struct {
	at        time.Time
	pod, node string
}

// unplannedS is the mean time that the pods which are never planned have waited since kube-scheduler began.
func unplannedS(bound []binding, began time.Time, each int) float64 {
	sum, n := 0.0, 0
	for _, one := range bound {
		var i int
		if _, err := fmt.Sscanf(one.pod, "pod-%d", &i); err == nil && isUnplanned(i, each) {
			sum += one.at.Sub(began).Seconds()
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// boundPods watches until n pods are bound, in the order in which that is seen; `seen` is told how many there are after each.
func (b *bench) boundPods(ctx context.Context, n int, seen func(int)) ([]binding, error) {
	known := map[string]bool{}
	var bound []binding
	note := func(p *corev1.Pod) {
		if p.Spec.NodeName != "" && !known[p.Name] {
			known[p.Name] = true
			bound = append(bound, binding{time.Now(), p.Name, p.Spec.NodeName})
			seen(len(bound))
		}
	}
	for len(bound) < n {
		list, err := b.plane.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("%d of %d pods bound: %w", len(bound), n, err)
		}
		for i := range list.Items {
			note(&list.Items[i])
		}
		w, err := b.plane.Client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			return nil, fmt.Errorf("%d of %d pods bound: %w", len(bound), n, err)
		}
		for len(bound) < n {
			e, ok := <-w.ResultChan() // closed when ctx ends
			if !ok || e.Type == watch.Error {
				break
			}
			if p, isPod := e.Object.(*corev1.Pod); isPod {
				note(p)
			}
		}
		w.Stop()
	}
	return bound, nil
}

// opened is the number of nodes that the first n pods are on.
func opened(bound []binding, n int) int {
	nodes := map[string]bool{}
	for _, one := range bound[:min(n, len(bound))] {
		nodes[one.node] = true
	}
	return len(nodes)
}
