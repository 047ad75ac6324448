/* core/fit/feasibility_internal.h - one question, shared by the three files that answer it.
 *
 * Everything is borrowed for the length of one call of feasibility_place(), and nothing is written.
 */
#ifndef CORE_FIT_FEASIBILITY_INTERNAL_H
#define CORE_FIT_FEASIBILITY_INTERNAL_H

#include "core/fit/feasibility.h"

#include <stdbool.h>

struct feasibility {
    const struct node_state *node;
    const struct device_state *devices;
    const uint8_t *allowed_models;
    const struct demand *demand;
    const struct strategy *strategy;
};

/* The strategy's order; lower is tried first. Instances of MIG come before GPUs that could be shared, the smallest
 * first: their costs begin at the least number there is, below any strategy's. Those of one profile are equal, and the
 * first of them is taken, so the instances of one GPU are used up before those of the next. Must depend on `d` and `c`
 * alone: the search takes devices with equal numbers for one (feasibility_search.c). */
static inline int64_t feasibility_cost(const struct feasibility *f, const struct device_state *d,
                                       const struct charge *c)
{
    if (device_is_instance(d)) {
        return INT64_MIN + ((int64_t)d->mem_cap_mib << 16) + d->profile;
    }
    return f->strategy->device_cost(d, c);
}

static inline bool feasibility_allows(const struct feasibility *f, const struct device_state *d)
{
    return f->allowed_models == NULL || f->allowed_models[d->model_id] != 0;
}

/* Several GPU requests: backtracking. FITS (only then `ret` is written), SEARCH_LIMIT, or NO_COMBINATION when there is
 * no placement, be it that a GPU request does not even fit alone. */
enum verdict feasibility_search(const struct feasibility *f, struct placement *ret);

/* Why a demand for which there is no placement has none; NO_COMBINATION when each GPU request fits alone. */
enum verdict feasibility_reason(const struct feasibility *f);

#endif
