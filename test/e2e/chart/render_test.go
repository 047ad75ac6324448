package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

type values = map[string]any

const kubeVersion = "v1.36.3" // of the tag in manifests/dedicated

// tryRender is what `helm template` gives, for a cluster of this version.
func tryRender(version string, v values) (*release.Release, error) {
	return tryRenderAs(version, "default", v)
}

func tryRenderIn(namespace string, v values) (*release.Release, error) {
	return tryRenderAs(kubeVersion, namespace, v)
}

func tryRenderAs(version, namespace string, v values) (*release.Release, error) {
	chart, err := loader.Load(filepath.Join(root, "manifests", "helm"))
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ReleaseName, install.Namespace = "fgpu", namespace
	install.DryRun, install.ClientOnly, install.Replace = true, true, true
	if install.KubeVersion, err = chartutil.ParseKubeVersion(version); err != nil {
		return nil, err
	}
	if minorOf(install.KubeVersion.Minor) >= 36 {
		install.APIVersions = chartutil.VersionSet{"admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"}
	}
	return install.Run(chart, v)
}

func minorOf(text string) (minor int) {
	for _, c := range text {
		minor = 10*minor + int(c-'0')
	}
	return minor
}

func rendered(t *testing.T, v values) []unstructured.Unstructured {
	t.Helper()
	r, err := tryRender(kubeVersion, v)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, r.Manifest)
}

var separator = regexp.MustCompile(`(?m)^---$`)

func objects(t *testing.T, manifest string) (all []unstructured.Unstructured) {
	t.Helper()
	for _, text := range separator.Split(manifest, -1) {
		var o unstructured.Unstructured
		if err := yaml.UnmarshalStrict([]byte(text), &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// kustomized is what `kubectl kustomize` gives for a kustomization that names these folders of manifests/.
func kustomized(t *testing.T, text string) []unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "manifests"), os.DirFS(filepath.Join(root, "manifests"))); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay")
	if err := os.Mkdir(overlay, 0o755); err != nil {
		t.Fatal(err)
	}
	text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + text
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.DisabledPluginConfig()
	result, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := result.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, string(manifest))
}
