package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// anyServer believes whoever answers on the loopback, and has no certificate of its own.
var anyServer = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// ask returns status and body of a GET with that token.
func ask(t *testing.T, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer(t, req, token)
}

func answer(t *testing.T, req *http.Request, token string) (int, string) {
	t.Helper()
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := anyServer.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// eventuallyStatus waits for the authorizer of the API server to see new roles, and for what fgpu remembers to pass.
func eventuallyStatus(t *testing.T, url, token string, want int) string {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		status, body := ask(t, url, token)
		if status == want {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d %s, expected %d", url, status, body, want)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestOpsAreReadByThoseWhomTheClusterAllows(t *testing.T) {
	ctx := context.Background()
	for _, v := range []struct {
		folder, reader string
		kubeconfig     func() (string, error)
	}{
		{"dedicated", "fgpu-ops-reader", func() (string, error) { return plane.Kubeconfig(ctx, "fgpu-system", "fgpu") }},
		{"control-plane", "fgpu-control-plane-ops-reader", func() (string, error) { return plane.UserKubeconfig("fgpu") }},
	} {
		t.Run(v.folder, func(t *testing.T) {
			t.Parallel()
			opsAccess(t, v.folder, v.reader, v.kubeconfig)
		})
	}
}

func opsAccess(t *testing.T, folder, reader string, makeKubeconfig func() (string, error)) {
	ctx := context.Background()
	kubeconfig, err := makeKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(plane.Dir, "ops-access-"+folder+".yaml")
	changes := []harness.Replacement{{Old: "serving:\n", New: "serving:\n  opsAuthorization: always\n"}}
	if folder == "control-plane" { // which speaks TLS on the loopback, too
		certificates := config + ".certificates"
		if out, err := exec.Command(manifest("mtls", "certificates.sh"), certificates).CombinedOutput(); err != nil {
			t.Fatalf("certificates.sh: %v\n%s", err, out)
		}
		changes = append(changes, certificateFiles(certificates, "tls.crt", "tls.key", "ca.crt")...)
	}
	if err := harness.Adapt(manifest(folder, "fgpu.yaml"), config, changes...); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for _, name := range []string{"prometheus", "stranger"} {
		name = name + "-" + folder
		if _, err := plane.Client.CoreV1().ServiceAccounts("default").Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, createOptions); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := plane.Client.CoreV1().ServiceAccounts("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		if tokens[strings.Split(name, "-")[0]], err = plane.TokenFor(ctx, "default", name); err != nil {
			t.Fatal(err)
		}
	}
	fgpu, err := plane.StartFgpu(ctx, binary, "ops-access-"+folder, config, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if folder == "control-plane" {
		fgpu.OpsURL = strings.Replace(fgpu.OpsURL, "http:", "https:", 1)
	}
	defer func() {
		if err := fgpu.StopCleanly(); err != nil {
			t.Error(err)
		}
	}()

	// Without the right to ask nobody gets in, and the log says what is missing.
	if status, body := ask(t, fgpu.OpsURL+"/metrics", tokens["prometheus"]); status != http.StatusServiceUnavailable {
		t.Errorf("without the right to ask: %d %s", status, body)
	}
	if log := harness.Tail(fgpu.LogFile, 50); !strings.Contains(log, "ClusterRole") {
		t.Errorf("the log does not say which right is missing:\n%s", log)
	}

	if err := plane.Apply(ctx, manifest(folder, "ops-access.yaml")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // other tests compare all rights of fgpu
		name := strings.Replace(reader, "reader", "reviews", 1)
		if err := plane.Client.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	eventuallyStatus(t, fgpu.OpsURL+"/metrics", tokens["prometheus"], http.StatusForbidden)
	if _, err := plane.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus-" + folder},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "prometheus-" + folder}},
	}, createOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Client.RbacV1().ClusterRoleBindings().Delete(ctx, "prometheus-"+folder, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	if body := eventuallyStatus(t, fgpu.OpsURL+"/metrics", tokens["prometheus"], http.StatusOK); !strings.Contains(body, "fgpu_ops_authorizations_total") {
		t.Errorf("/metrics: %.200s", body)
	}
	for path, want := range map[string]int{"/state": 200, "/configz": 200, "/version": 200, "/": 200, "/v1/explain?pod=a/b": 200, "/v1/history": 200} {
		if status, body := ask(t, fgpu.OpsURL+path, tokens["prometheus"]); status != want {
			t.Errorf("%s: %d %s, expected %d", path, status, body, want)
		}
	}
	whatIf, err := http.NewRequest(http.MethodPost, fgpu.OpsURL+"/v1/whatif", strings.NewReader(`{"limits": {"fgpu.io/gpu-milli": "1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	whatIf.Header.Set("Content-Type", "application/json")
	if status, body := answer(t, whatIf, tokens["prometheus"]); status != http.StatusOK || !strings.Contains(body, `"fitting":`) {
		t.Errorf("/v1/whatif: %d %s", status, body)
	}
	if status, _ := ask(t, fgpu.OpsURL+"/metrics", tokens["stranger"]); status != http.StatusForbidden {
		t.Errorf("stranger: %d", status)
	}
	for _, token := range []string{"", "not-a-token", tokens["prometheus"] + "x"} {
		if status, _ := ask(t, fgpu.OpsURL+"/metrics", token); status != http.StatusUnauthorized {
			t.Errorf("token %q: %d", token, status)
		}
	}
	log := harness.Tail(fgpu.LogFile, 1000)
	for name, token := range tokens {
		if strings.Contains(log, token) {
			t.Errorf("the token of %s stands in the log", name)
		}
	}
}
