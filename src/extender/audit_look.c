/* The second look: what still differs when the watch has had its time is read once more, and
 * repaired. */
#include "extender/audit_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "extender/notices.h"

#define LOGGED_MAX 20 /* objects named in the log of one run */

static const char TEXT_RULES[] = "the configuration changed during the audit";
static const char TEXT_UNSETTLED[] = "the watch was interrupted: some differences could not be decided";

static void count(struct audit *a, const struct suspect *s, enum ledger_drift drift)
{
    a->report->drift[drift]++;
    a->report->drift_n++;
    a->relist[s->resource] = true;
    notice_drift(a->ingest.events, s->namespace_, s->name, drift);
    if (a->report->drift_n <= LOGGED_MAX) {
        LOG_WARNING(a->log, "Repaired the ledger, which had missed a change",
                    LOG_CSTR("cause", ledger_drift_name(drift)), LOG_STR("namespace", s->namespace_),
                    LOG_STR(s->resource == KUBE_PODS ? "pod" : "node", s->name));
    }
}

/* Returns what was repaired, DRIFT_NONE when nothing had to be. */
static enum ledger_drift repair(struct audit *a, const struct suspect *s, struct ledger_op *op)
{
    enum ledger_drift drift = DRIFT_NONE;
    struct err why;

    if (store_repair(a->ingest.store, a->scratch, op, s->touched, &drift, &why) != 0) {
        a->report->unsettled_n++;
        audit_fail(a, why.msg);
        return DRIFT_NONE;
    }
    if (drift != DRIFT_NONE && op->kind == LEDGER_POD_GONE) {
        store_tentative_end(a->ingest.store, op->name);
    }
    return drift;
}

static void looked(struct audit *a, const struct kube_object *o, bool usable)
{
    const struct suspect *s = a->looked;
    struct ingest_fact fact;
    enum ledger_drift drift;
    struct err why;

    if (!str_eq(audit_id_of(o), s->id)) {
        return; /* another pod of the same name */
    }
    a->found = true;
    if (ingest_read(&a->ingest, &a->arena, o, usable, &fact, &why) != 0) {
        a->report->unsettled_n++;
        audit_fail(a, why.msg);
    } else {
        drift = repair(a, s, &fact.op);
        if (drift != DRIFT_NONE) {
            count(a, s, drift == DRIFT_POD_GONE ? DRIFT_POD_FINISHED : drift);
        }
    }
    arena_reset(&a->arena);
}

static void on_looked(void *ctx, const struct kube_object *o)
{
    looked(ctx, o, true);
}

static void on_looked_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    (void)why;
    BUG_ON(deleted);
    looked(ctx, o, false);
}

static void on_still_there(void *ctx, const struct kube_object *o)
{
    struct audit *a = ctx;

    a->found = a->found || str_eq(audit_id_of(o), a->looked->id);
}

static void on_still_there_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    (void)deleted;
    (void)why;
    on_still_there(ctx, o);
}

static int look_for_suspect(struct audit *a, const struct suspect *s, const struct reflector_handler *h,
                            struct err *reterr)
{
    a->looked = s;
    a->found = false;
    return kube_list_one(&a->lister, s->resource, s->namespace_, s->name, h, reterr);
}

static struct ledger_op gone_op(const struct suspect *s)
{
    return (struct ledger_op){.kind = s->resource == KUBE_PODS ? LEDGER_POD_GONE : LEDGER_NODE_GONE, .name = s->id};
}

/* The ledger had no entry whose `touched` could have shown that the object went, and its end was
 * told, while it was being read. If it is there now, its end is still to come. */
static int look_after(struct audit *a, const struct suspect *s, struct err *reterr)
{
    const struct reflector_handler handler = {.object = on_still_there, .unusable = on_still_there_unusable, .ctx = a};
    struct ledger_op gone = gone_op(s);
    int rc = look_for_suspect(a, s, &handler, reterr);

    return rc == 0 && !a->found ? store_apply(a->ingest.store, &gone, reterr) : rc;
}

static int look_again(struct audit *a, const struct suspect *s, struct err *reterr)
{
    const struct reflector_handler handler = {.object = on_looked, .unusable = on_looked_unusable, .ctx = a};
    uint64_t missing_n = a->report->drift[DRIFT_POD_MISSING] + a->report->drift[DRIFT_NODE_MISSING];
    struct ledger_op gone = gone_op(s);
    int rc = look_for_suspect(a, s, &handler, reterr);

    if (rc != 0) {
        return rc;
    }
    if (!a->found) {
        enum ledger_drift drift = repair(a, s, &gone);

        if (drift != DRIFT_NONE) {
            count(a, s, drift);
        }
        return 0;
    }
    return a->report->drift[DRIFT_POD_MISSING] + a->report->drift[DRIFT_NODE_MISSING] > missing_n
               ? look_after(a, s, reterr)
               : 0;
}

/* Has nothing touched the entry since it was suspected? */
static bool is_untouched(struct audit *a, const struct suspect *s)
{
    struct ledger_op op = gone_op(s);
    uint64_t touched;

    (void)store_drift(a->ingest.store, a->scratch, &op, &touched);
    return touched == s->touched;
}

static uint64_t interruptions(struct audit *a, enum kube_resource resource, bool *ret_now)
{
    *ret_now = false;
    return a->options.interruptions == NULL ? 0 : a->options.interruptions(a->options.ctx, resource, ret_now);
}

static bool rules_are_newest(struct audit *a)
{
    const struct rules *newest = policy_set_take_newest(a->policies);
    bool same = newest == a->rules;

    rules_put(newest);
    return same;
}

int audit_settle(struct audit *a, struct err *reterr)
{
    uint64_t before[KUBE_RESOURCE__MAX];
    bool quiet[KUBE_RESOURCE__MAX];

    if (a->suspect_n == 0) {
        return 0;
    }
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        before[i] = interruptions(a, (enum kube_resource)i, &quiet[i]);
    }
    if (!audit_wait(a, clock_mono_ns(a->clock) + a->options.settle_ms * NS_PER_MS)) {
        return err_set(reterr, ERR_CANCELLED, "stopped while waiting for the watches");
    }
    if (!rules_are_newest(a)) {
        a->report->unsettled_n += a->suspect_n;
        return err_set(reterr, ERR_UNAVAILABLE, "%s", TEXT_RULES);
    }
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        bool now;

        quiet[i] = interruptions(a, (enum kube_resource)i, &now) == before[i] && !now && !quiet[i];
    }
    for (size_t i = 0; i < a->suspect_n; i++) {
        const struct suspect *s = &a->suspects[i];
        int rc;

        if (!is_untouched(a, s)) {
            continue;
        }
        if (!quiet[s->resource]) {
            a->report->unsettled_n++;
            audit_fail(a, TEXT_UNSETTLED);
            continue;
        }
        a->report->suspect_n++;
        rc = look_again(a, s, reterr);
        if (rc == -ERR_CANCELLED || rc == -ERR_UNAVAILABLE) {
            a->report->unsettled_n += a->suspect_n - i;
            return rc;
        }
        if (rc != 0) {
            a->report->unsettled_n++;
            audit_fail(a, reterr->msg);
        }
    }
    return 0;
}
