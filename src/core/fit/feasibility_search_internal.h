/* core/fit/feasibility_search_internal.h - one search, shared by what prepares it (feasibility_order.c) and what goes
 * through it (feasibility_search.c, where the whole is explained). */
#ifndef CORE_FIT_FEASIBILITY_SEARCH_INTERNAL_H
#define CORE_FIT_FEASIBILITY_SEARCH_INTERNAL_H

#include "core/fit/feasibility_internal.h"

/* What a request takes of a device. Memory is cut to 32 bits, so that the table stays small: 2^32-1 MiB are never free,
 * so the cut changes no answer. */
struct amount {
    int32_t milli;
    uint32_t mem_mib;
    uint16_t profile;
};

struct search {
    const struct feasibility *f;
    size_t gpu_request_n;
    unsigned phase_n;
    unsigned steps;
    uint64_t exclusive;                           /* GPU requests that want devices alone */
    uint64_t phases[DEMAND_PHASES_MAX];           /* GPU requests of each phase that counts */
    uint8_t order[DEMAND_GPU_REQUESTS_MAX];       /* GPU requests, in the order of the search */
    uint8_t twin[DEMAND_GPU_REQUESTS_MAX];        /* [w]: the first GPU request equal to w */
    bool begins_phase[DEMAND_GPU_REQUESTS_MAX];   /* [w]: first of the GPU requests of its only phase */
    bool several_phases[DEMAND_GPU_REQUESTS_MAX]; /* [w] */
    uint64_t alone[DEMAND_GPU_REQUESTS_MAX];      /* [w]: devices on which w fits by itself */
    uint64_t given[DEVICES_PER_NODE_MAX];         /* [device]: GPU requests it has been given */
    uint8_t capacity_of[DEVICES_PER_NODE_MAX];    /* [device]: first device with the same capacities */
    struct amount amounts[DEVICES_PER_NODE_MAX][DEMAND_GPU_REQUESTS_MAX]; /* [capacity_of][w] */
};

static inline uint64_t bit(unsigned i)
{
    return UINT64_C(1) << i;
}

/* Resolves the GPU requests against every device; false when one of them does not even fit alone. */
bool feasibility_resolve(struct search *s);
/* Then: the phases that count, the order of the GPU requests, and which are twins. */
void feasibility_order(struct search *s);

#endif
