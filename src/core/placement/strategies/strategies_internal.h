/* core/placement/strategies/strategies_internal.h - the strategies, for their table, and what they share. */
#ifndef CORE_PLACEMENT_STRATEGIES_STRATEGIES_INTERNAL_H
#define CORE_PLACEMENT_STRATEGIES_STRATEGIES_INTERNAL_H

#include "core/fit/strategy.h"

#include <stdbool.h>

extern const struct strategy strategy_binpack;
extern const struct strategy strategy_spread;
extern const struct strategy strategy_tight_fit;
extern const struct strategy strategy_best_fit;
extern const struct strategy strategy_dot_product;
extern const struct strategy strategy_gpu_packing;
extern const struct strategy strategy_gpu_clustering;
extern const struct strategy strategy_fgd;
extern const struct strategy strategy_rsp;

/* Amounts are compared as shares of the device's own capacity, so that unequal devices compare. */
#define SHARE_ALL 10000

/* `part` of `whole` in ten-thousandths; an over-committed device is below zero, down to -SHARE_ALL.
 * A capacity of 0 (memory not known) gives 0. */
static inline int32_t share_of(int64_t part, int32_t whole)
{
    int64_t share;

    if (whole == DEVICE_MILLI && part >= 0 && part <= whole) {
        return (int32_t)part * (SHARE_ALL / DEVICE_MILLI);
    }
    if (whole <= 0) {
        return 0;
    }
    /* A 32-bit division is several times cheaper than one of 64 bits, and this runs for every
     * device. */
    if (part >= 0 && part <= whole && part <= INT32_MAX / SHARE_ALL) {
        return (int32_t)part * SHARE_ALL / whole;
    }
    share = part * SHARE_ALL / whole;
    return share < -SHARE_ALL ? -SHARE_ALL : share > SHARE_ALL ? SHARE_ALL : (int32_t)share;
}

static inline bool device_knows_memory(const struct device_state *d)
{
    return d->mem_cap_mib > 0;
}

static inline int32_t share_free_milli(const struct device_state *d)
{
    return share_of(d->milli_free, d->milli_cap);
}

/* Memory that is not known counts like compute. */
static inline int32_t share_free_mem(const struct device_state *d)
{
    return device_knows_memory(d) ? share_of(d->mem_free_mib, d->mem_cap_mib) : share_free_milli(d);
}

/* Free compute plus free memory: 2 x SHARE_ALL when empty. */
static inline int64_t share_free(const struct device_state *d)
{
    return (int64_t)share_free_milli(d) + share_free_mem(d);
}

static inline bool device_is_empty(const struct device_state *d)
{
    return (d->flags & DEVICE_IN_USE) == 0;
}

/* Used share of the node after the placement, 0..2 x SHARE_ALL: the mean over its devices, or over
 * the GPUs of its plugin where those are in use (never both, design.md 3.2). */
int64_t node_used_share(const struct strategy_node *n);
/* Its parts (strategy.score_parts), times `sign`. */
size_t node_used_share_parts(const struct strategy_node *n, int64_t sign, struct score_part *ret);

#endif
