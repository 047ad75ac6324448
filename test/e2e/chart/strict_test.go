package chart

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// consistency: strict comes with the right to the Leases, in every form, and neither comes unasked.
func TestStrictConsistencyComesWithItsRight(t *testing.T) {
	const config = "ConfigMap fgpu-system/fgpu-config"
	const role = "Role fgpu-system/fgpu-intents"

	helm := byName(t, rendered(t, values{"consistency": "strict", "config": values{"devices": values{"maxSharers": 8}}}))
	kustomize := byName(t, kustomized(t, "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line, ../manifests/strict]\n"))
	if got := consistency(t, helm[config]); got != "strict" {
		t.Errorf("the configuration says %q: %s", got, text(helm[config].Object))
	}
	if !strings.Contains(text(helm[config].Object), "maxSharers: 8") {
		t.Errorf("other keys are gone: %s", text(helm[config].Object))
	}
	delete(helm, config)
	delete(kustomize, config)
	compare(t, kustomize, helm)

	if _, has := byName(t, rendered(t, values{"form": "mtls", "consistency": "strict"}))[role]; !has {
		t.Error("behind a Service there is no right")
	}
	byDefault := byName(t, rendered(t, nil))
	if _, has := byDefault[role]; has || consistency(t, byDefault[config]) != "" {
		t.Errorf("strict although nobody asked: %s", text(byDefault[config].Object))
	}
}

// Whoever installs the right for another namespace sets the key of fgpu, and the chart leaves it alone.
func TestStrictConsistencyInAnotherNamespaceIsTheAdmins(t *testing.T) {
	mine := values{"consistency": "strict", "clientConnection": values{"intentObjects": "others/fgpu-intents"}}
	all := byName(t, rendered(t, values{"config": mine}))
	if got := consistency(t, all["ConfigMap fgpu-system/fgpu-config"]); got != "strict" {
		t.Errorf("the configuration says %q", got)
	}
	for name := range all {
		if strings.Contains(name, "fgpu-intents") {
			t.Errorf("%s although nobody asked", name)
		}
	}
}

func TestTheNotesSayHowStrictConsistencyIsRemoved(t *testing.T) {
	for value, says := range map[string]bool{"strict": true, "default": false} {
		r, err := tryRender(kubeVersion, values{"consistency": value})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Info.Notes, "-l fgpu.io/intents") != says {
			t.Errorf("%s: %s", value, r.Info.Notes)
		}
	}
}

func consistency(t *testing.T, config unstructured.Unstructured) string {
	t.Helper()
	written, _, err := unstructured.NestedString(config.Object, "data", "fgpu.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ Consistency string }
	if err := yaml.Unmarshal([]byte(written), &read); err != nil {
		t.Fatal(err)
	}
	return read.Consistency
}
