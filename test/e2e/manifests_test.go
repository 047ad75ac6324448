package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"fgpu.io/fgpu/test/e2e/harness"
)

var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}

func TestTheDeploymentAndItsPodsAreAdmittedUnderTheRestrictedStandard(t *testing.T) {
	objects, err := harness.Objects(manifest("dedicated", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, ok := objects[0].(*appsv1.Deployment)
	if !ok || len(objects) != 1 {
		t.Fatalf("expected one Deployment, got %T", objects[0])
	}
	if _, err := plane.Client.AppsV1().Deployments(d.Namespace).Create(context.Background(), d, dryRun); err != nil {
		t.Error(err)
	}
	// Two ledgers must not bind at the same time: the flag, and the Lease that both files and the Role name.
	if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--election=follow-scheduler") {
		t.Errorf("%d replicas without an election: %v", *d.Spec.Replicas, args)
	}
	theLeaseIsTheSame(t)
	// The namespace enforces the standard "restricted"; it judges pods, not deployments.
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "from-template", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
	if _, err := plane.Client.CoreV1().Pods(d.Namespace).Create(context.Background(), p, dryRun); err != nil {
		t.Error(err)
	}
	bad := p.DeepCopy()
	bad.Spec.HostNetwork = true
	if _, err := plane.Client.CoreV1().Pods(d.Namespace).Create(context.Background(), bad, dryRun); err == nil {
		t.Errorf("the namespace admits a pod with hostNetwork: the standard is not enforced")
	}
}

// theLeaseIsTheSame compares what the two configurations, both of the scheduler's, and the Role of fgpu say.
func theLeaseIsTheSame(t *testing.T) {
	t.Helper()
	var ours struct {
		Lease struct{ Object, LeaseDuration, RenewDeadline, RetryPeriod string }
	}
	read(t, &ours, "dedicated", "fgpu.yaml")
	for _, file := range []string{"scheduler.yaml", "scheduler-advertised.yaml"} {
		var theirs struct {
			LeaderElection struct {
				LeaderElect                                                                bool
				ResourceNamespace, ResourceName, LeaseDuration, RenewDeadline, RetryPeriod string
			}
		}
		read(t, &theirs, "dedicated", file)
		e, l := theirs.LeaderElection, ours.Lease
		if !e.LeaderElect || e.ResourceNamespace+"/"+e.ResourceName != l.Object || e.LeaseDuration != l.LeaseDuration ||
			e.RenewDeadline != l.RenewDeadline || e.RetryPeriod != l.RetryPeriod {
			t.Errorf("%s says %+v, fgpu.yaml %+v", file, e, l)
		}
	}
	objects, err := harness.Objects(manifest("dedicated", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if r, ok := o.(*rbacv1.Role); ok && r.Name == "fgpu-follow" {
			if len(r.Rules) != 1 || !slices.Equal(r.Rules[0].Verbs, []string{"get"}) ||
				r.Namespace+"/"+strings.Join(r.Rules[0].ResourceNames, ",") != ours.Lease.Object {
				t.Errorf("fgpu-follow has %+v", r.Rules)
			}
			return
		}
	}
	t.Error("there is no Role fgpu-follow")
}

// The agent needs a namespace of its own: fgpu-system would not admit it.
func TestTheAgentIsAdmittedInItsNamespaceOnly(t *testing.T) {
	ctx := context.Background()
	if err := plane.Apply(ctx, manifest("node", "namespace.yaml"), manifest("node", "rbac.yaml")); err != nil {
		t.Fatal(err)
	}
	objects, err := harness.Objects(manifest("node", "daemonset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, ok := objects[0].(*appsv1.DaemonSet)
	if !ok || len(objects) != 1 {
		t.Fatalf("expected one DaemonSet, got %T", objects[0])
	}
	if _, err := plane.Client.AppsV1().DaemonSets(d.Namespace).Create(ctx, d, dryRun); err != nil {
		t.Error(err)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "from-template", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
	if _, err := plane.Client.CoreV1().Pods(d.Namespace).Create(ctx, p, dryRun); err != nil {
		t.Error(err)
	}
	if _, err := plane.Client.CoreV1().Pods("fgpu-system").Create(ctx, p, dryRun); err == nil {
		t.Errorf("fgpu-system admits a pod with folders of the host")
	}
	c := p.Spec.Containers[0]
	if m := c.Resources.Limits.Memory(); m.Value() < 96<<20 {
		t.Errorf("%s of memory are less than the driver's library may need", m)
	}
	if !*c.SecurityContext.ReadOnlyRootFilesystem || p.Spec.HostNetwork || *p.Spec.AutomountServiceAccountToken {
		t.Errorf("the agent has more than it needs: %+v", p.Spec)
	}
	if len(p.Spec.Tolerations) != 1 || p.Spec.Tolerations[0] != (corev1.Toleration{Operator: corev1.TolerationOpExists}) {
		t.Errorf("tolerations %v: nodes with taints would have no agent", p.Spec.Tolerations)
	}
}

func TestTheStaticPodIsAccepted(t *testing.T) {
	objects, err := harness.Objects(manifest("control-plane", "fgpu-pod.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := objects[0].(*corev1.Pod)
	if !ok || len(objects) != 1 {
		t.Fatalf("expected one Pod, got %T", objects[0])
	}
	if _, err := plane.Client.CoreV1().Pods(p.Namespace).Create(context.Background(), p, dryRun); err != nil {
		t.Error(err)
	}
}

// rights lists what an identity may do, without what every authenticated identity may.
func rights(t *testing.T, client *kubernetes.Clientset) []string {
	t.Helper()
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(context.Background(),
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, createOptions)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if strings.HasPrefix(resource, "selfsubject") {
					continue
				}
				for _, verb := range rule.Verbs {
					got = append(got, verb+" "+resource+"."+group)
				}
			}
		}
	}
	sort.Strings(got)
	return got
}

func TestFgpuMayDoWhatItNeedsAndNothingElse(t *testing.T) {
	want := []string{
		"create events.events.k8s.io", "create pods/binding.",
		"get nodes.", "get pods.", "list nodes.", "list pods.", "list resourceslices.resource.k8s.io", "patch events.events.k8s.io",
		"watch nodes.", "watch pods.", "watch resourceslices.resource.k8s.io",
	}
	dedicated, err := plane.ClientFor(context.Background(), "fgpu-system", "fgpu")
	if err != nil {
		t.Fatal(err)
	}
	beside, err := plane.ClientForUser("fgpu")
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*kubernetes.Clientset{"dedicated": dedicated, "control-plane": beside} {
		if got := rights(t, client); !slices.Equal(got, want) {
			t.Errorf("%s: fgpu may %v, expected %v", name, got, want)
		}
		// And the API server acts on it.
		if _, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{Limit: 1}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := client.CoreV1().Secrets("fgpu-system").List(context.Background(), metav1.ListOptions{}); err == nil {
			t.Errorf("%s: fgpu reads secrets", name)
		}
	}
}

func TestAllVariantsGiveFgpuTheSameRules(t *testing.T) {
	folders := []string{"dedicated", "control-plane", "mtls"}
	rules := make([][]rbacv1.PolicyRule, len(folders))
	for i, folder := range folders {
		objects, err := harness.Objects(manifest(folder, "rbac.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if role, ok := o.(*rbacv1.ClusterRole); ok {
				rules[i] = append(rules[i], role.Rules...)
			}
		}
	}
	for i := range folders {
		if a, b := mustJSON(t, rules[0]), mustJSON(t, rules[i]); a != b {
			t.Errorf("%s: %s\n%s: %s", folders[0], a, folders[i], b)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// read decodes a YAML or JSON file; unknown keys are allowed because only some are looked at.
func read(t *testing.T, into any, parts ...string) {
	t.Helper()
	text, err := os.ReadFile(manifest(parts...))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", filepath.Join(parts...), err)
	}
}

type extender struct {
	URLPrefix        string    `json:"urlPrefix"`
	FilterVerb       string    `json:"filterVerb"`
	PrioritizeVerb   string    `json:"prioritizeVerb"`
	PreemptVerb      string    `json:"preemptVerb"`
	BindVerb         string    `json:"bindVerb"`
	Weight           int       `json:"weight"`
	HTTPTimeout      any       `json:"httpTimeout"`
	EnableHTTPS      *bool     `json:"enableHttps"`
	NodeCacheCapable bool      `json:"nodeCacheCapable"`
	Ignorable        bool      `json:"ignorable"`
	ManagedResources []managed `json:"managedResources"`
}

type managed struct {
	Name               string `json:"name"`
	IgnoredByScheduler bool   `json:"ignoredByScheduler"`
}

func names(e extender) (names []string) {
	for _, m := range e.ManagedResources {
		names = append(names, m.Name)
	}
	sort.Strings(names)
	return names
}

// schedulerFile is the part of a KubeSchedulerConfiguration that has to agree with other files.
type schedulerFile struct {
	PercentageOfNodesToScore *int       `json:"percentageOfNodesToScore"`
	Extenders                []extender `json:"extenders"`
	Profiles                 []struct {
		PluginConfig []struct {
			Name string
			Args struct {
				IgnoredResources      []string `json:"ignoredResources"`
				IgnoredResourceGroups []string `json:"ignoredResourceGroups"`
			} `json:"args"`
		} `json:"pluginConfig"`
	} `json:"profiles"`
}

// ignores says whether kube-scheduler places pods with this resource on nodes that have none of it.
func (s schedulerFile) ignores(name string) bool {
	group, _, _ := strings.Cut(name, "/")
	for _, plugin := range s.Profiles[0].PluginConfig {
		if slices.Contains(plugin.Args.IgnoredResources, name) || slices.Contains(plugin.Args.IgnoredResourceGroups, group) {
			return true
		}
	}
	return false
}

// vocabulary is the part of a fgpu.yaml that a KubeSchedulerConfiguration has to agree with.
type vocabulary struct {
	Serving   struct{ BindsAllPods bool }
	Resources struct {
		Compute              []struct{ Name, Picks string }
		Memory, Count, Whole []string
	}
}

// byPicker sorts the names: those whose GPUs fgpu picks, which no plugin publishes, and those of plugins.
func (v vocabulary) byPicker() (ours, plugins []string) {
	ours, plugins = append(ours, append(v.Resources.Memory, v.Resources.Count...)...), append(plugins, v.Resources.Whole...)
	for _, c := range v.Resources.Compute {
		if c.Picks == "kubelet" {
			plugins = append(plugins, c.Name)
		} else {
			ours = append(ours, c.Name)
		}
	}
	return ours, plugins
}

func TestAllSchedulerConfigurationsAgree(t *testing.T) {
	var known []string
	for _, f := range []form{dedicated, advertised, besideDefault} {
		var v vocabulary
		read(t, &v, f.folder, "fgpu.yaml")
		ours, plugins := v.byPicker()
		known = append(slices.Clone(ours), plugins...)
		sort.Strings(known)

		var s schedulerFile
		read(t, &s, f.folder, f.scheduler)
		if len(s.Extenders) != 1 || len(s.Profiles) != 1 {
			t.Fatalf("%s: %d extenders, %d profiles", f.name, len(s.Extenders), len(s.Profiles))
		}
		e := s.Extenders[0]
		preempt := "" // kube-scheduler calls it only where it can count victims by itself
		if f == advertised {
			preempt = "preempt"
		}
		url := "http://127.0.0.1:9443/v1"
		if f == besideDefault { // hostNetwork: whoever is on the host reaches it
			url = "https://127.0.0.1:9443/v1"
		}
		if e.URLPrefix != url || (e.EnableHTTPS != nil && *e.EnableHTTPS) != (f == besideDefault) || e.FilterVerb != "filter" || e.PrioritizeVerb != "prioritize" ||
			e.BindVerb != "bind" || e.PreemptVerb != preempt || e.Weight != 200 || e.HTTPTimeout != "10s" || !e.NodeCacheCapable ||
			e.Ignorable || s.PercentageOfNodesToScore == nil || *s.PercentageOfNodesToScore != 0 {
			t.Errorf("%s: %+v", f.name, e)
		}
		want := known
		if f != besideDefault { // a scheduler of our own sends every pod, and fgpu has to know
			want = nil
		}
		if got := names(e); !slices.Equal(got, want) || v.Serving.BindsAllPods != (want == nil) {
			t.Errorf("%s: managed are %v, fgpu.yaml knows %v and has bindsAllPods %v", f.name, got, known, v.Serving.BindsAllPods)
		}
		for _, m := range e.ManagedResources {
			if m.IgnoredByScheduler {
				t.Errorf("%s: ignoredByScheduler at %s would overwrite ignoredResources of every profile", f.name, m.Name)
			}
		}
		for _, name := range ours {
			if total := f == advertised && strings.HasPrefix(name, "fgpu.io/"); s.ignores(name) == total {
				t.Errorf("%s: fgpu picks the GPUs of %s; kube-scheduler ignores it: %v", f.name, name, s.ignores(name))
			}
		}
		for _, name := range plugins {
			if s.ignores(name) {
				t.Errorf("%s: kube-scheduler does not count %s, which a device plugin publishes", f.name, name)
			}
		}
	}

	var policy struct {
		Kind, APIVersion string
		Extenders        []extender `json:"extenders"`
	}
	read(t, &policy, "legacy", "policy.json")
	e := policy.Extenders[0]
	if policy.Kind != "Policy" || policy.APIVersion != "v1" || e.EnableHTTPS == nil || e.HTTPTimeout != float64(10e9) ||
		!*e.EnableHTTPS || e.URLPrefix != "https://127.0.0.1:9443/v1" || e.Weight != 200 || e.Ignorable || !e.NodeCacheCapable {
		t.Errorf("policy.json: %+v", e)
	}
	if got := names(e); !slices.Equal(got, known) {
		t.Errorf("policy.json: managed are %v, fgpu.yaml knows %v", got, known)
	}
	var v vocabulary
	read(t, &v, "dedicated", "fgpu.yaml")
	ours, _ := v.byPicker()
	for _, m := range e.ManagedResources {
		if m.IgnoredByScheduler != slices.Contains(ours, m.Name) {
			t.Errorf("policy.json: ignoredByScheduler of %s is %v", m.Name, m.IgnoredByScheduler)
		}
	}
}

func TestTheKustomizationNamesWhatIsThere(t *testing.T) {
	var k struct {
		Resources          []string
		ConfigMapGenerator []struct {
			Name, Namespace string
			Files           []string
		}
		Images []struct{ Name string }
	}
	read(t, &k, "dedicated", "kustomization.yaml")
	files := slices.Clone(k.Resources)
	keys := map[string]bool{}
	for _, f := range k.ConfigMapGenerator[0].Files {
		key, file, renamed := strings.Cut(f, "=")
		if !renamed {
			file = key
		}
		keys[key] = true
		files = append(files, file)
	}
	for _, f := range files {
		if _, err := os.Stat(manifest("dedicated", f)); err != nil {
			t.Error(err)
		}
	}
	objects, err := harness.Objects(manifest("dedicated", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec := objects[0].(*appsv1.Deployment).Spec.Template.Spec
	if got := spec.Volumes[0].ConfigMap.Name; got != k.ConfigMapGenerator[0].Name {
		t.Errorf("the pod mounts ConfigMap %q, kustomize makes %q", got, k.ConfigMapGenerator[0].Name)
	}
	for _, c := range spec.Containers {
		for _, arg := range append(c.Command, c.Args...) {
			if _, file, ok := strings.Cut(arg, "--config=/etc/fgpu/"); ok && !keys[file] {
				t.Errorf("container %s reads %s, which is not in the ConfigMap", c.Name, file)
			}
		}
		image, _, _ := strings.Cut(c.Image, ":")
		if !slices.ContainsFunc(k.Images, func(i struct{ Name string }) bool { return i.Name == image }) {
			t.Errorf("image %s cannot be set in kustomization.yaml", image)
		}
	}
}

func TestTheShippedConfigurationsAreValid(t *testing.T) {
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("no fgpu to test: %v (scripts/build builds it, FGPU_BIN names another one)", err)
	}
	for _, folder := range []string{"dedicated", "control-plane"} {
		if out, err := exec.Command(binary, "check-config", manifest(folder, "fgpu.yaml")).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", folder, err, out)
		}
	}
}
