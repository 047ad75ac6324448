/* obs/catalog.c - the table of all metrics. Names are a contract: dashboards and alerts use
 * them. */
#include "obs/catalog.h"

#include "base/build_info.h"
#include "obs/api_calls.h"
#include "obs/catalog_internal.h"
#include "obs/process_internal.h"
#include "obs/reference_internal.h"

/* 10 us to 5.2 s; 1 ms to 16 s */
#define VERB_BUCKETS .bucket_first = 10000, .bucket_n = 20
#define API_BUCKETS .bucket_first = 1000000, .bucket_n = 15
/* 10 ms to 164 s */
#define AUDIT_BUCKETS .bucket_first = 10000000, .bucket_n = 15

/* Each kind of call, list and watch with the codes that one sees in a bad week, and some more for most of them. */
#define API_REQUESTS_MAX (6 * API_CALL_N)

#define INCIDENT_KINDS CLOSED("double_booking", "foreign_decision")
#define VERBS CLOSED("filter", "prioritize", "bind", "preempt")

static const struct metric_def CATALOG[FGPU_METRIC__MAX] = {
    HISTOGRAM(FGPU_REQUEST_DURATION_SECONDS, "fgpu_request_duration_seconds",
              "Time from the request line of a scheduler call to its answer.", .unit = METRIC_UNIT_NS, VERB_BUCKETS,
              .labels = {{"verb", VERBS}},
              .worry = "99 % of filter above 15 ms, or of bind above 1 s, for some minutes: look at the API server "
                       "(fgpu_api_request_duration_seconds) and at the CPU of fgpu."),
    COUNTER(FGPU_REQUESTS_TOTAL, "fgpu_requests_total", "Scheduler calls answered, by verb and outcome.",
            .labels = {{"verb", VERBS},
                       {"outcome", NULL,
                        "fits, none_fits, malformed_pod, not_ours, scored, error, not_ready; of bind as "
                        "fgpu_bind_outcomes_total"}},
            .series_max = 32,
            .worry = "outcome error rises: the log says why. outcome not_ready rises for longer than a start takes: "
                     "ask /readyz?verbose of the ops listener. outcome malformed_pod rises: users ask wrongly, see "
                     "pending in /state."),
    COUNTER(
        FGPU_BIND_OUTCOMES_TOTAL, "fgpu_bind_outcomes_total", "Finished binds, by the result from the API server.",
        .labels = {{"outcome", NULL, "bound, no_fit, conflict, refused, unknown, overloaded, not_ready"}},
        .series_max = 16,
        .worry =
            "unknown, refused or overloaded rise. A few conflict and no_fit are normal: somebody else was quicker."),
    COUNTER(FGPU_FILTER_VERDICTS_TOTAL, "fgpu_filter_verdicts_total", "Nodes judged by filter, by verdict.",
            .labels = {{"verdict", NULL, "fits, or the reason in one word, as no_compute"}},
            .series_max = CATALOG_VERDICTS_MAX,
            .worry = "uncounted, overcommitted, search_limit or hand_off rise: see the notes of the nodes in /state. "
                     "The others say what the cluster lacks."),

    COUNTER(FGPU_API_REQUESTS_TOTAL, "fgpu_api_requests_total",
            "Requests to the Kubernetes API server, by HTTP status; code 0 had no answer.",
            .labels = {{"verb", NULL,
                        "create, delete, get, list, patch, update, watch; check asks whether there is contact"},
                       {"resource", NULL, "of Kubernetes"},
                       {"code", NULL, "HTTP status"}},
            .series_max = API_REQUESTS_MAX,
            .worry = "code 403 rises: a right is missing. code 401: the credentials are rejected. code 0, 429 or 5xx "
                     "rise: the API server is away or overloaded."),
    HISTOGRAM(
        FGPU_API_REQUEST_DURATION_SECONDS, "fgpu_api_request_duration_seconds",
        "Time to a complete answer of the Kubernetes API server; watches are not counted.", .unit = METRIC_UNIT_NS,
        API_BUCKETS,
        .labels = {{"verb", NULL, "create, delete, get, list, patch, update"}, {"resource", NULL, "of Kubernetes"}},
        .series_max = API_CALL_N,
        .worry = "99 % of the creates of pods/binding above 1 s: the API server or etcd is slow, and bind ends "
                 "after clientConnection.bindDeadline."),
    COUNTER(FGPU_CREDENTIALS_EVENTS_TOTAL, "fgpu_credentials_events_total",
            "Events of the credentials for the API server: replaced by newer ones, rejected with 401, not readable, "
            "exec plugin run, exec plugin failed.",
            .labels = {{"event", CLOSED("renewed", "rejected", "unreadable", "plugin_run", "plugin_failed")}},
            .worry = "rejected, unreadable or plugin_failed rise."),
    GAUGE(FGPU_CREDENTIALS_USABLE, "fgpu_credentials_usable",
          "0 if the API server rejects the credentials or there are none, otherwise 1.",
          .worry = "0 for longer than a minute: fgpu learns nothing more and stops promising GPUs."),
    COUNTER(FGPU_WATCH_EVENTS_TOTAL, "fgpu_watch_events_total", "Watch events received.",
            .labels = {{"resource", NULL, "of Kubernetes"}, {"type", NULL, "change, bookmark"}}, .series_max = 24),
    COUNTER(FGPU_RELISTS_TOTAL, "fgpu_relists_total", "Complete lists read after the first one.",
            .labels = {{"resource", NULL, "of Kubernetes"}}, .series_max = 4,
            .worry = "more than a few in an hour: watches end before their time; each list costs the API server much."),
    COUNTER(FGPU_WATCH_RESTARTS_TOTAL, "fgpu_watch_restarts_total", "Watches started again after they ended.",
            .labels = {{"resource", NULL, "of Kubernetes"}}, .series_max = 4,
            .worry = "more than a few in a minute. One every 5 to 10 minutes is normal: the API server ends watches."),

    GAUGE(FGPU_WATCH_LAST_CONTACT_SECONDS, "fgpu_watch_last_contact_seconds",
          "Time since the last news from the API server: bytes on the watch, or a list while the watch was silent. "
          "Above clientConnection.staleAfter no GPU is promised.",
          .unit = METRIC_UNIT_MS, .labels = {{"resource", NULL, "of Kubernetes"}}, .series_max = 8,
          .worry = "above half of clientConnection.staleAfter (10 s by default)."),

    GAUGE(FGPU_LEADER, "fgpu_leader",
          "1 if this replica decides, 0 if it follows another one. Always 1 with election: none.",
          .worry = "the sum over all replicas is not 1 for longer than a minute: read the log of those that are 0."),
    GAUGE(FGPU_LEDGER_GENERATION, "fgpu_ledger_generation", "Operations applied to the ledger since the start."),
    GAUGE(FGPU_LEDGER_NODES, "fgpu_ledger_nodes", "Nodes with GPUs in the ledger.",
          .worry = "0, or fewer than there are GPU nodes: fgpu does not know their GPUs; `fgpu state` says why."),
    GAUGE(FGPU_LEDGER_DEVICES, "fgpu_ledger_devices", "GPUs and MIG instances in the ledger.",
          .worry = "it falls while nobody removes nodes."),
    GAUGE(FGPU_LEDGER_PODS, "fgpu_ledger_pods",
          "Pods in the ledger that use GPUs, by state; all except pending pods are charged.",
          .labels = {{"state", CLOSED("pending", "reserved", "confirmed", "bound", "foreign")}},
          .worry = "foreign above 0: pods whose GPUs nobody can prove count on every GPU of their node. pending that "
                   "does not fall: `fgpu state` lists who waits."),
    GAUGE(FGPU_GPU_MILLI, "fgpu_gpu_milli", "Compute of all GPUs in thousandths of a GPU.",
          .labels = {{"kind", CLOSED("capacity", "charged")}}),
    GAUGE(FGPU_GPU_MEMORY_BYTES, "fgpu_gpu_memory_bytes", "Memory of all GPUs.",
          .labels = {{"kind", CLOSED("capacity", "charged")}}),
    GAUGE(FGPU_OVERCOMMITTED_DEVICES, "fgpu_overcommitted_devices",
          "GPUs that are charged with more than their capacity; they take no new pods.",
          .worry = "above 0 for longer than some minutes: `fgpu state` names them."),
    GAUGE(FGPU_INCIDENTS, "fgpu_incidents",
          "GPUs that are given out twice now, and pods that are bound by decisions that this fgpu did not make. If it "
          "is above 0, somebody must act; /state lists them.",
          .labels = {{"kind", INCIDENT_KINDS}}, .worry = "above 0."),
    COUNTER(FGPU_INCIDENTS_TOTAL, "fgpu_incidents_total", "Incidents that have begun since the start, by kind.",
            .labels = {{"kind", INCIDENT_KINDS}}, .worry = "it rises."),
    COUNTER(FGPU_PODS_TURNED_AWAY_TOTAL, "fgpu_pods_turned_away_total",
            "How often a pod that uses GPUs found no room in fgpu, because fgpu is full of pods, or of names of nodes "
            "that do not exist. It should not rise.",
            .worry = "it rises."),
    GAUGE(FGPU_UNCOUNTED_NODES, "fgpu_uncounted_nodes",
          "Nodes that take no new pods with GPUs, because pods that may be on them found no room in fgpu.",
          .worry = "above 0 for longer than a minute."),
    GAUGE(
        FGPU_NODES_IN_DOUBT, "fgpu_nodes_in_doubt",
        "Nodes that take no new pods with GPUs, because nobody can prove what became of an earlier decision for them. "
        "Only with consistency: strict, and only where a bind has asked.",
        .worry = "above 0 for longer than some minutes: the log names the pod of that decision."),
    GAUGE(FGPU_CLOSED_NODES, "fgpu_closed_nodes", "Nodes whose pool takes no new pods now.",
          .worry = "other than what the time windows of the configuration say."),
    GAUGE(FGPU_CLOSED_NODE_PODS, "fgpu_closed_node_pods", "Pods that hold GPUs on closed nodes.",
          .worry = "above 0 long after a pool closed, if its command waits for them."),
    COUNTER(FGPU_POOL_COMMANDS_TOTAL, "fgpu_pool_commands_total", "Finished runs of commands of node pools.",
            .labels = {{"result", CLOSED("ok", "failed")}},
            .worry = "failed rises; the log has what the command printed."),
    GAUGE(FGPU_POOL_COMMANDS_FAILING, "fgpu_pool_commands_failing",
          "Node pools whose command failed the last time and will be tried again.", .worry = "above 0."),
    GAUGE(FGPU_CHANGE_OVERS, "fgpu_change_overs",
          "Groups of node pools that change over (changeOvers of the configuration), by the step at which they are.",
          .labels = {{"step", CLOSED("closing", "waiting", "close_commands", "open_command", "opening", "open",
                                     "closed", "conflict")}},
          .worry = "conflict above 0: the configuration has several pools of a group open."),
    COUNTER(
        FGPU_ELSEWHERE_TOTAL, "fgpu_elsewhere_total",
        "Pods that were refused on a sample of the nodes. woken: another node takes them, so kube-scheduler is made "
        "to try again.",
        .labels = {{"result", CLOSED("searched", "woken", "given_up", "dropped")}},
        .worry = "given_up rises: kube-scheduler itself refuses the nodes that fgpu has room on."),
    GAUGE(FGPU_NOMINATIONS_OUTSTANDING, "fgpu_nominations_outstanding",
          "Pods that fgpu has nominated to a node (planAhead) and that are not bound yet."),
    COUNTER(
        FGPU_NOMINATIONS_TOTAL, "fgpu_nominations_total",
        "Nominations of planAhead. used: bound to that node. withdrawn: not bound in time, or left by an earlier "
        "process. skipped: not made, because what fgpu remembers of a node is not what the node is. paced: answers of "
        "filter that waited for the nominations of the next pods.",
        .labels = {{"result", CLOSED("made", "withdrawn", "used", "skipped", "paced")}},
        .worry = "skipped is not 0: a fault of fgpu. withdrawn rises as fast as made: kube-scheduler does not take the "
                 "nodes that fgpu chooses, or does "
                 "not schedule."),
    COUNTER(FGPU_NOMINATION_FAILURES_TOTAL, "fgpu_nomination_failures_total",
            "Patches of nominations that the API server did not take. A few changed and gone are normal.",
            .labels = {{"result", CLOSED("changed", "gone", "forbidden", "refused", "failed")}},
            .worry =
                "forbidden or refused rises: see planAhead in /state (manifests/plan-ahead). failed rises: look at "
                "the API server."),
    COUNTER(FGPU_EVICTIONS_TOTAL, "fgpu_evictions_total",
            "Answers of the API server to evictions of pods that hold up a change-over. held: a PodDisruptionBudget "
            "forbids it now; fgpu asks again.",
            .labels = {{"result", CLOSED("accepted", "gone", "held", "forbidden", "failed")}},
            .worry =
                "forbidden rises: fgpu has no right to evict (manifests/drain). held rises for longer than the pods of "
                "that budget take."),
    GAUGE(
        FGPU_CHANGE_OVER_LONGEST_SECONDS, "fgpu_change_over_longest_seconds",
        "For how long the group that has been changing over the longest does so; 0: none does.", .unit = METRIC_UNIT_MS,
        .worry = "longer than your pods may run on after their pool has closed: `fgpu state` says what is waited for."),
    GAUGE(FGPU_FRAGMENTATION_RATIO, "fgpu_fragmentation_ratio",
          "Part of the idle compute that the expected pods could not use (the measure of FGD, for the requests seen so "
          "far).",
          .unit = METRIC_UNIT_PERMILLE,
          .worry = "it rises over days while fgpu_idle_milli is high: another strategy or other sizes may help (`fgpu "
                   "frag`, `fgpu whatif`)."),
    GAUGE(FGPU_IDLE_MILLI, "fgpu_idle_milli", "Free compute on nodes that take pods, in thousandths of a GPU.",
          .worry = "high while pods are pending: see fgpu_fragmentation_ratio."),
    GAUGE(FGPU_LARGEST_FREE_MILLI, "fgpu_largest_free_milli", "Largest free compute of one GPU, in thousandths."),
    GAUGE(FGPU_LARGEST_FREE_MEMORY_BYTES, "fgpu_largest_free_memory_bytes",
          "Free memory of the GPU with the largest free compute."),
    GAUGE(FGPU_MOST_EMPTY_GPUS, "fgpu_most_empty_gpus", "Unused GPUs on the node with the most unused GPUs."),
    GAUGE(FGPU_MORE_FIT, "fgpu_more_fit",
          "How many more pods of one size would fit if no other size came: named sizes and whole GPUs.",
          .labels = {{"size", NULL, "name of the size"}}, .series_max = 64, .worry = "0 for a size that users need."),
    GAUGE(FGPU_CANDIDATE_DECISIONS, "fgpu_candidate_decisions",
          "Decisions since one of the strategies changed, by what the candidate strategies would have chosen.",
          .labels = {{"result", CLOSED("same", "other_gpus", "other_node", "not_compared")}}),
    GAUGE(FGPU_CANDIDATE_FRAGMENTATION_MILLI, "fgpu_candidate_fragmentation_milli",
          "Sum over the compared decisions: fragmented compute after the choice of the candidate strategies minus "
          "fragmented compute after the real choice, in thousandths of a GPU. Negative: the candidates fragment less."),
    GAUGE(FGPU_TENANT_MILLI, "fgpu_tenant_milli",
          "Compute that a tenant holds and may hold, in thousandths of a GPU; without its own limit it may hold all.",
          .labels = {{"tenant", NULL, "name of the tenant"}, {"kind", CLOSED("limit", "charged")}}, .series_max = 200,
          .worry = "charged close to limit: pods of the tenant will be refused."),
    GAUGE(FGPU_TENANT_MEMORY_BYTES, "fgpu_tenant_memory_bytes",
          "GPU memory that a tenant holds and may hold; without its own limit it may hold all.",
          .labels = {{"tenant", NULL, "name of the tenant"}, {"kind", CLOSED("limit", "charged")}}, .series_max = 200,
          .worry = "charged close to limit: pods of the tenant will be refused."),
    COUNTER(FGPU_INVARIANT_VIOLATIONS_TOTAL, "fgpu_invariant_violations_total",
            "Broken invariants found by ledger audits. Anything above 0 is a bug.", .worry = "above 0."),
    COUNTER(FGPU_AUDIT_RUNS_TOTAL, "fgpu_audit_runs_total", "Audits of the ledger against a fresh list, by result.",
            .labels = {{"result", CLOSED("clean", "drift", "incidents", "failed", "broken")}},
            .worry = "drift or failed rise again and again; any broken or incidents."),
    COUNTER(FGPU_AUDIT_DRIFT_TOTAL, "fgpu_audit_drift_total",
            "Objects about which the ledger was wrong, found and repaired by audits, by cause.",
            .labels = {{"cause", NULL, "what was wrong, as pod_missing"}}, .series_max = 20,
            .worry = "it rises: a watch loses changes, or somebody changes objects that must not change."),
    HISTOGRAM(FGPU_AUDIT_DURATION_SECONDS, "fgpu_audit_duration_seconds",
              "Time of one audit, including the time to wait for the watches.", .unit = METRIC_UNIT_NS, AUDIT_BUCKETS),
    GAUGE(FGPU_AUDIT_LAST_SUCCESS_TIMESTAMP_SECONDS, "fgpu_audit_last_success_timestamp_seconds",
          "End of the last audit that compared everything and repaired all differences; 0 before the first.",
          .unit = METRIC_UNIT_MS, .worry = "older than three times audit.interval."),

    COUNTER(FGPU_RECORDS_VERIFIED_TOTAL, "fgpu_records_verified_total",
            "Signatures of records that were verified and are valid."),
    COUNTER(FGPU_RECORDS_REFUTED_TOTAL, "fgpu_records_refuted_total",
            "Signatures of records that were verified and are not valid: somebody forged, edited or copied a record.",
            .worry = "it rises: Events on the pods name them."),
    COUNTER(FGPU_RECORDS_IGNORED_TOTAL, "fgpu_records_ignored_total",
            "Observations of records that grant nothing: not readable, not signed, or signed by an unknown key.",
            .worry = "it rises after an upgrade or a change of keys: a public key is missing."),
    GAUGE(FGPU_RECORDS_UNVERIFIED, "fgpu_records_unverified",
          "Records that are believed until their signature is verified, at most 1024 of them counted.",
          .worry = "above 0 for longer than a minute after a start."),
    COUNTER(FGPU_SIGNING_KEY_RELOADS_TOTAL, "fgpu_signing_key_reloads_total",
            "Changes of the files of signing keys, accepted (ok) or refused (error: the old keys stay).",
            .labels = {{"outcome", CLOSED("ok", "error")}},
            .worry = "error rises: the old keys stay, the log says why."),

    COUNTER(FGPU_EVENTS_TOTAL, "fgpu_events_total",
            "Events, by reason and result; repeated Events are counted in a series.",
            .labels = {{"reason", NULL, "reason of the Event"},
                       {"result", CLOSED("posted", "repeated", "dropped", "failed")}},
            .series_max = 64, .worry = "failed rises; and Warning reasons, as GPUDeviceLost, should reach somebody."),
    COUNTER(FGPU_EVENTS_DROPPED_TOTAL, "fgpu_events_dropped_total",
            "Events, and counts of series, that could not be written, by cause.",
            .labels = {{"cause", NULL, "limited, queue_full, silenced, forbidden, rejected, gave_up, nowhere"}},
            .series_max = 8, .worry = "forbidden: a right is missing. The others: more happens than may be told."),
    COUNTER(FGPU_CONFIG_RELOADS_TOTAL, "fgpu_config_reloads_total",
            "Configuration files read while running, by result.",
            .labels = {{"outcome", CLOSED("in_effect", "unchanged", "waiting", "needs_restart", "invalid")}},
            .worry = "invalid rises."),
    GAUGE(FGPU_CONFIG_LAST_RELOAD_SUCCESSFUL, "fgpu_config_last_reload_successful",
          "0 while the file last read is not valid or needs a restart, so that an older configuration is in effect.",
          .worry = "0."),
    GAUGE(FGPU_CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS, "fgpu_config_last_reload_success_timestamp_seconds",
          "When the configuration in effect took effect, since the Unix epoch.", .unit = METRIC_UNIT_MS),
    GAUGE(FGPU_CONFIG_WAITING, "fgpu_config_waiting",
          "1 while a valid configuration waits for pods and nodes to be listed again.",
          .worry = "1 for longer than a minute."),
    GAUGE(FGPU_CONFIG_GENERATION, "fgpu_config_generation", "Configurations that took effect since the start."),
    GAUGE(FGPU_CONFIG_HASH, "fgpu_config_hash",
          "The first 48 bits of the hash of the configuration in effect, for comparing replicas; 0: built in.",
          .worry = "replicas differ for longer than a change takes."),
    GAUGE(FGPU_TIME_WINDOWS_OPEN, "fgpu_time_windows_open", "Time windows whose values are in effect."),
    GAUGE(FGPU_TIME_WINDOWS_NEXT_CHANGE_TIMESTAMP_SECONDS, "fgpu_time_windows_next_change_timestamp_seconds",
          "When the next time window opens or closes; 0: nothing within nine days.", .unit = METRIC_UNIT_MS),
    COUNTER(FGPU_TIME_WINDOWS_CHANGES_TOTAL, "fgpu_time_windows_changes_total",
            "How often time windows opened or closed."),

    COUNTER(FGPU_OPS_AUTHORIZATIONS_TOTAL, "fgpu_ops_authorizations_total",
            "Requests to the ops and metrics listeners that needed authorization, by result.",
            .labels = {{"result", NULL, "allowed, unauthenticated, forbidden, overloaded, failed"}}, .series_max = 8,
            .worry = "forbidden or unauthenticated rise: somebody lacks a right, or tries. failed: the API server does "
                     "not answer."),
    COUNTER(FGPU_HTTP_REQUESTS_TOTAL, "fgpu_http_requests_total",
            "HTTP requests, by listener and status; code 0 had no answer.",
            .labels = {{"listener", CLOSED("verbs", "ops", "health", "metrics")}, {"code", NULL, "HTTP status"}},
            .series_max = 40, .worry = "5xx on verbs rise; 500 on health says that fgpu is not ready."),
    GAUGE(FGPU_PAGE_STREAMS, "fgpu_page_streams", "Clients of /v1/stream now: web pages that are open, as a rule.",
          .worry = "it stays at 16: further ones are refused."),
    COUNTER(FGPU_PAGE_STREAMS_DROPPED_TOTAL, "fgpu_page_streams_dropped_total",
            "Clients of /v1/stream whose connection was cut, because they read too slowly.",
            .worry = "it rises steadily: somebody's network is too slow for the page."),
    COUNTER(FGPU_HTTP_CONNECTIONS_DROPPED_TOTAL, "fgpu_http_connections_dropped_total",
            "Connections closed or refused by the server, by reason.",
            .labels = {{"listener", CLOSED("verbs", "ops", "health", "metrics")},
                       {"reason", NULL, "in one word, as slow-head"}},
            .series_max = 48,
            .worry = "full or full-for-address rise: raise limits.connections, or find who connects. Certificate "
                     "reasons: a caller has a wrong one."),
    COUNTER(FGPU_TLS_RELOADS_TOTAL, "fgpu_tls_reloads_total",
            "Changes of certificate, key or client CA, accepted (ok) or wrong (error).",
            .labels = {{"outcome", CLOSED("ok", "error")}},
            .worry = "error rises: the old certificate stays until it expires."),
    GAUGE(FGPU_TLS_CERTIFICATE_EXPIRATION_SECONDS, "fgpu_tls_certificate_expiration_timestamp_seconds",
          "When the certificate of fgpu expires, since the Unix epoch; 0 without TLS.",
          .worry = "less than some days ahead."),
    COUNTER(FGPU_LOG_DROPPED_TOTAL, "fgpu_log_dropped_total",
            "Log records lost: their reader was too slow, or they could not be written.", .worry = "it rises."),
    GAUGE(FGPU_BUILD_INFO, "fgpu_build_info", "Always 1; the labels describe the build.",
          .labels = {{"version", NULL, "of fgpu"},
                     {"revision", NULL, "of the sources"},
                     {"compiler", NULL, "with its version"}},
          .series_max = 1),

    PROCESS_FIGURES(PROCESS_START_TIME_SECONDS),
};

struct metrics *catalog_metrics_new(void)
{
    static uint32_t figures = PROCESS_START_TIME_SECONDS;
    struct metrics *m = metrics_new(CATALOG, FGPU_METRIC__MAX);
    metric_set(METRIC(m, FGPU_BUILD_INFO, FGPU_VERSION, build_commit, BUILD_COMPILER), 1);
    metrics_add_collector(m, process_collect, &figures);
    return m;
}

const struct metric_def *catalog_defs(size_t *ret_n)
{
    *ret_n = FGPU_METRIC__MAX;
    return CATALOG;
}
