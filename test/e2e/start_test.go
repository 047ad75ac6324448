package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// runObject is what stands in the ConfigMap fgpu-run.
func (c *cluster) runObject() map[string]string {
	c.Helper()
	o, err := plane.Client.CoreV1().ConfigMaps("fgpu-system").Get(c.ctx, "fgpu-run", metav1.GetOptions{})
	c.must(o, err)
	return o.Data
}

// makeRunObject puts the object there as the manifests make it, in place of the one that is there.
func (c *cluster) makeRunObject() {
	c.Helper()
	objects := plane.Client.CoreV1().ConfigMaps("fgpu-system")
	if err := objects.Delete(c.ctx, "fgpu-run", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		c.must(nil, err)
	}
	c.must(nil, plane.Apply(c.ctx, manifest("dedicated", "rbac.yaml")))
}

// startReason is what /state says of the start.
func (c *cluster) startReason() (holdOff, reason string) {
	c.Helper()
	body, err := c.fgpu.Ops(c.ctx, "/state?fields=summary")
	c.must(body, err)
	var s struct {
		Metadata struct {
			Start struct{ HoldOff, Reason string }
		}
	}
	c.must(nil, json.Unmarshal(body, &s))
	return s.Metadata.Start.HoldOff, s.Metadata.Start.Reason
}

// An orderly end needs no hold-off, a kill does, and so does whatever is not certain (decision 0091); on a real API server, with its
// preconditions of a patch, and with the rights that are shipped.
func TestStartWithoutHoldOff(t *testing.T) {
	c := newCluster(t, gpuNode("starts", 1, gib80))
	c.aloneFgpu()
	c.makeRunObject()

	const holdOff = 2 * time.Second
	shipped, err := os.ReadFile(manifest("dedicated", "fgpu.yaml"))
	c.must(shipped, err)
	config := filepath.Join(plane.Dir, c.name+".config.yaml")
	c.must(nil, os.WriteFile(config, append(shipped, []byte("\nclientConnection: {holdOff: 2s}\n")...), 0o600))
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	c.fgpu, err = plane.NewFgpu(binary, c.name, config, kubeconfig)
	c.must(c.fgpu, err)

	n := 0
	// starts runs fgpu until a pod is bound, one that waits already unless `fresh`.
	starts := func(wantHoldOff, wantReason string, fresh bool) {
		c.Helper()
		n++
		p := pod(fmt.Sprintf("pod-%d", n), "fgpu.io/gpu-milli=100")
		if !fresh {
			c.create(p)
		}
		begin := time.Now()
		c.must(nil, c.fgpu.Start(c.ctx))
		ready := time.Since(begin)
		if c.scheduler == nil {
			c.startScheduler(dedicated)
		}
		if fresh {
			c.create(p)
		}
		c.bound(p.Name)
		say("  %s: ready after %d ms, bound after %d ms", wantReason, ready.Milliseconds(), time.Since(begin).Milliseconds())
		if h, r := c.startReason(); h != wantHoldOff || r != wantReason {
			c.Fatalf("the start says %s, %s, not %s, %s", h, r, wantHoldOff, wantReason)
		}
		if wantHoldOff == "held" && ready < holdOff {
			c.Fatalf("ready after %s, within the hold-off", ready)
		}
		if s := c.runObject()["state"]; s != "running" {
			c.Fatalf("the run object says %q", s)
		}
	}
	stops := func() {
		c.Helper()
		c.stopped(c.fgpu)
		if s := c.runObject()["state"]; s != "ended" {
			c.Fatalf("after an orderly end the run object says %q", s)
		}
	}
	edits := func(name, patch string) {
		c.Helper()
		_, err := plane.Client.CoreV1().ConfigMaps("fgpu-system").Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		c.must(nil, err)
	}

	starts("none", "none", true)
	stops()
	starts("none", "ended", false)
	edits("fgpu-run", `{"metadata":{"labels":{"admin":"was-here"}}}`) // another revision: our own claim all the same
	stops()
	c.must(nil, plane.Apply(c.ctx, manifest("dedicated", "rbac.yaml")))
	starts("none", "ended", false)
	c.fgpu.Kill()
	starts("held", "running", false)
	c.stopped(c.fgpu)
	if s := c.runObject()["state"]; s != "running" {
		c.Fatalf("seconds after it took the object over from one that may have lived, it says %q", s)
	}
	c.makeRunObject() // and pods have records
	starts("held", "traces", false)
	stops()
	_, err = plane.Client.StorageV1().CSIStorageCapacities("fgpu-system").Patch(c.ctx, "fgpu-wake", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"fgpu.io/room-at-ms":"1"}}}`), metav1.PatchOptions{})
	c.must(nil, err) // as an older version does, which leaves "ended" there
	starts("held", "unaware", false)
	stops()
	c.must(nil, plane.Client.CoreV1().ConfigMaps("fgpu-system").Delete(c.ctx, "fgpu-run", metav1.DeleteOptions{}))
	n++
	c.create(pod(fmt.Sprintf("pod-%d", n), "fgpu.io/gpu-milli=100"))
	c.must(nil, c.fgpu.Start(c.ctx))
	if h, r := c.startReason(); h != "held" || r != "noRunObject" {
		c.Fatalf("without the object the start says %s, %s", h, r)
	}
	c.bound(fmt.Sprintf("pod-%d", n))
	c.makeRunObject()
	c.sound()
}
