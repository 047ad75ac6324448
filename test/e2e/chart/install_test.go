package chart

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (s *server) helm() *action.Configuration {
	s.Helper()
	path, err := plane.AdminKubeconfig()
	if err != nil {
		s.Fatal(err)
	}
	settings := cli.New()
	settings.KubeConfig = path
	settings.SetNamespace("default")
	c := &action.Configuration{}
	if err := c.Init(settings.RESTClientGetter(), "default", "secret", func(string, ...any) {}); err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *server) secret(name string) *corev1.Secret {
	s.Helper()
	secret, err := plane.Client.CoreV1().Secrets("fgpu-system").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return secret
}

func (s *server) configMap(namespace, name string) map[string]string {
	s.Helper()
	m, err := plane.Client.CoreV1().ConfigMaps(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return m.Data
}

// helm install, upgrade, uninstall, with the controllers of a cluster. The key that the chart makes is one that fgpu signs with and
// believes, it outlives an upgrade, and what is left in the end is nothing.
func TestInstallUpgradeUninstall(t *testing.T) {
	ctx := context.Background()
	s := newServer(t)
	controllers, err := plane.StartControllers(ctx, os.Getenv("FGPU_CONTROLLERS"))
	if err != nil {
		t.Fatal(err)
	}
	defer controllers.Stop()
	s.until("no namespace of another test", func() bool {
		_, err := plane.Client.CoreV1().Namespaces().Get(ctx, "fgpu-system", metav1.GetOptions{})
		_, err2 := plane.Client.CoreV1().Namespaces().Get(ctx, "fgpu-node", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && apierrors.IsNotFound(err2)
	})
	chart, err := loader.Load(filepath.Join(root, "manifests", "helm"))
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(s.helm())
	install.ReleaseName, install.Namespace = "fgpu", "default"
	release, err := install.Run(chart, values{})
	if err != nil {
		t.Fatal(err)
	}
	key := s.secret("fgpu-signing")
	s.believable(key, s.configMap("fgpu-node", "fgpu-public-keys"))
	s.serves(key, s.configMap("fgpu-system", "fgpu-config")["fgpu.yaml"])

	upgrade := action.NewUpgrade(s.helm())
	upgrade.Namespace = "default"
	if release, err = upgrade.Run("fgpu", chart, values{"config": values{"devices": values{"maxSharers": 8}},
		"metrics": values{"certificate": "generated"}}); err != nil {
		t.Fatal(err)
	}
	if after := s.secret("fgpu-signing"); string(after.Data["key.pem"]) != string(key.Data["key.pem"]) || len(after.Data) != len(key.Data) {
		t.Error("an upgrade makes another signing key")
	}
	config := s.configMap("fgpu-system", "fgpu-config")["fgpu.yaml"]
	if !strings.Contains(config, "maxSharers: 8") || !strings.Contains(config, "certFile: /etc/fgpu-tls/tls.crt") {
		t.Errorf("after the upgrade:\n%s", config)
	}
	certificate := s.secret("fgpu-tls")
	if release, err = upgrade.Run("fgpu", chart, values{"metrics": values{"certificate": "generated"}}); err != nil {
		t.Fatal(err)
	}
	if string(s.secret("fgpu-tls").Data["tls.crt"]) != string(certificate.Data["tls.crt"]) {
		t.Error("an upgrade makes another certificate")
	}

	if _, err := action.NewUninstall(s.helm()).Run("fgpu"); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects(t, release.Manifest) {
		s.until(o.GetKind()+" "+o.GetName()+" is gone", func() bool {
			_, err := s.of(o.GroupVersionKind(), o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

// believable: an Ed25519 key in PKCS#8, and its certificate, which the agents have as well.
func (s *server) believable(secret *corev1.Secret, agents map[string]string) {
	s.Helper()
	block, _ := pem.Decode(secret.Data["key.pem"])
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		s.Fatal(err)
	}
	block, _ = pem.Decode(secret.Data["key.pem.pub"])
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		s.Fatal(err)
	}
	if key, ok := private.(ed25519.PrivateKey); !ok || !key.Public().(ed25519.PublicKey).Equal(certificate.PublicKey) {
		s.Errorf("the certificate is of another key, or the key is no Ed25519: %T", private)
	}
	if len(agents) != 1 || agents["key.pem.pub"] != string(secret.Data["key.pem.pub"]) {
		s.Errorf("the agents have %v", agents)
	}
}

// serves: fgpu starts with this configuration, this key, and the rights that were installed.
func (s *server) serves(secret *corev1.Secret, config string) {
	s.Helper()
	dir := s.TempDir()
	for name, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			s.Fatal(err)
		}
	}
	path := filepath.Join(dir, "fgpu.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(config, "/etc/fgpu-signing", dir)), 0o600); err != nil {
		s.Fatal(err)
	}
	binary := os.Getenv("FGPU_BIN")
	if out, err := exec.Command(binary, "check-config", path).CombinedOutput(); err != nil {
		s.Fatalf("check-config: %v\n%s", err, out)
	}
	kubeconfig, err := plane.Kubeconfig(context.Background(), "fgpu-system", "fgpu")
	if err != nil {
		s.Fatal(err)
	}
	fgpu, err := plane.StartFgpu(context.Background(), binary, "chart", path, kubeconfig)
	if err != nil {
		s.Fatal(err)
	}
	if err := fgpu.StopCleanly(); err != nil {
		s.Error(err)
	}
}
