package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fgpu.io/fgpu/test/e2e/harness"
)

const (
	planner     = "fgpu-planner" // its field manager
	fgpuAccount = "system:serviceaccount:fgpu-system:fgpu"
	planAhead   = "planAhead:\n  enabled: true\nlogging:\n  verbosity: 4\n"
	// afterNominating bounds how long a wrong nomination may keep room from others: 5 s, and what a busy machine adds. It is
	// far below what kube-scheduler itself would take to look again (5 min).
	afterNominating = 60 * time.Second
)

// patchStatus writes a pod's status as `client` and `manager`.
func (c *cluster) patchStatus(client *kubernetes.Clientset, manager, name, patch string) (*corev1.Pod, error) {
	return client.CoreV1().Pods(c.namespace).Patch(c.ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager}, "status")
}

const noManagers = `{"metadata":{"managedFields":[{}]}}`

// patchAs patches the pod itself, as who may edit pods can do.
func (c *cluster) patchAs(manager, name, patch string) (*corev1.Pod, error) {
	return plane.Client.CoreV1().Pods(c.namespace).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
}

func nomination(node string) string {
	if node == "" {
		return `{"status":{"nominatedNodeName":null}}`
	}
	return fmt.Sprintf(`{"status":{"nominatedNodeName":%q}}`, node)
}

// planAheadInForce applies the right and the policy, and waits until the API server acts on both. Another fgpu with this
// right would take back what the test nominates.
func (c *cluster) planAheadInForce() {
	c.Helper()
	c.aloneFgpu()
	c.must(nil, plane.Apply(c.ctx, manifest("plan-ahead", "role.yaml"), manifest("plan-ahead", "policy.yaml")))
	c.Cleanup(func() { // other tests are about what fgpu may do without it
		c.gone(plane.Client.RbacV1().ClusterRoleBindings().Delete(c.ctx, "fgpu-plan-ahead", metav1.DeleteOptions{}))
	})
	fgpu, err := plane.Impersonate(fgpuAccount)
	c.must(fgpu, err)
	probe := pod("plan-ahead-probe")
	probe.Spec.SchedulerName = "nobody"
	c.create(probe)
	c.eventually("the API server acts on manifests/plan-ahead", func() (bool, string) {
		_, err := c.patchStatus(fgpu, planner, probe.Name, nomination("n"))
		return err != nil && strings.Contains(err.Error(), "policy fgpu-plan-ahead lists"), fmt.Sprint(err)
	})
	c.must(nil, c.remove(probe.Name))
}

// The right reaches all of a pod's status; the policy leaves one field of it.
func TestThePlannerMayChangeNothingButNominations(t *testing.T) {
	c := newCluster(t, plainNode("policed"))
	c.schedulerName = "fgpu-scheduler" // which does not run
	c.planAheadInForce()
	fgpu, err := plane.Impersonate(fgpuAccount)
	c.must(fgpu, err)
	almighty, err := plane.Impersonate(fgpuAccount, "system:masters") // whatever RBAC says
	c.must(almighty, err)

	// What it is there for, by the shipped right: to nominate, and to take that back.
	c.create(pod("waits"))
	c.must(c.patchStatus(fgpu, planner, "waits", nomination("policed")))
	p, err := c.patchStatus(fgpu, planner, "waits", nomination(""))
	c.must(p, err)
	if p.Status.NominatedNodeName != "" {
		t.Errorf("still nominated to %q", p.Status.NominatedNodeName)
	}

	// One try for each class of fields. What the API server itself keeps from pods/status (spec, owners) may also be ignored.
	for _, patch := range []string{
		`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"annotations":{"a":"b"}}}`,
		`{"metadata":{"annotations":{"fgpu.io/assignment":"x"}}}`, `{"metadata":{"finalizers":["example.com/f"]}}`,
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"policed","uid":"u"}]}}`,
		`{"spec":{"nodeName":"policed"}}`, `{"spec":{"priority":1}}`,
		`{"status":{"phase":"Succeeded"}}`, `{"status":{"reason":"r"}}`, `{"status":{"message":"m"}}`,
		`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, `{"status":{"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}}`,
		`{"status":{"hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.1"}]}}`, `{"status":{"startTime":"2026-01-01T00:00:00Z"}}`,
		`{"status":{"containerStatuses":[{"name":"main","image":"i","imageID":"i","ready":true,"restartCount":0}]}}`,
		`{"status":{"qosClass":"Guaranteed"}}`, `{"status":{"observedGeneration":77}}`,
		`{"status":{"nominatedNodeName":"policed","message":"m"}}`,
	} {
		before, err := plane.Client.CoreV1().Pods(c.namespace).Get(c.ctx, "waits", metav1.GetOptions{})
		c.must(before, err)
		after, err := c.patchStatus(almighty, planner, "waits", patch)
		if err == nil && !sameButVersions(before, after) {
			t.Errorf("fgpu wrote %s", patch)
		} else if err != nil && !apierrors.IsInvalid(err) && !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			t.Errorf("%s: %v; expected a refusal by the policy", patch, err)
		}
	}
	_, err = almighty.CoreV1().Pods(c.namespace).Patch(c.ctx, "waits", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	c.denied("not through pods/status", err, "through pods/status alone")

	// Only pods that wait, of a scheduler that asks, that nobody else has nominated.
	gated := pod("gated")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	foreign, placed := pod("foreign"), pod("placed")
	foreign.Spec.SchedulerName = "another"
	placed.Spec.NodeName = "policed"
	c.create(gated, foreign, placed, pod("theirs"))
	c.must(c.patchStatus(plane.Client, "kube-scheduler", "theirs", nomination("elsewhere")))
	for _, try := range []struct{ pod, node, words string }{
		{"gated", "policed", "that have no scheduling gates"}, {"foreign", "policed", "whose schedulerName"},
		{"placed", "policed", "node"}, {"theirs", "policed", "nobody else has nominated"}, {"theirs", "", "its own nominations"},
	} {
		_, err := c.patchStatus(almighty, planner, try.pod, nomination(try.node))
		c.denied(fmt.Sprintf("%s to %q", try.pod, try.node), err, try.words)
	}

	// Nor in two steps: what would make the record say that fgpu wrote it.
	apply := []byte(fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"theirs","namespace":%q},"status":{"nominatedNodeName":"elsewhere"}}`, c.namespace))
	_, err = almighty.CoreV1().Pods(c.namespace).Patch(c.ctx, "theirs", types.ApplyPatchType, apply, metav1.PatchOptions{FieldManager: planner}, "status")
	c.denied("the same value, applied", err, "nobody else has nominated")
	p, err = c.patchStatus(almighty, planner, "waits", noManagers) // which may be nominated
	c.must(p, err)
	if len(p.ManagedFields) == 0 {
		t.Error("fgpu emptied managedFields")
	}
	c.must(plane.Client.CoreV1().Pods(c.namespace).Patch(c.ctx, "theirs", types.ApplyPatchType, apply, metav1.PatchOptions{FieldManager: planner}, "status"))
	_, err = c.patchStatus(almighty, planner, "theirs", nomination(""))
	c.denied("theirs, of which fgpu-planner has applied the same value", err, "its own nominations")

	// Who may patch the pod can take our name out of the record; that must not keep the nomination.
	for _, hide := range []struct {
		how string
		by  func(name string)
	}{
		{"reset", func(name string) { c.must(c.patchAs("tenant", name, noManagers)) }},
		{"pushed into ancient-changes", func(name string) {
			for i := range 12 {
				c.must(c.patchAs(fmt.Sprintf("tenant-%d", i), name, fmt.Sprintf(`{"metadata":{"labels":{"l%d":"x"}}}`, i)))
			}
		}},
	} {
		name := "hidden-" + hide.how[:5]
		c.create(pod(name))
		c.must(c.patchStatus(fgpu, planner, name, nomination("policed")))
		time.Sleep(1100 * time.Millisecond) // entries are ordered by seconds
		hide.by(name)
		p, err := plane.Client.CoreV1().Pods(c.namespace).Get(c.ctx, name, metav1.GetOptions{})
		c.must(p, err)
		if nominatedByPlanner(p) != "" {
			t.Errorf("%s: still recorded", hide.how)
		}
		if p, err = c.patchStatus(fgpu, planner, name, nomination("")); err != nil || p.Status.NominatedNodeName != "" {
			t.Errorf("%s: our nomination stays: %v", hide.how, err)
		}
	}

	// Nobody else is bound by it.
	c.must(c.patchStatus(plane.Client, "kubelet", "placed", `{"status":{"phase":"Running"}}`))
	c.must(c.patchStatus(plane.Client, "kube-scheduler", "waits", nomination("elsewhere")))
}

func sameButVersions(a, b *corev1.Pod) bool {
	text := func(p *corev1.Pod) []byte {
		q := p.DeepCopy()
		q.ResourceVersion, q.ManagedFields = "", nil
		out, _ := json.Marshal(q)
		return out
	}
	return bytes.Equal(text(a), text(b))
}

// ---- fgpu plans ----

// nominatedByPlanner says to which node, by the pod's managed fields.
func nominatedByPlanner(p *corev1.Pod) string {
	for _, m := range p.ManagedFields {
		if m.Manager == planner && m.FieldsV1 != nil && strings.Contains(string(m.FieldsV1.Raw), "f:nominatedNodeName") {
			return p.Status.NominatedNodeName
		}
	}
	return ""
}

// planned installs fgpu with planAhead, and lets its scheduler ask once.
func (c *cluster) planned() {
	c.Helper()
	c.planAheadInForce()
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest(dedicated.folder, "fgpu.yaml"), config,
		harness.Replacement{Old: "resources:\n", New: planAhead + "resources:\n"}))
	// A scheduler that is stopped for longer than its lease lasts would end.
	c.installFile(dedicated, config, harness.Replacement{Old: "leaderElect: true", New: "leaderElect: false"})
	c.create(pod("first", "fgpu.io/gpu-milli=10"))
	c.bound("first")
}

// pause stops kube-scheduler for the time of `f`, with everything it has in mind.
func (c *cluster) pause(f func()) {
	c.Helper()
	c.must(nil, syscall.Kill(c.scheduler.Pid(), syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(c.scheduler.Pid(), syscall.SIGCONT) }()
	f()
}

// nominations of pods that are not bound, as the API server has them.
func (c *cluster) nominations() map[string]string {
	c.Helper()
	list, err := plane.Client.CoreV1().Pods(c.namespace).List(c.ctx, metav1.ListOptions{})
	c.must(list, err)
	all := map[string]string{}
	for i := range list.Items {
		if node := nominatedByPlanner(&list.Items[i]); node != "" && list.Items[i].Spec.NodeName == "" {
			all[list.Items[i].Name] = node
		}
	}
	return all
}

// nominatedPods are the unbound ones with a nomination, whoever is recorded as its writer.
func (c *cluster) nominatedPods() []string {
	c.Helper()
	list, err := plane.Client.CoreV1().Pods(c.namespace).List(c.ctx, metav1.ListOptions{})
	c.must(list, err)
	var names []string
	for i := range list.Items {
		if list.Items[i].Status.NominatedNodeName != "" && list.Items[i].Spec.NodeName == "" {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

func (c *cluster) metric(name string) int {
	c.Helper()
	body, err := c.fgpu.Ops(c.ctx, "/metrics")
	c.must(nil, err)
	m := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(name) + ` (\d+)$`).FindSubmatch(body)
	if m == nil {
		c.Fatalf("no metric %s", name)
	}
	n, err := strconv.Atoi(string(m[1]))
	c.must(nil, err)
	return n
}

func TestPodsAreBoundWhereTheyWereNominated(t *testing.T) {
	c := newCluster(t, gpuNode("ahead-1", 8, gib80), gpuNode("ahead-2", 8, gib80), gpuNode("ahead-3", 8, gib80))
	c.planned()
	theirs := pod("theirs", "fgpu.io/gpu-milli=100")
	theirs.Spec.SchedulerName = "another" // nobody's: what is not ours is left alone
	c.create(theirs)
	c.must(c.patchStatus(plane.Client, "kube-scheduler", "theirs", nomination("ahead-1")))
	// While kube-scheduler stands still, nominations lead to nothing and are taken back after some seconds. On a slow machine that may be all of them, so
	// there are several waves.
	const wave = 20
	nominated, there, used, pods := map[string]string{}, 0, 0, 0
	for range 10 {
		c.pause(func() {
			for range wave {
				c.create(pod(fmt.Sprintf("p%d", pods), "fgpu.io/gpu-milli=50"))
				pods++
			}
			c.eventually("pods are nominated", func() (bool, string) {
				nominated = c.nominations()
				return len(nominated) > 0, fmt.Sprint(len(nominated))
			})
		})
		c.allBound(pods + 1)
		there = 0
		for name, node := range nominated {
			if c.bound(name).Spec.NodeName == node {
				there++
			}
		}
		if used = c.metric(`fgpu_nominations_total{result="used"}`); used > 0 && there > 0 {
			break
		}
	}
	if used == 0 || there == 0 {
		t.Errorf("of %d pods %d were bound where they were nominated, and fgpu counts %d", pods, there, used)
	}
	alone := c.filteredAlone()
	if alone == 0 {
		t.Error("kube-scheduler never asked about one node alone")
	}
	t.Logf("%d nominated in front, %d bound there; %d filter calls named one node", len(nominated), there, alone)
	left, err := plane.Client.CoreV1().Pods(c.namespace).Get(c.ctx, "theirs", metav1.GetOptions{})
	c.must(left, err)
	if left.Status.NominatedNodeName != "ahead-1" {
		t.Errorf("somebody else's nomination is %q now", left.Status.NominatedNodeName)
	}
	c.must(nil, c.remove("theirs"))
	if n := c.metric(`fgpu_nomination_failures_total{result="refused"}`) + c.metric(`fgpu_nomination_failures_total{result="forbidden"}`); n > 0 {
		t.Errorf("the policy or RBAC refused %d patches of ours", n)
	}
	c.sound()
}

// filteredAlone counts the filter calls that named one node, by the log of fgpu.
func (c *cluster) filteredAlone() int {
	c.Helper()
	text, err := os.ReadFile(c.fgpu.LogFile)
	c.must(nil, err)
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "Filtered") && regexp.MustCompile(`nodes"?[=:]1\D`).MatchString(line) {
			n++
		}
	}
	return n
}

// ---- wrong nominations ----

const noPreemption = "fgpu-e2e-never"

// inTheWay makes a pod that asks for most of a node's cores, of one priority with all others; kube-scheduler keeps what it is
// nominated to, because it may not preempt.
func inTheWay(name string) *corev1.Pod {
	p := pod(name, "fgpu.io/gpu-milli=100")
	p.Spec.PriorityClassName = noPreemption
	for _, list := range []corev1.ResourceList{p.Spec.Containers[0].Resources.Limits, p.Spec.Containers[0].Resources.Requests} {
		list[corev1.ResourceCPU] = harness.Quantities("cpu=100")[corev1.ResourceCPU]
	}
	return p
}

func (c *cluster) withoutPreemption() {
	c.Helper()
	never := corev1.PreemptNever
	_, err := plane.Client.SchedulingV1().PriorityClasses().Create(c.ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: noPreemption}, Value: 0, PreemptionPolicy: &never}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.Fatal(err)
	}
}

// keptOff waits until kube-scheduler refuses a pod for want of cores, which a nomination of another pod holds. While no fgpu runs, its
// extender is an error, which is no refusal; and what kube-scheduler says last counts, because before the nomination was known to it, it may have
// said something else. Should somebody take the nomination away meanwhile, it is made again: who does that is not the question here.
func (c *cluster) keptOff(name, holder, node string) {
	c.Helper()
	again := 0
	c.eventually(name+" is kept off "+node, func() (bool, string) {
		p := c.recorder.Pod(name)
		if p != nil && p.Spec.NodeName != "" {
			c.Fatalf("%s was bound to %s while no fgpu ran", name, p.Spec.NodeName)
		}
		held := len(c.nominations()) > 0
		if !held {
			c.must(c.patchStatus(plane.Client, planner, holder, nomination(node)))
			again++
		}
		return held && strings.Contains(condition(p), "Insufficient cpu"),
			fmt.Sprintf("%s: %s; %s: %s; nominated %d times more", name, condition(p), holder, condition(c.recorder.Pod(holder)), again)
	})
	if again > 0 {
		c.Logf("the nomination of %s went %d times while no fgpu ran", holder, again)
	}
}

// A nomination that looks like one of ours, on a pod that fits nowhere: what an fgpu that was killed may leave.
func TestAWrongNominationKeepsRoomForSecondsOnly(t *testing.T) {
	c := newCluster(t, gpuNode("narrow", 4, gib80))
	c.withoutPreemption()
	c.planned()
	impossible := inTheWay("impossible")
	impossible.Spec.NodeSelector = map[string]string{"example.com/no-such": "label"}
	c.create(impossible)
	c.refused("impossible")
	for _, killed := range []bool{false, true} {
		name := fmt.Sprintf("other-%t", killed)
		if killed {
			c.fgpu.Kill()
		}
		began := time.Now()
		c.must(c.patchStatus(plane.Client, planner, "impossible", nomination("narrow")))
		c.create(inTheWay(name))
		if killed { // nobody takes it back, and it keeps the cores of the node
			c.keptOff(name, "impossible", "narrow")
			began = time.Now()
			c.must(nil, c.fgpu.Launch())
		}
		c.eventually("the nomination is taken back", func() (bool, string) {
			n := c.nominations()
			return len(n) == 0, fmt.Sprint(n)
		})
		took := time.Since(began)
		if took > afterNominating {
			t.Errorf("a wrong nomination (fgpu killed: %t) was there for %s", killed, took)
		}
		if killed {
			c.must(nil, c.fgpu.AwaitReady(c.ctx))
		}
		c.bound(name)
		t.Logf("taken back after %s, the other pod was bound after %s (fgpu killed: %t)", took, time.Since(began), killed)
		c.must(nil, c.remove(name))
	}
	// Somebody else's stays, however wrong it is.
	c.must(c.patchStatus(plane.Client, "somebody", "impossible", nomination("narrow")))
	c.fgpu.Kill()
	c.must(nil, c.fgpu.Start(context.Background()))
	c.create(pod("later", "fgpu.io/gpu-milli=10"))
	c.bound("later")
	p, err := plane.Client.CoreV1().Pods(c.namespace).Get(c.ctx, "impossible", metav1.GetOptions{})
	c.must(p, err)
	// Too few pods wait for this process to have nominated any, so it had nothing of its own to take back.
	if n := c.metric(`fgpu_nominations_total{result="withdrawn"}`); p.Status.NominatedNodeName != "narrow" || n > 0 {
		t.Errorf("somebody else's nomination became %q, and fgpu has withdrawn %d; %s", p.Status.NominatedNodeName, n, condition(p))
	}
}

// fgpu's own nomination, and then the node does not take the pod any more; and an orderly end.
func TestNominationsThatCameToNothingAreTakenBack(t *testing.T) {
	c := newCluster(t, gpuNode("gone-bad", 4, gib80))
	c.planned()
	for _, stopped := range []bool{false, true} {
		var names []string
		c.pause(func() {
			for i := range 20 {
				names = append(names, fmt.Sprintf("p%d-%t", i, stopped))
				c.create(pod(names[i], "fgpu.io/gpu-milli=100"))
			}
			c.eventually("pods are nominated", func() (bool, string) {
				n := c.nominations()
				return len(n) > 0, fmt.Sprint(n)
			})
			if !stopped { // whoever may edit the pod hides that it is ours
				for name := range c.nominations() {
					c.must(c.patchAs("tenant", name, noManagers))
				}
			}
			if stopped {
				c.stopped(c.fgpu)
				if n := c.nominations(); len(n) > 0 {
					t.Errorf("%v are nominated after an orderly end", n)
				}
				c.must(nil, c.fgpu.Start(c.ctx))
			} else {
				c.must(nil, patchNode(c, plane.Client, "gone-bad", `{"spec":{"unschedulable":true}}`))
				c.eventually("all nominations are taken back", func() (bool, string) {
					n := c.nominatedPods()
					return len(n) == 0, fmt.Sprint(n)
				})
			}
		})
		c.must(nil, patchNode(c, plane.Client, "gone-bad", `{"spec":{"unschedulable":null}}`))
		for _, name := range names {
			c.bound(name)
		}
		for _, name := range names {
			c.must(nil, c.remove(name))
		}
	}
	c.sound()
}
