package chart

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// manifests/mtls-replicas changes the Deployment of manifests/mtls as it says, and adds the right to the Lease alone.
func TestTheFormWithReplicasElectsOneOfThem(t *testing.T) {
	one := byName(t, kustomized(t, "resources: [../manifests/mtls]\n"))
	two := byName(t, kustomized(t, "resources: [../manifests/mtls-replicas]\n"))
	var added []string
	for name := range two {
		if _, is := one[name]; !is {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	if want := []string{"Role fgpu-system/fgpu-lease", "RoleBinding fgpu-system/fgpu-lease"}; !slices.Equal(added, want) {
		t.Errorf("it adds %v, not %v", added, want)
	}
	d := two["Deployment fgpu-system/fgpu"].Object
	if n, _, err := unstructured.NestedFieldNoCopy(d, "spec", "replicas"); err != nil || fmt.Sprint(n) != "2" {
		t.Errorf("%v replicas (%v)", n, err)
	}
	if unavailable, _, err := unstructured.NestedString(d, "spec", "strategy", "rollingUpdate", "maxUnavailable"); err != nil || unavailable != "100%" {
		t.Errorf("maxUnavailable is %q (%v): the one that follows is never ready, so a rollout would wait for ever", unavailable, err)
	}
	containers, _, err := unstructured.NestedSlice(d, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%d containers (%v)", len(containers), err)
	}
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if err != nil || !slices.Contains(args, "--election=lease") || !slices.Contains(args, "serve") {
		t.Errorf("the arguments are %v (%v)", args, err)
	}
}
