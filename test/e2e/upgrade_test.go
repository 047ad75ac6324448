package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// versionOf is the second word of `fgpu version`.
func (c *cluster) versionOf(path string) string {
	c.Helper()
	out, err := exec.Command(path, "version").Output()
	c.must(out, err)
	return strings.Fields(string(out))[1]
}

// otherVersion is another fgpu, with its own shipped configuration: that of the tree FGPU_OTHER, which scripts/check-upgrade builds of
// another commit; without it a copy of the one under test that calls itself by another version. What a change of formats does is
// test/integration/test_upgrade.py.
func (c *cluster) otherVersion() *harness.Fgpu {
	c.Helper()
	tree := os.Getenv("FGPU_OTHER")
	path := filepath.Join(tree, "build", "release", "fgpu")
	if tree == "" {
		tree, path = root, filepath.Join(c.TempDir(), "fgpu")
		old := []byte(c.versionOf(binary))
		text, err := os.ReadFile(binary)
		c.must(text, err)
		renamed := bytes.Clone(old)
		renamed[len(renamed)-1] = '9'
		if !bytes.Contains(text, old) || bytes.Equal(renamed, old) {
			c.Fatalf("%s does not contain its version %q, or ends in 9", binary, old)
		}
		c.must(nil, os.WriteFile(path, bytes.ReplaceAll(text, old, renamed), 0o755))
	}
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	other, err := plane.NewFgpu(path, c.name+".other", filepath.Join(tree, "manifests", "dedicated", "fgpu.yaml"), kubeconfig)
	c.must(other, err)
	help, err := exec.Command(path, "serve", "--help").CombinedOutput()
	c.must(help, err)
	const metrics = "--metrics-address" // not of the oldest
	if i := slices.Index(other.Args, metrics); i >= 0 && !bytes.Contains(help, []byte(metrics)) {
		other.Args = slices.Delete(other.Args, i, i+2)
	}
	return other
}

// rolled replaces fgpu and its kube-scheduler as the Deployment does with strategy Recreate: the whole pod ends before the next begins.
func (c *cluster) rolled(next *harness.Fgpu) {
	c.Helper()
	version := c.versionOf(next.Path)
	say("  %d bound so far; now %s", c.recorder.Bound(), version)
	done := make(chan error, 1)
	go func() { done <- c.scheduler.Stop() }() // both containers are told at once
	c.stopped(c.fgpu)
	c.must(nil, <-done)
	c.fgpu = next
	c.must(nil, c.fgpu.Start(c.ctx))
	c.startScheduler(dedicated)
	body, err := c.fgpu.Ops(c.ctx, "/version")
	c.must(body, err)
	var says struct{ GitVersion string }
	c.must(nil, json.Unmarshal(body, &says))
	if says.GitVersion != version {
		c.Errorf("/version says %q, not %q", says.GitVersion, version)
	}
}

// records of all bound pods by name: with their node and uid.
func (c *cluster) records() map[string]string {
	c.Helper()
	_, pods := c.report()
	found := map[string]string{}
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			found[p.Name] = string(p.UID) + " " + p.Spec.NodeName + " " + p.Annotations[checker.AssignmentKey]
		}
	}
	return found
}

// Up and down while pods are being bound, and up once more while pods run and wait. The recorder judges every state that the API server
// goes through: no GPU is over-committed, no record changes after its binding.
func TestUpgradeAndRollbackWithPodsRunningAndPendingLoseAndDoubleNothing(t *testing.T) {
	c := newCluster(t, tenNodes("upgraded")...)
	other := c.otherVersion()
	c.ownFgpu(dedicated)
	first := c.fgpu
	pods := eighths()
	c.create(pods...)
	c.startScheduler(dedicated)
	for i, next := range []*harness.Fgpu{other, first} {
		at := 60 + 120*i + dice.Intn(40)
		c.eventually("some are bound", func() (bool, string) { return c.recorder.Bound() >= at, fmt.Sprintf("%d are", c.recorder.Bound()) })
		c.rolled(next)
		if n := c.recorder.Bound(); n == len(pods) {
			say("  all were bound by then: nothing was under way") // a quick machine; no failure
		}
	}
	c.allBound(len(pods))
	c.sound()

	node := pod("node", "fgpu.io/gpu-count=4")
	never := pod("never", "fgpu.io/gpu-count=5")
	c.create(node, never)
	c.refused(node.Name)
	c.refused(never.Name)
	before := c.records()
	c.rolled(other)
	c.sound()
	if after := c.records(); len(after) != len(pods) || len(before) != len(pods) {
		t.Errorf("%d records before the upgrade, %d after it, expected %d", len(before), len(after), len(pods))
	} else {
		for name, record := range before {
			if after[name] != record {
				t.Errorf("%s: %s before the upgrade, %s after it", name, record, after[name])
			}
		}
	}
	// Who waited is still waited for: there is room when those of one node end.
	victim := c.bound(pods[0].Name).Spec.NodeName
	for _, p := range c.onNode(victim) {
		c.must(nil, c.remove(p.Name))
	}
	if at := c.bound(node.Name).Spec.NodeName; at != victim {
		t.Errorf("%s is bound to %s, expected %s, the only empty node", node.Name, at, victim)
	}
	c.refused(never.Name)
	c.sound()
}

func (c *cluster) onNode(name string) []*corev1.Pod {
	c.Helper()
	_, pods := c.report()
	var here []*corev1.Pod
	for _, p := range pods {
		if p.Spec.NodeName == name {
			here = append(here, p)
		}
	}
	return here
}
