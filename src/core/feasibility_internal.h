/* core/feasibility_internal.h - one question, shared by the three files that answer it. */
#ifndef CORE_FEASIBILITY_INTERNAL_H
#define CORE_FEASIBILITY_INTERNAL_H

#include "core/feasibility.h"

#include <stdbool.h>

struct feasibility {
    const struct node_state *node;
    const struct device_state *devices;
    const uint8_t *allowed_models;
    const struct demand *demand;
    const struct strategy *strategy;
};

struct charge feasibility_wish_charge(const struct wish *w, const struct device_state *d);
bool feasibility_allows(const struct feasibility *f, const struct device_state *d); /* by model */
/* Does the wish fit if the pod asked for nothing else? */
bool feasibility_fits_alone(const struct feasibility *f, const struct wish *w);

/* Several wishes: backtracking. */
enum verdict feasibility_search(const struct feasibility *f, struct placement *ret);

/* Why a wish that does not fit alone does not: the first need that fewer than `count` devices meet. */
enum verdict feasibility_reason(const struct feasibility *f, const struct wish *w);

#endif
