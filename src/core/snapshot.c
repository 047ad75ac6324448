#include "core/snapshot.h"

#include "core/feasibility.h"
#include "core/ledger_internal.h"

#include <stdlib.h>
#include <string.h>

static void add_device_totals(const struct device_state *s, struct snapshot *ret)
{
    ret->device_n++;
    ret->overcommitted_n += device_is_overcommitted(s);
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
        if (l->nodes[i].used && l->nodes[i].closed) {
            ret->closed_n++;
            ret->pod_on_closed_n += l->nodes[i].pod_n;
        }
        for (uint32_t j = 0; l->nodes[i].described && j < l->rows[i].device_n; j++) {
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

/* Is what the pod asked for to be seen from what it holds? */
static bool allocations_tell(const struct ledger *l, const struct pod_entry *p)
{
    struct placement at;

    return p->node != LEDGER_NONE &&
           (p->demand->unsteered_n > 0 || ledger_pod_placement(&l->nodes[p->node], p, &at));
}

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
        .priority = p->priority,
        .source = p->demand->source,
        .since_ms = p->since_ms,
    };
    if (!allocations_tell(t->l, p)) {
        ret->demand = demand_copy_to(p->demand, t->a);
    }
}

/* The allocations of one device on their way; without items the first pass, which only counts. */
struct filling {
    struct snapshot_allocation *items;
    size_t n;
    struct snapshot_raised *raised;
    size_t raised_n;
};

static void put(struct filling *f, const struct snapshot_allocation *a)
{
    if (f->items != NULL) {
        f->items[f->n] = *a;
    }
    f->n++;
}

static bool same_charge(const struct charge *a, const struct charge *b)
{
    return a->milli == b->milli && a->mem_mib == b->mem_mib && a->slots == b->slots &&
           a->exclusive == b->exclusive;
}

/* `at` NULL: nobody knows its devices. */
static void put_raised(const struct taker *t, const struct pod_entry *p, uint32_t pod, const struct placement *at,
                       const struct device_state *states, struct filling *devices)
{
    for (size_t i = 0; i < p->charge_n; i++) {
        const struct pod_charge *c = &p->charges[i];
        struct charge asked = at != NULL ? placement_charge(p->demand, at, states, c->ordinal)
                                         : demand_pessimistic_charge(p->demand, &states[c->ordinal]);
        struct filling *f = &devices[c->ordinal];

        if (same_charge(&asked, &c->charge)) {
            continue;
        }
        if (f->raised != NULL) {
            f->raised[f->raised_n] = (struct snapshot_raised){t->pod_at[pod], c->charge};
        }
        f->raised_n++;
    }
}

static void put_pod(const struct taker *t, const struct node_entry *n, const struct pod_entry *p,
                    uint32_t pod, const struct device_state *states, struct filling *devices)
{
    struct placement at;
    struct snapshot_allocation a = {.pod = t->pod_at[pod], .kind = WISH_KIND__MAX};
    bool known = ledger_pod_placement(n, p, &at);

    put_raised(t, p, pod, known ? &at : NULL, states, devices);
    if (!known) {
        for (size_t i = 0; i < p->charge_n; i++) {
            a.milli = p->charges[i].charge.milli;
            a.mem_mib = p->charges[i].charge.mem_mib;
            put(&devices[p->charges[i].ordinal], &a);
        }
        return;
    }
    for (size_t w = 0; w < p->demand->wish_n; w++) {
        const struct wish *wish = &p->demand->wishes[w];

        a.container = devices[0].items == NULL ? STR_NULL : arena_str(t->a, wish->container);
        a.init = wish->init;
        a.kind = wish->kind;
        a.phases = wish->phases;
        for (uint64_t left = at.wish_devices[w]; left != 0; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            struct charge c = wish_charge(wish, states[i].milli_cap, states[i].mem_cap_mib,
                                          states[i].mem_base_mib);

            a.milli = c.milli;
            a.mem_mib = c.mem_mib;
            put(&devices[i], &a);
        }
    }
}

static void put_pods(const struct taker *t, uint32_t node, struct filling *devices)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];

    for (uint32_t i = 0; i < n->pod_n; i++) {
        uint32_t pod = n->pods[i];

        if (t->pod_at[pod] != LEDGER_NONE) {
            put_pod(t, n, &l->pods[pod], pod, &l->states[l->rows[node].first_device], devices);
        }
    }
}

static void take_device(const struct ledger *l, const struct ledger_device *d,
                        const struct device_state *s, struct snapshot_device *ret)
{
    *ret = (struct snapshot_device){
        .uuid = d->uuid_id == INTERN_NONE ? STR_NULL : intern_text(l->uuids, d->uuid_id),
        .index = d->ref.index,
        .model = intern_text(l->models, d->model_id),
        .healthy = d->healthy,
        .lost = d->lost,
        .exclusive = (s->flags & DEVICE_EXCLUSIVE) != 0,
        .overcommitted = device_is_overcommitted(s),
        .milli_cap = s->milli_cap,
        .milli_charged = s->milli_cap - s->milli_free,
        .mem_base_mib = s->mem_base_mib,
        .mem_cap_mib = s->mem_cap_mib,
        .mem_charged_mib = (int64_t)s->mem_cap_mib - s->mem_free_mib,
        .slot_cap = s->slot_cap,
        .slot_charged = s->slot_cap - s->slot_free,
    };
}

/* Two passes over the node's pods: count per device, then fill arrays of just that size. */
static struct snapshot_device *take_devices(const struct taker *t, uint32_t node)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];
    struct snapshot_device *devices = ARENA_ARRAY(t->a, n->device_n, struct snapshot_device);
    struct filling fillings[DEVICES_PER_NODE_MAX] = {0};

    if (devices == NULL || n->device_n == 0) {
        return devices;
    }
    put_pods(t, node, fillings);
    for (uint32_t i = 0; i < n->device_n; i++) {
        fillings[i].items = ARENA_ARRAY(t->a, fillings[i].n, struct snapshot_allocation);
        fillings[i].raised = ARENA_ARRAY(t->a, fillings[i].raised_n, struct snapshot_raised);
        if (fillings[i].items == NULL || fillings[i].raised == NULL) {
            return NULL;
        }
        fillings[i].n = 0;
        fillings[i].raised_n = 0;
    }
    put_pods(t, node, fillings);
    for (uint32_t i = 0; i < n->device_n; i++) {
        take_device(l, &n->devices[i], &l->states[l->rows[node].first_device + i], &devices[i]);
        devices[i].allocations = fillings[i].items;
        devices[i].allocation_n = fillings[i].n;
        devices[i].raised = fillings[i].raised;
        devices[i].raised_n = fillings[i].raised_n;
    }
    return devices;
}

static void take_node(const struct taker *t, uint32_t node, struct snapshot_node *ret)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];

    *ret = (struct snapshot_node){
        .name = l->names[node],
        .uid = arena_str(t->a, str_of(n->uid)),
        .described = n->described,
        .schedulable = n->schedulable,
        .closed = n->closed,
        .source = n->source,
        .note = n->note,
        .unsteered_cap = l->rows[node].unsteered_cap,
        .unsteered_used = l->rows[node].unsteered_used,
        .overcommit_milli = n->overcommit_milli,
        .overcommit_mem_milli = n->overcommit_mem_milli,
        .host = l->rows[node].host,
        .devices = take_devices(t, node),
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
        if ((l->nodes[i].described || l->nodes[i].pod_n > 0) &&
            (node_name.n == 0 || str_eq(node_name, l->names[i]))) {
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
