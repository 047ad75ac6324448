package nri

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func numberOf(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// ofProcess is a field of /proc/PID/status, "5120 kB".
func (n *node) ofProcess(field string) string {
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(n.cmd.Process.Pid), "status"))
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, field+":"); found {
			return strings.TrimSpace(value)
		}
	}
	n.t.Fatalf("no %s in /proc/PID/status", field)
	return ""
}

// nanoseconds of the processor that the agent's threads have used, but for the one that waits in the scripted library, which
// polls where the driver's would sleep.
func (n *node) nanoseconds() int {
	threads, err := filepath.Glob(filepath.Join("/proc", fmt.Sprint(n.cmd.Process.Pid), "task", "*"))
	if err != nil || len(threads) == 0 {
		n.t.Fatalf("no threads: %v", err)
	}
	sum := 0
	for _, thread := range threads {
		name, _ := os.ReadFile(filepath.Join(thread, "comm"))
		text, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		if err != nil {
			n.t.Fatal(err)
		}
		if used, _ := strconv.Atoi(strings.Fields(string(text))[0]); strings.TrimSpace(string(name)) != "gpu-health" {
			sum += used
		}
	}
	return sum
}

// It demands that all go right, and says how long they took and what the agent costs; how fast is for people to judge:
//
//	FGPU_NRI_ROUNDS=5000 FGPU_NRI_IDLE_SECONDS=60 scripts/nri dev -run TestHowLong -v
func TestHowLongAContainerTakes(t *testing.T) {
	began := time.Now()
	n := newNode(t)
	t.Logf("asked after %v, the runtime's start included", time.Since(began).Round(time.Millisecond))
	var with, without []time.Duration
	for i := range numberOf(t, "FGPU_NRI_ROUNDS", 100) {
		of, name := n.granted(fmt.Sprint("pod-", i), 100, 0), "main"
		start := time.Now()
		o := n.create(of, name)
		with = append(with, time.Since(start))
		equal(t, "with a GPU", n.visible(o), "GPU-a")
		if i >= 8 { // eight stay
			n.stop(of, o.id)
		}
		start = time.Now()
		o = n.create(of, "sidecar")
		without = append(without, time.Since(start))
		equal(t, "without", n.visible(o), "void")
	}
	for what, times := range map[string][]time.Duration{"with a signed record": with, "without a GPU": without} {
		slices.Sort(times)
		t.Logf("CreateContainer %s, %d times: p50 %v, p99 %v, longest %v", what, len(times), times[len(times)/2],
			times[len(times)*99/100], times[len(times)-1])
	}
	t.Logf("RSS %s, of it anonymous %s, threads %s", n.ofProcess("VmRSS"), n.ofProcess("RssAnon"), n.ofProcess("Threads"))
	if seconds := numberOf(t, "FGPU_NRI_IDLE_SECONDS", 0); seconds > 0 {
		before := n.nanoseconds()
		time.Sleep(time.Duration(seconds) * time.Second)
		t.Logf("idle for %d s: %.1f ms of CPU", seconds, float64(n.nanoseconds()-before)/1e6)
	}
}
