package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fgpu.io/fgpu/test/e2e/harness"
)

const (
	smallSlices = "v100-4q-4GB"
	largeSlices = "v100-16q-16GB"
)

// sliceNode is a virtual machine with one virtual GPU of a fixed profile, which a device plugin hands out.
func sliceNode(name, profile string) *corev1.Node {
	n := plainNode(name, "nvidia.com/gpu=1")
	n.Labels["vgpu.type"] = profile
	return n
}

// onSlices is a pod as K8vGPUSharing has it.
func onSlices(name, profile string) *corev1.Pod {
	p := pod(name, "nvidia.com/gpu=1")
	p.Spec.NodeSelector = map[string]string{"vgpu.type": profile}
	return p
}

// summary is the part of /state about windows and pools.
type summary struct {
	TimeWindows struct {
		Active, Next []string
		At           string
	}
	PoolCommands []struct {
		Pool, State, Result string
	}
	ChangeOvers []struct {
		Group, Step, Opens, Failed string
		Pods                       []struct{ Pod, Eviction string }
	}
	ClosedNodes, PodsOnClosedNodes int
}

func (c *cluster) summary() (summary, error) {
	var doc struct{ Summary summary }
	body, err := c.fgpu.Ops(c.ctx, "/state?fields=summary")
	if err == nil {
		err = json.Unmarshal(body, &doc)
	}
	return doc.Summary, err
}

// summarised waits until the summary is as wanted.
func (c *cluster) summarised(what string, is func(summary) bool) {
	c.Helper()
	c.eventually(what, func() (bool, string) {
		s, err := c.summary()
		if err != nil {
			return false, err.Error()
		}
		return is(s), fmt.Sprintf("%+v", s)
	})
}

// told waits for an Event of fgpu with such a note about the object of that name.
func (c *cluster) told(name, note string) {
	c.Helper()
	c.eventually(fmt.Sprintf("an Event about %s: %s", name, note), func() (bool, string) {
		list, err := plane.Client.EventsV1().Events(metav1.NamespaceAll).List(c.ctx, metav1.ListOptions{})
		c.must(list, err)
		var notes []string
		for _, e := range list.Items {
			if e.Regarding.Name == name && e.ReportingController == "fgpu.io/extender" {
				notes = append(notes, e.Note)
				if strings.Contains(e.Note, note) {
					return true, ""
				}
			}
		}
		return false, fmt.Sprintf("%q", notes)
	})
}

// startAt runs fgpu with a clock that shows `when`.
func (c *cluster) startAt(when, config string) {
	c.Helper()
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	c.fgpu, err = plane.NewFgpu(binary, c.name, config, kubeconfig)
	c.must(c.fgpu, err)
	c.fgpu.Args = append(c.fgpu.Args, "--rehearse=false", "--wall-clock", when)
	c.must(nil, c.fgpu.Start(c.ctx))
}

func (c *cluster) restartAt(when string) {
	c.Helper()
	c.stopped(c.fgpu)
	c.fgpu.Args[len(c.fgpu.Args)-1] = when
	c.must(nil, c.fgpu.Start(c.ctx))
}

// dayAndNight is the shipped example, with a command that writes down what it is told.
func (c *cluster) dayAndNight(edits ...harness.Replacement) (config, diary string) {
	c.Helper()
	config, diary = filepath.Join(plane.Dir, c.name+".yaml"), filepath.Join(plane.Dir, c.name+".diary")
	command := fmt.Sprintf("  command: [/bin/sh, -c, 'echo $0 $1 >> %s']", diary)
	edits = append(edits,
		harness.Replacement{Old: `  # command: [/usr/local/bin/machines] # is run with "small open" and "small closed": resume, suspend`, New: command},
		harness.Replacement{Old: "  # command: [/usr/local/bin/machines]\n", New: command + "\n"})
	c.must(nil, harness.Adapt(filepath.Join(root, "config", "examples", "day-night.yaml"), config, edits...))
	return config, diary
}

func TestDayAndNightFromYAMLAlone(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "fgpu-system") // what the manifests set: Events about fgpu itself have a place
	t.Setenv("POD_NAME", "fgpu-day-and-night")
	var nodes []*corev1.Node
	for i := range 4 {
		nodes = append(nodes, sliceNode(fmt.Sprintf("node-%d", i+1), smallSlices))
	}
	c := newCluster(t, append(nodes, sliceNode("node-5", largeSlices))...)
	config, diary := c.dayAndNight()

	// 19:51 in Berlin: the night is announced, and day as yet.
	c.startAt("2026-03-28T18:51:00Z", config)
	c.startScheduler(dedicated)
	c.told("fgpu-day-and-night", "2026-03-28T19:00:00.000Z: opens night")
	c.summarised("the night is announced", func(s summary) bool {
		return len(s.TimeWindows.Active) == 0 && fmt.Sprint(s.TimeWindows.Next) == "[night]" && s.ClosedNodes == 1
	})
	c.create(onSlices("desktop-a", smallSlices), onSlices("desktop-b", smallSlices), onSlices("training", largeSlices))
	c.bound("desktop-a")
	c.bound("desktop-b")
	c.refusedFor("training", "node pool")
	c.sound()

	// The night comes while fgpu runs, shortly after a restart.
	c.restartAt("2026-03-28T18:59:50Z")
	if p := c.bound("training"); p.Spec.NodeName != "node-5" {
		t.Errorf("training is on %s", p.Spec.NodeName)
	}
	c.create(onSlices("latecomer", smallSlices))
	c.refusedFor("latecomer", "node pool")
	c.summarised("who runs on closed nodes is counted", func(s summary) bool {
		return fmt.Sprint(s.TimeWindows.Active) == "[night]" && s.ClosedNodes == 4 && s.PodsOnClosedNodes == 2
	})
	for _, name := range []string{"desktop-a", "desktop-b"} {
		c.told(c.bound(name).Spec.NodeName, "1 pod with GPUs may run")
	}
	if got := c.onClosedNodes(); got != "desktop-a desktop-b" {
		t.Errorf("/state lists %q on closed nodes", got)
	}
	c.told("node-5", "takes pods with GPUs again")
	c.summarised("the machines are suspended and resumed", func(s summary) bool {
		got := fmt.Sprint(s.PoolCommands)
		return strings.Contains(got, "{small closed ok}") && strings.Contains(got, "{large open ok}")
	})
	metrics, err := c.fgpu.Ops(c.ctx, "/metrics")
	c.must(metrics, err)
	for _, line := range []string{"fgpu_time_windows_changes_total 1", "fgpu_closed_nodes 4", "fgpu_closed_node_pods 2",
		"fgpu_time_windows_open 1", "fgpu_pool_commands_failing 0", `fgpu_pool_commands_total{result="ok"} 4`} {
		if !strings.Contains(string(metrics), "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	text, err := os.ReadFile(diary)
	c.must(text, err)
	// A run for each pool at each start, whatever the state, and one at the change; pools do not wait for each other.
	told := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		pool, state, _ := strings.Cut(line, " ")
		told[pool] += state + " "
	}
	if told["small"] != "open open closed " || told["large"] != "closed closed open " || len(told) != 2 {
		t.Errorf("the command was told %q", text)
	}
	c.sound()
}

// onClosedNodes lists the pods that /state shows on nodes that are closed, in order.
func (c *cluster) onClosedNodes() string {
	c.Helper()
	var doc struct {
		Nodes []struct {
			Closed    bool
			GPUs      []struct{ Allocations []struct{ Pod string } }
			WholeGPUs struct{ Allocations []struct{ Pod string } }
		}
	}
	body, err := c.fgpu.Ops(c.ctx, "/state")
	c.must(body, err)
	c.must(nil, json.Unmarshal(body, &doc))
	names := map[string]bool{}
	for _, n := range doc.Nodes {
		held := n.WholeGPUs.Allocations
		for _, g := range n.GPUs {
			held = append(held, g.Allocations...)
		}
		for _, a := range held {
			if n.Closed {
				names[a.Pod] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

// runs makes the pod look as its kubelet would: evictions of others need no budget.
func (c *cluster) runs(name string) {
	c.Helper()
	p := c.bound(name)
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	c.must(plane.Client.CoreV1().Pods(c.namespace).UpdateStatus(c.ctx, p, metav1.UpdateOptions{}))
}

// budget allows that many evictions of pods with the label, as the controller of budgets would say, which does not run here.
func (c *cluster) budget(label string, allowed int32) {
	c.Helper()
	budgets, one := plane.Client.PolicyV1().PodDisruptionBudgets(c.namespace), intstr.FromInt32(1)
	b, err := budgets.Get(c.ctx, label, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		b, err = budgets.Create(c.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: label},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one,
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": label}}}}, metav1.CreateOptions{})
	}
	c.must(b, err)
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: allowed,
		CurrentHealthy: 1 + allowed, DesiredHealthy: 1, ExpectedPods: 1 + allowed}
	c.must(budgets.UpdateStatus(c.ctx, b, metav1.UpdateOptions{}))
}

func TestNodePoolsChangeOverAndDrainByTheEvictionAPI(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "fgpu-system")
	t.Setenv("POD_NAME", "fgpu-change-over")
	small, large := gpuNode("slice-1", 1, 4096), gpuNode("slice-2", 1, 16384)
	small.Labels["vgpu.type"], large.Labels["vgpu.type"] = smallSlices, largeSlices
	c := newCluster(t, small, large)
	config, diary := c.dayAndNight(harness.Replacement{Old: "timeWindows:\n",
		New: "changeOvers:\n- {name: card, pools: [small, large], drain: evict, evictAfter: 0s}\ntimeWindows:\n"})
	// Only here: another test counts the rights of fgpu.
	c.must(nil, plane.Apply(c.ctx, manifest("drain", "role.yaml")))
	t.Cleanup(func() {
		c.gone(plane.Client.RbacV1().ClusterRoleBindings().Delete(c.ctx, "fgpu-drain", metav1.DeleteOptions{}))
		c.gone(plane.Client.RbacV1().ClusterRoles().Delete(c.ctx, "fgpu-drain", metav1.DeleteOptions{}))
	})

	c.startAt("2026-03-28T18:51:00Z", config)
	c.startScheduler(dedicated)
	desktop, training := pod("desktop", "fgpu.io/gpu-milli=500"), pod("training", "fgpu.io/gpu-milli=1000")
	desktop.Labels = map[string]string{"app": "desktop"}
	desktop.Spec.NodeSelector = map[string]string{"vgpu.type": smallSlices}
	training.Spec.NodeSelector = map[string]string{"vgpu.type": largeSlices}
	c.create(desktop, training)
	c.runs("desktop")
	c.budget("desktop", 0)
	c.refusedFor("training", "node pool")
	c.must(nil, os.Remove(diary))

	// The night comes shortly after a restart, which knows of the desktop by its signed record alone.
	c.restartAt("2026-03-28T18:59:50Z")
	c.summarised("the budget forbids the eviction", func(s summary) bool {
		return len(s.ChangeOvers) == 1 && s.ChangeOvers[0].Step == "waiting" && s.ChangeOvers[0].Opens == "large" &&
			len(s.ChangeOvers[0].Pods) == 1 && strings.Contains(s.ChangeOvers[0].Pods[0].Eviction, "disruption budget")
	})
	if p := c.bound("desktop"); p.DeletionTimestamp != nil {
		t.Errorf("desktop was deleted against its budget")
	}
	c.refusedFor("training", "node pool")
	c.budget("desktop", 1)
	c.eventually("the eviction", func() (bool, string) {
		p := c.pod("desktop")
		return p.DeletionTimestamp != nil, "it runs"
	})
	// It is not there if the night came before the day was ready.
	if told, _ := os.ReadFile(diary); strings.Contains(string(told), "small closed") || strings.Contains(string(told), "large open") {
		t.Errorf("while desktop still ends the command was told %q", told)
	}
	c.must(nil, c.remove("desktop"))
	if p := c.bound("training"); p.Spec.NodeName != "slice-2" {
		t.Errorf("training is on %s", p.Spec.NodeName)
	}
	c.summarised("the change has ended", func(s summary) bool { return s.ChangeOvers[0].Step == "open" })
	text, err := os.ReadFile(diary)
	c.must(text, err)
	if !strings.HasSuffix(string(text), "small closed\nlarge open\n") {
		t.Errorf("the command was told %q", text)
	}
	c.told("fgpu-change-over", "large is open")
	c.sound()
}
