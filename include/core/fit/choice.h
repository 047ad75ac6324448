/* core/fit/choice.h - which devices of one node a demand gets, and what that is worth.
 *
 * feasibility_place() finds out whether there is a placement; here the strategies choose among them. filter and bind
 * choose by this one procedure, so bind takes what filter had in mind as long as the node has not changed.
 *
 * Scores have no unit of their own: those of one strategy are comparable between nodes, those of two are not. Nothing
 * is allocated. No lock: whoever owns the ledger and the forecast serialises this, because a strategy that looks ahead
 * remembers what it finds out (core/forecast/forecast.h).
 */
#ifndef CORE_FIT_CHOICE_H
#define CORE_FIT_CHOICE_H

#include "core/fit/device_state.h"
#include "core/fit/placement.h"
#include "core/fit/strategy.h"
#include "core/fit/verdict.h"
#include "core/request/demand.h"

#include <stdint.h>

struct pack_params {
    const struct strategy *node_strategy;
    const struct strategy *device_strategy;
    const struct forecast *forecast; /* NULL: nothing is known; then all placements are alike to one that looks ahead */
    const struct forecast_prices *prices; /* NULL: those of the forecast as it is */
};

/* `ret_score` is that of the node strategy; NULL: not wanted. Both results are written on VERDICT_FITS only. See
 * core/fit/feasibility.h for `allowed_models`. */
enum verdict choice_make(const struct pack_params *p, const struct node_state *n, const struct device_state *devices,
                         const uint8_t *allowed_models, const struct demand *d, struct placement *ret,
                         int64_t *ret_score);
/* The same, and the terms of all placements that the score was chosen from, where pack_keeps_terms(). They must be
 * empty, with their node if the devices are those of the ledger, before. */
enum verdict choice_make_terms(const struct pack_params *p, const struct node_state *n,
                               const struct device_state *devices, const uint8_t *allowed_models,
                               const struct demand *d, struct placement *ret, int64_t *ret_score,
                               struct forecast_terms *terms);

/* The parts of the node strategy's score of a placement that choice_make() chose (strategy.score_parts); their sum is
 * that score. Returns how many; 0: the strategy does not say, or nothing is known. */
size_t choice_parts(const struct pack_params *p, const struct node_state *n, const struct device_state *devices,
                    const struct demand *d, const struct placement *at, struct score_part ret[SCORE_PARTS_MAX]);

/* Does either strategy's score follow prices? */
static inline bool pack_is_priced(const struct pack_params *p)
{
    return p->node_strategy->priced_score != NULL || p->device_strategy->priced_score != NULL;
}

/* Priced, and at other prices the same placements would be judged. */
static inline bool pack_keeps_terms(const struct pack_params *p)
{
    return p->node_strategy->priced_score != NULL &&
           (p->device_strategy->priced_score == NULL || p->device_strategy == p->node_strategy);
}

/* The devices of `n` once the placement is taken, into `after` (room for n->device_n). */
void choice_take(const struct node_state *n, const struct device_state *before, const struct demand *d,
                 const struct placement *at, struct device_state *after);
/* The same in place, and what the node says of its pods: for looking at what fits beside. */
void choice_land(struct node_state *n, struct device_state *devices, const struct demand *d,
                 const struct placement *at);

#endif
