package chart

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The right to patch pods/status never comes without the policy that narrows it, nor planning without either.
func TestPlanningAheadComesWithItsRightAndItsPolicy(t *testing.T) {
	const config = "ConfigMap fgpu-system/fgpu-config"
	const policy = "ValidatingAdmissionPolicy /fgpu-plan-ahead"

	helm := byName(t, rendered(t, values{"planAhead": values{"enabled": true}}))
	kustomize := byName(t, kustomized(t, "resources: [../manifests/dedicated, ../manifests/node, ../manifests/one-line, ../manifests/plan-ahead]\n"))
	if !planning(t, helm[config]) || planning(t, kustomize[config]) {
		t.Errorf("the chart is to set planAhead.enabled: %s", text(helm[config].Object))
	}
	delete(helm, config)
	delete(kustomize, config)
	compare(t, kustomize, helm)

	others := byName(t, rendered(t, values{"form": "mtls", "planAhead": values{"enabled": true, "schedulers": []any{"default-scheduler", "second"}}}))
	if !strings.Contains(fmt.Sprint(others[policy].Object), "['default-scheduler', 'second']") {
		t.Errorf("not the schedulers of the value: %s", text(others[policy].Object))
	}
	for name := range byName(t, rendered(t, nil)) {
		if strings.Contains(name, "plan-ahead") {
			t.Errorf("%s although nobody asked", name)
		}
	}
}

func planning(t *testing.T, config unstructured.Unstructured) bool {
	t.Helper()
	written, _, err := unstructured.NestedString(config.Object, "data", "fgpu.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ PlanAhead struct{ Enabled bool } }
	if err := yaml.Unmarshal([]byte(written), &read); err != nil {
		t.Fatal(err)
	}
	return read.PlanAhead.Enabled
}
