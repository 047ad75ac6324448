package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// tenNodes have 40 GPUs together.
func tenNodes(name string) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range 10 {
		nodes = append(nodes, gpuNode(fmt.Sprintf("%s-%d", name, i), 4, gib80))
	}
	return nodes
}

// eighths are 300 pods of an eighth of a GPU: 37.5 of 40 GPUs, so every double or lost charge shows.
func eighths() []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range 300 {
		pods = append(pods, pod(fmt.Sprintf("eighth-%03d", i), "fgpu.io/gpu-milli=125", "fgpu.io/gpu-memory-mib=10240"))
	}
	return pods
}

func TestABurstOf300PodsOnTenNodesNeverOverCommits(t *testing.T) {
	c := newCluster(t, tenNodes("burst")...)
	c.useFgpu(dedicated)
	// About one and a half times what there is, in every kind of request.
	var pods []*corev1.Pod
	for i := range 300 {
		name := fmt.Sprintf("p-%03d", i)
		switch i % 10 {
		case 0:
			pods = append(pods, pod(name, "fgpu.io/gpu-milli=500"))
		case 1:
			pods = append(pods, pod(name, "fgpu.io/gpu-milli=250", "fgpu.io/gpu-memory-mib=30720"))
		case 2:
			pods = append(pods, pod(name, "fgpu.io/gpu-memory-mib=20480"))
		case 3:
			pods = append(pods, pod(name, "fgpu.io/gpu-count=2", "fgpu.io/gpu-milli=125"))
		case 4:
			pods = append(pods, annotated(pod(name, "fgpu.io/gpu-milli=250"), "fgpu.io/gpu-model=*A100*"))
		case 5:
			if i%20 == 5 {
				pods = append(pods, pod(name, "fgpu.io/gpu-count=1"))
			} else {
				pods = append(pods, pod(name, "fgpu.io/gpu-milli=375"))
			}
		default:
			pods = append(pods, pod(name, "fgpu.io/gpu-milli=125", "fgpu.io/gpu-memory-mib=5120"))
		}
	}
	c.create(pods...)
	say("  300 pods wait, kube-scheduler starts")
	c.startScheduler(dedicated)
	c.eventually("no waiting pod would fit anywhere", func() (bool, string) {
		report, all := c.report()
		bound, waiting, fitting := 0, 0, ""
		for _, p := range all {
			if p.Spec.NodeName != "" {
				bound++
				continue
			}
			waiting++
			fits, err := report.Fits(p)
			if err != nil {
				t.Fatal(err)
			}
			if fits {
				fitting = p.Name
			}
		}
		return fitting == "" && bound > 0, fmt.Sprintf("%d bound, %d wait, %s would fit", bound, waiting, fitting)
	})
	c.sound()
}

// atMoments runs a burst of eighths and calls disturb when so many of them are bound, at random moments.
func (c *cluster) atMoments(times int, disturb func(moment int)) {
	c.Helper()
	pods := eighths()
	c.create(pods...)
	c.startScheduler(dedicated)
	for i := range times {
		// One moment in each part of the burst.
		part := len(pods) / (times + 1)
		at := part*i + part/4 + dice.Intn(part)
		c.eventually(fmt.Sprintf("%d pods are bound", at), func() (bool, string) {
			b := c.recorder.Bound()
			return b >= at, fmt.Sprintf("%d are", b)
		})
		disturb(c.recorder.Bound())
	}
	c.allBound(len(pods))
	c.sound()
	if c.scheduler.Restarts.Load() > 0 {
		say("  kube-scheduler ended %d times by itself and was started again", c.scheduler.Restarts.Load())
	}
}

func TestKillingFgpuDuringABurstLosesAndDoublesNothing(t *testing.T) {
	c := newCluster(t, tenNodes("killed")...)
	c.ownFgpu(dedicated)
	c.atMoments(3, func(moment int) {
		c.fgpu.Kill()
		say("  kill -9 after %d bindings", moment)
		c.must(nil, c.fgpu.Start(c.ctx))
	})
}

func TestRestartingFgpuDuringABurstLosesAndDoublesNothing(t *testing.T) {
	c := newCluster(t, tenNodes("restarted")...)
	c.ownFgpu(dedicated)
	c.atMoments(3, func(moment int) {
		c.stopped(c.fgpu)
		say("  restart after %d bindings", moment)
		c.must(nil, c.fgpu.Start(c.ctx))
	})
}

func TestRestartingTheAPIServerDuringABurstLosesAndDoublesNothing(t *testing.T) {
	c := newCluster(t, tenNodes("apiserver")...)
	c.ownFgpu(dedicated)
	pid := c.fgpu.Pid()
	c.atMoments(1, func(moment int) {
		say("  kill -9 of kube-apiserver after %d bindings", moment)
		c.must(nil, plane.RestartAPI(c.ctx, time.Second))
		say("  kube-apiserver serves again")
	})
	if c.fgpu.Pid() != pid || !c.fgpu.Running() {
		t.Errorf("fgpu did not live through the absence of the API server")
	}
}

func TestFgpuStartedAnewKnowsEveryAllocation(t *testing.T) {
	c := newCluster(t, gpuNode("anew", 2, gib80))
	c.ownFgpu(dedicated)
	c.startScheduler(dedicated)
	c.create(pod("most", "fgpu.io/gpu-milli=900"), pod("whole", "fgpu.io/gpu-count=1"))
	c.allBound(2)
	c.fgpu.Kill()
	c.must(nil, c.fgpu.Start(c.ctx))
	c.create(pod("too-much", "fgpu.io/gpu-milli=200"))
	c.refused("too-much")
	c.create(pod("rest", "fgpu.io/gpu-milli=100"))
	c.bound("rest")
	c.sound()
}

func TestFgpuServesOnlyAfterItKnowsTheCluster(t *testing.T) {
	// Without rights it never gets to know it: not ready, and filter answers with an error instead of guessing.
	c := newCluster(t, gpuNode("unknown", 1, gib80))
	c.must(plane.Client.CoreV1().ServiceAccounts(c.namespace).Create(c.ctx, serviceAccount("nobody"), createOptions))
	kubeconfig, err := plane.Kubeconfig(c.ctx, c.namespace, "nobody")
	c.must(kubeconfig, err)
	f, err := plane.NewFgpu(binary, c.name, manifest("dedicated", "fgpu.yaml"), kubeconfig)
	c.must(f, err)
	c.must(nil, f.Launch())
	defer f.Kill()
	c.eventually("filter answers with an error", func() (bool, string) {
		reply, err := harness.Filter(c.ctx, f.VerbsURL, pod("any", "fgpu.io/gpu-milli=100"), "unknown")
		if err != nil {
			return false, err.Error()
		}
		if reply.NodeNames != nil && len(*reply.NodeNames) > 0 {
			t.Fatalf("filter offers %v", *reply.NodeNames)
		}
		return reply.Error != "", fmt.Sprintf("%+v", reply)
	})
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Second)
	defer cancel()
	if err := f.Ready(ctx); err == nil {
		t.Errorf("/readyz says ok without a single successful list")
	}
}
