/* obs/catalog.c - the table of all metrics. Names are a contract: dashboards and alerts use
 * them. */
#include "obs/catalog.h"

#include "base/build_info.h"
#include "obs/process_internal.h"

#define CLOSED(...) ((const char *const[]){__VA_ARGS__, NULL})
/* 10 us to 5.2 s; 1 ms to 16 s */
#define VERB_BUCKETS .bucket_first = 10000, .bucket_n = 20
#define API_BUCKETS .bucket_first = 1000000, .bucket_n = 15
/* 10 ms to 164 s */
#define AUDIT_BUCKETS .bucket_first = 10000000, .bucket_n = 15

#define INCIDENT_KINDS CLOSED("double_booking", "foreign_decision")
#define VERBS CLOSED("filter", "prioritize", "bind", "preempt")

static const struct metric_def CATALOG[FGPU_METRIC__MAX] = {
    [FGPU_REQUEST_DURATION_SECONDS] = {.name = "fgpu_request_duration_seconds",
                                       .help = "Time from the request line of a scheduler call to its answer.",
                                       .type = METRIC_HISTOGRAM,
                                       .unit = METRIC_UNIT_NS,
                                       VERB_BUCKETS,
                                       .labels = {{"verb", VERBS}}},
    [FGPU_REQUESTS_TOTAL] = {.name = "fgpu_requests_total",
                             .help = "Scheduler calls answered, by verb and outcome.",
                             .type = METRIC_COUNTER,
                             .labels = {{"verb", VERBS}, {"outcome", NULL}},
                             .series_max = 32},
    [FGPU_BIND_OUTCOMES_TOTAL] = {.name = "fgpu_bind_outcomes_total",
                                  .help = "Finished binds, by the result from the API server.",
                                  .type = METRIC_COUNTER,
                                  .labels = {{"outcome", NULL}},
                                  .series_max = 16},
    [FGPU_FILTER_VERDICTS_TOTAL] = {.name = "fgpu_filter_verdicts_total",
                                    .help = "Nodes judged by filter, by verdict.",
                                    .type = METRIC_COUNTER,
                                    .labels = {{"verdict", NULL}},
                                    .series_max = 40},

    [FGPU_API_REQUESTS_TOTAL] = {.name = "fgpu_api_requests_total",
                                 .help = "Requests to the Kubernetes API server, by HTTP status; code 0 had no answer.",
                                 .type = METRIC_COUNTER,
                                 .labels = {{"verb", NULL}, {"resource", NULL}, {"code", NULL}},
                                 .series_max = 96},
    [FGPU_API_REQUEST_DURATION_SECONDS] =
        {.name = "fgpu_api_request_duration_seconds",
         .help = "Time to a complete answer of the Kubernetes API server; watches are not counted.",
         .type = METRIC_HISTOGRAM,
         .unit = METRIC_UNIT_NS,
         API_BUCKETS,
         .labels = {{"verb", NULL}, {"resource", NULL}},
         .series_max = 12},
    [FGPU_CREDENTIALS_EVENTS_TOTAL] =
        {.name = "fgpu_credentials_events_total",
         .help = "Events of the credentials for the API server: replaced by newer ones, rejected with 401, not "
                 "readable, exec plugin run, exec plugin failed.",
         .type = METRIC_COUNTER,
         .labels = {{"event", CLOSED("renewed", "rejected", "unreadable", "plugin_run", "plugin_failed")}}},
    [FGPU_CREDENTIALS_USABLE] = {.name = "fgpu_credentials_usable",
                                 .help = "0 if the API server rejects the credentials or there are none, otherwise 1.",
                                 .type = METRIC_GAUGE},
    [FGPU_WATCH_EVENTS_TOTAL] = {.name = "fgpu_watch_events_total",
                                 .help = "Watch events received.",
                                 .type = METRIC_COUNTER,
                                 .labels = {{"resource", NULL}, {"type", NULL}},
                                 .series_max = 24},
    [FGPU_RELISTS_TOTAL] = {.name = "fgpu_relists_total",
                            .help = "Complete lists read after the first one.",
                            .type = METRIC_COUNTER,
                            .labels = {{"resource", NULL}},
                            .series_max = 4},
    [FGPU_WATCH_RESTARTS_TOTAL] = {.name = "fgpu_watch_restarts_total",
                                   .help = "Watches started again after they ended.",
                                   .type = METRIC_COUNTER,
                                   .labels = {{"resource", NULL}},
                                   .series_max = 4},

    [FGPU_WATCH_LAST_CONTACT_SECONDS] =
        {.name = "fgpu_watch_last_contact_seconds",
         .help = "Time since the last news from the API server: bytes on the watch, or a list while the watch was "
                 "silent. Above clientConnection.staleAfter no GPU is promised.",
         .type = METRIC_GAUGE,
         .unit = METRIC_UNIT_MS,
         .labels = {{"resource", NULL}},
         .series_max = 8},

    [FGPU_LEDGER_GENERATION] = {.name = "fgpu_ledger_generation",
                                .help = "Operations applied to the ledger since the start.",
                                .type = METRIC_GAUGE},
    [FGPU_LEDGER_NODES] = {.name = "fgpu_ledger_nodes", .help = "Nodes with GPUs in the ledger.", .type = METRIC_GAUGE},
    [FGPU_LEDGER_DEVICES] = {.name = "fgpu_ledger_devices", .help = "GPUs in the ledger.", .type = METRIC_GAUGE},
    [FGPU_LEDGER_PODS] = {.name = "fgpu_ledger_pods",
                          .help = "Pods in the ledger that use GPUs, by state; all except pending pods are charged.",
                          .type = METRIC_GAUGE,
                          .labels = {{"state", CLOSED("pending", "reserved", "confirmed", "bound", "foreign")}}},
    [FGPU_GPU_MILLI] = {.name = "fgpu_gpu_milli",
                        .help = "Compute of all GPUs in thousandths of a GPU.",
                        .type = METRIC_GAUGE,
                        .labels = {{"kind", CLOSED("capacity", "charged")}}},
    [FGPU_GPU_MEMORY_BYTES] = {.name = "fgpu_gpu_memory_bytes",
                               .help = "Memory of all GPUs.",
                               .type = METRIC_GAUGE,
                               .labels = {{"kind", CLOSED("capacity", "charged")}}},
    [FGPU_OVERCOMMITTED_DEVICES] = {.name = "fgpu_overcommitted_devices",
                                    .help =
                                        "GPUs that are charged with more than their capacity; they take no new pods.",
                                    .type = METRIC_GAUGE},
    [FGPU_INCIDENTS] =
        {.name = "fgpu_incidents",
         .help = "GPUs that are given out twice now, and pods that are bound by decisions that this fgpu did not "
                 "make. If it is above 0, somebody must act; /state lists them.",
         .type = METRIC_GAUGE,
         .labels = {{"kind", INCIDENT_KINDS}}},
    [FGPU_INCIDENTS_TOTAL] = {.name = "fgpu_incidents_total",
                              .help = "Incidents that have begun since the start, by kind.",
                              .type = METRIC_COUNTER,
                              .labels = {{"kind", INCIDENT_KINDS}}},
    [FGPU_PODS_TURNED_AWAY_TOTAL] =
        {.name = "fgpu_pods_turned_away_total",
         .help =
             "How often a pod that uses GPUs found no room in fgpu, because fgpu is full of pods, or of names of nodes "
             "that do not exist. It should not rise.",
         .type = METRIC_COUNTER},
    [FGPU_UNCOUNTED_NODES] =
        {.name = "fgpu_uncounted_nodes",
         .help = "Nodes that take no new pods with GPUs, because pods that may be on them found no room in fgpu.",
         .type = METRIC_GAUGE},
    [FGPU_CLOSED_NODES] = {.name = "fgpu_closed_nodes",
                           .help = "Nodes whose pool takes no new pods now.",
                           .type = METRIC_GAUGE},
    [FGPU_CLOSED_NODE_PODS] = {.name = "fgpu_closed_node_pods",
                               .help = "Pods that hold GPUs on closed nodes.",
                               .type = METRIC_GAUGE},
    [FGPU_POOL_COMMANDS_TOTAL] = {.name = "fgpu_pool_commands_total",
                                  .help = "Finished runs of commands of node pools.",
                                  .type = METRIC_COUNTER,
                                  .labels = {{"result", CLOSED("ok", "failed")}}},
    [FGPU_POOL_COMMANDS_FAILING] = {.name = "fgpu_pool_commands_failing",
                                    .help = "Node pools whose command failed the last time and will be tried again.",
                                    .type = METRIC_GAUGE},
    [FGPU_FRAGMENTATION_RATIO] =
        {.name = "fgpu_fragmentation_ratio",
         .help = "Part of the idle compute that the expected pods could not use (the measure of FGD, for the "
                 "requests seen so far).",
         .type = METRIC_GAUGE,
         .unit = METRIC_UNIT_PERMILLE},
    [FGPU_IDLE_MILLI] = {.name = "fgpu_idle_milli",
                         .help = "Free compute on nodes that take pods, in thousandths of a GPU.",
                         .type = METRIC_GAUGE},
    [FGPU_LARGEST_FREE_MILLI] = {.name = "fgpu_largest_free_milli",
                                 .help = "Largest free compute of one GPU, in thousandths.",
                                 .type = METRIC_GAUGE},
    [FGPU_LARGEST_FREE_MEMORY_BYTES] = {.name = "fgpu_largest_free_memory_bytes",
                                        .help = "Free memory of the GPU with the largest free compute.",
                                        .type = METRIC_GAUGE},
    [FGPU_MOST_EMPTY_GPUS] = {.name = "fgpu_most_empty_gpus",
                              .help = "Unused GPUs on the node with the most unused GPUs.",
                              .type = METRIC_GAUGE},
    [FGPU_MORE_FIT] =
        {.name = "fgpu_more_fit",
         .help = "How many more pods of one size would fit if no other size came: named sizes and whole GPUs.",
         .type = METRIC_GAUGE,
         .labels = {{"size", NULL}},
         .series_max = 64},
    [FGPU_CANDIDATE_DECISIONS] =
        {.name = "fgpu_candidate_decisions",
         .help = "Decisions since one of the strategies changed, by what the candidate strategies would have "
                 "chosen.",
         .type = METRIC_GAUGE,
         .labels = {{"result", CLOSED("same", "other_gpus", "other_node", "not_compared")}}},
    [FGPU_CANDIDATE_FRAGMENTATION_MILLI] =
        {.name = "fgpu_candidate_fragmentation_milli",
         .help = "Sum over the compared decisions: fragmented compute after the choice of the candidate strategies "
                 "minus fragmented compute after the real choice, in thousandths of a GPU. Negative: the "
                 "candidates fragment less.",
         .type = METRIC_GAUGE},
    [FGPU_TENANT_MILLI] =
        {.name = "fgpu_tenant_milli",
         .help = "Compute that a tenant holds and may hold, in thousandths of a GPU; without its own limit it may "
                 "hold all.",
         .type = METRIC_GAUGE,
         .labels = {{"tenant", NULL}, {"kind", CLOSED("limit", "charged")}},
         .series_max = 200},
    [FGPU_TENANT_MEMORY_BYTES] =
        {.name = "fgpu_tenant_memory_bytes",
         .help = "GPU memory that a tenant holds and may hold; without its own limit it may hold all.",
         .type = METRIC_GAUGE,
         .labels = {{"tenant", NULL}, {"kind", CLOSED("limit", "charged")}},
         .series_max = 200},
    [FGPU_INVARIANT_VIOLATIONS_TOTAL] = {.name = "fgpu_invariant_violations_total",
                                         .help = "Broken invariants found by ledger audits. Anything above 0 is a bug.",
                                         .type = METRIC_COUNTER},
    [FGPU_AUDIT_RUNS_TOTAL] = {.name = "fgpu_audit_runs_total",
                               .help = "Audits of the ledger against a fresh list, by result.",
                               .type = METRIC_COUNTER,
                               .labels = {{"result", CLOSED("clean", "drift", "incidents", "failed", "broken")}}},
    [FGPU_AUDIT_DRIFT_TOTAL] = {.name = "fgpu_audit_drift_total",
                                .help =
                                    "Objects about which the ledger was wrong, found and repaired by audits, by cause.",
                                .type = METRIC_COUNTER,
                                .labels = {{"cause", NULL}},
                                .series_max = 20},
    [FGPU_AUDIT_DURATION_SECONDS] = {.name = "fgpu_audit_duration_seconds",
                                     .help = "Time of one audit, including the time to wait for the watches.",
                                     .type = METRIC_HISTOGRAM,
                                     .unit = METRIC_UNIT_NS,
                                     AUDIT_BUCKETS},
    [FGPU_AUDIT_LAST_SUCCESS_TIMESTAMP_SECONDS] =
        {.name = "fgpu_audit_last_success_timestamp_seconds",
         .help = "End of the last audit that compared everything and repaired all differences; 0 before the first.",
         .type = METRIC_GAUGE,
         .unit = METRIC_UNIT_MS},

    [FGPU_RECORDS_VERIFIED_TOTAL] = {.name = "fgpu_records_verified_total",
                                     .help = "Signatures of records that were verified and are valid.",
                                     .type = METRIC_COUNTER},
    [FGPU_RECORDS_REFUTED_TOTAL] =
        {.name = "fgpu_records_refuted_total",
         .help =
             "Signatures of records that were verified and are not valid: somebody forged, edited or copied a record.",
         .type = METRIC_COUNTER},
    [FGPU_RECORDS_IGNORED_TOTAL] =
        {.name = "fgpu_records_ignored_total",
         .help = "Observations of records that grant nothing: not readable, not signed, or signed by an unknown key.",
         .type = METRIC_COUNTER},
    [FGPU_RECORDS_UNVERIFIED] =
        {.name = "fgpu_records_unverified",
         .help = "Records that are believed until their signature is verified, at most 1024 of them counted.",
         .type = METRIC_GAUGE},
    [FGPU_SIGNING_KEY_RELOADS_TOTAL] =
        {.name = "fgpu_signing_key_reloads_total",
         .help = "Changes of the files of signing keys, accepted (ok) or refused (error: the old keys stay).",
         .type = METRIC_COUNTER,
         .labels = {{"outcome", CLOSED("ok", "error")}}},

    [FGPU_EVENTS_TOTAL] = {.name = "fgpu_events_total",
                           .help = "Events, by reason and result; repeated Events are counted in a series.",
                           .type = METRIC_COUNTER,
                           .labels = {{"reason", NULL}, {"result", CLOSED("posted", "repeated", "dropped", "failed")}},
                           .series_max = 64},
    [FGPU_EVENTS_DROPPED_TOTAL] = {.name = "fgpu_events_dropped_total",
                                   .help = "Events, and counts of series, that could not be written, by cause.",
                                   .type = METRIC_COUNTER,
                                   .labels = {{"cause", NULL}},
                                   .series_max = 8},
    [FGPU_CONFIG_RELOADS_TOTAL] = {.name = "fgpu_config_reloads_total",
                                   .help = "Configuration files read while running, by result.",
                                   .type = METRIC_COUNTER,
                                   .labels = {{"outcome", CLOSED("in_effect", "unchanged", "waiting", "needs_restart",
                                                                 "invalid")}}},
    [FGPU_CONFIG_LAST_RELOAD_SUCCESSFUL] =
        {.name = "fgpu_config_last_reload_successful",
         .help = "0 while the file last read is not valid or needs a restart, so that an older "
                 "configuration is in effect.",
         .type = METRIC_GAUGE},
    [FGPU_CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS] =
        {.name = "fgpu_config_last_reload_success_timestamp_seconds",
         .help = "When the configuration in effect took effect, since the Unix epoch.",
         .type = METRIC_GAUGE,
         .unit = METRIC_UNIT_MS},
    [FGPU_CONFIG_WAITING] = {.name = "fgpu_config_waiting",
                             .help = "1 while a valid configuration waits for pods and nodes to be listed again.",
                             .type = METRIC_GAUGE},
    [FGPU_CONFIG_GENERATION] = {.name = "fgpu_config_generation",
                                .help = "Configurations that took effect since the start.",
                                .type = METRIC_GAUGE},
    [FGPU_CONFIG_HASH] = {.name = "fgpu_config_hash",
                          .help = "The first 48 bits of the hash of the configuration in effect, for comparing "
                                  "replicas; 0: built in.",
                          .type = METRIC_GAUGE},
    [FGPU_TIME_WINDOWS_OPEN] = {.name = "fgpu_time_windows_open",
                                .help = "Time windows whose values are in effect.",
                                .type = METRIC_GAUGE},
    [FGPU_TIME_WINDOWS_NEXT_CHANGE_TIMESTAMP_SECONDS] =
        {.name = "fgpu_time_windows_next_change_timestamp_seconds",
         .help = "When the next time window opens or closes; 0: nothing within nine days.",
         .type = METRIC_GAUGE,
         .unit = METRIC_UNIT_MS},
    [FGPU_TIME_WINDOWS_CHANGES_TOTAL] = {.name = "fgpu_time_windows_changes_total",
                                         .help = "How often time windows opened or closed.",
                                         .type = METRIC_COUNTER},

    [FGPU_OPS_AUTHORIZATIONS_TOTAL] = {.name = "fgpu_ops_authorizations_total",
                                       .help = "Requests to the ops listener that needed authorization, by result.",
                                       .type = METRIC_COUNTER,
                                       .labels = {{"result", NULL}},
                                       .series_max = 8},
    [FGPU_HTTP_REQUESTS_TOTAL] = {.name = "fgpu_http_requests_total",
                                  .help = "HTTP requests, by listener and status; code 0 had no answer.",
                                  .type = METRIC_COUNTER,
                                  .labels = {{"listener", CLOSED("verbs", "ops", "health")}, {"code", NULL}},
                                  .series_max = 36},
    [FGPU_HTTP_CONNECTIONS_DROPPED_TOTAL] = {.name = "fgpu_http_connections_dropped_total",
                                             .help = "Connections closed or refused by the server, by reason.",
                                             .type = METRIC_COUNTER,
                                             .labels = {{"listener", CLOSED("verbs", "ops", "health")},
                                                        {"reason", NULL}},
                                             .series_max = 48},
    [FGPU_TLS_RELOADS_TOTAL] = {.name = "fgpu_tls_reloads_total",
                                .help = "Changes of certificate, key or client CA, accepted (ok) or wrong (error).",
                                .type = METRIC_COUNTER,
                                .labels = {{"outcome", CLOSED("ok", "error")}}},
    [FGPU_TLS_CERTIFICATE_EXPIRATION_SECONDS] =
        {.name = "fgpu_tls_certificate_expiration_timestamp_seconds",
         .help = "When the certificate of fgpu expires, since the Unix epoch; 0 without TLS.",
         .type = METRIC_GAUGE},
    [FGPU_LOG_DROPPED_TOTAL] = {.name = "fgpu_log_dropped_total",
                                .help = "Log records lost because their reader was too slow.",
                                .type = METRIC_COUNTER},
    [FGPU_BUILD_INFO] = {.name = "fgpu_build_info",
                         .help = "Always 1; the labels describe the build.",
                         .type = METRIC_GAUGE,
                         .labels = {{"version", NULL}, {"revision", NULL}, {"compiler", NULL}},
                         .series_max = 1},

    [PROCESS_START_TIME_SECONDS] = {.name = "process_start_time_seconds",
                                    .help = "Start time of the process since the Unix epoch.",
                                    .type = METRIC_GAUGE,
                                    .unit = METRIC_UNIT_MS},
    [PROCESS_CPU_SECONDS_TOTAL] = {.name = "process_cpu_seconds_total",
                                   .help = "User and system CPU time.",
                                   .type = METRIC_COUNTER,
                                   .unit = METRIC_UNIT_MS},
    [PROCESS_RESIDENT_MEMORY_BYTES] = {.name = "process_resident_memory_bytes",
                                       .help = "Resident memory size.",
                                       .type = METRIC_GAUGE},
    [PROCESS_VIRTUAL_MEMORY_BYTES] = {.name = "process_virtual_memory_bytes",
                                      .help = "Virtual memory size.",
                                      .type = METRIC_GAUGE},
    [PROCESS_OPEN_FDS] = {.name = "process_open_fds", .help = "Open file descriptors.", .type = METRIC_GAUGE},
    [PROCESS_MAX_FDS] = {.name = "process_max_fds", .help = "Limit of open file descriptors.", .type = METRIC_GAUGE},
};

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

struct metrics *catalog_metrics_new(void)
{
    struct metrics *m = metrics_new(CATALOG, FGPU_METRIC__MAX);
    metric_set(METRIC(m, FGPU_BUILD_INFO, FGPU_VERSION, build_commit, COMPILER), 1);
    metrics_add_collector(m, process_collect, NULL);
    return m;
}
