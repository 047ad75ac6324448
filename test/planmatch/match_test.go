// Where kube-scheduler would let a pod run, by its own code (k8s.io/component-helpers, k8s.io/api) and by fgpu's
// (include/core/plan/node_facts.h): the same on random pods and nodes, those that the API server would refuse too.
package planmatch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	requests "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

const cases = 30000

// Few of each, so that they meet.
var (
	keys      = []string{"zone", "example.com/pool", "cores", "arch", "x", "", "bad key", "A.b/c_d-e", "-x", "/"}
	values    = []string{"a", "b", "", "10", "9", "-3", "+7", "007", "9223372036854775807", "9223372036854775808", "1_0", "bad value!", "x.y-z_1", "0x1f", "-0", "-a"}
	operators = []v1.NodeSelectorOperator{"In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near", ""}
	names     = []string{"n1", "n2", "n3", ""}
	fields    = []string{"metadata.name", "metadata.name", "metadata.name", "metadata.namespace", ""}
	effects   = []v1.TaintEffect{"NoSchedule", "NoExecute", "PreferNoSchedule"}
)

func pick[T any](r *rand.Rand, from []T) T {
	return from[r.Intn(len(from))]
}

// Mostly one that is right.
func some(r *rand.Rand, from []string, good int) string {
	if r.Intn(10) > 0 {
		return from[r.Intn(good)]
	}
	return pick(r, from)
}

func requirements(r *rand.Rand, max int) []v1.NodeSelectorRequirement {
	var all []v1.NodeSelectorRequirement
	for range r.Intn(max + 1) {
		q := v1.NodeSelectorRequirement{Key: some(r, keys, 4), Operator: pick(r, operators)}
		n := r.Intn(4)
		if r.Intn(4) > 0 { // as many as the operator wants
			switch q.Operator {
			case "Exists", "DoesNotExist":
				n = 0
			case "Gt", "Lt":
				n = 1
			default:
				n = 1 + r.Intn(3)
			}
		}
		for range n {
			q.Values = append(q.Values, some(r, values, 7))
		}
		all = append(all, q)
	}
	return all
}

func fieldRequirements(r *rand.Rand) []v1.NodeSelectorRequirement {
	var all []v1.NodeSelectorRequirement
	if r.Intn(3) > 0 {
		return nil
	}
	for range 1 + r.Intn(2) {
		q := v1.NodeSelectorRequirement{Key: pick(r, fields), Operator: operators[r.Intn(4)]}
		if r.Intn(10) == 0 {
			q.Operator = pick(r, operators)
		}
		for range 1 + r.Intn(10)/9 - r.Intn(10)/9 {
			q.Values = append(q.Values, pick(r, names))
		}
		all = append(all, q)
	}
	return all
}

func affinity(r *rand.Rand) *v1.Affinity {
	if r.Intn(4) == 0 {
		return nil
	}
	n := &v1.NodeAffinity{}
	if r.Intn(8) > 0 {
		s := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{}}
		for range r.Intn(4) {
			s.NodeSelectorTerms = append(s.NodeSelectorTerms,
				v1.NodeSelectorTerm{MatchExpressions: requirements(r, 3), MatchFields: fieldRequirements(r)})
		}
		n.RequiredDuringSchedulingIgnoredDuringExecution = s
	}
	if r.Intn(4) == 0 {
		n.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{
			{Weight: 5, Preference: v1.NodeSelectorTerm{MatchExpressions: requirements(r, 2)}}}
	}
	return &v1.Affinity{NodeAffinity: n}
}

func quantity(r *rand.Rand, unit []string) resource.Quantity {
	return resource.MustParse(strconv.Itoa(r.Intn(2000)) + pick(r, unit))
}

func resources(r *rand.Rand) v1.ResourceRequirements {
	list := func() v1.ResourceList {
		l := v1.ResourceList{}
		if r.Intn(3) > 0 {
			l[v1.ResourceCPU] = quantity(r, []string{"m", "", "u"})
		}
		if r.Intn(3) > 0 {
			l[v1.ResourceMemory] = quantity(r, []string{"Mi", "M", "Ki", "", "Gi"})
		}
		return l
	}
	return v1.ResourceRequirements{Requests: list()}
}

func pod(r *rand.Rand) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}, Spec: v1.PodSpec{Affinity: affinity(r)}}
	if r.Intn(3) == 0 {
		p.Spec.NodeSelector = map[string]string{}
		for range r.Intn(3) {
			p.Spec.NodeSelector[some(r, keys, 4)] = some(r, values, 4)
		}
	}
	for range r.Intn(4) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{
			Key:      pick(r, []string{"", "t", "u", v1.TaintNodeUnschedulable}),
			Operator: pick(r, []v1.TolerationOperator{"", "Equal", "Exists", "Lt", "Gt"}),
			Value:    pick(r, []string{"", "a", "5", "10"}),
			Effect:   pick(r, []v1.TaintEffect{"", "NoSchedule", "NoExecute", "PreferNoSchedule"})})
	}
	always := v1.ContainerRestartPolicyAlways
	for range r.Intn(4) {
		c := v1.Container{Name: "i", Resources: resources(r)}
		if r.Intn(2) == 0 {
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	for range 1 + r.Intn(3) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "c", Resources: resources(r)})
	}
	if r.Intn(4) == 0 {
		whole := resources(r)
		p.Spec.Resources = &whole
	}
	if r.Intn(4) == 0 {
		p.Spec.Overhead = resources(r).Requests
	}
	return p
}

func node(r *rand.Rand) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[r.Intn(3)], Labels: map[string]string{}}}
	for range r.Intn(6) {
		n.Labels[some(r, keys, 4)] = some(r, values, 7)
	}
	n.Spec.Unschedulable = r.Intn(5) == 0
	for range max(0, r.Intn(5)-2) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{
			Key: pick(r, []string{"t", "u"}), Value: pick(r, []string{"", "a", "7"}), Effect: pick(r, effects)})
	}
	return n
}

// NodeUnschedulable, TaintToleration and NodeAffinity of kube-scheduler, each by the function that its plugin calls.
func upstreamTakes(p *v1.Pod, n *v1.Node) bool {
	log := klog.Background()
	if n.Spec.Unschedulable && !corev1.TolerationsTolerateTaint(log, p.Spec.Tolerations,
		&v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}, true) {
		return false
	}
	keepsOff := func(t *v1.Taint) bool {
		return t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectNoExecute
	}
	if _, untolerated := corev1.FindMatchingUntoleratedTaint(log, n.Spec.Taints, p.Spec.Tolerations, keepsOff, true); untolerated {
		return false
	}
	matches, _ := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return matches
}

func upstreamAsks(p *v1.Pod) (int64, int64) {
	all := requests.PodRequests(p, requests.PodResourcesOptions{})
	bytes := all.Memory().Value()
	return all.Cpu().MilliValue(), (bytes + 1<<20 - 1) >> 20
}

func TestNodesThatTakeAPod_Random_AsKubeScheduler(t *testing.T) {
	probe := os.Getenv("FGPU_PLANMATCH_PROBE")
	if probe == "" {
		t.Fatal("FGPU_PLANMATCH_PROBE is not set: run scripts/planmatch")
	}
	seed := int64(1)
	if text := os.Getenv("FGPU_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseInt(text, 10, 64)
	}
	r := rand.New(rand.NewSource(seed))
	var in bytes.Buffer
	var want []string
	var took [2]int
	for range cases {
		p, n := pod(r), node(r)
		for _, object := range []any{p, n} {
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(text, '\n'))
		}
		takes := 0
		if upstreamTakes(p, n) {
			takes = 1
		}
		took[takes]++
		cpu, mem := upstreamAsks(p)
		want = append(want, fmt.Sprintf("%d %d %d", takes, cpu, mem))
	}
	if took[0] < cases/20 || took[1] < cases/20 {
		t.Fatalf("%d are taken and %d are not: the cases say little", took[1], took[0])
	}
	asked := bytes.Split(bytes.Clone(in.Bytes()), []byte("\n"))
	command := exec.Command(probe)
	command.Stdin, command.Stderr = &in, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	bad := 0
	for i := range want {
		if !lines.Scan() {
			t.Fatalf("the probe answered %d of %d cases", i, len(want))
		}
		if lines.Text() != want[i] {
			t.Errorf("fgpu says %q, kube-scheduler %q of\n%s\n%s", lines.Text(), want[i], asked[2*i], asked[2*i+1])
			if bad++; bad == 5 {
				t.FailNow()
			}
		}
	}
}
