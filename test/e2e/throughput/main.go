// throughput measures how many pods per second a real kube-scheduler binds: without an extender, with one that
// does nothing, and with fgpu. Rounds of all modes alternate, so that what else happens on the machine happens
// to all of them; the medians are compared. scripts/bench --scheduler runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"fgpu.io/fgpu/test/e2e/harness"
)

const namespace = "throughput"

var began = time.Now()

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%6.1fs] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// A mode is a way to run kube-scheduler.
type mode struct {
	Name     string
	extender string // "": none, "nothing" or "fgpu"
	sampling bool   // kube-scheduler's own sampling of nodes instead of all of them
}

var modes = []mode{
	{"none, default sampling", "", true},
	{"none, all nodes", "", false},
	{"do-nothing extender, all nodes", "nothing", false},
	{"fgpu, all nodes", "fgpu", false},
}

// A sample is one round. CPU time is per pod, and far less than wall time at the mercy of what else the machine does.
type sample struct {
	PodsPerS    float64 `json:"podsPerSecond"`
	SchedulerMs float64 `json:"schedulerCpuMs"`
	ExtenderMs  float64 `json:"extenderCpuMs"`
}

type result struct {
	Mode   string   `json:"mode"`
	Rounds []sample `json:"rounds"`
	Median sample   `json:"median"` // of each number by itself
}

type size struct {
	Nodes   int      `json:"nodes"`
	Pods    int      `json:"pods"`
	Results []result `json:"results"`
}

type bench struct {
	plane  *harness.ControlPlane
	root   string
	binary string
	url    string // of the extender that does nothing
	serial int
}

func (b *bench) manifest(parts ...string) string {
	return filepath.Join(append([]string{b.root, "manifests"}, parts...)...)
}

// each runs f for 0..n-1, some of them at a time, and returns the first error.
func each(n int, f func(int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	next := make(chan int)
	for range min(16, n) {
		wg.Go(func() {
			for i := range next {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

func gpuNode(i int) *corev1.Node {
	name := fmt.Sprintf("gpu-node-%05d", i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	var gpus []string
	for g := range 8 {
		gpus = append(gpus, fmt.Sprintf(`{"uuid":"GPU-%05d-%d","index":%d,"memMib":81920}`, i, g, g))
	}
	n.Annotations = map[string]string{"fgpu.io/gpus": `{"v":1,"gpus":[` + strings.Join(gpus, ",") + `]}`}
	n.Status.Allocatable = harness.Quantities("cpu=128", "memory=1Ti", "pods=250")
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func waitingPod(i int) *corev1.Pod {
	q := harness.Quantities("cpu=10m", "memory=16Mi", "fgpu.io/gpu-milli=125")
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", i), Namespace: namespace},
		Spec: corev1.PodSpec{SchedulerName: "fgpu-scheduler", Containers: []corev1.Container{{Name: "main",
			Image: "example.com/none", Resources: corev1.ResourceRequirements{Limits: q, Requests: q}}}}}
}

// config writes the shipped configuration, changed only as the mode wants it.
func (b *bench) config(ctx context.Context, m mode, verbsURL string) (string, error) {
	kubeconfig, err := b.plane.Kubeconfig(ctx, "fgpu-system", "fgpu-scheduler")
	if err != nil {
		return "", err
	}
	b.serial++
	file := filepath.Join(b.plane.Dir, fmt.Sprintf("scheduler-%d.yaml", b.serial))
	replace := []harness.Replacement{
		{Old: `kubeconfig: ""`, New: fmt.Sprintf("kubeconfig: %q", kubeconfig)},
		{Old: "leaderElect: true", New: "leaderElect: false"}, // nobody waits for the lease of the round before
		{Old: "http://127.0.0.1:9443", New: verbsURL},
	}
	if m.sampling {
		replace = append(replace, harness.Replacement{Old: "percentageOfNodesToScore: 100", New: "percentageOfNodesToScore: 0"})
	}
	if err := harness.Adapt(b.manifest("dedicated", "scheduler.yaml"), file, replace...); err != nil {
		return "", err
	}
	if m.extender == "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		before, _, ok := strings.Cut(string(text), "\nextenders:\n")
		if !ok {
			return "", fmt.Errorf("%s has no extenders to leave out", file)
		}
		err = os.WriteFile(file, []byte(before+"\n"), 0o600)
		return file, err
	}
	return file, nil
}

// boundTimes watches until n pods are bound and returns when each was seen.
func (b *bench) boundTimes(ctx context.Context, n int) ([]time.Time, error) {
	seen := map[string]bool{}
	var times []time.Time
	note := func(p *corev1.Pod) {
		if p.Spec.NodeName != "" && !seen[p.Name] {
			seen[p.Name] = true
			times = append(times, time.Now())
		}
	}
	for len(times) < n {
		list, err := b.plane.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("%d of %d pods bound: %w", len(times), n, err)
		}
		for i := range list.Items {
			note(&list.Items[i])
		}
		w, err := b.plane.Client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			return nil, fmt.Errorf("%d of %d pods bound: %w", len(times), n, err)
		}
		for len(times) < n {
			e, ok := <-w.ResultChan() // closed when ctx ends
			if !ok || e.Type == watch.Error {
				break
			}
			if p, isPod := e.Object.(*corev1.Pod); isPod {
				note(p)
			}
		}
		w.Stop()
	}
	return times, nil
}

// cpuMs is the CPU time that a process has used so far.
func cpuMs(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * 10 // a hundred ticks a second, on every Linux that Go runs on
}

// round creates the pods, lets a fresh kube-scheduler bind them, and measures from a tenth of them on; CPU time from its
// start on, for all of them.
func (b *bench) round(ctx context.Context, m mode, pods int) (sample, error) {
	var none sample
	extender := os.Getpid() // serves the one that does nothing, and little else while pods are bound
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	url := b.url
	if m.extender == "fgpu" {
		kubeconfig, err := b.plane.Kubeconfig(ctx, "fgpu-system", "fgpu")
		if err != nil {
			return none, err
		}
		f, err := b.plane.StartFgpu(ctx, b.binary, "fgpu", b.manifest("dedicated", "fgpu.yaml"), kubeconfig)
		if err != nil {
			return none, err
		}
		defer func() { _ = f.Stop() }()
		url, extender = f.VerbsURL, f.Pid()
	}
	if err := each(pods, func(i int) error {
		_, err := b.plane.Client.CoreV1().Pods(namespace).Create(ctx, waitingPod(i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return none, err
	}
	config, err := b.config(ctx, m, url)
	if err != nil {
		return none, err
	}
	s, err := b.plane.StartScheduler(ctx, fmt.Sprintf("round-%d", b.serial), config)
	if err != nil {
		return none, err
	}
	before := cpuMs(extender)
	times, err := b.boundTimes(ctx, pods)
	n := float64(pods)
	result := sample{SchedulerMs: cpuMs(s.Pid()) / n, ExtenderMs: (cpuMs(extender) - before) / n}
	if m.extender == "" {
		result.ExtenderMs = 0
	}
	if err == nil {
		err = s.Stop()
	}
	if err != nil {
		return none, fmt.Errorf("%w (log: %s)", err, s.LogFile)
	}
	zero := int64(0)
	if err := each(pods, func(i int) error {
		return b.plane.Client.CoreV1().Pods(namespace).Delete(ctx, waitingPod(i).Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	}); err != nil {
		return none, err
	}
	first := pods / 10
	result.PodsPerS = float64(pods-1-first) / times[pods-1].Sub(times[first]).Seconds()
	return result, nil
}

func median(rounds []sample, of func(sample) float64) float64 {
	var v []float64
	for _, r := range rounds {
		v = append(v, of(r))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func (b *bench) size(ctx context.Context, nodes, pods, rounds int) (*size, error) {
	say("%d nodes are made", nodes)
	if err := each(nodes, func(i int) error {
		_, err := b.plane.Client.CoreV1().Nodes().Create(ctx, gpuNode(i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	s := &size{Nodes: nodes, Pods: pods, Results: make([]result, len(modes))}
	for r := range rounds {
		for i, m := range modes {
			v, err := b.round(ctx, m, pods)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			say("  round %d of %d, %s: %.1f pods/s; CPU ms a pod: scheduler %.1f, extender %.1f", r+1, rounds, m.Name,
				v.PodsPerS, v.SchedulerMs, v.ExtenderMs)
			s.Results[i].Mode = m.Name
			s.Results[i].Rounds = append(s.Results[i].Rounds, v)
		}
	}
	for i := range s.Results {
		r := s.Results[i].Rounds
		s.Results[i].Median = sample{
			median(r, func(v sample) float64 { return v.PodsPerS }),
			median(r, func(v sample) float64 { return v.SchedulerMs }),
			median(r, func(v sample) float64 { return v.ExtenderMs }),
		}
	}
	return s, b.plane.Client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

func table(sizes []*size) string {
	var t strings.Builder
	t.WriteString("| nodes | pods | kube-scheduler with | pods/s, median | rounds | fgpu against it | CPU ms a pod: scheduler | extender |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, s := range sizes {
		fgpu := s.Results[len(s.Results)-1].Median.PodsPerS
		for _, r := range s.Results {
			var each []string
			for _, v := range r.Rounds {
				each = append(each, fmt.Sprintf("%.0f", v.PodsPerS))
			}
			fmt.Fprintf(&t, "| %d | %d | %s | %.1f | %s | %.0f %% | %.1f | %.1f |\n", s.Nodes, s.Pods, r.Mode, r.Median.PodsPerS,
				strings.Join(each, ", "), 100*fgpu/r.Median.PodsPerS, r.Median.SchedulerMs, r.Median.ExtenderMs)
		}
	}
	return t.String()
}

func run() error {
	sizes := flag.String("nodes", "500,5000", "numbers of nodes")
	rounds := flag.Int("rounds", 5, "rounds of each mode")
	pods := flag.Int("pods", 0, "pods a round (default: 1000, with 5,000 nodes or more 400)")
	out := flag.String("json", "", "write every number to this file")
	flag.Parse()
	ctx := context.Background()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	binary := os.Getenv("FGPU_BIN")
	if binary == "" {
		binary = filepath.Join(root, "build", "release", "fgpu")
	}
	dir, err := os.MkdirTemp("", "fgpu-throughput-")
	if err != nil {
		return err
	}
	plane, err := harness.StartControlPlane(ctx, os.Getenv("FGPU_CONTROL_PLANE"), dir)
	if err != nil {
		return err
	}
	defer plane.Stop()
	b := &bench{plane: plane, root: root, binary: binary}
	if err := plane.Apply(ctx, b.manifest("dedicated", "namespace.yaml"), b.manifest("dedicated", "rbac.yaml")); err != nil {
		return err
	}
	if _, err := plane.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if b.url, err = serveNothing(plane.Client); err != nil {
		return err
	}
	var done []*size
	for text := range strings.SplitSeq(*sizes, ",") {
		nodes, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		n := *pods
		if n == 0 {
			n = 1000
			if nodes >= 5000 {
				n = 400
			}
		}
		s, err := b.size(ctx, nodes, n, *rounds)
		if err != nil {
			return fmt.Errorf("%w (logs are in %s)", err, dir)
		}
		done = append(done, s)
	}
	if *out != "" {
		text, err := json.MarshalIndent(done, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*out, text, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s, kube-scheduler 1.36, %d rounds interleaved\n\n%s", time.Now().UTC().Format(time.RFC3339), *rounds, table(done))
	plane.Stop()
	return os.RemoveAll(dir)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}
