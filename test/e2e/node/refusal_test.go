package node

import (
	"testing"

	"fgpu.io/fgpu/test/e2e/harness"
)

// A user who names the node and writes the record, signed with a key of the user's own.
func TestAForgedRecordIsRefused(t *testing.T) {
	s := newScene(t)
	forger := &harness.ControlPlane{Dir: t.TempDir()}
	record, err := forger.SignedRecord("any", harness.RealNode, "forged", harness.RecordDevice{UUID: gpus[0], Milli: 300, MemMiB: 1000})
	s.must(err)
	p := onNode(podOf("forged", box("main", cudaImage)))
	p.Annotations[assignmentKey] = record
	s.refused(s.create(p), "pod "+s.namespace+"/forged", "add it to the public keys of fgpu-node")
}

// A record that fgpu wrote, with one number changed.
func TestAChangedRecordIsRefused(t *testing.T) {
	s := newScene(t)
	p := onNode(podOf("changed", box("main", cudaImage)))
	p.Annotations[assignmentKey] = replaceOnce(s, s.recordOf("honest", "fgpu.io/gpu-milli=300"), `"milli":300`, `"milli":900`)
	s.refused(s.create(p), "pod "+s.namespace+"/changed", "does not hold")
}

// The record of a pod that runs, copied.
func TestTheRecordOfAnotherPodIsRefused(t *testing.T) {
	s := newScene(t)
	p := onNode(podOf("thief", box("main", cudaImage)))
	p.Annotations[assignmentKey] = s.recordOf("victim", "fgpu.io/gpu-milli=300")
	s.refused(s.create(p), "pod "+s.namespace+"/thief", "does not hold for this pod on node "+harness.RealNode)
}

// A record of the pod itself that was signed for another node.
func TestTheRecordOfAnotherNodeIsRefused(t *testing.T) {
	s := newScene(t)
	p := s.create(unscheduled("astray"))
	record, err := plane.SignedRecord(string(p.UID), "elsewhere", "other-node", harness.RecordDevice{UUID: gpus[0], Milli: 300, MemMiB: 1000})
	s.must(err)
	s.bindWith(p, record)
	s.refused(p, "does not hold for this pod on node "+harness.RealNode)
}

// The last fence: another replica decides late, and what it signs holds; but the GPU is taken.
func TestALateDoubleDecisionIsNoDoubleUse(t *testing.T) {
	s := newScene(t)
	first := s.create(podOf("first", box("main", cudaImage, "fgpu.io/gpu-count=1")))
	gpu := s.gpuOf(first)
	s.alone(first, "main", gpu)
	second := s.create(unscheduled("second"))
	s.bindAs(second, gpu, 1000)
	s.refused(second, "pod "+s.namespace+"/first", "pod "+s.namespace+"/second", gpus[gpu])
	s.remove("first")
	s.alone(second, "main", gpu)
}

// Pods start that fit on the other GPU while one is refused.
func TestARefusalKeepsNobodyElseOut(t *testing.T) {
	s := newScene(t)
	first, late, beside := s.create(unscheduled("first")), s.create(unscheduled("late")), s.create(unscheduled("beside"))
	s.bindAs(first, 0, 700)
	s.alone(first, "main", 0)
	s.bindAs(late, 0, 700)
	s.refused(late, "pod "+s.namespace+"/first")
	s.bindAs(beside, 1, 700)
	s.alone(beside, "main", 1)
}
