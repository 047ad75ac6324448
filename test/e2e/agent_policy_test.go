package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fgpu.io/fgpu/test/e2e/harness"
)

// What the agent of a node may write at a real API server: manifests/node, with tokens as kubelet gets them.

type agent struct {
	*cluster
	client *kubernetes.Clientset
}

// agentOn is the agent whose pod is on this node.
func (c *cluster) agentOn(node string) *agent {
	c.Helper()
	second := int64(0)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node, Namespace: harness.AgentNamespace},
		Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: harness.AgentAccount, TerminationGracePeriodSeconds: &second,
			Containers: []corev1.Container{container("agent")}}}
	p, err := plane.Client.CoreV1().Pods(p.Namespace).Create(c.ctx, p, createOptions)
	c.must(p, err)
	c.Cleanup(func() {
		c.must(nil, plane.Client.CoreV1().Pods(p.Namespace).Delete(c.ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &second}))
	})
	token, err := plane.AgentToken(c.ctx, harness.BoundToPod(p))
	c.must(token, err)
	client, err := plane.ClientWith(token)
	c.must(client, err)
	return &agent{c, client}
}

func patchNode(c *cluster, client *kubernetes.Clientset, node, patch string, subresources ...string) error {
	_, err := client.CoreV1().Nodes().Patch(c.ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// withAgents installs manifests/node but for the DaemonSet, and waits until the API server acts on the policy.
func (c *cluster) withAgents() {
	c.Helper()
	c.must(nil, plane.Apply(c.ctx, manifest("node", "namespace.yaml"), manifest("node", "rbac.yaml"), manifest("node", "policy.yaml")))
	token, err := plane.TokenFor(c.ctx, harness.AgentNamespace, harness.AgentAccount) // bound to nothing
	c.must(token, err)
	client, err := plane.ClientWith(token)
	c.must(client, err)
	i := 0
	c.eventually("the API server acts on manifests/node/policy.yaml", func() (bool, string) {
		i++
		err := patchNode(c, client, "agent-a", fmt.Sprintf(`{"metadata":{"annotations":{"fgpu.io/gpus":"%d"}}}`, i))
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"), fmt.Sprint(err)
	})
}

const (
	inventoryPatch = `{"metadata":{"annotations":{"fgpu.io/gpus":"{\"v\":1,\"gpus\":[]}"}}}`
	totalsPatch    = `{"status":{"capacity":{"fgpu.io/gpu-milli":"2000","fgpu.io/gpu-memory-mib":"1024","fgpu.io/gpu-count":"2"},
		"allocatable":{"fgpu.io/gpu-milli":"2000","fgpu.io/gpu-memory-mib":"1024","fgpu.io/gpu-count":"2"}}}`
)

func TestAnAgentWritesAboutItsOwnNode(t *testing.T) {
	c := newCluster(t, gpuNode("agent-a", 1, gib80), gpuNode("agent-b", 1, gib80))
	c.withAgents()
	a := c.agentOn("agent-a")
	c.must(nil, patchNode(c, a.client, "agent-a", inventoryPatch))
	c.must(nil, patchNode(c, a.client, "agent-a", totalsPatch, "status"))
	n, err := a.client.CoreV1().Nodes().Get(c.ctx, "agent-a", metav1.GetOptions{})
	c.must(n, err)
	if q := n.Status.Allocatable["fgpu.io/gpu-milli"]; q.Value() != 2000 || n.Annotations["fgpu.io/gpus"] != `{"v":1,"gpus":[]}` {
		t.Errorf("the node has %v and %v", n.Status.Allocatable, n.Annotations)
	}

	// As it writes: over what it has seen only, the status included.
	seen := fmt.Sprintf(`{"metadata":{"resourceVersion":%q`, n.ResourceVersion)
	c.must(nil, patchNode(c, a.client, "agent-a", seen+`},"status":{"capacity":{"fgpu.io/gpu-milli":"1000"}}}`, "status"))
	for _, subresources := range [][]string{nil, {"status"}} {
		if err := patchNode(c, a.client, "agent-a", seen+`,"annotations":{"fgpu.io/gpus":"late"}}}`, subresources...); !apierrors.IsConflict(err) {
			t.Errorf("a patch of %v of what was there before: %v", subresources, err)
		}
	}
	c.must(nil, patchNode(c, a.client, "agent-a", `{"metadata":{"annotations":{"fgpu.io/gpus":null}}}`))
	c.must(nil, patchNode(c, a.client, "agent-a", `{"status":{"capacity":{"fgpu.io/gpu-count":null},"allocatable":{"fgpu.io/gpu-count":null}}}`, "status"))

	// Of another node nothing, not even that.
	c.denied("another node", patchNode(c, a.client, "agent-b", inventoryPatch), "its own pod only")
	c.denied("totals of another node", patchNode(c, a.client, "agent-b", totalsPatch, "status"), "its own pod only")
	c.must(nil, patchNode(c, c.agentOn("agent-b").client, "agent-b", inventoryPatch))
	c.must(nil, patchNode(c, plane.Client, "agent-b", `{"metadata":{"labels":{"others":"may"}}}`))
}

func TestAnAgentWritesNothingElse(t *testing.T) {
	c := newCluster(t, gpuNode("agent-a", 1, gib80))
	c.withAgents()
	c.must(nil, patchNode(c, plane.Client, "agent-a", `{"metadata":{"annotations":{"other":"1"},"labels":{"zone":"a"}},
		"spec":{"taints":[{"key":"keep","value":"out","effect":"NoSchedule"}]}}`))
	c.must(nil, patchNode(c, plane.Client, "agent-a", `{"status":{"capacity":{"cpu":"8","example.com/other":"4"},"allocatable":{"cpu":"8"},
		"addresses":[{"type":"InternalIP","address":"192.0.2.7"}],"conditions":[{"type":"Ready","status":"True"}]}}`, "status"))
	a := c.agentOn("agent-a")
	for patch, words := range map[string]string{
		`{"metadata":{"annotations":{"other":"2"}}}`:                                               "no annotation but fgpu.io/gpus",
		`{"metadata":{"annotations":{"other":null}}}`:                                              "no annotation but fgpu.io/gpus",
		`{"metadata":{"annotations":{"fgpu.io/gpus":"x","another":"1"}}}`:                          "no annotation but fgpu.io/gpus",
		`{"metadata":{"annotations":null}}`:                                                        "no annotation but fgpu.io/gpus",
		`{"metadata":{"labels":{"zone":"b"}}}`:                                                     "of the metadata",
		`{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`:                     "of the metadata",
		`{"metadata":{"labels":null}}`:                                                             "of the metadata",
		`{"metadata":{"finalizers":["fgpu.io/stay"]}}`:                                             "of the metadata",
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"y"}]}}`: "of the metadata",
		`{"spec":{"taints":null}}`:                                                                 "the spec of a node",
		`{"spec":{"unschedulable":true}}`:                                                          "the spec of a node",
		`{"spec":{"providerID":"mine"}}`:                                                           "the spec of a node",
	} {
		c.denied(patch, patchNode(c, a.client, "agent-a", patch), words)
	}
	for patch, words := range map[string]string{
		`{"status":{"capacity":{"cpu":"80"}}}`:                                   "no resource but",
		`{"status":{"capacity":{"example.com/other":null}}}`:                     "no resource but",
		`{"status":{"allocatable":{"nvidia.com/gpu":"8"}}}`:                      "no resource but",
		`{"status":{"allocatable":null}}`:                                        "no resource but",
		`{"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.8"}]}}`: "of the status",
		`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`:          "of the status",
		`{"status":{"conditions":null}}`:                                         "of the status",
		`{"status":{"nodeInfo":{"kubeletVersion":"v9"}}}`:                        "of the status",
		`{"metadata":{"labels":{"zone":"b"}}}`:                                   "of the metadata",
		`{"metadata":{"annotations":{"other":"2"}}}`:                             "no annotation but fgpu.io/gpus",
	} {
		c.denied(patch+" by nodes/status", patchNode(c, a.client, "agent-a", patch, "status"), words)
	}
	_, err := a.client.CoreV1().Nodes().Create(c.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "agent-new"}}, createOptions)
	c.denied("a new node", err, "forbidden")
	c.denied("deleting its node", a.client.CoreV1().Nodes().Delete(c.ctx, "agent-a", metav1.DeleteOptions{}), "forbidden")
}

func TestTheAgentMayDoNothingElse(t *testing.T) {
	c := newCluster(t, gpuNode("agent-a", 1, gib80))
	c.withAgents()
	want := []string{"create events.events.k8s.io", "get nodes.", "patch events.events.k8s.io", "patch nodes.", "patch nodes/status."}
	if got := rights(t, c.agentOn("agent-a").client); !slices.Equal(got, want) {
		t.Errorf("the agent may %v, expected %v", got, want)
	}
}
