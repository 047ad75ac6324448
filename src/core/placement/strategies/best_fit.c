/* best-fit: the node with the least left over, cores and GPUs weighing the same.
 *
 *   node:   floor(100 (1 - (cores left / 128 + GPUs left / 8) / 2)), then rescaled over all nodes that fit, so that the
 *           worst has 0 and the best 100
 *   device: published_device_cost()
 *
 * Source: as core/placement/strategies/published.h.
 */
#include "core/placement/pack.h"
#include "core/placement/strategies/published.h"

/* Both shares over one denominator: 100 / 2 of a share of 128 cores is a milli divided by 2560. */
#define CPU_PER_POINT (2 * PUBLISHED_CPU_MILLI / PUBLISHED_SCORE_MAX)
#define CPU_PER_GPU (PUBLISHED_CPU_MILLI / PUBLISHED_GPU_MILLI)

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    int64_t left = published_cpu_after(n) + CPU_PER_GPU * published_gpu_residual(n).after_milli;

    (void)o;
    return floor_div(INT64_C(2) * PUBLISHED_CPU_MILLI - left, CPU_PER_POINT);
}

static void normalise(struct pack_result *results, size_t n)
{
    int64_t lowest = INT64_MAX, highest = INT64_MIN;

    for (size_t i = 0; i < n; i++) {
        if (results[i].verdict == VERDICT_FITS) {
            lowest = results[i].score < lowest ? results[i].score : lowest;
            highest = results[i].score > highest ? results[i].score : highest;
        }
    }
    for (size_t i = 0; i < n && highest > lowest; i++) {
        if (results[i].verdict == VERDICT_FITS) {
            results[i].score = (results[i].score - lowest) * PUBLISHED_SCORE_MAX / (highest - lowest);
        }
    }
}

const struct strategy strategy_best_fit = {
    .name = "best-fit",
    .summary = "published: the node with the least cores and GPUs left",
    .device_cost = published_device_cost,
    .node_score = node_score,
    .normalise = normalise,
};
