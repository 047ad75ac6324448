#include "extender/store_internal.h"

#include "base/bug.h"
#include "core/forecast/forecast.h"
#include "core/ledger/mirror.h"
#include "core/placement/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store *store_new(const struct ledger_limits *limits, const struct clock *clock)
{
    struct store *s = xcalloc(1, sizeof(*s));

    mutex_init(&s->lock, "store");
    mutex_init(&s->capacity_lock, "store capacity");
    mutex_init(&s->overcommit_lock, "store overcommit");
    mutex_init(&s->incident_lock, "store incident");
    mutex_init(&s->reserved_lock, "store reserved");
    s->clock = clock;
    s->not_before_ns = INT64_MIN;
    s->ledger = ledger_new(limits);
    s->scores = score_cache_new();
    s->twins = twins_new();
    s->forecast = forecast_new();
    s->decisions = decisions_new();
    s->waiting = waiting_new();
    return s;
}

void store_free(struct store *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < STORE_TENTATIVES_MAX; i++) {
        store_tentative_clear(&s->tentatives[i]);
    }
    store_doubts_fini(&s->doubts);
    recorder_free(s->recorder);
    ledger_free(s->ledger);
    score_cache_free(s->scores);
    twins_free(s->twins);
    forecast_free(s->forecast);
    decisions_free(s->decisions);
    waiting_free(s->waiting);
    mutex_destroy(&s->capacity_lock);
    mutex_destroy(&s->overcommit_lock);
    mutex_destroy(&s->incident_lock);
    mutex_destroy(&s->reserved_lock);
    mutex_destroy(&s->lock);
    free(s);
}

/* ---- the ledger ---- */

/* Once it has begun, this process decides until its end, or until its Lease runs out: what it is closed for later does
 * not make the decisions of others less of a surprise. */
void store_stamp(struct store *s, struct ledger_op *op)
{
    op->at_ms = clock_wall_ms(s->clock);
    op->deciding = ledger_is_synced(s->ledger) && clock_mono_ns(s->clock) >= s->not_before_ns && store_leads(s);
}

/* What lists and the watch have told reaches up to `pods_told`. If that covers a pod that the ledger does not know, it
 * has gone, or asks for nothing; unless pods were ever turned away: then it may be one of those. */
static bool was_told(const struct store *s, uint64_t version)
{
    struct ledger_turned_away away;

    if (version == 0 || version > s->pods_told) {
        return false;
    }
    ledger_turned_away(s->ledger, &away);
    return away.total_n == 0;
}

/* A read was asked for at a time that nobody knows beside lists and the watch: only its version tells whether it is
 * news. Versions compare as numbers (design.md 3.1.4 (c)); one that is none is news. */
static bool is_old(const struct store *s, const struct ledger_op *op)
{
    struct ledger_pod pod;

    if (op->kind != LEDGER_POD_OBSERVED || !op->pod.read || op->pod.version == 0) {
        return false;
    }
    return was_told(s, op->pod.version) ||
           (ledger_find_pod(s->ledger, op->pod.uid, &pod) && pod.version >= op->pod.version);
}

/* Under the lock, with the op itself: whoever reads a pod in between knows either nothing of it or all. */
static void note_told(struct store *s, const struct ledger_op *op)
{
    if (op->told != 0) {
        s->pods_told = op->told;
    } else if (op->kind == LEDGER_PODS_END) {
        s->pods_told = op->list.version;
    }
}

bool store_was_told(struct store *s, uint64_t version)
{
    bool told;

    mutex_lock(&s->lock);
    told = was_told(s, version);
    mutex_unlock(&s->lock);
    return told;
}

bool store_is_old(struct store *s, const struct ledger_op *op)
{
    bool old;

    if (op->kind != LEDGER_POD_OBSERVED || !op->pod.read) {
        return false;
    }
    mutex_lock(&s->lock);
    old = is_old(s, op);
    mutex_unlock(&s->lock);
    return old;
}

int store_apply_noting(struct store *s, struct ledger_op *op, struct ledger_status *ret_before,
                       struct ledger_status *ret_after, struct err *reterr)
{
    struct store_line line = store_line_begin(s);
    uint64_t capacity_before;
    bool reserved;
    int rc;

    store_line_op(&line, op);
    mutex_lock(&s->lock);
    store_stamp(s, op);
    reserved = store_is_about_reserved(s, op);
    if (ret_before != NULL) {
        ledger_status(s->ledger, op, ret_before);
    }
    capacity_before = ledger_capacity_generation(s->ledger);
    rc = 0;
    if (!is_old(s, op)) {
        rc = ledger_apply(s->ledger, op, reterr);
        store_line_end(s, &line, op->at_ms);
        note_told(s, op);
    }
    if (ret_after != NULL) {
        ledger_status(s->ledger, op, ret_after);
    }
    store_unlock_and_tell(s, capacity_before);
    store_line_fini(&line);
    if (reserved) {
        store_tell_reserved(s, op->pod.uid);
    }
    return rc;
}

int store_apply(struct store *s, struct ledger_op *op, struct err *reterr)
{
    return store_apply_noting(s, op, NULL, NULL, reterr);
}

struct incident *store_incidents(struct store *s, size_t max, uint64_t *ret_n)
{
    struct incident *list;

    *ret_n = 0;
    mutex_lock(&s->lock);
    list = ledger_incidents(s->ledger, max);
    for (size_t i = 0; i < INCIDENT_KIND__MAX; i++) {
        *ret_n += ledger_incident_count(s->ledger, (enum incident_kind)i).now_n;
    }
    mutex_unlock(&s->lock);
    return list;
}

uint64_t store_capacity_generation(struct store *s)
{
    uint64_t generation;

    mutex_lock(&s->lock);
    generation = ledger_capacity_generation(s->ledger);
    mutex_unlock(&s->lock);
    return generation;
}

const char *store_lost_inventory(struct store *s)
{
    const char *why;

    mutex_lock(&s->lock);
    why = ledger_lost_inventory(s->ledger);
    mutex_unlock(&s->lock);
    return why;
}

void store_turned_away(struct store *s, struct store_turned_away *ret)
{
    struct ledger_turned_away t;

    mutex_lock(&s->lock);
    ledger_turned_away(s->ledger, &t);
    snprintf(ret->last, sizeof(ret->last), "%.*s/%.*s%s%.*s", STR_ARG(t.namespace_), STR_ARG(t.name),
             t.node_name.n > 0 ? " on " : "", STR_ARG(t.node_name));
    mutex_unlock(&s->lock);
    ret->pod_n = t.pod_n;
    ret->total_n = t.total_n;
    ret->node_n = t.node_n;
}

size_t store_unmeasured(struct store *s, struct arena *a, struct str *ret, size_t max)
{
    size_t n, kept = 0;

    mutex_lock(&s->lock);
    n = snapshot_unmeasured(s->ledger, ret, max);
    while (kept < n && !a->overflowed) {
        ret[kept] = arena_str(a, ret[kept]);
        kept += !a->overflowed;
    }
    mutex_unlock(&s->lock);
    return kept;
}

bool store_has_node(struct store *s, struct str node_name)
{
    bool known;

    mutex_lock(&s->lock);
    known = ledger_has_node(s->ledger, node_name);
    mutex_unlock(&s->lock);
    return known;
}

enum verdict store_preempt(struct store *s, struct arena *a, const struct preempt_request *r,
                           const struct str **ret_victims, size_t *ret_n)
{
    enum verdict v;

    mutex_lock(&s->lock);
    v = ledger_preempt(s->ledger, a, r, ret_victims, ret_n);
    mutex_unlock(&s->lock);
    return v;
}

int store_snapshot(struct store *s, struct arena *a, struct str node_name, struct str namespace_, struct snapshot *ret,
                   struct err *reterr)
{
    int rc;

    mutex_lock(&s->lock);
    rc = snapshot_take(s->ledger, a, node_name, namespace_, ret, reterr);
    mutex_unlock(&s->lock);
    return rc;
}

void store_mirror(struct store *s, struct mirror *m)
{
    bool done;

    do {
        mutex_lock(&s->lock);
        done = mirror_follow(m, s->ledger);
        mutex_unlock(&s->lock);
        if (!done) {
            mirror_grow(m);
        }
    } while (!done);
}

int store_shadow(struct store *s, struct arena *a, const struct view_pod *pod, struct mirror *m,
                 struct store_shadow *ret, struct err *reterr)
{
    struct ledger_view v;
    bool done;
    int rc = 0;

    do {
        mutex_lock(&s->lock);
        done = mirror_follow(m, s->ledger);
        if (done) {
            mirror_without(m, s->ledger, pod->uid);
            rc = ledger_view(s->ledger, a, pod, &v, reterr);
        }
        mutex_unlock(&s->lock);
        if (!done) {
            mirror_grow(m);
        }
    } while (!done);
    if (rc == 0) {
        *ret = (struct store_shadow){v.allowed_models, !v.flags_devices && !v.isolates && v.nomination_n == 0,
                                     v.tenant_residual, v.limits_tenant};
    }
    return rc;
}

void store_forecast(struct store *s, struct forecast *o, const struct strategy *for_strategy)
{
    bool done;

    do {
        mutex_lock(&s->lock);
        done = forecast_follow(o, ledger_cluster_view(s->ledger), for_strategy);
        mutex_unlock(&s->lock);
    } while (!done);
}

void store_totals(struct store *s, struct snapshot *ret)
{
    mutex_lock(&s->lock);
    snapshot_totals(s->ledger, ret);
    mutex_unlock(&s->lock);
}

static size_t copy_tenants_locked(struct store *s, struct arena *a, struct ledger_tenant *ret)
{
    size_t n = ledger_tenants(s->ledger, ret, TENANTS_MAX);

    for (size_t i = 0; i < n; i++) {
        ret[i].name = arena_str(a, ret[i].name);
    }
    return a->overflowed ? 0 : n;
}

size_t store_tenants(struct store *s, struct arena *a, struct ledger_tenant *ret)
{
    size_t n;

    mutex_lock(&s->lock);
    n = copy_tenants_locked(s, a, ret);
    mutex_unlock(&s->lock);
    return n;
}

void store_head_locked(struct store *s, struct arena *a, struct store_head *ret)
{
    ret->tenant_n = copy_tenants_locked(s, a, ret->tenants);
    demand_histogram_report_take(ledger_demand_histogram(s->ledger), &ret->demand_histogram);
    forecast_report(s->forecast, &ret->forecast);
    ret->incidents = NULL;
}

void store_head(struct store *s, struct arena *a, struct store_head *ret)
{
    mutex_lock(&s->lock);
    snapshot_totals(s->ledger, &ret->totals);
    store_head_locked(s, a, ret);
    mutex_unlock(&s->lock);
}

uint64_t store_generation(struct store *s)
{
    uint64_t generation;

    mutex_lock(&s->lock);
    generation = ledger_generation(s->ledger);
    mutex_unlock(&s->lock);
    return generation;
}

const char *store_check(struct store *s)
{
    struct ledger_checking c = {0};
    const char *why = NULL;
    bool more;

    do {
        mutex_lock(&s->lock);
        more = ledger_check_some(s->ledger, &c, &why);
        mutex_unlock(&s->lock);
    } while (more);
    return why;
}
