package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// holder is a process of a pod that has a GPU in its /dev. The kernel alone says so.
type holder struct {
	pid int
	uid string // of the pod
	gpu int
}

// holders of all GPUs. A process that has ended has none, also while nobody has asked for its exit code.
func holders() []holder {
	var all []holder
	files, _ := filepath.Glob("/proc/[0-9]*/root/dev/nvidia*")
	for _, file := range files {
		h := holder{}
		if _, err := fmt.Sscanf(file, "/proc/%d/root/dev/nvidia%d", &h.pid, &h.gpu); err != nil {
			continue
		}
		if h.uid = podOfProcess(strconv.Itoa(h.pid)); h.uid != "" {
			all = append(all, h)
		}
	}
	return all
}

// processOf is the one process of a pod that has a GPU.
func (s *scene) processOf(p *corev1.Pod) int {
	s.Helper()
	var found []int
	for _, h := range holders() {
		if h.uid == string(p.UID) {
			found = append(found, h.pid)
		}
	}
	if len(found) != 1 {
		s.Fatalf("processes of pod %s with a GPU: %v", p.Name, found)
	}
	return found[0]
}

func hasGPU(pid int) bool {
	for _, h := range holders() {
		if h.pid == pid {
			return true
		}
	}
	return false
}

// shimOf is the parent of a container's first process.
func (s *scene) shimOf(pid int) int {
	s.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	s.must(err)
	// PID (NAME) STATE PARENT ...
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	shim, err := strconv.Atoi(fields[1])
	s.must(err)
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", shim))
	s.must(err)
	if !strings.HasPrefix(string(name), "containerd-shim") { // at most 15 characters
		s.Fatalf("the parent of process %d is %q (%d)", pid, strings.TrimSpace(string(name)), shim)
	}
	return shim
}

// signal a process; one that is stopped is killed when the test has ended.
func (s *scene) signal(pid int, sig syscall.Signal) {
	s.Helper()
	s.must(syscall.Kill(pid, sig))
	if sig == syscall.SIGSTOP {
		s.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // it may have been killed meanwhile
	}
}

// ofOneLife is a pod that has the whole of a GPU, and whose container is not made again.
func (s *scene) ofOneLife(name string, gpu int) *corev1.Pod {
	s.Helper()
	p := unscheduled(name)
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	p = s.create(p)
	s.bindAs(p, gpu, 1000)
	s.alone(p, "main", gpu)
	return p
}

// endsBeforeItIsNotListed: a pod has a GPU, containerd is killed and its shim comes to harm, and the process of the pod goes on.
// containerd tells the agent nothing of containers that it cannot ask, and the fence would give away what they hold. But it
// ends the processes of a container whose shim does not answer before it tells anybody what runs.
func (s *scene) endsBeforeItIsNotListed(harm syscall.Signal, meanwhile func()) {
	first, second := s.ofOneLife("first", 0), s.create(unscheduled("second"))
	process := s.processOf(first)
	shim := s.shimOf(process)
	theNode.containerd.Kill()
	s.signal(shim, harm)
	meanwhile()
	if !hasGPU(process) {
		s.Fatal("the process ended with its shim: this test sees nothing")
	}
	s.must(theNode.restartContainerd(s.ctx))
	if hasGPU(process) {
		s.Error("the agent was told what runs while a container that is not listed has a GPU")
	}
	s.bindAs(second, 0, 1000)
	s.alone(second, "main", 0)
}

func TestAContainerWhoseShimDiedHasEndedBeforeItIsNotListed(t *testing.T) {
	newScene(t).endsBeforeItIsNotListed(syscall.SIGKILL, func() {})
}

// The agent of before knew the container; one that has just been started knows what is listed.
func TestAnotherAgentFindsNoContainerThatIsNotListed(t *testing.T) {
	s := newScene(t)
	s.endsBeforeItIsNotListed(syscall.SIGKILL, func() {
		theNode.killAgent()
		s.must(theNode.agent.Launch())
	})
}

func TestAContainerWhoseShimHangsHasEndedBeforeItIsNotListed(t *testing.T) {
	newScene(t).endsBeforeItIsNotListed(syscall.SIGSTOP, func() {})
}

// The same while containerd runs: it sees the end of the shim, ends the container, and tells of its end then.
func TestAContainerEndsWithItsShimBeforeItsGPUIsGivenToOthers(t *testing.T) {
	s := newScene(t)
	first, second := s.ofOneLife("first", 0), s.create(unscheduled("second"))
	process := s.processOf(first)
	s.bindAs(second, 0, 1000)
	s.refused(second, "pod "+s.namespace+"/first")
	j := &judge{lots: map[string]lot{string(first.UID): {"first", 0, 1000}, string(second.UID): {"second", 0, 1000}}, found: map[string]int{}}
	ctx, stop := context.WithCancel(s.ctx)
	watched := j.watch(ctx)
	s.signal(s.shimOf(process), syscall.SIGKILL)
	s.alone(second, "main", 0)
	stop()
	<-watched
	j.look()
	for what, times := range j.found {
		s.Errorf("%s; seen %d times", what, times)
	}
	if hasGPU(process) || j.most != 1000 {
		s.Errorf("process %d of the first pod has a GPU: %v; at most %d milli of a GPU were held", process, hasGPU(process), j.most)
	}
}
