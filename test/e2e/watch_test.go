package e2e

import (
	"strings"
	"testing"

	"fgpu.io/fgpu/test/e2e/harness"
)

func TestTheFirstListIsAWatchListWhereTheAPIServerOffersIt(t *testing.T) {
	// fgpu is ready, so both lists are complete; not one page was asked for, and the bookmark that ends a
	// WatchList was seen.
	c := newCluster(t, gpuNode("watched", 1, gib80))
	c.ownFgpu(dedicated)
	body, err := harness.Get(c.ctx, c.fgpu.OpsURL+"/metrics", "")
	c.must(body, err)
	metrics := string(body)
	for _, resource := range []string{"pods", "nodes"} {
		if strings.Contains(metrics, `fgpu_api_requests_total{verb="list",resource="`+resource+`"`) {
			t.Errorf("%s were listed in pages", resource)
		}
		if !strings.Contains(metrics, `fgpu_watch_events_total{resource="`+resource+`",type="bookmark"} `) ||
			strings.Contains(metrics, `fgpu_watch_events_total{resource="`+resource+`",type="bookmark"} 0`) {
			t.Errorf("no bookmark for %s", resource)
		}
	}
	if t.Failed() {
		t.Log(metrics)
	}
}
