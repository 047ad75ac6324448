/* best-fit: where the least is left over on the devices that are touched, and no empty device is broken
 * while a used one fits.
 *
 *   device: share_free(after), plus OPENING when the device was empty and is not taken whole
 *   node:   the sum of these over the devices that change; among equals the node with fewer empty devices
 *           left, so that whole ones stay together where they are many
 */
#include "core/strategies/strategies_internal.h"

#define OPENING (SHARE_FULL + 1)

static int64_t cost(const struct device_state *before, const struct device_state *after)
{
    bool opens = (before->flags & DEVICE_IN_USE) == 0 && (after->flags & DEVICE_EXCLUSIVE) == 0;

    return share_free(after) + (opens ? OPENING : 0);
}

static int64_t device_cost(const struct device_state *d, const struct charge *c)
{
    struct device_state after = *d;

    device_take(&after, c);
    return cost(d, &after);
}

static int64_t node_score(const struct strategy_node *n)
{
    int64_t sum = 0, empty_n = 0;

    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *b = &n->before[i], *a = &n->after[i];

        if (b->flags != a->flags || b->slot_free != a->slot_free) {
            sum += cost(b, a);
        }
        empty_n += (a->flags & DEVICE_IN_USE) == 0;
    }
    return -(sum * (DEVICES_PER_NODE_MAX + 1) + empty_n);
}

const struct strategy strategy_best_fit = {
    .name = "best-fit",
    .summary = "the GPU on which the least is left over; empty GPUs stay empty as long as used ones fit",
    .device_cost = device_cost,
    .node_score = node_score,
};
