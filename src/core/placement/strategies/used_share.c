#include "core/placement/strategies/strategies_internal.h"

int64_t node_used_share(const struct strategy_node *n)
{
    int64_t used = 0, whole = 0;

    for (size_t i = 0; i < n->device_n; i++) {
        used += 2 * SHARE_ALL - share_free(&n->after[i]);
    }
    if (n->device_n > 0) {
        used /= (int64_t)n->device_n;
    }
    if (n->plugin_managed_cap > 0) {
        whole =
            2 * (int64_t)SHARE_ALL * ((int64_t)n->plugin_managed_cap - n->plugin_managed_free) / n->plugin_managed_cap;
    }
    return used > whole ? used : whole;
}
