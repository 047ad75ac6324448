// throughput measures how many pods per second a real kube-scheduler binds, what that costs, and how densely they are packed:
// without an extender, with one that does nothing, and with fgpu in the ways in which it can be run. Rounds of all modes
// alternate, so that what else happens on the machine happens to all of them; ratios are of the same round. scripts/bench --scheduler runs it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

var began = time.Now()

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%6.1fs] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

type options struct {
	sizes, modes, out, lock, profile, other string
	rounds, pods, unplanned                 int
	patches, bindings                       bool
}

func readOptions() options {
	var o options
	var keys []string
	for _, m := range modes {
		keys = append(keys, m.key)
	}
	flag.StringVar(&o.sizes, "nodes", "500,5000", "numbers of nodes")
	flag.StringVar(&o.modes, "modes", "", "only these, with what the others are compared with first: "+strings.Join(keys, ", "))
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each mode")
	flag.IntVar(&o.pods, "pods", 0, "pods a round (default: 1000, with 5,000 nodes or more 400)")
	flag.IntVar(&o.unplanned, "unplanned", 0, "of so many pods one is such that planning ahead leaves it alone (a port of the host); 0: none")
	flag.StringVar(&o.out, "json", "", "write every number to this file, after each round")
	flag.StringVar(&o.lock, "lock", "", "hold this file (flock) during each round, for a machine on which others measure, too")
	flag.StringVar(&o.profile, "profile", "", "write CPU profiles of kube-scheduler and kube-apiserver of each round into this folder, for go tool pprof")
	flag.StringVar(&o.other, "other", "", "NAME=FOLDER: the modes with fgpu also with the release build and the shipped files of this checkout")
	flag.BoolVar(&o.patches, "patches", false, "measure only what a nomination costs the API server, with and without the admission policy")
	flag.BoolVar(&o.bindings, "bindings", false, "measure only what a Binding costs the API server, in each form in which it can be sent")
	flag.Parse()
	return o
}

// locked runs f while nobody else holds the file.
func locked(file string, f func() error) error {
	if file == "" {
		return f()
	}
	l, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := syscall.Flock(int(l.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return f()
}

// measurable are the modes that this fgpu knows, those with fgpu with each tree.
func (b *bench) measurable(wanted []mode, other *tree) ([]mode, []string, error) {
	var out []mode
	var skipped []string
	for _, m := range wanted {
		variants := []mode{m}
		if other != nil && m.extender == "fgpu" {
			n := m
			n.tree, n.Name = other, m.Name+" ("+other.name+")"
			variants = append(variants, n)
		}
		for _, v := range variants {
			why, err := b.cannot(v)
			if err != nil {
				return nil, nil, err
			}
			if why == "" {
				out = append(out, v)
			} else {
				skipped = append(skipped, v.Name+": skipped: "+strings.ReplaceAll(why, "\n", "; "))
			}
		}
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("no mode can be measured: %s", strings.Join(skipped, "; "))
	}
	return out, skipped, nil
}

func (b *bench) makeNodes(ctx context.Context, n int) error {
	say("%d nodes are made", n)
	return each(n, func(i int) error {
		_, err := b.plane.Client.CoreV1().Nodes().Create(ctx, gpuNode(i), metav1.CreateOptions{})
		return err
	})
}

// inTurn is the k-th of n in a round: each round begins with another, and every other one goes backwards, so that nobody always
// follows the same one.
func inTurn(k, round, n int) int {
	if round%2 == 1 {
		k = n - 1 - k
	}
	return (k + round) % n
}

// measure appends to s, which is whole after each round.
func (b *bench) measure(ctx context.Context, s *size, modes []mode, o options, save func() error) error {
	if err := b.makeNodes(ctx, s.Nodes); err != nil {
		return err
	}
	for _, m := range modes {
		s.Results = append(s.Results, result{Mode: m.Name, Counts: m.extender == "fgpu"})
	}
	for r := range o.rounds {
		samples := make([]sample, len(modes))
		if err := locked(o.lock, func() (err error) {
			for k := range modes {
				i := inTurn(k, r, len(modes))
				m := modes[i]
				if samples[i], err = b.round(ctx, m, s.Pods); err != nil {
					return fmt.Errorf("%s: %w", m.Name, err)
				}
				v := samples[i]
				say("  round %d of %d, %s: %.1f pods/s; CPU ms a pod: scheduler %.2f, extender %.2f, API server %.2f; %.0f nodes; load %.1f; planned %+v",
					r+1, o.rounds, m.Name, v.PodsPerS, v.SchedulerMs, v.ExtenderMs, v.APIMs, v.Nodes, v.Load, v.Planned)
			}
			return nil
		}); err != nil {
			return err
		}
		for i := range samples {
			s.Results[i].Rounds = append(s.Results[i].Rounds, samples[i])
			s.Results[i].summarize()
		}
		if err := save(); err != nil {
			return err
		}
	}
	return b.plane.Client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// sizesOf reads -nodes and -pods.
func sizesOf(o options) ([]*size, error) {
	var out []*size
	for text := range strings.SplitSeq(o.sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("-nodes: %w", err)
		}
		s := &size{Nodes: n, Pods: o.pods}
		if s.Pods == 0 {
			s.Pods = 1000
			if n >= 5000 {
				s.Pods = 400
			}
		}
		if s.Pods < 20 {
			return nil, fmt.Errorf("-pods %d: at least 20 are needed", s.Pods)
		}
		out = append(out, s)
	}
	return out, nil
}

func treeAt(name, root string) *tree {
	return &tree{name: name, root: root, binary: filepath.Join(root, "build", "release", "fgpu")}
}

func trees(o options) (own, other *tree, err error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return nil, nil, err
	}
	own = treeAt("here", root)
	if binary := os.Getenv("FGPU_BIN"); binary != "" {
		own.binary = binary
	}
	if o.other != "" {
		name, folder, ok := strings.Cut(o.other, "=")
		if !ok {
			return nil, nil, fmt.Errorf("-other %s: expected NAME=FOLDER", o.other)
		}
		other = treeAt(name, folder)
	}
	return own, other, nil
}

// prepare makes what the shipped files say before any round, what only planning ahead or strict consistency needs included: rights change no
// other mode.
func (b *bench) prepare(ctx context.Context) error {
	files := []string{b.own.manifest("dedicated", "namespace.yaml"), b.own.manifest("dedicated", "rbac.yaml"), b.own.manifest("strict", "role.yaml")}
	more, err := filepath.Glob(b.own.manifest("plan-ahead", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range more {
		if filepath.Base(file) != "kustomization.yaml" {
			files = append(files, file)
		}
	}
	if err := b.plane.Apply(ctx, files...); err != nil {
		return err
	}
	_, err = b.plane.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	return err
}

func run() error {
	o := readOptions()
	ctx := context.Background()
	wanted, err := chosen(o.modes)
	if err != nil {
		return err
	}
	sizes, err := sizesOf(o)
	if err != nil {
		return err
	}
	own, other, err := trees(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fgpu-throughput-")
	if err != nil {
		return err
	}
	plane, err := harness.StartControlPlane(ctx, os.Getenv("FGPU_CONTROL_PLANE"), dir, func(cp *harness.ControlPlane) {
		if o.profile != "" {
			cp.APIFlags = []string{"--profiling=true"}
			cp.SchedulerFlags = []string{"--profiling=true", "--authorization-always-allow-paths=/debug/pprof/*"}
		}
	})
	if err != nil {
		return err
	}
	defer plane.Stop()
	b := &bench{plane: plane, own: own, profile: o.profile, unplanned: o.unplanned}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	ready, skipped, err := b.measurable(wanted, other)
	if err != nil {
		return err
	}
	for _, text := range skipped {
		say("%s", text)
	}
	if o.patches {
		defer os.RemoveAll(dir)
		return b.patches(ctx, max(o.pods, 500), o.rounds)
	}
	if o.bindings {
		defer os.RemoveAll(dir)
		return b.bindings(ctx, max(o.pods, 50), o.rounds, o.lock)
	}
	save := func() error {
		if o.out == "" {
			return nil
		}
		text, err := json.MarshalIndent(sizes, "", " ")
		if err != nil {
			return err
		}
		return os.WriteFile(o.out, text, 0o644)
	}
	for _, s := range sizes {
		if err := b.measure(ctx, s, ready, o, save); err != nil {
			return fmt.Errorf("%w (logs are in %s)", err, dir)
		}
	}
	fmt.Printf("%s, kube-scheduler 1.36, %d rounds interleaved; median (least to most)\n\n%s", time.Now().UTC().Format(time.RFC3339), o.rounds, table(sizes))
	for _, text := range skipped {
		fmt.Printf("\n%s\n", text)
	}
	plane.Stop()
	return os.RemoveAll(dir)
}

func main() {
	f := run
	if len(os.Args) == 3 && os.Args[1] == nothingArgument {
		f = func() error { return serveNothing(os.Args[2]) }
	}
	if err := f(); err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}
