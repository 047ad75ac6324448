/* spread: the emptiest node and the emptiest device first; binpack turned round. */
#include "core/placement/strategies/strategies_internal.h"

static int64_t device_cost(const struct device_state *d, const struct charge *c)
{
    (void)c;
    return -share_free(d) - (device_is_empty(d) ? 1 : 0);
}

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    (void)o;
    return -node_used_share(n);
}

static size_t score_parts(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                          struct score_part *ret)
{
    (void)o;
    (void)p;
    return node_used_share_parts(n, -1, ret);
}

const struct strategy strategy_spread = {
    .name = "spread",
    .summary = "emptiest node and emptiest GPU first",
    .unit = SCORE_IN_SHARES,
    .device_cost = device_cost,
    .node_score = node_score,
    .score_parts = score_parts,
};
