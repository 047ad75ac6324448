package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// What fgpu-node says of its node at the API server, on a real kubelet, which writes the status of that node too.

var totals = map[corev1.ResourceName]int64{"fgpu.io/gpu-milli": 1000 * int64(len(gpus)),
	"fgpu.io/gpu-memory-mib": gpuMemMiB * int64(len(gpus)), "fgpu.io/gpu-count": int64(len(gpus))}

func published(ctx context.Context) error {
	n, err := plane.Client.CoreV1().Nodes().Get(ctx, harness.RealNode, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return publishedOn(n)
}

// publishedOn: nil, or what is not yet as the two GPUs are.
func publishedOn(n *corev1.Node) error {
	var doc struct {
		By   string
		Gpus []struct {
			UUID    string
			Index   int
			Minor   int
			MemMib  int
			Model   string
			Healthy bool
		}
	}
	text := n.Annotations[checker.InventoryKey]
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return fmt.Errorf("annotation %q: %w", text, err)
	}
	if doc.By != "fgpu-node" || len(doc.Gpus) != len(gpus) {
		return fmt.Errorf("annotation %s", text)
	}
	for i, g := range doc.Gpus {
		if g.UUID != gpus[i] || g.Index != i || g.Minor != i || g.MemMib != gpuMemMiB || g.Model != "Fake" || !g.Healthy {
			return fmt.Errorf("annotation %s", text)
		}
	}
	return sameTotals(n, totals)
}

func sameTotals(n *corev1.Node, want map[corev1.ResourceName]int64) error {
	for name, value := range want {
		for place, list := range map[string]corev1.ResourceList{"capacity": n.Status.Capacity, "allocatable": n.Status.Allocatable} {
			q, there := list[name]
			if !there || q.Value() != value {
				return fmt.Errorf("%s of %s: %s", place, name, q.String())
			}
		}
	}
	return nil
}

func awaitPublished(ctx context.Context) error {
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = published(ctx); err == nil {
			return nil
		}
	}
	return fmt.Errorf("not within %v: %w; end of fgpu-node's log:\n%s", patience, err, harness.Tail(theNode.path("fgpu-node.log"), 10))
}

// patchNode returns the node as the patch left it, before the agent may have mended that.
func (s *scene) patchNode(patch string, subresources ...string) *corev1.Node {
	s.Helper()
	n, err := plane.Client.CoreV1().Nodes().Patch(s.ctx, harness.RealNode, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	s.must(err)
	return n
}

// lookAgain has the agent look at once at what it would look at within a minute or so.
func (s *scene) lookAgain() { s.must(syscall.Kill(theNode.agent.Pid(), syscall.SIGHUP)) }

const noTotals = `{"fgpu.io/gpu-milli":null,"fgpu.io/gpu-memory-mib":null,"fgpu.io/gpu-count":null}`

// Nobody has annotated or labelled the node: startMachine waits for the agent's word. Here somebody takes it away.
func TestThePublisherRestoresWhatSomebodyRemoves(t *testing.T) {
	s := newScene(t)
	s.must(awaitPublished(s.ctx))
	for _, edit := range []func() *corev1.Node{
		func() *corev1.Node { return s.patchNode(`{"metadata":{"annotations":{"fgpu.io/gpus":null}}}`) },
		func() *corev1.Node {
			return s.patchNode(`{"status":{"capacity":`+noTotals+`,"allocatable":`+noTotals+`}}`, "status")
		},
		func() *corev1.Node {
			return s.patchNode(`{"status":{"capacity":{"fgpu.io/gpu-milli":"0"},"allocatable":{"fgpu.io/gpu-milli":"0"}}}`, "status")
		},
	} {
		if publishedOn(edit()) == nil {
			t.Fatal("the edit has changed nothing")
		}
		s.lookAgain()
		s.must(awaitPublished(s.ctx))
	}
	// kubelet has gone on writing the status meanwhile, and keeps what it does not know.
	n, err := plane.Client.CoreV1().Nodes().Get(s.ctx, harness.RealNode, metav1.GetOptions{})
	s.must(err)
	beat := heartbeat(n)
	s.until("kubelet's next status", func() (bool, string) {
		n, err = plane.Client.CoreV1().Nodes().Get(s.ctx, harness.RealNode, metav1.GetOptions{})
		s.must(err)
		return heartbeat(n).After(beat), beat.String()
	})
	s.must(sameTotals(n, totals))
}

func heartbeat(n *corev1.Node) time.Time {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastHeartbeatTime.Time
		}
	}
	return time.Time{}
}

// An admin who wrote the annotation keeps it, and what is not the agent's it does not touch.
func TestThePublisherLeavesAnAdminsWordAlone(t *testing.T) {
	s := newScene(t)
	s.must(awaitPublished(s.ctx))
	byHand := `{"v":1,"gpus":[]}`
	s.patchNode(fmt.Sprintf(`{"metadata":{"annotations":{"fgpu.io/gpus":%q,"other":"1"}},"spec":{"unschedulable":true}}`, byHand))
	s.lookAgain()
	s.until("the agent says that it stands back", func() (bool, string) {
		text := harness.Tail(theNode.path("fgpu-node.log"), 20)
		return containsAll(text, []string{"that fgpu-node has not written"}), text
	})
	n, err := plane.Client.CoreV1().Nodes().Get(s.ctx, harness.RealNode, metav1.GetOptions{})
	s.must(err)
	equal(s, "annotation", n.Annotations[checker.InventoryKey], byHand)
	s.patchNode(`{"metadata":{"annotations":{"fgpu.io/gpus":null,"other":null}},"spec":{"unschedulable":null}}`)
	s.lookAgain()
	s.must(awaitPublished(s.ctx))
}

// restartKubelet waits until it has judged all pods of its node again: it takes them in the order of their age.
func (s *scene) restartKubelet() {
	s.Helper()
	theNode.kubelet.Kill()
	s.must(theNode.kubelet.Start(s.ctx))
	last := s.create(onNode(podOf("last", box("main", boxImage))))
	s.sees(last, "main")
	s.remove("last")
}

// kubelet writes the status of its node when it starts, and keeps what it does not know; its pods live on.
func TestKubeletStartsAgainAndPodsAndTotalsStay(t *testing.T) {
	s := newScene(t)
	p := s.create(podOf("one", box("main", cudaImage, "fgpu.io/gpu-milli=300")))
	s.alone(p, "main", s.gpuOf(p))
	s.restartKubelet()
	s.must(published(s.ctx))
	// It may set what it does not know to 0 where its device manager has kept nothing (reconcileExtendedResource).
	s.must(os.RemoveAll("/var/lib/kubelet/device-plugins"))
	s.restartKubelet()
	s.must(published(s.ctx))
	equal(s, "phase", s.get("one").Status.Phase, corev1.PodRunning)
}

// Why totals never fall below what pods hold (include/node/publication.h): kubelet fails what does not fit, running or not.
func TestKubeletFailsRunningPodsThatTotalsDoNotCover(t *testing.T) {
	s := newScene(t)
	p := s.create(podOf("one", box("main", cudaImage, "fgpu.io/gpu-milli=300")))
	s.alone(p, "main", s.gpuOf(p))
	defer s.agentIsBack()
	theNode.killAgent() // it would mend them, within a minute
	s.patchNode(`{"status":{"capacity":{"fgpu.io/gpu-milli":"100"},"allocatable":{"fgpu.io/gpu-milli":"100"}}}`, "status")
	s.restartKubelet()
	s.until("kubelet's verdict", func() (bool, string) {
		// It fails the pod and ends its container; where the container's end (exit code 0) is reported last, the phase is Succeeded.
		now := s.get("one").Status
		return now.Phase == corev1.PodFailed && now.Reason == "OutOffgpu.io/gpu-milli" || now.Phase == corev1.PodSucceeded,
			string(now.Phase) + " " + now.Reason
	})
}

// agentIsBack leaves to the next test a node as it was, also when this one failed.
func (s *scene) agentIsBack() {
	s.Helper()
	if !theNode.agent.Running() {
		s.must(theNode.agent.Start(s.ctx))
	}
	s.must(awaitPublished(s.ctx))
}

// The driver is gone: the GPUs stay known, closed, and no total says that there is room. Totals that are not there harm no pod.
func TestWithoutADriverTheNodeIsClosed(t *testing.T) {
	s := newScene(t)
	p := s.create(podOf("one", box("main", cudaImage, "fgpu.io/gpu-milli=300")))
	s.alone(p, "main", s.gpuOf(p))
	theNode.killAgent()
	without := &harness.Process{Name: "fgpu-node", Path: theNode.agent.Path, LogFile: theNode.agent.LogFile,
		Args:  append(slices.Clone(theNode.agent.Args), "--nvml-library", "/nowhere/libnvidia-ml.so.1"),
		Ready: func(context.Context) error { return nil }}
	s.must(without.Start(s.ctx))
	s.until("the node is closed", func() (bool, string) {
		n, err := plane.Client.CoreV1().Nodes().Get(s.ctx, harness.RealNode, metav1.GetOptions{})
		s.must(err)
		text := n.Annotations[checker.InventoryKey]
		_, there := n.Status.Capacity["fgpu.io/gpu-milli"]
		return strings.Count(text, `"healthy":false`) == len(gpus) && !strings.Contains(text, `"healthy":true`) && !there, text
	})
	s.restartKubelet()
	equal(s, "phase", s.get("one").Status.Phase, corev1.PodRunning)
	without.Kill()
	s.must(theNode.agent.Start(s.ctx))
	s.must(awaitPublished(s.ctx))
}
