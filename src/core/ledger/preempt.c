#include "core/ledger/preempt.h"

#include "core/fit/feasibility.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

#include <stdlib.h>

/* A pod that may leave. */
struct candidate {
    uint32_t pod;  /* index into the ledger's pods */
    uint32_t slot; /* its place among the pods of the node */
    bool named;    /* by the caller */
    int64_t size;  /* compute it holds; breaks ties of priority */
    int32_t priority;
};

struct scene {
    const struct ledger *l;
    const struct preempt_request *r;
    uint32_t node;
    const uint8_t *models;
    struct candidate *candidates;
    size_t n;
    bool *leaves; /* by place */
};

static bool leaves(const struct pod_entry *p, const void *ctx)
{
    const struct scene *s = ctx;

    return s->leaves[p->node_slot];
}

/* What the pod's tenant has left when those that leave are gone. */
static struct holding residual_without(const struct scene *s)
{
    const struct tenancy *t = &s->l->tenancy;
    uint32_t tenant = tenancy_find(t, s->r->namespace_);
    struct holding residual = tenancy_residual(t, tenant);

    for (size_t i = 0; tenant != TENANCY_NONE && i < s->n; i++) {
        const struct pod_entry *p = &s->l->pods[s->candidates[i].pod];

        if (s->leaves[p->node_slot] && t->spaces[p->space].tenant == tenant) {
            residual.milli += residual.milli == INT64_MAX ? 0 : p->held.milli;
            residual.mem_mib += residual.mem_mib == INT64_MAX ? 0 : p->held.mem_mib;
        }
    }
    return residual;
}

/* VERDICT_FITS, or why not while those are gone that leave. */
static enum verdict judge(const struct scene *s)
{
    const struct preempt_request *r = s->r;
    struct device_state states[DEVICES_PER_NODE_MAX];
    struct placement at;
    struct node_state row;
    enum verdict v;

    ledger_without(s->l, s->node, leaves, s, &row, states);
    ledger_mark_denied(s->l, s->node, states, r->namespace_, r->uid, r->demand, r->label_hashes, r->label_n, leaves, s);
    v = feasibility_place(&row, states, s->models, r->demand, r->device_strategy, &at);
    if (v == VERDICT_FITS && !holding_fits(tenancy_wanted(r->demand, &at, &row, states), residual_without(s))) {
        v = VERDICT_TENANT_LIMIT;
    }
    return v;
}

static bool is_named(const struct preempt_request *r, struct str uid)
{
    for (size_t i = 0; i < r->victim_n; i++) {
        if (str_eq(r->victims[i], uid)) {
            return true;
        }
    }
    return false;
}

/* A reservation is somebody's bind on its way: its pod is no victim yet. */
static bool may_leave(const struct pod_entry *p, const struct preempt_request *r)
{
    return p->state != LEDGER_RESERVED && p->priority < r->priority && !str_eq(p->uid, r->uid) &&
           (p->charge_n > 0 || p->demand->plugin_managed_n > 0);
}

static int64_t size_of(const struct pod_entry *p)
{
    int64_t milli = INT64_C(1000) * p->demand->plugin_managed_n;

    for (size_t i = 0; i < p->charge_n; i++) {
        milli += p->charges[i].charge.milli;
    }
    return milli;
}

/* Whom to spare first. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return x->size != y->size ? (x->size < y->size ? -1 : 1) : (x->pod < y->pod ? -1 : x->pod > y->pod);
}

static bool gather(struct scene *s, struct arena *a)
{
    const struct node_entry *n = &s->l->nodes[s->node];
    uint8_t *models = arena_alloc(a, intern_count(s->l->models) + 1);

    s->candidates = ARENA_ARRAY(a, n->pod_n + 1, struct candidate);
    s->leaves = ARENA_ARRAY(a, n->pod_n + 1, bool);
    if (s->candidates == NULL || s->leaves == NULL || models == NULL) {
        return false;
    }
    s->models = models_allowed(s->l->models, s->r->demand, models);
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &s->l->pods[n->pods[i]];
        bool named = is_named(s->r, p->uid);

        if (named || may_leave(p, s->r)) {
            s->candidates[s->n++] = (struct candidate){n->pods[i], i, named, size_of(p), p->priority};
        }
    }
    qsort(s->candidates, s->n, sizeof(*s->candidates), compare);
    return true;
}

static void set_unnamed(struct scene *s, bool leave)
{
    for (size_t i = 0; i < s->n; i++) {
        s->leaves[s->candidates[i].slot] = s->candidates[i].named || leave;
    }
}

/* Decides who leaves; not VERDICT_FITS when nobody's leaving helps. */
static enum verdict choose(struct scene *s)
{
    enum verdict v;

    set_unnamed(s, false);
    if (judge(s) == VERDICT_FITS) {
        return VERDICT_FITS;
    }
    set_unnamed(s, true);
    v = judge(s);
    if (v != VERDICT_FITS) {
        return v;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (!s->candidates[i].named) {
            s->leaves[s->candidates[i].slot] = false;
            s->leaves[s->candidates[i].slot] = judge(s) != VERDICT_FITS;
        }
    }
    return VERDICT_FITS;
}

/* Merges the further victims into the caller's list. A named pod that the ledger does not know stands where the
 * caller put it. */
static bool answer(const struct scene *s, struct arena *a, const struct str **ret_victims, size_t *ret_n)
{
    const struct preempt_request *r = s->r;
    struct str *all = arena_alloc(a, (r->victim_n + s->n + 1) * sizeof(*all));
    size_t n = 0, next = 0;

    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i <= r->victim_n; i++) {
        uint32_t named = i < r->victim_n ? ledger_pod_lookup(s->l, r->victims[i]) : LEDGER_NONE;
        int32_t priority = named != LEDGER_NONE ? s->l->pods[named].priority : INT32_MIN;

        for (; next < s->n && (i == r->victim_n || (named != LEDGER_NONE && s->candidates[next].priority > priority));
             next++) {
            struct str uid = s->l->pods[s->candidates[next].pod].uid;

            if (s->leaves[s->candidates[next].slot] && !s->candidates[next].named) {
                all[n] = arena_str(a, uid);
                n += all[n].p != NULL;
            }
        }
        if (i < r->victim_n) {
            all[n++] = r->victims[i];
        }
    }
    *ret_victims = all;
    *ret_n = n;
    return !a->overflowed;
}

enum verdict ledger_preempt(const struct ledger *l, struct arena *a, const struct preempt_request *r,
                            const struct str **ret_victims, size_t *ret_n)
{
    struct scene s = {.l = l, .r = r, .node = ledger_node_find(l, r->node_name)};
    enum verdict v;

    if (s.node == LEDGER_NONE) {
        return VERDICT_NODE_UNKNOWN;
    }
    if (!gather(&s, a)) {
        return VERDICT_SEARCH_LIMIT;
    }
    v = choose(&s);
    return v == VERDICT_FITS && !answer(&s, a, ret_victims, ret_n) ? VERDICT_SEARCH_LIMIT : v;
}
