package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func limits(pairs ...string) corev1.ResourceRequirements {
	l := corev1.ResourceList{}
	for _, pair := range pairs {
		name, quantity, _ := strings.Cut(pair, "=")
		l[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return corev1.ResourceRequirements{Limits: l, Requests: l}
}

func pod(name string, requests ...string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name, p.UID = "ns", name, "uid-"+"x"
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: limits(requests...)}}
	return p
}

func with(p *corev1.Pod, pairs ...string) *corev1.Pod {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		p.Annotations[key] = value
	}
	return p
}

// node n has two GPUs, a and b, of 1000 MiB.
func node(more ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{
		InventoryKey: `{"v":1,"gpus":[{"uuid":"a","index":0,"memMib":1000},{"uuid":"b","index":1,"memMib":1000,"slots":2}]}`}}}
	n.Status.Allocatable = limits(more...).Limits
	return n
}

// on binds a pod to node n with one device for container main.
func on(p *corev1.Pod, uuid string, index, milli, mem int64) *corev1.Pod {
	p.Spec.NodeName = "n"
	return with(p, "fgpu.io/visible-devices.c0="+uuid, fmt.Sprint("fgpu.io/mps-active-thread-percentage.c0=",
		max(1, min(100, milli/10))), fmt.Sprintf(
		`%s={"v":1,"id":"d","containers":[{"name":"main","init":false,"devices":[{"uuid":%q,"index":%d,"milli":%d,"memMib":%d}]}]}`,
		AssignmentKey, uuid, index, milli, mem))
}

func TestDemandFollowsTheTable(t *testing.T) {
	s := Default()
	s.Sizes = map[string]Size{"small": {Milli: 250, MemMiB: 100}}
	for _, row := range []struct {
		name  string
		pod   *corev1.Pod
		count int64
		want  Charge // on a device with 1000 MiB
	}{
		{"milli and memory", pod("p", "fgpu.io/gpu-milli=300", "fgpu.io/gpu-memory-mib=77"), 1, Charge{300, 77, 1, false}},
		{"milli only", pod("p", "fgpu.io/gpu-milli=333"), 1, Charge{333, 333, 1, false}},
		{"memory only", pod("p", "fgpu.io/gpu-memory-mib=250"), 1, Charge{250, 250, 1, false}},
		{"memory only, not nothing", pod("p", "fgpu.io/gpu-memory-mib=1"), 1, Charge{1, 1, 1, false}},
		{"two shares", pod("p", "fgpu.io/gpu-milli=300", "fgpu.io/gpu-count=2"), 2, Charge{300, 300, 1, false}},
		{"one thousand", pod("p", "fgpu.io/gpu-milli=1000"), 1, Charge{1000, 1000, 1, true}},
		{"one thousand with memory", pod("p", "fgpu.io/gpu-milli=1000", "fgpu.io/gpu-memory-mib=10"), 1, Charge{1000, 10, 1, false}},
		{"three thousand", pod("p", "fgpu.io/gpu-milli=3000"), 3, Charge{1000, 1000, 1, true}},
		{"count only", pod("p", "fgpu.io/gpu-count=2"), 2, Charge{1000, 1000, 1, true}},
		{"vgpu", pod("p", "nvidia.com/vgpu=300"), 1, Charge{300, 300, 1, false}},
		{"metagpu", pod("p", "cnvrg.io/metagpu=30"), 1, Charge{300, 300, 1, false}},
		{"fraction", with(pod("p"), "fgpu.io/gpu-fraction=0.3"), 1, Charge{300, 300, 1, false}},
		{"fraction and memory", with(pod("p"), "fgpu.io/gpu-fraction=0.3", "fgpu.io/gpu-memory=4Mi"), 1, Charge{300, 4, 1, false}},
		{"size", with(pod("p"), "fgpu.io/size=small"), 1, Charge{250, 100, 1, false}},
	} {
		d, err := DemandOf(row.pod, s)
		if err != nil || len(d.Requests) != 1 {
			t.Errorf("%s: %v, %v", row.name, d, err)
			continue
		}
		if w := d.Requests[0]; w.Count != row.count || w.On(1000, s) != row.want {
			t.Errorf("%s: %d x %+v, expected %d x %+v", row.name, w.Count, w.On(1000, s), row.count, row.want)
		}
	}
}

func TestImpossibleRequestsAreRefused(t *testing.T) {
	for name, p := range map[string]*corev1.Pod{
		"1500 milli":               pod("p", "fgpu.io/gpu-milli=1500"),
		"2000 milli and a count":   pod("p", "fgpu.io/gpu-milli=2000", "fgpu.io/gpu-count=2"),
		"2000 milli and memory":    pod("p", "fgpu.io/gpu-milli=2000", "fgpu.io/gpu-memory-mib=1"),
		"negative":                 pod("p", "fgpu.io/gpu-milli=-1"),
		"part of a unit":           pod("p", "fgpu.io/gpu-milli=5m"),
		"absurd":                   pod("p", "fgpu.io/gpu-memory-mib=4294967296000"),
		"two vocabularies":         pod("p", "fgpu.io/gpu-milli=10", "nvidia.com/vgpu=10"),
		"resource and annotation":  with(pod("p", "fgpu.io/gpu-milli=10"), "fgpu.io/gpu-fraction=0.01"),
		"finer than a milli":       with(pod("p"), "fgpu.io/gpu-fraction=0.0001"),
		"fraction without numbers": with(pod("p"), "fgpu.io/gpu-fraction=half"),
		"unknown size":             with(pod("p"), "fgpu.io/size=large"),
		"unknown container":        with(pod("p"), "fgpu.io/gpu-fraction=0.1", "fgpu.io/container=other"),
		"whole and share":          pod("p", "nvidia.com/gpu=1", "fgpu.io/gpu-milli=10"),
	} {
		if d, err := DemandOf(p, Default()); err == nil {
			t.Errorf("%s: understood as %+v", name, d)
		}
	}
	if d, err := DemandOf(pod("p", "cpu=1", "fgpu.io/gpu-milli=0"), Default()); err != nil || !d.Empty() {
		t.Errorf("a pod that asks for nothing: %+v, %v", d, err)
	}
}

func TestAContainerMaySpanGPUs(t *testing.T) {
	spanning := func(recorded string) *corev1.Pod {
		p := pod("wide", "cnvrg.io/metagpu=150")
		p.Spec.NodeName = "n"
		return with(p, "fgpu.io/visible-devices.c0=a,b", "fgpu.io/mps-active-thread-percentage.c0=50",
			AssignmentKey+`={"v":1,"id":"d","containers":[{"name":"main","init":false,"devices":[`+recorded+`]}]}`)
	}
	whole, half := `{"uuid":"a","index":0,"milli":1000,"memMib":1000}`, `{"uuid":"b","index":1,"milli":500,"memMib":500}`
	good := spanning(whole + "," + half)
	r := Check([]*corev1.Node{node()}, []*corev1.Pod{good}, Default())
	if len(r.Violations) != 0 || r.Nodes["n"][0].Used != (Charge{1000, 1000, 1, true}) || r.Nodes["n"][1].Used != (Charge{500, 500, 1, false}) {
		t.Errorf("%v, %+v, %+v", r.Violations, r.Nodes["n"][0].Used, r.Nodes["n"][1].Used)
	}
	for name, recorded := range map[string]string{
		"the rest missing": whole,
		"two rests":        strings.Replace(whole, "1000,\"memMib\":1000", "500,\"memMib\":500", 1) + "," + half,
		"one device twice": whole + "," + strings.NewReplacer(`"b"`, `"a"`, `"index":1`, `"index":0`).Replace(half),
		"another share":    whole + "," + strings.Replace(half, "500,", "400,", 1),
	} {
		if r := Check([]*corev1.Node{node()}, []*corev1.Pod{spanning(recorded)}, Default()); len(r.Violations) == 0 {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func TestDemandInTheAnnotationsOfKAI(t *testing.T) {
	s := Default()
	s.KAI = true
	for _, row := range []struct {
		fraction, memory, devices string
		count                     int64
		want                      Charge // on a device with 81559 MiB
	}{
		{"0.5", "", "", 1, Charge{500, 40750, 1, false}},
		{"0.125", "", "2", 2, Charge{125, 10187, 1, false}},
		{"0.3330", "", "", 1, Charge{333, 27139, 1, false}},
		{".001", "", "", 1, Charge{1, 81, 1, false}},
		{"", "20480", "", 1, Charge{260, 20480, 1, false}},
		{"", "20375", "3", 3, Charge{250, 20375, 1, false}},
		{"", "81559", "", 1, Charge{1000, 81559, 1, false}},
	} {
		p := pod("p")
		for key, value := range map[string]string{
			"gpu-fraction": row.fraction, "gpu-memory": row.memory, "gpu-fraction-num-devices": row.devices} {
			if value != "" {
				with(p, key+"="+value)
			}
		}
		d, err := DemandOf(p, s)
		if err != nil || len(d.Requests) != 1 {
			t.Errorf("%+v: %v, %v", row, d, err)
			continue
		}
		if w := d.Requests[0]; w.Count != row.count || w.On(81559, s) != row.want {
			t.Errorf("%+v: %d x %+v", row, w.Count, w.On(81559, s))
		}
		if d, err := DemandOf(p, Default()); err != nil || !d.Empty() {
			t.Errorf("%+v, not served: %v, %v", row, d, err)
		}
	}
	for _, bad := range []*corev1.Pod{
		with(pod("p"), "gpu-fraction=0"), with(pod("p"), "gpu-fraction=1.0"), with(pod("p"), "gpu-fraction=1.5"),
		with(pod("p"), "gpu-fraction=NaN"), with(pod("p"), "gpu-fraction=0,5"), with(pod("p"), "gpu-fraction=1e-1"),
		with(pod("p"), "gpu-fraction=-0.5"), with(pod("p"), "gpu-fraction="), with(pod("p"), "gpu-fraction=0.1234"),
		with(pod("p"), "gpu-fraction=0.-5"), with(pod("p"), "gpu-fraction=0.5", "gpu-memory=5"),
		with(pod("p"), "gpu-memory=0"), with(pod("p"), "gpu-memory=4Gi"), with(pod("p"), "gpu-fraction-num-devices=2"),
		with(pod("p"), "gpu-fraction=0.5", "gpu-fraction-num-devices=0"),
		with(pod("p"), "gpu-fraction=0.5", "gpu-fraction-container-name=other"),
		with(pod("p"), "gpu-fraction=0.5", "fgpu.io/gpu-count=1"), with(pod("p", "nvidia.com/gpu=1"), "gpu-fraction=0.5"),
		with(pod("p", "fgpu.io/gpu-milli=1"), "gpu-fraction=0.5"),
	} {
		if d, err := DemandOf(bad, s); err == nil {
			t.Errorf("%v: understood as %+v", bad.Annotations, d)
		}
	}
}

func TestTheChargeIsThePeakOfThePhases(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := pod("p", "fgpu.io/gpu-milli=200")
	p.Spec.InitContainers = []corev1.Container{
		{Name: "early", Resources: limits("fgpu.io/gpu-milli=350")},
		{Name: "sidecar", Resources: limits("fgpu.io/gpu-milli=100"), RestartPolicy: &always},
		{Name: "late", Resources: limits("fgpu.io/gpu-milli=400")},
	}
	p.Spec.NodeName = "n"
	devices := `"devices":[{"uuid":"a","index":0,"milli":%[1]d,"memMib":%[1]d}]}`
	entry := func(name string, init bool, milli int) string {
		return fmt.Sprintf(`{"name":%q,"init":%v,`, name, init) + fmt.Sprintf(devices, milli)
	}
	with(p, AssignmentKey+`={"v":1,"id":"d","containers":[`+strings.Join([]string{
		entry("early", true, 350), entry("sidecar", true, 100), entry("late", true, 400), entry("main", false, 200)}, ",")+`]}`,
		"fgpu.io/visible-devices.c0=a", "fgpu.io/visible-devices.i0=a", "fgpu.io/visible-devices.i1=a", "fgpu.io/visible-devices.i2=a",
		"fgpu.io/mps-active-thread-percentage.i0=35", "fgpu.io/mps-active-thread-percentage.i1=10",
		"fgpu.io/mps-active-thread-percentage.i2=40", "fgpu.io/mps-active-thread-percentage.c0=20")
	r := Check([]*corev1.Node{node()}, []*corev1.Pod{p}, Default())
	if len(r.Violations) > 0 {
		t.Fatal(r.Violations)
	}
	// early alone 350; late with the sidecar 500; main with the sidecar 300.
	if u := r.Nodes["n"][0].Used; u.Milli != 500 || u.MemMiB != 500 || u.Slots != 2 {
		t.Errorf("charged %+v, expected 500 milli, 500 MiB, 2 slots", u)
	}
}

func TestASoundClusterHasNoViolations(t *testing.T) {
	ended := on(pod("ended", "fgpu.io/gpu-milli=900"), "a", 0, 900, 900)
	ended.Status.Phase = corev1.PodSucceeded
	pending := pod("pending", "fgpu.io/gpu-milli=1500")
	r := Check([]*corev1.Node{node()}, []*corev1.Pod{
		on(pod("p1", "fgpu.io/gpu-milli=500"), "a", 0, 500, 500),
		on(pod("p2", "fgpu.io/gpu-milli=500"), "a", 0, 500, 500),
		on(pod("p3", "fgpu.io/gpu-milli=1000"), "b", 1, 1000, 1000),
		ended, pending,
	}, Default())
	if len(r.Violations) > 0 || len(r.Unassigned) > 0 {
		t.Errorf("%v %v", r.Violations, r.Unassigned)
	}
}

// Every fixture is wrong in one way, and the checker must say in which.
func TestWrongClustersAreCaught(t *testing.T) {
	unbound := func(p *corev1.Pod) *corev1.Pod { p.Spec.NodeName = "n"; return p }
	elsewhere := on(pod("p", "fgpu.io/gpu-milli=1"), "a", 0, 1, 1)
	elsewhere.Spec.NodeName = "other"
	half := func(name string) *corev1.Pod { return on(pod(name, "fgpu.io/gpu-milli=500"), "a", 0, 500, 500) }
	for name, row := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"compute": {[]*corev1.Pod{half("p1"), half("p2"), on(pod("p3", "fgpu.io/gpu-milli=1", "fgpu.io/gpu-memory-mib=0"), "a", 0, 1, 1)},
			"1001 milli of 1000"},
		"memory": {[]*corev1.Pod{half("p1"), on(pod("p2", "fgpu.io/gpu-milli=10", "fgpu.io/gpu-memory-mib=501"), "a", 0, 10, 501)},
			"1001 MiB of 1000"},
		"sharers": {[]*corev1.Pod{on(pod("p1", "fgpu.io/gpu-milli=1"), "b", 1, 1, 1), on(pod("p2", "fgpu.io/gpu-milli=1"), "b", 1, 1, 1),
			on(pod("p3", "fgpu.io/gpu-milli=1"), "b", 1, 1, 1)}, "3 sharers of 2"},
		"not alone": {[]*corev1.Pod{on(pod("p1", "fgpu.io/gpu-count=1"), "b", 1, 1000, 1000), on(pod("p2", "fgpu.io/gpu-milli=1"), "b", 1, 1, 1)},
			"held alone"},
		"more plugin GPUs than there are": {[]*corev1.Pod{unbound(pod("p1", "nvidia.com/gpu=3"))}, "3 whole GPUs"},
		"shares beside plugin GPUs":       {[]*corev1.Pod{unbound(pod("p1", "nvidia.com/gpu=1")), half("p2")}, "side by side"},
		"an unassigned pod counts on every device": {[]*corev1.Pod{unbound(pod("p1", "fgpu.io/gpu-milli=501")), half("p2")},
			"1001 milli of 1000"},
		"a device that is not there": {[]*corev1.Pod{on(pod("p", "fgpu.io/gpu-milli=1"), "c", 0, 1, 1)}, "not on the node"},
		"a node that is not there":   {[]*corev1.Pod{elsewhere}, "does not exist"},
		"an amount that is too low":  {[]*corev1.Pod{on(pod("p", "fgpu.io/gpu-milli=500"), "a", 0, 100, 500)}, "the spec says 500"},
		"too few devices":            {[]*corev1.Pod{on(pod("p", "fgpu.io/gpu-count=2"), "a", 0, 1000, 1000)}, "asked for 2"},
		"an impossible request":      {[]*corev1.Pod{on(pod("p", "fgpu.io/gpu-milli=1500"), "a", 0, 1500, 1500)}, "bound although"},
		"unreadable":                 {[]*corev1.Pod{unbound(with(pod("p", "fgpu.io/gpu-milli=1"), AssignmentKey+"={"))}, "unreadable"},
		"other devices for the container": {[]*corev1.Pod{with(on(pod("p", "fgpu.io/gpu-milli=1"), "a", 0, 1, 1), "fgpu.io/visible-devices.c0=b")},
			"visible-devices"},
	} {
		r := Check([]*corev1.Node{node("nvidia.com/gpu=2")}, row.pods, Default())
		if !slices.ContainsFunc(r.Violations, func(v string) bool { return strings.Contains(v, row.want) }) {
			t.Errorf("%s: violations %q, expected one with %q", name, r.Violations, row.want)
		}
	}
}

func TestWrongHandOffsAreCaught(t *testing.T) {
	const cdi, kai = "nvidia.cdi.k8s.io/container.main", "nvidia.com/container.main."
	share := func(more ...string) *corev1.Pod {
		return with(on(pod("p", "fgpu.io/gpu-milli=500"), "a", 0, 500, 500), more...)
	}
	for name, row := range map[string]struct {
		handOff string
		pod     *corev1.Pod
		want    string // empty: it is right
	}{
		"right CDI":   {"nvidia-cdi", share(cdi + "=nvidia.com/gpu=a"), ""},
		"no CDI":      {"nvidia-cdi", share(), cdi},
		"other CDI":   {"nvidia-cdi", share(cdi + "=nvidia.com/gpu=b"), cdi},
		"more CDI":    {"nvidia-cdi", share(cdi + "=nvidia.com/gpu=a,nvidia.com/gpu=b"), cdi},
		"of nobody":   {"nvidia-cdi", share(cdi+"=nvidia.com/gpu=a", "nvidia.cdi.k8s.io/container.other=nvidia.com/gpu=a"), "container.other"},
		"right KAI":   {"kai-fractioning", share(kai+"gpus.devices=a", kai+"gpu-memory.request=500Mi", kai+"gpu-memory.limit=500Mi"), ""},
		"other GPU":   {"kai-fractioning", share(kai+"gpus.devices=b", kai+"gpu-memory.request=500Mi", kai+"gpu-memory.limit=500Mi"), "gpus.devices"},
		"much memory": {"kai-fractioning", share(kai+"gpus.devices=a", kai+"gpu-memory.request=500Mi", kai+"gpu-memory.limit=501Mi"), "gpu-memory.limit"},
		"no memory":   {"kai-fractioning", share(kai + "gpus.devices=a"), "gpu-memory.request"},
		"not here":    {"", share(cdi + "=nvidia.com/gpu=a"), cdi},
		"blanked":     {"", share(cdi + "="), ""},
	} {
		s := Default()
		s.HandOffs = map[string]string{"n": row.handOff}
		r := Check([]*corev1.Node{node()}, []*corev1.Pod{row.pod}, s)
		if row.want == "" && len(r.Violations) > 0 || row.want != "" && (len(r.Violations) != 1 || !strings.Contains(r.Violations[0], row.want)) {
			t.Errorf("%s: violations %q, expected %q", name, r.Violations, row.want)
		}
	}
}

func TestFitsSaysWhetherAWaitingPodHasRoom(t *testing.T) {
	r := Check([]*corev1.Node{node()}, []*corev1.Pod{
		on(pod("p1", "fgpu.io/gpu-milli=600"), "a", 0, 600, 600),
		on(pod("p2", "fgpu.io/gpu-milli=500"), "b", 1, 500, 500),
	}, Default())
	for _, row := range []struct {
		requests string
		want     bool
	}{
		{"fgpu.io/gpu-milli=500", true}, {"fgpu.io/gpu-milli=501", false}, {"fgpu.io/gpu-count=1", false},
		{"fgpu.io/gpu-memory-mib=500", true}, {"fgpu.io/gpu-memory-mib=501", false},
		{"fgpu.io/gpu-milli=400 fgpu.io/gpu-count=2", true}, {"fgpu.io/gpu-milli=401 fgpu.io/gpu-count=2", false},
	} {
		got, err := r.Fits(pod("p", strings.Fields(row.requests)...))
		if err != nil || got != row.want {
			t.Errorf("%s: %v, %v", row.requests, got, err)
		}
	}
}

// says is a bound pod of 100 milli with a quality of service, as annotated and as recorded; empty: none.
func says(asked, recorded string, charged, percent int64) *corev1.Pod {
	p := on(pod("p", "fgpu.io/gpu-milli=100"), "a", 0, charged, 100)
	if asked != "" {
		with(p, "fgpu.io/qos="+asked)
	}
	if recorded != "" {
		p.Annotations[AssignmentKey] = strings.Replace(p.Annotations[AssignmentKey], `"id":"d"`, `"id":"d","qos":"`+recorded+`"`, 1)
	}
	return with(p, fmt.Sprint("fgpu.io/mps-active-thread-percentage.c0=", percent))
}

func TestQualityOfServiceIsCharged(t *testing.T) {
	for i, row := range []struct {
		p        *corev1.Pod
		node     string
		lent, ok bool
	}{
		{says("", "", 100, 10), "", true, true},
		{says("best-effort", "best-effort", 100, 100), "", true, true},
		{says("best-effort", "best-effort", 100, 10), "", false, true},
		{says("equal-share", "equal-share", 250, 100), "", true, true},
		{says("", "equal-share", 250, 25), "equal-share", false, true},
		{says("fixed-share", "", 100, 10), "equal-share", false, true},
		{says("", "", 100, 100), "", true, false},
		{says("best-effort", "best-effort", 100, 100), "", false, false},
		{says("equal-share", "equal-share", 100, 100), "", true, false},
		{says("equal-share", "", 250, 100), "", true, false},
		{says("", "best-effort", 100, 100), "", true, false},
		{says("platinum", "", 100, 10), "", true, false},
	} {
		s := Default()
		s.MaxSharers, s.QoS, s.NothingLent = 4, row.node, !row.lent
		if r := Check([]*corev1.Node{node()}, []*corev1.Pod{row.p}, s); (len(r.Violations) == 0) != row.ok {
			t.Errorf("row %d: %v", i, r.Violations)
		}
	}
}

func TestPercentagesAddUpWhereNothingIsLent(t *testing.T) {
	s := Default()
	s.NothingLent, s.MemoryOnlyFree = true, true
	free := func(name string) *corev1.Pod { // takes no compute, so nothing caps it
		p := on(pod(name, "fgpu.io/gpu-memory-mib=100"), "a", 0, 0, 100)
		return with(p, "fgpu.io/mps-active-thread-percentage.c0=100")
	}
	if r := Check([]*corev1.Node{node()}, []*corev1.Pod{free("x")}, s); len(r.Violations) > 0 {
		t.Error(r.Violations)
	}
	r := Check([]*corev1.Node{node()}, []*corev1.Pod{free("x"), free("y")}, s)
	if len(r.Violations) != 1 || !strings.Contains(r.Violations[0], "add up to 200") {
		t.Error(r.Violations)
	}
}

func TestAVirtualGPUIsTakenWhole(t *testing.T) {
	labelled := func(profile string) *corev1.Node {
		n := node("nvidia.com/gpu=2")
		n.Annotations = nil
		n.Labels = map[string]string{"virtual.gpu.type": profile}
		return n
	}
	held := on(pod("p", "fgpu.io/gpu-memory-mib=6144"), "", 0, 1000, 8192)
	with(held, "fgpu.io/visible-devices.c0=0", "fgpu.io/mps-active-thread-percentage.c0=100")
	for profile, ok := range map[string]bool{"v100-8q-8GB": true, "V100-8Q-8GB": true, "v100-16q-16GB": false, "v100-8q-16GB": false,
		"v100-8z-8GB": false, "v100-08q-08GB": false, "8q-8GB": false} {
		if r := Check([]*corev1.Node{labelled(profile)}, []*corev1.Pod{held}, Default()); (len(r.Violations) == 0) != ok {
			t.Errorf("%s: %v", profile, r.Violations)
		}
	}
	second := held.DeepCopy()
	second.Name = "q"
	if r := Check([]*corev1.Node{labelled("v100-8q-8GB")}, []*corev1.Pod{held, second}, Default()); len(r.Violations) == 0 {
		t.Error("two pods on one virtual GPU")
	}
}
