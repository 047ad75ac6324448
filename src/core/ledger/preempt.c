#include "core/ledger/preempt.h"

#include "base/order.h"
#include "core/ledger/leaving.h"
#include "core/ledger/node_table.h"
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
    struct candidate *candidates;
    size_t n;
    struct leaving leaving;
};

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

/* Whom to spare first. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->priority != y->priority) {
        return ORDER(y->priority, x->priority);
    }
    return x->size != y->size ? ORDER(x->size, y->size) : ORDER(x->pod, y->pod);
}

static bool gather(struct scene *s, struct arena *a)
{
    const struct node_entry *n = &s->l->nodes[s->node];
    uint8_t *models = arena_alloc(a, intern_count(s->l->models) + 1);

    s->candidates = ARENA_ARRAY(a, n->pod_n + 1, struct candidate);
    s->leaving = (struct leaving){.l = s->l,
                                  .node = s->node,
                                  .uid = s->r->uid,
                                  .namespace_ = s->r->namespace_,
                                  .demand = s->r->demand,
                                  .label_hashes = s->r->label_hashes,
                                  .label_n = s->r->label_n,
                                  .device_strategy = s->r->device_strategy,
                                  .leaves = ARENA_ARRAY(a, n->pod_n + 1, bool)};
    if (s->candidates == NULL || s->leaving.leaves == NULL || models == NULL) {
        return false;
    }
    s->leaving.models = models_allowed(s->l->models, s->r->demand, models);
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &s->l->pods[n->pods[i]];
        bool named = is_named(s->r, p->uid);

        if (named || may_leave(p, s->r)) {
            s->candidates[s->n++] = (struct candidate){n->pods[i], i, named, leaving_size(p), p->priority};
        }
    }
    qsort(s->candidates, s->n, sizeof(*s->candidates), compare);
    return true;
}

static void set_unnamed(struct scene *s, bool leave)
{
    for (size_t i = 0; i < s->n; i++) {
        s->leaving.leaves[s->candidates[i].slot] = s->candidates[i].named || leave;
    }
}

/* Decides who leaves; not VERDICT_FITS when nobody's leaving helps. */
static enum verdict choose(struct scene *s)
{
    enum verdict v;

    set_unnamed(s, false);
    if (leaving_fits(&s->leaving)) {
        return VERDICT_FITS;
    }
    set_unnamed(s, true);
    v = leaving_judge(&s->leaving);
    if (v != VERDICT_FITS) {
        return v;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (!s->candidates[i].named) {
            s->leaving.leaves[s->candidates[i].slot] = false;
            s->leaving.leaves[s->candidates[i].slot] = !leaving_fits(&s->leaving);
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

            if (s->leaving.leaves[s->candidates[next].slot] && !s->candidates[next].named) {
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
