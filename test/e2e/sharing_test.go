package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"fgpu.io/fgpu/test/e2e/checker"
)

const gib80 = 81920

func TestAFractionalPodGetsItsNodeAndItsAssignmentInOneWatchEvent(t *testing.T) {
	c := newCluster(t, gpuNode("one-event", 2, gib80))
	c.install(dedicated)
	list, err := plane.Client.CoreV1().Pods(c.namespace).List(c.ctx, metav1.ListOptions{})
	c.must(list, err)
	w, err := plane.Client.CoreV1().Pods(c.namespace).Watch(c.ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	c.must(w, err)
	defer w.Stop()
	c.create(pod("third", "fgpu.io/gpu-milli=300", "fgpu.io/gpu-memory-mib=4096"))
	c.bound("third")

	for event := range w.ResultChan() {
		p, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type == watch.Deleted {
			t.Fatalf("unexpected event %s %v", event.Type, event.Object)
		}
		text, has := p.Annotations[checker.AssignmentKey]
		if p.Spec.NodeName == "" {
			if has {
				t.Fatalf("assignment %q before there is a node", text)
			}
			continue
		}
		// The first event with a node.
		if !has {
			t.Fatalf("event at %s has node %s and no assignment", p.ResourceVersion, p.Spec.NodeName)
		}
		if got := c.devices(p)["main"]; len(got) != 1 || p.Annotations["fgpu.io/visible-devices.c0"] != got[0] {
			t.Errorf("assignment says %v, visible-devices says %q", got, p.Annotations["fgpu.io/visible-devices.c0"])
		}
		break
	}
	c.sound()
}

func TestTwoHalvesShareAGPUAndSixHundredMilliGoElsewhere(t *testing.T) {
	c := newCluster(t, gpuNode("halves", 2, gib80))
	c.ownFgpu(dedicated) // which has learned from no other pods what to expect
	c.startScheduler(dedicated)
	c.create(pod("half-a", "fgpu.io/gpu-milli=500"))
	a := c.devices(c.bound("half-a"))["main"]
	c.create(pod("half-b", "fgpu.io/gpu-milli=500"))
	b := c.devices(c.bound("half-b"))["main"]
	c.create(pod("six-hundred", "fgpu.io/gpu-milli=600"))
	s := c.devices(c.bound("six-hundred"))["main"]
	if !slices.Equal(a, b) {
		t.Errorf("the halves are on %v and %v, expected one GPU", a, b)
	}
	if slices.Equal(a, s) {
		t.Errorf("600 milli are on %v beside two halves", s)
	}
	c.sound()
}

func TestAMemoryOnlyPodTakesTheSameShareOfCompute(t *testing.T) {
	c := newCluster(t, gpuNode("memory-only", 1, gib80))
	c.install(dedicated)
	c.create(pod("quarter", "fgpu.io/gpu-memory-mib=20480"))
	c.bound("quarter")
	// 750 milli are left: the next but one does not fit.
	c.create(pod("most", "fgpu.io/gpu-milli=750", "fgpu.io/gpu-memory-mib=1024"))
	c.bound("most")
	c.create(pod("too-much", "fgpu.io/gpu-memory-mib=4096"))
	c.refusedFor("too-much", "compute")
	c.sound()
}

func TestATwoDevicePodGetsTwoDifferentGPUs(t *testing.T) {
	c := newCluster(t, gpuNode("two-devices", 3, gib80))
	c.install(dedicated)
	c.create(pod("pair", "fgpu.io/gpu-count=2", "fgpu.io/gpu-milli=700"))
	got := c.devices(c.bound("pair"))["main"]
	if len(got) != 2 || got[0] == got[1] {
		t.Errorf("devices %v, expected two different ones", got)
	}
	c.create(pod("second-pair", "fgpu.io/gpu-count=2", "fgpu.io/gpu-milli=700"))
	c.refusedFor("second-pair", "GPUs")
	c.sound()
}

func TestAPodHoldsThePeakOverTheContainersThatRunTogether(t *testing.T) {
	c := newCluster(t, gpuNode("phases", 2, gib80))
	c.install(dedicated)
	always := corev1.ContainerRestartPolicyAlways
	p := pod("phases", "fgpu.io/gpu-milli=200")
	sidecar := container("sidecar", "fgpu.io/gpu-milli=100")
	sidecar.RestartPolicy = &always
	p.Spec.InitContainers = []corev1.Container{container("early", "fgpu.io/gpu-milli=800"), sidecar, container("late", "fgpu.io/gpu-milli=900")}
	p.Spec.Containers = append(p.Spec.Containers, container("second", "fgpu.io/gpu-milli=300"))
	c.create(p)
	got := c.devices(c.bound("phases"))
	if len(got) != 5 {
		t.Errorf("assignment names %v, expected five containers", got)
	}
	c.sound() // the checker adds up the phases by itself
}

func TestAThousandUnitsOfVGPUMakeOneGPU(t *testing.T) {
	// No inventory annotation: the device plugin's total is all that is known. 2000 units are two GPUs.
	c := newCluster(t, plainNode("vgpu", "nvidia.com/vgpu=2000"))
	c.install(dedicated)
	for i := range 6 {
		c.create(pod(fmt.Sprintf("three-hundred-%d", i), "nvidia.com/vgpu=300"))
		c.bound(fmt.Sprintf("three-hundred-%d", i))
	}
	// 200 units are left on the node, but 100 on each GPU.
	c.create(pod("seventh", "nvidia.com/vgpu=200"))
	c.refused("seventh")
	c.create(pod("eighth", "nvidia.com/vgpu=100"))
	c.bound("eighth")
	c.sound()
}

func TestAHundredUnitsOfMetaGPUMakeOneGPU(t *testing.T) {
	c := newCluster(t, gpuNode("metagpu", 2, gib80, "cnvrg.io/metagpu=200"))
	c.install(dedicated)
	c.create(pod("sixty", "cnvrg.io/metagpu=60"))
	a := c.devices(c.bound("sixty"))["main"]
	c.create(pod("forty", "cnvrg.io/metagpu=40"))
	b := c.devices(c.bound("forty"))["main"]
	if !slices.Equal(a, b) {
		t.Errorf("60 and 40 units are on %v and %v, expected one full GPU", a, b)
	}
	// Both vocabularies draw from the same GPUs.
	c.create(pod("native", "fgpu.io/gpu-milli=900"))
	c.bound("native")
	c.create(pod("eleven", "cnvrg.io/metagpu=11"))
	c.refused("eleven")
	c.create(pod("ten", "cnvrg.io/metagpu=10"))
	c.bound("ten")
	c.sound()
}

func TestWholeGPUsOfADevicePluginAndSharesExcludeEachOther(t *testing.T) {
	c := newCluster(t, gpuNode("mixed", 2, gib80, "nvidia.com/gpu=2"))
	c.install(dedicated)
	c.create(pod("whole", "nvidia.com/gpu=1"))
	if p := c.bound("whole"); len(p.Annotations["fgpu.io/visible-devices.c0"]) > 0 {
		t.Errorf("fgpu named device %q, but kubelet chooses it", p.Annotations["fgpu.io/visible-devices.c0"])
	}
	c.create(pod("share", "fgpu.io/gpu-milli=300"))
	c.refusedFor("share", "whole GPUs")
	c.must(nil, c.remove("whole"))
	c.bound("share")
	c.create(pod("whole-again", "nvidia.com/gpu=1"))
	c.refusedFor("whole-again", "shares")
	c.must(nil, c.remove("share"))
	c.bound("whole-again")
	c.sound()
}

func TestWholeGPUsOfADevicePluginFillANode(t *testing.T) {
	c := newCluster(t, plainNode("plugin", "nvidia.com/gpu=4"))
	c.install(dedicated)
	c.create(pod("three", "nvidia.com/gpu=3"))
	c.bound("three")
	c.create(pod("two", "nvidia.com/gpu=2"))
	c.refused("two")
	c.create(pod("one", "nvidia.com/gpu=1"))
	c.bound("one")
	c.sound()
}

func TestWholeNativeGPUsAreHeldAlone(t *testing.T) {
	c := newCluster(t, gpuNode("alone", 3, gib80))
	c.install(dedicated)
	c.create(pod("share", "fgpu.io/gpu-milli=100"))
	c.bound("share")
	c.create(pod("two-whole", "fgpu.io/gpu-milli=2000"))
	c.bound("two-whole")
	c.create(pod("third-whole", "fgpu.io/gpu-count=1"))
	c.refused("third-whole")
	c.sound()
}

func TestAPodWithAnImpossibleRequestIsRefusedAndOthersAreNot(t *testing.T) {
	c := newCluster(t, gpuNode("absurd", 2, gib80))
	c.install(dedicated)
	c.create(
		pod("fifteen-hundred", "fgpu.io/gpu-milli=1500"),
		pod("zero-devices", "fgpu.io/gpu-milli=1500", "fgpu.io/gpu-count=0"),
		pod("beyond-everything", "fgpu.io/gpu-memory-mib=4294967296"),
		annotated(pod("twice", "fgpu.io/gpu-milli=500"), "fgpu.io/gpu-fraction=0.5"),
		annotated(pod("nonsense", "fgpu.io/gpu-milli=0"), "fgpu.io/gpu-fraction=1e400"),
	)
	for _, name := range []string{"fifteen-hundred", "zero-devices", "beyond-everything", "twice", "nonsense"} {
		c.refusedFor(name, "GPU")
	}
	c.create(pod("ordinary", "fgpu.io/gpu-milli=500"))
	c.bound("ordinary")
	c.sound()
}

func TestAForgedAssignmentIsReplaced(t *testing.T) {
	c := newCluster(t, gpuNode("forged", 1, gib80))
	c.install(dedicated)
	forged := `{"v":1,"id":"mine","containers":[{"name":"main","init":false,"devices":[{"uuid":"GPU-forged-0","index":0,"milli":1,"memMib":1}]}]}`
	c.create(annotated(pod("forger", "fgpu.io/gpu-milli=700"), checker.AssignmentKey+"="+forged))
	p := c.bound("forger")
	var a struct{ ID string }
	c.must(nil, json.Unmarshal([]byte(p.Annotations[checker.AssignmentKey]), &a))
	if a.ID == "mine" {
		t.Errorf("the pod kept the assignment it brought along")
	}
	c.create(pod("next", "fgpu.io/gpu-milli=400"))
	c.refused("next")
	c.sound()
}

func TestADeletedPodFreesItsGPUOnlyWhenItIsGone(t *testing.T) {
	c := newCluster(t, gpuNode("frees", 1, gib80))
	c.install(dedicated)
	c.create(pod("first", "fgpu.io/gpu-milli=800"))
	c.bound("first")
	c.create(pod("second", "fgpu.io/gpu-milli=800"))
	c.refused("second")
	// A graceful deletion: the containers run on until the kubelet says otherwise.
	c.must(nil, plane.Client.CoreV1().Pods(c.namespace).Delete(c.ctx, "first", metav1.DeleteOptions{}))
	c.eventually("first is terminating in /state", func() (bool, string) {
		s, err := c.fgpu.State(c.ctx)
		if err != nil {
			return false, err.Error()
		}
		for _, n := range s.Nodes {
			for _, g := range n.GPUs {
				for _, a := range g.Allocations {
					if a.Pod == "first" {
						return a.State == "terminating" && g.Milli.Charged == 800, fmt.Sprintf("state %s, charged %d", a.State, g.Milli.Charged)
					}
				}
			}
		}
		return false, "it holds nothing"
	})
	if p := c.recorder.Pod("second"); p.Spec.NodeName != "" {
		t.Errorf("second was bound while first is terminating")
	}
	c.must(nil, c.remove("first"))
	c.bound("second")
	c.eventually("fgpu-wake was touched", func() (bool, string) {
		o, err := plane.Client.StorageV1().CSIStorageCapacities("fgpu-system").Get(c.ctx, "fgpu-wake", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return o.Annotations["fgpu.io/room-at-ms"] != "", fmt.Sprint(o.Annotations)
	})
	c.sound()
}

func TestAFinishedPodFreesItsGPU(t *testing.T) {
	c := newCluster(t, gpuNode("finished", 1, gib80))
	c.install(dedicated)
	c.create(pod("first", "fgpu.io/gpu-milli=800"))
	p := c.bound("first").DeepCopy()
	c.create(pod("second", "fgpu.io/gpu-milli=800"))
	c.refused("second")
	p.Status.Phase = corev1.PodSucceeded
	_, err := plane.Client.CoreV1().Pods(c.namespace).UpdateStatus(c.ctx, p, metav1.UpdateOptions{})
	c.must(nil, err)
	c.bound("second")
	c.sound()
}
