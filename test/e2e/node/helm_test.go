package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/checker"
)

// helm runs it as the administrator.
func (s *scene) helm(args ...string) string {
	s.Helper()
	kubeconfig, err := plane.AdminKubeconfig()
	s.must(err)
	cmd := exec.CommandContext(s.ctx, filepath.Join(os.Getenv("FGPU_HELM"), "helm"), append(args, "--kubeconfig", kubeconfig)...)
	cmd.Env = append(os.Environ(), "HOME="+theNode.path("data"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("helm %v: %v\n%s\n%s", args, err, out, s.whatRuns())
	}
	return string(out)
}

// A newcomer with Helm: install, the test of the chart, a pod with one line, an upgrade and a rollback while it runs and another waits, uninstall.
func TestInstallByHelm(t *testing.T) {
	s := newScene(t)
	chart := "../../../manifests/helm"
	notes := s.helm("install", "fgpu", chart, "--namespace", "default", "--wait", "--timeout", "120s")
	if !strings.Contains(notes, "helm test fgpu --namespace default") {
		t.Errorf("%s", notes)
	}
	say("fgpu is installed by helm")
	s.helm("test", "fgpu", "--namespace", "default", "--timeout", "120s")
	say("its test passes")

	s.must(write(theNode.path("pod.yaml"), podOfOneLine))
	s.kubectl("-n", s.namespace, "apply", "-f", theNode.path("pod.yaml"))
	s.until("the pod has a GPU", func() (bool, string) {
		p := s.get("one")
		return p.Status.Phase == "Running", string(p.Status.Phase)
	})
	before := s.get("one")
	s.alone(before, "main", s.gpuOf(before))
	admin, err := plane.AdminKubeconfig()
	s.must(err)
	// Without the doors: the agent looks for the runtime's configuration where machines have it, and this one has it elsewhere.
	if out, errs, code := s.kubectlFgpu(admin, "doctor", "--skip", "doors"); code != 0 {
		t.Errorf("fgpu doctor is not green: %d\n%s%s", code, out, errs)
	}
	key := s.kubectl("-n", "fgpu-system", "get", "secret", "fgpu-signing", "-o", "jsonpath={.data}")

	// A pod that waits for the whole node, and two changes of the pod of fgpu while it waits and the other runs.
	s.must(write(theNode.path("waits.yaml"), "%s", strings.NewReplacer("name: one", "name: waits", "fgpu.io/gpu-milli: 300",
		fmt.Sprintf("fgpu.io/gpu-count: %d", len(gpus))).Replace(podOfOneLine)))
	s.kubectl("-n", s.namespace, "apply", "-f", theNode.path("waits.yaml"))
	changed := func(how string, args ...string) {
		pod := s.fgpuPod()
		s.helm(append(args, "--namespace", "default", "--wait", "--timeout", "120s")...)
		if s.fgpuPod() == pod {
			t.Errorf("%s leaves the pod of fgpu as it was", how)
		}
		if after := s.kubectl("-n", "fgpu-system", "get", "secret", "fgpu-signing", "-o", "jsonpath={.data}"); after != key {
			t.Errorf("%s makes another signing key", how)
		}
		after := s.get("one")
		if after.UID != before.UID || after.Status.ContainerStatuses[0].RestartCount != 0 ||
			after.Annotations[checker.AssignmentKey] != before.Annotations[checker.AssignmentKey] {
			t.Errorf("%s touches a pod that runs", how)
		}
		if node := s.get("waits").Spec.NodeName; node != "" {
			t.Errorf("after %s the pod that waits is bound, beside the other one", how)
		}
	}
	changed("an upgrade", "upgrade", "fgpu", chart, "--set", "config.devices.maxSharers=8,scheduler.resources.requests.cpu=50m")
	changed("a rollback", "rollback", "fgpu", "1")

	s.kubectl("-n", s.namespace, "delete", "pod", "one", "--now")
	s.until("the pod that waits has the node", func() (bool, string) {
		p := s.get("waits")
		return p.Spec.NodeName != "", string(p.Status.Phase)
	})
	s.kubectl("-n", s.namespace, "delete", "pod", "waits", "--now")
	s.helm("uninstall", "fgpu", "--namespace", "default", "--wait", "--timeout", "120s")
	for _, namespace := range []string{"fgpu-system", "fgpu-node"} {
		s.until(namespace+" is gone", func() (bool, string) {
			_, err := plane.Client.CoreV1().Namespaces().Get(s.ctx, namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err), "still there"
		})
	}
	for _, kind := range []string{"clusterroles", "clusterrolebindings", "validatingadmissionpolicies", "mutatingadmissionpolicies"} {
		if left := s.kubectl("get", kind, "-o", "name"); strings.Contains(left, "fgpu") {
			t.Errorf("left: %s", left)
		}
	}
	s.kubectl("annotate", "node", "--all", "fgpu.io/gpus-") // as manifests/README.md says
	// An API server that has had no policy with parameters for a moment never sees later parameters of the same kind: the watch of
	// ConfigMaps ends with the last such policy, and the next one finds it ended. Other tests install again.
	s.must(plane.RestartAPI(s.ctx, 0))
}
