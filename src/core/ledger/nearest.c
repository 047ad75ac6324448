#include "core/ledger/nearest.h"

#include "base/bug.h"
#include "base/order.h"
#include "core/ledger/leaving.h"
#include "core/ledger/node_copy.h"
#include "core/ledger/node_table.h"
#include "core/ledger/state.h"

#include <stdlib.h>

/* A pod that may end. */
struct candidate {
    const struct pod_entry *pod;
    int64_t milli;
};

static int compare_costs(const struct nearest_cost *a, const struct nearest_cost *b)
{
    size_t x = a->pod_n > 0 ? a->pod_n : SIZE_MAX, y = b->pod_n > 0 ? b->pod_n : SIZE_MAX;

    if (x != y) {
        return ORDER(x, y);
    }
    if (a->milli != b->milli) {
        return ORDER(a->milli, b->milli);
    }
    return ORDER(a->mem_mib, b->mem_mib);
}

int nearest_compare(const struct nearest *a, const struct nearest *b)
{
    int order = a->untolerated - b->untolerated;

    if (order == 0) {
        order = compare_costs(&a->cost, &b->cost);
    }
    if (order == 0 && a->lacks.distance != b->lacks.distance) {
        order = ORDER(a->lacks.distance, b->lacks.distance);
    }
    return order != 0 ? order : str_cmp(a->node_name, b->node_name);
}

static int smaller_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order;

    if (x->milli != y->milli) {
        return ORDER(x->milli, y->milli);
    }
    if (x->pod->held.mem_mib != y->pod->held.mem_mib) {
        return ORDER(x->pod->held.mem_mib, y->pod->held.mem_mib);
    }
    order = str_cmp(x->pod->namespace_, y->pod->namespace_);
    return order != 0 ? order : str_cmp(x->pod->name, y->pod->name);
}

static void name_pod(struct nearest *ret, const struct candidate *c)
{
    const struct pod_entry *p = c->pod;

    ret->leaving[ret->cost.pod_n++] = (struct nearest_pod){
        .namespace_ = p->namespace_,
        .name = p->name,
        .uid = p->uid,
        .state = p->state,
        .deleting = p->deleting,
        .milli = c->milli,
        .mem_mib = p->held.mem_mib,
    };
    ret->cost.milli += c->milli;
    ret->cost.mem_mib += p->held.mem_mib;
}

static struct nearest_cost cost_of(const struct candidate *c)
{
    return (struct nearest_cost){1, c->milli, c->pod->held.mem_mib};
}

/* Enough with the end of one? The candidates are in order, so the first is the smallest. */
static bool one_is_enough(struct leaving *s, const struct candidate *all, size_t n, const struct nearest_cost *than,
                          struct nearest *ret)
{
    for (size_t i = 0; i < n; i++) {
        struct nearest_cost cost = cost_of(&all[i]);
        bool fits;

        if (than != NULL && compare_costs(&cost, than) > 0) {
            return false;
        }
        s->leaves[all[i].pod->node_slot] = true;
        fits = leaving_fits(s);
        s->leaves[all[i].pod->node_slot] = false;
        if (fits) {
            name_pod(ret, &all[i]);
            return true;
        }
    }
    return false;
}

/* From all of them those that may stay are spared, the smallest first. */
static void several(struct leaving *s, const struct candidate *all, size_t n, struct nearest *ret)
{
    size_t left = n;

    for (size_t i = 0; i < n; i++) {
        s->leaves[all[i].pod->node_slot] = true;
    }
    for (size_t i = 0; i < n; i++) {
        s->leaves[all[i].pod->node_slot] = false;
        if (leaving_fits(s)) {
            left--;
        } else {
            s->leaves[all[i].pod->node_slot] = true;
        }
    }
    for (size_t i = 0; i < n && left <= NEAREST_LEAVING_MAX; i++) {
        if (s->leaves[all[i].pod->node_slot]) {
            name_pod(ret, &all[i]);
        }
    }
}

static bool all_are_enough(struct leaving *s, const struct candidate *all, size_t n)
{
    bool fits;

    for (size_t i = 0; i < n; i++) {
        s->leaves[all[i].pod->node_slot] = true;
    }
    fits = leaving_fits(s);
    for (size_t i = 0; i < n; i++) {
        s->leaves[all[i].pod->node_slot] = false;
    }
    return fits;
}

static void who_would_have_to_end(struct leaving *s, const struct nearest_cost *than, struct arena *scratch,
                                  struct nearest *ret)
{
    const struct node_entry *n = &s->l->nodes[s->node];
    struct candidate *all = ARENA_ARRAY(scratch, n->pod_n + 1, struct candidate);
    size_t all_n = 0;

    s->leaves = arena_calloc(scratch, n->pod_n + 1, sizeof(bool));
    if (all == NULL || s->leaves == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &s->l->pods[n->pods[i]];

        if (p->state != LEDGER_RESERVED && !str_eq(p->uid, s->uid) &&
            (p->charge_n > 0 || p->demand->plugin_managed_n > 0)) {
            all[all_n++] = (struct candidate){p, leaving_size(p)};
        }
    }
    qsort(all, all_n, sizeof(*all), smaller_first);
    if (all_n == 0 || !all_are_enough(s, all, all_n) || one_is_enough(s, all, all_n, than, ret) ||
        (than != NULL && than->pod_n == 1)) {
        return;
    }
    several(s, all, all_n, ret);
}

static void name_devices(const struct ledger_view *v, uint32_t node, struct nearest *ret)
{
    for (uint32_t i = 0; i < ret->lacks.device_n; i++) {
        const struct device_name d = ledger_device_name(v, node, ret->lacks.devices[i].ordinal);

        ret->uuids[i] = d.uuid;
        ret->indexes[i] = d.index;
        ret->models[i] = d.model;
    }
}

void ledger_nearest(const struct ledger_view *v, uint32_t node, const struct strategy *device_strategy,
                    const struct nearest_cost *than, struct arena *scratch, struct nearest *ret)
{
    const struct ledger *l = v->ledger;
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    struct leaving s = {.l = l,
                        .node = node,
                        .uid = v->pod.uid,
                        .namespace_ = v->pod.namespace_,
                        .demand = v->pod.demand,
                        .label_hashes = v->pod.label_hashes,
                        .label_n = v->pod.label_n,
                        .models = v->allowed_models,
                        .device_strategy = device_strategy};

    *ret = (struct nearest){.node_name = v->names[node]};
    ret->untolerated = !ledger_tolerates(l, v->names[node], v->pod.uid);
    shortfall_of(&v->nodes[node], ledger_view_devices(v, &v->nodes[node], buffer), v->allowed_models, v->pod.demand,
                 &ret->lacks);
    name_devices(v, node, ret);
    if (!ret->untolerated && !v->limits_tenant && !ledger_view_is_nominated(v, node)) {
        who_would_have_to_end(&s, than, scratch, ret);
    }
}
