/* fgd (fragmentation gradient descent): where the pod adds least to what the pods that are expected
 * cannot use.
 *
 *   node:   floor(100 sigma((F(before) - F(after)) / 1000)), F as core/forecast/fragmentation.h, sigma the logistic
 *           function. The rounding is part of it: it makes ties, and ties fill node after node.
 *   device: a pod on one GPU: each GPU judged by that score, the first of the best; several: the first free
 *
 * Source: as core/placement/strategies/published.h.
 */
#include "core/forecast/fragmentation.h"
#include "core/placement/strategies/published.h"

#include <math.h>

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    const struct forecast_typical *typical = o == NULL ? NULL : forecast_typical(o);
    size_t typical_n = o == NULL ? 0 : forecast_typical_n(o); /* nothing is known yet */
    const struct fragmentation_node before = fragmentation_node_of(n->node, n->before);
    struct fragmentation_node after = before;
    double saved;

    after.devices = n->after;
    after.plugin_managed_free = n->plugin_managed_free;
    after.host = n->host;
    saved = fragmentation_milli(&before, typical, typical_n) - fragmentation_milli(&after, typical, typical_n);
    return (int64_t)(PUBLISHED_SCORE_MAX * (1 / (1 + exp(-saved / DEVICE_MILLI))));
}

const struct strategy strategy_fgd = {
    .name = "fgd",
    .summary = "published: the place that leaves the least compute unusable for the expected pods",
    .device_cost = published_device_cost,
    .node_score = node_score,
    .tries_devices = true,
    .looks_ahead = true,
};
