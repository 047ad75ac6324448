/* What an op has done to the nodes it changed: whether capacity went that had been given away. A node is copied before its first change, and compared at the end: within an op pods are taken off
 * and put back, which is neither. */
#include "core/ledger_internal.h"

#include <string.h>

void ledger_change_begin(struct ledger *l, uint32_t node)
{
    const struct node_entry *n = &l->nodes[node];
    const struct node_state *row = &l->rows[node];
    struct node_before *b = &l->before[l->before_n];

    for (uint32_t i = 0; i < l->before_n; i++) {
        if (l->before[i].node == node) {
            return;
        }
    }
    if (l->before_n == NODES_BEFORE_MAX) {
        return;
    }
    l->before_n++;
    b->node = node;
    b->row = *row;
    for (uint32_t i = 0; i < row->device_n; i++) {
        b->devices[i] = (struct device_before){n->devices[i].ref, l->states[row->first_device + i]};
    }
}

static bool device_has_more(const struct device_state *b, const struct device_state *now)
{
    const unsigned obstacles = DEVICE_IN_USE | DEVICE_EXCLUSIVE | DEVICE_LOST | DEVICE_BLOCKED;

    return now->milli_free > b->milli_free || now->mem_free_mib > b->mem_free_mib || now->slot_free > b->slot_free ||
           (b->flags & ~now->flags & obstacles) != 0 || (now->flags & ~b->flags & DEVICE_HEALTHY) != 0;
}

/* ---- capacity ---- */

static const struct device_state *state_before(const struct node_before *b, struct device_ref ref)
{
    const struct device_state *found = NULL;

    for (uint32_t i = 0; i < b->row.device_n; i++) {
        if (device_ref_equal(b->devices[i].ref, ref)) {
            found = found == NULL || b->devices[i].ref.uuid_hash == ref.uuid_hash ? &b->devices[i].state : found;
        }
    }
    return found;
}

/* What whole devices and shares take falls with the capacity, so that what is free may stay as it was. */
static bool has_less(const struct device_state *now, const struct device_state *b)
{
    return b == NULL || now->milli_free < b->milli_free || now->mem_free_mib < b->mem_free_mib ||
           now->slot_free < b->slot_free || now->milli_cap < b->milli_cap || now->mem_cap_mib < b->mem_cap_mib ||
           now->slot_cap < b->slot_cap;
}

static void follow_capacity(struct ledger *l, const struct node_before *b, enum ledger_op_kind kind)
{
    struct node_entry *n = &l->nodes[b->node];
    bool of_node = kind == LEDGER_NODE_DESCRIBED || kind == LEDGER_NODE_GONE || kind == LEDGER_NODES_END;

    for (uint32_t i = 0; n->used && i < n->device_n; i++) {
        const struct device_state *now = &l->states[l->rows[b->node].first_device + i];
        struct ledger_device *d = &n->devices[i];
        bool over = device_is_overcommitted(now);

        const struct device_state *before = state_before(b, d->ref);

        if (of_node && has_less(now, before)) {
            d->shrunk = true;
        } else if (of_node && device_has_more(before, now) && !ledger_grants_exceed(l, n, i)) {
            d->shrunk = false; /* what there was is back, and others are to blame */
        }
        d->shrunk = over && d->shrunk;
        d->overbooked = over && (d->overbooked || (kind == LEDGER_RESERVE && has_less(now, before)));
    }
}

void ledger_change_follow(struct ledger *l, enum ledger_op_kind kind)
{
    for (uint32_t i = 0; i < l->before_n; i++) {
        follow_capacity(l, &l->before[i], kind);
    }
    l->before_n = 0;
}
