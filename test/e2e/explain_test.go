package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type explanation struct {
	Outcome string `json:"outcome"`
	Text    string `json:"text"`
	Reasons []struct {
		Text  string `json:"text"`
		Nodes int    `json:"nodes"`
	} `json:"reasons"`
	NodeCount int `json:"nodeCount"`
	Nearest   []struct {
		Node        string `json:"node"`
		FitsIfEnded []struct {
			Namespace string `json:"namespace"`
			Pod       string `json:"pod"`
		} `json:"fitsIfEnded"`
	} `json:"nearest"`
	Scheduler struct {
		Message    string   `json:"message"`
		OwnReasons []string `json:"ownReasons"`
		Asked      int      `json:"asked"`
		LastNodes  int      `json:"lastNodes"`
	} `json:"scheduler"`
	Allocations []struct {
		UUID string `json:"uuid"`
	} `json:"allocations"`
	Decision struct {
		Node string `json:"node"`
	} `json:"decision"`
}

// explain runs the command, as a user would.
func (c *cluster) explain(name string) explanation {
	c.Helper()
	out, err := exec.CommandContext(c.ctx, binary, "explain", "pod/"+c.namespace+"/"+name,
		"--server", c.fgpu.OpsURL, "-o", "json").Output()
	var e explanation
	if err == nil {
		err = json.Unmarshal(out, &e)
	}
	c.must(out, err)
	return e
}

// What explain says is done: the pod it names is deleted, and the pod that waited is bound. Beside the node with GPUs
// there is one that kube-scheduler rules out itself, and says so.
func TestExplainNamesThePodWhoseEndLetsTheWaitingOneRun(t *testing.T) {
	cordoned := gpuNode("cordoned", 1, gib80)
	cordoned.Spec.Unschedulable = true
	c := newCluster(t, gpuNode("full", 2, gib80), cordoned)
	c.install(dedicated)
	c.create(pod("large", "fgpu.io/gpu-milli=900"))
	c.bound("large")
	c.create(pod("small", "fgpu.io/gpu-milli=700"))
	c.bound("small")
	c.create(pod("waits", "fgpu.io/gpu-milli=400"))
	c.refusedFor("waits", "too few GPUs with enough free compute")

	var e explanation
	c.eventually("kube-scheduler's own reason is told apart", func() (bool, string) {
		e = c.explain("waits")
		return len(e.Scheduler.OwnReasons) == 1 && strings.Contains(e.Scheduler.OwnReasons[0], "unschedulable"),
			e.Scheduler.Message
	})
	if e.Outcome != "waiting" || e.NodeCount != 2 || e.Scheduler.Asked == 0 || e.Scheduler.LastNodes != 1 {
		t.Errorf("strange: %+v", e)
	}
	if len(e.Nearest) != 1 || e.Nearest[0].Node != c.nodes[0].Name || len(e.Nearest[0].FitsIfEnded) != 1 ||
		e.Nearest[0].FitsIfEnded[0].Pod != "small" {
		t.Fatalf("nearest: %+v", e.Nearest)
	}
	err := c.remove(e.Nearest[0].FitsIfEnded[0].Pod)
	c.must(nil, err)
	at := c.devices(c.bound("waits"))["main"]
	c.eventually("the bound pod is explained by its decision", func() (bool, string) {
		e = c.explain("waits")
		return e.Outcome == "placed" && len(e.Allocations) == 1 && e.Allocations[0].UUID == at[0] &&
			e.Decision.Node == c.nodes[0].Name, e.Text
	})
	c.sound()
}

// A pod that names another scheduler waits for ever; explain says for which.
func TestExplainSaysThatNobodyAsked(t *testing.T) {
	c := newCluster(t, gpuNode("idle", 1, gib80))
	c.install(dedicated)
	c.create(pod("asked", "fgpu.io/gpu-milli=100"))
	c.bound("asked")
	p := pod("stranger", "fgpu.io/gpu-milli=100")
	p.Spec.SchedulerName = "nobody-has-this-name"
	p.Namespace = c.namespace
	_, err := plane.Client.CoreV1().Pods(c.namespace).Create(c.ctx, p, metav1.CreateOptions{})
	c.must(nil, err)
	c.eventually("the wrong scheduler is named", func() (bool, string) {
		out, _ := exec.CommandContext(c.ctx, binary, "explain", "pod/"+c.namespace+"/stranger",
			"--server", c.fgpu.OpsURL).CombinedOutput()
		return strings.Contains(string(out), "it names scheduler nobody-has-this-name"), string(out)
	})
}
