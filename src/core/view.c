#include "core/view.h"

#include "core/ledger_internal.h"

#include <string.h>

static void *copy(struct arena *a, const void *from, size_t n, size_t size)
{
    void *to = arena_alloc(a, n * size + 1);

    if (to != NULL && n > 0) {
        memcpy(to, from, n * size);
    }
    return to;
}

static bool is_terminating(const struct pod_entry *p, const void *ctx)
{
    (void)ctx;
    return p->deleting;
}

/* Who is evicted for a nominated pod is terminating, so what it will find is the node without those. */
static bool add_nomination(const struct ledger *l, struct arena *a, const struct pod_entry *q, uint32_t node,
                           struct view_nomination *ret)
{
    struct device_state *states = arena_alloc(a, DEVICES_PER_NODE_MAX * sizeof(*states));
    const struct demand *d = demand_amounts(q->demand, a);

    if (states == NULL || d == NULL) {
        return false;
    }
    *ret = (struct view_nomination){.node = node, .demand = d, .devices = states};
    ledger_without(l, node, is_terminating, NULL, &ret->row, states);
    return true;
}

static bool add_nominations(const struct ledger *l, struct arena *a, const struct view_pod *pod,
                            struct ledger_view *v)
{
    struct view_nomination *all;

    if (l->nominated_n == 0) {
        return true;
    }
    all = arena_alloc(a, l->nominated_n * sizeof(*all));
    for (uint32_t i = 0; i < l->pod_n && all != NULL; i++) {
        const struct pod_entry *q = &l->pods[i];
        uint32_t node;

        if (!q->used || q->nominated == NULL || q->priority < pod->priority || str_eq(q->uid, pod->uid) ||
            q->demand->defect != DEMAND_OK) {
            continue;
        }
        node = ledger_node_find(l, str_of(q->nominated));
        if (node != LEDGER_NONE && !add_nomination(l, a, q, node, &all[v->nomination_n++])) {
            return false;
        }
    }
    v->nominations = all;
    return all != NULL;
}

static void mark_denied(const struct ledger *l, const struct view_pod *pod, const struct node_state *rows,
                        struct device_state *states)
{
    if (pod->demand->uuid_n == 0 && pod->demand->isolate_n == 0 && l->isolating_n == 0) {
        return;
    }
    for (uint32_t i = 0; i < l->node_n; i++) {
        if (l->nodes[i].used) {
            ledger_mark_denied(l, i, &states[rows[i].first_device], pod->namespace_, pod->uid, pod->demand,
                               pod->label_hashes, pod->label_n, NULL, NULL);
        }
    }
}

int ledger_view(const struct ledger *l, struct arena *a, const struct view_pod *pod, struct ledger_view *ret,
                struct err *reterr)
{
    struct device_state *states = copy(a, l->states, l->state_n, sizeof(*states));
    struct node_state *rows = copy(a, l->rows, l->node_n, sizeof(*rows));
    struct str *names = copy(a, l->names, l->node_n, sizeof(*names));
    struct hashmap_slot *slots = copy(a, l->node_index.slots, l->node_index.slot_n, sizeof(*slots));
    uint8_t *models = arena_alloc(a, intern_count(l->models) + 1);
    struct ledger_view v = {
        .generation = l->generation,
        .nodes = rows,
        .node_n = l->node_n,
        .devices = states,
        .device_n = l->state_n,
        .hash_key = l->limits.hash_key,
        .index = {slots, l->node_index.slot_n, l->node_index.used_n},
        .names = names,
    };

    if (a->overflowed || !add_nominations(l, a, pod, &v)) {
        return err_set(reterr, ERR_LIMIT, "a view of %u nodes does not fit the memory of one request",
                       l->node_used_n);
    }
    v.allowed_models = ledger_allowed_models(l, pod->demand, models);
    mark_denied(l, pod, rows, states);
    *ret = v;
    return 0;
}

static bool view_has_name(const void *owner, uint32_t value, const void *key)
{
    const struct ledger_view *v = owner;
    const struct str *name = key;

    return str_eq(v->names[value], *name);
}

const struct node_state *ledger_view_find(const struct ledger_view *v, struct str node_name)
{
    uint32_t i = hashmap_find(&v->index, hash_str(v->hash_key, node_name), view_has_name, v, &node_name);

    return i == HASHMAP_NONE ? NULL : &v->nodes[i];
}
