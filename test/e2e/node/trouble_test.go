package node

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"fgpu.io/fgpu/test/e2e/harness"
)

// An agent that hangs, and one that takes over from another.

// The agent hangs: the runtime waits 2 s, gives it up, and makes containers without what it would have said. So no container
// has a GPU meanwhile; and when it goes on, it knows what runs, names who runs without, and refuses as before.
func TestAnAgentThatHangsGivesNoGPUAway(t *testing.T) {
	s := newScene(t)
	first := s.create(unscheduled("first"))
	s.bindAs(first, 0, 700)
	s.alone(first, "main", 0)
	_, from := agentSaid(0)
	theNode.toldBefore = theNode.timesTold()
	s.must(syscall.Kill(theNode.agent.Pid(), syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(theNode.agent.Pid(), syscall.SIGCONT) })
	hung, plain := s.create(unscheduled("hung")), s.create(onNode(podOf("plain", box("main", cudaImage))))
	s.bindAs(hung, 1, 300)
	for _, p := range []string{hung.Name, plain.Name} {
		seen := s.sees(s.get(p), "main")
		equal(s, p+": files", seen.Nodes, []string{})
		equal(s, p+": GPUs that its cgroup allows", seen.Allowed, []int{})
	}
	s.must(syscall.Kill(theNode.agent.Pid(), syscall.SIGCONT))
	s.must(theNode.agent.AwaitReady(s.ctx))
	s.until("the agent names the container", func() (bool, string) {
		text, _ := agentSaid(from)
		return strings.Contains(text, "runs without the GPU of its record") && strings.Contains(text, `pod="hung"`), text
	})
	late := s.create(unscheduled("late"))
	s.bindAs(late, 0, 700)
	s.refused(late, "pod "+s.namespace+"/first")
	beside := s.create(unscheduled("beside"))
	s.bindAs(beside, 1, 700)
	s.alone(beside, "main", 1)
}

// startSecondAgent runs one more beside the first, as a rolling update may, and returns how to end it.
func (m *machine) startSecondAgent(ctx context.Context) (stop func() error, err error) {
	log := m.path("fgpu-node-2.log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		return nil, err
	}
	second := &harness.Process{Name: "second fgpu-node", Path: m.agent.Path, LogFile: log, Args: m.agent.Args,
		Ready: func(context.Context) error {
			text, err := os.ReadFile(log)
			if err == nil && !strings.Contains(string(text), "Knows what runs on the GPUs") {
				err = fmt.Errorf("containerd has not told it yet what runs")
			}
			return err
		}}
	if err := second.Start(ctx); err != nil {
		return nil, err
	}
	return second.Stop, nil
}

// A new agent takes over while containers run. Both are asked for a while, and what both say is a conflict: a container is
// refused then, and made when one of them is left, which knows what the other one gave.
func TestAnAgentIsReplacedWhileContainersRun(t *testing.T) {
	s := newScene(t)
	first := s.create(unscheduled("first"))
	s.bindAs(first, 0, 700)
	s.alone(first, "main", 0)
	stop, err := theNode.startSecondAgent(s.ctx)
	s.must(err)
	between := s.create(unscheduled("between"))
	s.bindAs(between, 1, 700)
	s.refused(between, "10-fgpu")
	s.must(theNode.stopAgent())
	s.alone(between, "main", 1)
	late := s.create(unscheduled("late"))
	s.bindAs(late, 0, 700)
	s.refused(late, "pod "+s.namespace+"/first")
	late = s.create(unscheduled("later"))
	s.bindAs(late, 1, 700)
	s.refused(late, "pod "+s.namespace+"/between")
	theNode.toldBefore = theNode.timesTold()
	s.must(theNode.agent.Start(s.ctx))
	s.must(stop())
	s.remove("between")
	s.alone(late, "main", 1)
}
