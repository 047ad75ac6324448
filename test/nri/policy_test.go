//go:build nri_fail_policy

package nri

import (
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
)

// From 0.12.5 on a plugin may ask that a container is refused while the plugin hangs.
func TestWhoHangsRefuses(t *testing.T) {
	r, p := start(t, "--fail-request")
	adaptation.SetPluginRequestTimeout(300 * time.Millisecond)
	defer adaptation.SetPluginRequestTimeout(patience)
	if _, err := r.create(pod("hang", map[string]string{"probe/hang": "yes"}), container("main", "cid")); err == nil {
		t.Error("the container was made without the plugin")
	}
	p.next("create")
}
