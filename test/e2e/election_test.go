package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// replicas are two fgpu with election: lease behind something like a Service, or with election: follow-scheduler and a
// kube-scheduler beside each.
type replicas struct {
	*cluster
	both   [2]*harness.Fgpu
	beside [2]*harness.Scheduler // nil with election: lease
	front  *harness.Front        // nil with the other
	pods   int

	// A replica that cannot renew its Lease in time, on a busy machine, ends with 1. With FGPU_ELECTION_ROUNDS it is started again, as kubelet
	// would, what was under way is done again, and both are counted and said. Else the test fails.
	restarts           bool
	restarted, repeats int
	ending             *harness.Fgpu           // that is to end now, or may
	logged             map[*harness.Fgpu]int64 // how long its log was when it was started
}

// patientLease is for machines on which etcd may take seconds: a replica that loses its Lease by itself would fail the test. With
// FGPU_ELECTION_ROUNDS the shipped times hold.
const patientLease = "\nlease: {leaseDuration: 8s, renewDeadline: 6s}\nclientConnection: {holdOff: 2s}\n"

// shippedLease is a line of manifests/dedicated/fgpu.yaml.
const shippedLease = "lease: {object: fgpu-system/fgpu-scheduler, leaseDuration: 5s, renewDeadline: 3s, retryPeriod: 1s}"

// newReplicas starts both with the rights of manifests/mtls-replicas and these times of the Lease; "" are the shipped ones.
func newReplicas(c *cluster, times string, restarts bool) *replicas {
	c.Helper()
	if sharedFgpu != nil && sharedFgpu.Running() {
		c.stopped(sharedFgpu) // whoever needs it starts it again
	}
	c.must(nil, plane.Apply(c.ctx, manifest("dedicated", "rbac.yaml"), manifest("mtls-replicas", "lease.yaml")))
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	config := filepath.Join(plane.Dir, c.name+".config.yaml")
	c.must(nil, harness.Adapt(manifest("dedicated", "fgpu.yaml"), config, harness.Replacement{Old: shippedLease, New: times}))
	r := &replicas{cluster: c, restarts: restarts, logged: map[*harness.Fgpu]int64{}}
	for i := range r.both {
		f, err := plane.NewFgpu(binary, fmt.Sprintf("%s-%d", c.name, i), config, kubeconfig)
		c.must(f, err)
		f.Args = append(f.Args, "--election=lease")
		r.launch(f)
		r.both[i] = f
	}
	r.front, err = harness.NewFront(r.both[0], r.both[1])
	c.must(r.front, err)
	c.Cleanup(func() {
		r.front.Close()
		for _, f := range r.both {
			if f.Running() {
				c.stopped(f)
			}
		}
		err := plane.Client.CoordinationV1().Leases("fgpu-system").Delete(c.ctx, "fgpu-leader", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			c.Error(err)
		}
	})
	c.fgpu = r.both[0]
	c.startScheduler(dedicated, harness.Replacement{Old: c.fgpu.VerbsURL, New: r.front.URL})
	c.fgpu = nil // it may end
	return r
}

// newPairs starts two pods, so to say: each has a host name, on which fgpu and kube-scheduler run with the shipped files and rights.
func newPairs(c *cluster, patient bool) *replicas {
	c.Helper()
	c.aloneFgpu()
	c.must(nil, plane.Apply(c.ctx, manifest("dedicated", "rbac.yaml")))
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	ofScheduler, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu-scheduler")
	c.must(ofScheduler, err)
	config := filepath.Join(plane.Dir, c.name+".config.yaml")
	times := shippedLease
	flags := []string{"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s"}
	if patient {
		times = "lease: {object: fgpu-system/fgpu-scheduler, leaseDuration: 8s, renewDeadline: 6s}\nclientConnection: {holdOff: 2s}"
		flags = []string{"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=1s"}
	}
	c.must(nil, harness.Adapt(manifest("dedicated", "fgpu.yaml"), config, harness.Replacement{Old: shippedLease, New: times}))
	r := &replicas{cluster: c, restarts: !patient, logged: map[*harness.Fgpu]int64{}}
	for i := range r.both {
		name, host := fmt.Sprintf("%s-%d", c.name, i), fmt.Sprintf("pod-%d", i)
		f, err := plane.NewFgpu(binary, name, config, kubeconfig)
		c.must(f, err)
		f.Host = host
		f.Args = append(f.Args, "--election=follow-scheduler")
		r.launch(f)
		r.both[i] = f
		file := filepath.Join(plane.Dir, name+".scheduler.yaml")
		c.must(nil, harness.Adapt(manifest("dedicated", "scheduler.yaml"), file,
			harness.Replacement{Old: `kubeconfig: ""`, New: fmt.Sprintf("kubeconfig: %q", ofScheduler)},
			harness.Replacement{Old: "http://127.0.0.1:9443", New: f.VerbsURL}))
		r.beside[i], err = plane.StartSchedulerOn(c.ctx, host, name, file, flags...)
		c.must(nil, err)
	}
	c.Cleanup(func() {
		for i, f := range r.both {
			if err := r.beside[i].Stop(); err != nil {
				c.Error(err)
			}
			if f.Running() {
				c.stopped(f)
			}
		}
	})
	return r
}

// schedulerOf is the one beside.
func (r *replicas) schedulerOf(f *harness.Fgpu) *harness.Scheduler {
	if f == r.both[0] {
		return r.beside[0]
	}
	return r.beside[1]
}

// says is what /state says; nothing if there is no answer.
func (r *replicas) says(f *harness.Fgpu) (leads, decides, warm bool) {
	var s struct {
		Metadata struct {
			Leader, Ready       bool
			PodsResourceVersion string
		}
	}
	body, err := f.Ops(r.ctx, "/state?fields=summary")
	if err != nil || json.Unmarshal(body, &s) != nil {
		return false, false, false
	}
	return s.Metadata.Leader, s.Metadata.Leader && s.Metadata.Ready, s.Metadata.PodsResourceVersion != ""
}

// settled waits until one leads and the other one follows with a warm ledger.
func (r *replicas) settled() (active, follower *harness.Fgpu) {
	r.Helper()
	r.eventually("one replica leads and the other one has read the cluster", func() (bool, string) {
		var leads, warm [2]bool
		for i, f := range r.both {
			leads[i], _, warm[i] = r.says(f)
		}
		active, follower = r.both[0], r.both[1]
		if leads[1] {
			active, follower = follower, active
		}
		return leads[0] != leads[1] && warm[0] && warm[1], fmt.Sprintf("lead: %v, warm: %v", leads, warm)
	})
	return active, follower
}

// load takes pods away and adds more than there is room for, so that every GPU is always fought for.
func (r *replicas) load(n int) {
	r.Helper()
	pods, err := plane.Client.CoreV1().Pods(r.namespace).List(r.ctx, metav1.ListOptions{})
	r.must(pods, err)
	ended := 0
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Spec.NodeName != "" && ended < n {
			r.gone(r.remove(p.Name))
			ended++
		}
	}
	var more []*corev1.Pod
	for i := 0; i < n; i++ {
		r.pods++
		more = append(more, pod(fmt.Sprintf("pod-%d", r.pods), "fgpu.io/gpu-milli="+strconv.Itoa(300+100*(r.pods%3))))
	}
	r.create(more...)
}

// binds makes room until something is bound that was not bound before.
func (r *replicas) binds() {
	r.Helper()
	before := r.recorder.Bound()
	r.load(6)
	r.eventually("a pod is bound", func() (bool, string) {
		return r.recorder.Bound() > before, fmt.Sprintf("%d are", r.recorder.Bound())
	})
}

// taken waits until the other replica decides, and says what it took since `begin`. What the first one had sent may be bound
// at any time before, so only what comes after the election counts.
func (r *replicas) taken(follower *harness.Fgpu, begin time.Time) string {
	r.Helper()
	r.eventually("the other replica leads", func() (bool, string) {
		leads, _, _ := r.says(follower)
		return leads, "it does not"
	})
	elected := time.Since(begin)
	r.decides(follower)
	ready := time.Since(begin)
	r.binds()
	return fmt.Sprintf("elected after %s, ready after %s, a Binding after %s", elected.Round(10*time.Millisecond),
		ready.Round(10*time.Millisecond), time.Since(begin).Round(10*time.Millisecond))
}

func (r *replicas) decides(f *harness.Fgpu) {
	r.Helper()
	r.eventually("the replica answers", func() (bool, string) {
		leads, decides, _ := r.says(f)
		return decides, fmt.Sprintf("leads: %v", leads)
	})
}

func (r *replicas) ends(f *harness.Fgpu, code int) {
	r.Helper()
	r.eventually("the replica that is to end has ended", func() (bool, string) {
		return !f.Running(), "it runs"
	})
	if got := f.ExitCode(); got == 1 && code != 1 {
		r.endedByItself(f)
	} else if got != code {
		r.Fatalf("it ended with exit code %d, not %d; end of %s:\n%s", got, code, f.LogFile, harness.Tail(f.LogFile, 20))
	}
}

func (r *replicas) launch(f *harness.Fgpu) {
	r.Helper()
	r.logged[f] = 0
	if info, err := os.Stat(f.LogFile); err == nil {
		r.logged[f] = info.Size()
	}
	r.must(nil, f.Launch())
	if r.ending == f {
		r.ending = nil
	}
}

// send is kill(2) to one that is to run.
func (r *replicas) send(f *harness.Fgpu, s syscall.Signal) {
	r.Helper()
	r.stillRun()
	r.ending = f
	if err := syscall.Kill(f.Pid(), s); err != nil {
		r.endedByItself(f)
	}
}

// eventually looks after the replicas while it waits.
func (r *replicas) eventually(what string, check func() (bool, string)) {
	r.Helper()
	r.cluster.eventually(what, func() (bool, string) {
		r.stillRun()
		return check()
	})
}

func (r *replicas) stillRun() {
	r.Helper()
	for _, f := range r.both {
		if f != r.ending && !f.Running() {
			r.endedByItself(f)
		}
	}
}

// cutShort is the panic that ends what is under way, to be done again.
type cutShort struct{}

func (r *replicas) endedByItself(f *harness.Fgpu) {
	r.Helper()
	log, err := os.ReadFile(f.LogFile)
	r.must(log, err)
	if !r.restarts || f.ExitCode() != 1 || !strings.Contains(string(log[r.logged[f]:]), "Lost the Lease") {
		r.Fatalf("a replica ended by itself, with exit code %d; end of %s:\n%s", f.ExitCode(), f.LogFile, harness.Tail(f.LogFile, 20))
	}
	r.restarted++
	say("  a replica lost its Lease by itself and ended with 1, the %d. so far; it is started again, and what was under way is done again; its log:\n%s",
		r.restarted, harness.Tail(f.LogFile, 6))
	panic(cutShort{})
}

// whole does it, again as often as a replica ended by itself meanwhile; 20 times in a row are a failure.
func (r *replicas) whole(do func()) {
	r.Helper()
	for tries := 1; !r.attempt(do); tries++ {
		if tries == 20 {
			r.Fatalf("replicas lost their Lease by themselves %d times in a row", tries)
		}
		r.repeats++
		r.allAgain()
	}
}

func (r *replicas) attempt(do func()) (whole bool) {
	defer func() {
		if x := recover(); x != nil {
			if _, ok := x.(cutShort); !ok {
				panic(x)
			}
		}
	}()
	do()
	return true
}

// allAgain starts what does not run, or may be stopped.
func (r *replicas) allAgain() {
	r.Helper()
	if r.ending != nil {
		r.ending.Kill()
		r.ending = nil
	}
	for i, f := range r.both {
		if s := r.beside[i]; s != nil {
			s.KillForGood()
			r.must(nil, s.Again())
		}
		if !f.Running() {
			r.launch(f)
		}
	}
}

// sums says how often that was.
func (r *replicas) sums(n int) {
	if r.restarts {
		say("  rounds: %d; replicas that lost their Lease by themselves and were started again: %d; steps that were done again: %d", n, r.restarted, r.repeats)
	}
}

// Two replicas under load: the active one is killed, stopped for longer than its Lease and let go on, and asked to end,
// each time with Bindings under way. No pod is bound twice, and no GPU is given away twice (the recorder judges each event).
// The times are reported and not asserted. FGPU_ELECTION_ROUNDS: how often; `scripts/election-rounds` does many.
func TestTwoReplicasSurviveKillStopAndHandOver(t *testing.T) {
	n, patient := rounds(t)
	times := ""
	if patient {
		times = patientLease
	}
	c := newCluster(t, gpuNode("replicas-a", 4, gib80), gpuNode("replicas-b", 4, gib80))
	r := newReplicas(c, times, !patient)
	r.begins()
	for i := 0; i < n; i++ {
		r.whole(r.replicaEnds)
		r.whole(r.replicaIsKilled)
		r.whole(r.replicaIsStopped)
	}
	r.sums(n)
	r.isSound()
}

func (r *replicas) begins() {
	r.Helper()
	r.whole(func() {
		r.settled()
		r.load(24)
		r.binds()
	})
}

func (r *replicas) replicaEnds() {
	r.Helper()
	active, follower := r.settled()
	r.load(12)
	begin := time.Now()
	r.send(active, syscall.SIGTERM)
	r.ends(active, 0)
	say("  SIGTERM: ended after %s, the other one %s", time.Since(begin).Round(10*time.Millisecond), r.taken(follower, begin))
	r.launch(active)
}

func (r *replicas) replicaIsKilled() {
	r.Helper()
	active, follower := r.settled()
	r.load(12)
	begin := time.Now()
	r.send(active, syscall.SIGKILL)
	say("  kill -9: the other one %s", r.taken(follower, begin))
	r.launch(active)
}

func (r *replicas) replicaIsStopped() {
	r.Helper()
	active, follower := r.settled()
	r.load(12)
	begin := time.Now()
	r.send(active, syscall.SIGSTOP)
	say("  SIGSTOP: the other one %s", r.taken(follower, begin))
	r.load(12)                                      // what the one that was stopped believes to be free is given away
	_ = syscall.Kill(active.Pid(), syscall.SIGCONT) // the next line judges
	r.ends(active, 1)
	r.launch(active)
}

func (r *replicas) isSound() {
	r.Helper()
	var active *harness.Fgpu
	r.whole(func() {
		active, _ = r.settled()
		r.decides(active)
	})
	r.fgpu = active
	r.sound()
	r.fgpu = nil
}

// rounds is how often, and whether the times are patient ones.
func rounds(t *testing.T) (n int, patient bool) {
	text := os.Getenv("FGPU_ELECTION_ROUNDS")
	if text == "" {
		return 1, true
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n, false
}

// Two pairs of kube-scheduler and fgpu under load, as manifests/dedicated installs them: the active pair is asked to end, stopped
// and killed; with FGPU_ELECTION_ROUNDS each half of it, too. What is promised is as above. A scheduler that ends is started again in place, as kubelet
// does it.
func TestTwoPairsSurviveKillStopAndHandOver(t *testing.T) {
	n, patient := rounds(t)
	c := newCluster(t, gpuNode("pairs-a", 4, gib80), gpuNode("pairs-b", 4, gib80))
	r := newPairs(c, patient)
	r.begins()
	for i := 0; i < n; i++ {
		r.whole(r.pairEnds)
		r.whole(r.pairIsStopped)
		if !patient {
			r.whole(r.pairIsKilled)
			r.whole(r.schedulerIsKilled)
			r.whole(r.schedulerIsStopped)
			r.whole(r.fgpuIsKilled)
		}
	}
	r.sums(n)
	r.isSound()
}

func (r *replicas) loaded() (active, follower *harness.Fgpu, scheduler *harness.Scheduler) {
	r.Helper()
	active, follower = r.settled()
	r.load(12)
	return active, follower, r.schedulerOf(active)
}

func (r *replicas) pairEnds() {
	r.Helper()
	active, follower, scheduler := r.loaded()
	begin := time.Now()
	r.send(active, syscall.SIGTERM)
	r.must(nil, scheduler.Stop())
	r.ends(active, 0)
	say("  pair, SIGTERM: ended after %s, the other one %s", time.Since(begin).Round(10*time.Millisecond), r.taken(follower, begin))
	r.launch(active)
	r.must(nil, scheduler.Again())
}

func (r *replicas) pairIsKilled() {
	r.Helper()
	active, follower, scheduler := r.loaded()
	begin := time.Now()
	r.stillRun()
	r.ending = active
	scheduler.KillForGood()
	active.Kill()
	say("  pair, kill -9: the other one %s", r.taken(follower, begin))
	r.launch(active)
	r.must(nil, scheduler.Again())
}

func (r *replicas) pairIsStopped() {
	r.Helper()
	active, follower, scheduler := r.loaded()
	begin := time.Now()
	r.send(active, syscall.SIGSTOP)
	r.stop(scheduler)
	say("  pair, SIGSTOP: the other one %s", r.taken(follower, begin))
	r.load(12) // what the one that was stopped believes to be free is given away
	r.must(nil, syscall.Kill(scheduler.Pid(), syscall.SIGCONT))
	_ = syscall.Kill(active.Pid(), syscall.SIGCONT) // the next line judges
	r.ends(active, 1)
	r.launch(active)
}

func (r *replicas) schedulerIsStopped() {
	r.Helper()
	active, follower, scheduler := r.loaded()
	begin := time.Now()
	r.stillRun()
	r.ending = active
	r.stop(scheduler)
	say("  scheduler alone, SIGSTOP: the other one %s", r.taken(follower, begin))
	r.must(nil, syscall.Kill(scheduler.Pid(), syscall.SIGCONT))
	r.ends(active, 1)
	r.launch(active)
}

// It comes back in place with another identity; which of the two is elected then is theirs. fgpu goes on, or ends.
func (r *replicas) schedulerIsKilled() {
	r.Helper()
	active, _, scheduler := r.loaded()
	begin := time.Now()
	r.stillRun()
	r.ending = active
	scheduler.Process.Kill()
	r.binds()
	in := time.Since(begin).Round(10 * time.Millisecond)
	r.eventually("one of the two to decide", func() (bool, string) {
		_, first, _ := r.says(r.both[0])
		_, second, _ := r.says(r.both[1])
		return first != second, fmt.Sprintf("%v, %v", first, second)
	})
	who := "the same fgpu"
	if leads, _, _ := r.says(active); !leads {
		who = "the other fgpu"
		r.ends(active, 1)
		r.launch(active)
	}
	r.ending = nil
	say("  scheduler alone, kill -9: a Binding by %s after %s", who, in)
}

func (r *replicas) fgpuIsKilled() {
	r.Helper()
	active, _, _ := r.loaded()
	begin := time.Now()
	r.send(active, syscall.SIGKILL)
	<-active.Exited()
	r.launch(active)
	say("  fgpu alone, kill -9: it is %s", r.taken(active, begin))
}

// stop is SIGSTOP to one that kubelet may be starting again just then.
func (r *replicas) stop(scheduler *harness.Scheduler) {
	r.Helper()
	r.eventually("kube-scheduler is stopped", func() (bool, string) {
		err := syscall.Kill(scheduler.Pid(), syscall.SIGSTOP)
		return err == nil, fmt.Sprint(err)
	})
}
