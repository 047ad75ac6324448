/* core/forecast/forecast.h - the forecast: what is expected to come, the part of a decision that no node can tell by
 * itself.
 *
 * Made from a demand histogram (the one the ledger learns, or a given one) and from the nodes of a ledger. It is a
 * function of the two, brought up to date by forecast_follow(). It reads the ledger and changes nothing there. For
 * strategies that say `looks_ahead` only; any other needs none.
 *
 * Lock: whoever serialises the ledger owns the forecast and serialises it with the ledger (extender/store.c, fgpu sim).
 * Functions that take it as const are no exception: scores are remembered behind it.
 *
 * Units: compute in milli of a device, cores in milli cores, memory in MiB; a score unit is 1/FORECAST_MILLI milli.
 * Memory: 26 MiB of tables, about 126 KiB for each shape of nodes, and a row for each node. No errors.
 */
#ifndef CORE_FORECAST_FORECAST_H
#define CORE_FORECAST_FORECAST_H

#include "core/fit/cluster_view.h"
#include "core/fit/strategy.h"
#include "core/request/demand.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct demand_histogram;
struct forecast;

struct forecast *forecast_new(void);
void forecast_free(struct forecast *o); /* NULL is fine */

/* From now on this is expected (settle it first), whatever the ledger learns; NULL: what the ledger learns, as in the
 * beginning. Borrowed until the next call. How many pods depart is still learned from the ledger. */
void forecast_give_demand_histogram(struct forecast *o, const struct demand_histogram *m);

/* Follows the ledger, as far as the strategy needs it. Does a bounded amount of work: false means that there is more to
 * do, call again (the caller may give others the lock in between). Costs next to nothing when nothing has changed. Call
 * it before every decision: every op that changes the ledger makes the forecast stale. One forecast follows one ledger
 * all its life. */
bool forecast_follow(struct forecast *o, struct cluster_view c, const struct strategy *s);

/* What takes the time of a decision that looks ahead is passes of rollouts, and places, that nobody has asked for
 * before (core/forecast/rollout.h). Counts them since the beginning, here and in scores. FORECAST_WORK_MAX of them are
 * done at a time under a lock, which is half a millisecond or less. */
#define FORECAST_WORK_MAX 512
uint64_t forecast_work(const struct forecast *o);

/* ---- typical pods, for the strategy fgd and for what is shown about fragmentation ---- */

/* A shape of pods, memory left out. Together: the most frequent ones that make 95 % of all pods (packing.md: "Typical
 * pods"), GPU-less ones included; most frequent first, then larger cpu, milli, count, models. Probabilities add up
 * to 1. */
struct forecast_typical {
    int32_t cpu_milli;
    int32_t milli;  /* per device; 0 with count 0. Of a GPU request for memory alone: its part of the largest device */
    uint16_t count; /* devices */
    bool plugin_managed; /* of a plugin */
    size_t model_n;
    const struct device_pattern *models;
    const uint8_t *allowed_models; /* by model_id of the ledger; NULL: every model */
    double probability;
};

/* Valid until the next forecast_follow or forecast_give_demand_histogram. */
size_t forecast_typical_n(const struct forecast *o);
const struct forecast_typical *forecast_typical(const struct forecast *o); /* that many */
/* Changes when the typical pods do. */
uint64_t forecast_typical_version(const struct forecast *o);

/* ---- what a placement destroys, for the strategy rsp (packing.md 5.1) ---- */

#define FORECAST_CLASSES_MAX 64
#define FORECAST_MILLI 1280 /* score units of one milli: all weights of the formula are whole then */
#define FORECAST_SIXTEENTHS 16

/* What scarce goods cost now. Kept by value over one decision, so that all its nodes are judged alike although others
 * change the ledger in between. */
struct forecast_prices {
    uint64_t version;   /* counts changes of anything below */
    uint64_t basis;     /* what the classes mean; prices of another basis mean nothing */
    int32_t scarce_cpu; /* f: 0 cores are plenty .. 16 cores run out before GPUs */
    int32_t churn;      /* chi: 0 nobody leaves .. 16 as many leave as come */
    int32_t gangs;      /* 0 no pods of several GPUs are expected .. 16 they are an eighth of the volume or more */
    int32_t places;     /* beta: 0 what is left is valued by rollouts .. 16 by places */
    uint32_t n;
    int32_t price[FORECAST_CLASSES_MAX]; /* score units per milli supplied */
};

const struct forecast_prices *forecast_prices(const struct forecast *o);

/* Is a score on this node, made when the prices had the version `since`, the one that these would give? True when
 * nothing that nodes of its shape supply has had another price since, nor f or chi another value. False is no proof. */
bool forecast_prices_hold(const struct forecast *o, const struct forecast_prices *p, uint32_t node, uint64_t since);

#define FORECAST_TERMS_MAX 8
#define FORECAST_NO_NODE UINT32_MAX

/* What the scores of some placements on one node are made of: the residuals that they leave, as the forecast remembers
 * them. Valid for the same version of the node. */
struct forecast_terms {
    uint32_t node; /* its index in the ledger, whose numbers are those before the placement; or FORECAST_NO_NODE */
    uint32_t n;    /* 0: none; above FORECAST_TERMS_MAX: too many, the first ones are here */
    struct forecast_place {
        uint32_t place, serial;
    } after[FORECAST_TERMS_MAX];
};

/* The score of a placement at these prices; higher is better. A function of the residual on the node before and after,
 * of the demand histogram and the prices. `terms` (may be NULL) gets one more. */
int64_t forecast_gain(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                      struct forecast_terms *terms);
/* What that score is the sum of. `ret` has room for SCORE_PARTS_MAX; returns how many. */
size_t forecast_gain_parts(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                           struct score_part *ret);
/* Some of forecast_terms.after. */
struct forecast_places {
    const struct forecast_place *p;
    uint32_t n;
};
/* The best of some placements on this node, in two parts, at other prices and without looking at the node. False: the
 * forecast has forgotten one of them, or never followed the node. */
bool forecast_gain_again(const struct forecast *o, const struct forecast_prices *p, uint32_t node,
                         struct forecast_places some, struct forecast_places more, int64_t *ret);
/* What that is the sum of, as forecast_gain_parts() says it; 0: as false there. */
size_t forecast_gain_parts_again(const struct forecast *o, const struct forecast_prices *p, uint32_t node,
                                 struct forecast_places some, struct forecast_places more, struct score_part *ret);

/* ---- the same, for people: what is scarce and what it costs ---- */

enum forecast_good {
    FORECAST_HOSTS,  /* idle GPUs on the nodes that can run certain pods */
    FORECAST_PLACES, /* places for pods of several GPUs */
    FORECAST_SIZE,   /* GPUs with at least so much free */
};

struct forecast_scarce {
    enum forecast_good good;
    bool plugin_managed;    /* of a plugin's GPUs */
    uint32_t node_n;        /* nodes of the shapes that supply it */
    int32_t count;          /* GPUs of one pod; SIZE: 0 */
    int32_t milli, mem_mib; /* of each GPU, at least; HOSTS: 0. mem_mib 0: no matter, or unknown */
    int32_t share_permille; /* of the volume that is expected: of pods that need this or what is harder to get */
    int64_t supply_milli;   /* in the cluster */
    int32_t price_permille; /* of a milli supplied, in thousandths of a milli filled; FORECAST_SIZE at most 200 */
};

struct forecast_report {
    bool known;                /* false: nobody has looked ahead with prices yet; then nothing else is written */
    int32_t scarce_cpu, churn; /* as in struct forecast_prices */
    int32_t prior_permille;    /* of the volume that is expected: pods that nobody has seen yet (packing.md: prior) */
    size_t scarce_n;
    struct forecast_scarce scarce[FORECAST_CLASSES_MAX]; /* largest share first */
};

/* As of the last forecast_follow() for a strategy with prices. */
void forecast_report(const struct forecast *o, struct forecast_report *ret);

#endif
