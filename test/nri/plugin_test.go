package nri

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/api"
)

// version is that of NRI, as scripts/nri says.
var version = os.Getenv("FGPU_NRI_VERSION")

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %#v, not %#v", what, got, want)
	}
}

func TestThePluginIsToldWhatThereIs(t *testing.T) {
	gpu := pod("train", map[string]string{"fgpu.io/assignment": `{"devices":["GPU-1"]}`, "other": "x\n\"<é"})
	c := container("main", "cid-1")
	c.PodSandboxId, c.State, c.Pid = gpu.Id, api.ContainerState_CONTAINER_RUNNING, 4711
	c.Mounts = []*api.Mount{{Destination: "/var/run/nvidia-container-devices/all", Type: "bind", Source: "/dev/null", Options: []string{"ro", "bind"}}}
	c.Linux.Devices = []*api.LinuxDevice{{Path: "/dev/nvidia3", Type: "c", Major: 195, Minor: 3, FileMode: &api.OptionalFileMode{Value: 0o620}},
		{Path: "/dev/nvidiactl", Type: "c", Major: 195, Minor: 255}}
	c.Linux.Resources = &api.LinuxResources{Devices: []*api.LinuxDeviceCgroup{{Access: "rwm"},
		{Allow: true, Type: "c", Major: &api.OptionalInt64{Value: 195}, Minor: &api.OptionalInt64{Value: 3}, Access: "rw"}}}
	giveCDI(c, "gpu.nvidia.com/gpu=gpu-3")
	r := newRuntime(t, []*api.PodSandbox{gpu}, []*api.Container{c, container("bare", "cid-2")})
	p := startProbe(t, inPieces(t, r.socket(), 1).socket)

	e := p.next("connected")
	equal(t, "name", e.Runtime.Name, "testruntime")
	equal(t, "version", e.Runtime.Version, "v9.8.7")
	if has(&api.ConfigureRequest{}, "request_timeout") {
		equal(t, "timeout", e.Runtime.RequestTimeoutMs, patience.Milliseconds())
	}
	p.next("sync begin")
	equal(t, "pod", p.next("sync pod").Pod, podFacts{ID: gpu.Id, Name: "train", UID: gpu.Uid, Namespace: "team", RuntimeHandler: "runc",
		CgroupParent: "/kubepods/podtrain", Annotations: gpu.Annotations})
	got := p.next("sync container").Container
	equal(t, "container", []any{got.ID, got.PodID, got.Name, got.CgroupsPath, got.State, got.Pid, got.Env},
		[]any{"cid-1", gpu.Id, "main", "kubepods.slice:cri-containerd:cid-1", 3, 4711, c.Env})
	if has(c, cdiDevices) {
		equal(t, "cdi", got.CdiDevices, []string{"gpu.nvidia.com/gpu=gpu-3"})
	}
	equal(t, "mounts", fmt.Sprint(got.Mounts), "[{/var/run/nvidia-container-devices/all bind /dev/null [ro bind]}]")
	equal(t, "devices", fmt.Sprint(got.Devices), "[{/dev/nvidia3 c 195 3 400} {/dev/nvidiactl c 195 255 0}]")
	equal(t, "device rules", fmt.Sprint(got.DeviceRules), "[{false  -1 -1 rwm} {true c 195 3 rw}]")
	equal(t, "second", p.next("sync container").Container.Name, "bare")
	p.next("sync end")
}

func TestALargeNodeIsToldAsAWhole(t *testing.T) {
	const pods, each = 400, 3
	var all []*api.PodSandbox
	var containers []*api.Container
	size := 3 << 20
	if has(&api.SynchronizeRequest{}, "more") {
		size = 18 << 20
	}
	for i := range pods {
		all = append(all, pod(fmt.Sprint("pod-", i), map[string]string{"n": fmt.Sprint(i)}))
		for j := range each {
			c := container(fmt.Sprint("c", j), fmt.Sprint("cid-", i, "-", j))
			c.PodSandboxId = all[i].Id
			c.Env = append(c.Env, "FILLER="+strings.Repeat("x", size/pods/each))
			containers = append(containers, c)
		}
	}
	r := newRuntime(t, all, containers)
	p := startProbe(t, r.socket())
	p.next("connected")
	p.next("sync begin")
	told := map[string]bool{}
	for range pods + pods*each {
		e := <-p.events
		switch e.Event {
		case "sync pod":
			told[e.Pod.ID] = true
		case "sync container":
			told[e.Container.ID] = true
		default:
			t.Fatalf("%+v", e)
		}
	}
	p.next("sync end")
	equal(t, "different ones", len(told), pods+pods*each)
	connected(r, p)
}

func TestAContainerGetsWhatThePluginAdds(t *testing.T) {
	r, p := start(t)
	asks := pod("asks", map[string]string{"probe/env": "CUDA_MPS_PIPE_DIRECTORY=/run/mps=1", "probe/cdi": "fgpu.io/gpu=GPU-1",
		"probe/device": "/dev/nvidia7", "probe/mount": "/run/fgpu"})
	got, err := r.create(asks, container("main", "cid"))
	if err != nil {
		t.Fatal(err)
	}
	e := p.next("create")
	equal(t, "uid", e.Pod.UID, asks.Uid)
	equal(t, "annotations", e.Pod.Annotations, asks.Annotations)
	equal(t, "container", e.Container.Name, "main")
	env := got.GetEnv()
	equal(t, "variables", len(env), 1)
	equal(t, "variable", env[0].GetKey()+" "+env[0].GetValue(), "CUDA_MPS_PIPE_DIRECTORY /run/mps=1")
	equal(t, "devices", len(got.GetLinux().GetDevices()), 1)
	d := got.GetLinux().GetDevices()[0]
	equal(t, "device", []any{d.GetPath(), d.GetType(), d.GetMajor(), d.GetMinor(), d.GetFileMode().GetValue()},
		[]any{"/dev/nvidia7", "c", int64(195), int64(7), uint32(0o660)})
	equal(t, "mounts", len(got.GetMounts()), 1)
	m := got.GetMounts()[0]
	equal(t, "mount", []any{m.GetDestination(), m.GetType(), m.GetSource(), m.GetOptions()},
		[]any{"/probe", "bind", "/run/fgpu", []string{"bind", "ro"}})
	if has(got, cdiDevices) {
		equal(t, "cdi", cdiOf(got), []string{"fgpu.io/gpu=GPU-1"})
	}
}

func TestAContainerIsLeftAsItIs(t *testing.T) {
	r, p := start(t)
	got, err := r.create(pod("plain", nil), container("main", "cid"))
	if err != nil {
		t.Fatal(err)
	}
	p.next("create")
	equal(t, "added", len(got.GetEnv())+len(got.GetMounts())+len(got.GetLinux().GetDevices())+len(cdiOf(got)), 0)
}

// The runtime drops a plugin when a frame of an answer does not fit into what it reads with (src/nri/mux.h).
func TestALongAnswerArrives(t *testing.T) {
	r, p := start(t)
	for _, n := range []int{1, 4000, 4050, 4068, 4069, 4070, 4096, 5000, 8192, 20010, 300000, 3 << 20} {
		got, err := r.create(pod("long", map[string]string{"probe/long": fmt.Sprint(n)}), container("main", "cid"))
		if err != nil {
			t.Fatal(err)
		}
		p.next("create")
		if len(got.GetEnv()) != 1 || len(got.GetEnv()[0].GetValue()) != n {
			t.Fatalf("%d bytes did not arrive", n)
		}
	}
}

func TestAnAnswerThatIsTooLongIsARefusal(t *testing.T) {
	r, p := start(t)
	_, err := r.create(pod("long", map[string]string{"probe/long": fmt.Sprint(5 << 20)}), container("main", "cid"))
	p.next("create")
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	connected(r, p)
}

func TestALongQuestionArrives(t *testing.T) {
	r, p := start(t)
	c := container("main", "cid")
	c.Env = append(c.Env, "LONG="+strings.Repeat("y", 2<<20))
	if _, err := r.create(pod("long", nil), c); err != nil {
		t.Fatal(err)
	}
	equal(t, "env", p.next("create").Container.Env, c.Env)
}

func TestARefusalIsTheReasonThatTheUserSees(t *testing.T) {
	r, p := start(t)
	const why = `GPU-1 is full: pod "train" of namespace "team" holds 700 of its 1000 milli`
	_, err := r.create(pod("late", map[string]string{"probe/refuse": why}), container("main", "cid"))
	p.next("create")
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v", err)
	}
	connected(r, p) // it is still asked
}

func TestWhatHappensToAContainerIsTold(t *testing.T) {
	r, p := startInPieces(t, 5)
	of, c := pod("train", nil), container("main", "cid")
	c.Pid = 4711
	if err := r.startContainer(of, c); err != nil {
		t.Error(err)
	}
	e := p.next("start")
	equal(t, "pid", e.Container.Pid, 4711)
	equal(t, "cgroup", e.Container.CgroupsPath, "kubepods.slice:cri-containerd:cid")
	if _, err := r.nri.StopContainer(context.Background(), &api.StopContainerRequest{Pod: of, Container: c}); err != nil {
		t.Error(err)
	}
	equal(t, "stopped", p.next("stop").Container.ID, "cid")
	if err := r.removeContainer(of, c); err != nil {
		t.Error(err)
	}
	equal(t, "removed", p.next("remove").Pod.UID, of.Uid)
	if err := r.removeSandbox(of); err != nil {
		t.Error(err)
	}
	equal(t, "sandbox", p.next("sandbox removed").Pod.ID, of.Id)
}

func TestAContainerIsNotStarted(t *testing.T) {
	r, p := start(t)
	err := r.startContainer(pod("late", map[string]string{"probe/refuse-start": "no limit could be set"}), container("main", "cid"))
	p.next("start")
	if err == nil || !strings.Contains(err.Error(), "no limit could be set") {
		t.Errorf("%v", err)
	}
	connected(r, p)
}

// What we did not ask for must not come, and what comes in unknown shape must not end the connection.
func TestOtherEventsAreNotForThePlugin(t *testing.T) {
	r, p := start(t)
	if _, err := r.nri.UpdateContainer(context.Background(), &api.UpdateContainerRequest{Pod: pod("p", nil), Container: container("main", "cid"),
		LinuxResources: &api.LinuxResources{}}); err != nil {
		t.Error(err)
	}
	connected(r, p)
}

func TestARuntimeThatRestartsIsFoundAgain(t *testing.T) {
	r := newRuntime(t, nil, []*api.Container{container("main", "cid")})
	l := inPieces(t, r.socket(), 3)
	p := startProbe(t, l.socket)
	for i := range 4 {
		p.next("connected")
		p.next("sync begin")
		equal(t, "container", p.next("sync container").Container.ID, fmt.Sprint("cid"))
		p.next("sync end")
		connected(r, p)
		if i == 3 {
			break
		}
		r.nri.Stop()
		l.cut()
		if words := p.next("disconnected").Words; words == "" {
			t.Error("no reason")
		}
		r.start()
	}
}

func TestTheRuntimeMayComeLater(t *testing.T) {
	r := newRuntime(t, nil, nil)
	r.nri.Stop()
	os.Remove(r.socket())
	p := startProbe(t, r.socket())
	for deadline := time.Now().Add(patience); !strings.Contains(p.stderr.String(), "no connection to "+r.socket()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nri_probe did not say that it has no connection: %s", p.stderr.String())
		}
	}
	r.start()
	p.next("connected")
	p.next("sync begin")
	p.next("sync end")
	connected(r, p)
}

func TestManyContainersInPieces(t *testing.T) {
	r, p := startInPieces(t, 7)
	for i := range 100 {
		of, c := pod("train", map[string]string{"probe/long": fmt.Sprint(i * i * 10)}), container("main", fmt.Sprint("cid-", i))
		got, err := r.create(of, c)
		if err == nil {
			err = r.startContainer(of, c)
		}
		if err == nil {
			err = r.removeContainer(of, c)
		}
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "created", p.next("create").Container.ID, c.Id)
		equal(t, "started", p.next("start").Container.ID, c.Id)
		equal(t, "removed", p.next("remove").Container.ID, c.Id)
		equal(t, "length", len(got.GetEnv()[0].GetValue()), i*i*10)
	}
}

func TestThePluginEndsWhileTheRuntimeWaits(t *testing.T) {
	r, p := start(t)
	done := make(chan error, 1)
	go func() {
		_, err := r.create(pod("hang", map[string]string{"probe/hang": "yes"}), container("main", "cid"))
		done <- err
	}()
	p.next("create")
	p.end()
	if err := <-done; err != nil {
		t.Error(err) // answered before it ended, or passed over by the runtime
	}
}
