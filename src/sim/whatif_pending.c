/* The node that each waiting pod would get, by itself, on either side. */
#include "sim/whatif_internal.h"

#include "core/ledger/view.h"
#include "core/placement/shadow_decision.h"

#define SCRATCH_BYTES_MAX ((size_t)256 << 20)

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the state does not fit its memory");
}

static int choose_node(struct whatif_side *s, struct arena *a, const struct view_pod *pod, enum whatif_place *ret_place,
                       struct str *ret_node, struct err *reterr)
{
    const struct strategy *by[RESOLVED_PLAN_STRATEGIES_MAX];
    struct shadow_decision t = {.mirror = &s->mirror, .demand = pod->demand};
    uint32_t *nodes = ARENA_ARRAY(a, s->mirror.node_n + 1, uint32_t);
    struct shadow_choice c;
    struct resolved_plan resolved_plan;
    struct ledger_view v;
    int rc = ledger_view(s->ledger, a, pod, &v, reterr);

    if (rc != 0 || nodes == NULL) {
        return rc != 0 ? rc : too_large(reterr);
    }
    if (v.flags_devices || v.isolates || v.nomination_n > 0) { /* what the mirror does not have */
        *ret_place = WHATIF_UNKNOWN;
        return 0;
    }
    for (uint32_t i = 0; i < s->mirror.node_n; i++) {
        if (s->mirror.open[i]) {
            nodes[t.node_n++] = i;
        }
    }
    t.nodes = nodes;
    t.allowed_models = v.allowed_models;
    t.tenant_residual = v.limits_tenant ? &v.tenant_residual : NULL;
    resolved_plan_make(&resolved_plan, &s->plans, pod->namespace_, pod->label_hashes, pod->label_n);
    for (size_t i = resolved_plan_strategies(&resolved_plan, by); i > 0; i--) {
        whatif_look_ahead(s, by[i - 1]);
    }
    c = shadow_choose(&t, &resolved_plan, s->forecast, a);
    *ret_place = c.fits ? WHATIF_NODE : WHATIF_NOWHERE;
    *ret_node = c.fits ? s->mirror.names[c.node] : STR_NULL;
    return a->overflowed ? too_large(reterr) : 0;
}

static int choose(struct whatif_side *s, const struct snapshot_pod *shown, struct whatif_pod *ret, int side,
                  struct arena *keep, struct err *reterr)
{
    struct str node = STR_NULL;
    struct ledger_pod p;
    struct arena scratch;
    int rc = 0;

    if (!ledger_find_pod(s->ledger, shown->uid, &p)) {
        ret->place[side] = WHATIF_NO_GPU;
    } else if (p.demand->defect != DEMAND_OK) {
        ret->place[side] = WHATIF_DEFECT;
    } else {
        const struct view_pod pod = {.uid = shown->uid,
                                     .namespace_ = shown->namespace_,
                                     .priority = shown->priority,
                                     .demand = p.demand,
                                     .label_hashes = p.label_hashes,
                                     .label_n = p.label_n};

        arena_init(&scratch, SCRATCH_BYTES_MAX);
        rc = choose_node(s, &scratch, &pod, &ret->place[side], &node, reterr);
        ret->node[side] = arena_str(keep, node);
        arena_fini(&scratch);
    }
    return rc;
}

static int choose_both(struct whatif_side *sides, const struct snapshot_pod *p, struct whatif *w, struct err *reterr)
{
    struct whatif_pod pod = {arena_str(&w->arena, p->namespace_), arena_str(&w->arena, p->name), {0}, {{0}}};
    int rc = 0;

    if (w->pending_n >= WHATIF_LIST_MAX) {
        w->pending_n++;
        return 0;
    }
    for (int side = 0; side < 2 && rc == 0; side++) {
        rc = choose(&sides[side], p, &pod, side, &w->arena, reterr);
    }
    w->pending[w->pending_n++] = pod;
    return rc;
}

int whatif_compare_pending(struct whatif_side *sides, struct whatif *ret, struct err *reterr)
{
    int rc = 0;

    ret->pending = ARENA_ARRAY(&ret->arena, WHATIF_LIST_MAX, struct whatif_pod);
    for (int side = 0; side < 2 && ret->pending != NULL; side++) {
        const struct snapshot *s = &sides[side].snapshot;

        for (size_t i = 0; i < s->pod_n && rc == 0; i++) {
            struct ledger_pod other;

            /* The second time those that the first side does not have. */
            if (s->pods[i].state == LEDGER_PENDING &&
                (side == BEFORE || !ledger_find_pod(sides[BEFORE].ledger, s->pods[i].uid, &other))) {
                rc = choose_both(sides, &s->pods[i], ret, reterr);
            }
        }
    }
    return rc;
}
