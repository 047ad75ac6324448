package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// sampledNodes is how many nodes the tests of this file have: enough for kube-scheduler to look at a part of them only.
// scripts/test-sampling runs them with more.
func sampledNodes(t *testing.T) int {
	text := os.Getenv("FGPU_E2E_SAMPLED_NODES")
	if text == "" {
		return 2000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 200 {
		t.Fatalf("FGPU_E2E_SAMPLED_NODES=%s: 200 nodes or more are needed", text)
	}
	return n
}

// oneWithRoom are nodes of which one, in the middle, has a GPU that is large enough for roomy().
func oneWithRoom(n int) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range n {
		memMiB := int64(1024)
		if i == n/2 {
			memMiB = gib80
		}
		nodes = append(nodes, gpuNode(fmt.Sprintf("sampled-%05d", i), 1, memMiB))
	}
	return nodes
}

func roomy(name string) *corev1.Pod { return pod(name, "fgpu.io/gpu-memory-mib=40960") }

// slow is how long a search may take before the test says what happened meanwhile.
const slow = time.Second

// timeToBind creates the pod and waits until it is bound.
func (c *cluster) timeToBind(p *corev1.Pod) time.Duration {
	c.Helper()
	before := c.whatWoke()
	start := time.Now()
	c.create(p)
	c.bound(p.Name)
	took := time.Since(start)
	if took > slow {
		say("  %s: %.2f s; before it %s; after it %s", p.Name, took.Seconds(), before, c.whatWoke())
	}
	return took
}

// whatWoke is how many PATCHes had which outcome, and how many attempts kube-scheduler made.
func (c *cluster) whatWoke() string {
	c.Helper()
	attempts, err := c.scheduler.Attempts(c.ctx)
	c.must(nil, err)
	metrics, err := c.fgpu.Ops(c.ctx, "/metrics")
	c.must(nil, err)
	text := fmt.Sprintf("attempts %v", attempts)
	for _, line := range strings.Split(string(metrics), "\n") {
		if strings.HasPrefix(line, `fgpu_api_requests_total{verb="patch",resource="csistoragecapacities"`) ||
			strings.HasPrefix(line, `fgpu_api_request_duration_seconds_sum{verb="patch",resource="csistoragecapacities"`) {
			text += ", " + line
		}
	}
	return text
}

// One pod after the other, so that kube-scheduler begins at another node each time.
func TestTheOnlyNodeWithRoomIsFoundWhereverTheSampleBegins(t *testing.T) {
	n := sampledNodes(t)
	c := newCluster(t, oneWithRoom(n)...)
	c.ownFgpu(dedicated)
	c.startScheduler(dedicated)
	var longest time.Duration
	for i := range 6 {
		name := fmt.Sprintf("roomy-%d", i)
		took := c.timeToBind(roomy(name))
		say("  %d nodes, one with room: bound after %.2f s", n, took.Seconds())
		longest = max(longest, took)
		c.gone(c.remove(name))
	}
	say("  %d nodes, one with room: at most %.2f s", n, longest.Seconds())
	if c.metric(`fgpu_elsewhere_total{result="woken"}`) == 0 {
		t.Error("no pod was woken for a node that was not asked about: this test shows nothing")
	}
	c.sound()
}

// Pods that fit nowhere take turns with the one that fits, and a backlog of others keeps kube-scheduler busy, so that
// who was refused waits for the end of its back-off.
func TestTheOnlyNodeWithRoomIsFoundWhileTheQueueIsBusy(t *testing.T) {
	n := sampledNodes(t)
	c := newCluster(t, oneWithRoom(n)...)
	c.ownFgpu(dedicated)
	c.startScheduler(dedicated)
	var hopeless, others []*corev1.Pod
	for i := range 20 {
		hopeless = append(hopeless, pod(fmt.Sprintf("hopeless-%02d", i), fmt.Sprintf("fgpu.io/gpu-memory-mib=%d", 100000+i)))
	}
	for i := range n / 4 {
		others = append(others, pod(fmt.Sprintf("other-%04d", i), "fgpu.io/gpu-memory-mib=512"))
	}
	c.create(hopeless...)
	c.refused("hopeless-00")
	start := time.Now()
	c.create(others...)
	say("  %d nodes, 20 pods that fit nowhere, %d in the queue: bound after %.2f s", n, len(others),
		c.timeToBind(roomy("roomy")).Seconds())
	c.allBound(len(others) + 1)
	say("  all %d after %.1f s", len(others)+1, time.Since(start).Seconds())
	// Nobody disturbs the last one but those that fit nowhere.
	c.gone(c.remove("roomy"))
	say("  %d nodes, 20 pods that fit nowhere: bound after %.2f s", n, c.timeToBind(roomy("roomy-again")).Seconds())
	c.sound()
}
