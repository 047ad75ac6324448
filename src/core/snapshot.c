#include "core/snapshot.h"

#include "core/feasibility.h"
#include "core/ledger_internal.h"

#include <stdlib.h>
#include <string.h>

static void add_device_totals(const struct device_state *s, struct snapshot *ret)
{
    ret->device_n++;
    ret->overcommitted_n += s->mem_free_mib < 0 || s->milli_free < 0 || s->slot_free < 0;
    ret->milli_cap += s->milli_cap;
    ret->milli_charged += (int64_t)s->milli_cap - s->milli_free;
    ret->mem_cap_mib += s->mem_cap_mib;
    ret->mem_charged_mib += (int64_t)s->mem_cap_mib - s->mem_free_mib;
}

void snapshot_totals(const struct ledger *l, struct snapshot *ret)
{
    *ret = (struct snapshot){.generation = l->generation, .synced = ledger_is_synced(l)};
    for (uint32_t i = 0; i < l->node_n; i++) {
        ret->node_n += l->nodes[i].used && l->nodes[i].described;
        for (uint32_t j = 0; l->nodes[i].used && j < l->rows[i].device_n; j++) {
            add_device_totals(&l->states[l->rows[i].first_device + j], ret);
        }
    }
    for (uint32_t i = 0; i < l->pod_n; i++) {
        if (l->pods[i].used) {
            ret->pods_by_state[l->pods[i].state]++;
            ret->pod_n++;
        }
    }
}

struct taker {
    const struct ledger *l;
    struct arena *a;
    uint32_t *pod_at; /* ledger pod -> snapshot pod, LEDGER_NONE: left out */
    struct str namespace_;
};

static void take_pod(const struct taker *t, const struct pod_entry *p, struct snapshot_pod *ret)
{
    *ret = (struct snapshot_pod){
        .namespace_ = arena_str(t->a, p->namespace_),
        .name = arena_str(t->a, p->name),
        .uid = arena_str(t->a, p->uid),
        .node_name = p->node == LEDGER_NONE ? STR_NULL : t->l->names[p->node],
        .decision_id = arena_str(t->a, str_of(p->decision_id)),
        .dialect = p->demand->dialect, /* static text of the dialect table */
        .state = p->state,
        .defect = p->demand->defect,
        .deleting = p->deleting,
        .conflict = p->conflict != NULL,
        .conflict_text = p->conflict,
        .unsteered_n = p->demand->unsteered_n,
        .since_ms = p->since_ms,
    };
}

static size_t allocations_of(const struct taker *t, const struct pod_entry *p, uint32_t pod,
                             uint32_t ordinal, const struct device_state *s,
                             struct snapshot_allocation *ret)
{
    const struct node_entry *n = &t->l->nodes[p->node];
    struct placement at;
    size_t out = 0;

    if (ledger_pod_placement(n, p, &at)) {
        for (size_t w = 0; w < p->demand->wish_n; w++) {
            const struct wish *wish = &p->demand->wishes[w];

            if ((at.wish_devices[w] & (UINT64_C(1) << ordinal)) != 0) {
                struct charge c = wish_charge(wish, s->milli_cap, s->mem_cap_mib, s->mem_base_mib);

                ret[out++] = (struct snapshot_allocation){
                    t->pod_at[pod], arena_str(t->a, wish->container), wish->init, c.milli, c.mem_mib};
            }
        }
        return out;
    }
    for (size_t i = 0; i < p->charge_n; i++) {
        if (p->charges[i].ordinal == ordinal) {
            ret[out++] = (struct snapshot_allocation){t->pod_at[pod], STR_NULL, false,
                                                      p->charges[i].charge.milli,
                                                      p->charges[i].charge.mem_mib};
        }
    }
    return out;
}

static void take_device(const struct taker *t, uint32_t node, uint32_t ordinal,
                        struct snapshot_device *ret)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];
    const struct ledger_device *d = &n->devices[ordinal];
    const struct device_state *s = &l->states[l->rows[node].first_device + ordinal];
    struct snapshot_allocation *allocations;
    size_t cap = 0, out = 0;

    for (uint32_t i = 0; i < n->pod_n; i++) {
        cap += l->pods[n->pods[i]].demand->wish_n + 1;
    }
    allocations = ARENA_ARRAY(t->a, cap, struct snapshot_allocation);
    for (uint32_t i = 0; allocations != NULL && i < n->pod_n; i++) {
        uint32_t pod = n->pods[i];

        if (t->pod_at[pod] != LEDGER_NONE) {
            out += allocations_of(t, &l->pods[pod], pod, ordinal, s, allocations + out);
        }
    }
    *ret = (struct snapshot_device){
        .uuid = d->uuid_id == INTERN_NONE ? STR_NULL : intern_text(l->uuids, d->uuid_id),
        .index = d->ref.index,
        .model = intern_text(l->models, d->model_id),
        .healthy = d->healthy,
        .lost = d->lost,
        .exclusive = (s->flags & DEVICE_EXCLUSIVE) != 0,
        .milli_cap = s->milli_cap,
        .milli_charged = s->milli_cap - s->milli_free,
        .mem_cap_mib = s->mem_cap_mib,
        .mem_charged_mib = (int64_t)s->mem_cap_mib - s->mem_free_mib,
        .slot_cap = s->slot_cap,
        .slot_charged = s->slot_cap - s->slot_free,
        .allocations = allocations,
        .allocation_n = out,
    };
}

static void take_node(const struct taker *t, uint32_t node, struct snapshot_node *ret)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];
    struct snapshot_device *devices = ARENA_ARRAY(t->a, n->device_n, struct snapshot_device);

    for (uint32_t i = 0; devices != NULL && i < n->device_n; i++) {
        take_device(t, node, i, &devices[i]);
    }
    *ret = (struct snapshot_node){
        .name = l->names[node],
        .uid = arena_str(t->a, str_of(n->uid)),
        .described = n->described,
        .schedulable = n->schedulable,
        .source = n->source,
        .note = n->note,
        .unsteered_cap = l->rows[node].unsteered_cap,
        .unsteered_used = l->rows[node].unsteered_used,
        .devices = devices,
        .device_n = n->device_n,
    };
}

static int by_name(const void *a, const void *b)
{
    const struct snapshot_node *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

static bool wanted_pod(const struct taker *t, const struct pod_entry *p, struct str node_name)
{
    if (!p->used || (t->namespace_.n > 0 && !str_eq(t->namespace_, p->namespace_))) {
        return false;
    }
    return node_name.n == 0 || (p->node != LEDGER_NONE && str_eq(node_name, t->l->names[p->node]));
}

int snapshot_take(const struct ledger *l, struct arena *a, struct str node_name, struct str namespace_,
                  struct snapshot *ret, struct err *reterr)
{
    struct taker t = {l, a, ARENA_ARRAY(a, (size_t)l->pod_n + 1, uint32_t), namespace_};
    struct snapshot_node *nodes = ARENA_ARRAY(a, (size_t)l->node_used_n + 1, struct snapshot_node);
    struct snapshot_pod *pods = ARENA_ARRAY(a, (size_t)l->pod_used_n + 1, struct snapshot_pod);
    size_t node_n = 0, pod_n = 0;

    snapshot_totals(l, ret);
    for (uint32_t i = 0; !a->overflowed && i < l->pod_n; i++) {
        t.pod_at[i] = LEDGER_NONE;
        if (wanted_pod(&t, &l->pods[i], node_name)) {
            t.pod_at[i] = (uint32_t)pod_n;
            take_pod(&t, &l->pods[i], &pods[pod_n++]);
        }
    }
    for (uint32_t i = 0; !a->overflowed && i < l->node_n; i++) {
        if (l->nodes[i].used && (node_name.n == 0 || str_eq(node_name, l->names[i]))) {
            take_node(&t, i, &nodes[node_n++]);
        }
    }
    if (a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "a full snapshot does not fit; ask for one node or namespace");
    }
    qsort(nodes, node_n, sizeof(*nodes), by_name);
    ret->nodes = nodes;
    ret->node_n = node_n;
    ret->pods = pods;
    ret->pod_n = pod_n;
    return 0;
}
