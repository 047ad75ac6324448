/* dot-product: the node whose free cores and GPUs, as a vector, have the smallest product with what
 * the pod asks.
 *
 *   node:   floor(100 (1 - (cores free / 128 x cores asked / 128 + GPUs free / 8 x GPUs asked / 8) / 2))
 *   device: published_device_cost()
 *
 * Source: as core/placement/strategies/published.h.
 */
#include "core/placement/strategies/published.h"

#define ALL ((int64_t)PUBLISHED_CPU_MILLI * PUBLISHED_CPU_MILLI)
#define CPU_PER_GPU ((int64_t)PUBLISHED_CPU_MILLI / PUBLISHED_GPU_MILLI)
#define PRODUCT_MAX (INT64_MAX / (4 * PUBLISHED_SCORE_MAX))

static int64_t product(int64_t a, int64_t b)
{
    int64_t p;

    return __builtin_mul_overflow(a, b, &p) || p > PRODUCT_MAX ? PRODUCT_MAX : (p < -PRODUCT_MAX ? -PRODUCT_MAX : p);
}

static int64_t node_score(const struct forecast *o, const struct strategy_node *n)
{
    struct gpu_residual gpu = published_gpu_residual(n);
    int64_t cpu = product(published_cpu_before(n), n->demand->host.cpu_milli);
    int64_t sum = cpu + product(CPU_PER_GPU * gpu.before_milli, CPU_PER_GPU * (gpu.before_milli - gpu.after_milli));

    (void)o;
    return floor_div(PUBLISHED_SCORE_MAX * (2 * ALL - sum), 2 * ALL);
}

const struct strategy strategy_dot_product = {
    .name = "dot-product",
    .summary = "published: the smallest product of free and requested amounts",
    .device_cost = published_device_cost,
    .node_score = node_score,
};
