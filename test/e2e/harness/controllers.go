package harness

import (
	"context"
	"path/filepath"
	"strconv"
)

// StartControllers runs kube-controller-manager: it makes pods of Deployments and DaemonSets, tokens, and the taints of nodes.
// `bin` is what `scripts/control-plane --controllers` printed.
func (cp *ControlPlane) StartControllers(ctx context.Context, bin string) (*Process, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	kubeconfig, err := cp.AdminKubeconfig()
	if err != nil {
		return nil, err
	}
	certs := filepath.Join(cp.Dir, "certs")
	p := &Process{Name: "kube-controller-manager", Path: filepath.Join(bin, "kube-controller-manager"),
		LogFile: filepath.Join(cp.Dir, "kube-controller-manager.log"),
		Args: []string{"--kubeconfig", kubeconfig, "--leader-elect=false", "--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(port),
			"--cert-dir", filepath.Join(cp.Dir, "controllers"), "--root-ca-file", filepath.Join(certs, "apiserver.crt"),
			"--service-account-private-key-file", filepath.Join(certs, "sa.key"), "--v", "1"},
		Ready: func(ctx context.Context) error {
			_, err := Get(ctx, loopback("https", port)+"/healthz", "")
			return err
		}}
	return p, p.Start(ctx)
}
