package harness

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ControlPlane is one etcd and one kube-apiserver on the loopback, RBAC on.
type ControlPlane struct {
	Bin string // folder with etcd, kube-apiserver and kube-scheduler
	// SchedulerPath is the kube-scheduler that StartScheduler runs: that of Bin, unless a test wants another minor.
	SchedulerPath string
	// SchedulerFlags are given to every kube-scheduler besides.
	SchedulerFlags []string
	APIFlags       []string // of kube-apiserver, besides
	Dir            string   // everything they write
	Etcd           *Process
	API            *Process
	EtcdAddress    string // host:port
	URL            string
	Config         *rest.Config          // system:masters
	Client         *kubernetes.Clientset // system:masters

	keysOnce sync.Once // signingKeys
	keysErr  error

	token   string            // of the administrator
	address string            // of the API server, for clients
	port    int               // of the API server, if not any that is free
	forPods bool              // ServeForPods
	users   map[string]string // user name -> token, for identities that are no service accounts
}

// KubeletUser is the identity of the kubelet of RealNode, as kubeadm makes them.
const (
	RealNode    = "real"
	KubeletUser = "system:node:" + RealNode
)

// ServiceIP is where pods find the API server: the first address of the range of services.
const ServiceIP = "10.0.0.1"

// ServeForPods makes an API server that pods reach as they do in any cluster, at ServiceIP. There is no kube-proxy: the
// namespaces in which this runs must have ServiceIP and `address` among their own.
func ServeForPods(address string) func(*ControlPlane) {
	return func(cp *ControlPlane) { cp.address, cp.port, cp.forPods = address, 443, true }
}

// StartControlPlane starts both and waits until they serve. `bin` is what scripts/control-plane printed.
func StartControlPlane(ctx context.Context, bin, dir string, options ...func(*ControlPlane)) (*ControlPlane, error) {
	cp := &ControlPlane{Bin: bin, SchedulerPath: filepath.Join(bin, "kube-scheduler"), Dir: dir, address: "127.0.0.1"}
	for _, option := range options {
		option(cp)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-scheduler"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return nil, fmt.Errorf("no control plane: %w (scripts/control-plane builds it)", err)
		}
	}
	var ports [3]int
	for i := range ports {
		var err error
		if ports[i], err = FreePort(); err != nil {
			return nil, err
		}
	}
	if cp.port != 0 {
		ports[2] = cp.port
	}
	if err := cp.secrets(); err != nil {
		return nil, err
	}
	client, peer := loopback("http", ports[0]), loopback("http", ports[1])
	cp.EtcdAddress = fmt.Sprintf("127.0.0.1:%d", ports[0])
	cp.URL = cp.urlOf(ports[2])
	cp.Etcd = &Process{
		Name: "etcd", Path: filepath.Join(bin, "etcd"), LogFile: filepath.Join(dir, "etcd.log"),
		Args: []string{"--name", "e2e", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", client,
			"--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", "e2e=" + peer, "--unsafe-no-fsync", "--log-level", "warn"},
		Ready: func(ctx context.Context) error { _, err := Get(ctx, client+"/health", ""); return err },
	}
	cp.API = cp.apiServer("kube-apiserver", client, ports[2])
	if err := cp.Etcd.Start(ctx); err != nil {
		return nil, err
	}
	if err := cp.API.Start(ctx); err != nil {
		cp.Stop()
		return nil, err
	}
	cp.Config = cp.restConfig(cp.token)
	var err error
	if cp.Client, err = kubernetes.NewForConfig(cp.Config); err != nil {
		cp.Stop()
		return nil, err
	}
	return cp, nil
}

// apiServer on a port, with an etcd. All of one control plane have the same certificates, tokens and keys.
func (cp *ControlPlane) apiServer(name, etcd string, port int) *Process {
	certs := filepath.Join(cp.Dir, "certs")
	url := cp.urlOf(port)
	args := []string{"--bind-address", "127.0.0.1"}
	if cp.forPods {
		args = []string{"--bind-address", "0.0.0.0"}
	} else {
		// Nobody runs the controllers that create default service accounts and take the not-ready taint
		// off new nodes, so the two admission plugins that count on them are off.
		args = append(args, "--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition")
	}
	return &Process{
		Name: name, Path: filepath.Join(cp.Bin, "kube-apiserver"), LogFile: filepath.Join(cp.Dir, name+".log"),
		Args: slices.Concat(args, []string{"--etcd-servers", etcd, "--secure-port", strconv.Itoa(port),
			"--advertise-address", cp.address, "--endpoint-reconciler-type", "none", "--cert-dir", certs,
			"--service-cluster-ip-range", "10.0.0.0/24",
			"--service-account-issuer", "https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file", filepath.Join(certs, "sa.pub"),
			"--service-account-signing-key-file", filepath.Join(certs, "sa.key"),
			"--token-auth-file", filepath.Join(certs, "tokens.csv"), "--authorization-mode", "RBAC",
			"--kubelet-preferred-address-types", "InternalIP", "--event-ttl", "30m", "--allow-privileged", "--profiling=false", "--v", "1"}, cp.APIFlags),
		Ready: func(ctx context.Context) error { _, err := Get(ctx, url+"/readyz", cp.token); return err },
	}
}

// StartAPI runs one more API server on the same cluster, which reaches etcd at `etcdAddress`; returns it with its URL.
func (cp *ControlPlane) StartAPI(ctx context.Context, name, etcdAddress string) (*Process, string, error) {
	port, err := FreePort()
	if err != nil {
		return nil, "", err
	}
	p := cp.apiServer(name, "http://"+etcdAddress, port)
	return p, cp.urlOf(port), p.Start(ctx)
}

// ClientAt is an administrator's client of one of several API servers.
func (cp *ControlPlane) ClientAt(url string) (*kubernetes.Clientset, error) {
	config := cp.restConfig(cp.token)
	config.Host = url
	return kubernetes.NewForConfig(config)
}

// KubeconfigAt writes a kubeconfig of a service account for another address of this cluster.
func (cp *ControlPlane) KubeconfigAt(ctx context.Context, namespace, serviceAccount, url string) (string, error) {
	token, err := cp.TokenFor(ctx, namespace, serviceAccount)
	if err != nil {
		return "", err
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	return cp.writeKubeconfigAt(serviceAccount+"-at-"+port, token, url)
}

// ProfileAPI is the API server's CPU profile over some seconds. APIFlags must have --profiling=true.
func (cp *ControlPlane) ProfileAPI(ctx context.Context, seconds int) ([]byte, error) {
	return Get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", cp.URL, seconds), cp.token)
}

// Stop ends both, the API server first. It has nothing left to save, so it is not asked twice.
func (cp *ControlPlane) Stop() {
	cp.API.Kill()
	cp.Etcd.Kill()
}

func (cp *ControlPlane) urlOf(port int) string { return fmt.Sprintf("https://%s:%d", cp.address, port) }

func loopback(scheme string, port int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port) }

func (cp *ControlPlane) secrets() error {
	certs := filepath.Join(cp.Dir, "certs")
	if err := os.MkdirAll(certs, 0o700); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	pub, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	cp.users = map[string]string{}
	var tokens strings.Builder
	for user, group := range map[string]string{"admin": "system:masters", "system:kube-scheduler": "", "fgpu": "", KubeletUser: "system:nodes"} {
		var random [16]byte
		if _, err := rand.Read(random[:]); err != nil {
			return err
		}
		cp.users[user] = hex.EncodeToString(random[:])
		fmt.Fprintf(&tokens, "%s,%s,uid-%s,%q\n", cp.users[user], user, strings.ReplaceAll(user, ":", "-"), group)
	}
	cp.token = cp.users["admin"]
	for name, content := range map[string][]byte{
		"sa.key":     pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		"sa.pub":     pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub}),
		"tokens.csv": []byte(tokens.String()),
	} {
		if err := os.WriteFile(filepath.Join(certs, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) restConfig(token string) *rest.Config {
	return &rest.Config{
		Host: cp.URL, BearerToken: token, QPS: 5000, Burst: 5000,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(cp.Dir, "certs", "apiserver.crt")},
	}
}

// TokenFor asks the API server for a token of a service account: the identity that the manifests give to a
// program, with exactly the rights they give it.
func (cp *ControlPlane) TokenFor(ctx context.Context, namespace, serviceAccount string) (string, error) {
	seconds := int64(7200)
	r, err := cp.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of %s/%s: %w", namespace, serviceAccount, err)
	}
	return r.Status.Token, nil
}

// ClientFor speaks to the API server as a service account.
func (cp *ControlPlane) ClientFor(ctx context.Context, namespace, serviceAccount string) (*kubernetes.Clientset, error) {
	token, err := cp.TokenFor(ctx, namespace, serviceAccount)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(cp.restConfig(token))
}

// ClientForUser speaks to the API server as a user that is no service account.
func (cp *ControlPlane) ClientForUser(user string) (*kubernetes.Clientset, error) {
	token, ok := cp.users[user]
	if !ok {
		return nil, fmt.Errorf("no user %q", user)
	}
	return kubernetes.NewForConfig(cp.restConfig(token))
}

// FlowSchemaOf is the UID of the FlowSchema by which the API server treats a GET of this user.
func (cp *ControlPlane) FlowSchemaOf(ctx context.Context, user, path string) (types.UID, error) {
	config := cp.restConfig(cp.token)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cp.URL+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	return types.UID(resp.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)), nil
}

// Impersonate speaks to the API server as the admin who acts for somebody else.
func (cp *ControlPlane) Impersonate(user string, groups ...string) (*kubernetes.Clientset, error) {
	config := cp.restConfig(cp.token)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return kubernetes.NewForConfig(config)
}

// Kubeconfig writes a kubeconfig for a service account and returns its path.
func (cp *ControlPlane) Kubeconfig(ctx context.Context, namespace, serviceAccount string) (string, error) {
	token, err := cp.TokenFor(ctx, namespace, serviceAccount)
	if err != nil {
		return "", err
	}
	return cp.writeKubeconfig(serviceAccount, token)
}

// UserKubeconfig is the same for a user: "system:kube-scheduler" or "fgpu", as kubeadm makes them.
func (cp *ControlPlane) UserKubeconfig(user string) (string, error) {
	token, ok := cp.users[user]
	if !ok {
		return "", fmt.Errorf("no user %q", user)
	}
	return cp.writeKubeconfig("user-"+strings.ReplaceAll(user, ":", "-"), token)
}

// AdminKubeconfig is that of the administrator.
func (cp *ControlPlane) AdminKubeconfig() (string, error) {
	return cp.writeKubeconfig("admin", cp.token)
}

// AdminKubeconfigAt is the same for another address, which may be plain HTTP on the loopback.
func (cp *ControlPlane) AdminKubeconfigAt(url string) (string, error) {
	return cp.writeKubeconfigAt("admin-elsewhere", cp.token, url)
}

func (cp *ControlPlane) writeKubeconfig(name, token string) (string, error) {
	return cp.writeKubeconfigAt(name, token, cp.URL)
}

func (cp *ControlPlane) writeKubeconfigAt(name, token, url string) (string, error) {
	file := filepath.Join(cp.Dir, name+".kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
clusters:
- name: e2e
  cluster:
    server: %s
    certificate-authority: %s
users:
- name: %s
  user:
    token: %s
contexts:
- name: e2e
  context:
    cluster: e2e
    user: %s
`, url, filepath.Join(cp.Dir, "certs", "apiserver.crt"), name, token, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// RestartAPI kills the API server, as a node failure would, and starts it again on the same data and port.
func (cp *ControlPlane) RestartAPI(ctx context.Context, down time.Duration) error {
	cp.API.Kill()
	time.Sleep(down)
	return cp.API.Start(ctx)
}
