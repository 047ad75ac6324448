#include "cmd_node/samples.h"

#include "base/compiler.h"
#include "obs/node_catalog.h"
#include "obs/samples.h"

/* ---- GPUs ---- */

static int64_t gpu_memory(const struct view_gpu *g)
{
    return g->device.mem_mib << 20;
}

static int64_t gpu_held_memory(const struct view_gpu *g)
{
    return g->held.mem_mib << 20;
}

static int64_t gpu_held_milli(const struct view_gpu *g)
{
    return g->held.milli;
}

static int64_t gpu_sharers(const struct view_gpu *g)
{
    return g->held.sharers;
}

static int64_t gpu_over(const struct view_gpu *g)
{
    return g->over;
}

static int64_t gpu_healthy(const struct view_gpu *g)
{
    return g->device.healthy;
}

static int64_t (*const gpu_values[NODE_GPU_FAMILY__MAX])(const struct view_gpu *g) = {
    [NODE_GPU_MEMORY_BYTES] = gpu_memory,
    [NODE_GPU_HELD_MEMORY_BYTES] = gpu_held_memory,
    [NODE_GPU_HELD_MILLI] = gpu_held_milli,
    [NODE_GPU_SHARERS] = gpu_sharers,
    [NODE_GPU_OVER] = gpu_over,
    [NODE_GPU_HEALTHY] = gpu_healthy,
};

void samples_of_gpus(const struct node_view *v, struct strbuf *out)
{
    for (size_t f = 0; v->gpu_n > 0 && f < NODE_GPU_FAMILY__MAX; f++) {
        samples_family(out, &node_gpu_families[f]);
        for (size_t i = 0; i < v->gpu_n; i++) {
            const struct samples_label gpu = {"gpu", v->gpus[i].device.uuid};

            samples_add(out, &node_gpu_families[f], &gpu, 1, gpu_values[f](&v->gpus[i]));
        }
    }
}

/* ---- containers ---- */

static int64_t memory_used(const struct usage_row *r)
{
    return r->mem_bytes.now;
}

static int64_t memory_peak(const struct usage_row *r)
{
    return r->mem_bytes.peak;
}

static int64_t memory_mean(const struct usage_row *r)
{
    return r->mem_bytes.mean;
}

static int64_t memory_given(const struct usage_row *r)
{
    return r->holder.mem_bytes;
}

static int64_t compute_used(const struct usage_row *r)
{
    return r->milli.now;
}

static int64_t compute_peak(const struct usage_row *r)
{
    return r->milli.peak;
}

static int64_t compute_mean(const struct usage_row *r)
{
    return r->milli.mean;
}

static int64_t compute_given(const struct usage_row *r)
{
    return r->holder.milli;
}

static int64_t observed_ms(const struct usage_row *r)
{
    return (r->seen_ns - r->since_ns) / 1000000;
}

static int64_t touched(const struct usage_row *r)
{
    return r->touched;
}

static int64_t over_ms(const struct usage_row *r)
{
    return r->over_since_ns == USAGE_UNKNOWN ? 0 : (r->seen_ns - r->over_since_ns) / 1000000;
}

static int64_t over(const struct usage_row *r)
{
    return r->over_since_ns != USAGE_UNKNOWN;
}

static int64_t crowding_ms(const struct usage_row *r)
{
    return r->crowding_ns / 1000000;
}

static int64_t (*const container_values[NODE_CONTAINER_FAMILY__MAX])(const struct usage_row *r) = {
    [NODE_CONTAINER_MEMORY_USED_BYTES] = memory_used,
    [NODE_CONTAINER_MEMORY_PEAK_BYTES] = memory_peak,
    [NODE_CONTAINER_MEMORY_MEAN_BYTES] = memory_mean,
    [NODE_CONTAINER_MEMORY_GIVEN_BYTES] = memory_given,
    [NODE_CONTAINER_UTILIZATION_RATIO] = compute_used,
    [NODE_CONTAINER_UTILIZATION_PEAK_RATIO] = compute_peak,
    [NODE_CONTAINER_UTILIZATION_MEAN_RATIO] = compute_mean,
    [NODE_CONTAINER_GIVEN_RATIO] = compute_given,
    [NODE_CONTAINER_OBSERVED_SECONDS] = observed_ms,
    [NODE_CONTAINER_TOUCHED] = touched,
    [NODE_CONTAINER_OVER_LIMIT] = over,
    [NODE_CONTAINER_OVER_LIMIT_SECONDS] = over_ms,
    [NODE_CONTAINER_CROWDING_SECONDS_TOTAL] = crowding_ms,
};

static void add_usage(enum node_container_family f, const struct usage_row *r, struct strbuf *out)
{
    const struct samples_label labels[] = {{"namespace", r->holder.namespace_},
                                           {"pod", r->holder.pod},
                                           {"container", r->holder.container},
                                           {"gpu", r->holder.gpu}};
    const int64_t value = container_values[f](r);

    if (value != USAGE_UNKNOWN) {
        samples_add(out, &node_container_families[f], labels, ARRAY_LEN(labels), value);
    }
}

/* Of two instances of a container of a pod, which are there together for a moment, the later one. */
static bool has_later(const struct usage *u, const struct usage_row *r)
{
    for (size_t i = 0; i < usage_n(u); i++) {
        const struct usage_row *o = usage_at(u, i);

        if (o != r && str_eq(o->holder.gpu, r->holder.gpu) && str_eq(o->holder.namespace_, r->holder.namespace_) &&
            str_eq(o->holder.pod, r->holder.pod) && str_eq(o->holder.container, r->holder.container) &&
            (o->since_ns > r->since_ns || (o->since_ns == r->since_ns && o < r))) {
            return true;
        }
    }
    return false;
}

void samples_of_usage(const struct usage *u, struct strbuf *out)
{
    for (size_t f = 0; usage_n(u) > 0 && f < NODE_CONTAINER_FAMILY__MAX; f++) {
        samples_family(out, &node_container_families[f]);
        for (size_t i = 0; i < usage_n(u); i++) {
            if (!has_later(u, usage_at(u, i))) {
                add_usage((enum node_container_family)f, usage_at(u, i), out);
            }
        }
    }
}
