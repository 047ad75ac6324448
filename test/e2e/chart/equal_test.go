package chart

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Both ways of installing: what they should have in common is everything that an object says, but for
//   - the Secret and the ConfigMap of keys, which an admin makes by hand beside kustomize,
//   - a hash in the name of the ConfigMap of the configuration, if kustomize appends one,
//   - checksums in annotations of the pods, and an empty list or map against none.
func TestTheChartInstallsWhatKustomizeInstalls(t *testing.T) {
	for _, row := range []struct {
		name, kustomization string
		values              values
	}{
		{"the default", "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line]\n", nil},
		{"without the one line", "resources: [../manifests/dedicated, ../manifests/node]\n", values{"oneLine": values{"enabled": false}}},
		{"no agent", "resources: [../manifests/dedicated, ../manifests/one-line]\n", values{"node": values{"enabled": false}}},
		{"limits by the driver", "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line]\n" +
			"components: [../manifests/node-limits/driver]\n", values{"node": values{"limits": "driver"}}},
		{"limits by MPS", "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line]\n" +
			"components: [../manifests/node-limits/mps]\n", values{"node": values{"limits": "mps"}}},
		{"NVIDIA's runtime", "resources: [../manifests/dedicated, ../manifests/node-nvidia-runtime, ../manifests/one-line]\n",
			values{"node": values{"nvidiaRuntime": true}}},
		{"dashboards and alerts", "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line, ../manifests/monitoring]\n",
			values{"metrics": values{"dashboards": values{"enabled": true}, "prometheusRule": values{"enabled": true}}}},
		{"mutual TLS", "resources: [../manifests/mtls, ../manifests/node]\n", values{"form": "mtls"}},
		{"mutual TLS, no agent, other image", "resources: [../manifests/mtls]\nimages: [{name: localhost/fgpu, newName: fgpu, newTag: \"7\"}]\n",
			values{"form": "mtls", "node": values{"enabled": false}, "image": values{"repository": "fgpu", "tag": "7"}}},
		{"other images", "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line]\nimages:\n" +
			"- {name: localhost/fgpu, newName: registry.example.com:5000/fgpu, newTag: \"7\"}\n" +
			"- {name: localhost/fgpu-node, newName: fgpu-node, digest: \"sha256:" + strings.Repeat("0a", 32) + "\"}\n",
			values{"image": values{"repository": "registry.example.com:5000/fgpu", "tag": "7"},
				"nodeImage": values{"repository": "fgpu-node", "tag": "sha256:" + strings.Repeat("0a", 32)}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			compare(t, byName(t, kustomized(t, row.kustomization)), byName(t, rendered(t, row.values)))
		})
	}
}

func byName(t *testing.T, all []unstructured.Unstructured) map[string]unstructured.Unstructured {
	t.Helper()
	named := map[string]unstructured.Unstructured{}
	for _, o := range all {
		name := o.GetName()
		if o.GetKind() == "ConfigMap" && strings.HasPrefix(name, "fgpu-config") {
			name = "fgpu-config"
		}
		key := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), name)
		if key == "Secret fgpu-system/fgpu-signing" || key == "ConfigMap fgpu-node/fgpu-public-keys" {
			continue
		}
		if _, twice := named[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		named[key] = o
	}
	return named
}

func compare(t *testing.T, kustomize, helm map[string]unstructured.Unstructured) {
	t.Helper()
	for key, o := range kustomize {
		other, found := helm[key]
		if !found {
			t.Errorf("%s: not in the chart", key)
		} else if a, b := plain(t, o), plain(t, other); !reflect.DeepEqual(a, b) {
			t.Errorf("%s:\nkustomize\n%s\nchart\n%s", key, text(a), text(b))
		}
	}
	for key := range helm {
		if _, found := kustomize[key]; !found {
			t.Errorf("%s: in the chart only", key)
		}
	}
	if len(kustomize) < 15 {
		t.Errorf("%d objects are too few", len(kustomize))
	}
}

// plain is an object as both write it.
func plain(t *testing.T, o unstructured.Unstructured) any {
	t.Helper()
	o = *o.DeepCopy()
	if o.GetKind() == "ConfigMap" && strings.HasPrefix(o.GetName(), "fgpu-config") {
		o.SetName("fgpu-config")
		data, _, err := unstructured.NestedStringMap(o.Object, "data")
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range data {
			var read any
			if err := yaml.UnmarshalStrict([]byte(content), &read); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if err := unstructured.SetNestedField(o.Object, read, "data", file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return normal(o.Object, "")
}

// normal drops what is empty, the checksums and the hash, and puts lists whose order means nothing in one order.
func normal(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, element := range v {
			if element = normal(element, k); element != nil && !strings.HasPrefix(k, "checksum/") {
				out[k] = element
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			out = append(out, normal(element, ""))
		}
		if key == "args" || key == "env" || key == "volumes" || key == "volumeMounts" {
			sort.Slice(out, func(i, j int) bool { return text(out[i]) < text(out[j]) })
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case string:
		if strings.HasPrefix(v, "fgpu-config-") {
			return "fgpu-config"
		}
		return v
	case int64:
		return float64(v)
	}
	return v
}

func text(v any) string {
	b, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
