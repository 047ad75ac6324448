/* Devices that begin or cease to be over-committed, told once per op: within one, a pod is taken
 * off a node and put back, which is nobody's news. */
#include "base/bug.h"
#include "core/ledger/incident_table.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/state.h"

#include <string.h>

/* What nobody takes is not kept for ever. */
#define TRANSITIONS_MAX 1024

static void announce_overcommit(struct ledger *l, uint32_t node, const struct ledger_device *d, bool begins)
{
    if (l->overcommit_n == TRANSITIONS_MAX) {
        return;
    }
    if (l->overcommit_n == l->overcommit_cap) {
        l->overcommit_cap = l->overcommit_cap == 0 ? 16 : l->overcommit_cap * 2;
        l->overcommits = xreallocarray(l->overcommits, l->overcommit_cap, sizeof(*l->overcommits));
    }
    l->overcommits[l->overcommit_n++] = (struct ledger_overcommit){
        .node_name = shared_text_take(l->names[node]),
        .uuid = shared_text_take(d->uuid),
        .index = d->ref.index,
        .begins = begins,
    };
}

void ledger_overcommit_note(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    if (n->recomputed) {
        return;
    }
    if (l->recomputed_n == l->recomputed_cap) {
        l->recomputed_cap = l->recomputed_cap == 0 ? 16 : l->recomputed_cap * 2;
        l->recomputed = xreallocarray(l->recomputed, l->recomputed_cap, sizeof(*l->recomputed));
    }
    l->recomputed[l->recomputed_n++] = node;
    n->recomputed = true;
}

void ledger_overcommit_gone(struct ledger *l, uint32_t node, struct ledger_device *d)
{
    ledger_booking_gone(l, node, d);
    if (d->overcommitted) {
        announce_overcommit(l, node, d, false);
    }
}

void ledger_overcommit_carry(struct ledger *l, uint32_t node, struct ledger_device *before, struct ledger_device *now)
{
    bool same_name = str_eq(before->uuid, now->uuid) && (now->uuid.n > 0 || before->ref.index == now->ref.index);

    if (same_name) {
        now->overcommitted = before->overcommitted;
        now->booked = before->booked;
        now->booked_ms = before->booked_ms;
        now->fitted = before->fitted;
    } else { /* whoever heard of it under its old name would wait for the end */
        ledger_overcommit_gone(l, node, before);
    }
}

void ledger_overcommit_follow(struct ledger *l, int64_t at_ms)
{
    for (uint32_t i = 0; i < l->recomputed_n; i++) {
        uint32_t node = l->recomputed[i];
        struct node_entry *n = &l->nodes[node];

        n->recomputed = false;
        for (uint32_t j = 0; n->used && j < n->device_n; j++) {
            bool now = device_is_overcommitted(&l->states[l->rows[node].first_device + j]);

            if (now != n->devices[j].overcommitted) {
                n->devices[j].overcommitted = now;
                announce_overcommit(l, node, &n->devices[j], now);
            }
            ledger_booking_follow(l, node, j, at_ms);
        }
    }
    l->recomputed_n = 0;
}

size_t ledger_take_overcommits(struct ledger *l, struct ledger_overcommit *ret, size_t max)
{
    size_t n = l->overcommit_n < max ? l->overcommit_n : max;

    if (n > 0) {
        memcpy(ret, l->overcommits, n * sizeof(*ret));
        l->overcommit_n -= (uint32_t)n;
        memmove(l->overcommits, l->overcommits + n, l->overcommit_n * sizeof(*ret));
    }
    return n;
}

void ledger_drop_overcommits(const struct ledger_overcommit *o, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        shared_text_drop(o[i].node_name);
        shared_text_drop(o[i].uuid);
    }
}
