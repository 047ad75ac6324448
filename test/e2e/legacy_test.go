//go:build legacy

// The kube-scheduler of Kubernetes 1.22, whose configurations no newer one reads: scripts/test-minors 1.22
package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// The newest API server serves CSIStorageCapacity in another version than 1.22 asks for. Port 0: none without TLS, where no file
// says otherwise.
var flagsOf122 = []string{"--feature-gates=CSIStorageCapacity=false", "--port=0"}

func (c *cluster) schedulerOf122(flags ...string) {
	plane.SchedulerFlags = append(flagsOf122, flags...)
	c.Cleanup(func() { plane.SchedulerFlags = nil })
}

func (c *cluster) servesPodsOf122() {
	c.Helper()
	c.create(pod("share", "fgpu.io/gpu-milli=400"), pod("units", "nvidia.com/vgpu=300"), pod("plain"))
	for _, name := range []string{"share", "units"} {
		if p := c.bound(name); p.Annotations[checker.AssignmentKey] == "" {
			c.Errorf("%s is bound without an assignment", name)
		}
	}
	c.bound("plain")
	c.create(pod("more", "fgpu.io/gpu-milli=400"))
	c.refused("more")
	c.sound()
}

// policyOf122 is the shipped Policy, after fgpu has started.
func (c *cluster) policyOf122() string {
	c.Helper()
	c.ownFgpu(besideDefault)
	c.schedulerName = "default-scheduler"
	policy := filepath.Join(plane.Dir, c.name+".policy.json")
	replacements := []harness.Replacement{{Old: "https://127.0.0.1:9443", New: c.fgpu.VerbsURL}}
	for _, name := range []string{"ca.crt", "scheduler.crt", "scheduler.key"} {
		replacements = append(replacements, harness.Replacement{Old: "/etc/kubernetes/fgpu/" + name, New: filepath.Join(c.certificateDir, name)})
	}
	c.must(nil, harness.Adapt(manifest("legacy", "policy.json"), policy, replacements...))
	return policy
}

func TestKubeScheduler122ReadsThePolicyFileAlone(t *testing.T) {
	c := newCluster(t, gpuNode("policy", 1, gib80), plainNode("policy-none"))
	kubeconfig, err := plane.UserKubeconfig("system:kube-scheduler")
	c.must(kubeconfig, err)
	// The harness's --v=2 would end it: it cannot write its own default priorities into the log.
	c.schedulerOf122("--policy-config-file", c.policyOf122(), "--kubeconfig", kubeconfig, "--v=1")
	if c.scheduler, err = plane.StartScheduler(c.ctx, c.name, ""); err != nil {
		c.Fatal(err)
	}
	c.servesPodsOf122()
}

func TestKubeScheduler122ReadsThePolicyFileBesideAConfiguration(t *testing.T) {
	c := newCluster(t, gpuNode("beside", 1, gib80), plainNode("beside-none"))
	kubeconfig, err := plane.UserKubeconfig("system:kube-scheduler")
	c.must(kubeconfig, err)
	config := filepath.Join(plane.Dir, c.name+".scheduler.yaml")
	c.must(nil, harness.Adapt(manifest("legacy", "scheduler.yaml"), config,
		harness.Replacement{Old: "kubeconfig: /etc/kubernetes/scheduler.conf", New: fmt.Sprintf("kubeconfig: %q", kubeconfig)}))
	c.schedulerOf122("--policy-config-file", c.policyOf122())
	if c.scheduler, err = plane.StartScheduler(c.ctx, c.name, config); err != nil {
		c.Fatal(err)
	}
	c.servesPodsOf122()
}

// The edit of manifests/README.md.
func TestKubeScheduler122NeedsNoPolicyFile(t *testing.T) {
	c := newCluster(t, gpuNode("no-policy", 1, gib80), plainNode("no-policy-none"))
	c.ownFgpu(besideDefault)
	c.schedulerOf122()
	c.startScheduler(besideDefault, harness.Replacement{Old: "kubescheduler.config.k8s.io/v1\n",
		New: "kubescheduler.config.k8s.io/v1beta1\nhealthzBindAddress: 127.0.0.1:10251\nmetricsBindAddress: 127.0.0.1:10251\n"})
	c.servesPodsOf122()
}
