package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fgpu.io/fgpu/test/e2e/checker"
	"fgpu.io/fgpu/test/e2e/harness"
)

// eventsAbout gives what fgpu told about one object, by reason.
func (c *cluster) eventsAbout(namespace string, uid types.UID) (map[string]eventsv1.Event, string) {
	c.Helper()
	list, err := plane.Client.EventsV1().Events(namespace).List(c.ctx, metav1.ListOptions{})
	c.must(list, err)
	found, names := map[string]eventsv1.Event{}, []string{}
	for _, e := range list.Items {
		if e.Regarding.UID == uid && e.ReportingController == "fgpu.io/extender" {
			found[e.Reason] = e
			names = append(names, e.Reason)
		}
	}
	return found, fmt.Sprint(names)
}

func (c *cluster) setInventory(node *corev1.Node, text string) {
	c.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, checker.InventoryKey, text)
	_, err := plane.Client.CoreV1().Nodes().Patch(c.ctx, node.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(nil, err)
}

// lostEvents gives the metrics' lines of Events of these reasons that were not written. The tests before used the same fgpu,
// and some of their Events had no namespace any more.
func (c *cluster) lostEvents(reasons ...string) string {
	c.Helper()
	metrics, err := harness.Get(c.ctx, c.fgpu.OpsURL+"/metrics", "")
	c.must(metrics, err)
	lost := regexp.MustCompile(`(?m)^fgpu_events_total\{reason="(?:` + strings.Join(reasons, "|") + `)",result="(?:dropped|failed)"\} .*$`)
	lines := lost.FindAllString(string(metrics), -1)
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

func TestEventsAndTheirSeriesAreAccepted(t *testing.T) {
	c := newCluster(t, gpuNode("flapping", 1, gib80))
	c.useFgpu(dedicated)
	reasons := []string{"GPUInventoryInvalid", "GPUInventoryRestored", "GPURequestInvalid"}
	before := c.lostEvents(reasons...)
	node := c.nodes[0]
	good := node.Annotations[checker.InventoryKey]
	for range 2 {
		c.setInventory(node, "{")
		c.setInventory(node, good)
	}
	c.eventually("both transitions are told, as series of two", func() (bool, string) {
		found, names := c.eventsAbout("default", node.UID)
		bad, fixed := found["GPUInventoryInvalid"], found["GPUInventoryRestored"]
		return bad.Series != nil && bad.Series.Count == 2 && fixed.Series != nil && fixed.Series.Count == 2, names
	})
	found, _ := c.eventsAbout("default", node.UID)
	if bad := found["GPUInventoryInvalid"]; bad.Type != "Warning" || bad.Series.LastObservedTime.Before(&bad.EventTime) {
		t.Errorf("a strange event: %+v", bad)
	}
	// What kubectl describe asks for.
	legacy, err := plane.Client.CoreV1().Events("default").List(c.ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(node.UID)})
	c.must(legacy, err)
	if len(legacy.Items) != 2 {
		t.Errorf("%d events by the legacy API, expected 2", len(legacy.Items))
	}
	for _, e := range legacy.Items {
		if e.Message == "" || e.EventTime.IsZero() || e.Series == nil {
			t.Errorf("not to be shown: %+v", e)
		}
	}

	c.create(pod("absurd", "fgpu.io/gpu-milli=1500"))
	c.eventually("the pod's request is called invalid", func() (bool, string) {
		p, err := plane.Client.CoreV1().Pods(c.namespace).Get(c.ctx, "absurd", metav1.GetOptions{})
		c.must(p, err)
		found, names := c.eventsAbout(c.namespace, p.UID)
		return found["GPURequestInvalid"].Note != "", names
	})
	if after := c.lostEvents(reasons...); after != before {
		t.Errorf("of such Events, dropped or failed were before: %s; and now: %s", before, after)
	}
}
