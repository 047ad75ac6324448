package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

func TestAWrongValueIsRefusedWithItsPlace(t *testing.T) {
	for _, row := range []struct {
		name   string
		values values
		said   []string
	}{
		{"more replicas", values{"scheduler": values{"replicas": 4}}, []string{"/scheduler/replicas", "maximum"}},
		{"a key that is none", values{"scheduler": values{"replica": 1}}, []string{"/scheduler", "replica"}},
		{"a section that is none", values{"schedulr": values{}}, []string{"schedulr"}},
		{"form", values{"form": "light"}, []string{"/form", "dedicated", "advertised"}},
		{"mutual TLS by cert-manager without issuer", values{"form": "mtls", "mtls": values{"certificate": "cert-manager"}},
			[]string{"mtls.issuer.name is needed"}},
		{"mutual TLS by nobody", values{"form": "mtls", "mtls": values{"certificate": "self-signed"}}, []string{"/mtls/certificate", "cert-manager"}},
		{"readers of metrics that nobody serves", values{"form": "mtls", "metrics": values{"readers": []any{values{"namespace": "a", "name": "b"}}}},
			[]string{"metrics.readers", "loopback"}},
		{"limits", values{"node": values{"limits": "hami"}}, []string{"/node/limits", "driver", "mps"}},
		{"tag in the repository", values{"image": values{"repository": "fgpu:1"}}, []string{"/image/repository"}},
		{"a number as text", values{"image": values{"tag": 7}}, []string{"/image/tag", "string"}},
		{"an argument that is none", values{"node": values{"extraArgs": []any{"refuse-privileged"}}}, []string{"/node/extraArgs/0"}},
		{"reader without namespace", values{"metrics": values{"readers": []any{values{"name": "p"}}}}, []string{"/metrics/readers/0", "namespace"}},
		{"election", values{"config": values{"election": "lease"}}, []string{"/config/election", "none"}},
		{"planning ahead without its policy", values{"config": values{"planAhead": values{"enabled": true}}}, []string{"/config/planAhead"}},
		{"consistency", values{"consistency": "strong"}, []string{"/consistency", "default", "strict"}},
		{"strict consistency where the chart gives no right",
			values{"consistency": "strict", "config": values{"clientConnection": values{"intentObjects": "others/fgpu-intents"}}},
			[]string{"config.clientConnection.intentObjects", "others/fgpu-intents", "manifests/strict"}},
		{"planning ahead for nobody", values{"planAhead": values{"schedulers": []any{}}}, []string{"/planAhead/schedulers"}},
		{"a scheduler that would end the text in the policy", values{"planAhead": values{"schedulers": []any{"a'b"}}}, []string{"/planAhead/schedulers/0"}},
		{"key elsewhere", values{"config": values{"signing": values{"privateKey": "/k"}}}, []string{"/config/signing"}},
		{"a public key as the private one", values{"signing": values{"privateKey": "-----BEGIN PUBLIC KEY-----"}}, []string{"/signing/privateKey"}},
		{"a private key alone", values{"signing": values{"privateKey": "-----BEGIN PRIVATE KEY-----\n"}}, []string{"signing.publicKey is needed"}},
		{"a label that is a number", values{"metrics": values{"dashboards": values{"labels": values{"grafana_dashboard": 1}}}},
			[]string{"/metrics/dashboards/labels/grafana_dashboard", "string"}},
		{"cert-manager without issuer", values{"metrics": values{"certificate": "cert-manager"}}, []string{"metrics.issuer.name is needed"}},
		{"a parameter that is none", values{"policies": values{"parameters": values{"binder": "x"}}},
			[]string{"policies.parameters.binder", "binders"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := tryRender(kubeVersion, row.values)
			if err == nil {
				t.Fatal("nobody objects")
			}
			for _, part := range row.said {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not said: %v", part, err)
				}
			}
		})
	}
}

func image(t *testing.T, version string, v values) string {
	t.Helper()
	r, err := tryRender(version, v)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(r.Manifest) {
		if _, tag, found := strings.Cut(line, "image: registry.k8s.io/kube-scheduler:"); found {
			return strings.TrimSpace(tag)
		}
	}
	t.Fatal("no kube-scheduler")
	return ""
}

func TestTheKubeSchedulerIsThatOfTheCluster(t *testing.T) {
	for version, want := range map[string]string{"v1.36.3": "v1.36.3", "v1.34.5-gke.1372000": "v1.34.5", "v1.33.1+k3s1": "v1.33.1"} {
		if got := image(t, version, nil); got != want {
			t.Errorf("%s: %s, expected %s", version, got, want)
		}
	}
	if got := image(t, "v1.36.3", values{"scheduler": values{"kubeScheduler": values{"tag": "v1.35.0"}}}); got != "v1.35.0" {
		t.Errorf("%s although v1.35.0 is asked for", got)
	}
	if _, err := tryRender("v1.29.9", nil); err == nil || !strings.Contains(err.Error(), "kubeVersion") {
		t.Errorf("Kubernetes 1.29: %v", err)
	}
}

// Before 1.33 a pod that was shown no node with room waits for its back-off before each further sample.
func TestAnOlderKubeSchedulerLooksAtAllNodes(t *testing.T) {
	percentage := regexp.MustCompile(`(?m)^ *percentageOfNodesToScore: ([0-9]+)$`)
	for _, row := range []struct {
		cluster, tag, want string
	}{
		{"v1.36.3", "", "0"}, {"v1.33.0", "", "0"}, {"v1.32.9-gke.1", "", "100"}, {"v1.30.2", "", "100"},
		{"v1.33.1", "v1.32.4", "100"}, {"v1.32.4", "v1.33.0", "0"},
	} {
		for _, form := range []string{"dedicated", "advertised"} {
			r, err := tryRender(row.cluster, values{"form": form, "scheduler": values{"kubeScheduler": values{"tag": row.tag}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := percentage.FindAllStringSubmatch(r.Manifest, -1); len(got) != 1 || got[0][1] != row.want {
				t.Errorf("%s, cluster %s, kube-scheduler %q: %v, expected %s", form, row.cluster, row.tag, got, row.want)
			}
		}
	}
}

// The lines of manifests/README.md for kustomize, which cannot ask the cluster, as they are written there.
func TestTheKubeSchedulerIsThatOfTheClusterWithKustomizeToo(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "manifests", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ +(version=\$\(kubectl get --raw .*)\n +(sed -i .*)$`).FindSubmatch(page)
	if lines == nil {
		t.Fatal("manifests/README.md has no such lines")
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "manifests"), os.DirFS(filepath.Join(root, "manifests"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "manifests", "dedicated", "kustomization.yaml")
	shipped, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(shipped, []byte("newTag: "+kubeVersion), []byte("newTag: v1.30.1"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := plane.AdminKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-euc", string(lines[1])+"\n"+string(lines[2]))
	shell.Dir = dir
	shell.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+os.Getenv("FGPU_CONTROLLERS")+":"+os.Getenv("PATH"))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, shipped) {
		t.Errorf("%v; expected the version of this API server, %s, and nothing else changed:\n%s", err, kubeVersion, after)
	}
}

func TestOnAnOlderClusterPodsNameTheScheduler(t *testing.T) {
	for version, has := range map[string]bool{"v1.36.3": true, "v1.35.4": false} {
		r, err := tryRender(version, nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Manifest, "kind: MutatingAdmissionPolicy\n") != has {
			t.Errorf("%s: the policy that sets schedulerName is there: %v", version, !has)
		}
		if strings.Contains(r.Info.Notes, "schedulerName: fgpu-scheduler") == has {
			t.Errorf("%s: %s", version, r.Info.Notes)
		}
	}
}

func TestItsOwnNamespaceIsRefusedWithTheWay(t *testing.T) {
	if _, err := tryRenderIn("fgpu-system", nil); err == nil || !strings.Contains(err.Error(), "--namespace default") {
		t.Errorf("%v", err)
	}
	if _, err := tryRenderIn("fgpu-system", values{"namespaces": values{"create": false}}); err != nil {
		t.Error(err)
	}
}

func TestAlertsAreOptInAndFollowTheAgentAndTheRunbook(t *testing.T) {
	rules := func(metrics, node values) map[string]string {
		found := map[string]string{}
		for _, o := range rendered(t, values{"metrics": metrics, "node": node}) {
			if o.GetKind() == "PrometheusRule" || o.GetName() == "fgpu-dashboards" {
				found[o.GetKind()+" "+o.GetName()] = text(o.Object)
			}
		}
		return found
	}
	if found := rules(values{}, values{}); len(found) != 0 {
		t.Errorf("by default there are %d", len(found))
	}
	on := values{"prometheusRule": values{"enabled": true, "runbook": "https://example.com/r"}}
	found := rules(on, values{"enabled": false})
	if len(found) != 1 || !strings.Contains(found["PrometheusRule fgpu"], "runbook_url: https://example.com/r#fgpudown\n") ||
		!strings.Contains(found["PrometheusRule fgpu"], "{{ $labels.instance }}") {
		t.Errorf("without agents: %v", found)
	}
	if found := rules(on, values{}); len(found) != 2 || strings.Contains(found["PrometheusRule fgpu-node"], "manifests/runbook.md") {
		t.Errorf("with agents: %v", found)
	}
}

// The agents' metrics name the namespace and the pod of containers, and the dashboards the node.
func TestTheLabelsOfTheAgentsAreKept(t *testing.T) {
	found := false
	for _, o := range rendered(t, values{"metrics": values{"serviceMonitor": values{"enabled": true}}}) {
		if o.GetKind() != "ServiceMonitor" || o.GetName() != "fgpu-node" {
			continue
		}
		found = true
		for _, part := range []string{"honorLabels: true", "targetLabel: node", "__meta_kubernetes_pod_node_name"} {
			if !strings.Contains(text(o.Object), part) {
				t.Errorf("%q is not in\n%s", part, text(o.Object))
			}
		}
	}
	if !found {
		t.Error("no ServiceMonitor fgpu-node")
	}
}

// The files of the chart are links to the folders beside it; a package has what they lead to.
func TestAPackageHasAllFiles(t *testing.T) {
	source, err := loader.Load(filepath.Join(root, "manifests", "helm"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := chartutil.Save(source, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	packed, err := loader.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range packed.Files {
		files[f.Name] = string(f.Data)
	}
	if len(files) < 15 || len(files) != len(source.Files) {
		t.Errorf("%d files, of %d", len(files), len(source.Files))
	}
	for _, f := range source.Files {
		if files[f.Name] != string(f.Data) {
			t.Errorf("%s is another one in the package", f.Name)
		}
	}
}
