#include "cmd/telemetry.h"

#include "base/bug.h"
#include "obs/api_calls.h"
#include "obs/logsink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Streams last for minutes; their duration says nothing about the API server. The checks beside them are of one object,
 * whichever it is. */
static bool is_call(const char *verb)
{
    return strcmp(verb, "watch") != 0 && strcmp(verb, "check") != 0;
}

_Static_assert(VERDICT__MAX <= CATALOG_VERDICTS_MAX, "more verdicts than fgpu_filter_verdicts_total has series");

/* All but the first. */
static int64_t again(uint64_t n)
{
    return n > 0 ? (int64_t)n - 1 : 0;
}

static void collect_watchers(void *ctx, struct metrics *m)
{
    const struct telemetry *t = ctx;

    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        const char *name = kube_resource_name((enum kube_resource)i);
        struct reflector_stats stats;

        if (t->watchers[i] == NULL) {
            continue;
        }
        kube_watcher_stats(t->watchers[i], &stats);
        metric_set(METRIC(m, FGPU_RELISTS_TOTAL, name), again(stats.list_n));
        metric_set(METRIC(m, FGPU_WATCH_RESTARTS_TOTAL, name), again(stats.watch_n));
        metric_set(METRIC(m, FGPU_WATCH_EVENTS_TOTAL, name, "change"), (int64_t)stats.event_n);
        metric_set(METRIC(m, FGPU_WATCH_EVENTS_TOTAL, name, "bookmark"), (int64_t)stats.bookmark_n);
    }
}

void telemetry_contact(void *ctx, struct metrics *m)
{
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        metric_set(METRIC(m, FGPU_WATCH_LAST_CONTACT_SECONDS, kube_resource_name((enum kube_resource)i)),
                   contact_age_ms(ctx, (enum kube_resource)i));
    }
}

void telemetry_log_losses(void *ctx, struct metrics *m)
{
    metric_set(METRIC(m, FGPU_LOG_DROPPED_TOTAL), (int64_t)logsink_dropped(ctx));
}

/* Of fgpu_events_total; NULL: counted as repeated when it was recorded. */
static const char *event_result(enum event_outcome outcome)
{
    switch (outcome) {
    case EVENT_POSTED:
        return "posted";
    case EVENT_REPEATED:
        return "repeated";
    case EVENT_LIMITED:
    case EVENT_QUEUE_FULL:
    case EVENT_SILENCED:
    case EVENT_NOWHERE:
        return "dropped";
    case EVENT_FORBIDDEN:
    case EVENT_REJECTED:
    case EVENT_GAVE_UP:
        return "failed";
    case EVENT_COUNTED:
    case EVENT_OUTCOME__MAX:
        break;
    }
    return NULL;
}

static bool event_is_lost(enum event_outcome outcome)
{
    return outcome != EVENT_POSTED && outcome != EVENT_REPEATED && outcome != EVENT_COUNTED;
}

static void collect_identity(void *client, struct metrics *m)
{
    struct identity_stats s;

    kube_client_identity(client, &s);
    metric_set(METRIC(m, FGPU_CREDENTIALS_EVENTS_TOTAL, "renewed"), (int64_t)s.renewed_n);
    metric_set(METRIC(m, FGPU_CREDENTIALS_EVENTS_TOTAL, "rejected"), (int64_t)s.rejected_n);
    metric_set(METRIC(m, FGPU_CREDENTIALS_EVENTS_TOTAL, "unreadable"), (int64_t)s.unreadable_n);
    metric_set(METRIC(m, FGPU_CREDENTIALS_EVENTS_TOTAL, "plugin_run"), (int64_t)s.plugin_run_n);
    metric_set(METRIC(m, FGPU_CREDENTIALS_EVENTS_TOTAL, "plugin_failed"), (int64_t)s.plugin_failed_n);
    metric_set(METRIC(m, FGPU_CREDENTIALS_USABLE), s.trouble == NULL ? 1 : 0);
}

void telemetry_client(struct telemetry *t, struct kube_client *client)
{
    metrics_add_collector(t->metrics, collect_identity, client);
}

static void collect_signing(void *ctx, struct metrics *m)
{
    const struct telemetry *t = ctx;
    struct signing_stats s = {.verified_n = 0};

    if (t->signing != NULL) {
        signing_stats(t->signing, &s);
    }
    metric_set(METRIC(m, FGPU_RECORDS_VERIFIED_TOTAL), (int64_t)s.verified_n);
    metric_set(METRIC(m, FGPU_RECORDS_REFUTED_TOTAL), (int64_t)s.refuted_n);
    metric_set(METRIC(m, FGPU_RECORDS_IGNORED_TOTAL), (int64_t)s.ignored_n);
    metric_set(METRIC(m, FGPU_SIGNING_KEY_RELOADS_TOTAL, "ok"), (int64_t)s.reload_n);
    metric_set(METRIC(m, FGPU_SIGNING_KEY_RELOADS_TOTAL, "error"), (int64_t)s.reload_failed_n);
    metric_set(METRIC(m, FGPU_RECORDS_UNVERIFIED), (int64_t)store_unverified_n(t->store));
}

void telemetry_signing(struct telemetry *t, struct signing *signing, struct store *store)
{
    t->signing = signing;
    t->store = store;
    metrics_add_collector(t->metrics, collect_signing, t);
}

static void collect_drops(void *ctx, struct metrics *m)
{
    static const char *const listeners[] = {"verbs", "ops", "health", "metrics"};
    const struct telemetry *t = ctx;

    for (size_t i = 0; t->http != NULL && i < t->listener_n; i++) {
        for (size_t why = 0; why < HTTPD_DROP__MAX; why++) {
            const char *name = httpd_drop_name((enum httpd_drop)why);

            metric_set(METRIC(m, FGPU_HTTP_CONNECTIONS_DROPPED_TOTAL, listeners[i], name),
                       (int64_t)httpd_server_drops(t->http, i, (enum httpd_drop)why));
        }
    }
}

static void collect_tls(void *ctx, struct metrics *m)
{
    const struct telemetry *t = ctx;
    struct httpd_tls_stats stats;

    if (t->tls != NULL) {
        httpd_tls_stats(t->tls, &stats);
        metric_set(METRIC(m, FGPU_TLS_RELOADS_TOTAL, "ok"), (int64_t)stats.reload_n);
        metric_set(METRIC(m, FGPU_TLS_RELOADS_TOTAL, "error"), (int64_t)stats.reload_failed_n);
        metric_set(METRIC(m, FGPU_TLS_CERTIFICATE_EXPIRATION_SECONDS), stats.not_after_s);
    }
}

struct telemetry *telemetry_new(struct kube_watcher *const *watchers)
{
    struct telemetry *t = xcalloc(1, sizeof(*t));

    t->metrics = catalog_metrics_new();
    t->watchers = watchers;
    for (size_t i = 0; i < VERB__MAX; i++) {
        t->durations[i] = METRIC(t->metrics, FGPU_REQUEST_DURATION_SECONDS, verb_name((enum verb)i));
    }
    for (size_t i = 0; i < VERDICT__MAX; i++) {
        t->verdicts[i] = METRIC(t->metrics, FGPU_FILTER_VERDICTS_TOTAL, verdict_name((enum verdict)i));
    }
    for (size_t i = 0; i < BIND_OUTCOME__MAX; i++) {
        (void)METRIC(t->metrics, FGPU_BIND_OUTCOMES_TOTAL, bind_outcome_name((enum bind_outcome)i));
    }
    for (size_t i = 0; i < EVENT_OUTCOME__MAX; i++) {
        if (event_is_lost((enum event_outcome)i)) {
            (void)METRIC(t->metrics, FGPU_EVENTS_DROPPED_TOTAL, event_outcome_name((enum event_outcome)i));
        }
    }
    for (size_t i = 0; i < ACCESS_VERDICT__MAX; i++) {
        (void)METRIC(t->metrics, FGPU_OPS_AUTHORIZATIONS_TOTAL, access_verdict_name((enum access_verdict)i));
    }
    for (size_t i = DRIFT_NONE + 1; i < DRIFT__MAX; i++) {
        (void)METRIC(t->metrics, FGPU_AUDIT_DRIFT_TOTAL, ledger_drift_name((enum ledger_drift)i));
    }
    metrics_add_collector(t->metrics, collect_watchers, t);
    metrics_add_collector(t->metrics, collect_drops, t);
    metrics_add_collector(t->metrics, collect_tls, t);
    return t;
}

void telemetry_free(struct telemetry *t)
{
    if (t != NULL) {
        metrics_free(t->metrics);
        free(t);
    }
}

void telemetry_verb(void *ctx, const struct verb_observation *o)
{
    struct telemetry *t = ctx;

    metric_observe(t->durations[o->verb], o->duration_ns);
    metric_inc(METRIC(t->metrics, FGPU_REQUESTS_TOTAL, verb_name(o->verb), o->outcome));
    if (o->verb == VERB_BIND) {
        metric_inc(METRIC(t->metrics, FGPU_BIND_OUTCOMES_TOTAL, o->outcome));
    }
}

void telemetry_verdicts(void *ctx, enum verdict v, uint64_t count)
{
    struct telemetry *t = ctx;

    metric_add(t->verdicts[v], (int64_t)count);
}

void telemetry_api(void *ctx, const char *verb, const char *resource, int http_status, int64_t duration_ns)
{
    struct telemetry *t = ctx;
    char code[8];

#ifdef FGPU_LOCK_ORDER /* builds for tests: a call that is not in the table would take the series of others */
    BUG_ON(is_call(verb) && !api_call_is_known(verb, resource));
#endif
    snprintf(code, sizeof(code), "%d", http_status % 1000);
    metric_inc(METRIC(t->metrics, FGPU_API_REQUESTS_TOTAL, verb, resource, code));
    if (http_status != 0 && is_call(verb)) {
        metric_observe(METRIC(t->metrics, FGPU_API_REQUEST_DURATION_SECONDS, verb, resource), duration_ns);
    }
}

void telemetry_event(void *ctx, enum event_reason reason, enum event_outcome outcome)
{
    struct telemetry *t = ctx;
    const char *result = event_result(outcome);

    if (result != NULL) {
        metric_inc(METRIC(t->metrics, FGPU_EVENTS_TOTAL, event_words(reason)->reason, result));
    }
    if (event_is_lost(outcome)) {
        metric_inc(METRIC(t->metrics, FGPU_EVENTS_DROPPED_TOTAL, event_outcome_name(outcome)));
    }
}

void telemetry_access(void *ctx, enum access_verdict v)
{
    struct telemetry *t = ctx;

    metric_inc(METRIC(t->metrics, FGPU_OPS_AUTHORIZATIONS_TOTAL, access_verdict_name(v)));
}

void telemetry_audit(void *ctx, const struct audit_report *r)
{
    struct telemetry *t = ctx;

    metric_inc(METRIC(t->metrics, FGPU_AUDIT_RUNS_TOTAL, audit_result_name(r->result)));
    metric_observe(METRIC(t->metrics, FGPU_AUDIT_DURATION_SECONDS), r->duration_ns);
    metric_set(METRIC(t->metrics, FGPU_AUDIT_LAST_SUCCESS_TIMESTAMP_SECONDS), r->success_ms);
    for (size_t i = DRIFT_NONE + 1; i < DRIFT__MAX; i++) {
        metric_add(METRIC(t->metrics, FGPU_AUDIT_DRIFT_TOTAL, ledger_drift_name((enum ledger_drift)i)),
                   (int64_t)r->drift[i]);
    }
}

void telemetry_http(void *ctx, const struct httpd_observation *o)
{
    struct telemetry *t = ctx;
    char code[8];

    snprintf(code, sizeof(code), "%d", o->status % 1000);
    metric_inc(METRIC(t->metrics, FGPU_HTTP_REQUESTS_TOTAL, o->listener, code));
}

void telemetry_pool_command(void *ctx, enum pool_command_result r)
{
    struct telemetry *t = ctx;

    metric_inc(METRIC(t->metrics, FGPU_POOL_COMMANDS_TOTAL, pool_command_result_name(r)));
}

void telemetry_eviction(void *ctx, enum eviction_reply r)
{
    struct telemetry *t = ctx;

    metric_inc(METRIC(t->metrics, FGPU_EVICTIONS_TOTAL, eviction_reply_name(r)));
}

void telemetry_binder(void *ctx, struct metrics *m)
{
    metric_set(METRIC(m, FGPU_NODES_IN_DOUBT), binder_nodes_in_doubt(ctx));
}

void telemetry_planner(void *ctx, struct metrics *m)
{
    struct planner_status n;

    planner_read(ctx, &n);
    metric_set(METRIC(m, FGPU_NOMINATIONS_OUTSTANDING), n.outstanding_n);
    metric_set(METRIC(m, FGPU_NOMINATIONS_TOTAL, "made"), (int64_t)n.made_n);
    metric_set(METRIC(m, FGPU_NOMINATIONS_TOTAL, "withdrawn"), (int64_t)n.withdrawn_n);
    metric_set(METRIC(m, FGPU_NOMINATIONS_TOTAL, "used"), (int64_t)n.used_n);
    metric_set(METRIC(m, FGPU_NOMINATIONS_TOTAL, "skipped"), (int64_t)n.differ_n);
    metric_set(METRIC(m, FGPU_NOMINATIONS_TOTAL, "paced"), (int64_t)n.paced_n);
    for (int r = NOMINATION_DONE + 1; r < NOMINATION_REPLY__MAX; r++) {
        metric_set(METRIC(m, FGPU_NOMINATION_FAILURES_TOTAL, nomination_reply_name((enum nomination_reply)r)),
                   (int64_t)n.failed_n[r]);
    }
}

void telemetry_elsewhere(void *ctx, struct metrics *m)
{
    struct elsewhere_counts n;

    elsewhere_counts(ctx, &n);
    metric_set(METRIC(m, FGPU_ELSEWHERE_TOTAL, "searched"), (int64_t)n.searched_n);
    metric_set(METRIC(m, FGPU_ELSEWHERE_TOTAL, "woken"), (int64_t)n.woken_n);
    metric_set(METRIC(m, FGPU_ELSEWHERE_TOTAL, "given_up"), (int64_t)n.given_up_n);
    metric_set(METRIC(m, FGPU_ELSEWHERE_TOTAL, "dropped"), (int64_t)n.dropped_n);
}

void telemetry_change_overs(void *ctx, struct metrics *m)
{
    struct change_overs_counts n;

    change_overs_count(ctx, &n);
    for (int i = 0; i < CHANGE_OVER_STEP__MAX; i++) {
        metric_set(METRIC(m, FGPU_CHANGE_OVERS, change_over_step_name((enum change_over_step)i)), n.at[i]);
    }
    metric_set(METRIC(m, FGPU_CHANGE_OVER_LONGEST_SECONDS), n.longest_ms);
}

void telemetry_pool_commands(void *ctx, struct metrics *m)
{
    metric_set(METRIC(m, FGPU_POOL_COMMANDS_FAILING), (int64_t)pool_commands_failing(ctx));
}
