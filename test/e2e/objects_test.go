package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// gpuNode is a node that publishes its GPUs in the native annotation. `more` are "resource=quantity" in
// allocatable.
func gpuNode(name string, gpus int, memMiB int64, more ...string) *corev1.Node {
	n := plainNode(name, more...)
	type gpu struct {
		UUID   string `json:"uuid"`
		Index  int    `json:"index"`
		Minor  int    `json:"minor"`
		Model  string `json:"model"`
		MemMiB int64  `json:"memMib"`
	}
	doc := struct {
		V    int   `json:"v"`
		GPUs []gpu `json:"gpus"`
	}{V: 1}
	for i := range gpus {
		doc.GPUs = append(doc.GPUs, gpu{fmt.Sprintf("GPU-%s-%d", name, i), i, i, "NVIDIA-A100-SXM4-80GB", memMiB})
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	n.Annotations = map[string]string{checker.InventoryKey: string(text)}
	return n
}

func plainNode(name string, more ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = harness.Quantities(append([]string{"cpu=128", "memory=1Ti", "pods=250"}, more...)...)
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	return n
}

func container(name string, requests ...string) corev1.Container {
	q := harness.Quantities(append([]string{"cpu=10m", "memory=16Mi"}, requests...)...)
	return corev1.Container{Name: name, Image: "example.com/none", Resources: corev1.ResourceRequirements{Limits: q, Requests: q}}
}

// pod with one container and "resource=quantity" requests.
func pod(name string, requests ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{container("main", requests...)}}}
}

func annotated(p *corev1.Pod, pairs ...string) *corev1.Pod {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		p.Annotations[key] = value
	}
	return p
}
