/* gpu-clustering: pods beside pods of their own kind (struct node_state.pod_classes).
 *
 *   node:   floor(25 (8 - GPUs free) / 8), plus
 *           75 where only pods of this kind hold GPUs, 50 where others do, too, 25 where nobody does, 0 where only
 *           others do; a pod that wants no GPU: 0
 *   device: published_device_cost()
 *
 * Source: as core/placement/strategies/published.h.
 */
#include "core/placement/strategies/published.h"

#define QUARTER (PUBLISHED_SCORE_MAX / 4)

static int64_t company(uint8_t present, uint8_t mine)
{
    if ((present & mine) != 0) {
        return present == mine ? 3 * QUARTER : 2 * QUARTER;
    }
    return present == 0 ? QUARTER : 0;
}

/* The kind of the pod, as the ledger sees it once it is there. */
static uint8_t own_class(const struct strategy_node *n)
{
    int32_t device_n = n->demand->plugin_managed_n;
    bool whole = true;

    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *b = &n->before[i], *a = &n->after[i];

        if (a->slot_free != b->slot_free) {
            device_n++;
            whole = whole && ((a->flags & DEVICE_EXCLUSIVE) != 0 || b->milli_free - a->milli_free >= DEVICE_MILLI);
        }
    }
    return pod_class_of(device_n, whole);
}

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    int64_t used = PUBLISHED_GPU_MILLI - published_gpu_residual(n).before_milli;

    (void)o;
    if (!published_asks_gpu(n)) {
        return 0;
    }
    return floor_div(QUARTER * used, PUBLISHED_GPU_MILLI) + company(n->node->pod_classes, own_class(n));
}

const struct strategy strategy_gpu_clustering = {
    .name = "gpu-clustering",
    .summary = "published: pods next to pods that use GPUs in the same way",
    .device_cost = published_device_cost,
    .node_score = node_score,
};
