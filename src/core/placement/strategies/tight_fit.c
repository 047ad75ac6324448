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

#define STEP SCORE_PART_LEFT_STEP
_Static_assert(STEP == SHARE_ALL + 1, "a share is below a step");
#define OPENING SCORE_PART_OPENING
#define EMPTY_MAX SCORE_PART_EMPTY_MAX

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

/* What the score weighs. */
struct weighed {
    int64_t left; /* the mean of left(after) over the devices that change */
    int64_t opened_n, empty_n;
};

static struct weighed weigh(const struct strategy_node *n)
{
    struct weighed w = {0};
    int64_t changed_n = 0;

    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *b = &n->before[i], *a = &n->after[i];

        w.empty_n += device_is_empty(a);
        if (device_changed(b, a)) {
            changed_n++;
            w.left += left(a);
            w.opened_n += device_is_empty(b) && (a->flags & DEVICE_EXCLUSIVE) == 0;
        }
    }
    if (changed_n == 0) { /* GPUs of a plugin */
        w.empty_n = n->plugin_managed_free;
    } else {
        w.left /= changed_n;
    }
    w.empty_n = w.empty_n < EMPTY_MAX ? w.empty_n : EMPTY_MAX - 1;
    return w;
}

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    struct weighed w = weigh(n);

    (void)o;
    return -((w.left + w.opened_n * OPENING) * EMPTY_MAX + w.empty_n);
}

static size_t score_parts(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                          struct score_part *ret)
{
    struct weighed w = weigh(n);
    const struct score_part parts[] = {
        {.kind = SCORE_PART_OPENED, .value = -w.opened_n * OPENING * EMPTY_MAX},
        {.kind = SCORE_PART_LEFT, .value = -w.left * EMPTY_MAX},
        {.kind = SCORE_PART_EMPTY, .value = -w.empty_n},
    };
    size_t part_n = 0;

    (void)o;
    (void)p;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        ret[part_n] = parts[i];
        part_n += parts[i].value != 0;
    }
    return part_n;
}

const struct strategy strategy_tight_fit = {
    .name = "tight-fit",
    .summary = "the GPU with the least left; empty GPUs stay empty as long as the pod fits on used ones",
    .unit = SCORE_PACKED,
    .device_cost = device_cost,
    .node_score = node_score,
    .score_parts = score_parts,
};
