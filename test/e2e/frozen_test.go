package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (c *cluster) annotate(name, key, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
	_, err := plane.Client.CoreV1().Pods(c.namespace).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func TestRequestsAndRecordsOfBoundPodsAreFrozen(t *testing.T) {
	c := newCluster(t, gpuNode("frozen", 1, gib80))
	policies := plane.Client.AdmissionregistrationV1()
	c.must(nil, plane.Apply(c.ctx, manifest("frozen-requests.yaml")))
	defer func() {
		name := "fgpu-frozen-requests"
		c.must(nil, policies.ValidatingAdmissionPolicyBindings().Delete(c.ctx, name, metav1.DeleteOptions{}))
		c.must(nil, policies.ValidatingAdmissionPolicies().Delete(c.ctx, name, metav1.DeleteOptions{}))
	}()
	c.install(annotationsOnly)
	asked := annotated(pod("asked"), "fgpu.io/gpu-fraction=0.3", "fgpu.io/qos=best-effort", "other=1")
	c.create(asked, annotated(pod("runai"), "gpu-fraction=0.5"))
	c.bound("asked")
	c.bound("runai")
	// An edit that means nothing here, and another one each time: what stays the same is never refused.
	tries := 100
	c.eventually("the API server acts on the policy", func() (bool, string) {
		tries++
		return c.annotate("runai", "gpu-fraction-num-devices", fmt.Sprintf("%q", fmt.Sprint(tries))) != nil, "an edit went through"
	})
	for _, edit := range []struct{ pod, key, value string }{
		{"asked", "fgpu.io/gpu-fraction", `"0.1"`}, {"asked", "fgpu.io/gpu-fraction", "null"},
		{"asked", "fgpu.io/gpu-memory", `"1Gi"`}, {"asked", "fgpu.io/qos", `"fixed-share"`},
		{"asked", "fgpu.io/assignment", `"{}"`}, {"asked", "fgpu.io/visible-devices.c0", `"GPU-x"`},
		{"asked", "gpu-memory", `"1"`},
		{"runai", "gpu-fraction", `"0.1"`}, {"runai", "gpu-fraction", "null"}, {"runai", "gpu-memory", `"1"`},
		{"runai", "gpu-fraction-num-devices", `"2"`}, {"runai", "gpu-fraction-container-name", `"main"`},
	} {
		if err := c.annotate(edit.pod, edit.key, edit.value); err == nil || !strings.Contains(err.Error(), "once the pod has a node") {
			t.Errorf("%s: %s to %s: %v", edit.pod, edit.key, edit.value, err)
		}
	}
	// A pod without a node may still change its mind. It comes last: before the others it would take their room.
	c.create(annotated(pod("waiting"), "fgpu.io/gpu-fraction=0.9"))
	c.refused("waiting")
	c.must(nil, c.annotate("waiting", "fgpu.io/gpu-fraction", `"0.95"`))
	c.must(nil, c.annotate("asked", "other", `"2"`))
	c.must(nil, c.annotate("asked", "another", `"3"`))
	c.must(nil, c.remove("runai"))
	c.sound()
}
