#include "core/placement/strategies/published.h"

#include "core/forecast/fragmentation.h"

int64_t published_device_cost(const struct device_state *d, const struct charge *c)
{
    (void)c;
    /* What takes anything has memory of 0 or more free: 31 bits. */
    return (int64_t)d->milli_free * (INT64_C(1) << 31) + d->mem_free_mib;
}

struct gpu_residual published_gpu_residual(const struct strategy_node *n)
{
    struct gpu_residual r = {0};

    if (n->demand->plugin_managed_n > 0) {
        r.after_milli = plugin_units_milli(n->plugin_managed_free, n->node->plugin_managed_per_gpu);
        r.before_milli =
            r.after_milli + plugin_units_milli(n->demand->plugin_managed_n, n->node->plugin_managed_per_gpu);
        return r;
    }
    for (size_t i = 0; i < n->device_n; i++) {
        r.before_milli += device_idle_milli(&n->before[i]);
        r.after_milli += device_idle_milli(&n->after[i]);
    }
    return r;
}
