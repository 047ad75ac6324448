package e2e

import (
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

const oneLine = "fgpu-one-line" // the policy, its binding, its ConfigMap

// installOneLine applies manifests/one-line and waits until the API server acts on it; it is removed with the test,
// because other tests have pods for the scheduler that serves default-scheduler.
func (c *cluster) installOneLine() {
	c.Helper()
	c.Cleanup(func() { // and until it has gone: the next test must not take what is left of it for its own
		c.removeOneLine()
		c.schedulerOfWould("default-scheduler", "the policy is gone")
	})
	c.must(nil, plane.Apply(c.ctx, manifest("one-line", "policy.yaml")))
	c.schedulerOfWould("fgpu-scheduler", "the API server acts on manifests/one-line")
}

// removeOneLine is `kubectl delete -k manifests/one-line`.
func (c *cluster) removeOneLine() {
	api := plane.Client.AdmissionregistrationV1()
	c.gone(api.MutatingAdmissionPolicyBindings().Delete(c.ctx, oneLine, metav1.DeleteOptions{}))
	c.gone(api.MutatingAdmissionPolicies().Delete(c.ctx, oneLine, metav1.DeleteOptions{}))
	c.gone(plane.Client.CoreV1().ConfigMaps("kube-system").Delete(c.ctx, oneLine, metav1.DeleteOptions{}))
}

// schedulerOfWould waits until a pod of one line would get this scheduler.
func (c *cluster) schedulerOfWould(want, what string) {
	c.Helper()
	c.eventually(what, func() (bool, string) {
		got := c.tried(pod("probe", "fgpu.io/gpu-milli=300"))
		return got == want, "a pod of one line would get scheduler " + got
	})
}

// tried is the scheduler that a pod would get; it is not created.
func (c *cluster) tried(p *corev1.Pod) string {
	c.Helper()
	got, err := plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, p, dryRun)
	c.must(got, err)
	return got.Spec.SchedulerName
}

// createAsIs submits a pod without adding a scheduler, as somebody who need not be an administrator.
func (c *cluster) createAsIs(client *kubernetes.Clientset, p *corev1.Pod) *corev1.Pod {
	c.Helper()
	made, err := client.CoreV1().Pods(c.namespace).Create(c.ctx, p, createOptions)
	c.must(made, err)
	return made
}

func (c *cluster) hasRecord(name string) {
	c.Helper()
	p := c.bound(name)
	if p.Spec.SchedulerName != "fgpu-scheduler" || p.Annotations[checker.AssignmentKey] == "" {
		c.Errorf("%s: scheduler %q, assignment %q", name, p.Spec.SchedulerName, p.Annotations[checker.AssignmentKey])
	}
}

func TestAPodOfOneLineGetsItsGPU(t *testing.T) {
	c := newCluster(t, gpuNode("one-line", 2, gib80))
	c.install(dedicated)
	c.installOneLine()
	c.createAsIs(plane.Client, pod("share", "fgpu.io/gpu-milli=300"))
	c.createAsIs(plane.Client, pod("memory", "fgpu.io/gpu-memory-mib=4096"))
	c.createAsIs(plane.Client, pod("whole", "fgpu.io/gpu-count=1"))
	setup := pod("init")
	setup.Spec.InitContainers = []corev1.Container{container("setup", "fgpu.io/gpu-milli=100")}
	c.createAsIs(plane.Client, setup)
	c.createAsIs(plane.Client, annotated(pod("by-annotation"), "fgpu.io/gpu-fraction=0.1"))
	// Whether there is such a size is not the policy's business.
	if got := c.tried(pod("sized", "fgpu.io/size.small=1")); got != "fgpu-scheduler" {
		t.Errorf("a pod with a size would get scheduler %q", got)
	}
	for _, name := range []string{"share", "memory", "whole", "init", "by-annotation"} {
		c.hasRecord(name)
	}
	c.sound()
}

// Who writes a Deployment or a Job does not create the pods.
func TestPodsOfControllersNeedOneLineOnly(t *testing.T) {
	c := newCluster(t, gpuNode("controlled", 1, gib80))
	c.install(dedicated)
	c.installOneLine()
	for kind, api := range map[string]string{"ReplicaSet": "apps/v1", "Job": "batch/v1", "DaemonSet": "apps/v1"} {
		controller, err := plane.Impersonate("system:serviceaccount:kube-system:controller-of-"+kind, "system:masters")
		c.must(controller, err)
		p := pod("", "fgpu.io/gpu-milli=100")
		p.GenerateName = "made-"
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: api, Kind: kind, Name: "owner", UID: types.UID("u-" + kind)}}
		c.hasRecord(c.createAsIs(controller, p).Name)
	}
	c.sound()
}

func TestOneLineLeavesOtherPodsAsTheyAre(t *testing.T) {
	c := newCluster(t, gpuNode("left-alone", 1, gib80))
	c.installOneLine()
	other, placed := pod("other", "fgpu.io/gpu-milli=300"), pod("placed", "fgpu.io/gpu-milli=300")
	other.Spec.SchedulerName = "somebody-else"
	placed.Spec.NodeName = "left-alone"
	for want, pods := range map[string][]*corev1.Pod{
		"somebody-else": {other},
		"default-scheduler": {placed, pod("plain"), pod("of-plugin", "nvidia.com/gpu=1"), pod("units", "nvidia.com/vgpu=100"),
			annotated(pod("runai"), "gpu-fraction=0.3"), annotated(pod("constrained"), "fgpu.io/gpu-model=*A100*")},
	} {
		for _, p := range pods {
			if got := c.tried(p); got != want {
				t.Errorf("%s would get scheduler %q, expected %q", p.Name, got, want)
			}
		}
	}
	// A dry run says what would be, and leaves nothing behind.
	if got := c.tried(pod("dry", "fgpu.io/gpu-milli=300")); got != "fgpu-scheduler" {
		t.Errorf("a dry run says scheduler %q", got)
	}
	if _, err := plane.Client.CoreV1().Pods(c.namespace).Get(c.ctx, "dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v", err)
	}
}

// The scheduler of a pod cannot be changed later: whoever tried would make every update of the pod fail.
func TestOneLineTouchesNoPodThatIsThere(t *testing.T) {
	c := newCluster(t, gpuNode("there", 1, gib80))
	early := c.createAsIs(plane.Client, pod("early", "fgpu.io/gpu-milli=300")) // before the policy
	c.installOneLine()
	pods := plane.Client.CoreV1().Pods(c.namespace)
	early, err := pods.Patch(c.ctx, "early", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	c.must(early, err)
	withDebugger := early.DeepCopy()
	withDebugger.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debugger", Image: "example.com/none", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullAlways}}}
	early, err = pods.UpdateEphemeralContainers(c.ctx, "early", withDebugger, metav1.UpdateOptions{})
	c.must(early, err)
	if early.Spec.SchedulerName != "default-scheduler" || len(early.Spec.EphemeralContainers) != 1 || early.Labels["a"] != "b" {
		t.Errorf("after the updates: scheduler %q, %d ephemeral containers, labels %v", early.Spec.SchedulerName,
			len(early.Spec.EphemeralContainers), early.Labels)
	}
	// Server-side apply creates with the policy, and applies the same again without a change or a conflict.
	limits := harness.Quantities("fgpu.io/gpu-milli=300")
	config := corev1apply.Pod("applied", c.namespace).WithSpec(corev1apply.PodSpec().WithContainers(corev1apply.Container().
		WithName("main").WithImage("example.com/none").WithResources(corev1apply.ResourceRequirements().WithLimits(limits))))
	first, err := pods.Apply(c.ctx, config, metav1.ApplyOptions{FieldManager: "user"})
	c.must(first, err)
	again, err := pods.Apply(c.ctx, config, metav1.ApplyOptions{FieldManager: "user"})
	c.must(again, err)
	if first.Spec.SchedulerName != "fgpu-scheduler" || again.ResourceVersion != first.ResourceVersion {
		t.Errorf("applied: scheduler %q, version %s; again: version %s", first.Spec.SchedulerName, first.ResourceVersion, again.ResourceVersion)
	}
}

// A policy of the cluster may give pods their GPUs by a label of its own, before this one looks or after it.
func TestOneLineSeesWhatAnotherPolicyAdds(t *testing.T) {
	c := newCluster(t, gpuNode("added", 1, gib80))
	c.installOneLine()
	always := admissionv1.AllScopes
	for _, name := range []string{"aaa-before", "zzz-after"} {
		policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: &always}}}}},
			MatchConditions: []admissionv1.MatchCondition{{Name: "labelled", Expression: fmt.Sprintf(`object.metadata.?labels.orValue({})[?"gets"].orValue("") == %q`, name)}},
			Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
				Expression: `[JSONPatch{op: "add", path: "/spec/containers/0/resources", value: Object.spec.containers.resources{limits: {"fgpu.io/gpu-milli": "100"}, requests: {"fgpu.io/gpu-milli": "100"}}}]`}}},
		}}
		api := plane.Client.AdmissionregistrationV1()
		c.Cleanup(func() {
			c.gone(api.MutatingAdmissionPolicyBindings().Delete(c.ctx, name, metav1.DeleteOptions{}))
			c.gone(api.MutatingAdmissionPolicies().Delete(c.ctx, name, metav1.DeleteOptions{}))
		})
		made, err := api.MutatingAdmissionPolicies().Create(c.ctx, policy, createOptions)
		c.must(made, err)
		bound, err := api.MutatingAdmissionPolicyBindings().Create(c.ctx, &admissionv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}, createOptions)
		c.must(bound, err)
		p := pod("labelled")
		p.Labels = map[string]string{"gets": name}
		c.eventually("what "+name+" adds is seen", func() (bool, string) {
			got, err := plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, p, dryRun)
			c.must(got, err)
			_, added := got.Spec.Containers[0].Resources.Limits["fgpu.io/gpu-milli"]
			if added && got.Spec.SchedulerName != "fgpu-scheduler" {
				t.Fatalf("%s: the pod has the resource and scheduler %q", name, got.Spec.SchedulerName)
			}
			return added, "nothing is added"
		})
	}
}

// The names are settings; and an admin can take the policy back in any way.
func TestOneLineFollowsItsConfigMapAndIsRemovedWithoutATrace(t *testing.T) {
	c := newCluster(t, gpuNode("followed", 1, gib80))
	c.installOneLine()
	maps := plane.Client.CoreV1().ConfigMaps("kube-system")
	_, err := maps.Patch(c.ctx, oneLine, types.MergePatchType, []byte(
		`{"data":{"annotations":"gpu-fraction fgpu.io/size","resources":"fgpu.io/gpu-milli example.com/share"}}`), metav1.PatchOptions{})
	c.must(nil, err)
	for name, p := range map[string]*corev1.Pod{
		"annotation": annotated(pod("by-annotation"), "gpu-fraction=0.3"), "size": annotated(pod("sized"), "fgpu.io/size=small"),
		"resource": pod("named", "example.com/share=1")} {
		c.eventually(name+" is followed", func() (bool, string) { got := c.tried(p); return got == "fgpu-scheduler", got })
	}
	if got := c.tried(annotated(pod("constrained"), "fgpu.io/gpu-model=*A100*")); got != "default-scheduler" {
		t.Errorf("a constraint alone asks for nothing, and would get scheduler %q", got)
	}
	c.must(nil, maps.Delete(c.ctx, oneLine, metav1.DeleteOptions{}))
	c.schedulerOfWould("default-scheduler", "without its ConfigMap the policy does nothing")
	c.must(nil, plane.Apply(c.ctx, manifest("one-line", "policy.yaml")))
	c.schedulerOfWould("fgpu-scheduler", "the ConfigMap is back")
	c.removeOneLine()
	c.schedulerOfWould("default-scheduler", "the policy is gone")
}
