/* core/placement/strategies/published.h - what the strategies of the literature share.
 *
 * best-fit, dot-product, gpu-packing, gpu-clustering and fgd are here as they were published with
 * the simulator of "Beware of Fragmentation" (Weng et al., USENIX ATC 2023), so that a replay of
 * its experiments gives its numbers. Their constants are those of the cluster they were made on: no
 * machine had more than 128 cores or 8 GPUs. On larger machines scores leave 0..100, in the same
 * order.
 *
 * They know cores and GPU compute, no GPU memory. Where they need a node's GPU room, it is the idle
 * milli of its healthy devices, or a thousand for each free GPU of a plugin if the pod wants those.
 */
#ifndef CORE_PLACEMENT_STRATEGIES_PUBLISHED_H
#define CORE_PLACEMENT_STRATEGIES_PUBLISHED_H

#include "core/placement/strategies/strategies_internal.h"

#define PUBLISHED_CPU_MILLI 128000
#define PUBLISHED_GPU_MILLI (8 * DEVICE_MILLI)
#define PUBLISHED_SCORE_MAX 100

/* The tightest device that fits, by compute, then by memory; whole ones in their order. */
int64_t published_device_cost(const struct device_state *d, const struct charge *c);

/* GPU room of the kind the pod wants. */
struct gpu_residual {
    int64_t before_milli;
    int64_t after_milli;
};
struct gpu_residual published_gpu_residual(const struct strategy_node *n);

/* Cores left; nothing where they are not known. */
static inline int64_t published_cpu_after(const struct strategy_node *n)
{
    return n->host.cpu_cap_milli > 0 ? n->host.cpu_free_milli : 0;
}

static inline int64_t published_cpu_before(const struct strategy_node *n)
{
    return n->host.cpu_cap_milli > 0 ? n->node->host.cpu_free_milli : 0;
}

static inline bool published_asks_gpu(const struct strategy_node *n)
{
    return n->demand->gpu_request_n > 0 || n->demand->plugin_managed_n > 0;
}

/* Rounded down, also below zero; b > 0. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

#endif
