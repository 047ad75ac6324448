package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"fgpu.io/fgpu/test/e2e/harness"
)

// A mode is a way to run kube-scheduler, and to ask. Everything else is as it is shipped.
type mode struct {
	key      string // of -modes
	Name     string
	extender string // "": none, "nothing", "minimal" or "fgpu"
	// percentage is percentageOfNodesToScore: "0" is kube-scheduler's own sampling, "100" all nodes, "" what is shipped.
	percentage string
	annotation bool     // pods ask by an annotation, not by limits
	nominated  bool     // all pods are nominated before kube-scheduler begins, 16 to a node; that is not measured
	flags      []string // of kube-scheduler, besides
	setting    *setting // of fgpu.yaml; one that fgpu does not know: the mode is skipped
	tree       *tree    // what it takes fgpu and the shipped files from; nil: the tree of this program
}

// A setting is a line of a section of fgpu.yaml; "": of none.
type setting struct{ section, key, value string }

// A tree is a checkout with its release build.
type tree struct{ name, root, binary string }

// The first is what all others are compared with.
var modes = []mode{
	{key: "none", Name: "none, default sampling", percentage: "0"},
	// kube-scheduler 1.35 and newer decides about equal pods together, but never with an extender: what is left without that is what an extender can
	// be compared with.
	{key: "none-single", Name: "none, default sampling, pods one by one", percentage: "0", flags: []string{"--feature-gates=OpportunisticBatching=false"}},
	{key: "none-all", Name: "none, all nodes", percentage: "100"},
	{key: "none-annotation", Name: "none, default sampling, pods with an annotation", percentage: "0", annotation: true},
	{key: "nothing", Name: "do-nothing extender, default sampling", extender: "nothing", percentage: "0"},
	{key: "nothing-all", Name: "do-nothing extender, all nodes", extender: "nothing", percentage: "100"},
	// The same in C, and one name is answered, as fgpu does: test/bench/minimal.c.
	{key: "minimal", Name: "minimal extender in C, else as shipped", extender: "minimal"},
	{key: "minimal-annotation", Name: "minimal extender in C, pods ask by annotation", extender: "minimal", annotation: true},
	{key: "fgpu", Name: "fgpu as shipped", extender: "fgpu"},
	{key: "fgpu-all", Name: "fgpu, all nodes", extender: "fgpu", percentage: "100", setting: candidates("100")},
	{key: "fgpu-sampling", Name: "fgpu, default sampling", extender: "fgpu", percentage: "0", setting: candidates("100")},
	{key: "fgpu-one", Name: "fgpu, default sampling, candidates: 1", extender: "fgpu", percentage: "0", setting: candidates("1")},
	{key: "fgpu-all-one", Name: "fgpu, all nodes, candidates: 1", extender: "fgpu", percentage: "100", setting: candidates("1")},
	{key: "annotation-all", Name: "fgpu, all nodes, pods ask by annotation", extender: "fgpu", percentage: "100", annotation: true},
	{key: "annotation", Name: "fgpu, default sampling, pods ask by annotation", extender: "fgpu", percentage: "0", annotation: true},
	{key: "annotation-one", Name: "fgpu, default sampling, candidates: 1, pods ask by annotation", extender: "fgpu", percentage: "0", annotation: true,
		setting: candidates("1")},
	{key: "strict", Name: "fgpu, consistency: strict, else as shipped", extender: "fgpu", setting: &setting{"", "consistency", "strict"}},
	{key: "plan", Name: "fgpu, default sampling, planning ahead", extender: "fgpu", percentage: "0", setting: planning()},
	{key: "plan-all", Name: "fgpu, all nodes, planning ahead", extender: "fgpu", percentage: "100", setting: planning()},
	// What planning ahead could come to at best, if every nomination were there in time and cost nothing.
	{key: "none-nominated", Name: "none, all nodes, all pods nominated beforehand", percentage: "100", nominated: true},
	{key: "nominated", Name: "fgpu, all nodes, all pods nominated beforehand", extender: "fgpu", percentage: "100", nominated: true},
}

// planning leaves packing.candidates as it is shipped, which is 1.
func planning() *setting { return &setting{"planAhead", "enabled", "true"} }

func candidates(n string) *setting { return &setting{"packing", "candidates", n} }

// chosen are the modes of a list of keys, or all.
func chosen(list string) ([]mode, error) {
	if list == "" {
		return modes, nil
	}
	var out []mode
	for key := range strings.SplitSeq(list, ",") {
		found := false
		for _, m := range modes {
			if m.key == key {
				out, found = append(out, m), true
			}
		}
		if !found {
			var keys []string
			for _, m := range modes {
				keys = append(keys, m.key)
			}
			return nil, fmt.Errorf("-modes: there is no %q, but %s", key, strings.Join(keys, ", "))
		}
	}
	return out, nil
}

var percentageLine = regexp.MustCompile(`(?m)^percentageOfNodesToScore:.*$`)

// withPercentage is a configuration of kube-scheduler with this percentageOfNodesToScore, whatever it says now.
func withPercentage(text, percentage string) (string, error) {
	if n := len(percentageLine.FindAllString(text, -1)); n != 1 {
		return "", fmt.Errorf("percentageOfNodesToScore stands there %d times, expected once", n)
	}
	return percentageLine.ReplaceAllString(text, "percentageOfNodesToScore: "+percentage), nil
}

// in is a configuration of fgpu with this setting, whatever it says of it now.
func (x *setting) in(text string) string {
	if x.section == "" {
		return regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(x.key)+`:.*\n?`).ReplaceAllString(text, "") + "\n" + x.key + ": " + x.value + "\n"
	}
	line := "  " + x.key + ": " + x.value + "\n"
	head := "\n" + x.section + ":\n"
	before, after, ok := strings.Cut(text, head)
	if !ok {
		return strings.TrimSuffix(text, "\n") + "\n" + head + line
	}
	end := regexp.MustCompile(`(?m)^\S`).FindStringIndex(after) // where the next section begins
	section, rest := after, ""
	if end != nil {
		section, rest = after[:end[0]], after[end[0]:]
	}
	section = regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(x.key)+`:.*\n?`).ReplaceAllString(section, "")
	return before + head + line + section + rest
}

func (b *bench) treeOf(m mode) *tree {
	if m.tree != nil {
		return m.tree
	}
	return b.own
}

func (t *tree) manifest(parts ...string) string {
	return filepath.Join(append([]string{t.root, "manifests"}, parts...)...)
}

// schedulerConfig writes the shipped configuration, changed only as the mode wants it.
func (b *bench) schedulerConfig(ctx context.Context, m mode, verbsURL string) (string, error) {
	kubeconfig, err := b.plane.Kubeconfig(ctx, "fgpu-system", "fgpu-scheduler")
	if err != nil {
		return "", err
	}
	b.serial++
	file := filepath.Join(b.plane.Dir, fmt.Sprintf("scheduler-%d.yaml", b.serial))
	shipped := b.treeOf(m).manifest("dedicated", "scheduler.yaml")
	if err := harness.Adapt(shipped, file,
		harness.Replacement{Old: `kubeconfig: ""`, New: fmt.Sprintf("kubeconfig: %q", kubeconfig)},
		harness.Replacement{Old: "http://127.0.0.1:9443", New: verbsURL}); err != nil {
		return "", err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := string(raw)
	if m.percentage != "" {
		if text, err = withPercentage(text, m.percentage); err != nil {
			return "", fmt.Errorf("%s: %w", shipped, err)
		}
	}
	if m.extender == "" {
		before, _, ok := strings.Cut(text, "\nextenders:\n")
		if !ok {
			return "", fmt.Errorf("%s has no extenders to leave out", shipped)
		}
		text = before + "\n"
	}
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// fgpuConfig is the shipped file, or a copy that is changed as the mode wants it.
func (b *bench) fgpuConfig(m mode) (string, error) {
	shipped := b.treeOf(m).manifest("dedicated", "fgpu.yaml")
	if m.setting == nil {
		return shipped, nil
	}
	text, err := os.ReadFile(shipped)
	if err != nil {
		return "", err
	}
	file := filepath.Join(b.plane.Dir, "fgpu-"+b.treeOf(m).name+"-"+m.key+".yaml")
	return file, os.WriteFile(file, []byte(m.setting.in(string(text))), 0o600)
}

// cannot says why a mode cannot be measured with this fgpu; empty: it can.
func (b *bench) cannot(m mode) (string, error) {
	if m.setting == nil {
		return "", nil
	}
	file, err := b.fgpuConfig(m)
	if err != nil {
		return "", err
	}
	out, err := exec.Command(b.treeOf(m).binary, "check-config", file).CombinedOutput()
	if err == nil {
		return "", nil
	}
	if strings.Contains(string(out), "'"+m.setting.section+"'") || strings.Contains(string(out), "'"+m.setting.key+"'") {
		return "this fgpu does not know it: " + strings.TrimSpace(string(out)), nil
	}
	return "", fmt.Errorf("%s: check-config: %w: %s", m.Name, err, out)
}
