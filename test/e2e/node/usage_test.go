package node

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Who uses more memory of a GPU than the record gives. The driver's library is a script, so it is told the process of a
// container, as the kernel numbers it, and what that uses; everything else is real: cgroups, /proc, signals.

// watching runs fgpu-node with more arguments, looks every second, and may write Events; at the end it is as before.
func (s *scene) watching(args ...string) {
	s.Helper()
	kubeconfig, err := plane.Kubeconfig(s.ctx, "fgpu-system", "fgpu")
	s.must(err)
	before := theNode.agent.Args
	theNode.agent.Args = append(slices.Clone(before), append(args, "--kubeconfig", kubeconfig, "--usage-interval", "1s")...)
	s.must(theNode.restartAgent(s.ctx))
	s.Cleanup(func() {
		s.processesAre()
		theNode.agent.Args = before
		s.must(theNode.restartAgent(s.ctx))
	})
}

// processesAre what the driver tells from now on: lines of test/nvml/fake_processes.c.
func (s *scene) processesAre(lines ...string) {
	s.Helper()
	path := theNode.path("gpus.processes")
	s.must(os.WriteFile(path+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	s.must(os.Rename(path+".new", path))
}

// pidOf is the process of the one container of a pod.
func (s *scene) pidOf(p *corev1.Pod) string {
	s.Helper()
	pid := ""
	s.until("the process of pod "+p.Name, func() (bool, string) {
		statuses := s.get(p.Name).Status.ContainerStatuses
		if len(statuses) == 0 || statuses[0].State.Running == nil {
			return false, "it does not run"
		}
		_, id, _ := strings.Cut(statuses[0].ContainerID, "//")
		files, err := filepath.Glob("/proc/[0-9]*/cgroup")
		s.must(err)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), id) {
				pid = filepath.Base(filepath.Dir(file))
				return true, ""
			}
		}
		return false, "no process is in container " + id
	})
	return pid
}

func metrics(path string) (string, error) {
	r, err := http.Get("http://127.0.0.1:9444" + path)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// shows waits until the metrics have this value of a container.
func (s *scene) shows(name string, p *corev1.Pod, value string) {
	s.Helper()
	s.until(name+" of pod "+p.Name, func() (bool, string) {
		text, err := metrics("/metrics")
		if err != nil {
			return false, err.Error()
		}
		line := ""
		for _, l := range strings.Split(text, "\n") {
			if strings.HasPrefix(l, name+"{") && strings.Contains(l, fmt.Sprintf("namespace=%q,pod=%q", s.namespace, p.Name)) {
				line = l
			}
		}
		return strings.HasSuffix(line, "} "+value), line
	})
}

// greedyAndModest are two pods on one GPU with 12288 MiB each, and what the driver tells of them.
func (s *scene) greedyAndModest() (greedy, modest *corev1.Pod) {
	s.Helper()
	greedy, modest = s.create(unscheduled("greedy")), s.create(unscheduled("modest"))
	s.bindAs(greedy, 0, 300)
	s.bindAs(modest, 0, 300)
	s.alone(greedy, "main", 0)
	s.alone(modest, "main", 0)
	s.processesAre(fmt.Sprintf("process %s %s 12289 60", gpus[0], s.pidOf(greedy)),
		fmt.Sprintf("process %s %s 12288 10", gpus[0], s.pidOf(modest)))
	return greedy, modest
}

func (s *scene) wasTold(p *corev1.Pod, reason string) bool {
	return slices.ContainsFunc(s.told(p.UID), func(m string) bool { return strings.HasPrefix(m, reason+": ") })
}

func (s *scene) neverRestarted(p *corev1.Pod) {
	s.Helper()
	if n := s.get(p.Name).Status.ContainerStatuses[0].RestartCount; n != 0 {
		s.Errorf("pod %s was restarted %d times", p.Name, n)
	}
}

func TestAContainerAboveItsMemoryIsReported(t *testing.T) {
	s := newScene(t)
	s.watching()
	greedy, modest := s.greedyAndModest()
	s.shows("fgpu_node_container_gpu_over_limit", greedy, "1")
	s.shows("fgpu_node_container_gpu_memory_used_bytes", greedy, fmt.Sprint(12289<<20))
	s.shows("fgpu_node_container_gpu_memory_used_bytes", modest, fmt.Sprint(12288<<20))
	s.shows("fgpu_node_container_gpu_over_limit", modest, "0")
	s.shows("fgpu_node_container_gpu_utilization_ratio", greedy, "0.6")
	s.until("the Event of pod greedy", func() (bool, string) {
		return s.wasTold(greedy, "GPUMemoryExceeded"), strings.Join(s.told(greedy.UID), "\n")
	})
	if s.wasTold(modest, "GPUMemoryExceeded") {
		s.Errorf("pod modest is blamed: %v", s.told(modest.UID))
	}
	s.neverRestarted(greedy)
	s.neverRestarted(modest)
}

func TestAContainerAboveItsMemoryIsKilled(t *testing.T) {
	s := newScene(t)
	s.watching("--on-exceed", "kill", "--exceed-grace", "1s")
	greedy, modest := s.greedyAndModest()
	s.until("the end of the process of pod greedy", func() (bool, string) {
		c := s.get(greedy.Name).Status.ContainerStatuses[0]
		return c.LastTerminationState.Terminated != nil && c.LastTerminationState.Terminated.ExitCode == 137, fmt.Sprint(c)
	})
	s.until("the Event of pod greedy", func() (bool, string) {
		return s.wasTold(greedy, "GPUProcessKilled"), strings.Join(s.told(greedy.UID), "\n")
	})
	s.neverRestarted(modest)
}

// A pod that asks for a GPU and never uses it is seen as that.
func TestAPodThatNeverTouchedItsGPUIsSeen(t *testing.T) {
	s := newScene(t)
	s.watching()
	idle := s.create(unscheduled("idle"))
	s.bindAs(idle, 1, 300)
	s.alone(idle, "main", 1)
	s.shows("fgpu_node_container_gpu_touched", idle, "0")
	s.shows("fgpu_node_container_gpu_memory_peak_bytes", idle, "0")
}
