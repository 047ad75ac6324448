package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fgpu.io/fgpu/test/e2e/harness"
)

// The configuration of manifests/dedicated as it is, with a port that is free here: what is shipped can be scraped.
func TestMetricsAreScrapedAsShipped(t *testing.T) {
	ctx := context.Background()
	kubeconfig, err := plane.Kubeconfig(ctx, "fgpu-system", "fgpu")
	if err != nil {
		t.Fatal(err)
	}
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if err := plane.Apply(ctx, manifest("dedicated", "ops-access.yaml")); err != nil {
		t.Fatal(err)
	}
	fgpu, err := plane.NewFgpu(binary, "metrics", manifest("dedicated", "fgpu.yaml"), kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	fgpu.Args = append(fgpu.Args, "--metrics-address", fmt.Sprintf("0.0.0.0:%d", port))
	if err := fgpu.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := fgpu.StopCleanly(); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { // other tests compare all rights of fgpu
		if err := plane.Client.RbacV1().ClusterRoleBindings().Delete(ctx, "fgpu-ops-reviews", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	scraper, stranger := newAccount(t, "scraper"), newAccount(t, "scrapers-neighbour")
	if _, err := plane.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fgpu-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "scraper"}},
	}, createOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Client.RbacV1().ClusterRoleBindings().Delete(ctx, "scraper", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	if body := eventuallyStatus(t, url+"/metrics", scraper, http.StatusOK); !strings.Contains(body, "fgpu_ops_authorizations_total") {
		t.Errorf("/metrics: %.200s", body)
	}
	eventuallyStatus(t, url+"/metrics", stranger, http.StatusForbidden)
	for _, token := range []string{"", "not-a-token"} {
		if status, _ := ask(t, url+"/metrics", token); status != http.StatusUnauthorized {
			t.Errorf("token %q: %d", token, status)
		}
	}
	for _, path := range []string{"/state", "/configz", "/"} { // on loopback only
		if status, _ := ask(t, url+path, scraper); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// newAccount makes a service account that may do nothing, and returns its token.
func newAccount(t *testing.T, name string) string {
	t.Helper()
	ctx := context.Background()
	if _, err := plane.Client.CoreV1().ServiceAccounts("default").Create(ctx, serviceAccount(name), createOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Client.CoreV1().ServiceAccounts("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	token, err := plane.TokenFor(ctx, "default", name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Service, pod and configuration name the same port.
func TestTheServiceOfTheMetricsLeadsToThem(t *testing.T) {
	objects, err := harness.Objects(manifest("dedicated", "service.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	service := objects[0].(*corev1.Service)
	if _, err := plane.Client.CoreV1().Services(service.Namespace).Create(context.Background(), service, dryRun); err != nil {
		t.Error(err)
	}
	if objects, err = harness.Objects(manifest("dedicated", "deployment.yaml")); err != nil {
		t.Fatal(err)
	}
	pod := objects[0].(*appsv1.Deployment).Spec.Template
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, the pod has %v", key, value, pod.Labels)
		}
	}
	ports := map[string]int32{}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			ports[p.Name] = p.ContainerPort
		}
	}
	for _, p := range service.Spec.Ports {
		if p.TargetPort.Type != intstr.String || ports[p.TargetPort.StrVal] != p.Port {
			t.Errorf("port %+v of the Service, the pod has %v", p, ports)
		}
	}
	var config struct {
		Serving struct{ MetricsAddress, HealthAddress string }
	}
	read(t, &config, "dedicated", "fgpu.yaml")
	for name, address := range map[string]string{"metrics": config.Serving.MetricsAddress, "health": config.Serving.HealthAddress} {
		if want := fmt.Sprintf("0.0.0.0:%d", ports[name]); address != want {
			t.Errorf("fgpu.yaml has %q for %s, the pod's port is %s", address, name, want)
		}
	}
}
