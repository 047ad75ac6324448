package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// replicas are two fgpu with election: lease, behind something like a Service.
type replicas struct {
	*cluster
	both  [2]*harness.Fgpu
	front *harness.Front
	pods  int
}

// patientLease is for machines on which etcd may take seconds: a replica that loses its Lease by itself would fail the test. With
// FGPU_ELECTION_ROUNDS the shipped times hold.
const patientLease = "\nlease: {leaseDuration: 8s, renewDeadline: 6s}\nclientConnection: {holdOff: 2s}\n"

// newReplicas starts both with the rights of manifests/mtls-replicas and these times of the Lease; "" are the shipped ones.
func newReplicas(c *cluster, times string) *replicas {
	c.Helper()
	if sharedFgpu != nil && sharedFgpu.Running() {
		c.stopped(sharedFgpu) // whoever needs it starts it again
	}
	c.must(nil, plane.Apply(c.ctx, manifest("dedicated", "rbac.yaml"), manifest("mtls-replicas", "lease.yaml")))
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	shipped, err := os.ReadFile(manifest("dedicated", "fgpu.yaml"))
	c.must(shipped, err)
	config := filepath.Join(plane.Dir, c.name+".config.yaml")
	c.must(nil, os.WriteFile(config, append(shipped, []byte(times)...), 0o600))
	r := &replicas{cluster: c}
	for i := range r.both {
		f, err := plane.NewFgpu(binary, fmt.Sprintf("%s-%d", c.name, i), config, kubeconfig)
		c.must(f, err)
		f.Args = append(f.Args, "--election=lease")
		c.must(nil, f.Launch())
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

// leads says what /state says; false if there is no answer.
func (r *replicas) leads(f *harness.Fgpu) (leads, warm bool) {
	var s struct {
		Metadata struct {
			Leader              bool
			PodsResourceVersion string
		}
	}
	body, err := f.Ops(r.ctx, "/state?fields=summary")
	if err != nil || json.Unmarshal(body, &s) != nil {
		return false, false
	}
	return s.Metadata.Leader, s.Metadata.PodsResourceVersion != ""
}

// settled waits until one leads and the other one follows with a warm ledger.
func (r *replicas) settled() (active, follower *harness.Fgpu) {
	r.Helper()
	r.eventually("one replica leads and the other one has read the cluster", func() (bool, string) {
		var leads, warm [2]bool
		for i, f := range r.both {
			leads[i], warm[i] = r.leads(f)
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
		leads, _ := r.leads(follower)
		return leads, "it does not"
	})
	elected := time.Since(begin)
	r.must(nil, follower.AwaitReady(r.ctx))
	ready := time.Since(begin)
	r.binds()
	return fmt.Sprintf("elected after %s, ready after %s, a Binding after %s", elected.Round(10*time.Millisecond),
		ready.Round(10*time.Millisecond), time.Since(begin).Round(10*time.Millisecond))
}

func (r *replicas) ends(f *harness.Fgpu, code int) {
	r.Helper()
	r.eventually("the replica that lost its Lease has ended", func() (bool, string) {
		return !f.Running(), "it runs"
	})
	if got := f.ExitCode(); got != code {
		r.Fatalf("it ended with exit code %d, not %d; end of %s:\n%s", got, code, f.LogFile, harness.Tail(f.LogFile, 20))
	}
}

// Two replicas under load: the active one is killed, stopped for longer than its Lease and let go on, and asked to end,
// each time with Bindings under way. No pod is bound twice, and no GPU is given away twice (the recorder judges each event).
// The times are reported and not asserted. FGPU_ELECTION_ROUNDS: how often; `scripts/election-rounds` does many.
func TestTwoReplicasSurviveKillStopAndHandOver(t *testing.T) {
	rounds, times := 1, patientLease
	if text := os.Getenv("FGPU_ELECTION_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		times = ""
	}
	c := newCluster(t, gpuNode("replicas-a", 4, gib80), gpuNode("replicas-b", 4, gib80))
	r := newReplicas(c, times)
	r.settled()
	r.load(24)
	r.binds()
	for i := 0; i < rounds; i++ {
		active, follower := r.settled()
		r.load(12)
		begin := time.Now()
		c.must(nil, syscall.Kill(active.Pid(), syscall.SIGTERM))
		r.ends(active, 0)
		say("  SIGTERM: ended after %s, the other one %s", time.Since(begin).Round(10*time.Millisecond), r.taken(follower, begin))
		c.must(nil, active.Launch())

		active, follower = r.settled()
		r.load(12)
		begin = time.Now()
		active.Kill()
		say("  kill -9: the other one %s", r.taken(follower, begin))
		c.must(nil, active.Launch())

		active, follower = r.settled()
		r.load(12)
		begin = time.Now()
		c.must(nil, syscall.Kill(active.Pid(), syscall.SIGSTOP))
		say("  SIGSTOP: the other one %s", r.taken(follower, begin))
		r.load(12) // what the one that was stopped believes to be free is given away
		c.must(nil, syscall.Kill(active.Pid(), syscall.SIGCONT))
		r.ends(active, 1)
		c.must(nil, active.Launch())
	}
	active, _ := r.settled()
	c.must(nil, active.AwaitReady(c.ctx))
	c.fgpu = active
	c.sound()
	c.fgpu = nil
}
