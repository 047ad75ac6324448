package chart

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// server reaches objects of any kind.
type server struct {
	*testing.T
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newServer(t *testing.T) *server {
	t.Helper()
	path, err := plane.AdminKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 1000, 1000
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{t, client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(plane.Client.Discovery()))}
}

func (s *server) of(kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	s.Helper()
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		s.mapper.Reset()
		mapping, err = s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		s.Fatalf("%v: %v", kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.dynamic.Resource(mapping.Resource)
	}
	return s.dynamic.Resource(mapping.Resource).Namespace(namespace)
}

// apply is `kubectl apply --server-side --validate=strict`.
func (s *server) apply(o *unstructured.Unstructured, dryRun ...string) error {
	s.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	strict := true
	options := metav1.PatchOptions{FieldManager: "test", Force: &strict, DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}
	_, err = s.of(o.GroupVersionKind(), o.GetNamespace()).Patch(context.Background(), o.GetName(), types.ApplyPatchType, body, options)
	return err
}

// define creates the definitions of custom resources that a module has in this folder.
func (s *server) define(module string, files ...string) {
	s.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = "definitions"
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("go mod download %s: %v\n%s", module, err, out)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		s.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(downloaded.Dir, file))
		if err != nil {
			s.Fatal(err)
		}
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			s.Fatal(err)
		}
		if err := s.apply(&o); err != nil {
			s.Fatal(err)
		}
		s.until(o.GetName()+" is served", func() bool {
			got, err := s.of(o.GroupVersionKind(), "").Get(context.Background(), o.GetName(), metav1.GetOptions{})
			if err != nil {
				s.Fatal(err)
			}
			conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
			for _, c := range conditions {
				if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
					return true
				}
			}
			return false
		})
	}
}

func (s *server) until(what string, is func() bool) {
	s.Helper()
	deadline := time.Now().Add(time.Minute)
	for !is() {
		if time.Now().After(deadline) {
			s.Fatalf("waited a minute for: %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Every object of every way of installing, as the API server judges it: names, types and rules of fields, CEL, references.
func TestTheAPIServerTakesEveryObject(t *testing.T) {
	s := newServer(t)
	ctx := context.Background()
	for _, name := range []string{"fgpu-system", "fgpu-node"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := plane.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.define("github.com/prometheus-operator/prometheus-operator",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml")
	s.define("github.com/cert-manager/cert-manager", "deploy/crds/cert-manager.io_certificates.yaml")
	ways := map[string][]unstructured.Unstructured{
		"kustomize":  kustomized(t, "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line, ../manifests/monitoring]\n"),
		"default":    rendered(t, nil),
		"advertised": rendered(t, values{"form": "advertised", "node": values{"nvidiaRuntime": true}}),
		"all": rendered(t, values{
			"imagePullSecrets": []any{"registry"},
			"scheduler": values{"podDisruptionBudget": true, "nodeSelector": values{"a": "b"},
				"tolerations": []any{values{"operator": "Exists"}}, "resources": values{"limits": values{"memory": "1Gi"}}},
			"metrics": values{"certificate": "cert-manager", "issuer": values{"name": "ca", "kind": "ClusterIssuer"},
				"readers":        []any{values{"namespace": "monitoring", "name": "prometheus"}},
				"serviceMonitor": values{"enabled": true, "labels": values{"release": "prometheus"}},
				"prometheusRule": values{"enabled": true, "labels": values{"release": "prometheus"}, "runbook": "https://runbooks.example.com/fgpu"},
				"dashboards":     values{"enabled": true, "labels": values{"grafana_dashboard": nil, "board": "1"}}},
			"policies":  values{"parameters": values{"exemptNamespaces": "kube-system"}},
			"oneLine":   values{"parameters": values{"annotations": ""}},
			"planAhead": values{"enabled": true}, "consistency": "strict",
			"node":      values{"limits": "mps", "extraArgs": []any{"--refuse-privileged"}},
		}),
		"mutual TLS": rendered(t, values{"form": "mtls", "mtls": values{"certificate": "cert-manager", "issuer": values{"name": "ca"}},
			"scheduler": values{"podDisruptionBudget": true}}),
		"kustomize, mutual TLS": kustomized(t, "resources: [../manifests/mtls]\n"),
		"generated certificate": rendered(t, values{"metrics": values{"certificate": "generated", "serviceMonitor": values{"enabled": true}}}),
	}
	for way, all := range ways {
		for i := range all {
			if err := s.apply(&all[i], metav1.DryRunAll); err != nil {
				t.Errorf("%s: %s %s: %v", way, all[i].GetKind(), all[i].GetName(), err)
			}
		}
	}
	certificates := 0
	for _, o := range ways["mutual TLS"] {
		if o.GetKind() == "Certificate" {
			certificates++
		}
	}
	if certificates != 2 {
		t.Errorf("%d certificates for mutual TLS, not fgpu's and kube-scheduler's", certificates)
	}
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "Certificate", "PodDisruptionBudget"} {
		found := false
		for _, o := range ways["all"] {
			found = found || o.GetKind() == kind
		}
		if !found {
			t.Errorf("no %s was judged", kind)
		}
	}
	for _, name := range []string{"fgpu-system", "fgpu-node"} {
		if err := plane.Client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
