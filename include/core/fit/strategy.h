/* core/fit/strategy.h - preference among placements that are feasible. Pure functions, one file each.
 *
 * Feasibility is decided elsewhere (core/fit/feasibility.h) and is the same for every strategy. Node level and
 * device level are chosen apart: any strategy may serve at either. Scores are integers: replicas must agree.
 *
 * A strategy that knows more than the node before it (what pods are expected, what is scarce) reads that from the
 * forecast, which is a function of the ledger (core/forecast/forecast.h).
 *
 * Strategies keep nothing between calls. The units of a score and of a cost are a strategy's own.
 */
#ifndef CORE_FIT_STRATEGY_H
#define CORE_FIT_STRATEGY_H

#include "core/fit/device_state.h"
#include "core/fit/placement.h"
#include "core/fit/score_part.h"

#include <stddef.h>
#include <stdint.h>

struct forecast;
struct forecast_prices;
struct forecast_terms;
struct pack_result;

/* A node with the placement under judgement: `before` and `after` are its devices without and with it. Whole
 * GPUs of a plugin change no device; for them speak the numbers below. */
struct strategy_node {
    const struct demand *demand;
    const struct node_state *node; /* before */
    const struct device_state *before;
    const struct device_state *after;
    size_t device_n;
    int32_t plugin_managed_cap;  /* GPUs of the plugin; 0: none */
    int32_t plugin_managed_free; /* of these, not taken with the placement */
    struct host_state host;      /* after */
};

struct strategy {
    const char *name;    /* value in the configuration; never changes */
    const char *summary; /* one line for the documentation */
    enum score_unit unit;
    /* Lower is tried first. `d` is the device before, `c` what it would take more (nothing, where an init container
     * reuses what an app container has). Must depend on nothing but these, and not on the model, so that equal devices
     * are interchangeable in the search. */
    int64_t (*device_cost)(const struct device_state *d, const struct charge *c);
    /* Higher is better; comparable between nodes. `o` may be NULL: nothing is known. */
    int64_t (*node_score)(const struct forecast *o, const struct strategy_node *n);
    /* As device strategy: of a pod that takes one device, every different device is judged by node_score, the
     * first of the best wins; device_cost speaks only for pods that take several. */
    bool tries_devices;
    bool looks_ahead; /* node_score reads the forecast, which must have been brought up to date */
    /* NULL, or: node_score at given prices (NULL: those of the forecast as it is), for strategies whose scores follow
     * prices that change more often than nodes do. Leaves in `terms`, if given, what it takes to have the score again
     * at other prices (core/forecast/forecast.h). */
    int64_t (*priced_score)(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                            struct forecast_terms *terms);
    /* NULL, or: the parts of what node_score gives at these prices (NULL: those of the forecast as it is), which add up
     * to it. `ret` has room for SCORE_PARTS_MAX; returns how many, 0: nothing is known. */
    size_t (*score_parts)(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                          struct score_part *ret);
    /* NULL, or: rewrites the scores of all that fit once they are all known (`n` results, of which only those with
     * VERDICT_FITS count). */
    void (*normalise)(struct pack_result *results, size_t n);
};

/* Every strategy, NULL-terminated, in the order of the documentation. */
extern const struct strategy *const strategies[];

const struct strategy *strategy_find(struct str name); /* NULL when unknown */

#endif
