package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

var (
	timings []string
	serial  atomic.Int32
)

// patience is how long something may take that happens at all. It bounds a failing test; no test passes or
// fails by how fast a passing one is.
const patience = 150 * time.Second

// cluster is a fresh namespace with fresh nodes, and what runs against it.
type cluster struct {
	*testing.T
	ctx       context.Context
	name      string
	namespace string
	nodes     []*corev1.Node
	settings  checker.Settings
	recorder  *harness.Recorder
	scheduler *harness.Scheduler
	fgpu      *harness.Fgpu
	shares    bool // fgpu is the shared one
	// certificateDir has what the shipped script made, of a form that speaks TLS.
	certificateDir string
	// schedulerName that pods of this cluster carry.
	schedulerName string
}

func newCluster(t *testing.T, nodes ...*corev1.Node) *cluster {
	t.Helper()
	return newClusterWith(t, checker.Default(), nodes...)
}

// newClusterWith is for an fgpu whose vocabulary is another.
func newClusterWith(t *testing.T, settings checker.Settings, nodes ...*corev1.Node) *cluster {
	t.Helper()
	start := time.Now()
	say("%s ...", t.Name())
	name := strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	if len(name) > 40 {
		name = name[:40]
	}
	name = strings.NewReplacer("_", "-", "/", "-").Replace(name) + fmt.Sprintf("-%d", serial.Add(1))
	c := &cluster{T: t, ctx: context.Background(), name: name, namespace: name, settings: settings,
		schedulerName: "fgpu-scheduler"}
	t.Cleanup(func() { c.close(start) })
	c.must(plane.Client.CoreV1().Namespaces().Create(c.ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}, metav1.CreateOptions{}))
	c.nodes = make([]*corev1.Node, len(nodes))
	errs := make([]error, len(nodes))
	each(len(nodes), func(i int) {
		c.nodes[i], errs[i] = plane.Client.CoreV1().Nodes().Create(c.ctx, nodes[i], metav1.CreateOptions{})
	})
	for i, err := range errs {
		if err != nil {
			c.nodes[i] = nodes[i] // all of them are deleted in the end
			c.Error(err)
		}
	}
	if c.Failed() {
		c.FailNow()
	}
	c.recorder = plane.Record(c.namespace, c.nodes, c.settings)
	return c
}

func (c *cluster) must(_ any, err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) close(start time.Time) {
	if c.scheduler != nil {
		if err := c.scheduler.Stop(); err != nil {
			c.Error(err)
		}
	}
	if c.fgpu != nil {
		if !c.fgpu.Running() {
			c.Errorf("fgpu ended by itself: %v", c.fgpu.Err())
		} else if !c.shares {
			c.stopped(c.fgpu)
		}
	}
	if c.recorder != nil {
		c.recorder.Stop()
		found := c.recorder.Violations()
		for i, v := range found {
			if i == 10 {
				c.Errorf("... and %d more", len(found)-i)
				break
			}
			c.Errorf("violated: %s", v)
		}
	}
	if c.Failed() {
		for _, p := range []*harness.Process{c.fgpuProcess(), c.schedulerProcess()} {
			if p != nil {
				c.Logf("end of %s:\n%s", p.LogFile, harness.Tail(p.LogFile, 30))
			}
		}
	}
	c.wipe()
	verdict := "ok"
	if c.Failed() {
		verdict = "FAILED"
	}
	line := fmt.Sprintf("%7.1f s  %-6s  %s", time.Since(start).Seconds(), verdict, c.Name())
	timings = append(timings, line)
	say("%s", strings.Join(strings.Fields(line), " "))
}

// stopped demands that fgpu obeys SIGTERM and calls it a success.
func (c *cluster) stopped(f *harness.Fgpu) {
	c.Helper()
	if err := f.StopCleanly(); err != nil {
		c.Error(err)
	}
}

func (c *cluster) fgpuProcess() *harness.Process {
	if c.fgpu == nil {
		return nil
	}
	return c.fgpu.Process
}

func (c *cluster) schedulerProcess() *harness.Process {
	if c.scheduler == nil {
		return nil
	}
	return c.scheduler.Process
}

// wipe removes pods and nodes; the namespace stays, there is no controller that would finish it.
func (c *cluster) wipe() {
	pods, err := plane.Client.CoreV1().Pods(c.namespace).List(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.Errorf("cannot clean up: %v", err)
		return
	}
	each(len(pods.Items), func(i int) { c.gone(c.remove(pods.Items[i].Name)) })
	each(len(c.nodes), func(i int) {
		c.gone(plane.Client.CoreV1().Nodes().Delete(c.ctx, c.nodes[i].Name, metav1.DeleteOptions{}))
	})
}

func (c *cluster) gone(err error) {
	if err != nil && !apierrors.IsNotFound(err) {
		c.Errorf("cannot clean up: %v", err)
	}
}

// remove deletes a pod at once, as a kubelet confirms it.
func (c *cluster) remove(name string) error {
	now := int64(0)
	return plane.Client.CoreV1().Pods(c.namespace).Delete(c.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// each runs f for 0..n-1 with some of them at a time.
func each(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(16, n) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// form is one of the ways in which manifests/ puts fgpu in front of a scheduler.
type form struct {
	name      string
	folder    string // below manifests/
	scheduler string // the KubeSchedulerConfiguration there
}

var (
	dedicated     = form{"dedicated", "dedicated", "scheduler.yaml"}
	advertised    = form{"advertised", "dedicated", "scheduler-advertised.yaml"}
	besideDefault = form{"light", "control-plane", "scheduler.yaml"}
)

// sharedFgpu serves all tests that do not disturb it. One that starts answers with errors for some seconds, in
// case a predecessor has bindings on their way; so one for everybody saves minutes, and it has to live through
// the comings and goings of all those nodes and pods.
var sharedFgpu *harness.Fgpu

// useFgpu gives the test the shared fgpu, started with the first need.
func (c *cluster) useFgpu(f form) {
	c.Helper()
	if f.folder != "dedicated" {
		c.ownFgpu(f)
		return
	}
	if sharedFgpu == nil || !sharedFgpu.Running() {
		name, fgpu := c.name, c.fgpu
		c.name = "shared"
		c.ownFgpu(f)
		sharedFgpu = c.fgpu
		c.name, c.fgpu = name, fgpu
	}
	c.fgpu, c.shares = sharedFgpu, true
}

// aloneFgpu ends the one that is shared, for a test whose own must be the only one: another would take back nominations and
// write into the run object. Whoever needs the shared one starts it again.
func (c *cluster) aloneFgpu() {
	c.Helper()
	if sharedFgpu != nil && sharedFgpu.Running() {
		c.stopped(sharedFgpu)
	}
}

// ownFgpu runs fgpu from the shipped configuration, with the rights that the shipped RBAC gives it.
func (c *cluster) ownFgpu(f form) {
	c.Helper()
	if f.folder == "control-plane" {
		c.ownFgpuBeside(f)
		return
	}
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, manifest(f.folder, "fgpu.yaml"), kubeconfig); err != nil {
		c.Fatal(err)
	}
}

// ownFgpuBeside is the same for the form that speaks TLS on loopback; certificates are where the test made them.
func (c *cluster) ownFgpuBeside(f form) {
	c.Helper()
	c.certificateDir = c.certificates("ours")
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest(f.folder, "fgpu.yaml"), config, c.files("tls.crt", "tls.key", "ca.crt")...))
	kubeconfig, err := plane.UserKubeconfig("fgpu")
	c.must(kubeconfig, err)
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, config, kubeconfig); err != nil {
		c.Fatal(err)
	}
	c.must(nil, c.fgpu.PresentCertificate(filepath.Join(c.certificateDir, "scheduler.crt"),
		filepath.Join(c.certificateDir, "scheduler.key"), filepath.Join(c.certificateDir, "ca.crt")))
}

// files puts the test's certificates in place of those that the form has in /etc/kubernetes/fgpu.
func (c *cluster) files(names ...string) []harness.Replacement {
	return certificateFiles(c.certificateDir, names...)
}

func certificateFiles(dir string, names ...string) []harness.Replacement {
	var r []harness.Replacement
	for _, name := range names {
		r = append(r, harness.Replacement{Old: "File: /etc/kubernetes/fgpu/" + name, New: "File: " + filepath.Join(dir, name)})
	}
	return r
}

// startScheduler runs kube-scheduler from the shipped configuration; only addresses and the path of the
// kubeconfig are replaced, and what `edits` of an admin change.
func (c *cluster) startScheduler(f form, edits ...harness.Replacement) {
	c.Helper()
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu-scheduler")
	shipped := `kubeconfig: ""`
	if f.folder == "control-plane" {
		kubeconfig, err = plane.UserKubeconfig("system:kube-scheduler")
		shipped = `kubeconfig: /etc/kubernetes/scheduler.conf`
		c.schedulerName = "default-scheduler"
	}
	c.must(kubeconfig, err)
	config := filepath.Join(plane.Dir, c.name+"."+f.scheduler)
	changes := append([]harness.Replacement{
		{Old: shipped, New: fmt.Sprintf("kubeconfig: %q", kubeconfig)},
		{Old: "http://127.0.0.1:9443", New: c.fgpu.VerbsURL},
	}, edits...)
	if f.folder == "control-plane" {
		changes[1].Old = "https://127.0.0.1:9443"
		changes = append(changes, c.files("ca.crt", "scheduler.crt", "scheduler.key")...)
	}
	c.must(nil, harness.Adapt(manifest(f.folder, f.scheduler), config, changes...))
	if c.scheduler, err = plane.StartScheduler(c.ctx, c.name, config); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) install(f form) {
	c.Helper()
	c.useFgpu(f)
	c.startScheduler(f)
}

// create submits pods, several at a time.
func (c *cluster) create(pods ...*corev1.Pod) {
	c.Helper()
	errs := make([]error, len(pods))
	each(len(pods), func(i int) {
		p := pods[i].DeepCopy()
		p.Namespace = c.namespace
		if p.Spec.SchedulerName == "" {
			p.Spec.SchedulerName = c.schedulerName
		}
		_, errs[i] = plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, p, metav1.CreateOptions{})
	})
	for _, err := range errs {
		if err != nil {
			c.Fatal(err)
		}
	}
}

// start of a text: a whole /state drowns everything else in the log of a run.
func start(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", text[:max], len(text))
}

// eventually waits until check says true. What it says instead is shown every ten seconds and in the end.
func (c *cluster) eventually(what string, check func() (bool, string)) {
	c.Helper()
	deadline := time.Now().Add(patience)
	shown := time.Now()
	for {
		changed := c.recorder.Changed()
		ok, instead := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			c.Fatalf("waited %s in vain: %s; %s", patience, what, start(instead, 4000))
		}
		if time.Since(shown) > 10*time.Second {
			say("  waiting: %s; %s", what, start(instead, 300))
			shown = time.Now()
		}
		select {
		case <-changed:
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// bound waits until a pod has a node and returns it.
func (c *cluster) bound(name string) *corev1.Pod {
	c.Helper()
	var p *corev1.Pod
	c.eventually(name+" is bound", func() (bool, string) {
		if p = c.recorder.Pod(name); p == nil {
			return false, "there is no such pod"
		}
		return p.Spec.NodeName != "", condition(p)
	})
	return p
}

// refused waits until kube-scheduler found no place for a pod and returns the reason it shows.
func (c *cluster) refused(name string) string {
	c.Helper()
	text := ""
	c.eventually(name+" is refused", func() (bool, string) {
		p := c.recorder.Pod(name)
		if p == nil {
			return false, "there is no such pod"
		}
		if p.Spec.NodeName != "" {
			c.Fatalf("%s was bound to %s, expected a refusal", name, p.Spec.NodeName)
		}
		for _, x := range p.Status.Conditions {
			if x.Type == corev1.PodScheduled && x.Status == corev1.ConditionFalse && x.Reason == corev1.PodReasonUnschedulable {
				text = x.Message
				return true, ""
			}
		}
		return false, condition(p)
	})
	return text
}

// refusedFor is refused, and the reason must have all of these words.
func (c *cluster) refusedFor(name string, words ...string) {
	c.Helper()
	why := c.refused(name)
	for _, word := range words {
		if !strings.Contains(why, word) {
			c.Errorf("%s is refused with %q, expected %q in it", name, why, word)
		}
	}
}

func condition(p *corev1.Pod) string {
	if p == nil {
		return "there is no such pod"
	}
	for _, x := range p.Status.Conditions {
		if x.Type == corev1.PodScheduled {
			return x.Reason + ": " + x.Message
		}
	}
	return "kube-scheduler has not looked at it yet"
}

// allBound waits until so many pods have a node.
func (c *cluster) allBound(n int) {
	c.Helper()
	c.eventually(fmt.Sprintf("%d pods are bound", n), func() (bool, string) {
		b := c.recorder.Bound()
		return b >= n, fmt.Sprintf("%d are", b)
	})
}

// devices of a bound pod by UUID, or by index where there is none, per container.
func (c *cluster) devices(p *corev1.Pod) map[string][]string {
	c.Helper()
	var a struct {
		Containers []struct {
			Name    string
			Devices []struct {
				UUID  string
				Index int
			}
		}
	}
	if err := json.Unmarshal([]byte(p.Annotations[checker.AssignmentKey]), &a); err != nil {
		c.Fatalf("pod %s: assignment %q: %v", p.Name, p.Annotations[checker.AssignmentKey], err)
	}
	got := map[string][]string{}
	for _, k := range a.Containers {
		for _, d := range k.Devices {
			name := d.UUID
			if name == "" {
				name = fmt.Sprint(d.Index)
			}
			got[k.Name] = append(got[k.Name], name)
		}
		sort.Strings(got[k.Name])
	}
	return got
}

// report lets the independent checker judge what the API server holds now.
func (c *cluster) report() (*checker.Report, []*corev1.Pod) {
	c.Helper()
	pods, err := plane.Client.CoreV1().Pods(c.namespace).List(c.ctx, metav1.ListOptions{})
	c.must(pods, err)
	nodes, err := plane.Client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	c.must(nodes, err)
	var n []*corev1.Node
	for i := range nodes.Items {
		n = append(n, &nodes.Items[i])
	}
	var p []*corev1.Pod
	for i := range pods.Items {
		p = append(p, &pods.Items[i])
	}
	return checker.Check(n, p, c.settings), p
}

// sound demands that nothing is over-committed and that fgpu's ledger says the same as the checker, device by
// device.
func (c *cluster) sound() {
	c.Helper()
	report, _ := c.report()
	c.eventually("/state agrees with the API server", func() (bool, string) {
		state, err := c.fgpu.State(c.ctx)
		if err != nil {
			return false, err.Error()
		}
		// Anew each time: who waited may have been bound meanwhile.
		report, _ = c.report()
		difference := compare(report, state)
		return difference == "", difference
	})
	for _, v := range report.Violations {
		c.Errorf("violated: %s", v)
	}
}

// compare returns the first difference between the checker's sums and fgpu's.
func compare(report *checker.Report, state *harness.State) string {
	type key struct{ node, device string }
	shown := map[key]harness.GPU{}
	for _, n := range state.Nodes {
		for _, g := range n.GPUs {
			if g.MIG != nil && g.MIG.Counted {
				continue
			}
			shown[key{n.Name, fmt.Sprintf("%s#%d", g.UUID, g.Index)}] = g
		}
	}
	for name, devices := range report.Nodes {
		for _, d := range devices {
			k := key{name, fmt.Sprintf("%s#%d", d.UUID, d.Index)}
			g, ok := shown[k]
			if !ok {
				return fmt.Sprintf("node %s device %s is missing", name, k.device)
			}
			delete(shown, k)
			if g.Milli.Charged != d.Used.Milli || (d.MemMiB > 0 && g.MemMiB.Charged != d.Used.MemMiB) {
				return fmt.Sprintf("node %s device %s: charged %d milli and %d MiB, the pods there ask for %d and %d",
					name, k.device, g.Milli.Charged, g.MemMiB.Charged, d.Used.Milli, d.Used.MemMiB)
			}
		}
	}
	for k := range shown {
		return fmt.Sprintf("node %s device %s is not in the cluster", k.node, k.device)
	}
	return ""
}
