/* core/placement/pack.h - filter and score nodes for one demand: the decision as a pure function of a view.
 *
 * Reads the view, the forecast, and what is remembered of this demand (which it adds to); changes nothing else. No
 * lock and no errors: a name always gets a verdict. Borrowed: names in results point to those that were
 * asked, and a view is valid until the next op, so the caller keeps the ledger from changing for the length of a call.
 */
#ifndef CORE_PLACEMENT_PACK_H
#define CORE_PLACEMENT_PACK_H

#include "core/fit/choice.h"
#include "core/fit/strategy.h"
#include "core/fit/verdict.h"
#include "core/ledger/view.h"
#include "core/placement/score_cache.h"
#include "core/placement/twins.h"
#include "core/request/demand.h"

#include <stddef.h>
#include <stdint.h>

/* A pod that was just promised a node and is not bound yet (contract.md R19). It never makes a node unfit: a node that
 * would no longer fit if the held pod landed there goes to the end of the order. */
struct pack_tentative {
    struct str node_name;
    const struct demand *demand;
};

/* Why a node that fits comes behind all that do. A greater one comes later. */
enum pack_demotion {
    PACK_NOT_DEMOTED,
    PACK_PROMISED, /* it does not fit beside the pods held there */
    PACK_IN_DOUBT, /* a bind would be refused there now (decision 0112) */
};

struct pack_result {
    struct str name;     /* as asked */
    uint32_t name_order; /* of a known node (core/fit/device_state.h): of equals the lower one comes first */
    uint16_t slack;      /* core/fit/slack.h, when it fits; a lower one comes first, before scores */
    /* narrow, because there are thousands of these in a call: */
    enum verdict verdict : 6;
    enum pack_demotion demoted : 2; /* when it fits */
    uint8_t group; /* of core/placement/plan.h: scores of different ones are not compared, a lower one comes first */
    int64_t score; /* of the node strategy, when it fits; higher is better */
};
_Static_assert(sizeof(struct pack_result) == 32 && VERDICT__MAX <= 64, "two in a line of memory");

/* One node for the demand of the view. `placement` may be NULL. */
enum verdict pack_node(const struct ledger_view *v, const struct node_state *n, const struct pack_params *p,
                       int64_t *ret_score, struct placement *placement);

#define PACK_HELD_BITS 4096

/* One decision, answered in one go or in several over views of the same demand. */
struct pack_query {
    const struct pack_params *params;
    const struct pack_tentative *tentatives;
    size_t tentative_n;
    struct score_row known; /* of this demand (core/placement/score_cache.h), added to; empty: everything is computed */
    uint64_t *seen;         /* a bit for each of the view's nodes, all clear before the first call: a name that comes
                               again is left out. NULL: it is answered again */
    size_t unknown_n;       /* names answered with VERDICT_NODE_UNKNOWN so far */
    uint64_t work_max;      /* of forecast_work(), for one call of pack_some(); 0: no limit */
    size_t done;            /* names that the last call looked at: with a limit perhaps not all */
    struct twins *twins;    /* NULL: every node is judged by itself; else `decision` is from twins_begin() */
    uint64_t decision;
    const uint64_t *in_doubt;           /* a bit for each of the view's nodes: PACK_IN_DOUBT. NULL: no node is */
    uint64_t held[PACK_HELD_BITS / 64]; /* node indexes modulo, of nodes with holds: nearly all have none */
};

/* Once, and again whenever names_version of the view has changed. */
void pack_query_init(struct pack_query *q, const struct ledger_view *v, const struct pack_params *p,
                     const struct pack_tentative *tentatives, size_t tentative_n);

/* Answers names in order into `ret` (room for name_n) and returns how many. A name that the ledger does not know
 * gets VERDICT_NODE_UNKNOWN each time. With work_max it may stop before the end, but not before the first name. */
size_t pack_some(const struct ledger_view *v, struct pack_query *q, const struct str *names, size_t name_n,
                 struct pack_result *ret);

/* The same for the nodes with the indexes from `first` on, of which ret[i] is about the i-th: for who has a view of his
 * own and no names. A free place is VERDICT_NODE_UNKNOWN. Neither q->seen nor q->tentatives are for this. */
size_t pack_range(const struct ledger_view *v, struct pack_query *q, uint32_t first, uint32_t n,
                  struct pack_result *ret);

/* A result while it is ranked: smaller is better. */
typedef unsigned __int128 pack_merit;
/* From the highest bits: demoted, group, slack, score, order of the name. INT64_MAX less the score, taken as unsigned,
 * turns the order of scores round and has no sign: the best score is 0, the worst UINT64_MAX. It lies across the two
 * halves. No branch, because who comes first is for nobody to foresee. */
static inline uint32_t pack_order_of(const struct pack_result *r)
{
    return (uint32_t)r->demoted << 24 | (uint32_t)r->group << 16 | r->slack;
}

static inline uint64_t pack_shortfall_of(const struct pack_result *r)
{
    return (uint64_t)INT64_MAX - (uint64_t)r->score;
}

static inline pack_merit pack_merit_of(const struct pack_result *r)
{
    uint64_t shortfall = pack_shortfall_of(r);

    return (pack_merit)((uint64_t)pack_order_of(r) << 32 | shortfall >> 32) << 64 | (shortfall << 32 | r->name_order);
}

struct pack_key {
    pack_merit merit;
    size_t at;
};

/* Puts what fits in front, best first: not demoted before demoted (enum pack_demotion), then the lower group, less
 * slack, the higher score, the smaller name. Returns how many fit. With limit > 0 only the first `limit` are in order,
 * the others in none. `buffer` has space for as many keys as are wanted: `limit`, or n where that is less or there is
 * none. O(n log keys). */
size_t pack_rank(struct pack_result *results, size_t n, size_t limit, struct pack_key *buffer);

/* Points for prioritize, 0..10, from results in rank order: the best alone gets 10, the rest are spread over 9..0 in
 * order, equal scores get equal points, what does not fit gets 0 (contract.md 2.3; design.md 4). */
void pack_points(const struct pack_result *ranked, size_t n, int32_t *ret_points);

#endif
