/* core/placement/score_terms.h - the terms of remembered scores, of one shape of pods by node index
 * (core/placement/score_cache.h).
 *
 * Most nodes have one or two placements to choose from, and three are kept beside the node. A node whose GPUs
 * are all filled otherwise has one for each of them: room for these is added where it is needed, so that the others
 * cost nothing. Above FORECAST_TERMS_MAX nothing is kept.
 *
 * A term is where the forecast remembers the residual that a placement leaves. It says nothing about the node's
 * version: the score beside it does (score_cache.h). Memory is in `nodes` and `more`, owned here. No lock.
 */
#ifndef CORE_PLACEMENT_SCORE_TERMS_H
#define CORE_PLACEMENT_SCORE_TERMS_H

#include "core/forecast/forecast.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCORE_TERMS_FEW 3

struct score_terms_node {
    uint32_t n;    /* 0: none are kept */
    uint32_t more; /* 1 + the node's place in `more`; 0: it has needed none so far */
    struct forecast_place few[SCORE_TERMS_FEW];
};

struct score_terms_more {
    struct forecast_place places[FORECAST_TERMS_MAX - SCORE_TERMS_FEW];
};

/* All zero: empty. */
struct score_terms {
    struct score_terms_node *nodes; /* NULL as long as there are none */
    struct score_terms_more *more;
    uint32_t node_n, more_n, more_cap;
};

void score_terms_fini(struct score_terms *t);
void score_terms_forget(struct score_terms *t); /* of all nodes; the memory is kept */
void score_terms_grow(struct score_terms *t, uint32_t node_n);
size_t score_terms_bytes(const struct score_terms *t);

/* `terms` in place of what was kept of this node, which must be below node_n. */
void score_terms_keep(struct score_terms *t, uint32_t node, const struct forecast_terms *terms);
/* forecast_gain_again() by what is kept. */
bool score_terms_gain(const struct score_terms *t, uint32_t node, const struct forecast *o,
                      const struct forecast_prices *p, int64_t *ret);
/* forecast_gain_parts_again() by what is kept. */
size_t score_terms_parts(const struct score_terms *t, uint32_t node, const struct forecast *o,
                         const struct forecast_prices *p, struct score_part *ret);

#endif
