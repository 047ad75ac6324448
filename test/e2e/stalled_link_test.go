package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fgpu.io/fgpu/test/e2e/harness"
)

// stalled is a control plane with two API servers behind a balancer. The second one, which gets the Bindings,
// reaches etcd over a link that can stall: it answers something, or nothing, and what it has handed over lands when
// the link recovers.
type stalled struct {
	*cluster
	link     *harness.Link
	balancer *harness.Balancer
	second   *kubernetes.Clientset
}

func newStalled(t *testing.T, node string) *stalled {
	t.Helper()
	s := &stalled{cluster: newCluster(t, gpuNode(node, 1, gib80))}
	var err error
	if s.link, err = harness.NewLink(plane.EtcdAddress); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.link.Close)
	api, url, err := plane.StartAPI(s.ctx, s.name+".kube-apiserver", s.link.Address())
	t.Cleanup(api.Kill)
	s.must(nil, err)
	s.second, err = plane.ClientAt(url)
	s.must(nil, err)
	s.balancer, err = harness.NewBalancer(plane.URL, url)
	s.must(nil, err)
	t.Cleanup(s.balancer.Close)
	kubeconfig, err := plane.KubeconfigAt(s.ctx, "fgpu-system", "fgpu", s.balancer.URL)
	s.must(nil, err)
	if s.fgpu, err = plane.StartFgpu(s.ctx, binary, s.name, manifest("dedicated", "fgpu.yaml"), kubeconfig); err != nil {
		t.Fatal(err)
	}
	return s
}

// pods are created and known to the second API server, which then needs nothing from etcd to write them.
func (s *stalled) pods(names ...string) {
	s.Helper()
	for _, name := range names {
		s.create(pod(name, "fgpu.io/gpu-milli=1000"))
	}
	s.eventually("the second API server knows the pods", func() (bool, string) {
		list, err := s.second.CoreV1().Pods(s.namespace).List(s.ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err.Error()
		}
		return len(list.Items) == len(names), fmt.Sprintf("it knows %d", len(list.Items))
	})
}

// bind asks fgpu, as kube-scheduler does, and returns the Error of the answer.
func (s *stalled) bind(name, node string) string {
	s.Helper()
	p, err := plane.Client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
	s.must(p, err)
	body, err := json.Marshal(map[string]string{"PodName": name, "PodNamespace": s.namespace, "PodUID": string(p.UID), "Node": node})
	s.must(body, err)
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.fgpu.VerbsURL+"/v1/bind", bytes.NewReader(body))
	s.must(req, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	s.must(resp, err)
	defer resp.Body.Close()
	var answer struct{ Error string }
	s.must(nil, json.NewDecoder(resp.Body).Decode(&answer))
	return answer.Error
}

func (s *stalled) node(name string) string {
	s.Helper()
	p, err := plane.Client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
	s.must(p, err)
	return p.Spec.NodeName
}

// A Binding is with an API server whose link to etcd is down, for longer than any of fgpu's times. Reads through the
// other API server show the pod unbound all the while. The GPU stays charged until the write has landed, or is proven
// to be unable to; the recorder judges every state that the API server went through.
func TestABindingThatLandsLateIsStillCharged(t *testing.T) {
	s := newStalled(t, "late")
	s.pods("first", "rival")
	s.balancer.BindViaSecond("first")
	s.link.Stall()
	stall := time.Now()
	answer := s.bind("first", "late")
	if answer == "" {
		t.Fatal("bound through a link that is down")
	}
	say("  after %.1f s: %s", time.Since(stall).Seconds(), answer)
	asked, given := 0, false // the rival has a good way, so nothing but the ledger holds it back
	for ; time.Since(stall) < 10*time.Second && !given; asked++ {
		if given = s.bind("rival", "late") == ""; given {
			t.Error("the rival was given a GPU whose earlier Binding can still land")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if s.node("first") != "" {
		t.Error("the link was not down")
	}
	say("  the rival asked %d times in %.1f s; the link recovers", asked, time.Since(stall).Seconds())
	s.link.Recover()
	s.bound("first")
	if s.bind("rival", "late") == "" {
		t.Error("the rival was bound, too")
	}
	s.sound()
}

// The same, but kube-scheduler has noted the failure in the pod, as it does after an error: the pod has another
// resourceVersion, nothing that was sent can land, and fgpu gives the GPU to somebody else before the link recovers.
func TestABindingOfAnOlderVersionOfItsPodCannotLand(t *testing.T) {
	s := newStalled(t, "outdated")
	s.pods("first", "rival")
	s.balancer.BindViaSecond("first")
	s.link.Stall()
	if s.bind("first", "outdated") == "" {
		t.Fatal("bound through a link that is down")
	}
	patch := `{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulerError"}]}}`
	s.must(plane.Client.CoreV1().Pods(s.namespace).Patch(s.ctx, "first", types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status"))
	s.eventually("the rival gets the GPU", func() (bool, string) {
		answer := s.bind("rival", "outdated")
		return answer == "", answer
	})
	s.link.Recover()
	// The second API server has worked off what it was sent when it shows what was written after that.
	s.must(nil, s.annotate("rival", "recovered", `"yes"`))
	s.eventually("the second API server is up to date", func() (bool, string) {
		p, err := s.second.CoreV1().Pods(s.namespace).Get(s.ctx, "rival", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return p.Annotations["recovered"] == "yes", "it shows the pod as it was"
	})
	if node := s.node("first"); node != "" {
		t.Errorf("the outdated Binding landed on %s", node)
	}
	s.sound()
}
