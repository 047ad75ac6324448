#include "core/ledger/leaving.h"

#include "core/fit/feasibility.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/state.h"

static bool leaves(const struct pod_entry *p, const void *ctx)
{
    const struct leaving *s = ctx;

    return s->leaves[p->node_slot];
}

/* What the pod's tenant has left when those that leave are gone. */
static struct holding residual_without(const struct leaving *s)
{
    const struct tenancy *t = &s->l->tenancy;
    const struct node_entry *n = &s->l->nodes[s->node];
    uint32_t tenant = tenancy_find(t, s->namespace_);
    struct holding residual = tenancy_residual(t, tenant);

    for (uint32_t i = 0; tenant != TENANCY_NONE && i < n->pod_n; i++) {
        const struct pod_entry *p = &s->l->pods[n->pods[i]];

        if (s->leaves[i] && t->spaces[p->space].tenant == tenant) {
            residual.milli += residual.milli == INT64_MAX ? 0 : p->held.milli;
            residual.mem_mib += residual.mem_mib == INT64_MAX ? 0 : p->held.mem_mib;
        }
    }
    return residual;
}

enum verdict leaving_judge(const struct leaving *s)
{
    struct device_state states[DEVICES_PER_NODE_MAX];
    struct placement at;
    struct node_state row;
    enum verdict v;

    ledger_without(s->l, s->node, leaves, s, &row, states);
    ledger_mark_denied(s->l, s->node, states, s->namespace_, s->uid, s->demand, s->label_hashes, s->label_n, leaves, s);
    v = feasibility_place(&row, states, s->models, s->demand, s->device_strategy, &at);
    if (v == VERDICT_FITS && !holding_fits(tenancy_wanted(s->demand, &at, &row, states), residual_without(s))) {
        v = VERDICT_TENANT_LIMIT;
    }
    return v;
}

int64_t leaving_size(const struct pod_entry *p)
{
    int64_t milli = INT64_C(1000) * p->demand->plugin_managed_n;

    for (size_t i = 0; i < p->charge_n; i++) {
        milli += p->charges[i].charge.milli;
    }
    return milli;
}
