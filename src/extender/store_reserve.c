/* Reservations: devices for one bind, and what observations say of it afterwards. */
#include "extender/store_internal.h"

#include "base/bug.h"
#include "core/forecast/forecast.h"
#include "core/placement/pack.h"
#include "extender/store_trace.h"

static enum store_reserve_result result_of_state(const struct ledger_pod *pod, struct str node_name)
{
    switch (pod->state) {
    case LEDGER_PENDING:
        if (pod->demand->defect != DEMAND_OK) {
            return STORE_DEFECT;
        }
        return pod->deleting ? STORE_DELETING : STORE_RESERVED;
    case LEDGER_RESERVED:
        return STORE_IN_FLIGHT;
    case LEDGER_FOREIGN:
        return STORE_BOUND_ELSEWHERE;
    case LEDGER_CONFIRMED:
    case LEDGER_BOUND:
        return str_eq(pod->node_name, node_name) ? STORE_ALREADY_BOUND : STORE_BOUND_ELSEWHERE;
    case LEDGER_POD_STATE__MAX:
        break;
    }
    BUG("unknown pod state");
}

/* With the lock: may the pod be decided for as the ledger has it, which may have read it by rules that are not in
 * effect yet? `asks` NULL: the ledger does not know it. */
static bool is_as_looked_at(const struct store *s, const struct demand *asks, const struct store_looked *l)
{
    if (s->transition == 0) {
        return true;
    }
    if (l == NULL || l->demand == NULL || l->transition != s->transition) {
        return false;
    }
    return asks != NULL ? demand_equal(asks, l->demand) : demand_is_empty(l->demand);
}

/* By which strategies the pod gets its devices on this node. */
static struct pack_params params_on(const struct store *s, const struct ledger_pod *pod, struct str node_name,
                                    const struct pack_plans *plans)
{
    struct resolved_plan resolved_plan;
    struct pack_params params;

    resolved_plan_make(&resolved_plan, plans, pod->namespace_, pod->label_hashes, pod->label_n);
    params =
        resolved_plan.steps[resolved_plan_step(&resolved_plan, ledger_node_rules(s->ledger, node_name))].plan->params;
    params.forecast = s->forecast;
    return params;
}

/* Brings the forecast up to date for these; false: a section's worth of work is done and there is more. */
static bool look_ahead(struct store *s, const struct pack_params *params)
{
    return forecast_follow(s->forecast, ledger_cluster_view(s->ledger), params->node_strategy) &&
           forecast_follow(s->forecast, ledger_cluster_view(s->ledger), params->device_strategy);
}

bool store_judge_bind(struct store *s, struct str uid, struct str node_name, const struct pack_plans *plans,
                      enum verdict *ret_verdict, struct placement *ret)
{
    struct pack_params params;
    struct ledger_pod pod;
    bool known, looked_ahead;

    do {
        looked_ahead = true;
        mutex_lock(&s->lock);
        known = ledger_find_pod(s->ledger, uid, &pod);
        if (known) {
            params = params_on(s, &pod, node_name, plans);
            looked_ahead = look_ahead(s, &params);
            *ret_verdict = looked_ahead ? ledger_place_pod(s->ledger, node_name, uid, &params, ret) : *ret_verdict;
        }
        mutex_unlock(&s->lock);
    } while (!looked_ahead);
    return known;
}

int store_reserved_assignment(struct store *s, struct arena *a, struct str uid, struct assignment *ret,
                              struct err *reterr)
{
    int rc = 0;

    *ret = (struct assignment){.container_n = 0};
    mutex_lock(&s->lock);
    if (ledger_chose_devices(s->ledger, uid)) {
        rc = ledger_assignment(s->ledger, uid, a, ret, reterr);
    }
    mutex_unlock(&s->lock);
    return rc;
}

/* What a bind goes by. */
struct way {
    struct pack_params params;
    uint64_t config;
};

/* Under the lock, because only there it is known. */
static void record_bind(struct store *s, const struct ledger_op *op, const struct way *by, enum verdict verdict,
                        const struct assignment *assignment, bool undone)
{
    struct store_line line = store_line_begin(s);
    struct ledger_pod pod;

    if (line.wanted && ledger_find_pod(s->ledger, op->reserve.uid, &pod)) {
        store_line_bind(&line,
                        &(struct store_line_bind){op->reserve.decision_id, op->reserve.uid, op->reserve.node_name, &pod,
                                                  by->config, verdict, op->reserve.placement, assignment, undone});
    }
    store_line_end(s, &line, op->at_ms);
    store_line_fini(&line);
}

static enum store_reserve_result reserve(struct store *s, struct arena *a, const struct ledger_op *asked,
                                         const struct way *by, struct store_reservation *ret, struct err *reterr)
{
    struct placement at;
    struct ledger_op op = *asked;

    op.reserve.placement = &at;
    ret->verdict = ledger_place_pod(s->ledger, op.reserve.node_name, op.reserve.uid, &by->params, &at);
    if (ret->verdict != VERDICT_FITS) {
        record_bind(s, &op, by, ret->verdict, NULL, false);
        return STORE_NO_FIT;
    }
    ret->assignment = (struct assignment){.id = op.reserve.decision_id};
    if (ledger_apply(s->ledger, &op, reterr) != 0) {
        return STORE_FAILED;
    }
    if (ledger_chose_devices(s->ledger, op.reserve.uid) &&
        ledger_assignment(s->ledger, op.reserve.uid, a, &ret->assignment, reterr) != 0) {
        struct ledger_op undo = {.kind = LEDGER_RELEASE, .at_ms = op.at_ms, .name = op.reserve.uid};
        struct store_line line = store_line_begin(s);

        record_bind(s, &op, by, VERDICT_FITS, NULL, true);
        BUG_ON(ledger_apply(s->ledger, &undo, NULL) != 0);
        store_line_op(&line, &undo);
        store_line_end(s, &line, op.at_ms);
        store_line_fini(&line);
        return STORE_FAILED;
    }
    record_bind(s, &op, by, VERDICT_FITS, ret->assignment.container_n > 0 ? &ret->assignment : NULL, false);
    store_tentative_end_locked(s, op.reserve.uid); /* what it was promised it has: others would count it twice (F115) */
    return STORE_RESERVED;
}

enum store_reserve_result store_reserve(struct store *s, struct arena *a, struct str uid, struct str namespace_,
                                        struct str name, struct str node_name, struct str decision_id,
                                        const struct pack_plans *plans, const struct store_looked *looked,
                                        struct store_reservation *ret, struct err *reterr)
{
    struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .at_ms = clock_wall_ms(s->clock),
        .reserve = {.uid = uid, .node_name = node_name, .decision_id = decision_id},
    };
    enum store_reserve_result r;
    const char *not_ready = store_not_ready(s);
    bool looked_ahead;

    do { /* mostly once: filter has been here before, and there is nothing left to look at */
        struct ledger_pod pod;
        uint64_t capacity_before;

        r = STORE_UNKNOWN_POD;
        looked_ahead = true;
        mutex_lock(&s->lock);
        capacity_before = ledger_capacity_generation(s->ledger);
        if (ledger_find_pod(s->ledger, uid, &pod) && str_eq(pod.namespace_, namespace_) && str_eq(pod.name, name)) {
            r = not_ready != NULL ? STORE_NOT_READY : result_of_state(&pod, node_name);
            ret->not_ready = not_ready;
            ret->defect = pod.demand->defect;
            ret->annotation_bytes = pod.annotation_bytes;
            ret->leftovers = arena_str(a, pod.leftovers);
            ret->version = pod.version;
        }
        if ((r == STORE_RESERVED && !is_as_looked_at(s, pod.demand, looked)) ||
            (r == STORE_UNKNOWN_POD && !is_as_looked_at(s, NULL, looked))) {
            r = STORE_TRANSITION;
        }
        if (r == STORE_RESERVED && ledger_is_unverified(s->ledger, node_name)) {
            r = STORE_UNVERIFIED;
        }
        if (r == STORE_RESERVED) {
            struct way by = {params_on(s, &pod, node_name, plans), plans->generation};

            looked_ahead = look_ahead(s, &by.params);
            r = looked_ahead ? reserve(s, a, &op, &by, ret, reterr) : r;
        }
        store_unlock_and_tell(s, capacity_before); /* a nomination may have ended */
    } while (!looked_ahead);
    if (r == STORE_RESERVED) {
        decisions_choose(s->decisions, &(struct decision_note){.uid = uid,
                                                               .namespace_ = namespace_,
                                                               .name = name,
                                                               .at_ms = op.at_ms,
                                                               .id = decision_id,
                                                               .node = node_name});
    }
    return r;
}

enum store_seen store_binding_seen(struct store *s, struct str uid, struct str node_name, struct str decision_id,
                                   uint64_t *ret_version)
{
    enum store_seen seen = STORE_SEEN_NOTHING;
    struct ledger_pod pod;

    mutex_lock(&s->lock);
    if (!ledger_find_pod(s->ledger, uid, &pod)) {
        seen = STORE_SEEN_NOTHING;
    } else if (pod.state == LEDGER_RESERVED) {
        seen = STORE_SEEN_UNBOUND;
        *ret_version = pod.version;
    } else if (pod.state == LEDGER_BOUND || pod.state == LEDGER_FOREIGN) {
        seen = pod.state == LEDGER_BOUND && str_eq(pod.node_name, node_name) && str_eq(pod.decision_id, decision_id)
                   ? STORE_SEEN_BOUND
                   : STORE_SEEN_OTHER;
    }
    mutex_unlock(&s->lock);
    return seen;
}

enum pod_place store_pod_place(struct store *s, struct str uid, struct str node_name, uint64_t *ret_version)
{
    enum pod_place place = POD_PLACE_UNKNOWN;
    struct ledger_pod pod;

    mutex_lock(&s->lock);
    if (ledger_find_pod(s->ledger, uid, &pod)) {
        *ret_version = pod.version;
        place = pod.state == LEDGER_PENDING || pod.state == LEDGER_RESERVED ? POD_PLACE_UNBOUND
                : str_eq(pod.node_name, node_name)                          ? POD_PLACE_HERE
                                                                            : POD_PLACE_ELSEWHERE;
    }
    mutex_unlock(&s->lock);
    return place;
}

bool store_is_in_host_group(struct store *s, struct str node_name)
{
    bool is;

    mutex_lock(&s->lock);
    is = ledger_is_in_host_group(s->ledger, node_name);
    mutex_unlock(&s->lock);
    return is;
}

bool store_reservation_holds(struct store *s, struct str uid, uint64_t version, size_t *ret_annotation_bytes)
{
    struct ledger_pod pod;
    bool holds;

    mutex_lock(&s->lock);
    holds = ledger_find_pod(s->ledger, uid, &pod) && pod.as_reserved && !pod.deleting && pod.version == version;
    if (holds) {
        *ret_annotation_bytes = pod.annotation_bytes;
    }
    mutex_unlock(&s->lock);
    return holds;
}

bool store_knows_pod(struct store *s, struct str uid)
{
    struct ledger_pod pod;
    bool known;

    mutex_lock(&s->lock);
    known = ledger_find_pod(s->ledger, uid, &pod);
    mutex_unlock(&s->lock);
    return known;
}

/* ---- who hears of reserved pods ---- */

bool store_is_about_reserved(struct store *s, const struct ledger_op *op)
{
    struct ledger_pod pod;

    return op->kind == LEDGER_POD_OBSERVED && ledger_find_pod(s->ledger, op->pod.uid, &pod) &&
           pod.state == LEDGER_RESERVED;
}

void store_tell_reserved(struct store *s, struct str uid)
{
    mutex_lock(&s->reserved_lock);
    if (s->reserved_fn != NULL) {
        s->reserved_fn(s->reserved_ctx, uid);
    }
    mutex_unlock(&s->reserved_lock);
}

void store_watch_reserved(struct store *s, store_reserved_fn *fn, void *ctx)
{
    mutex_lock(&s->reserved_lock);
    s->reserved_fn = fn;
    s->reserved_ctx = ctx;
    mutex_unlock(&s->reserved_lock);
}
