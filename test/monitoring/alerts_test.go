package monitoring

import (
	"strings"
	"testing"
)

// A day of a series is written "VALUE+STEPxTIMES": VALUE, then TIMES more, each STEP larger, one a minute; "_" is a missing sample.
var alertTests = []struct {
	alert   string
	fires   string // with these series it fires
	minutes int    // after so long,
	already int    // and not yet after so long;
	says    string // its summary has these words;
	silent  string // with these it never fires in that time
}{
	{"FgpuDown", "up 1x10", 6, 4, "No fgpu", `fgpu_build_info{version="v1"} 1x10`},
	{"FgpuNotReady", `fgpu_http_requests_total{instance="a",listener="health",code="500"} 0+6x20`, 8, 4, "fgpu a",
		`fgpu_http_requests_total{instance="a",listener="health",code="500"} 0+6x3 18x17
		 fgpu_http_requests_total{instance="a",listener="health",code="200"} 0+6x20
		 fgpu_http_requests_total{instance="a",listener="verbs",code="500"} 0+6x20`},
	{"FgpuNobodyDecides", `fgpu_leader{instance="a"} 1 0x9
		 fgpu_leader{instance="b"} 0x10`, 5, 2, "none decides",
		`fgpu_leader{instance="a"} 1 1 1 0 0 0 0 0 0 0
		 fgpu_leader{instance="b"} 0 0 0 0 1 1 1 1 1 1`},
	{"FgpuBlind", `fgpu_watch_last_contact_seconds{instance="a",resource="pods"} 25x20
		 fgpu_watch_last_contact_seconds{instance="a",resource="nodes"} 2x20`, 2, 0, "nothing of pods for 25s",
		`fgpu_watch_last_contact_seconds{instance="a",resource="pods"} 3 25 4 19 20 9`},
	{"FgpuCredentialsRejected", `fgpu_credentials_usable{instance="a"} 0x9`, 2, 0, "credentials of fgpu a",
		`fgpu_credentials_usable{instance="a"} 1x9`},
	{"FgpuRightMissing", `fgpu_api_requests_total{instance="a",verb="watch",resource="nodes",code="403"} 0+1x30`, 15, 9, "may not watch nodes",
		`fgpu_api_requests_total{instance="a",verb="watch",resource="nodes",code="403"} 5x30
		 fgpu_api_requests_total{instance="a",verb="watch",resource="nodes",code="200"} 0+1x30`},
	{"FgpuIncident", `fgpu_incidents{kind="double_booking"} 0 0 1`, 2, 1, "1 times double_booking",
		`fgpu_incidents{kind="double_booking"} 0x9
		 fgpu_incidents_total{kind="double_booking"} 4x9`},
	{"FgpuOverCommitted", "fgpu_overcommitted_devices 1x20", 6, 4, "1 GPUs", "fgpu_overcommitted_devices 1 1 1 0 1 1 0 0"},
	{"FgpuInvariantViolation", "fgpu_invariant_violations_total 0 0 1 1", 3, 1, "bug", "fgpu_invariant_violations_total 0x9"},
	{"FgpuBindOutcomeUnknown", `fgpu_ledger_pods{instance="a",state="reserved"} 1x40
		 fgpu_bind_outcomes_total{instance="a",outcome="unknown"} 0 1x39`, 17, 15, "whether 1 pods were bound",
		`fgpu_ledger_pods{instance="a",state="reserved"} 1 0 2 1 1 1 0 1 1 1 0 1 1 1 1 0 1
		 fgpu_bind_outcomes_total{instance="a",outcome="unknown"} 0 1x39`},
	{"FgpuBindsRefused", `fgpu_bind_outcomes_total{instance="a",outcome="refused"} 0+1x30`, 15, 7, "refused",
		`fgpu_bind_outcomes_total{instance="a",outcome="refused"} 0 1 1 1 2x20
		 fgpu_bind_outcomes_total{instance="a",outcome="conflict"} 0+5x30`},
	{"FgpuAuditDrift", `fgpu_audit_drift_total{instance="a",cause="pod_missing"} 0 0 1 1`, 3, 1, "pod_missing",
		`fgpu_audit_drift_total{instance="a",cause="pod_missing"} 7x9`},
	{"FgpuAuditFails", `fgpu_audit_runs_total{instance="a",result="failed"} 0+0.2x40
		 fgpu_audit_runs_total{instance="a",result="clean"} 9x40`, 30, 9, "half an hour",
		`fgpu_audit_runs_total{instance="a",result="failed"} 0+0.2x40
		 fgpu_audit_runs_total{instance="a",result="drift"} 0 0 0 1x37`},
	{"FgpuTableFull", `fgpu_uncounted_nodes{instance="a"} 0 0 1
		 fgpu_pods_turned_away_total{instance="a"} 0x9`, 2, 1, "full of pods",
		`fgpu_uncounted_nodes{instance="a"} 0x9
		 fgpu_pods_turned_away_total{instance="a"} 0x9`},
	{"FgpuTableFull", `fgpu_uncounted_nodes{instance="a"} 0x9
		 fgpu_pods_turned_away_total{instance="a"} 0 0 5`, 2, 1, "full of pods",
		`fgpu_pods_turned_away_total{instance="a"} 5x9`},
	{"FgpuRecordRefuted", "fgpu_records_refuted_total 0 0 1", 2, 1, "forged", "fgpu_records_refuted_total 3x9"},
	{"FgpuRecordIgnored", "fgpu_records_ignored_total 0+1x40", 17, 14, "public key", "fgpu_records_ignored_total 0 4x39"},
	{"FgpuForeignPods", `fgpu_ledger_pods{state="foreign"} 1x40`, 16, 14, "1 pods",
		`fgpu_ledger_pods{state="foreign"} 0x40
		 fgpu_ledger_pods{state="bound"} 2x40`},
	{"FgpuNodesInDoubt", `fgpu_nodes_in_doubt{instance="a"} 2x40`, 16, 14, "2 nodes", `fgpu_nodes_in_doubt{instance="a"} 0 1x10 0x29`},
	{"FgpuNoGpus", "fgpu_ledger_nodes 0x40", 16, 14, "no node", "fgpu_ledger_nodes 0x5 3x35"},
	{"FgpuPodsWaitWhileRoomExists", `fgpu_ledger_pods{instance="a",state="pending"} 0x8 1x60
		 fgpu_most_empty_gpus{instance="a"} 1x70`, 40, 38, "1 now",
		`fgpu_ledger_pods{instance="a",state="pending"} 3x70
		 fgpu_most_empty_gpus{instance="a"} 1x9 0x3 1x9 0x3 1x9 0x3 1x9 0x3 1x9`},
	{"FgpuFilterSlow", `fgpu_request_duration_seconds_bucket{instance="a",verb="filter",le="0.01024"} 0+50x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="filter",le="0.02048"} 0+60x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="filter",le="+Inf"} 0+60x40`, 15, 9, "One of a hundred",
		`fgpu_request_duration_seconds_bucket{instance="a",verb="filter",le="0.01024"} 0+60x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="filter",le="0.02048"} 0+60x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="filter",le="+Inf"} 0+60x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="0.01024"} 0x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="+Inf"} 0+60x40`},
	{"FgpuBindSlow", `fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="0.65536"} 0+50x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="2.62144"} 0+60x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="+Inf"} 0+60x40`, 15, 9, "One of a hundred",
		`fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="0.65536"} 0+60x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="2.62144"} 0+60x40
		 fgpu_request_duration_seconds_bucket{instance="a",verb="bind",le="+Inf"} 0+60x40`},
	{"FgpuCertificateExpires", "fgpu_tls_certificate_expiration_timestamp_seconds 1209720x9", 5, 1, "expires in",
		"fgpu_tls_certificate_expiration_timestamp_seconds 0x9"},
	{"FgpuCertificateExpires", "fgpu_tls_certificate_expiration_timestamp_seconds 30x9", 5, -1, "expires in",
		"fgpu_tls_certificate_expiration_timestamp_seconds 1300000x9"},
	{"FgpuConfigurationNotInEffect", "fgpu_config_last_reload_successful 0x20", 6, 4, "older configuration",
		"fgpu_config_last_reload_successful 0x3 1x20"},
	{"FgpuPoolCommandFails", "fgpu_pool_commands_failing 1x20", 11, 9, "1 node pools", "fgpu_pool_commands_failing 1x5 0x20"},
	{"FgpuAgentMissing", `fgpu_ledger_nodes 3x40
		 fgpu_node_gpus{node="a"} 1x40
		 fgpu_node_gpus{node="b"} 8x5 _x35
		 fgpu_node_gpus{node="c"} 0x40`, 27, 14, "(3)",
		`fgpu_ledger_nodes 2x40
		 fgpu_node_gpus{node="a"} 1x40
		 fgpu_node_gpus{node="b"} 8x40
		 fgpu_node_gpus{node="c"} 0x40`},
	{"FgpuAgentMissing", "fgpu_ledger_nodes 1x40", 16, 14, "(1)", "fgpu_ledger_nodes 0x40"},
	{"FgpuAgentWithoutRuntime", `fgpu_node_runtime_connected{node="a"} 0x9
		 fgpu_node_runtime_connected{node="b"} 1x9`, 3, 1, "of a does not ask", `fgpu_node_runtime_connected{node="a"} 0 0 1x9`},
	{"FgpuGpuUnhealthy", `fgpu_node_gpu_healthy{node="a",gpu="GPU-1"} 0x9
		 fgpu_node_gpu_healthy{node="a",gpu="GPU-2"} 1x9`, 2, 0, "GPU-1 of a", `fgpu_node_gpu_healthy{node="a",gpu="GPU-1"} 1x9`},
	{"FgpuGpuHeldPastItsSize", `fgpu_node_gpu_over{node="a",gpu="GPU-1"} 1x9`, 6, 4, "GPU-1 of a",
		`fgpu_node_gpu_over{node="a",gpu="GPU-1"} 1 1 0 1 1 1 1 0`},
	{"FgpuForeignProcesses", `fgpu_node_foreign_processes{node="a"} 1x9`, 6, 4, "1 processes", `fgpu_node_foreign_processes{node="a"} 0x9`},
	{"FgpuContainersRefused", `fgpu_node_containers_refused_total{node="a"} 0+1x40`, 25, 14, "of a refuses",
		`fgpu_node_containers_refused_total{node="a"} 0+1x3 3x30`},
	{"FgpuDriverSilent", `fgpu_node_usage_looks_total{node="a",result="failed"} 0+1x30`, 12, 9, "driver of a",
		`fgpu_node_usage_looks_total{node="a",result="failed"} 0 1x5 1x30
		 fgpu_node_usage_looks_total{node="a",result="ok"} 0+6x30`},
	{"FgpuAgentSlow", `fgpu_node_container_step_duration_seconds_bucket{node="a",le="0.1024"} 0+5x40
		 fgpu_node_container_step_duration_seconds_bucket{node="a",le="0.8192"} 0+6x40
		 fgpu_node_container_step_duration_seconds_bucket{node="a",le="+Inf"} 0+6x40`, 15, 9, "agent of a",
		`fgpu_node_container_step_duration_seconds_bucket{node="a",le="0.1024"} 0+6x40
		 fgpu_node_container_step_duration_seconds_bucket{node="a",le="0.8192"} 0+6x40
		 fgpu_node_container_step_duration_seconds_bucket{node="a",le="+Inf"} 0+6x40`},
	{"FgpuContainerOverItsMemory", `fgpu_node_container_gpu_over_limit{namespace="n",pod="p",container="c",gpu="GPU-1"} 1x20`, 11, 9,
		"n/p uses more", `fgpu_node_container_gpu_over_limit{namespace="n",pod="p",container="c",gpu="GPU-1"} 1x8 0x20`},
	{"FgpuGpuHeldButUnused", `fgpu_node_container_gpu_touched{namespace="n",pod="p",container="c",gpu="GPU-1"} 0x400`, 361, 359,
		"n/p holds GPU GPU-1", `fgpu_node_container_gpu_touched{namespace="n",pod="p",container="c",gpu="GPU-1"} 0x300 1x100`},
}

func indented(series string) string {
	var text strings.Builder
	for line := range strings.Lines(series) {
		text.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	return text.String()
}

func TestEveryAlertFiresWhenItShouldAndNotOtherwise(t *testing.T) {
	tested := map[string]bool{}
	for _, row := range alertTests {
		tested[row.alert] = true
		t.Run(row.alert, func(t *testing.T) {
			alerts, first := firing(t, ruleNamed(t, row.alert), indented(row.fires), row.minutes)
			if len(alerts) != 1 {
				t.Fatalf("%d alerts after %d minutes of\n%s", len(alerts), row.minutes, row.fires)
			}
			if said := alerts[0].Annotations.Get("summary"); !strings.Contains(said, row.says) || strings.Contains(said, "error") {
				t.Errorf("it says %q, expected %q", said, row.says)
			}
			if first <= row.already {
				t.Errorf("it fires already after %d minutes", first)
			}
			if _, first := firing(t, ruleNamed(t, row.alert), indented(row.silent), row.minutes); first >= 0 {
				t.Errorf("after %d minutes it fires with\n%s", first, row.silent)
			}
		})
	}
	for _, rule := range alertingRules(t) {
		if !tested[rule.Name()] {
			t.Errorf("%s has no test", rule.Name())
		}
	}
}
