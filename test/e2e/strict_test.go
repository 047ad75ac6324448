package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

const strictly = "\nconsistency: strict\nclientConnection: {holdOff: 0s, bindDeadline: 9s, runObject: \"\"}\n"

// strictFgpus are several that all decide at once, with the rights of manifests/strict.
func (c *cluster) strictFgpus(n int) (all []*harness.Fgpu) {
	c.Helper()
	c.aloneFgpu()
	c.must(nil, plane.Apply(c.ctx, manifest("dedicated", "rbac.yaml"), manifest("strict", "role.yaml")))
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	shipped, err := os.ReadFile(manifest("dedicated", "fgpu.yaml"))
	c.must(shipped, err)
	config := filepath.Join(plane.Dir, c.name+".config.yaml")
	c.must(nil, os.WriteFile(config, append(shipped, strictly...), 0o600))
	for i := range n {
		f, err := plane.StartFgpu(c.ctx, binary, fmt.Sprintf("%s-%d", c.name, i), config, kubeconfig)
		c.must(f, err)
		all = append(all, f)
	}
	c.Cleanup(func() {
		for _, f := range all {
			if f.Running() {
				c.stopped(f)
			}
		}
	})
	return all
}

// askBind is what kube-scheduler asks last; "" is success.
func (c *cluster) askBind(f *harness.Fgpu, p *corev1.Pod, node string) string {
	body, err := json.Marshal(map[string]string{"PodName": p.Name, "PodNamespace": p.Namespace, "PodUID": string(p.UID), "Node": node})
	if err != nil {
		return err.Error()
	}
	reply, err := http.Post(f.VerbsURL+"/v1/bind", "application/json", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer reply.Body.Close()
	var answer struct{ Error string }
	if err := json.NewDecoder(reply.Body).Decode(&answer); err != nil {
		return err.Error()
	}
	return answer.Error
}

// Each of three fgpu is asked for pods of its own on the same node at the same moment. Without consistency: strict, each takes the
// first GPU for its first pod.
func TestThreeActiveFgpusWithStrictConsistencyGiveEveryGPUOnce(t *testing.T) {
	c := newCluster(t, gpuNode("strict", 2, gib80))
	all := c.strictFgpus(3)
	var pods []*corev1.Pod
	for i := range 9 {
		p := pod(fmt.Sprintf("p-%d", i), "fgpu.io/gpu-milli=500")
		p.Spec.SchedulerName = "nobody"
		pods = append(pods, p)
	}
	c.create(pods...)
	for i := range pods {
		pods[i] = c.pod(pods[i].Name)
	}
	answers := make([]string, len(pods))
	c.eventually("as many pods as there is room for are bound", func() (bool, string) {
		var asked sync.WaitGroup
		for i, p := range pods {
			if answers[i] == "" && c.pod(p.Name).Spec.NodeName != "" {
				continue
			}
			asked.Go(func() { answers[i] = c.askBind(all[i%len(all)], p, "strict") })
		}
		asked.Wait()
		n := 0
		for _, p := range pods {
			if c.pod(p.Name).Spec.NodeName != "" {
				n++
			}
		}
		return n == 4, fmt.Sprintf("%d are bound: %q", n, answers)
	})
	report, _ := c.report()
	for _, v := range report.Violations {
		t.Errorf("violated: %s", v)
	}
	intents := plane.Client.CoordinationV1().Leases("fgpu-system")
	lease, err := intents.Get(c.ctx, "fgpu-intents.strict", metav1.GetOptions{})
	c.must(lease, err)
	for _, p := range pods {
		if c.pod(p.Name).Spec.NodeName != "" && !strings.Contains(lease.Annotations["fgpu.io/intents"], string(p.UID)) {
			t.Errorf("%s is bound and has no intent in %q", p.Name, lease.Annotations["fgpu.io/intents"])
		}
	}

	// Who deletes it deletes nothing while it says something, and fgpu goes on with it.
	c.must(nil, intents.Delete(c.ctx, lease.Name, metav1.DeleteOptions{}))
	lease, err = intents.Get(c.ctx, lease.Name, metav1.GetOptions{})
	c.must(lease, err)
	if lease.DeletionTimestamp == nil || len(lease.Finalizers) == 0 {
		t.Errorf("not being deleted: %+v", lease.ObjectMeta)
	}
	for _, p := range pods {
		if c.pod(p.Name).Spec.NodeName != "" {
			c.must(nil, c.remove(p.Name))
		}
	}
	last := pod("last", "fgpu.io/gpu-milli=500")
	last.Spec.SchedulerName = "nobody"
	c.create(last)
	last = c.pod("last")
	c.eventually("a pod is bound over the object that is being deleted", func() (bool, string) {
		answer := c.askBind(all[0], last, "strict")
		return answer == "", answer
	})
	lease, err = intents.Get(c.ctx, lease.Name, metav1.GetOptions{})
	c.must(lease, err)
	if said := lease.Annotations["fgpu.io/intents"]; strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, string(last.UID)+" ") {
		t.Errorf("the intents are %q, expected the one of the last pod", said)
	}
}

// With the rights of manifests/strict, by the preconditions of a real DELETE; that of a node that is there stays.
func TestTheLeaseOfANodeThatIsGoneIsRemovedWithStrictConsistency(t *testing.T) {
	c := newCluster(t, gpuNode("goes", 1, gib80), gpuNode("stays", 1, gib80))
	fgpu := c.strictFgpus(1)[0]
	intents := plane.Client.CoordinationV1().Leases("fgpu-system")
	for _, node := range []string{"goes", "stays"} {
		p := pod("on-"+node, "fgpu.io/gpu-milli=500")
		p.Spec.SchedulerName = "nobody"
		c.create(p)
		c.eventually("a pod is bound to "+node, func() (bool, string) {
			answer := c.askBind(fgpu, c.pod(p.Name), node)
			return answer == "", answer
		})
		lease, err := intents.Get(c.ctx, "fgpu-intents."+node, metav1.GetOptions{})
		c.must(lease, err)
		c.must(nil, c.remove(p.Name))
	}
	c.must(nil, plane.Client.CoreV1().Nodes().Delete(c.ctx, "goes", metav1.DeleteOptions{}))
	c.eventually("the Lease of the node that is gone is removed", func() (bool, string) {
		reply, err := http.Post(fgpu.OpsURL+"/audit", "", nil)
		c.must(reply, err)
		c.must(nil, reply.Body.Close())
		_, err = intents.Get(c.ctx, "fgpu-intents.goes", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(reply.Status, err)
	})
	lease, err := intents.Get(c.ctx, "fgpu-intents.stays", metav1.GetOptions{})
	c.must(lease, err)
}

// The API server says what fgpu itself may do. Without manifests/strict every bind would fail, so it is not ready; with it, it is again.
func TestStrictConsistencyWithoutItsRightIsNotReadyUntilItIsThere(t *testing.T) {
	c := newCluster(t, gpuNode("rights", 1, gib80))
	fgpu := c.strictFgpus(1)[0]
	readyz := func() string {
		reply, err := http.Get(fgpu.OpsURL + "/readyz?verbose")
		c.must(reply, err)
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		c.must(body, err)
		return fmt.Sprint(reply.StatusCode, " ", string(body))
	}
	p := pod("waits", "fgpu.io/gpu-milli=500")
	p.Spec.SchedulerName = "nobody"
	c.create(p)
	c.must(nil, plane.Client.RbacV1().RoleBindings("fgpu-system").Delete(c.ctx, "fgpu-intents", metav1.DeleteOptions{}))
	c.eventually("a bind that is refused is followed by the reason", func() (bool, string) {
		answer, said := c.askBind(fgpu, c.pod(p.Name), "rights"), readyz()
		return answer != "" && strings.HasPrefix(said, "500 ") && strings.Contains(said, "apply manifests/strict"), answer + "; " + said
	})
	c.must(nil, plane.Apply(c.ctx, manifest("strict", "role.yaml")))
	c.eventually("fgpu is ready with the right", func() (bool, string) {
		said := readyz()
		return strings.HasPrefix(said, "200 "), said
	})
	c.eventually("the pod is bound", func() (bool, string) {
		answer := c.askBind(fgpu, c.pod(p.Name), "rights")
		return answer == "", answer
	})
}
