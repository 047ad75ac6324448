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

int ledger_view(const struct ledger *l, struct arena *a, struct str namespace_, struct str uid,
                const struct demand *d, const uint64_t *label_hashes, size_t label_n,
                struct ledger_view *ret, struct err *reterr)
{
    struct device_state *states = copy(a, l->states, l->state_n, sizeof(*states));
    struct node_state *rows = copy(a, l->rows, l->node_n, sizeof(*rows));
    struct str *names = copy(a, l->names, l->node_n, sizeof(*names));
    struct hashmap_slot *slots = copy(a, l->node_index.slots, l->node_index.slot_n, sizeof(*slots));
    uint8_t *models = arena_alloc(a, intern_count(l->models) + 1);

    if (a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "a view of %u nodes does not fit the memory of one request",
                       l->node_used_n);
    }
    *ret = (struct ledger_view){
        .generation = l->generation,
        .nodes = rows,
        .node_n = l->node_n,
        .devices = states,
        .device_n = l->state_n,
        .allowed_models = ledger_allowed_models(l, d, models),
        .hash_key = l->limits.hash_key,
        .index = {slots, l->node_index.slot_n, l->node_index.used_n},
        .names = names,
    };
    if (d->uuid_n > 0 || d->isolate_n > 0 || l->isolating_n > 0) {
        for (uint32_t i = 0; i < l->node_n; i++) {
            if (l->nodes[i].used) {
                ledger_mark_denied(l, i, &states[rows[i].first_device], namespace_, uid, d, label_hashes,
                                   label_n);
            }
        }
    }
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
