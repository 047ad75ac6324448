package pages

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// standIn does what schedulers and kubelets would, as far as commands wait for it: every pod has a node at once and is ready, one that
// is not started again succeeds, and one that is deleted is gone. Nothing runs. There are nodes node-1 to node-5, and the namespace team
// with the pod "shares".
func standIn(t *testing.T, client *kubernetes.Clientset) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	for i := range 5 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1)}, Status: nodeStatus()}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	shares := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shares"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "none.example/none"}}}}
	if _, err := client.CoreV1().Pods("team").Create(ctx, shares, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for beat := 0; ctx.Err() == nil; beat++ {
			if beat%50 == 0 { // or kube-controller-manager calls the nodes dead after 50 s
				heartbeats(ctx, client)
			}
			pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
			if err == nil {
				for i := range pods.Items {
					advance(ctx, client, &pods.Items[i])
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() { cancel(); work.Wait() }
}

func nodeStatus() corev1.NodeStatus {
	return corev1.NodeStatus{
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110")},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}},
	}
}

func heartbeats(ctx context.Context, client *kubernetes.Clientset) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range nodes.Items {
		nodes.Items[i].Status.Conditions = nodeStatus().Conditions
		_, _ = client.CoreV1().Nodes().UpdateStatus(ctx, &nodes.Items[i], metav1.UpdateOptions{}) // the next beat tries again
	}
}

// nodeFor is the node that a DaemonSet chose, or one that no page drains.
func nodeFor(p *corev1.Pod) string {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, field := range term.MatchFields {
				return field.Values[0]
			}
		}
	}
	return "node-2"
}

// advance takes a pod one step further. What fails (it changed meanwhile, it is gone) is tried again by the next look.
func advance(ctx context.Context, client *kubernetes.Clientset, p *corev1.Pod) {
	pods := client.CoreV1().Pods(p.Namespace)
	phase := corev1.PodRunning
	if p.Spec.RestartPolicy == corev1.RestartPolicyNever {
		phase = corev1.PodSucceeded
	}
	switch {
	case p.DeletionTimestamp != nil:
		now := int64(0)
		_ = pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	case p.Spec.NodeName == "":
		_ = pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name},
			Target: corev1.ObjectReference{Kind: "Node", Name: nodeFor(p)}}, metav1.CreateOptions{})
	case p.Status.Phase != phase:
		p.Status.Phase = phase
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		_, _ = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	}
}
