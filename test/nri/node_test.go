package nri

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/api"
)

// fgpu-node against NRI as runtimes contain it: what a container gets, and what is refused.

const nodeName = "n1"

var gpus = []string{"GPU-a", "GPU-b"}

const gpuMiB = 1000

type node struct {
	t      *testing.T
	r      *runtime
	signer *signer
	dir    string
	byCDI  bool
	more   []string // further arguments of the agent
	cmd    *exec.Cmd
	log    *os.File
}

// newNode is a runtime with an agent that it asks.
func newNode(t *testing.T) *node {
	n := &node{t: t, r: newRuntimeNamed(t, "containerd", "v2.4.2", nil, nil), dir: t.TempDir()}
	n.byCDI = has(&api.ContainerAdjustment{}, cdiDevices)
	n.signer = newSigner(t, filepath.Join(n.dir, "key.pub"))
	n.haveGPUs(gpus...)
	if err := os.Mkdir(filepath.Join(n.dir, "cdi"), 0o700); err != nil {
		t.Fatal(err)
	}
	n.startAgent()
	return n
}

// haveGPUs says what the driver's library finds; "" is a GPU that cannot be reached.
func (n *node) haveGPUs(uuids ...string) {
	script := ""
	for i, uuid := range uuids {
		if uuid == "" {
			script += "lost\n"
		} else {
			script += fmt.Sprintf("gpu %s %d %d 0 Fake\n", uuid, i, gpuMiB)
		}
	}
	n.script(script)
}

// script is put there whole, as the agent may read it at any moment.
func (n *node) script(text string) {
	n.t.Helper()
	path := filepath.Join(n.dir, "gpus")
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// until waits for the condition; each is what is done before it is asked again.
func (n *node) until(what string, holds func() bool, each func()) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("not in time: %s\n%s", what, n.said())
		}
		each()
	}
}

// look has an agent that runs read keys and GPUs again, until the condition holds.
func (n *node) look(what string, holds func() bool) {
	n.t.Helper()
	n.until(what, holds, func() { n.cmd.Process.Signal(syscall.SIGHUP) })
}

func (n *node) startAgent() {
	n.t.Helper()
	n.launchAgent()
	n.until("the runtime asks the agent", func() bool { return n.visible(n.create(pod("registered", nil), "main")) == "void" }, func() {})
}

func (n *node) launchAgent() {
	path, library := os.Getenv("FGPU_NODE"), os.Getenv("FGPU_FAKE_NVML")
	if path == "" || library == "" {
		n.t.Fatal("FGPU_NODE names no fgpu-node, or FGPU_FAKE_NVML no library: run scripts/nri")
	}
	way := "auto"
	if !n.byCDI {
		way = "env"
	}
	var err error
	if n.log, err = os.OpenFile(filepath.Join(n.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.cmd = exec.Command(path, "--node-name", nodeName, "--public-keys", filepath.Join(n.dir, "key.pub"), "--nri-socket", n.r.socket(),
		"--nvml-library", library, "--cdi-dir", filepath.Join(n.dir, "cdi"), "--hand-over", way)
	n.cmd.Args = append(n.cmd.Args, n.more...)
	n.cmd.Env = append(os.Environ(), "FAKE_NVML="+filepath.Join(n.dir, "gpus"))
	n.cmd.Stderr = n.log
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	cmd := n.cmd
	n.t.Cleanup(func() {
		if cmd == n.cmd {
			n.stopAgent(syscall.SIGTERM)
		}
	})
}

func (n *node) stopAgent(how syscall.Signal) {
	n.cmd.Process.Signal(how)
	if err := n.cmd.Wait(); err != nil && how == syscall.SIGTERM {
		n.t.Errorf("fgpu-node: %v\n%s", err, n.said())
	}
	n.log.Close()
}

func (n *node) said() string {
	text, _ := os.ReadFile(filepath.Join(n.dir, "log"))
	return string(text)
}

type outcome struct {
	adjust *api.ContainerAdjustment
	err    error
	id     string
}

var containerN int

func (n *node) create(of *api.PodSandbox, name string) outcome {
	containerN++
	c := container(name, fmt.Sprint("cid-", containerN))
	c.PodSandboxId = of.Id
	c.Env = []string{"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all"}
	adjust, err := n.r.create(of, c)
	return outcome{adjust, err, c.Id}
}

// visible is what the container sees: "void", GPUs, "all" (it was not edited), or the reason of a refusal.
func (n *node) visible(o outcome) string {
	if o.err != nil {
		return "refused: " + o.err.Error()
	}
	if !n.byCDI {
		for _, e := range o.adjust.GetEnv() {
			if e.GetKey() == "NVIDIA_VISIBLE_DEVICES" {
				return e.GetValue()
			}
		}
		return "all"
	}
	var names []string
	void := false
	for _, name := range cdiOf(o.adjust) {
		if name == "fgpu.io/gpu=void" {
			void = true
		} else {
			names = append(names, strings.TrimPrefix(name, "nvidia.com/gpu="))
		}
	}
	if !void {
		return "all"
	}
	if len(names) == 0 {
		return "void"
	}
	return strings.Join(names, ",")
}

func (n *node) stop(of *api.PodSandbox, id string) {
	n.t.Helper()
	if _, err := n.r.nri.StopContainer(context.Background(), &api.StopContainerRequest{Pod: of, Container: container("main", id)}); err != nil {
		n.t.Error(err)
	}
}

// granted is a pod whose record gives its containers this share of each of these GPUs.
func (n *node) granted(name string, milli int, devices ...int) *api.PodSandbox {
	of := pod(name, map[string]string{})
	of.Annotations["fgpu.io/assignment"] = n.record(of.Uid, nodeName, milli, devices...)
	return of
}

func (n *node) record(uid, node string, milli int, devices ...int) string {
	main := recordedContainer{Name: "main"}
	for _, d := range devices {
		main.Devices = append(main.Devices, recorded{UUID: gpus[d], Index: d, Milli: milli, MemMib: 100})
	}
	return n.signer.record(n.t, uid, node, main)
}

func (n *node) sees(of *api.PodSandbox, name, want string) string {
	n.t.Helper()
	o := n.create(of, name)
	equal(n.t, of.Name+"/"+name, n.visible(o), want)
	return o.id
}

func (n *node) refused(of *api.PodSandbox, name string, says ...string) {
	n.t.Helper()
	got := n.visible(n.create(of, name))
	for _, words := range append([]string{"refused: "}, says...) {
		if !strings.Contains(got, words) {
			n.t.Errorf("%s/%s: %q does not say %q", of.Name, name, got, words)
		}
	}
}

func TestAContainerGetsExactlyItsGPUs(t *testing.T) {
	n := newNode(t)
	two := n.granted("two", 300, 0, 1)
	n.sees(two, "main", "GPU-a,GPU-b")
	n.sees(two, "sidecar", "void")
	n.sees(pod("plain", nil), "main", "void")
	system := pod("system", nil)
	system.Namespace = "kube-system"
	n.sees(system, "main", "all")
	if n.byCDI {
		spec, err := os.ReadFile(filepath.Join(n.dir, "cdi", "fgpu.io-gpu.json"))
		if err != nil || !strings.Contains(string(spec), "NVIDIA_VISIBLE_DEVICES=void") {
			t.Errorf("%s %v", spec, err)
		}
	}
}

func TestARecordThatIsNotThisPodsOnThisNodeIsRefused(t *testing.T) {
	n := newNode(t)
	thief, far, forged := n.granted("thief", 300, 0), pod("far", map[string]string{}), n.granted("forged", 300, 0)
	thief.Uid = "another"
	n.refused(thief, "main", "pod team/thief", "does not hold")
	far.Annotations["fgpu.io/assignment"] = n.record(far.Uid, "n2", 300, 0)
	n.refused(far, "main", "does not hold for this pod on node n1")
	forged.Annotations["fgpu.io/assignment"] = strings.Replace(forged.Annotations["fgpu.io/assignment"], `"milli":300`, `"milli":999`, 1)
	n.refused(forged, "main", "the record was changed")
	n.sees(n.granted("honest", 1000, 0), "main", "GPU-a") // none of these took anything
}

func TestADoubleDecisionIsNoDoubleUse(t *testing.T) {
	n := newNode(t)
	first, second := n.granted("first", 700, 0), n.granted("second", 700, 0)
	id := n.sees(first, "main", "GPU-a")
	n.refused(second, "main", "pod team/first", "pod team/second", "GPU-a")
	n.sees(n.granted("beside", 700, 1), "main", "GPU-b")
	n.stop(first, id)
	n.sees(second, "main", "GPU-a")
}

func TestAnAgentThatWasKilledKnowsWhatRuns(t *testing.T) {
	n := newNode(t)
	first, second, gone := n.granted("first", 700, 0), n.granted("second", 700, 0), n.granted("gone", 700, 0)
	c := container("main", n.sees(first, "main", "GPU-a"))
	c.PodSandboxId, c.State = first.Id, api.ContainerState_CONTAINER_RUNNING
	ended := container("main", "cid-ended")
	ended.PodSandboxId, ended.State = gone.Id, api.ContainerState_CONTAINER_STOPPED
	n.r.pods, n.r.containers = []*api.PodSandbox{gone, first}, []*api.Container{c, ended}
	n.stopAgent(syscall.SIGKILL)
	n.startAgent()
	n.refused(second, "main", "pod team/first")
	n.stop(first, c.Id)
	n.sees(second, "main", "GPU-a")
}

func TestAContainerThatWasCreatedUnseenDoesNotStart(t *testing.T) {
	n := newNode(t)
	err := n.r.startContainer(n.granted("unseen", 300, 0), container("main", "cid-unseen"))
	if err == nil || !strings.Contains(err.Error(), "created while fgpu-node was away") {
		t.Errorf("%v", err)
	}
	if err := n.r.startContainer(pod("plain", nil), container("main", "cid-plain")); err != nil {
		t.Error(err)
	}
}

func TestOtherKeysAreReadWhileTheAgentRuns(t *testing.T) {
	n := newNode(t)
	old := n.granted("old", 300, 0)
	n.sees(old, "main", "GPU-a")
	n.signer = newSigner(t, filepath.Join(n.dir, "key.pub"))
	young := n.granted("young", 300, 1)
	n.look("the new key is known", func() bool { return n.visible(n.create(young, "main")) == "GPU-b" })
	n.refused(old, "main", "which node n1 does not know; add it to the public keys of fgpu-node")
	if err := os.WriteFile(filepath.Join(n.dir, "key.pub"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.look("the agent says that it cannot read it", func() bool { return strings.Contains(n.said(), "those of before stay") })
	n.sees(young, "main", "GPU-b")
}

func TestAGPUThatIsLostIsGivenToNobody(t *testing.T) {
	n := newNode(t)
	first, second := n.granted("first", 300, 0), n.granted("second", 300, 0)
	n.sees(first, "main", "GPU-a")
	n.haveGPUs("", gpus[1])
	n.look("the GPU is lost", func() bool { return n.create(second, "main").err != nil })
	n.refused(second, "main", "GPU-a", "is lost")
	n.sees(n.granted("beside", 300, 1), "main", "GPU-b")
	n.haveGPUs(gpus...)
	n.look("it is back", func() bool { return n.create(second, "main").err == nil })
	n.refused(n.granted("third", 700, 0), "main", "pod team/") // both are still there
}

func TestTheDriverMayComeLater(t *testing.T) {
	n := newNode(t)
	n.stopAgent(syscall.SIGTERM)
	library := os.Getenv("FGPU_FAKE_NVML")
	late := filepath.Join(n.dir, "libnvidia-ml.so.1")
	t.Setenv("FGPU_FAKE_NVML", late)
	n.launchAgent()
	n.until("the agent waits", func() bool { return strings.Contains(n.said(), "waiting for a driver") }, func() {})
	equal(t, "without a driver", n.visible(n.create(pod("early", nil), "main")), "all")
	if err := os.Symlink(library, late); err != nil {
		t.Fatal(err)
	}
	n.look("the agent is asked", func() bool { return n.visible(n.create(pod("late", nil), "main")) == "void" })
}

// A library without a driver that works: GPUs are hidden, and who has one granted waits for it. Nothing is created unseen.
func TestABrokenDriverHidesGPUsAllTheSame(t *testing.T) {
	n := newNode(t)
	n.stopAgent(syscall.SIGTERM)
	n.script("no-driver\n")
	n.startAgent()
	p := n.granted("patient", 300, 0)
	n.refused(p, "main", "GPU-a", "is not on this node")
	n.haveGPUs(gpus...)
	n.look("the driver works", func() bool { return n.visible(n.create(p, "main")) == "GPU-a" })
}

func TestTheDriverIsLoadedAnew(t *testing.T) {
	n := newNode(t)
	n.script(fmt.Sprintf("loaded 1\ngpu GPU-b 1 %d 0 Fake\n", gpuMiB))
	p := n.granted("first", 300, 1)
	n.sees(p, "main", "GPU-b")
	old := n.granted("old", 300, 0)
	n.look("the old driver is gone", func() bool {
		got := n.visible(n.create(old, "main"))
		return strings.Contains(got, "is not on this node") || strings.Contains(got, "is lost")
	})
	second := n.granted("second", 800, 1)
	n.look("the GPU of the new driver is known, and who has it", func() bool { return strings.Contains(n.visible(n.create(second, "main")), "pod team/first") })
}

func TestTheFileOfTheVoidDeviceIsPutBack(t *testing.T) {
	n := newNode(t)
	path := filepath.Join(n.dir, "cdi", "fgpu.io-gpu.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func() error{
		"removed": func() error { return os.Remove(path) },
		"emptied": func() error { return os.Truncate(path, 0) },
		"changed": func() error {
			return os.WriteFile(path, bytes.Replace(whole, []byte("=void"), []byte("=all"), 1), 0o644)
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		n.look("the file that was "+what+" is back", func() bool {
			text, err := os.ReadFile(path)
			return err == nil && bytes.Equal(text, whole)
		})
	}
	// Also when the driver does not answer.
	n.script("no-driver\n")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	n.look("the file is back without a driver", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

func TestAGPUHasSoManyPlacesAndNoMore(t *testing.T) {
	n := newNode(t)
	n.stopAgent(syscall.SIGTERM)
	n.more = []string{"--max-sharers", "2"}
	n.startAgent()
	n.sees(n.granted("first", 100, 0), "main", "GPU-a")
	n.sees(n.granted("second", 100, 0), "main", "GPU-a")
	n.refused(n.granted("third", 100, 0), "main", "2 of 2 places are taken")
}

func TestAnOpenDoorIsTold(t *testing.T) {
	n := newNode(t)
	n.stopAgent(syscall.SIGTERM)
	config := filepath.Join(n.dir, "config.toml")
	if err := os.WriteFile(config, []byte("[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"nvidia\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.more = []string{"--runtime-config", config, "--runtime-config", config + ".none"}
	n.startAgent()
	for _, words := range []string{"make runc the default runtime", "enable default_validator", "config.toml.none"} {
		if !strings.Contains(n.said(), words) {
			t.Errorf("%s\ndoes not say %q", n.said(), words)
		}
	}
}

// Pods come and go, two for each place, while the agent is killed and asked by a runtime that forgets nothing. What was
// handed over is added up here.
func TestManyPodsComeAndGoWhileTheAgentIsKilled(t *testing.T) {
	n := newNode(t)
	random := rand.New(rand.NewSource(1))
	type running struct {
		of    *api.PodSandbox
		c     *api.Container
		milli int
		gpu   int
	}
	var there []running
	admitted, refused := 0, 0
	for step := range 400 {
		if step%80 == 79 {
			n.r.pods, n.r.containers = nil, nil
			for _, x := range there {
				n.r.pods, n.r.containers = append(n.r.pods, x.of), append(n.r.containers, x.c)
			}
			n.stopAgent(syscall.SIGKILL)
			n.startAgent()
		}
		if len(there) > 0 && random.Intn(3) == 0 {
			i := random.Intn(len(there))
			n.stop(there[i].of, there[i].c.Id)
			there = append(there[:i], there[i+1:]...)
			continue
		}
		x := running{milli: 100 + random.Intn(900), gpu: random.Intn(len(gpus))}
		x.of = n.granted(fmt.Sprint("pod-", step), x.milli, x.gpu)
		o := n.create(x.of, "main")
		if o.err != nil {
			refused++
			continue
		}
		equal(t, "sees", n.visible(o), gpus[x.gpu])
		admitted++
		x.c = container("main", o.id)
		x.c.PodSandboxId, x.c.State = x.of.Id, api.ContainerState_CONTAINER_RUNNING
		there = append(there, x)
		used := make([]int, len(gpus))
		for _, y := range there {
			used[y.gpu] += y.milli
		}
		for i, milli := range used {
			if milli > 1000 {
				t.Fatalf("step %d: %s is used by %d milli", step, gpus[i], milli)
			}
		}
	}
	if admitted < 50 || refused < 50 {
		t.Errorf("%d admitted, %d refused", admitted, refused)
	}
}
