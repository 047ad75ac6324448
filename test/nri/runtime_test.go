// Package nri runs fgpu's NRI plugin (src/nri, in nri_probe) against the code that containerd and CRI-O contain: package
// adaptation of containerd/nri, in several versions (README.md).
package nri

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
)

// patience bounds every wait: it says that something hangs, never how fast it is. NRI waits as long for the plugin (TestMain): by
// itself it passes a plugin over after 2 s, and on a busy machine a test would see an answer too few.
const patience = 60 * time.Second

// runtime is the runtime's half: NRI with pods and containers of our own.
type runtime struct {
	t          *testing.T
	nri        *adaptation.Adaptation
	dir        string
	name       string // as it calls itself
	release    string
	pods       []*api.PodSandbox
	containers []*api.Container
}

func (r *runtime) socket() string { return filepath.Join(r.dir, "nri.sock") }

func newRuntime(t *testing.T, pods []*api.PodSandbox, containers []*api.Container) *runtime {
	return newRuntimeNamed(t, "testruntime", "v9.8.7", pods, containers)
}

func newRuntimeNamed(t *testing.T, name, release string, pods []*api.PodSandbox, containers []*api.Container) *runtime {
	r := &runtime{t: t, dir: t.TempDir(), name: name, release: release, pods: pods, containers: containers}
	r.start()
	t.Cleanup(func() { r.nri.Stop() })
	return r
}

func (r *runtime) start() {
	sync := func(ctx context.Context, tell adaptation.SyncCB) error {
		_, err := tell(ctx, r.pods, r.containers)
		return err
	}
	update := func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
		return nil, nil
	}
	nri, err := adaptation.New(r.name, r.release, sync, update, adaptation.WithPluginPath(filepath.Join(r.dir, "plugins")),
		adaptation.WithPluginConfigPath(filepath.Join(r.dir, "conf.d")), adaptation.WithSocketPath(r.socket()))
	if err == nil {
		err = nri.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.nri = nri
}

func (r *runtime) create(pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, error) {
	reply, err := r.nri.CreateContainer(context.Background(), &api.CreateContainerRequest{Pod: pod, Container: container})
	return reply.GetAdjust(), err
}

// event is a line of nri_probe.
type event struct {
	Event     string
	Words     string
	Pod       podFacts
	Container containerFacts
	Runtime   struct {
		Name, Version, NriVersion string
		RequestTimeoutMs          int64
	}
}

type podFacts struct {
	ID, Name, UID, Namespace, RuntimeHandler, CgroupParent string
	Annotations                                            map[string]string
}

type containerFacts struct {
	ID, PodID, Name, CgroupsPath string
	State, Pid                   int
	Env, CdiDevices              []string
	Mounts                       []struct {
		Destination, Type, Source string
		Options                   []string
	}
	Devices []struct {
		Path, Type             string
		Major, Minor, FileMode int64
	}
	DeviceRules []struct {
		Allow        bool
		Type         string
		Major, Minor int64
		Access       string
	}
}

// probe is a running nri_probe.
type probe struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	events chan event
	stderr said
	ended  bool
}

// said is what a process wrote so far.
type said struct {
	lock sync.Mutex
	text strings.Builder
}

func (s *said) Write(text []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.Write(text)
}

func (s *said) String() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.String()
}

func startProbe(t *testing.T, socket string, options ...string) *probe {
	path := os.Getenv("FGPU_NRI_PROBE")
	if path == "" {
		t.Fatal("FGPU_NRI_PROBE names no nri_probe: run scripts/nri")
	}
	p := &probe{t: t, events: make(chan event, 10000)}
	p.cmd = exec.Command(path, append([]string{socket, "fgpu", "10"}, options...)...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go p.read(stdout)
	t.Cleanup(p.end)
	return p
}

func (p *probe) read(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			close(p.events)
			return
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			p.t.Errorf("nri_probe wrote %q: %v", line, err)
		}
		p.events <- e
	}
}

// next is the next event, which must be of that kind.
func (p *probe) next(kind string) event {
	p.t.Helper()
	select {
	case e, ok := <-p.events:
		if !ok {
			p.t.Fatalf("nri_probe ended before %q: %s", kind, p.stderr.String())
		}
		if e.Event != kind {
			p.t.Fatalf("nri_probe told %+v, not %q", e, kind)
		}
		return e
	case <-time.After(patience):
		p.t.Fatalf("nri_probe told no %q", kind)
	}
	return event{}
}

// end closes its input; it has to end by itself, with 0, which under a sanitizer says that nothing was wrong.
func (p *probe) end() {
	if p.ended {
		return
	}
	p.ended = true
	p.stdin.Close()
	for range p.events {
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("nri_probe: %v: %s", err, p.stderr.String())
	}
}

// connected waits until the runtime asks the plugin. The runtime takes it in at some time after it has synchronized it. Its answer
// says whether it was asked: what it writes of that may come later.
func connected(r *runtime, p *probe) {
	r.t.Helper()
	of := pod("registered", map[string]string{"probe/env": "ASKED=yes"})
	for i, deadline := 0, time.Now().Add(patience); time.Now().Before(deadline); i++ {
		got, err := r.create(of, container("registered", fmt.Sprint(i)))
		if err != nil {
			r.t.Fatal(err)
		}
		if len(got.GetEnv()) > 0 {
			equal(r.t, "asked for", p.next("create").Pod.Name, of.Name)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("the runtime does not ask the plugin")
}

// start is a runtime with a plugin that it asks.
func start(t *testing.T, options ...string) (*runtime, *probe) {
	r := newRuntime(t, nil, nil)
	return r, startAt(r, r.socket(), options...)
}

func startInPieces(t *testing.T, seed int64) (*runtime, *probe) {
	r := newRuntime(t, nil, nil)
	return r, startAt(r, inPieces(t, r.socket(), seed).socket)
}

func startAt(r *runtime, socket string, options ...string) *probe {
	r.t.Helper()
	p := startProbe(r.t, socket, options...)
	p.next("connected")
	p.next("sync begin")
	p.next("sync end")
	connected(r, p)
	return p
}

// link is a socket in front of another one that passes the bytes on in pieces of any length, both ways, and can be cut. With
// FGPU_NRI_RECORD, a folder, it writes what the runtime sent into a file there, for test/fuzz/corpus/nri.
type link struct {
	t      *testing.T
	socket string
	lock   sync.Mutex
	open   []net.Conn
}

func inPieces(t *testing.T, behind string, seed int64) *link {
	l := &link{t: t, socket: filepath.Join(t.TempDir(), "front.sock")}
	listener, err := net.Listen("unix", l.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			plugin, err := listener.Accept()
			if err != nil {
				return
			}
			rt, err := net.Dial("unix", behind)
			if err != nil {
				plugin.Close()
				continue
			}
			l.lock.Lock()
			l.open = append(l.open, plugin, rt)
			l.lock.Unlock()
			go pass(rt, plugin, io.Discard, rand.New(rand.NewSource(seed)))
			go pass(plugin, rt, record(t), rand.New(rand.NewSource(seed+1)))
		}
	}()
	return l
}

// cut ends what is connected, as the end of a process does.
func (l *link) cut() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, c := range l.open {
		c.Close()
	}
	l.open = nil
}

func record(t *testing.T) io.Writer {
	dir := os.Getenv("FGPU_NRI_RECORD")
	if dir == "" {
		return io.Discard
	}
	f, err := os.Create(filepath.Join(dir, "seed-"+version+"-"+strings.ToLower(t.Name())))
	if err != nil {
		t.Error(err)
		return io.Discard
	}
	f.Write([]byte{1, 77}) // how test/fuzz/fuzz_nri.c takes it: raw bytes, cut anywhere
	return f
}

func pass(to, from net.Conn, copied io.Writer, random *rand.Rand) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64*1024)
	for {
		size := 1 + random.Intn(20)
		if random.Intn(3) == 0 {
			size = len(buffer)
		}
		n, err := from.Read(buffer[:size])
		if err != nil {
			return
		}
		copied.Write(buffer[:n])
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

var names sync.Mutex
var nameN int

func pod(name string, annotations map[string]string) *api.PodSandbox {
	names.Lock()
	defer names.Unlock()
	nameN++
	return &api.PodSandbox{Id: fmt.Sprintf("sandbox-%d", nameN), Name: name, Uid: fmt.Sprintf("uid-%d", nameN), Namespace: "team",
		Labels: map[string]string{"app": name}, Annotations: annotations, RuntimeHandler: "runc",
		Linux: &api.LinuxPodSandbox{CgroupParent: "/kubepods/pod" + name}}
}

func container(name, id string) *api.Container {
	return &api.Container{Id: id, PodSandboxId: "sandbox", Name: name, State: api.ContainerState_CONTAINER_CREATED,
		Args: []string{"sleep", "1"}, Env: []string{"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=void"},
		Linux: &api.LinuxContainer{CgroupsPath: "kubepods.slice:cri-containerd:" + id}}
}
