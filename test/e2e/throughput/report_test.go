package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestASpreadIsMedianLeastAndMost(t *testing.T) {
	if got := spreadOf([]float64{3, 1, 2}); got != (spread{1, 2, 3}) {
		t.Errorf("odd: %v", got)
	}
	if got := spreadOf([]float64{4, 1, 2, 9}); got != (spread{1, 3, 9}) {
		t.Errorf("even: %v", got)
	}
}

// A machine that was twice as busy in the second round makes no difference to the ratio.
func TestModesAreComparedInTheSameRound(t *testing.T) {
	none := result{Rounds: []sample{{PodsPerS: 200}, {PodsPerS: 100}}}
	fgpu := result{Rounds: []sample{{PodsPerS: 180}, {PodsPerS: 90}}}
	if got := fgpu.against(&none, podsPerS); got != (spread{90, 90, 90}) {
		t.Errorf("%v", got)
	}
}

func TestNodesAreCountedForTheFirstPods(t *testing.T) {
	at := time.Now()
	bound := []binding{{at, "pod-00000", "a"}, {at, "pod-00001", "a"}, {at, "pod-00002", "b"}, {at, "pod-00003", "c"}}
	if opened(bound, 3) != 2 || opened(bound, 250) != 3 {
		t.Errorf("%d and %d", opened(bound, 3), opened(bound, 250))
	}
}

func TestTheWaitIsThatOfThePodsThatAreNeverPlanned(t *testing.T) {
	began := time.Now()
	bound := []binding{{began.Add(9 * time.Second), "pod-00000", "a"}, {began.Add(time.Second), "pod-00001", "a"}, {began.Add(4 * time.Second), "pod-00003", "b"}}
	if got := unplannedS(bound, began, 2); got != 2.5 {
		t.Errorf("%v", got)
	}
	if got := unplannedS(bound, began, 0); got != 0 {
		t.Errorf("without -unplanned: %v", got)
	}
}

func TestAPercentageReplacesWhateverIsShipped(t *testing.T) {
	for _, was := range []string{"100", "0", "50  # half"} {
		got, err := withPercentage("a: 1\npercentageOfNodesToScore: "+was+"\nb: 2\n", "7")
		if want := "a: 1\npercentageOfNodesToScore: 7\nb: 2\n"; err != nil || got != want {
			t.Errorf("%s: %q, %v", was, got, err)
		}
	}
	if _, err := withPercentage("a: 1\n", "7"); err == nil {
		t.Error("a file without the line was taken")
	}
	shipped, err := os.ReadFile("../../../manifests/dedicated/scheduler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := withPercentage(string(shipped), "0"); err != nil {
		t.Error(err)
	}
}

func TestASettingReplacesItsLine(t *testing.T) {
	for before, want := range map[string]string{
		"a: 1\n":                       "a: 1\n\npacking:\n  candidates: 1\n",
		"a: 1\npacking:\n  hold: 3s\n": "a: 1\npacking:\n  candidates: 1\n  hold: 3s\n",
		"a: 1\npacking:\n  candidates: 100 # x\n  hold: 3s":  "a: 1\npacking:\n  candidates: 1\n  hold: 3s",
		"\npacking:\n  candidates: 7\nb:\n  candidates: 9\n": "\npacking:\n  candidates: 1\nb:\n  candidates: 9\n",
	} {
		if got := candidates("1").in(before); got != want {
			t.Errorf("%q became %q", before, got)
		}
	}
}

func TestModesAreChosenByKey(t *testing.T) {
	got, err := chosen("fgpu,none")
	if err != nil || len(got) != 2 || got[0].key != "fgpu" || got[1].key != "none" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := chosen("fgpu,fgpux"); err == nil || !strings.Contains(err.Error(), "none-all") {
		t.Errorf("a name that is none: %v", err)
	}
}

func TestPlanningAheadLeavesOneCandidate(t *testing.T) {
	shipped, err := os.ReadFile(filepath.Join("..", "..", "..", "manifests", "dedicated", "fgpu.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"plan", "plan-all"} {
		m, err := chosen(key)
		if err != nil {
			t.Fatal(err)
		}
		text := m[0].setting.in(string(shipped))
		if !strings.Contains(text, "\n  candidates: 1") || !strings.Contains(text, "\nplanAhead:\n  enabled: true\n") {
			t.Errorf("%s: %s", key, text)
		}
	}
}

func TestEveryRoundHasEachModeOnceAndAnotherOrder(t *testing.T) {
	const n = 4
	orders := map[[n]int]bool{}
	for round := range n {
		var order [n]int
		seen := map[int]bool{}
		for k := range n {
			order[k] = inTurn(k, round, n)
			seen[order[k]] = true
		}
		if len(seen) != n {
			t.Errorf("round %d: %v", round, order)
		}
		orders[order] = true
	}
	if len(orders) != n {
		t.Errorf("%v", orders)
	}
}

// A collection of memory in one round is in the mean, and not in the middle of the differences.
func TestPricesAreComparedInTheSameRound(t *testing.T) {
	prices := make([][]float64, len(forms))
	record := slices.IndexFunc(forms, func(f form) bool { return f.name == "the record" })
	for i := range prices {
		prices[i] = []float64{700, 900, 800}
	}
	prices[record] = []float64{800, 1000, 3000}
	got := priceTable(prices)
	if want := "\n| the record | 1000 (800 to 3000) | 1600 | JSON | 100 |\n"; !strings.Contains(got, want) {
		t.Errorf("%s is not in %s", want, got)
	}
	for _, f := range forms {
		if f.against != "" && !slices.ContainsFunc(forms, func(o form) bool { return o.name == f.against }) {
			t.Errorf("%s is compared with %q, which is none", f.name, f.against)
		}
	}
}
