/* One audit: list, suspect, and (audit_look.c) wait, look again, repair. */
#include "extender/audit_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MIN 1024

static const char TEXT_NOT_SYNCED[] = "the first lists of pods and nodes are not complete yet";
static const char TEXT_RULES[] = "a new configuration is being applied: everything is read again";
static const char TEXT_TOO_MANY[] = "more differences than one run looks at; the watches list again";

/* The first thing that went wrong is what the report says. */
void audit_fail(struct audit *a, const char *text)
{
    if (a->report->error[0] == '\0') {
        snprintf(a->report->error, sizeof(a->report->error), "%s", text);
    }
}

/* ---- suspects ---- */

static void suspect_add(struct audit *a, uint64_t touched, struct str id, struct str namespace_, struct str name)
{
    struct suspect s = {.resource = a->resource, .touched = touched};
    char *at;

    if (a->suspect_n == AUDIT_SUSPECTS_MAX) {
        a->report->unsettled_n++;
        a->relist[a->resource] = true;
        audit_fail(a, TEXT_TOO_MANY);
        return;
    }
    if (a->suspect_n == a->suspect_cap) {
        a->suspect_cap = a->suspect_cap == 0 ? 64 : a->suspect_cap * 2;
        a->suspects = xreallocarray(a->suspects, a->suspect_cap, sizeof(*a->suspects));
    }
    at = s.text = xmalloc(id.n + namespace_.n + name.n);
    s.id = str_put(&at, id);
    s.namespace_ = str_put(&at, namespace_);
    s.name = str_put(&at, name);
    a->suspects[a->suspect_n++] = s;
}

static void suspects_clear(struct audit *a)
{
    for (size_t i = 0; i < a->suspect_n; i++) {
        free(a->suspects[i].text);
    }
    a->suspect_n = 0;
}

/* Those of the list that starts over. */
static void suspects_drop(struct audit *a, enum kube_resource resource)
{
    while (a->suspect_n > 0 && a->suspects[a->suspect_n - 1].resource == resource) {
        free(a->suspects[--a->suspect_n].text);
    }
}

/* ---- what the list has ---- */

static void note_seen(struct audit *a, struct str id)
{
    if (a->seen_n == a->seen_cap) {
        a->seen_cap *= 2;
        a->seen = xreallocarray(a->seen, a->seen_cap, sizeof(*a->seen));
    }
    a->seen[a->seen_n++] = hash_str(a->hash_key, id);
}

static int by_number(const void *x, const void *y)
{
    const uint64_t *p = x, *q = y;

    return (*p > *q) - (*p < *q);
}

static bool was_seen(const struct audit *a, struct str id)
{
    uint64_t hash = hash_str(a->hash_key, id);

    return bsearch(&hash, a->seen, a->seen_n, sizeof(hash), by_number) != NULL;
}

struct str audit_id_of(const struct kube_object *o)
{
    return o->pod != NULL ? o->pod->uid : o->node->name;
}

static void listed(struct audit *a, const struct kube_object *o, bool usable)
{
    struct str name = o->pod != NULL ? o->pod->name : o->node->name;
    struct ingest_fact fact;
    enum ledger_drift drift;
    uint64_t touched;
    struct err why;

    note_seen(a, audit_id_of(o));
    if (ingest_read(&a->ingest, &a->arena, o, usable, &fact, &why) != 0) {
        a->report->unsettled_n++;
        audit_fail(a, why.msg);
    } else {
        drift = store_drift(a->ingest.store, a->scratch, &fact.op, &touched);
        if (drift != DRIFT_NONE && touched <= a->generation) {
            suspect_add(a, touched, audit_id_of(o), o->pod != NULL ? o->pod->namespace_ : STR_NULL, name);
        }
    }
    arena_reset(&a->arena);
}

static void on_begin(void *ctx)
{
    struct audit *a = ctx;

    a->generation = store_generation(a->ingest.store);
    a->seen_n = 0;
    suspects_drop(a, a->resource);
}

static void on_listed(void *ctx, const struct kube_object *o)
{
    listed(ctx, o, true);
}

static void on_listed_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    (void)why;
    BUG_ON(deleted); /* lists do not delete */
    listed(ctx, o, false);
}

static void on_entry(void *ctx, const struct ledger_audit_entry *e)
{
    struct audit *a = ctx;

    if (e->touched <= a->generation && !was_seen(a, e->id)) {
        suspect_add(a, e->touched, e->id, e->namespace_, a->resource == KUBE_PODS ? e->name : e->id);
    }
}

/* Everything the API server has, against the ledger; then what only the ledger has. */
static int compare(struct audit *a, enum kube_resource resource, uint64_t *ret_n, struct err *reterr)
{
    const struct reflector_handler handler = {
        .list_begin = on_begin, .object = on_listed, .unusable = on_listed_unusable, .ctx = a};
    uint32_t at = 0;
    int rc;

    a->resource = resource;
    rc = kube_list(&a->lister, resource, &handler, reterr);
    if (rc != 0) {
        return rc;
    }
    *ret_n = a->seen_n;
    qsort(a->seen, a->seen_n, sizeof(*a->seen), by_number);
    while (store_audit_next(a->ingest.store, resource == KUBE_PODS ? ledger_audit_pods : ledger_audit_nodes, &at,
                            on_entry, a)) {
    }
    return 0;
}

/* ---- the run ---- */

static int run_audit(struct audit *a, struct err *reterr)
{
    int rc;

    a->report->invariant = store_check(a->ingest.store);
    if (!store_is_synced(a->ingest.store)) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s", TEXT_NOT_SYNCED);
    }
    if (policy_set_is_waiting(a->policies)) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s", TEXT_RULES);
    }
    rc = compare(a, KUBE_NODES, &a->report->node_n, reterr);
    if (rc == 0) {
        rc = compare(a, KUBE_PODS, &a->report->pod_n, reterr);
    }
    return rc == 0 ? audit_settle(a, reterr) : rc;
}

static void report_incidents(struct audit *a)
{
    struct audit_report *r = a->report;
    struct incident *list = store_incidents(a->ingest.store, AUDIT_INCIDENTS_MAX, &r->incident_n);

    for (const struct incident *in = list; in != NULL; in = in->next) {
        struct audit_incident *to = &r->incidents[r->described_n++];

        to->kind = in->kind;
        to->since_ms = in->since_ms;
        (void)incident_sentence(in, to->what, sizeof(to->what));
    }
    incidents_free(list);
}

static void conclude(struct audit *a)
{
    struct audit_report *r = a->report;

    report_incidents(a);
    store_excess_causes(a->ingest.store, r->excess);
    if (r->invariant == NULL) {
        r->invariant = store_check(a->ingest.store);
    }
    if (r->invariant != NULL) {
        r->result = AUDIT_BROKEN;
    } else if (r->error[0] != '\0') {
        r->result = AUDIT_FAILED;
    } else if (r->incident_n > 0) {
        r->result = AUDIT_INCIDENTS;
    } else {
        r->result = r->drift_n > 0 ? AUDIT_DRIFT : AUDIT_CLEAN;
    }
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        if (a->relist[i] && a->options.drifted != NULL) {
            a->options.drifted(a->options.ctx, (enum kube_resource)i);
        }
    }
}

static void report_audit(const struct audit *a, bool troubled)
{
    const struct audit_report *r = a->report;
    const struct log_field fields[] = {
        LOG_CSTR("result", audit_result_name(r->result)),
        LOG_I64("pods", (int64_t)r->pod_n),
        LOG_I64("nodes", (int64_t)r->node_n),
        LOG_I64("lookedAtAgain", (int64_t)r->suspect_n),
        LOG_I64("drift", (int64_t)r->drift_n),
        LOG_I64("undecided", (int64_t)r->unsettled_n),
        LOG_I64("incidents", (int64_t)r->incident_n),
        LOG_I64("ms", r->duration_ns / NS_PER_MS),
        LOG_CSTR("err", r->invariant != NULL ? r->invariant : r->error),
    };
    size_t n = sizeof(fields) / sizeof(fields[0]);

    log_write(a->log, troubled ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, troubled ? 0 : 2, __FILE__, __LINE__,
              "Audited the ledger", fields, troubled && fields[n - 1].s.n > 0 ? n : n - 1);
}

void audit_run(struct audit *a, struct audit_report *ret)
{
    int64_t begun_ns = clock_mono_ns(a->clock);
    struct err why;

    *ret = (struct audit_report){.started_ms = clock_wall_ms(a->clock)};
    a->report = ret;
    a->give_up_ns = begun_ns + AUDIT_RUN_MAX_MS * NS_PER_MS;
    a->rules = policy_set_take_newest(a->policies);
    a->ingest = a->rules->ingest;
    a->ingest.log = NULL;
    a->scratch = store_audit_scratch(a->ingest.store);
    a->seen_cap = SEEN_MIN;
    a->seen = xmalloc(a->seen_cap * sizeof(*a->seen));
    memset(a->relist, 0, sizeof(a->relist));
    if (run_audit(a, &why) != 0) {
        audit_fail(a, why.msg);
    }
    conclude(a);
    suspects_clear(a);
    ledger_free(a->scratch);
    rules_put(a->rules);
    free(a->seen);
    a->seen = NULL;
    a->seen_n = a->seen_cap = 0;
    ret->ended_ms = clock_wall_ms(a->clock);
    ret->duration_ns = clock_mono_ns(a->clock) - begun_ns;
    report_audit(a, ret->result != AUDIT_CLEAN);
}
