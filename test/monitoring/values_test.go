package monitoring

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// world is a series of every metric for every few values of its labels, as Prometheus would have them of one fgpu and two agents;
// gauges have this value, counters rise. It is written for promqltest.
func world(t *testing.T, gauge int) string {
	t.Helper()
	agents := []string{`instance="a1",node="n1",namespace="fgpu-node",pod="p1"`, `instance="a2",node="n2",namespace="fgpu-node",pod="p2"`}
	extender := []string{`instance="f",namespace="fgpu-system",pod="p0"`}
	var text strings.Builder
	for name, f := range catalogue(t) {
		targets := extender
		switch {
		case strings.HasPrefix(name, "fgpu_node_"):
			targets = agents
		case strings.HasPrefix(name, "process_"):
			targets = append(slices.Clone(extender), agents...)
		}
		if _, has := f.labels["gpu"]; has {
			delete(f.labels, "gpu") // each is of one node
			targets = []string{agents[0] + `,gpu="GPU-1"`, agents[0] + `,gpu="GPU-2"`, agents[1] + `,gpu="GPU-3"`}
		}
		for _, target := range targets {
			for _, own := range combinations(f.labels) {
				writeSeries(&text, name, f.kind, join(own, target), gauge)
			}
		}
	}
	return "load 1m\n" + text.String()
}

// combinations are all of some values of labels: those that the page names, or what it says of them, word by word.
func combinations(labels map[string]string) []string {
	all := []string{""}
	for name, says := range labels {
		var longer []string
		values := word.FindAllString(says, -1)
		if name == "version" || name == "revision" || name == "compiler" {
			values = values[:1] // a process has one
		}
		for _, value := range values[:min(len(values), 8)] {
			for _, before := range all {
				longer = append(longer, join(before, fmt.Sprintf("%s=%q", name, value)))
			}
		}
		all = longer
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// join appends those labels of a target that a series does not have itself.
func join(own, target string) string {
	for pair := range strings.SplitSeq(target, ",") {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(own, name+"=") && !strings.Contains(own, ","+name+"=") {
			own = strings.Trim(own+","+pair, ",")
		}
	}
	return own
}

func writeSeries(text *strings.Builder, name, kind, labels string, gauge int) {
	switch kind {
	case "gauge":
		fmt.Fprintf(text, "  %s{%s} %dx70\n", name, labels, gauge)
	case "counter":
		fmt.Fprintf(text, "  %s{%s} 0+1x70\n", name, labels)
	case "histogram":
		for _, le := range []string{"0.01", "10", "+Inf"} {
			fmt.Fprintf(text, "  %s_bucket{%s,le=%q} 0+1x70\n", name, strings.TrimPrefix(labels, ","), le)
		}
	}
}

// Every query of every panel has a result in such a world, in one where gauges are 0 or in one where they are 1, and its lines can be told
// apart by the legend.
func TestEveryPanelShowsSomethingAndItsLegendTellsLinesApart(t *testing.T) {
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	shown := map[string]bool{}
	for gauge := range 2 {
		storage := promqltest.LoadedStorage(t, world(t, gauge))
		for _, file := range dashboards {
			for _, p := range load(t, file).Panels {
				for _, target := range p.Targets {
					expression := strings.NewReplacer("$__rate_interval", "5m", "$node", ".*").Replace(target.Expr)
					query, err := engine.NewInstantQuery(context.Background(), storage, nil, expression, time.Unix(3900, 0))
					if err != nil {
						t.Fatal(err)
					}
					vector, err := query.Exec(context.Background()).Vector()
					query.Close()
					if err != nil {
						t.Errorf("%s, %q: %v\nin %s", file, p.Title, err, target.Expr)
					}
					for _, said := range sameLegend(vector, target.LegendFormat) {
						t.Errorf("%s, %q: %s\nin %s", file, p.Title, said, target.Expr)
					}
					key := file + ", " + p.Title + ": " + target.Expr
					shown[key] = shown[key] || len(vector) > 0
				}
			}
		}
	}
	for key, is := range shown {
		if !is {
			t.Errorf("nothing is shown: %s", key)
		}
	}
	if len(shown) < 60 {
		t.Errorf("only %d queries", len(shown))
	}
}

func sameLegend(vector promql.Vector, format string) (found []string) {
	lines := map[string]bool{}
	for _, sample := range vector {
		line := legend.ReplaceAllStringFunc(format, func(name string) string {
			value := sample.Metric.Get(strings.Trim(name, "{}"))
			if value == "" {
				found = append(found, fmt.Sprintf("the legend %q names what %s does not have", format, sample.Metric))
			}
			return value
		})
		if lines[line] {
			return append(found, fmt.Sprintf("two lines are called %q", line))
		}
		lines[line] = true
	}
	return found
}
