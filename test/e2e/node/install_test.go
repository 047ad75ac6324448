package node

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
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
	s.metricsForWhoMayReadThem()
	s.newSizeWithoutARestart(manifests)
}

// metricsForWhoMayReadThem scrapes the agent as manifests/README.md has Prometheus do it.
func (s *scene) metricsForWhoMayReadThem() {
	s.Helper()
	s.kubectl("-n", "team", "create", "serviceaccount", "prometheus")
	s.kubectl("create", "clusterrolebinding", "fgpu-node-metrics-reader-prometheus", "--clusterrole=fgpu-node-metrics-reader",
		"--serviceaccount=team:prometheus")
	reader := strings.TrimSpace(s.kubectl("-n", "team", "create", "token", "prometheus"))
	other := strings.TrimSpace(s.kubectl("-n", "team", "create", "token", "default"))
	var address string
	s.until("the endpoint of the agent", func() (bool, string) {
		slices, err := plane.Client.DiscoveryV1().EndpointSlices("fgpu-node").List(s.ctx, metav1.ListOptions{
			LabelSelector: "kubernetes.io/service-name=fgpu-node-metrics"})
		s.must(err)
		for _, slice := range slices.Items {
			for _, e := range slice.Endpoints {
				address = fmt.Sprintf("%s:%d", e.Addresses[0], *slice.Ports[0].Port)
			}
		}
		return address != "", "none"
	})
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(token string) (int, string) {
		r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "https://"+address+"/metrics", nil)
		s.must(err)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(r)
		s.must(err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		s.must(err)
		return answer.StatusCode, string(body)
	}
	s.until("the right to read metrics", func() (bool, string) { // the agent remembers a refusal for ten seconds
		status, body := get(reader)
		return status == http.StatusOK && strings.Contains(body, "fgpu_node_gpus"), fmt.Sprint(status, " ", body)
	})
	if status, body := get(other); status != http.StatusForbidden {
		s.Errorf("a stranger reads the agent's metrics: %d %s", status, body)
	}
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
