/* What /state says of everything at once: metadata, summary, the last audit, the configuration. */
#include "routes/state_internal.h"

#include "config/describe.h"
#include "core/time/timetable.h"
#include "model/documents.h"
#include "routes/audit.h"

#include <stdlib.h>

#define POOL_COMMANDS_BYTES_MAX ((size_t)4 << 20) /* a thousand, each with an error */
#define CHANGE_OVERS_BYTES_MAX ((size_t)4 << 20)  /* GATED_POOLS_MAX / 2, each with pods */

static void write_keys(struct json_writer *w, struct signing *signing)
{
    const struct sign_keyring *keys = signing == NULL ? NULL : signing_take(signing);
    const struct sign_key *private_ = keys == NULL ? NULL : sign_keyring_private(keys);
    const struct sign_public *publics;
    const size_t n = keys == NULL ? 0 : sign_keyring_publics(keys, &publics);

    json_write_kv_cstr(w, "signsWith", private_ == NULL ? "" : private_->public_.id);
    json_write_kv_array_begin(w, "publicKeys");
    for (size_t i = 0; i < n; i++) {
        json_write_cstr(w, publics[i].id);
    }
    json_write_array_end(w);
    sign_keyring_put(keys);
}

static void write_signing(struct json_writer *w, const struct state_context *c)
{
    struct signing_stats stats = {.refuted_n = 0};

    if (c->signing != NULL) {
        signing_stats(c->signing, &stats);
    }
    json_write_kv_object_begin(w, "signing");
    json_write_kv_cstr(w, "mode", c->signing == NULL ? "off" : "on");
    write_keys(w, c->signing);
    json_write_kv_i64(w, "unverified", (int64_t)store_unverified_n(c->store));
    json_write_kv_i64(w, "refuted", (int64_t)stats.refuted_n);
    json_write_kv_i64(w, "ignored", (int64_t)stats.ignored_n);
    json_write_object_end(w);
}

static void write_start(struct json_writer *w, const struct state_context *c)
{
    struct state_start start;

    if (c->start != NULL) {
        c->start(c->ctx, &start);
        json_write_kv_object_begin(w, "start");
        json_write_kv_cstr(w, "holdOff", start.hold_off);
        json_write_kv_cstr(w, "reason", start.reason);
        json_write_object_end(w);
    }
}

void state_write_metadata(struct json_writer *w, const struct state_document *d)
{
    const struct state_context *c = d->context;

    json_write_kv_object_begin(w, "metadata");
    json_write_kv_i64(w, "generation", (int64_t)d->head.totals.generation);
    state_write_time(w, "asOf", d->as_of_ms);
    if (c->started_ms > 0) {
        state_write_time(w, "startedAt", c->started_ms);
    }
    state_write_text(w, "podsResourceVersion", d->cursors.pods);
    state_write_text(w, "nodesResourceVersion", d->cursors.nodes);
    json_write_kv_bool(w, "ready", d->ready);
    json_write_kv_bool(w, "leader", d->leader);
    write_start(w, c);
    json_write_kv_object_begin(w, "config");
    state_write_text(w, "hash", d->config.hash);
    json_write_kv_i64(w, "generation", (int64_t)d->config.generation);
    json_write_object_end(w);
    write_signing(w, c);
    state_write_text(w, "version", c->version);
    json_write_object_end(w);
}

static void write_limited(struct json_writer *w, const char *key, int64_t held, int64_t limit)
{
    json_write_kv_object_begin(w, key);
    json_write_kv_i64(w, "charged", held);
    if (limit != INT64_MAX) {
        json_write_kv_i64(w, "limit", limit);
    }
    json_write_object_end(w);
}

static void write_tenants(struct json_writer *w, const struct state_document *d)
{
    json_write_kv_array_begin(w, "tenants");
    for (size_t i = 0; i < d->head.tenant_n; i++) {
        const struct ledger_tenant *t = &d->head.tenants[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "name", t->name);
        json_write_kv_i64(w, "pods", (int64_t)t->pod_n);
        write_limited(w, "milli", t->held.milli, t->limit.milli);
        write_limited(w, "memMib", t->held.mem_mib, t->limit.mem_mib);
        json_write_kv_bool(w, "overLimit", t->held.milli > t->limit.milli || t->held.mem_mib > t->limit.mem_mib);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_window_names(struct json_writer *w, const char *key, const struct timetable *tt, uint32_t open)
{
    json_write_kv_array_begin(w, key);
    for (size_t i = 0; i < tt->window_n; i++) {
        if ((open >> i & 1) != 0) {
            json_write_str(w, tt->windows[i].name);
        }
    }
    json_write_array_end(w);
}

/* What is in effect, which for a moment is not yet what the time says. */
static void write_time_windows(struct json_writer *w, const struct state_document *d)
{
    const struct config *c = config_slot_take(d->context->config);
    struct timetable_change next = {.open = c->open};
    bool any = timetable_next(&c->timetable, d->as_of_ms / 1000, &next);

    json_write_kv_object_begin(w, "timeWindows");
    write_window_names(w, "active", &c->timetable, c->open);
    write_window_names(w, "next", &c->timetable, next.open);
    state_write_time(w, "at", any ? next.at_s * 1000 : 0);
    json_write_object_end(w);
    config_free(c);
}

static void write_pool_commands(struct json_writer *w, const struct state_document *d)
{
    const struct pool_command_status *all = NULL;
    struct arena a;
    size_t n;

    arena_init(&a, POOL_COMMANDS_BYTES_MAX);
    n = pool_commands_list(d->context->pool_commands, &a, &all);
    json_write_kv_array_begin(w, "poolCommands");
    for (size_t i = 0; i < n; i++) {
        const struct pool_command_status *p = &all[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "pool", p->pool);
        json_write_kv_cstr(w, "state", p->state == NODE_POOL_OPEN ? "open" : "closed");
        json_write_kv_cstr(w, "result", pool_command_result_name(p->result));
        json_write_kv_i64(w, "tries", p->tries);
        state_write_time(w, "at", p->at_ms);
        state_write_text(w, "error", p->error);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    arena_fini(&a);
}

static void write_change_over(struct json_writer *w, const struct change_over_status *s)
{
    json_write_object_begin(w);
    json_write_kv_str(w, "group", s->group);
    json_write_kv_cstr(w, "step", change_over_step_name(s->step));
    state_write_time(w, "since", s->since_ms);
    state_write_time(w, "began", s->began_ms);
    json_write_kv_str(w, "opens", s->wanted);
    json_write_kv_str(w, "open", s->admitted);
    json_write_kv_i64(w, "podCount", (int64_t)s->pod_n);
    json_write_kv_array_begin(w, "pods");
    for (size_t i = 0; i < s->shown_n; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "namespace", s->pods[i].namespace_);
        json_write_kv_str(w, "pod", s->pods[i].name);
        json_write_kv_str(w, "uid", s->pods[i].uid);
        json_write_kv_str(w, "node", s->pods[i].node_name);
        json_write_kv_str(w, "eviction", s->troubles[i]);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_kv_cstr(w, "drain", s->drains ? "evict" : "none");
    json_write_kv_str(w, "failed", s->failed);
    json_write_kv_str(w, "error", s->error);
    json_write_object_end(w);
}

static void write_change_overs(struct json_writer *w, const struct state_document *d)
{
    const struct change_over_status *all = NULL;
    struct arena a;
    size_t n;

    arena_init(&a, CHANGE_OVERS_BYTES_MAX);
    n = change_overs_list(d->context->change_overs, &a, &all);
    json_write_kv_array_begin(w, "changeOvers");
    for (size_t i = 0; i < n; i++) {
        write_change_over(w, &all[i]);
    }
    json_write_array_end(w);
    arena_fini(&a);
}

static void write_unreadable(struct json_writer *w, struct unreadable *u)
{
    bool more;
    size_t n;
    struct unreadable_object *all = unreadable_copy(u, &n, &more);

    json_write_kv_object_begin(w, "unreadable");
    json_write_kv_i64(w, "count", (int64_t)n);
    json_write_kv_bool(w, "more", more);
    json_write_kv_array_begin(w, "objects");
    for (size_t i = 0; i < n; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "resource", kube_resource_name(all[i].resource));
        json_write_kv_cstr(w, "namespace", all[i].namespace_);
        json_write_kv_cstr(w, "name", all[i].name);
        json_write_kv_cstr(w, "uid", all[i].uid);
        json_write_kv_cstr(w, "why", all[i].why);
        state_write_time(w, "since", all[i].since_ms);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_object_end(w);
    free(all);
}

static void write_slices(struct json_writer *w, struct slices *slices)
{
    struct slices_status status;

    if (slices != NULL) {
        slices_status(slices, &status);
        json_write_kv_object_begin(w, "resourceSlices");
        json_write_kv_cstr(w, "state", slices_state_name(status.state));
        json_write_kv_i64(w, "nodes", status.node_n);
        state_write_text(w, "note", status.note);
        json_write_object_end(w);
    }
}

static void write_plan_ahead(struct json_writer *w, struct planner *planner)
{
    struct planner_status status;

    planner_read(planner, &status);
    if (status.enabled) {
        json_write_kv_object_begin(w, "planAhead");
        json_write_kv_i64(w, "waiting", status.waiting_n);
        json_write_kv_i64(w, "outstanding", status.outstanding_n);
        json_write_kv_i64(w, "leftToTheScheduler", status.lead_n);
        json_write_kv_i64(w, "hitsPermille", status.hits_permille);
        json_write_kv_cstr(w, "trouble", status.trouble);
        json_write_object_end(w);
    }
}

void state_write_summary_member(struct json_writer *w, const struct state_document *d)
{
    const struct snapshot *s = &d->head.totals;

    json_write_kv_object_begin(w, "summary");
    json_write_kv_i64(w, "nodes", (int64_t)s->node_n);
    json_write_kv_i64(w, "gpus", (int64_t)s->device_n);
    json_write_kv_i64(w, "overCommittedGpus", (int64_t)s->overcommitted_n);
    json_write_kv_i64(w, "doubleBookedGpus", (int64_t)s->incidents[INCIDENT_DOUBLE_BOOKING].now_n);
    json_write_kv_i64(w, "foreignDecisions", (int64_t)s->incidents[INCIDENT_FOREIGN_DECISION].now_n);
    json_write_kv_i64(w, "closedNodes", (int64_t)s->closed_n);
    json_write_kv_i64(w, "podsOnClosedNodes", (int64_t)s->pod_on_closed_n);
    json_write_kv_i64(w, "turnedAwayPods", (int64_t)s->turned_away_n);
    json_write_kv_i64(w, "uncountedNodes", (int64_t)s->uncounted_n);
    json_write_kv_i64(w, "unmeasuredNodes", (int64_t)s->unmeasured_n);
    json_write_kv_i64(w, "elsewhereNodes", (int64_t)s->elsewhere_n);
    state_write_amount(w, "milli", s->milli_cap, s->milli_charged);
    state_write_amount(w, "memMib", s->mem_cap_mib, s->mem_charged_mib);
    json_write_kv_object_begin(w, "pods");
    for (int i = 0; i < LEDGER_POD_STATE__MAX; i++) {
        json_write_kv_i64(w, ledger_pod_state_name((enum ledger_pod_state)i), (int64_t)s->pods_by_state[i]);
    }
    json_write_object_end(w);
    write_tenants(w, d);
    json_write_kv_i64(w, "bindsInFlight", d->context->binder == NULL ? 0 : binder_in_flight(d->context->binder));
    json_write_kv_i64(w, "nodesInDoubt", d->context->binder == NULL ? 0 : binder_nodes_in_doubt(d->context->binder));
    write_time_windows(w, d);
    write_pool_commands(w, d);
    write_change_overs(w, d);
    write_unreadable(w, d->context->unreadable);
    write_slices(w, d->context->slices);
    write_plan_ahead(w, d->context->planner);
    state_write_demand_histogram(w, &d->head);
    state_write_capacity(w, d->context->capacity_reporter);
    state_write_shadow(w, d->context->shadow);
    json_write_object_end(w);
}

void state_write_audit(struct json_writer *w, const struct state_document *d)
{
    struct audit *audit = d->context->audit;
    struct audit_report last;

    if (audit != NULL) {
        audit_last(audit, &last);
        json_write_key(w, "audit");
        audit_write(w, &last);
    }
}

void state_write_head(struct json_writer *w, const struct state_document *d)
{
    json_write_object_begin(w);
    json_write_kv_cstr(w, "apiVersion", STATE_API_VERSION);
    json_write_kv_cstr(w, "kind", "State");
    state_write_metadata(w, d);
    state_write_summary_member(w, d);
    state_write_audit(w, d);
}

void state_write_configuration(struct json_writer *w, const struct state_document *d)
{
    if (d->effective != NULL) {
        json_write_key(w, "configuration");
        config_describe(d->effective, w);
        if (d->effective->file_values != NULL) {
            json_write_key(w, "fileConfiguration");
            config_describe(d->effective->file_values, w);
        }
    }
}
