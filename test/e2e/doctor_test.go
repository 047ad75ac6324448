package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// patient is a right installation in the form dedicated, into which faults are planted.
type patient struct {
	*cluster
	kubeconfig string
	scheduler  string // the KubeSchedulerConfiguration that is right
	agentNode  string
	ahead      time.Duration // of the API server's clock, as the front tells it
	more       []string      // options of the command
}

// fault is planted in the installation, gives these findings ("check object"), and is mended again.
type fault struct {
	name, finding string
	plant, mend   func()
}

type diagnosis struct {
	OK       bool `json:"ok"`
	Findings []struct {
		Check, Severity, Object, Text, Fix string
	} `json:"findings"`
}

// admitted makes everything that a right installation has, and that the other tests do without.
func admitted(t *testing.T) *patient {
	agent := gpuNode("doctor-agent", 1, gib80)
	agent.Annotations[checker.InventoryKey] = byAgent(agent, "")
	c := newCluster(t, gpuNode("doctor-a", 2, gib80), gpuNode("doctor-b", 1, gib80), plainNode("doctor-plain"), plainNode("doctor-twin"), agent)
	d := &patient{cluster: c, agentNode: agent.Name}
	c.ownFgpu(dedicated)
	adapted := filepath.Join(plane.Dir, c.name+".doctor.yaml")
	c.must(nil, harness.Adapt(manifest("dedicated", "scheduler.yaml"), adapted,
		harness.Replacement{Old: "http://127.0.0.1:9443", New: c.fgpu.VerbsURL}))
	text, err := os.ReadFile(adapted)
	c.must(text, err)
	d.scheduler = string(text)
	c.must(nil, plane.Apply(c.ctx, manifest("node", "namespace.yaml"), manifest("node", "rbac.yaml"), manifest("node", "policy.yaml")))
	d.tell(d.scheduler)
	d.runtimeClass()
	d.runAgent()
	d.front()
	t.Cleanup(func() {
		c.gone(plane.Client.CoreV1().ConfigMaps("fgpu-system").Delete(c.ctx, "fgpu-config", metav1.DeleteOptions{}))
		c.gone(plane.Client.NodeV1().RuntimeClasses().Delete(c.ctx, "nvidia", metav1.DeleteOptions{}))
	})
	return d
}

// byAgent is the annotation of a node as fgpu-node would write it, with these doors open.
func byAgent(n *corev1.Node, doors string) string {
	return strings.Replace(n.Annotations[checker.InventoryKey], `{"v":1,`, `{"v":1,"by":"fgpu-node","doors":[`+doors+`],`, 1)
}

// tell puts a KubeSchedulerConfiguration where the form dedicated has it.
func (d *patient) tell(scheduler string) {
	d.Helper()
	configs := plane.Client.CoreV1().ConfigMaps("fgpu-system")
	d.gone(configs.Delete(d.ctx, "fgpu-config", metav1.DeleteOptions{}))
	d.must(configs.Create(d.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "fgpu-config"},
		Data: map[string]string{"scheduler.yaml": scheduler}}, metav1.CreateOptions{}))
}

func (d *patient) runtimeClass() {
	d.Helper()
	d.must(plane.Client.NodeV1().RuntimeClasses().Create(d.ctx,
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia"}, metav1.CreateOptions{}))
}

// runAgent makes the pod of the DaemonSet, as its node says that it runs.
func (d *patient) runAgent() {
	d.Helper()
	p := pod("fgpu-node-x")
	p.Labels = map[string]string{"app.kubernetes.io/name": "fgpu-node"}
	p.Spec.NodeName = d.agentNode
	d.create(p)
	_, err := plane.Client.CoreV1().Pods(d.namespace).Patch(d.ctx, p.Name, types.MergePatchType,
		[]byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
	d.must(nil, err)
}

// front stands before the API server and tells another time, if the test says so; doctor asks through it.
func (d *patient) front() {
	d.Helper()
	ca, err := os.ReadFile(filepath.Join(plane.Dir, "certs", "apiserver.crt"))
	d.must(ca, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	target, err := url.Parse(plane.URL)
	d.must(target, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(d.ahead).UTC().Format(http.TimeFormat))
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
			d.Errorf("fgpu doctor changes something: %s %s", r.Method, r.URL)
		}
		proxy.ServeHTTP(w, r)
	}))
	d.Cleanup(server.Close)
	if d.kubeconfig, err = plane.AdminKubeconfigAt(server.URL); err != nil {
		d.Fatal(err)
	}
}

// diagnose runs the command as an admin would.
func (d *patient) diagnose() (found []string, said string) {
	d.Helper()
	out, err := exec.CommandContext(d.ctx, binary, append([]string{"doctor", "--kubeconfig", d.kubeconfig, "--server", d.fgpu.OpsURL,
		"-o", "json"}, d.more...)...).Output()
	var got diagnosis
	if json.Unmarshal(out, &got) != nil {
		d.Fatalf("fgpu doctor: %v: %s", err, out)
	}
	if got.OK != (err == nil) {
		d.Errorf("exit code %v, and ok is %v", err, got.OK)
	}
	for _, f := range got.Findings {
		found = append(found, strings.TrimSpace(f.Check+" "+f.Object))
		if f.Severity != "fault" || f.Fix == "" {
			d.Errorf("strange: %+v", f)
		}
	}
	return found, string(out)
}

// finds waits until exactly these are found: what a test does reaches fgpu a moment later.
func (d *patient) finds(what string, expected ...string) {
	d.Helper()
	slices.Sort(expected)
	d.eventually(fmt.Sprintf("%s: %q", what, expected), func() (bool, string) {
		found, said := d.diagnose()
		slices.Sort(found)
		return slices.Equal(found, expected), fmt.Sprintf("found %q: %s", found, said)
	})
}

// wiring is a fault of the file that kube-scheduler reads.
func (d *patient) wiring(check, old, wrong string) fault {
	return fault{check, check + " ConfigMap fgpu-system/fgpu-config",
		func() {
			if strings.Count(d.scheduler, old) != 1 {
				d.Fatalf("%q is not once in the shipped file", old)
			}
			configs := plane.Client.CoreV1().ConfigMaps("fgpu-system")
			m, err := configs.Get(d.ctx, "fgpu-config", metav1.GetOptions{})
			d.must(m, err)
			d.tell(strings.Replace(m.Data["scheduler.yaml"], old, wrong, 1))
		},
		func() { d.tell(d.scheduler) }}
}

func (d *patient) node(name string, change func(*corev1.Node)) {
	d.Helper()
	n, err := plane.Client.CoreV1().Nodes().Get(d.ctx, name, metav1.GetOptions{})
	d.must(n, err)
	change(n)
	d.must(plane.Client.CoreV1().Nodes().Update(d.ctx, n, metav1.UpdateOptions{}))
}

func (d *patient) faultsOfNodes() []fault {
	const hami = "hami.io/node-nvidia-register"
	return []fault{
		{"no inventory", "inventory node doctor-plain",
			func() {
				d.node("doctor-plain", func(n *corev1.Node) { n.Labels["nvidia.com/gpu.present"] = "true" })
			},
			func() { d.node("doctor-plain", func(n *corev1.Node) { delete(n.Labels, "nvidia.com/gpu.present") }) }},
		{"two inventories", "two-inventories node doctor-b",
			func() {
				d.node("doctor-b", func(n *corev1.Node) { n.Annotations[hami] = "GPU-x,10,81920,100,NVIDIA,0,true:" })
			},
			func() { d.node("doctor-b", func(n *corev1.Node) { delete(n.Annotations, hami) }) }},
		{"one GPU on two nodes", "same-gpu GPU GPU-doctor-a-0",
			func() {
				d.node("doctor-twin", func(n *corev1.Node) {
					n.Annotations = map[string]string{checker.InventoryKey: `{"v":1,"gpus":[{"uuid":"GPU-doctor-a-0","index":0,"memMib":81920}]}`}
				})
			},
			func() { d.node("doctor-twin", func(n *corev1.Node) { delete(n.Annotations, checker.InventoryKey) }) }},
		{"no agent", "agents node " + d.agentNode,
			func() { d.must(nil, d.remove("fgpu-node-x")) },
			d.runAgent},
		{"open door", "doors node " + d.agentNode,
			func() {
				d.node(d.agentNode, func(n *corev1.Node) {
					n.Annotations[checker.InventoryKey] = strings.Replace(n.Annotations[checker.InventoryKey], `"doors":[]`, `"doors":["variable"]`, 1)
				})
			},
			func() {
				d.node(d.agentNode, func(n *corev1.Node) {
					n.Annotations[checker.InventoryKey] = strings.Replace(n.Annotations[checker.InventoryKey], `"doors":["variable"]`, `"doors":[]`, 1)
				})
			}},
		{"no runtime class", "runtime-class",
			func() {
				d.must(nil, plane.Client.NodeV1().RuntimeClasses().Delete(d.ctx, "nvidia", metav1.DeleteOptions{}))
			},
			d.runtimeClass},
	}
}

// bindAround makes a pod and binds it as another scheduler would.
func (d *patient) bindAround(p *corev1.Pod, node string) {
	d.Helper()
	p.Spec.SchedulerName = "somebody-else"
	d.create(p)
	d.must(nil, plane.Client.CoreV1().Pods(d.namespace).Bind(d.ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{}))
}

func (d *patient) faultsOfPods() []fault {
	return []fault{
		{"past fgpu", "bypass pod " + d.namespace + "/past",
			func() { d.bindAround(pod("past", "fgpu.io/gpu-milli=100"), "doctor-a") },
			func() { d.must(nil, d.remove("past")) }},
		{"foreign record", "records pod " + d.namespace + "/copied",
			func() {
				// What fgpu wrote for a pod like it, but the signature.
				runs := d.bound("runs")
				copied := pod("copied", "fgpu.io/gpu-milli=300")
				copied.Annotations = maps.Clone(runs.Annotations)
				var record map[string]any
				d.must(nil, json.Unmarshal([]byte(runs.Annotations[checker.AssignmentKey]), &record))
				delete(record, "sig")
				text, err := json.Marshal(record)
				d.must(text, err)
				copied.Annotations[checker.AssignmentKey] = string(text)
				d.bindAround(copied, runs.Spec.NodeName)
			},
			func() { d.must(nil, d.remove("copied")) }},
	}
}

func (d *patient) faultsOfTheCluster() []fault {
	var role *rbacv1.ClusterRole
	var binding *admissionv1.ValidatingAdmissionPolicyBinding
	roles, bindings := plane.Client.RbacV1().ClusterRoles(), plane.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	return []fault{
		{"a right is missing", "rights user system:serviceaccount:fgpu-system:fgpu",
			func() {
				var err error
				role, err = roles.Get(d.ctx, "fgpu", metav1.GetOptions{})
				d.must(role, err)
				less := role.DeepCopy()
				less.Rules = slices.DeleteFunc(less.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/binding") })
				d.must(roles.Update(d.ctx, less, metav1.UpdateOptions{}))
			},
			func() {
				role.ResourceVersion = ""
				d.must(roles.Update(d.ctx, role, metav1.UpdateOptions{}))
			}},
		{"a policy is not in force", "policies",
			func() {
				var err error
				binding, err = bindings.Get(d.ctx, "fgpu-bindings", metav1.GetOptions{})
				d.must(binding, err)
				d.must(nil, bindings.Delete(d.ctx, binding.Name, metav1.DeleteOptions{}))
			},
			func() {
				binding.ObjectMeta = metav1.ObjectMeta{Name: binding.Name, Labels: binding.Labels}
				d.must(bindings.Create(d.ctx, binding, metav1.CreateOptions{}))
			}},
		{"clocks apart", "clocks", func() { d.ahead = time.Hour }, func() { d.ahead = 0 }},
	}
}

// Each fault alone gives its finding and no other; mended, all is right again. Then all at once, and nothing beside them.
func TestDoctorFindsEachPlantedFaultAndNothingElse(t *testing.T) {
	d := admitted(t)
	d.recorder.Bypass("past")
	d.recorder.Bypass("copied")
	d.finds("nothing is wrong")

	// Before kube-scheduler asks fgpu for the first time: a pod that names a scheduler which nobody has.
	stranger := pod("stranger", "fgpu.io/gpu-milli=100")
	stranger.Spec.SchedulerName = "nobody-has-this-name"
	d.create(stranger)
	d.finds("nobody asks", "asked pod "+d.namespace+"/stranger")
	d.must(nil, d.remove("stranger"))

	d.startScheduler(dedicated)
	d.create(pod("runs", "fgpu.io/gpu-milli=300"), annotated(pod("asks"), "fgpu.io/gpu-fraction=0.2"))
	d.bound("runs")
	d.bound("asks")
	d.finds("nothing is wrong with pods either")

	faults := []fault{
		d.wiring("weight", "weight: 200", "weight: 1"),
		d.wiring("ignorable", "ignorable: false", "ignorable: true"),
		d.wiring("timeout", "httpTimeout: 10s", "httpTimeout: 2s"),
		d.wiring("managed-resources", "managedResources: []", "managedResources: [{name: fgpu.io/gpu-milli}]"),
		d.wiring("ignored-resources", "ignoredResourceGroups: [fgpu.io]", "ignoredResourceGroups: []"),
		d.wiring("binders", "extenders:\n", "extenders:\n- {urlPrefix: \"http://127.0.0.1:1/other\", bindVerb: bind}\n"),
	}
	faults = append(append(append(faults, d.faultsOfNodes()...), d.faultsOfPods()...), d.faultsOfTheCluster()...)
	if len(faults) < 12 {
		t.Fatalf("%d faults", len(faults))
	}
	for _, f := range faults {
		f.plant()
		d.finds(f.name, f.finding)
		f.mend()
	}
	d.finds("all is mended")

	var all []string
	for _, f := range faults {
		f.plant()
		all = append(all, f.finding)
	}
	d.finds("all at once", all...)
	for _, f := range faults {
		f.mend()
	}
	d.finds("all is mended again")
	d.must(nil, policiesAreInForce(d.ctx)) // for the tests that follow
}

// The form light speaks TLS, so doctor shows the certificate of kube-scheduler and reads the file that this one reads.
func TestDoctorIsGreenBesideTheControlPlanesKubeScheduler(t *testing.T) {
	c := newCluster(t, gpuNode("doctor-light", 1, gib80))
	c.install(besideDefault)
	c.create(pod("share", "fgpu.io/gpu-milli=300"))
	c.bound("share")
	d := &patient{cluster: c}
	d.runtimeClass()
	defer func() {
		d.must(nil, plane.Client.NodeV1().RuntimeClasses().Delete(d.ctx, "nvidia", metav1.DeleteOptions{}))
	}()
	d.front()
	file := func(name string) string { return filepath.Join(c.certificateDir, name) }
	light := []string{"--scheduler-config", filepath.Join(plane.Dir, c.name+"."+besideDefault.scheduler), "--fgpu-user", "fgpu",
		"--ca-file", file("ca.crt"), "--cert-file", file("scheduler.crt"), "--key-file", file("scheduler.key")}
	d.more = light
	d.finds("nothing is wrong")
	d.more = append(slices.Clone(light), "--fgpu-user", "nobody")
	d.eventually("whose rights are looked at", func() (bool, string) {
		found, said := d.diagnose()
		return len(found) > 0 && !slices.ContainsFunc(found, func(f string) bool { return f != "rights user nobody" }), said
	})
}
