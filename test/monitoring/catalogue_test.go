// Package monitoring judges what manifests/monitoring offers to Prometheus and Grafana: every expression of the dashboards and the
// alerts is parsed by Prometheus's own parser and may name only metrics, labels and values that manifests/metrics.md has (the
// integration tests prove that this page is what the programs say); every alert is driven to fire and not to fire by Prometheus's
// own engine; and every alert has its place in manifests/runbook.md.
package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

var manifests = filepath.Join("..", "..", "manifests")

func read(t *testing.T, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{manifests}, names...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// family is a row of manifests/metrics.md.
type family struct {
	kind   string            // counter, gauge or histogram
	labels map[string]string // what the page says of the values
}

// What Prometheus adds when it scrapes as manifests/README.md and the chart configure it. A container's own namespace and pod
// stay, because labels of the agents are honoured.
var targetLabels = []string{"instance", "node", "namespace", "pod"}

// Labels whose values are not listed on the page: HTTP statuses, resources of Kubernetes.
var openLabels = []string{"code", "resource"}

var labelCell = regexp.MustCompile("`([a-z_]+)`: ([^`]*)")

func catalogue(t *testing.T) map[string]family {
	t.Helper()
	found := map[string]family{}
	for line := range strings.Lines(read(t, "metrics.md")) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) != 5 {
			continue
		}
		kind, _, _ := strings.Cut(cells[1], ",")
		f := family{kind, map[string]string{}}
		for _, m := range labelCell.FindAllStringSubmatch(cells[2], -1) {
			f.labels[m[1]] = m[2]
		}
		found[strings.Trim(cells[0], "| `")] = f
	}
	if len(found) < 100 {
		t.Fatalf("only %d metrics in manifests/metrics.md: it is written in another way", len(found))
	}
	return found
}

func parse(expression string) (parser.Expr, error) {
	// What Grafana puts in: a duration, and a regular expression.
	expression = strings.ReplaceAll(expression, "$__rate_interval", "5m")
	return parser.NewParser(parser.Options{}).ParseExpr(expression)
}

// mistakes says what an expression names that does not exist, and functions that do not suit the metric.
func mistakes(all map[string]family, expression string) (found []string) {
	tree, err := parse(expression)
	if err != nil {
		return []string{err.Error()}
	}
	known := slices.Clone(targetLabels)
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	parser.Inspect(tree, func(node parser.Node, path []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			f, is := selected(all, s.Name)
			if !is {
				say("there is no metric %q", s.Name)
				return nil
			}
			for label := range f.labels {
				known = append(known, label)
			}
			for _, m := range s.LabelMatchers {
				if m.Name != labels.MetricName {
					if said := wrongMatcher(f, m); said != "" {
						say("%s: %s", s.Name, said)
					}
				}
			}
			if call := callOf(path); f.kind == "gauge" == (call == "rate" || call == "increase") {
				say("%s is a %s: %q does not suit it", s.Name, f.kind, call)
			}
		}
		return nil
	})
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		var named []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			named = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				named = append(slices.Clone(n.VectorMatching.MatchingLabels), n.VectorMatching.Include...)
			}
		}
		for _, label := range named {
			if !slices.Contains(known, label) {
				say("no metric of %q has a label %q", node, label)
			}
		}
		return nil
	})
	return found
}

// selected is the family of a series: a histogram has NAME_bucket, NAME_sum and NAME_count, and nothing under its own name.
func selected(all map[string]family, name string) (family, bool) {
	if f, is := all[name]; is {
		return f, f.kind != "histogram"
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, cut := strings.CutSuffix(name, suffix)
		if f, is := all[base]; cut && is && f.kind == "histogram" {
			labels := map[string]string{}
			for k, v := range f.labels {
				labels[k] = v
			}
			if suffix == "_bucket" {
				labels["le"] = ""
			}
			return family{"counter", labels}, true
		}
	}
	return family{}, false
}

var word = regexp.MustCompile(`[\w-]+`)

func wrongMatcher(f family, m *labels.Matcher) string {
	values, has := f.labels[m.Name]
	if !has {
		if slices.Contains(targetLabels, m.Name) {
			return ""
		}
		return fmt.Sprintf("no label %q", m.Name)
	}
	if slices.Contains(openLabels, m.Name) {
		return ""
	}
	for value := range strings.SplitSeq(m.Value, "|") {
		if !slices.Contains(word.FindAllString(values, -1), value) {
			return fmt.Sprintf("%s is never %q; it is: %s", m.Name, value, values)
		}
	}
	return ""
}

// callOf is the function around a selector, through the range if there is one; "" if there is none.
func callOf(path []parser.Node) string {
	for i := len(path) - 1; i >= 0; i-- {
		switch n := path[i].(type) {
		case *parser.Call:
			return n.Func.Name
		case *parser.MatrixSelector, *parser.ParenExpr, parser.Expressions:
		default:
			return ""
		}
	}
	return ""
}

func TestMistakesOfExpressionsAreFound(t *testing.T) {
	all := catalogue(t)
	for expression, want := range map[string]string{
		`sum(fgpu_incidents)`: "",
		`sum by (node) (rate(fgpu_node_usage_looks_total{result="failed",node=~"$node"}[$__rate_interval]))`:         "",
		`histogram_quantile(0.9, sum by (le, verb) (rate(fgpu_request_duration_seconds_bucket{verb="filter"}[5m])))`: "",
		`max by (tenant) (fgpu_tenant_milli{kind="limit"})`:                                                          "",
		`sum(fgpu_api_requests_total{code="403"})`:                                                                   `"" does not suit`,
		`sum(fgpu_incident)`:                                                    `no metric "fgpu_incident"`,
		`sum(fgpu_request_duration_seconds)`:                                    "no metric",
		`sum by (kinds) (fgpu_incidents)`:                                       `no metric of`,
		`fgpu_incidents{kinds="double_booking"}`:                                `no label "kinds"`,
		`fgpu_incidents{kind="double"}`:                                         `kind is never "double"`,
		`fgpu_incidents{kind=~"double_booking|foreign"}`:                        `kind is never "foreign"`,
		`rate(fgpu_incidents[5m])`:                                              `"rate" does not suit`,
		`fgpu_gpu_milli * on (gpu) fgpu_idle_milli`:                             `label "gpu"`,
		`sum(fgpu_incidents`:                                                    "parse error",
		`sum(rate(fgpu_node_usage_looks_total{result="failed",nodes="a"}[5m]))`: `no label "nodes"`,
		`sum by (instance) (fgpu_node_gpu_held_milli / on (node, gpu) fgpu_node_gpu_memory_bytes)`: "",
	} {
		got := strings.Join(mistakes(all, expression), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, expected %q", expression, got, want)
		}
	}
}
