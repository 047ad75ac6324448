package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fgpu.io/fgpu/test/e2e/checker"
)

const (
	forged  = `{"v":1,"id":"0123456789abcdef","containers":[{"name":"main","init":false,"devices":[{"uuid":"GPU-x","index":0,"milli":1,"memMib":1}]}]}`
	cdiKey  = "nvidia.cdi.k8s.io/gpu"
	anyNode = "policies-any-node"
)

// policiesAreInForce waits until the API server acts on each of the three: it compiles them some time after they
// were made.
func policiesAreInForce(ctx context.Context) error {
	pods := plane.Client.CoreV1().Pods("default")
	probe := annotated(pod("policies-probe"), "fgpu.io/assignment=x")
	if _, err := pods.Create(ctx, probe, metav1.CreateOptions{}); err != nil {
		return err
	}
	defer func() {
		now := int64(0)
		_ = pods.Delete(ctx, probe.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	}()
	placed := probe.DeepCopy()
	placed.Name, placed.Spec.NodeName = "policies-probe-placed", anyNode
	tries := []func() error{
		func() error {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"fgpu.io/assignment":"%d"}}}`, time.Now().UnixNano())
			_, err := pods.Patch(ctx, probe.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun.DryRun})
			return err
		},
		func() error { _, err := pods.Create(ctx, placed, dryRun); return err },
		func() error {
			return pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: probe.Name, Annotations: probe.Annotations},
				Target: corev1.ObjectReference{Kind: "Node", Name: anyNode}}, metav1.CreateOptions{DryRun: dryRun.DryRun})
		},
	}
	for deadline := time.Now().Add(patience); len(tries) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("the API server does not act on manifests/policies")
		}
		if err := tries[0](); err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			tries = tries[1:]
		}
	}
	return nil
}

func (c *cluster) annotate(name, key, value string, subresources ...string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
	_, err := plane.Client.CoreV1().Pods(c.namespace).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// denied demands that the API server refused it with these words.
func (c *cluster) denied(what string, err error, words string) {
	c.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		c.Errorf("%s: %v; expected a refusal that says %q", what, err, words)
	}
}

func TestRequestsAndRecordsOfBoundPodsAreFrozen(t *testing.T) {
	c := newCluster(t, gpuNode("frozen", 1, gib80))
	c.install(dedicated)
	asked := annotated(pod("asked"), "fgpu.io/gpu-fraction=0.3", "fgpu.io/qos=best-effort", "other=1")
	c.create(asked, annotated(pod("runai"), "gpu-fraction=0.5"))
	c.bound("asked")
	c.bound("runai")
	for _, edit := range []struct{ pod, key, value string }{
		{"asked", "fgpu.io/gpu-fraction", `"0.1"`}, {"asked", "fgpu.io/gpu-fraction", "null"},
		{"asked", "fgpu.io/gpu-memory", `"1Gi"`}, {"asked", "fgpu.io/qos", `"fixed-share"`},
		{"asked", "gpu-memory", `"1"`},
		{"runai", "gpu-fraction", `"0.1"`}, {"runai", "gpu-fraction", "null"}, {"runai", "gpu-memory", `"1"`},
		{"runai", "gpu-fraction-num-devices", `"2"`}, {"runai", "gpu-fraction-container-name", `"main"`},
	} {
		what := fmt.Sprintf("%s: %s to %s", edit.pod, edit.key, edit.value)
		c.denied(what, c.annotate(edit.pod, edit.key, edit.value), "once the pod has a node")
		c.denied(what+" by pods/status", c.annotate(edit.pod, edit.key, edit.value, "status"), "once the pod has a node")
	}
	// A pod without a node may still change its mind, but not write fgpu's answer. It comes last: before the others it
	// would take their room.
	c.create(annotated(pod("waiting"), "fgpu.io/gpu-fraction=0.9"))
	c.refused("waiting")
	c.must(nil, c.annotate("waiting", "fgpu.io/gpu-fraction", `"0.95"`))
	for _, name := range []string{"asked", "waiting"} {
		for _, key := range []string{"fgpu.io/assignment", "fgpu.io/visible-devices.c0", "fgpu.io/mps-active-thread-percentage.c0"} {
			c.denied(name+": "+key, c.annotate(name, key, `"GPU-x"`), "written by fgpu alone")
			c.denied(name+": "+key+" by pods/status", c.annotate(name, key, `"GPU-x"`, "status"), "written by fgpu alone")
		}
	}
	c.denied("asked: no record", c.annotate("asked", "fgpu.io/assignment", "null"), "written by fgpu alone")
	c.denied("asked: CDI", c.annotate("asked", cdiKey, `"nvidia.com/gpu=all"`), "exemptNamespaces")
	c.must(nil, c.annotate("asked", "other", `"2"`))
	c.must(nil, c.annotate("asked", "another", `"3"`, "status"))
	c.must(nil, c.remove("runai"))
	c.sound()
}

func TestABreakGlassGroupMayRepairAnnotations(t *testing.T) {
	c := newCluster(t, gpuNode("glass", 1, gib80))
	c.install(dedicated)
	c.create(annotated(pod("asked"), "fgpu.io/gpu-fraction=0.3"))
	c.bound("asked")
	repairer, err := plane.Impersonate("repairer", "fgpu:break-glass", "system:masters")
	c.must(repairer, err)
	_, err = repairer.CoreV1().Pods(c.namespace).Patch(c.ctx, "asked", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"fgpu.io/visible-devices.c0":"GPU-repaired"}}}`), metav1.PatchOptions{DryRun: dryRun.DryRun})
	c.must(nil, err)
}

// defects.md H3: an edit never becomes what a GPU is charged, not even by a restart.
func TestAnEditedRecordIsNotBelievedAfterARestart(t *testing.T) {
	c := newCluster(t, gpuNode("edited", 2, gib80))
	c.ownFgpu(dedicated)
	c.startScheduler(dedicated)
	c.create(pod("victim", "fgpu.io/gpu-milli=700"))
	record := c.bound("victim").Annotations[checker.AssignmentKey]
	edited := strings.Replace(record, `"milli":700`, `"milli":1`, 1)
	if edited == record {
		t.Fatalf("there is no 700 in %s", record)
	}
	c.recorder.Bypass("victim")
	c.recorder.DoubleBook("edited") // the edit says something else than the pod asks for
	repairer, err := plane.Impersonate("repairer", "fgpu:break-glass", "system:masters")
	c.must(repairer, err)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{checker.AssignmentKey: edited}}})
	c.must(patch, err)
	_, err = repairer.CoreV1().Pods(c.namespace).Patch(c.ctx, "victim", types.MergePatchType, patch, metav1.PatchOptions{})
	c.must(nil, err)
	charged := func() (all []int64) {
		s, err := c.fgpu.State(c.ctx)
		c.must(s, err)
		for _, g := range s.Nodes[0].GPUs {
			all = append(all, g.Milli.Charged)
		}
		slices.Sort(all)
		return all
	}
	c.eventually("the edit is shown", func() (bool, string) {
		s, err := c.fgpu.State(c.ctx)
		return err == nil && len(s.Conflicts) == 1, fmt.Sprint(err)
	})
	if got := charged(); !slices.Equal(got, []int64{0, 700}) {
		t.Errorf("charged %v after the edit, expected what was granted first", got)
	}
	c.fgpu.Kill()
	c.must(nil, c.fgpu.Start(c.ctx))
	c.eventually("it counts on both GPUs, because nobody can prove which one it has", func() (bool, string) {
		got := charged()
		return slices.Equal(got, []int64{700, 700}), fmt.Sprint(got)
	})
	c.create(pod("half", "fgpu.io/gpu-milli=500"))
	c.refused("half")
}

func TestANewPodMayBringAnOldRecordButNotANode(t *testing.T) {
	c := newCluster(t, gpuNode("restored", 1, gib80))
	c.install(dedicated)
	c.create(pod("first", "fgpu.io/gpu-milli=300"))
	first := c.bound("first")

	// A copy of a running pod, as `kubectl get -o yaml` gives it to somebody who changes the name only.
	copied := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "copied", Annotations: first.Annotations}, Spec: *first.Spec.DeepCopy()}
	copied.Spec.Volumes, copied.Spec.Containers[0].VolumeMounts = nil, nil
	_, err := plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, copied, createOptions)
	c.denied("a copy with its node", err, "remove spec.nodeName")
	copied.Spec.NodeName = ""
	stale := "fgpu.io/visible-devices.c7" // of a container that the copy has no more
	annotated(copied, stale+"=GPU-restored-0")
	c.create(copied)
	second := c.bound("copied")
	if left, there := second.Annotations[stale]; !there || left != "" {
		t.Errorf("%s of the copy is %q, expected nothing", stale, left)
	}

	// A restore recreates a pod with its annotations and without its node. It gets a record of its own.
	c.must(nil, c.remove("first"))
	restored := pod("first", "fgpu.io/gpu-milli=300")
	restored.Annotations = first.Annotations
	c.create(restored)
	again := c.bound("first")
	for _, p := range []*corev1.Pod{second, again} {
		if p.Annotations[checker.AssignmentKey] == first.Annotations[checker.AssignmentKey] {
			t.Errorf("%s kept the record of another pod", p.Name)
		}
	}
	c.sound()
}

func TestKeysThatProgramsOfANodeObeyNeedAnExemptNamespace(t *testing.T) {
	c := newCluster(t, gpuNode("obeyed", 1, gib80))
	for _, key := range []string{cdiKey, "nvidia.com/container.devices"} {
		p := annotated(pod("obeyed"), key+"=nvidia.com/gpu=all")
		_, err := plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, p, dryRun)
		c.denied(key, err, "exemptNamespaces")
		_, err = plane.Client.CoreV1().Pods("kube-system").Create(c.ctx, p, dryRun)
		c.must(nil, err)
	}
}

func TestOnlyFgpuBindsWithRecords(t *testing.T) {
	c := newCluster(t, gpuNode("bindings", 1, gib80))
	p := pod("asked", "fgpu.io/gpu-milli=300")
	p.Spec.SchedulerName = "nobody"
	c.create(p)
	bind := func(client *kubernetes.Clientset, key, value string) error {
		return client.CoreV1().Pods(c.namespace).Bind(c.ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name, Annotations: map[string]string{key: value}},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "bindings"}}, metav1.CreateOptions{DryRun: dryRun.DryRun})
	}
	for key, value := range map[string]string{"fgpu.io/assignment": forged, "fgpu.io/gpu-fraction": "0.1", "gpu-fraction": "0.1", cdiKey: "all"} {
		c.denied("an admin: "+key, bind(plane.Client, key, value), "only fgpu may send")
	}
	c.must(nil, bind(plane.Client, "other", "1"))
	fgpu, err := plane.ClientFor(c.ctx, "fgpu-system", "fgpu")
	c.must(fgpu, err)
	c.must(nil, bind(fgpu, "fgpu.io/assignment", forged))
	beside, err := plane.ClientForUser("fgpu")
	c.must(beside, err)
	c.must(nil, bind(beside, "fgpu.io/assignment", forged))
}
