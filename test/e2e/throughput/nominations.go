package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fgpu.io/fgpu/test/e2e/harness"
)

// planned is what became of fgpu's nominations in a round; of a fgpu that does not plan ahead all are 0.
type planned struct {
	Made      float64 `json:"made"`
	Used      float64 `json:"used"` // bound where they were nominated
	Withdrawn float64 `json:"withdrawn"`
	Changed   float64 `json:"changed"` // patches that met another version of the pod
}

var nominationMetric = regexp.MustCompile(`(?m)^fgpu_nomination(?:s|_failures)_total\{result="(\w+)"\} (\d+)$`)

// plannedBy reads it from the metrics of a fgpu that has bound all pods.
func plannedBy(ctx context.Context, f *harness.Fgpu) (planned, error) {
	var p planned
	if f == nil {
		return p, nil
	}
	text, err := f.Ops(ctx, "/metrics")
	if err != nil {
		return p, err
	}
	for _, m := range nominationMetric.FindAllSubmatch(text, -1) {
		n, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return p, err
		}
		switch string(m[1]) {
		case "made":
			p.Made = n
		case "used":
			p.Used = n
		case "withdrawn":
			p.Withdrawn = n
		case "changed":
			p.Changed = n
		}
	}
	return p, nil
}

// nominate writes a node into each of the pods, 16 to a node as fgpu would, and returns what that cost the API server, in ms of CPU a pod.
func (b *bench) nominate(ctx context.Context, client *kubernetes.Clientset, manager string, pods int) (float64, error) {
	before := cpuMs(b.plane.API.Pid())
	err := each(pods, func(i int) error {
		patch := fmt.Sprintf(`{"status":{"nominatedNodeName":%q}}`, gpuNode(i/16).Name)
		_, err := client.CoreV1().Pods(namespace).Patch(ctx, waitingPod(i, false, 0).Name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{FieldManager: manager}, "status")
		return err
	})
	return (cpuMs(b.plane.API.Pid()) - before) / float64(pods), err
}

const (
	policy      = "fgpu-plan-ahead"
	fgpuAccount = "system:serviceaccount:fgpu-system:fgpu"
)

// patches prints what one nomination costs the API server in CPU time, when nobody watches the pods: as somebody whom the policy does not look at, as
// fgpu with it, and as fgpu after it is gone.
func (b *bench) patches(ctx context.Context, pods, rounds int) error {
	fgpu, err := b.plane.Impersonate(fgpuAccount)
	if err != nil {
		return err
	}
	measure := func(what string, client *kubernetes.Clientset) error {
		if err := b.createPods(ctx, pods, false); err != nil {
			return err
		}
		ms, err := b.nominate(ctx, client, "bench", pods)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %.2f ms of the API server's CPU for a nomination (%d of them; load %.1f)\n", what, ms, pods, loadAverage())
		return b.deletePods(ctx, pods)
	}
	for range rounds {
		if err := measure("by another user, whom the policy passes over", b.plane.Client); err != nil {
			return err
		}
		if err := measure("by fgpu, judged by the policy", fgpu); err != nil {
			return err
		}
	}
	admission := b.plane.Client.AdmissionregistrationV1()
	if err := admission.ValidatingAdmissionPolicyBindings().Delete(ctx, policy, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := admission.ValidatingAdmissionPolicies().Delete(ctx, policy, metav1.DeleteOptions{}); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // until the API server knows
	for range rounds {
		if err := measure("by fgpu, without the policy", fgpu); err != nil {
			return err
		}
	}
	return nil
}
