package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// A large cluster has a kube-scheduler for each pool of nodes, and one fgpu for all (manifests/large-clusters.md): each
// scheduler stays in its pool whatever the pods say, and nothing is given twice, because there is one ledger.
func TestSchedulersOfSeveralPoolsShareOneFgpu(t *testing.T) {
	pools := []string{"a", "b"}
	var nodes []*corev1.Node
	for _, pool := range pools {
		for i := range 2 {
			n := gpuNode(fmt.Sprintf("pools-%s%d", pool, i), 2, gib80)
			n.Labels["example.com/pool"] = pool
			nodes = append(nodes, n)
		}
	}
	c := newCluster(t, nodes...)
	c.useFgpu(dedicated)
	var schedulers []*harness.Scheduler
	name := c.name
	for _, pool := range pools {
		c.name = name + "-" + pool
		c.startScheduler(dedicated,
			harness.Replacement{Old: "leaderElect: true", New: "leaderElect: false"}, // each would have a lease of its own
			harness.Replacement{Old: "- schedulerName: fgpu-scheduler\n  pluginConfig:\n", New: "- schedulerName: fgpu-" + pool + `
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: example.com/pool, operator: In, values: [` + pool + `]}
`})
		schedulers = append(schedulers, c.scheduler)
	}
	c.name = name
	t.Cleanup(func() {
		if err := schedulers[0].Stop(); err != nil { // the other one is stopped as every test's
			t.Error(err)
		}
	})

	// More than either pool has room for: 4 GPUs each, and 5 pods of 0.9 ask each scheduler.
	for i := range 5 {
		for _, pool := range pools {
			p := pod(fmt.Sprintf("%s-%d", pool, i), "fgpu.io/gpu-milli=900")
			p.Spec.SchedulerName = "fgpu-" + pool
			c.create(p)
		}
	}
	c.eventually("each pool is full", func() (bool, string) {
		bound, refused := 0, 0
		for i := range 5 {
			for _, pool := range pools {
				p := c.recorder.Pod(fmt.Sprintf("%s-%d", pool, i))
				switch {
				case p == nil:
				case p.Spec.NodeName != "":
					bound++
					if !strings.HasPrefix(p.Spec.NodeName, "pools-"+pool) {
						c.Fatalf("%s is on %s, which is of the other pool", p.Name, p.Spec.NodeName)
					}
				case strings.Contains(condition(p), string(corev1.PodReasonUnschedulable)):
					refused++
				}
			}
		}
		return bound == 8 && refused == 2, fmt.Sprintf("%d bound, %d refused", bound, refused)
	})
	c.sound()
}
