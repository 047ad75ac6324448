package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// decideElsewhere binds a pod as another fgpu with the same key would, or a predecessor whose Binding lands late: with the
// same identity, and a signed record of the device under an id that no process here has made.
func (c *cluster) decideElsewhere(p *corev1.Pod, node, uuid string, milli, memMiB int64) {
	c.Helper()
	record, err := plane.SignedRecord(string(p.UID), node, "decision-of-another", harness.RecordDevice{UUID: uuid, Milli: milli, MemMiB: memMiB})
	c.must(record, err)
	other, err := plane.ClientFor(c.ctx, "fgpu-system", "fgpu")
	c.must(other, err)
	c.must(nil, other.CoreV1().Pods(c.namespace).Bind(c.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID, Annotations: map[string]string{checker.AssignmentKey: record}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{}))
}

// audit asks fgpu for an audit and gives its result.
func (c *cluster) audit() (report struct {
	Result        string
	IncidentCount int
	Incidents     []struct{ Kind, Text string }
}) {
	c.Helper()
	reply, err := http.Post(c.fgpu.OpsURL+"/audit", "", nil)
	c.must(reply, err)
	defer reply.Body.Close()
	c.must(nil, json.NewDecoder(reply.Body).Decode(&report))
	return report
}

func (c *cluster) pod(name string) *corev1.Pod {
	c.Helper()
	p, err := plane.Client.CoreV1().Pods(c.namespace).Get(c.ctx, name, metav1.GetOptions{})
	c.must(p, err)
	return p
}

// incidents waits for these kinds in /state, and gives them.
func (c *cluster) incidents(kinds ...string) []harness.Incident {
	c.Helper()
	var found []harness.Incident
	c.eventually(fmt.Sprintf("incidents %q in /state", kinds), func() (bool, string) {
		s, err := c.fgpu.State(c.ctx)
		if err != nil {
			return false, err.Error()
		}
		found = s.Incidents
		got := []string{}
		for _, i := range found {
			got = append(got, i.Kind)
		}
		return slices.Equal(got, kinds), fmt.Sprintf("there are %q", got)
	})
	return found
}

// defects.md H2 and H8: the GPU was given to another pod when somebody else's Binding onto it landed.
func TestABindingOfAnotherFgpuOntoAGivenGPUIsAnIncident(t *testing.T) {
	c := newCluster(t, gpuNode("twice", 1, gib80))
	c.ownFgpu(dedicated)
	c.startScheduler(dedicated)
	late := pod("late", "fgpu.io/gpu-milli=700")
	late.Spec.SchedulerName = "nobody"
	c.create(late)
	c.eventually("fgpu sees the pod waiting", func() (bool, string) {
		s, err := c.fgpu.State(c.ctx)
		return err == nil && len(s.Pending) == 1, fmt.Sprint(err)
	})
	c.create(pod("ours", "fgpu.io/gpu-milli=700"))
	c.bound("ours")
	c.incidents()
	c.recorder.DoubleBook("twice")
	c.decideElsewhere(c.pod("late"), "twice", "GPU-twice-0", 700, 700*gib80/1000)

	found := c.incidents("double_booking", "foreign_decision")
	pods := []*corev1.Pod{c.pod("late"), c.pod("ours")}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { // as every fgpu: by age, then by UID
		if d := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); d != 0 {
			return d
		}
		return strings.Compare(string(a.UID), string(b.UID))
	})
	twice := found[0]
	if twice.Node != "twice" || twice.UUID != "GPU-twice-0" || twice.Since == "" || len(twice.Pods) != 2 {
		t.Fatalf("a strange incident: %+v", twice)
	}
	for i, p := range pods {
		if twice.Pods[i].UID != string(p.UID) || twice.Pods[i].DecidedHere != (p.Name == "ours") {
			t.Errorf("pod %d of the incident is %+v, expected %s", i, twice.Pods[i], p.Name)
		}
	}
	if found[1].Pods[0].Pod != "late" || found[1].Pods[0].Decision != "decision-of-another" {
		t.Errorf("a strange incident: %+v", found[1])
	}
	s, err := c.fgpu.State(c.ctx)
	c.must(s, err)
	if g := s.Nodes[0].GPUs[0]; !g.OverCommitted || g.Milli.Free != -400 {
		t.Errorf("the GPU is open: %+v", g)
	}
	c.create(pod("tiny", "fgpu.io/gpu-milli=1"))
	c.refused("tiny")

	younger := c.namespace + "/" + pods[1].Name
	for _, p := range pods {
		c.eventually("an Event on pod "+p.Name, func() (bool, string) {
			told, names := c.eventsAbout(c.namespace, p.UID)
			return strings.Contains(told["GPUDoubleBooked"].Note, "the younger pod, "+younger), names
		})
	}
	c.eventually("whose decision it was is told on the pod", func() (bool, string) {
		told, names := c.eventsAbout(c.namespace, c.pod("late").UID)
		return told["GPUAssignmentForeign"].Note != "", names
	})
	metrics, err := harness.Get(c.ctx, c.fgpu.OpsURL+"/metrics", "")
	c.must(metrics, err)
	for _, line := range []string{`fgpu_incidents{kind="double_booking"} 1`, `fgpu_incidents{kind="foreign_decision"} 1`,
		`fgpu_incidents_total{kind="double_booking"} 1`} {
		if !strings.Contains(string(metrics), "\n"+line+"\n") {
			t.Errorf("the metrics lack %q", line)
		}
	}
	if r := c.audit(); r.Result != "incidents" || r.IncidentCount != 2 || !strings.Contains(r.Incidents[0].Text, "GPU-twice-0") {
		t.Errorf("the audit says %+v", r)
	}

	c.must(nil, c.remove("late"))
	c.incidents()
	c.bound("tiny")
	if r := c.audit(); r.Result != "clean" {
		t.Errorf("the audit says %+v when it is over", r)
	}
}
