package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/checker"
)

// kind is one way in which a node has GPUs, and the pods that are for it.
type kind struct {
	name string
	node func(name string) *corev1.Node
	gpus int // entries of GPUs and instances that the ledger must have for such a node; each is one, whoever publishes it
	pod  func(name string, i int) *corev1.Pod
	free bool // its pods may go to nodes of other kinds as well
}

func labelled(n *corev1.Node, pairs ...string) *corev1.Node {
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		n.Labels[key] = value
	}
	return n
}

// kinds are all there are. Pods of nvidia.com/gpu say nothing about the kind: what they get is the node's affair.
func kinds() []kind {
	wholes := func(name string, _ int) *corev1.Pod { return pod(name, "nvidia.com/gpu=1") }
	return []kind{
		{"native", func(n string) *corev1.Node { return gpuNode(n, 2, gib80) }, 2, func(name string, i int) *corev1.Pod {
			switch i % 4 {
			case 0:
				return pod(name, "fgpu.io/gpu-milli=300")
			case 1:
				return annotated(pod(name), "fgpu.io/gpu-fraction=0.45")
			case 2:
				return annotated(pod(name), "fgpu.io/gpu-memory=20Gi")
			}
			return pod(name, "fgpu.io/gpu-milli=200", "fgpu.io/gpu-count=2")
		}, false},
		{"runai", func(n string) *corev1.Node { return gpuNode(n, 2, 81559) }, 2, func(name string, i int) *corev1.Pod {
			switch i % 3 {
			case 0:
				return annotated(pod(name), "gpu-fraction=0.45")
			case 1:
				return annotated(pod(name), "gpu-memory=20480")
			}
			return annotated(pod(name), "gpu-fraction=0.125", "gpu-fraction-num-devices=2")
		}, false},
		{"plugin", func(n string) *corev1.Node {
			return labelled(plainNode(n, "nvidia.com/gpu=3"), "fgpu.io/allocatable=whole-gpus")
		}, 3, wholes, true},
		// One GPU, three tellers: the annotation, the plugin's allocatable and the labels of GPU Feature Discovery.
		{"both", func(n string) *corev1.Node {
			return labelled(gpuNode(n, 2, gib80, "nvidia.com/gpu=2"), "nvidia.com/gpu.count=2", "nvidia.com/gpu.memory=81920",
				"nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB")
		}, 2, func(name string, i int) *corev1.Pod {
			if i%2 == 0 {
				return pod(name, "nvidia.com/gpu=1")
			}
			return pod(name, "fgpu.io/gpu-milli=500")
		}, false},
		{"replicas", func(n string) *corev1.Node { return sharedNode(n, 2, 4, "nvidia.com/gpu", "time-slicing") }, 2, wholes, true},
		{"renamed", func(n string) *corev1.Node { return sharedNode(n, 1, 20, "nvidia.com/gpu.shared", "time-slicing") }, 1,
			func(name string, i int) *corev1.Pod {
				return pod(name, fmt.Sprintf("nvidia.com/gpu.shared=%d", []int{4, 10, 6}[i%3]))
			}, false},
		{"vgpu", func(n string) *corev1.Node { return plainNode(n, "nvidia.com/vgpu=2000") }, 2,
			func(name string, i int) *corev1.Pod {
				return pod(name, fmt.Sprintf("nvidia.com/vgpu=%d", 150+100*(i%5)))
			}, false},
		{"metagpu", func(n string) *corev1.Node { return plainNode(n, "cnvrg.io/metagpu=200") }, 2,
			func(name string, i int) *corev1.Pod {
				return pod(name, fmt.Sprintf("cnvrg.io/metagpu=%d", 15+10*(i%5)))
			}, false},
		// MIG with the strategy "single": instances under the name of whole GPUs.
		{"mig-single", func(n string) *corev1.Node {
			return labelled(plainNode(n, "nvidia.com/gpu=7"), "nvidia.com/mig.strategy=single", "nvidia.com/gpu.count=7",
				"nvidia.com/gpu.memory=4864", "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")
		}, 7, wholes, true},
		{"slices", func(n string) *corev1.Node { return sliceNode(n, smallSlices) }, 1, wholes, true},
		{"mig", func(n string) *corev1.Node { return migNode(n, "3g.20gb@4 2g.10gb@2 1g.5gb@0 1g.5gb@1", "-") }, 6,
			func(name string, i int) *corev1.Pod {
				if i%2 == 0 {
					return annotated(pod(name), "fgpu.io/mig-profile=1g.5gb")
				}
				return annotated(pod(name), "fgpu.io/gpu-memory=8Gi")
			}, false},
		{"mig-plugin", func(n string) *corev1.Node {
			return plainNode(n, "nvidia.com/mig-1g.5gb=2", "nvidia.com/mig-3g.20gb=1")
		}, 3, func(name string, i int) *corev1.Pod {
			return pod(name, []string{"nvidia.com/mig-1g.5gb=1", "nvidia.com/mig-3g.20gb=1"}[i%2])
		}, false},
	}
}

// everything is the state of the churn.
type everything struct {
	*cluster
	kinds []kind
	n     int            // pods so far
	alive []string       // names
	bound map[string]int // per kind of node
}

// churn creates and deletes pods of all kinds, some at a time, and waits until kube-scheduler has looked at all.
func (e *everything) churn(rounds int) {
	e.Helper()
	for range rounds {
		var batch []*corev1.Pod
		for range 2 * len(e.kinds) / 3 {
			k := e.kinds[dice.Intn(len(e.kinds))]
			p := k.pod(fmt.Sprintf("%s-%03d", k.name, e.n), e.n)
			if !k.free || e.n%4 == 0 { // where free pods like to go is chance; each kind of node must see some
				p.Spec.NodeSelector = map[string]string{"kind": k.name}
			}
			e.n++
			e.alive = append(e.alive, p.Name)
			batch = append(batch, p)
		}
		e.create(batch...)
		e.eventually("every pod was looked at", func() (bool, string) {
			for _, name := range e.alive {
				p := e.recorder.Pod(name)
				if p == nil || (p.Spec.NodeName == "" && !lookedAt(p)) {
					return false, name + ": " + condition(p)
				}
			}
			return true, ""
		})
		for _, name := range e.alive {
			if at := e.recorder.Pod(name).Spec.NodeName; at != "" {
				e.bound[strings.TrimSuffix(at, "-0")]++
			}
		}
		for range len(e.kinds) / 2 {
			i := dice.Intn(len(e.alive))
			e.must(nil, e.remove(e.alive[i]))
			e.alive = slices.Delete(e.alive, i, i+1)
		}
	}
}

func lookedAt(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(x corev1.PodCondition) bool {
		return x.Type == corev1.PodScheduled && x.Status == corev1.ConditionFalse
	})
}

// allConfig is the shipped configuration with every vocabulary and a night that closes the native nodes.
func (c *cluster) allConfig() string {
	c.Helper()
	shipped, err := os.ReadFile(manifest("dedicated", "fgpu.yaml"))
	c.must(shipped, err)
	path := filepath.Join(plane.Dir, c.name+".yaml")
	c.must(nil, os.WriteFile(path, append(shipped, []byte(`
dialects: {kai: serve}
timeWindows:
- {name: night, from: "20:00", to: "08:00", timeZone: Europe/Berlin, nodePools: [{nodeSelector: {kind: native}, state: closed}]}
`)...), 0o600))
	return path
}

func TestEveryKindOfNodeOnOneClusterThroughChurnRestartsAndNight(t *testing.T) {
	all := kinds()
	var nodes []*corev1.Node
	for _, k := range all {
		nodes = append(nodes, labelled(k.node(k.name+"-0"), "kind="+k.name))
	}
	settings := checker.Default()
	settings.KAI = true
	c := newClusterWith(t, settings, nodes...)
	e := &everything{cluster: c, kinds: all, bound: map[string]int{}}
	c.startAt("2026-03-28T18:00:00Z", c.allConfig())
	c.startScheduler(dedicated)
	e.churn(8)
	c.sound()
	c.oneEntryEach(all)

	// kill -9, and the night comes while fgpu runs.
	c.fgpu.Kill()
	c.fgpu.Args[len(c.fgpu.Args)-1] = "2026-03-28T18:59:50Z"
	c.must(nil, c.fgpu.Start(c.ctx))
	e.churn(2)
	c.summarised("night", func(s summary) bool { return fmt.Sprint(s.TimeWindows.Active) == "[night]" && s.ClosedNodes == 1 })
	night := annotated(pod("night"), "fgpu.io/gpu-fraction=0.01")
	night.Spec.NodeSelector = map[string]string{"kind": "native"}
	c.create(night)
	c.refusedFor("night", "node pool")
	e.churn(6)
	c.sound()

	// A clean restart in the middle of the night.
	c.restartAt("2026-03-28T22:00:00Z")
	e.churn(2)
	c.sound()
	c.oneEntryEach(all)
	for _, k := range all {
		if e.bound[k.name] == 0 {
			t.Errorf("no pod was ever seen on the node of kind %s: %v", k.name, e.bound)
		}
	}
	if report, _ := c.report(); len(report.Unassigned) > 0 {
		t.Errorf("nobody knows the GPUs of %v", report.Unassigned)
	}
}

// oneEntryEach demands that the ledger has each GPU and instance once, and says how many whole GPUs kubelet picks from.
func (c *cluster) oneEntryEach(all []kind) {
	c.Helper()
	state, err := c.fgpu.State(c.ctx)
	c.must(state, err)
	for _, n := range state.Nodes {
		i := slices.IndexFunc(all, func(k kind) bool { return k.name+"-0" == n.Name })
		if i < 0 {
			c.Errorf("/state has node %s", n.Name)
			continue
		}
		seen := map[string]bool{}
		for _, g := range n.GPUs {
			seen[fmt.Sprintf("%s#%d", g.UUID, g.Index)] = true
		}
		if len(n.GPUs) != all[i].gpus || len(seen) != len(n.GPUs) {
			c.Errorf("node %s has %d entries of GPUs in /state, %d of them different; there are %d", n.Name, len(n.GPUs),
				len(seen), all[i].gpus)
		}
	}
}
