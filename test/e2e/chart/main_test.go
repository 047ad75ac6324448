// Package chart compares the Helm chart with what kustomize installs, and tries both on a real API server: a server-side dry run of
// every object, and helm install, upgrade and uninstall. Helm and kustomize are Go modules here, as their programs have them.
//
// Environment: FGPU_CONTROL_PLANE, FGPU_CONTROLLERS and FGPU_BIN as for the end-to-end tests; scripts/chart sets them.
package chart

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"testing"

	"fgpu.io/fgpu/test/e2e/harness"
)

var (
	root  string // of the repository
	plane *harness.ControlPlane
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	log.SetOutput(io.Discard) // Helm tells of each link that it follows
	var err error
	if root, err = filepath.Abs(filepath.Join("..", "..", "..")); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "fgpu-chart-")
	if err != nil {
		return 1, err
	}
	if plane, err = harness.StartControlPlane(context.Background(), os.Getenv("FGPU_CONTROL_PLANE"), dir); err != nil {
		return 1, err
	}
	defer plane.Stop()
	code := m.Run()
	plane.Stop()
	if code != 0 {
		fmt.Println("logs are in", dir)
		return code, nil
	}
	return code, os.RemoveAll(dir)
}
