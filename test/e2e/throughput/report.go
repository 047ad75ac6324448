package main

import (
	"fmt"
	"slices"
	"strings"
)

type result struct {
	Mode   string   `json:"mode"`
	Counts bool     `json:"countsGPUs"` // who does not, packs without a limit: its nodes say nothing
	Rounds []sample `json:"rounds"`
	Median sample   `json:"median"` // of each number by itself
}

type size struct {
	Nodes   int      `json:"nodes"`
	Pods    int      `json:"pods"`
	Results []result `json:"results"`
}

// spread is the median with the least and the most.
type spread struct{ least, median, most float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{v[0], (v[(n-1)/2] + v[n/2]) / 2, v[n-1]}
}

func (r *result) spread(of func(sample) float64) spread {
	var v []float64
	for _, s := range r.Rounds {
		v = append(v, of(s))
	}
	return spreadOf(v)
}

func (r *result) summarize() {
	m := func(of func(sample) float64) float64 { return r.spread(of).median }
	r.Median = sample{m(load), m(podsPerS), m(schedulerMs), m(extenderMs), m(apiMs), m(nodes), m(unplanned),
		planned{m(made), m(used), m(withdrawn), m(changed)}}
}

func load(s sample) float64        { return s.Load }
func podsPerS(s sample) float64    { return s.PodsPerS }
func schedulerMs(s sample) float64 { return s.SchedulerMs }
func extenderMs(s sample) float64  { return s.ExtenderMs }
func apiMs(s sample) float64       { return s.APIMs }
func nodes(s sample) float64       { return s.Nodes }
func unplanned(s sample) float64   { return s.UnplannedS }
func made(s sample) float64        { return s.Planned.Made }
func used(s sample) float64        { return s.Planned.Used }
func withdrawn(s sample) float64   { return s.Planned.Withdrawn }
func changed(s sample) float64     { return s.Planned.Changed }

// without the API server, which is a machine of its own in a cluster.
func schedulingMs(s sample) float64 { return s.SchedulerMs + s.ExtenderMs }

// against is how a quantity of each round relates to that of another mode in the same round.
func (r *result) against(other *result, of func(sample) float64) spread {
	var v []float64
	for i := range min(len(r.Rounds), len(other.Rounds)) {
		v = append(v, 100*of(r.Rounds[i])/of(other.Rounds[i]))
	}
	return spreadOf(v)
}

func (s spread) text(format string) string {
	f := format + " (" + format + " to " + format + ")"
	return fmt.Sprintf(f, s.median, s.least, s.most)
}

// table has a row for each mode. The first mode is what the others are compared with, round by round.
func table(sizes []*size) string {
	var t strings.Builder
	t.WriteString("| nodes | pods | kube-scheduler with | pods/s | % of the first row, same round | CPU ms a pod: scheduler | extender | both, % of the first row | API server | nodes opened by 250 pods | load |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range sizes {
		first := &s.Results[0]
		for i := range s.Results {
			r := &s.Results[i]
			packed := "GPUs not counted"
			if r.Counts {
				packed = r.spread(nodes).text("%.0f")
			}
			fmt.Fprintf(&t, "| %d | %d | %s | %s | %s | %.2f | %.2f | %.0f | %.2f | %s | %.1f to %.1f |\n", s.Nodes, s.Pods, r.Mode,
				r.spread(podsPerS).text("%.0f"), r.against(first, podsPerS).text("%.0f"), r.Median.SchedulerMs, r.Median.ExtenderMs,
				r.against(first, schedulingMs).median, r.Median.APIMs, packed, r.spread(load).least, r.spread(load).most)
		}
	}
	for _, s := range sizes {
		if s.Results[0].Median.UnplannedS == 0 {
			continue
		}
		fmt.Fprintf(&t, "\nMean wait in s of the pods that are never planned, %d nodes, and %% of the first row in the same round:\n", s.Nodes)
		for i := range s.Results {
			r := &s.Results[i]
			fmt.Fprintf(&t, "- %s: %s; %s\n", r.Mode, r.spread(unplanned).text("%.2f"), r.against(&s.Results[0], unplanned).text("%.0f"))
		}
	}
	return t.String()
}
