/* core/placement/pack_internal.h - what pack*.c share: pack.c answers names, pack_others.c what depends on other pods.
 */
#ifndef CORE_PLACEMENT_PACK_INTERNAL_H
#define CORE_PLACEMENT_PACK_INTERNAL_H

#include "core/placement/pack.h"

/* Of a node, in its word of pack_query's sets. */
static inline uint64_t pack_bit(size_t i)
{
    return UINT64_C(1) << (i % 64);
}

/* What depends on others than this node and this pod, and is not remembered: of one that would fit. */
void pack_judge_others(const struct ledger_view *v, const struct pack_query *q, uint32_t node, struct pack_result *r);

#endif
