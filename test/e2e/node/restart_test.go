package node

import (
	"context"
	"strings"
	"testing"
)

// stillRefuses: a pod has a GPU, something is killed and starts again, and a second decision for that GPU is refused as before,
// until the first pod is gone.
func stillRefuses(s *scene, restart func(context.Context) error) {
	first, second := s.create(unscheduled("first")), s.create(unscheduled("second"))
	s.bindAs(first, 0, 1000)
	s.alone(first, "main", 0)
	s.must(restart(s.ctx))
	s.bindAs(second, 0, 1000)
	s.refused(second, "pod "+s.namespace+"/first", "pod "+s.namespace+"/second", gpus[0])
	s.remove("first")
	s.alone(second, "main", 0)
}

// The agent is killed while a pod has a GPU. One that starts again knows what runs, and refuses as before.
func TestAnAgentThatWasKilledStillRefuses(t *testing.T) {
	stillRefuses(newScene(t), theNode.restartAgent)
}

// containerd is killed: containers go on, the agent connects again by itself, and knows them.
func TestContainerdIsKilledAndTheAgentStillRefuses(t *testing.T) {
	s := newScene(t)
	stillRefuses(s, theNode.restartContainerd)
	s.nothing(s.create(podOf("plain", box("main", cudaImage))), "main")
}

// Without the agent there is no GPU, whatever the record grants and the image says.
func TestWithoutTheAgentThereIsNoGPU(t *testing.T) {
	s := newScene(t)
	theNode.killAgent()
	unseen := s.create(unscheduled("unseen"))
	s.bindAs(unseen, 0, 300)
	seen := s.sees(unseen, "main")
	equal(s, "files", seen.Nodes, []string{})
	equal(s, "GPUs that its cgroup allows", seen.Allowed, []int{})
	s.must(theNode.agent.Start(s.ctx))
	after := s.create(unscheduled("after"))
	s.bindAs(after, 0, 700)
	s.alone(after, "main", 0)
}

// The agent has written fgpu.io/gpus, so the node has one: fgpu requires it of containerd with the Binding, and a
// pod cannot take that back by a list of its own.
func TestTheBindingRequiresTheAgentOfTheNode(t *testing.T) {
	const required = "required-plugins.noderesource.dev"
	s := newScene(t)
	s.until("fgpu has read what the agent published", func() (bool, string) {
		state, err := theFgpu.Ops(s.ctx, "/state")
		s.must(err)
		return strings.Contains(string(state), `"needsAgent":true`), ""
	})
	theNode.killAgent()
	p := podOf("bound-here", box("main", cudaImage, "fgpu.io/gpu-milli=300"))
	p.Annotations[required+"/container.main"] = "[]"
	p = s.create(p)
	s.refused(p, `required plugin "fgpu" not present`)
	s.must(theNode.agent.Start(s.ctx))
	s.alone(p, "main", s.gpuOf(p))
	equal(s, required, s.get("bound-here").Annotations[required], `["fgpu"]`)
}

// A pod that asks containerd for the agent by its annotation waits for it.
func TestAPodThatRequiresTheAgentWaitsForIt(t *testing.T) {
	s := newScene(t)
	theNode.killAgent()
	p := unscheduled("patient")
	p.Annotations["required-plugins.noderesource.dev"] = `["fgpu"]`
	p = s.create(p)
	s.bindAs(p, 0, 300)
	s.refused(p, `required plugin "fgpu" not present`)
	s.must(theNode.agent.Start(s.ctx))
	s.alone(p, "main", 0)
}
