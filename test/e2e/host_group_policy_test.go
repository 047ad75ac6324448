package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
)

// A machine cannot leave its host group while its pods hold the GPUs that it shares; the admin can take it out.
func TestAKubeletDoesNotChangeTheHostGroupOfItsNode(t *testing.T) {
	c := newCluster(t, gpuNode("grouped", 1, gib80), gpuNode("alone", 1, gib80))
	c.must(nil, plane.Apply(c.ctx, manifest("policies", "host-groups.yaml")))
	admin := plane.Client
	c.must(nil, patchNode(c, admin, "grouped", `{"metadata":{"labels":{"fgpu.io/host-group":"h1"}}}`))
	kubelet := func(node string) *kubernetes.Clientset {
		client, err := plane.Impersonate("system:node:"+node, "system:masters")
		c.must(client, err)
		return client
	}
	label := func(key, value string) string {
		return fmt.Sprintf(`{"metadata":{"labels":{"fgpu.io/%s":%s}}}`, key, value)
	}
	n := 0
	c.eventually("the API server acts on manifests/policies/host-groups.yaml", func() (bool, string) {
		n++
		err := patchNode(c, kubelet("alone"), "alone", label("host-gpu-memory", fmt.Sprintf(`"%dGi"`, n)))
		return err != nil && strings.Contains(err.Error(), "ask an admin"), fmt.Sprint(err)
	})
	for _, patch := range []string{label("host-group", "null"), label("host-group", `"h2"`), label("host-group", `""`),
		label("host-gpu-memory", `"1Gi"`)} {
		for _, subresources := range [][]string{nil, {"status"}} {
			if err := patchNode(c, kubelet("grouped"), "grouped", patch, subresources...); err == nil {
				t.Errorf("a kubelet wrote %s through %v", patch, subresources)
			}
		}
	}
	c.must(nil, patchNode(c, kubelet("grouped"), "grouped", `{"metadata":{"labels":{"example.com/rack":"7"}}}`))
	c.must(nil, patchNode(c, kubelet("grouped"), "grouped", `{"status":{"allocatable":{"cpu":"7"}}}`, "status"))
	c.must(nil, patchNode(c, admin, "grouped", label("host-group", `"h2"`)))
	c.must(nil, patchNode(c, admin, "grouped", label("host-group", "null")))
}
