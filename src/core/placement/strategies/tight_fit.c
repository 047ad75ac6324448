/* tight-fit: where the least is left over on the devices that are touched, and no empty device is
 * opened while a used one fits.
 *
 * What is left of a device afterwards are two shares of its capacity, compute and memory. The
 * smaller one binds: when it is gone, nobody can use the larger one. (Memory that is not known
 * binds nothing.)
 *
 *   left(after) = smaller share x STEP + larger share
 *   device:  left(after), plus OPENING when the device was empty
 *   node:    the mean of left(after) over the devices that change, plus OPENING for each of them that was empty and is
 *            now shared; among equals the node with fewer empty devices left, so that those who want whole ones find
 *            them together. Whole devices leave nothing, so for them, as for GPUs of a plugin, only that last rule
 *            speaks. Less is better: the score is the negative.
 */
#include "core/placement/strategies/strategies_internal.h"

#define STEP (SHARE_ALL + 1)
#define OPENING ((int64_t)STEP * STEP)
#define EMPTY_MAX ((int64_t)1 << 20)

static int64_t left_of(int64_t milli, int64_t mem)
{
    return milli < mem ? milli * STEP + mem : mem * STEP + milli;
}

static int64_t left(const struct device_state *after)
{
    return left_of(share_free_milli(after), share_free_mem(after));
}

/* left() of what device_take() would make of it, without the copy. The device has room for `c`. */
static int64_t device_cost(const struct device_state *d, const struct charge *c)
{
    int32_t milli = share_of((int64_t)d->milli_free - c->milli, d->milli_cap);
    int32_t mem = device_knows_memory(d) ? share_of(d->mem_free_mib - c->mem_mib, d->mem_cap_mib) : milli;

    return left_of(milli, mem) + (device_is_empty(d) ? OPENING : 0);
}

static bool device_changed(const struct device_state *b, const struct device_state *a)
{
    return b->flags != a->flags || b->slot_free != a->slot_free || b->milli_free != a->milli_free ||
           b->mem_free_mib != a->mem_free_mib;
}

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    int64_t sum = 0, opened_n = 0, changed_n = 0, empty_n = 0;

    (void)o;
    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *b = &n->before[i], *a = &n->after[i];

        empty_n += device_is_empty(a);
        if (device_changed(b, a)) {
            changed_n++;
            sum += left(a);
            opened_n += device_is_empty(b) && (a->flags & DEVICE_EXCLUSIVE) == 0;
        }
    }
    if (changed_n == 0) { /* GPUs of a plugin */
        empty_n = n->plugin_managed_free;
    } else {
        sum /= changed_n;
    }
    empty_n = empty_n < EMPTY_MAX ? empty_n : EMPTY_MAX - 1;
    return -((sum + opened_n * OPENING) * EMPTY_MAX + empty_n);
}

const struct strategy strategy_tight_fit = {
    .name = "tight-fit",
    .summary = "the GPU with the least left; empty GPUs stay empty as long as the pod fits on used ones",
    .device_cost = device_cost,
    .node_score = node_score,
};
