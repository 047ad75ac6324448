package e2e

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// installWith is install, with an fgpu of its own whose shipped configuration has `more` in front of its resources.
func (c *cluster) installWith(f form, more string) {
	c.Helper()
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest(f.folder, "fgpu.yaml"), config,
		harness.Replacement{Old: "resources:\n", New: more + "resources:\n"}))
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, config, kubeconfig); err != nil {
		c.Fatal(err)
	}
	c.startScheduler(f)
}

func TestMetaGPURequestsSpanGPUs(t *testing.T) {
	c := newCluster(t, gpuNode("span", 4, gib80, "cnvrg.io/metagpu=400"))
	c.install(light)
	c.create(pod("wide", "cnvrg.io/metagpu=250"))
	wide := c.devices(c.bound("wide"))["main"]
	c.create(pod("half", "cnvrg.io/metagpu=50"))
	half := c.devices(c.bound("half"))["main"]
	if len(wide) != 3 || len(half) != 1 || !slices.Contains(wide, half[0]) {
		t.Errorf("250 units are on %v and 50 on %v, expected the half beside the rest of the wide one", wide, half)
	}
	c.create(pod("one-and-more", "cnvrg.io/metagpu=101"))
	c.refused("one-and-more") // there are 100 units, on one GPU
	c.create(pod("last", "cnvrg.io/metagpu=100"))
	c.bound("last")
	c.sound()
}

const sizes = `sizes:
  small:
    milli: 250
    memory: 4Gi
    variants:
    - {namespaces: ["sizes*"], milli: 500, memory: 40Gi}
  elsewhere: {count: 1, namespaces: [somewhere]}
`

func TestSizesAreThoseOfTheNamespace(t *testing.T) {
	s := checker.Default()
	s.Sizes = map[string]checker.Size{"small": {Milli: 500, MemMiB: 40960}} // as in the namespace of this test
	c := newClusterWith(t, s, gpuNode("sizes", 1, gib80))
	c.installWith(annotationsOnly, sizes)
	c.create(annotated(pod("a"), "fgpu.io/size=small"), annotated(pod("b"), "fgpu.io/size=small"))
	c.allBound(2)
	c.create(annotated(pod("c"), "fgpu.io/size=small"))
	c.refused("c")
	c.create(annotated(pod("d"), "fgpu.io/size=elsewhere"))
	if why := c.refused("d"); !strings.Contains(why, "keeps for other namespaces") {
		t.Errorf("refused with %q", why)
	}
	held := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		for _, uuid := range c.devices(c.bound(name))["main"] {
			held[uuid] = true
		}
	}
	if !maps.Equal(held, map[string]bool{"GPU-sizes-0": true}) {
		t.Errorf("held: %v", held)
	}
	c.sound()
}
