/* core/forecast/outlook.h - the forecast: what is expected to come, the part of a decision that no node can tell by
 * itself.
 *
 * Made from a demand histogram (the one the ledger learns, or a given one) and from the nodes of a ledger. It is a
 * function of the two, brought up to date by outlook_follow(). It reads the ledger and changes nothing there. For
 * strategies that say `looks_ahead` only; any other needs none.
 *
 * Lock: whoever serialises the ledger owns the forecast and serialises it with the ledger (extender/store.c, fgpu sim).
 * Functions that take it as const are no exception: scores are remembered behind it.
 *
 * Units: compute in milli of a device, cores in milli cores, memory in MiB; a score unit is 1/OUTLOOK_MILLI milli.
 * Memory: 20 MiB of tables, about 125 KiB for each shape of nodes, and a row for each node. No errors.
 */
#ifndef CORE_FORECAST_OUTLOOK_H
#define CORE_FORECAST_OUTLOOK_H

#include "core/fit/cluster_view.h"
#include "core/fit/strategy.h"
#include "core/request/demand.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mix;
struct outlook;

struct outlook *outlook_new(void);
void outlook_free(struct outlook *o); /* NULL is fine */

/* From now on this is expected (settle it first), whatever the ledger learns; NULL: what the ledger learns, as in the
 * beginning. Borrowed until the next call. How many pods depart is still learned from the ledger. */
void outlook_give_mix(struct outlook *o, const struct mix *m);

/* Follows the ledger, as far as the strategy needs it. Does a bounded amount of work: false means that there is more to
 * do, call again (the caller may give others the lock in between). Costs next to nothing when nothing has changed. Call
 * it before every decision: every op that changes the ledger makes the forecast stale. One forecast follows one ledger
 * all its life. */
bool outlook_follow(struct outlook *o, struct cluster_view c, const struct strategy *s);

/* What takes the time of a decision that looks ahead is passes of rollouts that nobody has asked for before
 * (core/forecast/rollout.h). Counts them since the beginning, here and in scores. OUTLOOK_WORK_MAX of them are done at
 * a time under a lock, which is a millisecond or less. */
#define OUTLOOK_WORK_MAX 1024
uint64_t outlook_work(const struct outlook *o);

/* ---- typical pods, for the strategy fgd and for what is shown about fragmentation ---- */

/* A shape of pods, memory left out. Together: the most frequent ones that make 95 % of all pods (packing.md: "Typical
 * pods"), GPU-less ones included; most frequent first, then larger cpu, milli, count, models. Probabilities add up
 * to 1. */
struct outlook_typical {
    int32_t cpu_milli;
    int32_t milli;  /* per device; 0 with count 0. Of a GPU request for memory alone: its part of the largest device */
    uint16_t count; /* devices */
    bool plugin_managed; /* of a plugin */
    size_t model_n;
    const struct device_pattern *models;
    const uint8_t *allowed_models; /* by model_id of the ledger; NULL: every model */
    double probability;
};

/* Valid until the next outlook_follow or outlook_give_mix. */
size_t outlook_typical_n(const struct outlook *o);
const struct outlook_typical *outlook_typical(const struct outlook *o); /* that many */
/* Changes when the typical pods do. */
uint64_t outlook_typical_version(const struct outlook *o);

/* ---- what a placement destroys, for the strategy rsp (packing.md 5.1) ---- */

#define OUTLOOK_CLASSES_MAX 64
#define OUTLOOK_MILLI 1280  /* score units of one milli: all weights of the formula are whole then */
#define OUTLOOK_SIXTEENTHS 16

/* What scarce goods cost now. Kept by value over one decision, so that all its nodes are judged alike although others
 * change the ledger in between. */
struct outlook_prices {
    uint64_t version; /* counts changes of anything below */
    uint64_t basis;   /* what the classes mean; prices of another basis mean nothing */
    int32_t scarce_cpu; /* f: 0 cores are plenty .. 16 cores run out before GPUs */
    int32_t churn;      /* chi: 0 nobody leaves .. 16 as many leave as come */
    uint32_t n;
    int32_t price[OUTLOOK_CLASSES_MAX]; /* score units per milli supplied */
};

const struct outlook_prices *outlook_prices(const struct outlook *o);

/* Is a score on this node, made when the prices had the version `since`, the one that these would give? True when
 * nothing that nodes of its shape supply has had another price since, nor f or chi another value. False is no proof. */
bool outlook_prices_hold(const struct outlook *o, const struct outlook_prices *p, uint32_t node, uint64_t since);

#define OUTLOOK_TERMS_MAX 8
#define OUTLOOK_NO_NODE UINT32_MAX

/* What the scores of some placements on one node are made of: the rooms that they leave, as the outlook remembers them.
 * Valid for the same version of the node. */
struct outlook_terms {
    uint32_t node; /* its index in the ledger, whose numbers are those before the placement; or OUTLOOK_NO_NODE */
    uint32_t n;    /* 0: none; above OUTLOOK_TERMS_MAX: too many, the first ones are here */
    struct outlook_place {
        uint32_t place, serial;
    } after[OUTLOOK_TERMS_MAX];
};

/* The score of a placement at these prices; higher is better. A function of the room on the node before and after,
 * of the mix and the prices. `terms` (may be NULL) gets one more. */
int64_t outlook_gain(const struct outlook *o, const struct outlook_prices *p, const struct strategy_node *n,
                     struct outlook_terms *terms);
/* Some of outlook_terms.after. */
struct outlook_places {
    const struct outlook_place *p;
    uint32_t n;
};
/* The best of some placements on this node, in two parts, at other prices and without looking at the node. False: the
 * outlook has forgotten one of them, or never followed the node. */
bool outlook_gain_again(const struct outlook *o, const struct outlook_prices *p, uint32_t node, struct outlook_places some,
                        struct outlook_places more, int64_t *ret);

/* ---- the same, for people: what is scarce and what it costs ---- */

enum outlook_good {
    OUTLOOK_HOSTS,  /* idle GPUs on the nodes that can run certain pods */
    OUTLOOK_PLACES, /* places for pods of several GPUs */
    OUTLOOK_SIZE,   /* GPUs with at least so much free */
};

struct outlook_scarce {
    enum outlook_good good;
    bool plugin_managed;         /* of a plugin's GPUs */
    uint32_t node_n;        /* nodes of the shapes that supply it */
    int32_t count;          /* GPUs of one pod; SIZE: 0 */
    int32_t milli, mem_mib; /* of each GPU, at least; HOSTS: 0. mem_mib 0: no matter, or unknown */
    int32_t share_permille; /* of the volume that is expected: of pods that need this or what is harder to get */
    int64_t supply_milli;   /* in the cluster */
    int32_t price_permille; /* of a milli supplied, in thousandths of a milli filled; OUTLOOK_SIZE at most 200 */
};

struct outlook_report {
    bool known; /* false: nobody has looked ahead with prices yet; then nothing else is written */
    int32_t scarce_cpu, churn;  /* as in struct outlook_prices */
    int32_t phantom_permille; /* of the volume that is expected: pods that nobody has seen yet (packing.md: prior) */
    size_t scarce_n;
    struct outlook_scarce scarce[OUTLOOK_CLASSES_MAX]; /* largest share first */
};

/* As of the last outlook_follow() for a strategy with prices. */
void outlook_report(const struct outlook *o, struct outlook_report *ret);

#endif
