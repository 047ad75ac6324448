package harness

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Fgpu is a running `fgpu serve`. Its ports stay the same over restarts.
type Fgpu struct {
	*Process
	VerbsURL  string
	OpsURL    string
	HealthURL string
	client    *http.Client // for OpsURL
}

// PresentCertificate makes the URLs https and State show a certificate: fgpu runs with TLS on loopback.
func (f *Fgpu) PresentCertificate(certFile, keyFile, caFile string) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return fmt.Errorf("%s: no certificate", caFile)
	}
	f.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool}}}
	f.VerbsURL = strings.Replace(f.VerbsURL, "http:", "https:", 1)
	f.OpsURL = strings.Replace(f.OpsURL, "http:", "https:", 1)
	return nil
}

// Ops reads a document of the ops listener.
func (f *Fgpu) Ops(ctx context.Context, path string) ([]byte, error) {
	return get(ctx, f.client, f.OpsURL+path, "")
}

// StartFgpu runs the binary with a configuration file and the identity in a kubeconfig, until it is ready.
func (cp *ControlPlane) StartFgpu(ctx context.Context, binary, name, config, kubeconfig string) (*Fgpu, error) {
	f, err := cp.NewFgpu(binary, name, config, kubeconfig)
	if err != nil {
		return nil, err
	}
	return f, f.Start(ctx)
}

// NewFgpu prepares it without starting it.
func (cp *ControlPlane) NewFgpu(binary, name, config, kubeconfig string) (*Fgpu, error) {
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("no fgpu to test: %w (scripts/build builds it, FGPU_BIN names another one)", err)
	}
	config, key, err := cp.withKeys(name, config)
	if err != nil {
		return nil, err
	}
	var addresses [3]string
	for i := range addresses {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		addresses[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	f := &Fgpu{VerbsURL: "http://" + addresses[0], OpsURL: "http://" + addresses[1], HealthURL: "http://" + addresses[2],
		client: loopbackClient}
	f.Process = &Process{
		Name: "fgpu", Path: binary, LogFile: filepath.Join(cp.Dir, name+".fgpu.log"),
		Args: append([]string{"serve", "--config", config, "--kubeconfig", kubeconfig, "--verbs-address", addresses[0],
			"--ops-address", addresses[1], "--health-address", addresses[2], "--metrics-address", "127.0.0.1:0"}, key...),
		Ready: func(ctx context.Context) error { _, err := Get(ctx, "http://"+addresses[2]+"/readyz", ""); return err },
	}
	return f, nil
}

// shippedKeys are the folders that the shipped configurations read signing keys from.
var shippedKeys = []string{"/etc/fgpu-signing", "/etc/kubernetes/fgpu/signing"}

// withKeys copies a configuration with a folder of the test in place of the shipped ones, where all fgpus of a control
// plane find the same key. One that says nothing of keys gets the key by a flag.
func (cp *ControlPlane) withKeys(name, config string) (path string, flags []string, err error) {
	dir, err := cp.signingKeys()
	if err != nil {
		return "", nil, err
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return "", nil, err
	}
	if !strings.Contains(string(text), "\nsigning:") {
		flags = []string{"--signing-key", filepath.Join(dir, "key.pem")}
	}
	out := string(text)
	for _, shipped := range shippedKeys {
		out = strings.ReplaceAll(out, shipped, dir)
	}
	if out == string(text) {
		return config, flags, nil
	}
	copied := filepath.Join(cp.Dir, name+".keys.yaml")
	return copied, flags, os.WriteFile(copied, []byte(out), 0o600)
}

// signingKeys makes the folder at its first call: the files that `fgpu signing-key` would write, made without fgpu.
func (cp *ControlPlane) signingKeys() (string, error) {
	cp.keysOnce.Do(func() { cp.keysErr = writeSigningKey(filepath.Join(cp.Dir, "signing")) })
	return filepath.Join(cp.Dir, "signing"), cp.keysErr
}

func writeSigningKey(dir string) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	open, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "key.pem.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: open}), 0o600)
}

// StopCleanly sends SIGTERM; anything but exit code 0 is an error.
func (f *Fgpu) StopCleanly() error {
	if err := f.Stop(); err != nil {
		return err
	}
	if code := f.ExitCode(); code != 0 {
		return fmt.Errorf("fgpu answered SIGTERM with exit code %d, expected 0 (%v); end of %s:\n%s", code, f.Err(), f.LogFile, Tail(f.LogFile, 20))
	}
	return nil
}

// State is the part of /state that tests read.
type State struct {
	APIVersion string
	Kind       string
	Metadata   struct {
		Ready      bool
		Generation json.Number
	}
	Nodes []struct {
		Name string
		GPUs []GPU
	}
	Conflicts []json.RawMessage
	Incidents []Incident
	Pending   []json.RawMessage
}

// Incident is one element of incidents in /state.
type Incident struct {
	Kind, Since, Node, UUID, Text string
	Pods                          []struct {
		Namespace, Pod, UID, Decision string
		DecidedHere                   bool
	} // the oldest first
}

// GPU is one device in /state.
type GPU struct {
	UUID          string
	Index         int64
	Healthy       bool
	OverCommitted bool
	Milli         Amount
	MemMiB        Amount
	Allocations   []Allocation
	MIG           *struct {
		Profile string
		Counted bool // kubelet picks: there is a number of them, and no place
	}
}

// Amount of one dimension of a device.
type Amount struct{ Capacity, Charged, Free int64 }

// Allocation is what one container holds of a device.
type Allocation struct {
	Namespace, Pod, UID, Container, State string
	Milli, MemMiB                         int64
}

// State reads what fgpu believes.
func (f *Fgpu) State(ctx context.Context) (*State, error) {
	body, err := f.Ops(ctx, "/state")
	if err != nil {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("/state: %w", err)
	}
	return &s, nil
}

// FilterReply is the part of ExtenderFilterResult that tests read.
type FilterReply struct {
	NodeNames *[]string
	Error     string
}

// Filter asks as kube-scheduler does.
func Filter(ctx context.Context, verbsURL string, pod *corev1.Pod, nodes ...string) (*FilterReply, error) {
	body, err := json.Marshal(map[string]any{"Pod": pod, "Nodes": nil, "NodeNames": nodes})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, verbsURL+"/v1/filter", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := loopbackClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("filter: %s", resp.Status)
	}
	var reply FilterReply
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return &reply, nil
}
