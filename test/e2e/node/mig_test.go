package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

var instances = []string{"MIG-0f9b0001-0000-4000-8000-00000000000a", "MIG-0f9b0001-0000-4000-8000-00000000000b"}

const instanceMemMiB = 4864

// cutSecondGPU has the driver say that the second GPU is an A100 with two instances, and NVIDIA's CDI file name them.
func (m *machine) cutSecondGPU() error {
	script := fmt.Sprintf("gpu %s 0 %d 0 Fake\ngpu %s 1 %d 0 NVIDIA_A100-SXM4-40GB\n", gpus[0], gpuMemMiB, gpus[1], gpuMemMiB)
	devices := []document{{"name": gpus[0], "containerEdits": document{"deviceNodes": []document{
		{"path": "/dev/nvidia0", "hostPath": m.path("dev", "nvidia0")}}}}}
	for i, uuid := range instances {
		script += fmt.Sprintf("mig %s %d 1g.5gb\nat %d 1\n", uuid, instanceMemMiB, i)
		devices = append(devices, document{"name": uuid, "containerEdits": document{"deviceNodes": []document{
			{"path": "/dev/nvidia1", "hostPath": m.path("dev", "nvidia1")}}}})
	}
	spec, err := json.Marshal(document{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": devices})
	if err != nil {
		return err
	}
	for file, text := range map[string]string{filepath.Join(cdiDir, "nvidia.json"): string(spec), m.path("gpus"): script} {
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			return err
		}
		if err := os.Rename(file+".new", file); err != nil {
			return err
		}
	}
	return nil
}

// Instances that the driver lists are published, given to pods that ask for memory, and handed over: each to one pod.
func TestInstancesOfMIG(t *testing.T) {
	s := newScene(t)
	whole, err := os.ReadFile(theNode.path("gpus"))
	s.must(err)
	t.Cleanup(func() {
		s.must(theNode.describeGPUs(0, 1))
		s.must(os.WriteFile(theNode.path("gpus"), whole, 0o600))
		s.lookAgain()
		s.must(awaitPublished(s.ctx))
	})
	s.must(theNode.cutSecondGPU())
	s.lookAgain()
	s.until("the instances in fgpu.io/gpus", func() (bool, string) {
		n, err := plane.Client.CoreV1().Nodes().Get(s.ctx, harness.RealNode, metav1.GetOptions{})
		s.must(err)
		text := n.Annotations[checker.InventoryKey]
		return strings.Contains(text, instances[0]) && strings.Contains(text, instances[1]), text
	})
	given := map[string]bool{}
	for _, name := range []string{"first", "second"} {
		p := s.create(podOf(name, box("main", cudaImage, "fgpu.io/gpu-memory-mib=4000")))
		s.alone(p, "main", 1)
		given[s.instanceOf(p)] = true
	}
	equal(s, "instances that were given", len(given), 2)

	// Another replica gives the instance of the first pod away once more.
	late := s.create(unscheduled("late"))
	instance := s.instanceOf(s.get("first"))
	record, err := plane.SignedRecord(string(late.UID), harness.RealNode, "of-another-replica",
		harness.RecordDevice{UUID: instance, Index: 1, Milli: 1000, MemMiB: instanceMemMiB, MIG: "1g.5gb"})
	s.must(err)
	s.bindWith(late, record)
	s.refused(late, instance, "pod "+s.namespace+"/first")
	s.remove("first")
	s.alone(late, "main", 1)
}

func (s *scene) instanceOf(p *corev1.Pod) string {
	s.Helper()
	record := s.get(p.Name).Annotations[assignmentKey]
	for _, uuid := range instances {
		if strings.Contains(record, uuid) {
			return uuid
		}
	}
	s.Fatalf("the record of pod %s names no instance: %s", p.Name, record)
	return ""
}
