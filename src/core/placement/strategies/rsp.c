/* rsp, rollout value and scarcity prices: where the placement destroys least of what the pods to come would use.
 *
 *   node and device: forecast_gain()
 *
 * The formula is packing.md 5.1; why it has two estimates, decision 0051. What is expected is learned from the pods
 * themselves (core/request/demand_histogram.h). It never refuses a pod that fits: like any strategy it only orders
 * placements.
 *
 * Pods of several devices take the fullest that fit, as a scenario would.
 */
#include "core/forecast/forecast.h"
#include "core/placement/strategies/strategies_internal.h"

static int64_t device_cost(const struct device_state *d, const struct charge *c)
{
    (void)c;
    return share_free(d);
}

static int64_t priced_score(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                            struct forecast_terms *terms)
{
    return forecast_gain(o, p != NULL ? p : forecast_prices(o), n, terms);
}

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    return o != NULL ? priced_score(o, NULL, n, NULL) : 0;
}

static size_t score_parts(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                          struct score_part *ret)
{
    return o != NULL ? forecast_gain_parts(o, p != NULL ? p : forecast_prices(o), n, ret) : 0;
}

const struct strategy strategy_rsp = {
    .name = "rsp",
    .summary = "the place where the pod takes least of what later pods could use: learns the demand",
    .unit = SCORE_IN_MILLI,
    .device_cost = device_cost,
    .node_score = node_score,
    .tries_devices = true,
    .looks_ahead = true,
    .priced_score = priced_score,
    .score_parts = score_parts,
};
