package node

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// lot is what a pod was given, by somebody who does not look at what others have.
type lot struct {
	name  string
	gpu   int
	milli int
}

// judge looks at the processes of the node again and again. What it knows comes from the kernel alone: in which pod's cgroup a
// process is, and which GPUs are in its /dev.
type judge struct {
	mu    sync.Mutex
	lots  map[string]lot // by the UID of the pod
	found map[string]int // what must not be, and how often it was seen
	most  int            // ever held of a GPU
	looks int
}

func (j *judge) gives(uid string, l lot) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lots[uid] = l
}

func (j *judge) look() {
	holding := map[string]map[int]bool{} // GPUs by the UID of the pod
	for _, h := range holders() {
		if holding[h.uid] == nil {
			holding[h.uid] = map[int]bool{}
		}
		holding[h.uid][h.gpu] = true
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.looks++
	held := map[int]int{}
	who := map[int][]string{}
	for uid, gpus := range holding {
		l := j.lots[uid]
		for gpu := range gpus {
			if gpu != l.gpu || l.milli == 0 {
				j.found[fmt.Sprintf("pod %s %q has GPU %d, which is not its own", uid, l.name, gpu)]++
			}
			held[gpu] += l.milli
			who[gpu] = append(who[gpu], fmt.Sprintf("%s: %d", l.name, l.milli))
		}
	}
	for gpu, milli := range held {
		j.most = max(j.most, milli)
		if milli > 1000 {
			slices.Sort(who[gpu])
			j.found[fmt.Sprintf("%d milli of GPU %d are held: %s", milli, gpu, strings.Join(who[gpu], ", "))]++
		}
	}
}

// watch looks until its context ends; then what it returns is closed.
func (j *judge) watch(ctx context.Context) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			j.look()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return ended
}

// podOfProcess is "" for a process of no pod, and for one that has ended.
func podOfProcess(pid string) string {
	text, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if _, rest, found := strings.Cut(line, "/pod"); found && strings.Contains(line, os.Getenv("FGPU_NODE_CGROUP")) {
			uid, _, _ := strings.Cut(strings.TrimSpace(rest), "/")
			return uid
		}
	}
	return ""
}

// ranOrRefused waits until one of the two has happened to a pod; true: it ran.
func (s *scene) ranOrRefused(p *corev1.Pod) (bool, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if logOf(p, "main") != "" {
			return true, nil
		}
		for _, message := range s.told(p.UID) {
			if strings.HasPrefix(message, "Failed: ") {
				return false, nil
			}
		}
	}
	return false, fmt.Errorf("pod %s neither ran nor was refused: %s", p.Name, strings.Join(s.told(p.UID), "\n"))
}

// oneComesAndGoes creates a pod, binds it, waits for what becomes of it, stays, and deletes it; true: it ran.
func (s *scene) oneComesAndGoes(j *judge, l lot, stay func()) (bool, error) {
	pods := plane.Client.CoreV1().Pods(s.namespace)
	p, err := pods.Create(s.ctx, unscheduled(l.name), metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	record, err := plane.SignedRecord(string(p.UID), harness.RealNode, "careless",
		harness.RecordDevice{UUID: gpus[l.gpu], Index: int64(l.gpu), Milli: int64(l.milli), MemMiB: 1})
	if err != nil {
		return false, err
	}
	j.gives(string(p.UID), l)
	if err := pods.Bind(s.ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID,
		Annotations: map[string]string{assignmentKey: record}}, Target: corev1.ObjectReference{Kind: "Node", Name: harness.RealNode}},
		metav1.CreateOptions{}); err != nil {
		return false, err
	}
	ran, err := s.ranOrRefused(p)
	if err != nil {
		return false, err
	}
	stay()
	ran = ran || logOf(p, "main") != ""
	if err := pods.Delete(s.ctx, p.Name, metav1.DeleteOptions{}); err != nil {
		return ran, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if _, err := pods.Get(s.ctx, p.Name, metav1.GetOptions{}); err != nil {
			return ran, nil
		}
		if time.Now().After(end) {
			return ran, fmt.Errorf("pod %s does not end", p.Name)
		}
	}
}

// churnPods is how many pods come and go: FGPU_NODE_CHURN, or few enough for every run.
func (s *scene) churnPods() int {
	text := os.Getenv("FGPU_NODE_CHURN")
	if text == "" {
		return 40
	}
	pods, err := strconv.Atoi(text)
	s.must(err)
	return pods
}

// Pods come and go, given out far beyond what there is by somebody with the right key, while the agent and containerd are
// killed again and again. At no moment does a process have a GPU that is not its pod's, or a GPU more than it has.
func TestNoGPUIsHeldTwiceWhileAgentAndRuntimeAreKilled(t *testing.T) {
	const lanes, enough, staysFor = 8, 6, 2 // kills
	s := newScene(t)
	perLane := s.churnPods() / lanes
	j := &judge{lots: map[string]lot{}, found: map[string]int{}}
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var background, traffic sync.WaitGroup
	watched := j.watch(ctx)
	pause := time.Second
	var kills atomic.Int32
	background.Go(func() {
		for ; ctx.Err() == nil; kills.Add(1) {
			time.Sleep(pause)
			restart, start := theNode.restartAgent, time.Now()
			if kills.Load()%3 == 2 {
				restart = theNode.restartContainerd
			}
			if err := restart(s.ctx); err != nil {
				s.Error(err)
				return
			}
			// Where a restart is slow, so is the making of containers, which needs some time between two kills.
			pause = max(pause, time.Since(start))
		}
	})
	stay := func() { // others come in the meantime
		for until := kills.Load() + staysFor; kills.Load() < until && !s.Failed(); {
			time.Sleep(20 * time.Millisecond)
		}
	}
	var mu sync.Mutex
	made, ran := 0, 0
	for lane := range lanes {
		random := rand.New(rand.NewSource(int64(lane)))
		traffic.Go(func() {
			for i := 0; i < perLane || (kills.Load() < enough && !s.Failed()); i++ {
				one, err := s.oneComesAndGoes(j, lot{fmt.Sprintf("pod-%d-%d", lane, i), random.Intn(len(gpus)), 200 + random.Intn(500)}, stay)
				mu.Lock()
				made++
				if err != nil {
					s.Error(err)
				}
				if one {
					ran++
				}
				mu.Unlock()
			}
		})
	}
	traffic.Wait()
	stop()
	background.Wait()
	<-watched
	text, err := os.ReadFile(theNode.path("fgpu-node.log"))
	s.must(err)
	refusals := strings.Count(string(text), s.namespace+"/pod-")
	say("%d pods, %d ran; %d kills; %d words of refusal; at most %d milli of a GPU were held; %d looks", made, ran, kills.Load(), refusals, j.most, j.looks)
	for what, times := range j.found {
		s.Errorf("%s; seen %d times", what, times)
	}
	if ran == 0 || refusals == 0 || j.most == 0 {
		s.Errorf("this test saw too little")
	}
	last := s.create(unscheduled("last"))
	s.bindAs(last, 0, 1000)
	s.alone(last, "main", 0)
}
