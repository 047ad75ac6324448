package node

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// What a container really has against its record: GPUs that come past the agent.

// describeGPUs writes the CDI file of NVIDIA's devices: the i-th name means the file of the GPU minors[i].
func (m *machine) describeGPUs(minors ...int) error {
	var devices []document
	for i, minor := range minors {
		devices = append(devices, document{"name": gpus[i], "containerEdits": document{"deviceNodes": []document{
			{"path": fmt.Sprintf("/dev/nvidia%d", minor), "hostPath": m.path("dev", fmt.Sprintf("nvidia%d", minor))}}}})
	}
	spec, err := json.Marshal(document{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": devices})
	if err != nil {
		return err
	}
	file := filepath.Join(cdiDir, "nvidia.json")
	if err := os.WriteFile(file+".new", spec, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// The CDI file is of before the cards were changed, so the name of the one GPU is the device node of the other.
func TestADeviceFileOfBeforeTheCardsWereChanged(t *testing.T) {
	s := newScene(t)
	s.must(theNode.describeGPUs(1, 0))
	t.Cleanup(func() { s.must(theNode.describeGPUs(0, 1)) })
	p := s.create(unscheduled("swapped"))
	s.bindAs(p, 0, 300)
	s.refused(p, "container main of pod "+s.namespace+"/swapped has /dev/nvidia1, which is GPU "+gpus[1], "nvidia-ctk cdi generate")
	s.must(theNode.describeGPUs(0, 1))
	s.seesLater(p, 0)
}

// seesLater waits for an instance of container main, whichever, that sees this GPU and no other.
func (s *scene) seesLater(p *corev1.Pod, gpu int) {
	s.Helper()
	s.until("a later instance of pod "+p.Name, func() (bool, string) {
		logs, err := filepath.Glob(theNode.path("pods", p.Namespace+"_"+p.Name+"_"+string(p.UID), "main", "*.log"))
		s.must(err)
		for _, file := range logs {
			text, err := os.ReadFile(file)
			if err == nil && strings.Contains(string(text), fmt.Sprintf(`"Nodes":["/dev/nvidia%d"],"Allowed":[%d]`, gpu, gpu)) {
				return true, ""
			}
		}
		return false, strings.Join(s.told(p.UID), "\n")
	})
}

// besides runs another plugin of the runtime beside the agent, which gives a container the CDI device that an annotation of
// its pod names, as NVIDIA's does for nvidia.cdi.k8s.io/.
func (s *scene) besides() {
	s.Helper()
	cmd := exec.Command(os.Getenv("FGPU_NRI_PROBE"), nriSocket, "obedient", "20")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	input, err := cmd.StdinPipe()
	s.must(err)
	output, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	told := make(chan string)
	go func() {
		var all strings.Builder
		buffer := make([]byte, 4096)
		for done := false; ; {
			n, err := output.Read(buffer)
			all.Write(buffer[:n])
			if !done && strings.Contains(all.String(), `"sync end"`) {
				done = true
				told <- "synchronized"
			}
			if err != nil {
				close(told)
				return
			}
		}
	}()
	s.Cleanup(func() {
		s.must(input.Close())
		for range told {
		}
		if err := cmd.Wait(); err != nil {
			s.Error(err)
		}
	})
	if <-told == "" {
		s.Fatal("the other plugin ended")
	}
}

// A tenant names a device in an annotation, and another plugin obeys.
func TestAnotherPluginObeysATenant(t *testing.T) {
	s := newScene(t)
	s.besides()
	plain := onNode(podOf("plain", box("main", cudaImage)))
	plain.Annotations["probe/cdi"] = "nvidia.com/gpu=" + gpus[1]
	s.refused(s.create(plain), "container main of pod "+s.namespace+"/plain has /dev/nvidia1, which is GPU "+gpus[1], "annotations that name devices")
	more := unscheduled("more")
	more.Annotations["probe/cdi"] = "nvidia.com/gpu=" + gpus[1]
	more = s.create(more)
	s.bindAs(more, 0, 300)
	s.refused(more, "/dev/nvidia1, which is GPU "+gpus[1])
	other := s.create(unscheduled("other"))
	s.bindAs(other, 1, 1000) // neither of them counts
	s.alone(other, "main", 1)
}

// A privileged container can open everything: with a GPU of its own it is refused, and without one it runs.
func TestAPrivilegedContainer(t *testing.T) {
	s := newScene(t)
	yes := true
	root := box("main", cudaImage)
	root.SecurityContext = &corev1.SecurityContext{Privileged: &yes}
	p := podOf("greedy", root)
	p.Spec.SchedulerName = "the-test"
	p = s.create(p)
	s.bindAs(p, 0, 300)
	s.refused(p, "container main of pod "+s.namespace+"/greedy is privileged", "securityContext")
	equal(s, "GPUs that its cgroup allows", s.sees(s.create(onNode(podOf("system", root))), "main").Allowed, []int{0, 1, 2, 3})
	other := s.create(unscheduled("other"))
	s.bindAs(other, 0, 1000)
	s.alone(other, "main", 0)
}

// The key of a container that runs was taken away before the agent starts: its GPU is closed until it has ended.
func TestAKeyIsGoneWhenTheAgentStarts(t *testing.T) {
	s := newScene(t)
	first, second, beside := s.create(unscheduled("first")), s.create(unscheduled("second")), s.create(unscheduled("beside"))
	s.bindAs(first, 0, 300)
	s.alone(first, "main", 0)
	others := &harness.ControlPlane{Dir: t.TempDir()}
	bindAs := func(p *corev1.Pod, gpu int) {
		record, err := others.SignedRecord(string(p.UID), harness.RealNode, "of-the-new-key", harness.RecordDevice{UUID: gpus[gpu], Index: int64(gpu), Milli: 300, MemMiB: 1000})
		s.must(err)
		s.bindWith(p, record)
	}
	args := slices.Clone(theNode.agent.Args)
	args[slices.Index(args, "--public-keys")+1] = filepath.Join(others.Dir, "signing")
	s.agentWith(args, func() {
		bindAs(beside, 1)
	}, func() {
		bindAs(second, 0)
		s.refused(second, "pod "+s.namespace+"/first", "to whom fgpu did not give it")
		s.alone(beside, "main", 1)
		s.remove("first")
		s.alone(second, "main", 0)
	})
}

// agentWith runs the agent with other arguments for a while; `before` is done while there is none.
func (s *scene) agentWith(args []string, before, then func()) {
	s.Helper()
	theNode.killAgent()
	usual := theNode.agent.Args
	theNode.agent.Args = args
	s.Cleanup(func() {
		theNode.killAgent()
		theNode.agent.Args = usual
		s.clear()
		s.must(theNode.agent.Start(s.ctx))
	})
	before()
	s.must(theNode.agent.Start(s.ctx))
	then()
}

// agentSaid is the rest of the agent's log behind `from` bytes.
func agentSaid(from int64) (string, int64) {
	file, err := os.Open(theNode.path("fgpu-node.log"))
	if err != nil {
		return err.Error(), from
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err.Error(), from
	}
	text, _ := io.ReadAll(file)
	return string(text), from + int64(len(text))
}

// A container that runs since the agent was away has no GPU: its pod is told, with what to do.
func TestAContainerOfWhichTheAgentKnewNothingIsNamed(t *testing.T) {
	s := newScene(t)
	kubeconfig, err := plane.AdminKubeconfig()
	s.must(err)
	s.agentWith(append(slices.Clone(theNode.agent.Args), "--kubeconfig", kubeconfig), func() {
		p := s.create(unscheduled("unseen"))
		s.bindAs(p, 0, 300)
		equal(s, "files", s.sees(p, "main").Nodes, []string{})
	}, func() {
		s.hears("unseen", "GPUNotHandedOver: container main runs without the GPU of its record")
	})
}

// hears waits for an Event of a pod.
func (s *scene) hears(name, says string) {
	s.Helper()
	uid := s.get(name).UID
	s.until("an Event of pod "+name, func() (bool, string) {
		all := s.told(uid)
		return slices.ContainsFunc(all, func(one string) bool { return strings.HasPrefix(one, says) }), strings.Join(all, "\n")
	})
}
