/* core/placement/score_cache.h - what a demand is worth on a node, remembered per (shape of the demand,
 * version of the node).
 *
 * Pods come in series: the next one asks for what the last one asked for, and between the two one
 * node of thousands has changed. So verdict and score are kept per shape and node index, with the
 * version of the node they were computed from (core/fit/device_state.h); another version means: compute
 * again. A verdict is a function of the shape and of the node's own numbers, except under
 * isolation, which looks at other pods' labels: decisions with isolation are not remembered (struct
 * ledger_view.isolates).
 *
 * Where scores follow prices (core/forecast/forecast.h), which change more often than nodes, the terms of the
 * score are kept, too, so that other prices cost a sum and not a new judgement.
 *
 * The shape is all of a demand that decides anything, the strategies, and which typical pods they went by: not names,
 * not where it was written. Shapes used longest ago go first: at most SCORE_CACHE_SHAPES of them and SCORE_CACHE_BYTES,
 * but always one.
 *
 * No lock: whoever serialises the ledger serialises this (extender/store.c).
 */
#ifndef CORE_PLACEMENT_SCORE_CACHE_H
#define CORE_PLACEMENT_SCORE_CACHE_H

#include "core/fit/choice.h"
#include "core/fit/verdict.h"
#include "core/placement/score_terms.h"
#include "core/request/demand.h"

#include <stdint.h>

#define SCORE_CACHE_SHAPES 512
#define SCORE_CACHE_BYTES (32U * 1024 * 1024)

struct score {
    uint64_t stamp;  /* version of the node << 8 | verdict; 0: never computed */
    int64_t score;   /* when it fits */
    uint64_t prices; /* version of those that the score was made at; of a priced strategy */
};

static inline uint64_t score_stamp(uint64_t version, enum verdict v)
{
    return version << 8 | (uint64_t)v;
}

/* Of one shape, by node index; valid until the next call. */
struct score_row {
    struct score *scores;      /* NULL: the shape is not remembered */
    struct score_terms *terms; /* what it takes to make the score at other prices; NULL: no strategy is priced */
};

struct score_cache;

struct score_cache *score_cache_new(void);
void score_cache_free(struct score_cache *c); /* NULL is fine */

/* The scores of this shape, at least node_n of them. None when the shape is too large to be remembered. A forecast,
 * where the strategies need one, must be up to date, and always the same. */
struct score_row score_cache_find(struct score_cache *c, const struct demand *d, const struct pack_params *p,
                                  uint32_t node_n);

#endif
