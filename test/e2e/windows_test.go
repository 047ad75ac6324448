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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
func (c *cluster) dayAndNight() (config, diary string) {
	c.Helper()
	config, diary = filepath.Join(plane.Dir, c.name+".yaml"), filepath.Join(plane.Dir, c.name+".diary")
	command := fmt.Sprintf("  command: [/bin/sh, -c, 'echo $0 $1 >> %s']", diary)
	c.must(nil, harness.Adapt(filepath.Join(root, "config", "examples", "day-night.yaml"), config,
		harness.Replacement{Old: `  # command: [/usr/local/bin/machines] # is run with "small open" and "small closed": resume, suspend`, New: command},
		harness.Replacement{Old: "  # command: [/usr/local/bin/machines]\n", New: command + "\n"}))
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
