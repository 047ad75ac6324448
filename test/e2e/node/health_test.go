package node

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// GPUs that fall ill while pods run on them, as the scripted library of the driver tells it (test/nvml/fake_events.c).

// newPatient is a scene whose GPUs are well again at its end: an error is forgotten when the agent is started again.
func newPatient(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	t.Cleanup(func() {
		s.must(os.Remove(theNode.path("gpus.events")))
		s.must(theNode.restartAgent(s.ctx))
		s.must(awaitPublished(s.ctx))
	})
	return s
}

// happens tells the library what happens from now on.
func (s *scene) happens(format string, args ...any) {
	s.Helper()
	f, err := os.OpenFile(theNode.path("gpus.events"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	s.must(err)
	_, err = fmt.Fprintf(f, format+"\n", args...)
	s.must(err)
	s.must(f.Close())
}

// toldOfNode waits for an Event of the node that says all this.
func (s *scene) toldOfNode(says ...string) {
	s.Helper()
	s.until("an Event of the node that says "+strings.Join(says, ", "), func() (bool, string) {
		list, err := plane.Client.CoreV1().Events("default").List(s.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Node,involvedObject.name=" + harness.RealNode})
		s.must(err)
		all := ""
		for _, e := range list.Items {
			if text := e.Reason + ": " + e.Message; containsAll(text, says) {
				return true, ""
			} else {
				all += text + "\n"
			}
		}
		return false, all
	})
}

func (s *scene) toldOfPod(p *corev1.Pod, says ...string) {
	s.Helper()
	s.until("an Event of pod "+p.Name, func() (bool, string) {
		all := s.told(p.UID)
		for _, text := range all {
			if containsAll(text, says) {
				return true, ""
			}
		}
		return false, strings.Join(all, "\n")
	})
}

// known waits until fgpu knows which GPUs are healthy, and what is charged on each.
func (s *scene) known(what string, is func(gpus []harness.GPU) bool) {
	s.Helper()
	s.until(what, func() (bool, string) {
		state, err := theFgpu.State(s.ctx)
		s.must(err)
		for _, n := range state.Nodes {
			if n.Name == harness.RealNode {
				return len(n.GPUs) == len(gpus) && is(n.GPUs), fmt.Sprintf("%+v", n.GPUs)
			}
		}
		return false, "no node"
	})
}

// An error closes that GPU for new containers, on the node and for fgpu; what runs goes on and stays charged.
func TestHealthAnXIDClosesThatGPUOnly(t *testing.T) {
	s := newPatient(t)
	holder := s.create(unscheduled("holder"))
	s.bindAs(holder, 0, 300)
	s.alone(holder, "main", 0)
	s.happens("xid %s 31", gpus[1]) // a program's fault
	s.happens("xid %s 79", gpus[0])
	s.toldOfNode("GPUDeviceUnhealthy", gpus[0], "reported XID 79", "1 pod holds it")
	s.toldOfPod(holder, "GPUDeviceUnhealthy", gpus[0], "reported XID 79", "delete the pod")
	late := s.create(unscheduled("late"))
	s.bindAs(late, 0, 300)
	s.refused(late, "pod "+s.namespace+"/late", gpus[0], "reported XID 79")
	s.remove("late")
	s.known("that GPU 0 is ill and still charged", func(gpus []harness.GPU) bool {
		return !gpus[0].Healthy && gpus[1].Healthy && gpus[0].Milli.Charged == 300
	})
	for i := range 3 {
		p := s.create(podOf(fmt.Sprintf("other-%d", i), box("main", cudaImage, "fgpu.io/gpu-milli=300")))
		s.alone(p, "main", 1)
	}
	fourth := s.create(podOf("fourth", box("main", cudaImage, "fgpu.io/gpu-milli=300")))
	s.toldOfPod(fourth, "FailedScheduling")
	equal(s, "phase of what runs on the ill GPU", s.get("holder").Status.Phase, corev1.PodRunning)
	// Another instance of its container is a new container.
	s.killContainer(holder)
	s.toldOfPod(holder, "Failed", "reported XID 79")
}

// killContainer ends the program of a pod's container with a GPU, as if it had ended by itself.
func (s *scene) killContainer(p *corev1.Pod) {
	s.Helper()
	s.must(syscall.Kill(s.processOf(p), syscall.SIGKILL))
}

// A GPU that does not answer any more is closed, and open when it answers again.
func TestHealthALostGPUIsClosedUntilItAnswers(t *testing.T) {
	s := newPatient(t)
	holder := s.create(unscheduled("holder"))
	s.bindAs(holder, 1, 300)
	s.alone(holder, "main", 1)
	s.happens("sick %s 15", gpus[1])
	s.toldOfNode("GPUDeviceUnhealthy", gpus[1], "is lost", "1 pod holds it")
	s.toldOfPod(holder, "GPUDeviceUnhealthy", gpus[1], "is lost")
	s.known("that GPU 1 is ill", func(gpus []harness.GPU) bool {
		return gpus[0].Healthy && !gpus[1].Healthy && gpus[1].Milli.Charged == 300
	})
	late := s.create(unscheduled("late"))
	s.bindAs(late, 1, 300)
	s.refused(late, gpus[1], "is lost")
	s.happens("sick %s 0", gpus[1])
	s.toldOfNode("GPUDeviceHealthy", gpus[1], "is well again")
	s.toldOfPod(holder, "GPUDeviceHealthy", gpus[1], "is well again")
	s.alone(late, "main", 1)
	s.known("that GPU 1 is well", func(gpus []harness.GPU) bool { return gpus[1].Healthy })
}

// A driver's library that does not return holds up neither containers nor the end of the agent, which says so.
func TestHealthALibraryThatHangsHoldsUpNobody(t *testing.T) {
	s := newPatient(t)
	s.happens("hang")
	p := s.create(unscheduled("beside"))
	s.bindAs(p, 0, 300)
	s.alone(p, "main", 0)
	s.until("the agent says that the library hangs", func() (bool, string) {
		text := harness.Tail(theNode.path("fgpu-node.log"), 20)
		return strings.Contains(text, "The driver's library does not return"), text
	})
	s.must(theNode.stopAgent())
	theNode.toldBefore = theNode.timesTold()
	s.happens("go")
	s.must(theNode.agent.Start(s.ctx))
	s.alone(p, "main", 0)
}
