// Package pages runs the commands of the pages of manifests/ and config/, and of README.md, on a real control plane: each as it
// stands, one after the other, as a reader does. test/pages finds them, and says which of them these are. kube-controller-manager
// runs, no kubelet does: see standIn.
//
// Environment, set by scripts/check-pages:
//
//	FGPU_BIN            fgpu, with kubectl-fgpu beside it
//	FGPU_CONTROL_PLANE  folder with etcd, kube-apiserver, kube-scheduler
//	FGPU_CONTROLLERS    folder with kube-controller-manager and kubectl
//	FGPU_HELM           folder with helm
package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fgpu.io/fgpu/test/e2e/harness"
)

type line struct{ Text, Run, Before, After string }

type page struct {
	Page  string
	Lines []line
}

// pagesOf asks test/pages what to run.
func pagesOf(t *testing.T, root string) []page {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", filepath.Join(root, "test/pages/commands.py"), "--cluster")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []page
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// desk is where the reader sits: a folder with the repository's manifests, and the programs in PATH.
type desk struct {
	folder string
	env    []string
}

func newDesk(t *testing.T, root, kubeconfig string) *desk {
	t.Helper()
	d := &desk{folder: t.TempDir()}
	for _, name := range []string{"manifests", "config", "scripts"} { // a copy: pages edit files
		if err := os.CopyFS(filepath.Join(d.folder, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	path := []string{os.Getenv("FGPU_CONTROLLERS"), os.Getenv("FGPU_HELM"), filepath.Dir(os.Getenv("FGPU_BIN")), os.Getenv("PATH")}
	d.env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+d.folder, "PATH="+strings.Join(path, ":"))
	return d
}

func (d *desk) run(command string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", command)
	cmd.Dir, cmd.Env = d.folder, d.env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

func TestCommandsOfThePages(t *testing.T) {
	ctx := context.Background()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all := pagesOf(t, root)
	plane, err := harness.StartControlPlane(ctx, os.Getenv("FGPU_CONTROL_PLANE"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Stop()
	controllers, err := plane.StartControllers(ctx, os.Getenv("FGPU_CONTROLLERS"))
	if err != nil {
		t.Fatal(err)
	}
	defer controllers.Kill()
	stop := standIn(t, plane.Client)
	defer stop()
	kubeconfig, err := plane.AdminKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, p := range all {
		t.Run(p.Page, func(t *testing.T) {
			start := time.Now()
			d := newDesk(t, root, kubeconfig)
			if err := d.run("fgpu signing-key --out key.pem && mkdir -p etc/fgpu"); err != nil {
				t.Fatal(err)
			}
			for _, l := range p.Lines {
				if strings.HasPrefix(l.Text, "fgpu signing-key --out key.pem") { // then the page makes it itself
					os.Remove(filepath.Join(d.folder, "key.pem"))
					os.Remove(filepath.Join(d.folder, "key.pem.pub"))
				}
			}
			if err := d.run("kubectl delete pods --all --now"); err != nil { // of the page before
				t.Fatal(err)
			}
			for _, l := range p.Lines {
				for _, command := range []string{l.Before, l.Run, l.After} {
					if command == "" {
						continue
					}
					begun := time.Now()
					err := d.run(command)
					if took := time.Since(begun); took > 2*time.Second {
						t.Logf("%4.1f s: %s", took.Seconds(), strings.Join(strings.Fields(command), " "))
					}
					// What another page made already is there.
					if err != nil && command == l.Run && ran[l.Text] && strings.Contains(err.Error(), "exists") {
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", l.Text, err)
					}
				}
				ran[l.Text] = true
			}
			t.Logf("%d commands, %.1f s", len(p.Lines), time.Since(start).Seconds())
		})
	}
}
