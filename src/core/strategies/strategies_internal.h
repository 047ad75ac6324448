/* core/strategies/strategies_internal.h - the strategies, for their table, and what they share. */
#ifndef CORE_STRATEGIES_INTERNAL_H
#define CORE_STRATEGIES_INTERNAL_H

#include "core/strategy.h"

extern const struct strategy strategy_binpack;
extern const struct strategy strategy_spread;
extern const struct strategy strategy_best_fit;

/* How full a device is, as strategies count: thousandths of its compute plus thousandths of its memory.
 * Memory that is not known counts like compute. */
#define SHARE_FULL 2000

static inline int64_t share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? part * 1000 / whole : 0;
}

/* Free share, SHARE_FULL when empty; below zero when the device is over-committed. */
static inline int64_t share_free(const struct device_state *d)
{
    int64_t milli = share_of(d->milli_free, d->milli_cap);

    return milli + (d->mem_cap_mib > 0 ? share_of(d->mem_free_mib, d->mem_cap_mib) : milli);
}

/* Used share after the placement, averaged over the node's devices, in thousandths of a share. */
static inline int64_t node_used_share(const struct strategy_node *n)
{
    int64_t used = 0;

    for (size_t i = 0; i < n->device_n; i++) {
        used += SHARE_FULL - share_free(&n->after[i]);
    }
    return n->device_n > 0 ? used * 1000 / (int64_t)n->device_n : 0;
}

#endif
