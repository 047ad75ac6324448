package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An API server that has more than it can do treats what elects a replica, and what binds, as it treats the cluster's own kube-scheduler,
// and nobody else's calls because of that.
func TestABusyAPIServerTreatsFgpuAsItTreatsKubeScheduler(t *testing.T) {
	c := newCluster(t)
	const of = "system:serviceaccount:fgpu-system:"
	for _, row := range []struct{ user, path, want string }{
		{of + "fgpu", "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases/fgpu-scheduler", "fgpu-election"},
		{of + "fgpu-scheduler", "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases/fgpu-scheduler", "fgpu-election"},
		{of + "fgpu", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/other", "fgpu"},
		{of + "fgpu", "/api/v1/pods?limit=1", "fgpu"},
		{of + "fgpu-scheduler", "/api/v1/pods?limit=1", "fgpu"},
		{"fgpu", "/api/v1/nodes?limit=1", "fgpu-control-plane"},
		{of + "other", "/api/v1/pods?limit=1", "global-default"},
		{"system:serviceaccount:" + c.namespace + ":fgpu", "/api/v1/pods?limit=1", "global-default"},
		{"tenant", "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases/fgpu-scheduler", "global-default"},
	} {
		c.eventually(row.user+" asks for "+row.path, func() (bool, string) {
			schema, err := plane.Client.FlowcontrolV1().FlowSchemas().Get(c.ctx, row.want, metav1.GetOptions{})
			c.must(schema, err)
			uid, err := plane.FlowSchemaOf(c.ctx, row.user, row.path)
			c.must(nil, err)
			return uid == schema.UID, "not by FlowSchema " + row.want
		})
	}
	// The levels that the two name are there, and are those of the cluster's scheduler.
	for name, level := range map[string]string{"fgpu-election": "leader-election", "fgpu": "workload-high", "fgpu-control-plane": "workload-high"} {
		schema, err := plane.Client.FlowcontrolV1().FlowSchemas().Get(c.ctx, name, metav1.GetOptions{})
		c.must(schema, err)
		if got := schema.Spec.PriorityLevelConfiguration.Name; got != level {
			t.Errorf("%s has level %s", name, got)
		}
		for _, condition := range schema.Status.Conditions {
			if condition.Type == "Dangling" && condition.Status != "False" {
				t.Errorf("%s: %s", name, condition.Message)
			}
		}
	}
}
