package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fgpu.io/fgpu/test/e2e/harness"
)

// oddPods creates two pods that anybody may create: one with a NUL in an annotation, and one of 1.4 MiB in etcd that
// is more than 8 MiB of JSON. In protobuf, as JSON the second would be larger than a request may be.
func (c *cluster) oddPods(suffix string) {
	c.Helper()
	config := rest.CopyConfig(plane.Config)
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	c.must(client, err)
	nul := annotated(pod("nul-"+suffix), "example.com/evil=a\x00b")
	large := pod("large-" + suffix)
	large.Spec.Containers[0].Args = []string{strings.Repeat("<", 1400*1024)}
	for _, p := range []*corev1.Pod{nul, large} {
		p.Spec.SchedulerName = "nobody"
		_, err := client.CoreV1().Pods(c.namespace).Create(c.ctx, p, metav1.CreateOptions{})
		c.must(p, err)
	}
	// What no client library writes: a lone surrogate, which comes back as U+FFFD, and a NUL in a name that nobody checks.
	raw := `{"metadata":{"name":"raw-` + suffix + `","annotations":{"example.com/x":"\ud800"}},"spec":{"schedulerName":"no\u0000body",` +
		`"containers":[{"name":"main","image":"example.com/none"}]}}`
	body, err := plane.Client.CoreV1().RESTClient().Post().Namespace(c.namespace).Resource("pods").
		SetHeader("Content-Type", "application/json").Body([]byte(raw)).DoRaw(c.ctx)
	c.must(body, err)
	if text := string(body); !strings.Contains(text, "\ufffd") || !strings.Contains(text, `no\u0000body`) {
		c.Fatalf("the API server returns something else: %s", text)
	}
	body, err = plane.Client.CoreV1().RESTClient().Get().Namespace(c.namespace).Resource("pods").Name("large-" + suffix).DoRaw(c.ctx)
	c.must(body, err)
	if len(body) < 8<<20 {
		c.Fatalf("the API server returns %d bytes for the large pod, this is about more than 8 MiB", len(body))
	}
	body, err = plane.Client.CoreV1().RESTClient().Get().Namespace(c.namespace).Resource("pods").Name("nul-" + suffix).DoRaw(c.ctx)
	c.must(body, err)
	if !strings.Contains(string(body), `a\u0000b`) {
		c.Fatalf("the API server does not return the NUL: %s", body)
	}
}

// unreadable is what /state says of objects that were not read in full.
func (c *cluster) unreadable() string {
	c.Helper()
	body, err := c.fgpu.Ops(c.ctx, "/state?fields=summary")
	c.must(body, err)
	var s struct {
		Summary struct {
			Unreadable struct {
				Count   int
				Objects []struct{ Resource, Namespace, Name string }
			}
		}
	}
	c.must(nil, json.Unmarshal(body, &s))
	var names []string
	for _, o := range s.Summary.Unreadable.Objects {
		if o.Namespace == c.namespace {
			names = append(names, o.Resource+"/"+o.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestOnePodBlindsNobody(t *testing.T) {
	// Odd pods are there before fgpu is, and more come while it runs: full nodes are still seen as full, what goes
	// is seen to go, and a pod with a NUL of its own gets its GPU.
	c := newCluster(t, gpuNode("odd-full", 1, gib80))
	c.oddPods("before")
	c.ownFgpu(dedicated)
	c.startScheduler(dedicated)
	c.create(pod("first", "fgpu.io/gpu-milli=1000"))
	c.bound("first")
	c.oddPods("while")
	c.create(annotated(pod("second", "fgpu.io/gpu-milli=1000"), "example.com/evil=\x00"))
	c.refused("second")
	c.eventually("the large pods are named", func() (bool, string) {
		got := c.unreadable()
		return got == "pods/large-before pods/large-while", got
	})
	c.must(nil, c.remove("first"))
	c.bound("second")
	c.create(pod("third", "fgpu.io/gpu-milli=1"))
	c.refused("third")
	c.must(nil, c.remove("large-while"))
	c.eventually("what is gone is not named any more", func() (bool, string) {
		got := c.unreadable()
		return got == "pods/large-before", got
	})
	c.sound()
}

// quickToDoubt runs fgpu from the shipped configuration, but for staleAfter.
func (c *cluster) quickToDoubt() {
	c.Helper()
	kubeconfig, err := plane.Kubeconfig(c.ctx, "fgpu-system", "fgpu")
	c.must(kubeconfig, err)
	config := filepath.Join(plane.Dir, c.name+".fgpu.yaml")
	line := "kind: FgpuConfiguration\n"
	c.must(nil, harness.Adapt(manifest("dedicated", "fgpu.yaml"), config,
		harness.Replacement{Old: line, New: line + "clientConnection: {staleAfter: 2s}\n"}))
	if c.fgpu, err = plane.StartFgpu(c.ctx, binary, c.name, config, kubeconfig); err != nil {
		c.Fatal(err)
	}
}

// blind waits until fgpu says everywhere that it hears no changes, and why.
func (c *cluster) blind(why, logged string) {
	c.Helper()
	c.eventually("fgpu is not ready and says "+why, func() (bool, string) {
		_, err := harness.Get(c.ctx, c.fgpu.HealthURL+"/readyz/api-contact", "")
		return err != nil && strings.Contains(err.Error(), why), "it answers otherwise"
	})
	gpu, err := harness.Filter(c.ctx, c.fgpu.VerbsURL, pod("asks", "fgpu.io/gpu-milli=100"), c.nodes[0].Name)
	c.must(gpu, err)
	if !strings.Contains(gpu.Error, why) {
		c.Errorf("filter answers %q while blind", gpu.Error)
	}
	plain, err := harness.Filter(c.ctx, c.fgpu.VerbsURL, pod("plain"), c.nodes[0].Name)
	c.must(plain, err)
	if plain.Error != "" || plain.NodeNames == nil || len(*plain.NodeNames) != 1 {
		c.Errorf("a pod without GPUs is stopped: %q", plain.Error)
	}
	log, err := os.ReadFile(c.fgpu.LogFile)
	c.must(log, err)
	if !strings.Contains(string(log), logged) {
		c.Errorf("the log does not say %q", logged)
	}
	if pods, nodes := c.silence("pods"), c.silence("nodes"); pods <= 2 && nodes <= 2 { // one of them is enough
		c.Errorf("the gauges show %g s and %g s of silence while blind", pods, nodes)
	}
}

// silence is the gauge of a resource, in seconds.
func (c *cluster) silence(resource string) float64 {
	c.Helper()
	metrics, err := c.fgpu.Ops(c.ctx, "/metrics")
	c.must(metrics, err)
	_, rest, found := strings.Cut(string(metrics), `fgpu_watch_last_contact_seconds{resource="`+resource+`"} `)
	if !found {
		c.Fatalf("no gauge for %s", resource)
	}
	value, _, _ := strings.Cut(rest, "\n")
	seconds, err := strconv.ParseFloat(value, 64)
	c.must(seconds, err)
	return seconds
}

func (c *cluster) sees() {
	c.Helper()
	c.eventually("fgpu is ready again", func() (bool, string) {
		_, err := harness.Get(c.ctx, c.fgpu.HealthURL+"/readyz", "")
		return err == nil, "not yet"
	})
}

func TestBlindIsNotReady(t *testing.T) {
	c := newCluster(t, gpuNode("blind", 1, gib80))
	c.quickToDoubt()
	c.startScheduler(dedicated)
	c.create(pod("before", "fgpu.io/gpu-milli=300"))
	c.bound("before")

	say("  the right to watch pods is taken away")
	roles := plane.Client.RbacV1().ClusterRoles()
	shipped, err := roles.Get(c.ctx, "fgpu", metav1.GetOptions{})
	c.must(shipped, err)
	setRules := func(rules []rbacv1.PolicyRule) {
		role, err := roles.Get(c.ctx, "fgpu", metav1.GetOptions{})
		c.must(role, err)
		role.Rules = rules
		role, err = roles.Update(c.ctx, role, metav1.UpdateOptions{})
		c.must(role, err)
	}
	less := append([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}}}, shipped.Rules[1:]...)
	defer setRules(shipped.Rules)
	setRules(less)
	c.must(nil, plane.RestartAPI(c.ctx, 0)) // rights are asked for when a watch begins
	c.eventually("only pods are not heard of any more", func() (bool, string) {
		pods, nodes := c.silence("pods"), c.silence("nodes")
		return pods > 5 && nodes < 2, fmt.Sprintf("pods %g s, nodes %g s", pods, nodes)
	})
	// An API server that has just started may forbid the list, too, before it knows the roles: the log has the first refusal.
	c.blind("news of pods for longer than staleAfter (the API server forbids it", ` resource \"pods\" in API group`)
	setRules(shipped.Rules)
	c.sees()

	say("  the API server goes away")
	plane.API.Kill()
	c.blind("cannot be reached", "Cannot follow the cluster")
	c.must(nil, plane.API.Start(c.ctx))
	c.sees()
	c.create(pod("after", "fgpu.io/gpu-milli=300"))
	c.bound("after")
	c.sound()
}
