/* gpu-packing: GPUs in use first, then free GPUs of nodes in use, nodes that are free last.
 *
 *   node:   every GPU free                    max(33 - GPUs, GPUs)
 *           free GPUs must be opened          max(50 - opened, 33)
 *           GPUs in use are enough            max(100 - floor(sum of their free percents / 10), 50)
 *           the pod wants no GPU              0
 *   device: published_device_cost()
 *
 * Source: as core/placement/strategies/published.h.
 */
#include "core/placement/strategies/published.h"

#define FREE_NODE_TOP 33
#define FREE_GPU_TOP 50
#define USED_GPU_TOP 100

static int64_t at_least(int64_t score, int64_t least)
{
    return score > least ? score : least;
}

static int64_t score_of(int64_t gpu_n, int64_t free_n, int64_t opened_n, int64_t free_percents)
{
    if (free_n == gpu_n) {
        return at_least(FREE_NODE_TOP - gpu_n, gpu_n);
    }
    if (opened_n > 0) {
        return at_least(FREE_GPU_TOP - opened_n, FREE_NODE_TOP);
    }
    return at_least(USED_GPU_TOP - free_percents / 10, FREE_GPU_TOP);
}

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    int64_t gpu_n = 0, free_n = 0, opened_n = 0, free_percents = 0;

    (void)o;
    if (!published_asks_gpu(n)) {
        return 0;
    }
    if (n->demand->plugin_managed_n > 0) {
        return score_of(n->plugin_managed_cap, n->plugin_managed_free + n->demand->plugin_managed_n,
                        n->demand->plugin_managed_n, 0);
    }
    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *b = &n->before[i];
        bool empty = device_is_empty(b);

        if ((b->flags & (DEVICE_HEALTHY | DEVICE_LOST)) != DEVICE_HEALTHY) {
            continue;
        }
        gpu_n++;
        free_n += empty;
        if (n->after[i].slot_free == b->slot_free) { /* not touched */
            continue;
        }
        opened_n += empty;
        free_percents += b->milli_cap > 0 ? (int64_t)b->milli_free * 100 / b->milli_cap : 0;
    }
    return score_of(gpu_n, free_n, opened_n, free_percents);
}

const struct strategy strategy_gpu_packing = {
    .name = "gpu-packing",
    .summary = "published: GPUs in use first, free nodes last",
    .device_cost = published_device_cost,
    .node_score = node_score,
};
