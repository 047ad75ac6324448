package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubectl runs it as the administrator.
func (s *scene) kubectl(args ...string) string {
	s.Helper()
	kubeconfig, err := plane.AdminKubeconfig()
	s.must(err)
	out, err := exec.CommandContext(s.ctx, filepath.Join(os.Getenv("FGPU_CONTROLLERS"), "kubectl"),
		append([]string{"--kubeconfig", kubeconfig, "--cache-dir", theNode.path("data", "kubectl")}, args...)...).CombinedOutput()
	if err != nil {
		s.Fatalf("kubectl %v: %v\n%s\n%s", args, err, out, s.whatRuns())
	}
	return string(out)
}

// whatRuns says how the pods of fgpu do.
func (s *scene) whatRuns() string {
	text := ""
	pods, err := plane.Client.CoreV1().Pods("").List(s.ctx, metav1.ListOptions{})
	s.must(err)
	for _, p := range pods.Items {
		text += p.Namespace + "/" + p.Name + ": " + string(p.Status.Phase) + "\n"
		for _, c := range p.Spec.Containers {
			text += logOf(&p, c.Name)
		}
		events, err := plane.Client.CoreV1().Events(p.Namespace).List(s.ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(p.UID)})
		s.must(err)
		for _, e := range events.Items {
			text += "  " + e.Reason + ": " + e.Message + "\n"
		}
	}
	return text
}

const podOfOneLine = `apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: fgpu.test/cuda:1
    resources: {limits: {fgpu.io/gpu-milli: 300}}
`

// The whole way of a newcomer, by the steps of manifests/README.md: nothing is labelled, nothing is annotated,
// and the images are those of scripts/image under the names that the manifests have.
func TestInstallAndOneLine(t *testing.T) {
	s := newScene(t)
	manifests := theNode.path("manifests")
	s.must(os.CopyFS(manifests, os.DirFS("../../../manifests")))
	// A name that changes with the content would replace the pod instead of letting fgpu read the file again.
	if rendered := s.kubectl("kustomize", filepath.Join(manifests, "dedicated")); strings.Count(rendered, "name: fgpu-config\n") != 2 {
		t.Fatalf("ConfigMap and Deployment do not have the plain name fgpu-config:\n%s", rendered)
	}

	s.kubectl("apply", "-f", filepath.Join(manifests, "dedicated", "namespace.yaml"), "-f", filepath.Join(manifests, "node", "namespace.yaml"))
	key := theNode.path("key.pem")
	out, err := exec.CommandContext(s.ctx, os.Getenv("FGPU_BIN"), "signing-key", "--out", key).CombinedOutput()
	if err != nil {
		t.Fatalf("fgpu signing-key: %v: %s", err, out)
	}
	s.kubectl("-n", "fgpu-system", "create", "secret", "generic", "fgpu-signing", "--from-file="+key, "--from-file="+key+".pub")
	s.kubectl("-n", "fgpu-node", "create", "configmap", "fgpu-public-keys", "--from-file="+key+".pub")
	s.kubectl("apply", "-k", filepath.Join(manifests, "dedicated"))
	s.kubectl("apply", "-k", filepath.Join(manifests, "node"))
	s.kubectl("-n", "fgpu-system", "rollout", "status", "deployment/fgpu-scheduler", "--timeout=90s")
	s.kubectl("-n", "fgpu-node", "rollout", "status", "daemonset/fgpu-node", "--timeout=90s")
	s.kubectl("apply", "-k", filepath.Join(manifests, "one-line"))
	say("fgpu is installed")

	s.kubectl("create", "namespace", "team")
	s.must(write(theNode.path("pod.yaml"), podOfOneLine))
	s.namespace = "team"
	s.until("a pod of one line", func() (bool, string) { // the policy is new: the API server learns of it in a moment
		s.kubectl("-n", "team", "apply", "-f", theNode.path("pod.yaml"))
		p := s.get("one")
		if p.Spec.SchedulerName == "fgpu-scheduler" {
			return true, ""
		}
		s.kubectl("-n", "team", "delete", "pod", "one", "--now")
		return false, p.Spec.SchedulerName
	})
	p := s.get("one")
	s.alone(p, "main", s.gpuOf(p))
	node, err := plane.Client.CoreV1().Nodes().Get(s.ctx, harness.RealNode, metav1.GetOptions{})
	s.must(err)
	if text := node.Annotations[checker.InventoryKey]; !strings.Contains(text, gpus[0]) || !strings.Contains(text, `"by":"fgpu-node"`) {
		t.Errorf("fgpu.io/gpus of the node: %q", text)
	}
	s.userOfThePlugin(manifests)
	s.newSizeWithoutARestart(manifests)
}

// newSizeWithoutARestart edits the shipped configuration and applies it again, as manifests/README.md says.
func (s *scene) newSizeWithoutARestart(manifests string) {
	s.Helper()
	before := s.fgpuPod()
	path := filepath.Join(manifests, "dedicated", "fgpu.yaml")
	text, err := os.ReadFile(path)
	s.must(err)
	s.must(os.WriteFile(path, append(text, "\nsizes: {quarter: {milli: 250}}\n"...), 0o644))
	s.must(write(theNode.path("sized.yaml"), "%s", strings.NewReplacer("name: one", "name: sized, annotations: {fgpu.io/size: quarter}",
		"    resources: {limits: {fgpu.io/gpu-milli: 300}}\n", "").Replace(podOfOneLine)))
	s.kubectl("apply", "-k", filepath.Join(manifests, "dedicated"))
	s.kubectl("-n", "team", "apply", "-f", theNode.path("sized.yaml"))
	s.until("the size is known", func() (bool, string) {
		p := s.get("sized")
		return p.Spec.NodeName != "", p.Name + " waits"
	})
	if after := s.fgpuPod(); after != before {
		s.Errorf("the pod of fgpu was replaced: %s, then %s", before, after)
	}
}

// fgpuPod is the pod of fgpu and how often its containers were started.
func (s *scene) fgpuPod() string {
	s.Helper()
	pods, err := plane.Client.CoreV1().Pods("fgpu-system").List(s.ctx, metav1.ListOptions{})
	s.must(err)
	text := ""
	for _, p := range pods.Items {
		text += string(p.UID)
		for _, c := range p.Status.ContainerStatuses {
			text += fmt.Sprintf(" %s=%d", c.Name, c.RestartCount)
		}
	}
	return text
}
