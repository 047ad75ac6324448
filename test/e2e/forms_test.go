package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
)

var createOptions = metav1.CreateOptions{}

func serviceAccount(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// totals are what the form "advertised" wants in allocatable for so many GPUs of 80 GiB.
func totals(gpus int) []string {
	return []string{fmt.Sprintf("fgpu.io/gpu-milli=%d", 1000*gpus),
		fmt.Sprintf("fgpu.io/gpu-memory-mib=%d", gib80*gpus), fmt.Sprintf("fgpu.io/gpu-count=%d", gpus)}
}

// What the pages say a user may write, each with the recommended installation as shipped. Sizes and the annotations of Run:ai
// are configuration, which the shipped file cannot have.
func TestTheDedicatedFormServesEveryWayOfAsking(t *testing.T) {
	s := checker.Default()
	s.KAI = true
	s.Sizes = map[string]checker.Size{"small": {Milli: 250, MemMiB: 4096}}
	// Created in the order of a map, no order of these opens more than 7 GPUs before "whole" comes.
	c := newClusterWith(t, s, gpuNode("ways", 8, gib80), migNode("ways-mig", "1g.5gb@0 3g.20gb@4"), plainNode("ways-plugin", "nvidia.com/gpu=2"),
		plainNode("ways-none"))
	c.installWith(dedicated, "dialects: {kai: serve}\nsizes: {small: {milli: 250, memory: 4Gi}}\n")
	ways := map[string]*corev1.Pod{
		"fraction":         annotated(pod("fraction"), "fgpu.io/gpu-fraction=0.5"),
		"memory":           annotated(pod("memory"), "fgpu.io/gpu-memory=40Gi"),
		"count":            annotated(pod("count"), "fgpu.io/gpu-count=2", "fgpu.io/gpu-fraction=0.2"),
		"size":             annotated(pod("size"), "fgpu.io/size=small"),
		"size-limit":       pod("size-limit", "fgpu.io/size.small=1"),
		"profile":          annotated(pod("profile"), "fgpu.io/mig-profile=1g.5gb"),
		"runai-fraction":   annotated(pod("runai-fraction"), "gpu-fraction=0.5"),
		"runai-memory":     annotated(pod("runai-memory"), "gpu-memory=4096"),
		"milli":            pod("milli", "fgpu.io/gpu-milli=300"),
		"milli-and-memory": pod("milli-and-memory", "fgpu.io/gpu-milli=100", "fgpu.io/gpu-memory-mib=4096"),
		"memory-mib":       pod("memory-mib", "fgpu.io/gpu-memory-mib=30720"),
		"whole":            pod("whole", "fgpu.io/gpu-count=1"),
		"vgpu":             pod("vgpu", "nvidia.com/vgpu=300"),
		"metagpu":          pod("metagpu", "cnvrg.io/metagpu=30"),
	}
	for name, p := range ways {
		c.create(p)
		where := "ways"
		if name == "profile" {
			where = "ways-mig"
		}
		got := c.bound(name)
		if got.Spec.NodeName != where || got.Annotations["fgpu.io/visible-devices.c0"] == "" {
			t.Errorf("%s is on %s and sees %q", name, got.Spec.NodeName, got.Annotations["fgpu.io/visible-devices.c0"])
		}
	}
	c.create(pod("plugin", "nvidia.com/gpu=1"))
	if got := c.bound("plugin"); got.Spec.NodeName != "ways-plugin" || got.Annotations["fgpu.io/visible-devices.c0"] != "" {
		t.Errorf("plugin is on %s, told to use %q", got.Spec.NodeName, got.Annotations["fgpu.io/visible-devices.c0"])
	}
	// Pods without GPUs, on every kind of node.
	for i, node := range []string{"ways", "ways-mig", "ways-plugin", "ways-none"} {
		p := pod(fmt.Sprintf("plain-%d", i))
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		c.create(p)
		if got := c.bound(p.Name); got.Spec.NodeName != node || len(got.Annotations) > 0 {
			t.Errorf("%s is on %s with annotations %v", p.Name, got.Spec.NodeName, got.Annotations)
		}
	}
	c.create(pod("slip", "fgpu.io/gpu-mili=100"))
	c.refusedFor("slip", "container resource fgpu.io/gpu-milli") // and not by kube-scheduler, which would only lack it
	c.sound()
}

// Elsewhere a request by annotation does not reach fgpu: kube-scheduler would bind the pod to any node, without a GPU.
func TestARequestByAnnotationAtASchedulerThatDoesNotAskIsRefusedOnCreate(t *testing.T) {
	c := newCluster(t, gpuNode("unseen", 1, gib80), plainNode("unseen-none"))
	c.install(besideDefault)
	for _, key := range []string{"fgpu.io/gpu-fraction=0.5", "fgpu.io/gpu-memory=4Gi", "fgpu.io/gpu-count=1", "fgpu.io/size=small",
		"fgpu.io/mig-profile=1g.5gb"} {
		name, _, _ := strings.Cut(key, "=")
		_, err := plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, annotated(pod("asks"), key), createOptions)
		for _, words := range []string{name, "default-scheduler", "fgpu.io/gpu-milli: 300", "schedulerName: fgpu-scheduler"} {
			c.denied(key, err, words)
		}
	}
	// Limits, constraints beside them, pods for another scheduler and pods without GPUs go their way.
	c.create(annotated(pod("share", "fgpu.io/gpu-milli=400"), "fgpu.io/gpu-model=*A100*"), annotated(pod("plain"), "other=1"))
	c.bound("share")
	c.bound("plain")
	elsewhere := annotated(pod("elsewhere"), "fgpu.io/gpu-fraction=0.5")
	elsewhere.Spec.SchedulerName = "fgpu-scheduler"
	c.must(plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, elsewhere, dryRun))
	// Nor can the annotation be added while the pod waits.
	late := pod("late", "fgpu.io/gpu-milli=900")
	c.create(late)
	c.refused("late")
	c.denied("late", c.annotate("late", "fgpu.io/gpu-fraction", `"0.5"`), "does not ask fgpu")
	c.denied("late by pods/status", c.annotate("late", "fgpu.io/gpu-fraction", `"0.5"`, "status"), "does not ask fgpu")
	c.must(nil, c.annotate("late", "other", `"1"`))
	c.sound()
}

func TestTheLightFormServesPodsAndLeavesOthersAlone(t *testing.T) {
	c := newCluster(t, gpuNode("light", 2, gib80), plainNode("light-plain"))
	c.install(besideDefault)
	c.create(pod("share", "fgpu.io/gpu-milli=400"), pod("units", "nvidia.com/vgpu=300"), pod("metagpu", "cnvrg.io/metagpu=30"), pod("plain"))
	for _, name := range []string{"share", "units", "metagpu"} {
		if p := c.bound(name); p.Spec.NodeName != "light" || p.Annotations[checker.AssignmentKey] == "" {
			t.Errorf("%s is on %s with assignment %q", name, p.Spec.NodeName, p.Annotations[checker.AssignmentKey])
		}
	}
	if p := c.bound("plain"); p.Annotations[checker.AssignmentKey] != "" {
		t.Errorf("a pod without GPU got assignment %q", p.Annotations[checker.AssignmentKey])
	}
	c.create(pod("slip", "fgpu.io/gpu-mili=100"))
	c.refusedFor("slip", "Insufficient fgpu.io/gpu-mili") // fgpu is not asked
	c.sound()
}

func TestTheAdvertisedFormLetsKubeSchedulerPruneAndPreempt(t *testing.T) {
	c := newCluster(t, gpuNode("advertised", 1, gib80, totals(1)...))
	c.install(advertised)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Value: 1000}
	c.must(plane.Client.SchedulingV1().PriorityClasses().Create(c.ctx, class, createOptions))
	defer func() {
		c.must(nil, plane.Client.SchedulingV1().PriorityClasses().Delete(c.ctx, class.Name, metav1.DeleteOptions{}))
	}()
	c.create(pod("low", "fgpu.io/gpu-milli=700"))
	c.bound("low")
	c.create(pod("equal", "fgpu.io/gpu-milli=500"))
	c.refusedFor("equal", "Insufficient fgpu.io/gpu-milli")
	c.must(nil, c.remove("equal"))
	high := pod("high", "fgpu.io/gpu-milli=600")
	high.Spec.PriorityClassName = class.Name
	c.create(high)
	c.eventually("low is asked to go", func() (bool, string) {
		p := c.recorder.Pod("low")
		return p == nil || p.DeletionTimestamp != nil, condition(c.recorder.Pod("high"))
	})
	if p := c.recorder.Pod("high"); p.Spec.NodeName != "" {
		t.Errorf("high was bound before low was gone")
	}
	c.must(nil, c.remove("low")) // as the kubelet does when the containers have ended
	c.bound("high")
	c.sound()
}

func TestPreemptionEvictsWhoeverHoldsTheGPUThatIsNeeded(t *testing.T) {
	c := newCluster(t, gpuNode("preempted", 2, gib80, totals(2)...))
	c.install(advertised)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Value: 1000}
	c.must(plane.Client.SchedulingV1().PriorityClasses().Create(c.ctx, class, createOptions))
	defer func() {
		c.must(nil, plane.Client.SchedulingV1().PriorityClasses().Delete(c.ctx, class.Name, metav1.DeleteOptions{}))
	}()
	// Two pods on each GPU; 700 of 2000 milli are free. kube-scheduler's sums say that one of them is enough.
	low := []string{"a", "b", "c", "d"}
	for i, milli := range []string{"400", "400", "250", "250"} {
		pinned := annotated(pod(low[i], "fgpu.io/gpu-milli="+milli), fmt.Sprintf("fgpu.io/gpu-uuid=GPU-preempted-%d", i/2))
		c.create(pinned)
		c.bound(low[i])
	}
	high := pod("high", "fgpu.io/gpu-milli=1000")
	high.Spec.PriorityClassName = class.Name
	c.create(high)
	var leaving []string
	c.eventually("both pods of one GPU are asked to go", func() (bool, string) {
		leaving = leaving[:0]
		for _, name := range low {
			if p := c.recorder.Pod(name); p == nil || p.DeletionTimestamp != nil {
				leaving = append(leaving, name)
			}
		}
		return len(leaving) >= 2, fmt.Sprint(leaving)
	})
	if got := strings.Join(leaving, ""); got != "ab" && got != "cd" {
		t.Errorf("%v are evicted, expected the two pods of one GPU", leaving)
	}
	for _, name := range leaving {
		c.must(nil, c.remove(name))
	}
	c.bound("high")
	c.sound()
}

func TestTheAdvertisedFormStillLooksAtSingleGPUs(t *testing.T) {
	c := newCluster(t, gpuNode("totals", 2, gib80, totals(2)...))
	c.install(advertised)
	share := func(name, milli string) *corev1.Pod {
		return pod(name, "fgpu.io/gpu-milli="+milli, "fgpu.io/gpu-memory-mib=1024")
	}
	c.create(share("a", "600"), share("b", "600"))
	c.allBound(2)
	// 800 of 2000 milli are free, 400 on each GPU.
	c.create(share("between", "500"))
	c.refusedFor("between", "free compute")
	c.sound()
}

func TestPodsWithoutAnyResourceShareGPUsAndOthersGoBesideThem(t *testing.T) {
	c := newCluster(t, gpuNode("annotations", 2, gib80))
	c.install(dedicated)
	c.create(annotated(pod("share"), "fgpu.io/gpu-fraction=0.3", "fgpu.io/gpu-memory=4Gi"))
	c.create(annotated(pod("memory"), "fgpu.io/gpu-memory=40Gi"))
	c.create(annotated(pod("pair"), "fgpu.io/gpu-count=2", "fgpu.io/gpu-fraction=0.1"))
	c.bound("pair") // before the others, which may be bound first and fill one of the two GPUs
	second := annotated(pod("named"), "fgpu.io/gpu-fraction=0.2", "fgpu.io/container=worker")
	second.Spec.Containers = append(second.Spec.Containers, container("worker"))
	c.create(second, pod("resource", "fgpu.io/gpu-milli=100"), pod("plain"))
	for _, name := range []string{"share", "memory", "pair", "named", "resource"} {
		if p := c.bound(name); p.Annotations[checker.AssignmentKey] == "" {
			t.Errorf("%s has no assignment", name)
		}
	}
	if got := c.devices(c.bound("named")); len(got["worker"]) != 1 || len(got["main"]) != 0 {
		t.Errorf("devices of the named container: %v", got)
	}
	if p := c.bound("plain"); p.Annotations[checker.AssignmentKey] != "" {
		t.Errorf("a pod without GPU got assignment %q", p.Annotations[checker.AssignmentKey])
	}
	c.create(annotated(pod("too-much"), "fgpu.io/gpu-fraction=0.9"))
	c.refused("too-much")
	c.sound()
}

// Under hostNetwork every process of the host reaches the loopback.
func TestItem17BesideTheControlPlaneOnlyTheSchedulersCertificateMayCallBind(t *testing.T) {
	c := newCluster(t, gpuNode("host-process", 1, gib80))
	c.useFgpu(besideDefault)
	c.create(pod("wanted", "fgpu.io/gpu-milli=400"))
	ca, err := os.ReadFile(filepath.Join(c.certificateDir, "ca.crt"))
	c.must(ca, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	body := fmt.Sprintf(`{"PodName":"wanted","PodNamespace":%q,"PodUID":"","Node":"host-process"}`, c.namespace)
	for name, url := range map[string]string{
		"plain HTTP":          strings.Replace(c.fgpu.VerbsURL, "https:", "http:", 1),
		"without certificate": c.fgpu.VerbsURL,
	} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
		if r, err := client.Post(url+"/v1/bind", "application/json", strings.NewReader(body)); err == nil {
			_ = r.Body.Close()
			t.Errorf("%s: answered with %s", name, r.Status)
		}
	}
	if p := c.recorder.Pod("wanted"); p != nil && p.Spec.NodeName != "" {
		t.Errorf("the pod was bound to %s", p.Spec.NodeName)
	}
	c.sound()
}

func TestItem16ATypingErrorIsRefusedWithWhatWasMeant(t *testing.T) {
	c := newCluster(t, gpuNode("typing", 1, gib80))
	c.install(dedicated)
	c.create(annotated(pod("fraction"), "fgpu.io/gpu-fractoin=0.5"), annotated(pod("unit"), "fgpu.io/gpu-memory=4096"),
		pod("resource", "fgpu.io/gpu-mili=100"))
	for name, meant := range map[string]string{
		"fraction": "annotation fgpu.io/gpu-fraction", "unit": "4096Mi", "resource": "container resource fgpu.io/gpu-milli",
	} {
		c.refusedFor(name, meant)
	}
	c.sound()
}

// What kube-scheduler lets through is not refused by bind.
func TestItem17APodThatToleratesTheTaintsOfItsNodeIsBound(t *testing.T) {
	node := gpuNode("tainted", 1, gib80)
	node.Spec.Unschedulable = true
	node.Spec.Taints = []corev1.Taint{
		{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
		{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute},
		{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	c := newCluster(t, node)
	c.install(dedicated)
	seconds := int64(3600)
	p := pod("tolerant", "fgpu.io/gpu-milli=400")
	p.Spec.Tolerations = []corev1.Toleration{
		{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists},
		{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
	}
	c.create(p, pod("other", "fgpu.io/gpu-milli=400"))
	c.bound("tolerant")
	c.refused("other")
	c.sound()
}
