package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// What keeps a container to its share, on the real node: what the scripted driver is told for which cgroup, and what the
// container sees. No GPU is behind it: that a limit is kept nobody can see here.

// limitsBy restarts the agent with these options for one test.
func limitsBy(s *scene, options ...string) {
	s.Helper()
	before := theNode.agent.Args
	theNode.agent.Args = append(slices.Clone(before), options...)
	s.Cleanup(func() {
		theNode.agent.Args = before
		s.must(theNode.restartAgent(s.ctx))
	})
	s.must(theNode.restartAgent(s.ctx))
}

// cgroup2 is where this machine has cgroups of version 2: runc puts containers there, too, where version 1 is in use.
func cgroup2(s *scene) string {
	const magic = 0x63677270
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var found syscall.Statfs_t
		if syscall.Statfs(root, &found) == nil && found.Type == magic {
			return root
		}
	}
	s.Fatal("this machine has no cgroups of version 2")
	return ""
}

// driver is the scripted driver, with which the agent limits memory in this test.
type driver struct {
	*scene
	file, root string
}

func limitsByDriver(s *scene) *driver {
	s.Helper()
	d := &driver{s, filepath.Join(s.TempDir(), "told"), cgroup2(s)}
	s.Setenv("FAKE_NVML_LIMITS", d.file)
	limitsBy(s, "--limits", "driver", "--cgroup-root", d.root)
	return d
}

// does says what it answers from now on.
func (d *driver) does(script string) {
	d.must(os.WriteFile(d.file+".script", []byte(script), 0o600))
}

// told are the lines "SOFT HARD UUID CGROUP" of all calls but those of the agent's trial, which set no limit.
func (d *driver) told() []string {
	text, err := os.ReadFile(d.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.HasPrefix(line, "0 18446744073709551615 ") })
}

// limitOf is what it was told of that GPU last, and for which cgroup.
func (d *driver) limitOf(gpu int) (bytes, cgroup string) {
	for _, line := range d.told() {
		if words := strings.Fields(line); len(words) == 4 && words[2] == gpus[gpu] {
			equal(d.scene, "guarantee", words[0], "0")
			bytes, cgroup = words[1], words[3]
		}
	}
	return bytes, cgroup
}

// ranLater waits until a container runs whose start was refused before: its log has another number.
func (s *scene) ranLater(p *corev1.Pod, container string) {
	s.Helper()
	s.until("container "+p.Name+"/"+container, func() (bool, string) {
		logs, _ := filepath.Glob(theNode.path("pods", p.Namespace+"_"+p.Name+"_"+string(p.UID), container, "*.log"))
		for _, file := range logs {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), " F {") {
				return true, ""
			}
		}
		return false, strings.Join(s.told(p.UID), "\n")
	})
}

// The driver is told the record's memory for the cgroup in which the container's processes are.
func TestTheDriverIsToldTheMemoryOfAShare(t *testing.T) {
	s := newScene(t)
	d := limitsByDriver(s)
	p := s.create(unscheduled("share"))
	s.bindAs(p, 1, 300)
	s.alone(p, "main", 1)
	bytes, cgroup := d.limitOf(1)
	equal(s, "limit", bytes, fmt.Sprint(gpuMemMiB*300/1000<<20))
	text, err := os.ReadFile(filepath.Join(cgroup, "cgroup.procs"))
	s.must(err)
	processes := strings.Fields(string(text))
	equal(s, "processes in "+cgroup, len(processes), 1)
	command, err := os.ReadFile("/proc/" + processes[0] + "/cmdline")
	s.must(err)
	equal(s, "its program", string(command), "/box\x00look\x00")
	own, err := os.ReadFile("/proc/" + processes[0] + "/cgroup")
	s.must(err)
	if !strings.Contains(string(own), "0::"+strings.TrimPrefix(cgroup, d.root)+"\n") {
		s.Errorf("the driver was told cgroup %s of a process in\n%s", cgroup, own)
	}
}

// A GPU that a container has alone has no limit, and a container without a GPU neither.
func TestTheDriverIsToldNothingOfAWholeGPU(t *testing.T) {
	s := newScene(t)
	d := limitsByDriver(s)
	p := s.create(podOf("whole", box("with", cudaImage, "fgpu.io/gpu-count=1"), box("without", cudaImage)))
	s.alone(p, "with", s.gpuOf(p))
	s.nothing(p, "without")
	equal(s, "calls", d.told(), []string{})
}

// waitsForItsLimit: the program of a container does not run, the user reads why, others start in the meantime, and when the
// driver is well again, kubelet's next try succeeds.
func waitsForItsLimit(s *scene, d *driver, why string) {
	s.Helper()
	p := s.create(unscheduled("share"))
	s.bindAs(p, 0, 300)
	s.refused(p, "pod "+s.namespace+"/share would run without its limit of GPU memory", why)
	s.nothing(s.create(podOf("beside", box("main", cudaImage))), "main")
	d.does("ok")
	s.ranLater(p, "main")
	if _, cgroup := d.limitOf(0); cgroup == "" {
		s.Errorf("it runs, and the driver was told nothing")
	}
}

func TestAContainerWhoseLimitIsRefusedDoesNotRun(t *testing.T) {
	s := newScene(t)
	d := limitsByDriver(s)
	d.does("fail 6")
	waitsForItsLimit(s, d, "controller dmem")
}

// The call had been made when it hung, and the program never ran: so the driver is told before.
func TestAContainerWhoseLimitHangsDoesNotRun(t *testing.T) {
	s := newScene(t)
	d := limitsByDriver(s)
	d.does("hang")
	waitsForItsLimit(s, d, "within 500 ms")
	equal(s, "calls before the last one", len(d.told()) > 1, true)
}

// What runs when an agent comes is told to the driver, too: it may have been started while there was none.
func TestAnAgentThatComesBackLimitsWhatRuns(t *testing.T) {
	s := newScene(t)
	p := s.create(unscheduled("share"))
	s.bindAs(p, 0, 300)
	s.alone(p, "main", 0) // nobody limited it
	d := limitsByDriver(s)
	s.until("the limit", func() (bool, string) {
		bytes, _ := d.limitOf(0)
		return bytes == fmt.Sprint(gpuMemMiB*300/1000<<20), strings.Join(d.told(), "\n")
	})
}

// daemon is a fake of nvidia-cuda-mps-control: it accepts whoever connects.
func daemon(s *scene) {
	s.Helper()
	for _, dir := range []string{"pipe", "shm"} {
		s.must(os.MkdirAll("/run/fgpu/mps/"+dir, 0o755))
	}
	listener, err := net.Listen("unix", "/run/fgpu/mps/pipe/control")
	s.must(err)
	s.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

// shareOf300 are the variables for 300 milli of one GPU.
var shareOf300 = []string{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=12288M",
	"CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps"}

// Without its daemon, programs would run past MPS: they wait. With it they see their limits, whatever the image says, and find
// the daemon where CUDA looks when nobody names a place, also below a volume.
func TestMPSLimitsAreWhatTheContainerSees(t *testing.T) {
	s := newScene(t)
	limitsBy(s, "--limits", "mps")
	p := unscheduled("share")
	p.Spec.Containers[0].Image = mpsImage
	p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	p = s.create(p)
	s.bindAs(p, 0, 300)
	s.refused(p, "pod "+s.namespace+"/share waits for the MPS daemon", "/run/fgpu/mps/pipe/control")
	daemon(s)
	seen := s.sees(p, "main")
	equal(s, "variables", seen.Cuda, append([]string{"CUDA_DISABLE_CONTROL=true"}, shareOf300...))
	equal(s, "the daemon answers", seen.Mps, true)
	other := s.create(podOf("plain", box("main", mpsImage)))
	equal(s, "variables of a container without a GPU", s.sees(other, "main").Cuda,
		[]string{"CUDA_DISABLE_CONTROL=true", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=99G"})
}

// Where image and pod both set a variable, nobody can set it again: such a container is refused, and so is one that puts
// something else where the daemon is.
func TestAContainerThatChoosesItsOwnMPSLimitIsRefused(t *testing.T) {
	s := newScene(t)
	limitsBy(s, "--limits", "mps")
	daemon(s)
	both := unscheduled("both")
	both.Spec.Containers[0].Image = mpsImage
	both.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", Value: "0=50G"}}
	both = s.create(both)
	s.bindAs(both, 0, 300)
	s.refused(both, "image and pod both set CUDA_MPS_PINNED_DEVICE_MEM_LIMIT for container main of pod "+s.namespace+"/both")
	hides := unscheduled("hides")
	hides.Spec.Volumes = []corev1.Volume{{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	hides.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "empty", MountPath: "/tmp//nvidia-mps/"}}
	hides = s.create(hides)
	s.bindAs(hides, 0, 300)
	s.refused(hides, "has a mount at /tmp/nvidia-mps")
	// One of the two alone is replaced.
	pod := unscheduled("pod")
	pod.Spec.Containers[0].Image = boxImage
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", Value: "100"},
		{Name: "CUDA_MPS_PIPE_DIRECTORY", Value: "/nowhere"}}
	pod = s.create(pod)
	s.bindAs(pod, 0, 300)
	equal(s, "variables", s.sees(pod, "main").Cuda, shareOf300)
}

func TestHAMiCoreIsInTheContainer(t *testing.T) {
	s := newScene(t)
	library := filepath.Join(s.TempDir(), "libvgpu.so")
	s.must(os.WriteFile(library, nil, 0o644))
	limitsBy(s, "--limits", "hami-core", "--hami-core-library", library)
	p := unscheduled("share")
	p.Spec.Containers[0].Image = mpsImage // it says CUDA_DISABLE_CONTROL=true
	p = s.create(p)
	s.bindAs(p, 0, 300)
	seen := s.sees(p, "main")
	equal(s, "variables", seen.Cuda, []string{"CUDA_DEVICE_MEMORY_LIMIT_0=12288m", "CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/cudevshr.cache",
		"CUDA_DEVICE_SM_LIMIT_0=30", "CUDA_DISABLE_CONTROL=false", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=99G", "GPU_CORE_UTILIZATION_POLICY=force"})
	equal(s, "what programs load first", seen.Preload, "/usr/local/vgpu/libvgpu.so\n")
}

// Each GPU of a container has its own limit, for one cgroup.
func TestTheDriverIsToldTheMemoryOfEachGPU(t *testing.T) {
	s := newScene(t)
	d := limitsByDriver(s)
	p := s.create(unscheduled("both"))
	record, err := plane.SignedRecord(string(p.UID), harness.RealNode, "of-another-replica",
		harness.RecordDevice{UUID: gpus[0], Index: 0, Milli: 100, MemMiB: 1000}, harness.RecordDevice{UUID: gpus[1], Index: 1, Milli: 100, MemMiB: 2000})
	s.must(err)
	s.bindWith(p, record)
	s.sees(p, "main")
	first, cgroup := d.limitOf(0)
	second, same := d.limitOf(1)
	equal(s, "limits", []string{first, second, same}, []string{fmt.Sprint(1000 << 20), fmt.Sprint(2000 << 20), cgroup})
}

// startFails runs the agent with these options beside the one that runs, and demands that it ends and says why.
func startFails(s *scene, why string, options ...string) {
	s.Helper()
	out, err := exec.Command(os.Getenv("FGPU_NODE"), append(slices.Clone(theNode.agent.Args), options...)...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "--limits=driver cannot hold here: "+why) {
		s.Errorf("%v: %s", err, out)
	}
}

func saysKind(s *scene, kind string, why string) {
	s.Helper()
	text, err := os.ReadFile(theNode.agent.LogFile)
	s.must(err)
	lines := strings.Split(string(text), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, "Keeps containers to their shares of GPUs") })
	if last := lines[len(lines)-1]; !strings.Contains(last, fmt.Sprintf("by=%q", kind)) || !strings.Contains(last, why) {
		s.Errorf("the agent says: %s", last)
	}
	answer, err := http.Get("http://127.0.0.1:9444/state")
	s.must(err)
	defer answer.Body.Close()
	var state struct {
		Limits struct{ Kind, NotByDriver string }
	}
	s.must(json.NewDecoder(answer.Body).Decode(&state))
	if state.Limits.Kind != kind || !strings.Contains(state.Limits.NotByDriver, why) {
		s.Errorf("/state of the agent: %+v", state)
	}
}

// An admin who says "driver" where it cannot hold is told at once; "auto" takes what holds.
func TestLimitsThatCannotHoldAreAnErrorAtStart(t *testing.T) {
	s := newScene(t)
	startFails(s, "the cgroups of this node are of version 1", "--limits", "driver", "--cgroup-root", "/proc")
	limitsBy(s, "--limits", "auto", "--cgroup-root", "/proc")
	saysKind(s, "watch", "the cgroups of this node are of version 1")
}

// A driver that has the function and says no, as one whose kernel gives cgroups no controller: found out at start.
func TestTheDriverIsTriedBeforeItIsChosen(t *testing.T) {
	s := newScene(t)
	d := &driver{s, filepath.Join(s.TempDir(), "told"), cgroup2(s)}
	s.Setenv("FAKE_NVML_LIMITS", d.file)
	d.does("fail 6")
	startFails(s, "the driver did not limit the memory of GPU "+gpus[0], "--limits", "driver", "--cgroup-root", d.root)
	limitsBy(s, "--limits", "auto", "--cgroup-root", d.root)
	saysKind(s, "watch", "controller dmem")
	p := s.create(unscheduled("share"))
	s.bindAs(p, 0, 300)
	s.alone(p, "main", 0)
	d.does("ok")
	s.must(theNode.restartAgent(s.ctx))
	saysKind(s, "driver", "")
}

// A driver that does not answer at start has not said no: it is tried again, and who was started meanwhile is limited then.
func TestADriverThatIsLateLimitsWhatWasStartedMeanwhile(t *testing.T) {
	s := newScene(t)
	d := &driver{s, filepath.Join(s.TempDir(), "told"), cgroup2(s)}
	s.Setenv("FAKE_NVML_LIMITS", d.file)
	d.does("hang")
	limitsBy(s, "--limits", "auto", "--cgroup-root", d.root)
	saysKind(s, "watch", "did not set its limit")
	p := s.create(unscheduled("share"))
	s.bindAs(p, 0, 300)
	s.alone(p, "main", 0)
	equal(s, "calls before it answers", len(d.told()), 0)
	d.does("ok")
	s.until("the limit", func() (bool, string) {
		bytes, _ := d.limitOf(0)
		return bytes == fmt.Sprint(gpuMemMiB*300/1000<<20), strings.Join(d.told(), "\n")
	})
	saysKind(s, "driver", "")
}

const limitsOverlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../manifests/node]
components: [../manifests/node-limits/%s]
`

// The shipped components fit the shipped DaemonSet, and the API server takes what comes of it.
func TestTheComponentsOfLimitsFitTheDaemonSet(t *testing.T) {
	s := newScene(t)
	dir := s.TempDir()
	s.must(os.CopyFS(filepath.Join(dir, "manifests"), os.DirFS("../../../manifests")))
	for _, kind := range []string{"driver", "mps"} {
		folder := filepath.Join(dir, kind)
		s.must(write(filepath.Join(folder, "kustomization.yaml"), limitsOverlay, kind))
		text := s.kubectl("apply", "--dry-run=server", "-o", "yaml", "-k", folder)
		for _, part := range []string{"--limits=" + kind, "hostPID: true"} {
			if !strings.Contains(text, part) {
				s.Errorf("%s: no %q in\n%s", kind, part, text)
			}
		}
	}
}
