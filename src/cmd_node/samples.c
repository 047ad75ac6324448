#include "cmd_node/samples.h"

#include "base/compiler.h"
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

static const struct gpu_family {
    const char *name, *help;
    int64_t (*value)(const struct view_gpu *g);
} gpu_families[] = {
    {"fgpu_node_gpu_memory_bytes", "Memory of a GPU or MIG instance that can be used.", gpu_memory},
    {"fgpu_node_gpu_held_memory_bytes", "Memory that the records of its containers give away.", gpu_held_memory},
    {"fgpu_node_gpu_held_milli", "Compute that the records of its containers give away, in thousandths of a GPU.",
     gpu_held_milli},
    {"fgpu_node_gpu_sharers", "Containers that hold it; with 0 it is idle.", gpu_sharers},
    {"fgpu_node_gpu_over", "1 while more of it is held than it has; it admits nobody then.", gpu_over},
    {"fgpu_node_gpu_healthy", "0 while a GPU or MIG instance is ill; no container gets it then.", gpu_healthy},
};

void samples_of_gpus(const struct node_view *v, struct strbuf *out)
{
    for (size_t f = 0; v->gpu_n > 0 && f < ARRAY_LEN(gpu_families); f++) {
        samples_family(out, gpu_families[f].name, gpu_families[f].help, METRIC_GAUGE);
        for (size_t i = 0; i < v->gpu_n; i++) {
            const struct samples_label gpu = {"gpu", v->gpus[i].device.uuid};

            samples_add(out, gpu_families[f].name, &gpu, 1, gpu_families[f].value(&v->gpus[i]), METRIC_UNIT_ONE);
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

static const struct usage_family {
    const char *name, *help;
    enum metric_type type;
    enum metric_unit unit;
    int64_t (*value)(const struct usage_row *r);
} usage_families[] = {
    {"fgpu_node_container_gpu_memory_used_bytes", "Memory of a GPU that the processes of a container use.",
     METRIC_GAUGE, METRIC_UNIT_ONE, memory_used},
    {"fgpu_node_container_gpu_memory_peak_bytes", "The most that was seen of it.", METRIC_GAUGE, METRIC_UNIT_ONE,
     memory_peak},
    {"fgpu_node_container_gpu_memory_mean_bytes", "Its mean over the observed time.", METRIC_GAUGE, METRIC_UNIT_ONE,
     memory_mean},
    {"fgpu_node_container_gpu_memory_given_bytes", "What the record of the container gives it.", METRIC_GAUGE,
     METRIC_UNIT_ONE, memory_given},
    {"fgpu_node_container_gpu_utilization_ratio",
     "Part of the time in which the kernels of a container kept the GPU busy, since the last look.", METRIC_GAUGE,
     METRIC_UNIT_PERMILLE, compute_used},
    {"fgpu_node_container_gpu_utilization_peak_ratio", "The most that was seen of it.", METRIC_GAUGE,
     METRIC_UNIT_PERMILLE, compute_peak},
    {"fgpu_node_container_gpu_utilization_mean_ratio", "Its mean over the observed time.", METRIC_GAUGE,
     METRIC_UNIT_PERMILLE, compute_mean},
    {"fgpu_node_container_gpu_given_ratio", "The part of the GPU that the record of the container gives it.",
     METRIC_GAUGE, METRIC_UNIT_PERMILLE, compute_given},
    {"fgpu_node_container_gpu_observed_seconds", "For how long it was looked at.", METRIC_GAUGE, METRIC_UNIT_MS,
     observed_ms},
    {"fgpu_node_container_gpu_touched", "0 if no process of the container was ever seen on the GPU that it holds.",
     METRIC_GAUGE, METRIC_UNIT_ONE, touched},
    {"fgpu_node_container_gpu_over_limit",
     "1 while a container that shares a GPU uses more of its memory than its record gives it.", METRIC_GAUGE,
     METRIC_UNIT_ONE, over},
    {"fgpu_node_container_gpu_over_limit_seconds", "Since when, 0 if it is not.", METRIC_GAUGE, METRIC_UNIT_MS,
     over_ms},
    {"fgpu_node_container_gpu_crowding_seconds_total",
     "Time in which it used more compute than its share of a busy GPU while another container had less than its own.",
     METRIC_COUNTER, METRIC_UNIT_MS, crowding_ms},
};

static void add_usage(const struct usage_family *f, const struct usage_row *r, struct strbuf *out)
{
    const struct samples_label labels[] = {{"namespace", r->holder.namespace_},
                                           {"pod", r->holder.pod},
                                           {"container", r->holder.container},
                                           {"gpu", r->holder.gpu}};
    const int64_t value = f->value(r);

    if (value != USAGE_UNKNOWN) {
        samples_add(out, f->name, labels, ARRAY_LEN(labels), value, f->unit);
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
    for (size_t f = 0; usage_n(u) > 0 && f < ARRAY_LEN(usage_families); f++) {
        samples_family(out, usage_families[f].name, usage_families[f].help, usage_families[f].type);
        for (size_t i = 0; i < usage_n(u); i++) {
            if (!has_later(u, usage_at(u, i))) {
                add_usage(&usage_families[f], usage_at(u, i), out);
            }
        }
    }
}
