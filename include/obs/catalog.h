/* obs/catalog.h - every metric of this product, by number. The table with names and help is in
 * catalog.c.
 *
 * Label values that other layers own (verdicts, bind outcomes, HTTP codes) are not listed here; who
 * counts them makes the series at start with METRIC(), so that they are visible with 0 before they
 * first happen.
 */
#ifndef OBS_CATALOG_H
#define OBS_CATALOG_H

#include "obs/metrics.h"

#define CATALOG_VERDICTS_MAX 48 /* series of FGPU_FILTER_VERDICTS_TOTAL: one for each verdict */

enum fgpu_metric {
    FGPU_REQUEST_DURATION_SECONDS, /* verb; nanoseconds in */
    FGPU_REQUESTS_TOTAL,           /* verb, outcome */
    FGPU_BIND_OUTCOMES_TOTAL,      /* outcome */
    FGPU_FILTER_VERDICTS_TOTAL,    /* verdict */

    FGPU_API_REQUESTS_TOTAL,           /* verb, resource, code */
    FGPU_API_REQUEST_DURATION_SECONDS, /* verb, resource; nanoseconds in */
    FGPU_CREDENTIALS_EVENTS_TOTAL,     /* event: renewed rejected unreadable plugin_run plugin_failed */
    FGPU_CREDENTIALS_USABLE,
    FGPU_WATCH_EVENTS_TOTAL,         /* resource, type */
    FGPU_RELISTS_TOTAL,              /* resource */
    FGPU_WATCH_RESTARTS_TOTAL,       /* resource */
    FGPU_WATCH_LAST_CONTACT_SECONDS, /* resource */

    FGPU_LEADER,
    FGPU_LEDGER_GENERATION,
    FGPU_LEDGER_NODES,
    FGPU_LEDGER_DEVICES,
    FGPU_LEDGER_PODS,      /* state: pending reserved confirmed bound foreign */
    FGPU_GPU_MILLI,        /* kind: capacity charged */
    FGPU_GPU_MEMORY_BYTES, /* kind: capacity charged */
    FGPU_OVERCOMMITTED_DEVICES,
    FGPU_INCIDENTS,       /* kind: double_booking foreign_decision */
    FGPU_INCIDENTS_TOTAL, /* likewise */
    FGPU_PODS_TURNED_AWAY_TOTAL,
    FGPU_UNCOUNTED_NODES,
    FGPU_NODES_IN_DOUBT,
    FGPU_CLOSED_NODES,
    FGPU_CLOSED_NODE_PODS,
    FGPU_POOL_COMMANDS_TOTAL, /* result: ok failed */
    FGPU_POOL_COMMANDS_FAILING,
    FGPU_CHANGE_OVERS,    /* step: change_over_step_name() */
    FGPU_ELSEWHERE_TOTAL, /* result: searched, woken, given_up, dropped */
    FGPU_NOMINATIONS_OUTSTANDING,
    FGPU_NOMINATIONS_TOTAL,           /* result: made, withdrawn, used, skipped, paced */
    FGPU_NOMINATION_FAILURES_TOTAL,   /* result: nomination_reply_name(), without done */
    FGPU_EVICTIONS_TOTAL,             /* result: eviction_reply_name() */
    FGPU_CHANGE_OVER_LONGEST_SECONDS, /* milliseconds in */
    FGPU_FRAGMENTATION_RATIO,         /* thousandths in */
    FGPU_IDLE_MILLI,
    FGPU_LARGEST_FREE_MILLI,
    FGPU_LARGEST_FREE_MEMORY_BYTES,
    FGPU_MOST_EMPTY_GPUS,
    FGPU_MORE_FIT,            /* size */
    FGPU_CANDIDATE_DECISIONS, /* result: same other_gpus other_node not_compared */
    FGPU_CANDIDATE_FRAGMENTATION_MILLI,
    FGPU_TENANT_MILLI,        /* tenant; kind: limit charged */
    FGPU_TENANT_MEMORY_BYTES, /* tenant; kind: limit charged */
    FGPU_INVARIANT_VIOLATIONS_TOTAL,
    FGPU_AUDIT_RUNS_TOTAL,                     /* result: clean drift incidents failed broken */
    FGPU_AUDIT_DRIFT_TOTAL,                    /* cause */
    FGPU_AUDIT_DURATION_SECONDS,               /* nanoseconds in */
    FGPU_AUDIT_LAST_SUCCESS_TIMESTAMP_SECONDS, /* milliseconds in */

    FGPU_RECORDS_VERIFIED_TOTAL,
    FGPU_RECORDS_REFUTED_TOTAL,
    FGPU_RECORDS_IGNORED_TOTAL,
    FGPU_RECORDS_UNVERIFIED,
    FGPU_SIGNING_KEY_RELOADS_TOTAL, /* outcome: ok error */

    FGPU_EVENTS_TOTAL,         /* reason; result: posted repeated dropped failed */
    FGPU_EVENTS_DROPPED_TOTAL, /* cause: those of event_outcome that lose an event */

    FGPU_CONFIG_RELOADS_TOTAL, /* outcome */
    FGPU_CONFIG_LAST_RELOAD_SUCCESSFUL,
    FGPU_CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS,
    FGPU_CONFIG_WAITING,
    FGPU_CONFIG_GENERATION,
    FGPU_CONFIG_HASH,
    FGPU_TIME_WINDOWS_OPEN,
    FGPU_TIME_WINDOWS_NEXT_CHANGE_TIMESTAMP_SECONDS, /* milliseconds in */
    FGPU_TIME_WINDOWS_CHANGES_TOTAL,

    FGPU_OPS_AUTHORIZATIONS_TOTAL, /* result */
    FGPU_HTTP_REQUESTS_TOTAL,      /* listener: verbs ops health metrics; code */
    FGPU_PAGE_STREAMS,
    FGPU_PAGE_STREAMS_DROPPED_TOTAL,
    FGPU_HTTP_CONNECTIONS_DROPPED_TOTAL, /* listener; reason, of httpd */
    FGPU_TLS_RELOADS_TOTAL,              /* outcome: ok error */
    FGPU_TLS_CERTIFICATE_EXPIRATION_SECONDS,
    FGPU_LOG_DROPPED_TOTAL,
    FGPU_BUILD_INFO, /* version, revision, compiler; set by catalog_metrics_new */

    PROCESS_START_TIME_SECONDS, /* these six: by a collector of catalog_metrics_new */
    PROCESS_CPU_SECONDS_TOTAL,
    PROCESS_RESIDENT_MEMORY_BYTES,
    PROCESS_VIRTUAL_MEMORY_BYTES,
    PROCESS_OPEN_FDS,
    PROCESS_MAX_FDS,

    FGPU_METRIC__MAX
};

/* A registry of all of the above, with build information and the process's own figures filled
 * in. */
struct metrics *catalog_metrics_new(void);

#endif
