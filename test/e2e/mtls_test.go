package e2e

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// certificates lets the shipped script make a CA and what it signs.
func (c *cluster) certificates(name string) string {
	c.Helper()
	dir := filepath.Join(plane.Dir, c.name+"."+name)
	if out, err := exec.Command(manifest("mtls", "certificates.sh"), dir).CombinedOutput(); err != nil {
		c.Fatalf("certificates.sh: %v\n%s", err, out)
	}
	return dir
}

// installMTLS runs fgpu and kube-scheduler from manifests/mtls. TLS is spoken on loopback here; what is served off
// loopback is the same. `theirs` is where kube-scheduler has its certificate from.
func (c *cluster) installMTLS(ours, theirs string) {
	c.Helper()
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	c.must(nil, harness.Adapt(manifest("mtls", "fgpu.yaml"), config,
		harness.Replacement{Old: "certFile: /etc/fgpu-tls", New: "onLoopback: tls\n    certFile: " + ours},
		harness.Replacement{Old: "keyFile: /etc/fgpu-tls", New: "keyFile: " + ours},
		harness.Replacement{Old: "clientCAFile: /etc/fgpu-tls", New: "clientCAFile: " + ours}))
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, config, kubeconfig); err != nil {
		c.Fatal(err)
	}
	c.must(nil, c.fgpu.PresentCertificate(filepath.Join(ours, "scheduler.crt"), filepath.Join(ours, "scheduler.key"),
		filepath.Join(ours, "ca.crt")))

	kubeconfig, err = plane.UserKubeconfig("system:kube-scheduler")
	c.must(kubeconfig, err)
	c.schedulerName = "default-scheduler"
	verbs, err := url.Parse(c.fgpu.VerbsURL)
	c.must(verbs, err)
	scheduler := filepath.Join(plane.Dir, c.name+".scheduler.yaml")
	c.must(nil, harness.Adapt(manifest("mtls", "scheduler.yaml"), scheduler,
		harness.Replacement{Old: "kubeconfig: /etc/kubernetes/scheduler.conf", New: fmt.Sprintf("kubeconfig: %q", kubeconfig)},
		harness.Replacement{Old: "CLUSTER-IP:9443", New: verbs.Host},
		harness.Replacement{Old: "/etc/kubernetes/fgpu/ca.crt", New: filepath.Join(ours, "ca.crt")},
		harness.Replacement{Old: "/etc/kubernetes/fgpu/scheduler.crt", New: filepath.Join(theirs, "scheduler.crt")},
		harness.Replacement{Old: "/etc/kubernetes/fgpu/scheduler.key", New: filepath.Join(theirs, "scheduler.key")}))
	if c.scheduler, err = plane.StartScheduler(c.ctx, c.name, scheduler); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) opsHas(text string) bool {
	c.Helper()
	body, err := c.fgpu.Ops(c.ctx, "/metrics")
	c.must(body, err)
	return strings.Contains(string(body), text)
}

func TestKubeSchedulerWithItsCertificateSchedulesOverMTLS(t *testing.T) {
	c := newCluster(t, gpuNode("mtls", 2, gib80))
	dir := c.certificates("ours")
	c.installMTLS(dir, dir)
	c.create(pod("share", "fgpu.io/gpu-milli=400"), pod("other", "fgpu.io/gpu-milli=700"), pod("plain"))
	c.allBound(3)

	// A new certificate for fgpu, while kube-scheduler keeps its connections.
	for _, name := range []string{"tls.crt", "tls.key"} {
		c.must(nil, os.Remove(filepath.Join(dir, name)))
	}
	if out, err := exec.Command(manifest("mtls", "certificates.sh"), dir).CombinedOutput(); err != nil {
		t.Fatalf("certificates.sh: %v\n%s", err, out)
	}
	c.eventually("fgpu has the new certificate", func() (bool, string) {
		return c.opsHas(`fgpu_tls_reloads_total{outcome="ok"} 1`), "not read yet"
	})
	c.create(pod("after", "fgpu.io/gpu-milli=300"))
	c.bound("after")
	c.sound()
}

func TestKubeSchedulerWithTheWrongCertificateBindsNothing(t *testing.T) {
	c := newCluster(t, gpuNode("wrong-cert", 1, gib80))
	c.installMTLS(c.certificates("ours"), c.certificates("theirs"))
	c.create(pod("share", "fgpu.io/gpu-milli=400"), pod("plain"))
	c.bound("plain") // not fgpu's business
	c.eventually("kube-scheduler has tried in vain", func() (bool, string) {
		attempts, err := c.scheduler.Attempts(c.ctx)
		c.must(attempts, err)
		return attempts["error"] >= 2, fmt.Sprint(attempts)
	})
	if !c.opsHas(`fgpu_http_connections_dropped_total{listener="verbs",reason="bad-certificate"}`) ||
		c.opsHas(`fgpu_http_connections_dropped_total{listener="verbs",reason="bad-certificate"} 0`) {
		t.Errorf("no refused certificate is counted")
	}
	if c.opsHas(`fgpu_http_requests_total{listener="verbs"`) {
		t.Errorf("a request of a caller with the wrong certificate was handled")
	}
	if p := c.recorder.Pod("share"); p == nil || p.Spec.NodeName != "" {
		t.Errorf("the pod was bound, or is gone")
	}
	c.sound()
}

func TestTheServiceAndItsDeploymentAreAdmitted(t *testing.T) {
	objects, err := harness.Objects(manifest("mtls", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 {
		t.Fatalf("%d objects, expected a Service and a Deployment", len(objects))
	}
	s, d := objects[0].(*corev1.Service), objects[1].(*appsv1.Deployment)
	if _, err := plane.Client.CoreV1().Services(s.Namespace).Create(t.Context(), s, dryRun); err != nil {
		t.Error(err)
	}
	if _, err := plane.Client.AppsV1().Deployments(d.Namespace).Create(t.Context(), d, dryRun); err != nil {
		t.Error(err)
	}
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("%d replicas, strategy %s: two ledgers could bind at the same time", *d.Spec.Replicas, d.Spec.Strategy.Type)
	}
	for key, value := range s.Spec.Selector {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, the pods have %q", key, value, d.Spec.Template.Labels[key])
		}
	}
	p := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	p.Name = "from-template"
	if _, err := plane.Client.CoreV1().Pods(d.Namespace).Create(t.Context(), p, dryRun); err != nil {
		t.Error(err)
	}
}

func TestTheMTLSFilesSayTheSameAsTheOthers(t *testing.T) {
	var texts [2]string
	for i, folder := range []string{"mtls", "dedicated"} {
		b, err := os.ReadFile(manifest(folder, "namespace.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	if texts[0] != texts[1] {
		t.Errorf("mtls/namespace.yaml and dedicated/namespace.yaml differ")
	}
	var ours, theirs schedulerFile
	read(t, &ours, "mtls", "scheduler.yaml")
	read(t, &theirs, "control-plane", "scheduler.yaml")
	ours.Extenders[0].URLPrefix = theirs.Extenders[0].URLPrefix
	if a, b := mustJSON(t, ours), mustJSON(t, theirs); a != b {
		t.Errorf("mtls/scheduler.yaml: %s\ncontrol-plane/scheduler.yaml: %s", a, b)
	}

	// The legacy form has its own spelling of one key; the rest of tlsConfig is the same.
	type file struct {
		Extenders []struct {
			URLPrefix   string
			EnableHTTPS bool
			TLSConfig   struct {
				ServerName, CertFile, KeyFile, CAFile string
				Insecure                              bool
			}
		}
	}
	var policy, config file
	read(t, &policy, "mtls", "policy.json")
	read(t, &config, "mtls", "scheduler.yaml")
	if a, b := mustJSON(t, policy), mustJSON(t, config); a != b || !policy.Extenders[0].EnableHTTPS ||
		policy.Extenders[0].TLSConfig.CAFile == "" || policy.Extenders[0].TLSConfig.Insecure {
		t.Errorf("policy.json: %s\nscheduler.yaml: %s", a, b)
	}
}
