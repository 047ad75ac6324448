package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// installWith is install, with an fgpu of its own whose shipped configuration has `more` in front of its resources.
func (c *cluster) installWith(f form, more string) {
	c.Helper()
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest(f.folder, "fgpu.yaml"), config,
		harness.Replacement{Old: "resources:\n", New: more + "resources:\n"}))
	c.installFile(f, config)
}

// installResources is the same with other resources, and whatever follows, in place of the shipped ones.
func (c *cluster) installResources(f form, resources string) {
	c.Helper()
	shipped, err := os.ReadFile(manifest(f.folder, "fgpu.yaml"))
	c.must(shipped, err)
	head, _, found := strings.Cut(string(shipped), "resources:\n")
	if !found {
		c.Fatal("the shipped configuration has no resources")
	}
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	head = strings.NewReplacer("127.0.0.1:9443", "127.0.0.1:0", "127.0.0.1:9442", "127.0.0.1:0").Replace(head)
	c.must(nil, os.WriteFile(config, []byte(head+resources), 0o600))
	c.installFile(f, config)
}

func (c *cluster) installFile(f form, config string, edits ...harness.Replacement) {
	c.Helper()
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, config, kubeconfig); err != nil {
		c.Fatal(err)
	}
	c.startScheduler(f, edits...)
}

func TestMetaGPURequestsSpanGPUs(t *testing.T) {
	c := newCluster(t, gpuNode("span", 4, gib80, "cnvrg.io/metagpu=400"))
	c.ownFgpu(dedicated) // which has learned from no other pods what to expect
	c.startScheduler(dedicated)
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

// Where plugins publish the units, kubelet picks: the edits of manifests/vgpu.md and manifests/metagpu.md. fgpu counts, names no
// device, and kube-scheduler counts what the plugins publish.
func TestUnitsThatPluginsPublishAreCountedAndLeftToKubelet(t *testing.T) {
	const vgpu, metagpu = "nvidia.com/vgpu", "cnvrg.io/metagpu"
	s := checker.Default()
	s.Plugin = append(s.Plugin, vgpu, metagpu)
	delete(s.Compute, vgpu)
	delete(s.Compute, metagpu)
	c := newClusterWith(t, s, plainNode("sold-vgpu", vgpu+"=2000"), plainNode("sold-metagpu", metagpu+"=200"), gpuNode("not-sold", 1, gib80))
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest("dedicated", "fgpu.yaml"), config,
		harness.Replacement{Old: "{name: nvidia.com/vgpu, unitsPerGPU: 1000}", New: "{name: nvidia.com/vgpu, unitsPerGPU: 1000, picks: kubelet}"},
		harness.Replacement{Old: "{name: cnvrg.io/metagpu, unitsPerGPU: 100, aboveOneGPU: span}",
			New: "{name: cnvrg.io/metagpu, unitsPerGPU: 100, picks: kubelet}"}))
	c.installFile(dedicated, config, harness.Replacement{Old: "      - nvidia.com/vgpu\n"}, harness.Replacement{Old: "      - cnvrg.io/metagpu\n"})
	for _, x := range []struct{ name, resource, fits, more, node string }{
		{"vgpu", vgpu, "1500", "501", "sold-vgpu"}, {"metagpu", metagpu, "150", "51", "sold-metagpu"},
	} {
		c.create(pod(x.name, x.resource+"="+x.fits))
		p := c.bound(x.name)
		if _, told := p.Annotations["fgpu.io/visible-devices.c0"]; p.Spec.NodeName != x.node || told || len(c.devices(p)) > 0 {
			t.Errorf("%s is on %s with annotations %v, but kubelet picks", x.name, p.Spec.NodeName, p.Annotations)
		}
		c.create(pod(x.name+"-more", x.resource+"="+x.more))
		c.refusedFor(x.name+"-more", "Insufficient "+x.resource)
	}
	c.create(pod("share", "fgpu.io/gpu-milli=300"))
	if p := c.bound("share"); p.Spec.NodeName != "not-sold" {
		t.Errorf("share is on %s, where kubelet picks", p.Spec.NodeName)
	}
}

// Without a plugin nobody publishes the units, and fgpu picks: as shipped.
func TestUnitsThatNobodyPublishesAreSharesThatFgpuPicks(t *testing.T) {
	c := newCluster(t, gpuNode("unpublished", 2, gib80))
	c.install(dedicated)
	c.create(pod("vgpu", "nvidia.com/vgpu=700"), pod("metagpu", "cnvrg.io/metagpu=70"))
	for _, name := range []string{"vgpu", "metagpu"} {
		p := c.bound(name)
		if got := c.devices(p)["main"]; len(got) != 1 || p.Annotations["fgpu.io/visible-devices.c0"] != got[0] {
			t.Errorf("%s has %v and sees %q", name, got, p.Annotations["fgpu.io/visible-devices.c0"])
		}
	}
	c.create(pod("wide", "cnvrg.io/metagpu=101"))
	c.refusedFor("wide", "too few empty GPUs")
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
	c.installWith(dedicated, sizes)
	c.create(annotated(pod("a"), "fgpu.io/size=small"), pod("b", "fgpu.io/size.small=1"))
	c.allBound(2)
	c.create(annotated(pod("c"), "fgpu.io/size=small"), pod("c-limit", "fgpu.io/size.small=1"))
	c.refused("c")
	c.refused("c-limit")
	c.create(annotated(pod("d"), "fgpu.io/size=elsewhere"), pod("d-limit", "fgpu.io/size.elsewhere=1"),
		pod("unknown", "fgpu.io/size.smal=1"), pod("two", "fgpu.io/size.small=2"),
		annotated(pod("twice", "fgpu.io/size.small=1"), "fgpu.io/size=small"))
	c.refusedFor("d", "other namespaces")
	c.refusedFor("d-limit", "other namespaces")
	c.refusedFor("unknown", "names no size")
	c.refusedFor("two", "resource is 1")
	c.refusedFor("twice", "requested twice")
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

// sharedNode is what NVIDIA's plugin with replicas and GPU Feature Discovery make of a node with GPUs of 24 GB.
func sharedNode(name string, gpus, replicas int, resource, strategy string) *corev1.Node {
	n := plainNode(name, fmt.Sprintf("%s=%d", resource, gpus*replicas))
	n.Labels["nvidia.com/gpu.count"] = fmt.Sprint(gpus)
	n.Labels["nvidia.com/gpu.memory"] = "24576"
	n.Labels["nvidia.com/gpu.replicas"] = fmt.Sprint(replicas)
	n.Labels["nvidia.com/gpu.sharing-strategy"] = strategy
	n.Labels["nvidia.com/gpu.product"] = "NVIDIA-A10"
	if resource == "nvidia.com/gpu" {
		n.Labels["nvidia.com/gpu.product"] += "-SHARED"
	}
	return n
}

func TestReplicasOfAPluginAreCountedAndLeftToKubelet(t *testing.T) {
	c := newCluster(t, sharedNode("renamed", 1, 20, "nvidia.com/gpu.shared", "time-slicing"),
		sharedNode("plain-name", 1, 4, "nvidia.com/gpu", "time-slicing"))
	c.install(dedicated)
	for _, n := range []int{4, 10, 6} {
		c.create(pod(fmt.Sprintf("slices-%d", n), fmt.Sprintf("nvidia.com/gpu.shared=%d", n)))
		p := c.bound(fmt.Sprintf("slices-%d", n))
		if p.Spec.NodeName != "renamed" || p.Annotations["fgpu.io/visible-devices.c0"] != "" {
			t.Errorf("%d slices are on %s, told to use %q", n, p.Spec.NodeName, p.Annotations["fgpu.io/visible-devices.c0"])
		}
	}
	c.create(pod("one-more", "nvidia.com/gpu.shared=1"))
	c.refused("one-more") // by kube-scheduler itself, from allocatable
	for i := range 4 {
		c.create(pod(fmt.Sprintf("gpu-%d", i), "nvidia.com/gpu=1"))
		if p := c.bound(fmt.Sprintf("gpu-%d", i)); p.Spec.NodeName != "plain-name" {
			t.Errorf("a pod for nvidia.com/gpu is on %s", p.Spec.NodeName)
		}
	}
	c.create(pod("share", "fgpu.io/gpu-milli=100"))
	c.refusedFor("share", "whole GPUs")
	c.sound()
}

func TestSlicesThatFgpuPlacesAreRealShares(t *testing.T) {
	s := checker.Default()
	s.Plugin = s.Plugin[:1]
	s.Compute = map[corev1.ResourceName]int64{"nvidia.com/gpu.shared": 20}
	s.MaxSharers = 20
	c := newClusterWith(t, s, gpuNode("slices", 2, 24576, "nvidia.com/gpu.shared=40"))
	c.installResources(dedicated, `resources:
  compute:
  - {name: nvidia.com/gpu.shared, unitsPerGPU: 20}
  whole: [nvidia.com/gpu]
devices: {maxSharers: 20}
packing: {nodeStrategy: binpack, deviceStrategy: binpack}
`)
	held := map[string]bool{}
	for _, x := range []struct {
		slices int
		memory string
	}{{4, "0=4915M"}, {10, "0=12288M"}, {6, "0=7372M"}} {
		name := fmt.Sprintf("slices-%d", x.slices)
		c.create(pod(name, fmt.Sprintf("nvidia.com/gpu.shared=%d", x.slices)))
		p := c.bound(name)
		held[strings.Join(c.devices(p)["main"], ",")] = true
		if got := p.Annotations["fgpu.io/mps-pinned-device-mem-limit.c0"]; got != x.memory {
			t.Errorf("%s may take %q, expected %q", name, got, x.memory)
		}
		if got := p.Annotations["fgpu.io/mps-active-thread-percentage.c0"]; got != fmt.Sprint(5*x.slices) {
			t.Errorf("%s may use %s %% of the threads", name, got)
		}
	}
	if len(held) != 1 {
		t.Errorf("4, 10 and 6 of 20 slices are on %v, expected one full GPU", held)
	}
	c.create(pod("too-many", "nvidia.com/gpu.shared=21"))
	c.refused("too-many")
	c.sound()
}

// Two models on one L40S, which has 48 GB, and no third beside them: memory alone decides, compute is for all.
func TestTwoModelsShareAnL40SByMemory(t *testing.T) {
	s := checker.Default()
	s.MemoryOnlyFree, s.ReserveMiB, s.MaxSharers = true, 512, 3
	c := newClusterWith(t, s, gpuNode("l40s", 1, 46068))
	c.installWith(dedicated, "devices: {memoryOnly: free, memoryReserve: 512Mi, maxSharers: 3}\n")
	c.create(annotated(pod("llama-8b"), "fgpu.io/gpu-memory=22Gi"), annotated(pod("mistral-7b"), "fgpu.io/gpu-memory=20Gi"))
	for name, limit := range map[string]string{"llama-8b": "0=22528M", "mistral-7b": "0=20480M"} {
		p := c.bound(name)
		if got := p.Annotations["fgpu.io/mps-pinned-device-mem-limit.c0"]; got != limit {
			t.Errorf("%s may take %q, expected %q", name, got, limit)
		}
		if got := p.Annotations["fgpu.io/mps-active-thread-percentage.c0"]; got != "100" {
			t.Errorf("%s may use %s %% of the threads, expected all", name, got)
		}
	}
	// 46068 - 512 - 22528 - 20480 = 2548: the reserve is nobody's.
	c.create(annotated(pod("third"), "fgpu.io/gpu-memory=2549Mi"))
	c.refusedFor("third", "free memory")
	c.create(annotated(pod("small"), "fgpu.io/gpu-memory=1Gi"))
	c.bound("small")
	c.create(annotated(pod("fourth"), "fgpu.io/gpu-memory=1Gi"))
	c.refusedFor("fourth", "sharers")
	c.sound()
}
