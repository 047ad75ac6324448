/* binpack: the fullest node and the fullest device first.
 *
 *   device: the least free share before, share_free(d)
 *   node:   the largest used share after, averaged over its devices
 */
#include "core/strategies/strategies_internal.h"

static int64_t device_cost(const struct device_state *d, const struct charge *c)
{
    (void)c;
    return share_free(d);
}

static int64_t node_score(const struct strategy_node *n)
{
    return node_used_share(n);
}

const struct strategy strategy_binpack = {
    .name = "binpack",
    .summary = "fullest node and fullest GPU first",
    .device_cost = device_cost,
    .node_score = node_score,
};
