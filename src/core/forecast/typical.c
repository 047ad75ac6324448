/* The most frequent shapes of pods, as the strategy fgd goes by them (packing.md: "Typical pods").
 *
 * Shapes of the histogram that differ in memory alone are merged, sorted by weight, and cut where 95 % of the pods are
 * covered. Made anew only when the histogram settles, or when models, nodes or the largest GPU change: O(n log n) for n
 * shapes. Orders and roundings are those of the published results: fgd has ties that the last bit of a probability
 * breaks, and replays are compared bit by bit (packing.md 3).
 */
#include "base/bug.h"
#include "base/order.h"
#include "core/forecast/internal.h"

#include <stdlib.h>
#include <string.h>

/* Percent of all pods that the typical ones make. */
enum { COVERED = 95 };

struct candidate {
    struct forecast_typical shape;
    uint64_t weight;
};

static int compare_models(const struct forecast_typical *a, const struct forecast_typical *b)
{
    for (size_t i = 0; i < a->model_n && i < b->model_n; i++) {
        int c = str_cmp(a->models[i].text, b->models[i].text);

        if (c != 0 || a->models[i].exclude != b->models[i].exclude) {
            return c != 0 ? c : a->models[i].exclude - b->models[i].exclude;
        }
    }
    return ORDER(a->model_n, b->model_n);
}

/* Larger first. */
static int compare_shapes(const struct forecast_typical *a, const struct forecast_typical *b)
{
    int c = ORDER(b->cpu_milli, a->cpu_milli);

    c = c != 0 ? c : ORDER(b->milli, a->milli);
    c = c != 0 ? c : ORDER(b->count, a->count);
    c = c != 0 ? c : compare_models(b, a);
    return c != 0 ? c : b->plugin_managed - a->plugin_managed;
}

static int by_shape(const void *a, const void *b)
{
    return compare_shapes(&((const struct candidate *)a)->shape, &((const struct candidate *)b)->shape);
}

static int by_weight(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1) : by_shape(a, b);
}

static int32_t milli_of(const struct demand_histogram_shape *s, const struct device_state *largest)
{
    struct gpu_request w = {.kind = s->kind, .milli = s->milli, .mem_mib = s->mem_mib};

    return gpu_request_kind_is_of_memory(s->kind) ? device_charge(largest, NULL, &w).milli : s->milli;
}

static size_t collect(const struct demand_histogram *m, const struct device_state *largest, struct candidate *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < demand_histogram_shape_n(m); i++) {
        const struct demand_histogram_shape *s = demand_histogram_shape(m, i);

        if (s->weight > 0) {
            ret[n++] = (struct candidate){
                .shape = {.cpu_milli = s->host.cpu_milli,
                          .milli = milli_of(s, largest),
                          .count = s->count,
                          .plugin_managed = s->plugin_managed,
                          .model_n = s->model_n,
                          .models = s->models},
                .weight = s->weight,
            };
        }
    }
    return n;
}

/* Those that differ in memory only become one. */
static size_t merge(struct candidate *all, size_t n)
{
    size_t merged = 0;

    qsort(all, n, sizeof(*all), by_shape);
    for (size_t i = 0; i < n; i++) {
        if (merged > 0 && compare_shapes(&all[merged - 1].shape, &all[i].shape) == 0) {
            all[merged - 1].weight += all[i].weight;
        } else {
            all[merged++] = all[i];
        }
    }
    return merged;
}

/* The shortest prefix that covers enough; its weight in *ret_covered, that of all in *ret_sum. */
static size_t prefix(const struct candidate *all, size_t n, uint64_t *ret_covered, uint64_t *ret_sum)
{
    uint64_t sum = 0, covered = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        sum += all[i].weight;
    }
    while (kept < n && covered * 100 < sum * COVERED) {
        covered += all[kept++].weight;
    }
    *ret_covered = covered;
    *ret_sum = sum;
    return kept;
}

static void allow_models(struct forecast_typicals *t, const struct cluster_view *c)
{
    t->allowed = xreallocarray(t->allowed, t->n * t->model_n + 1, 1);
    for (size_t i = 0; i < t->n; i++) {
        struct forecast_typical *s = &t->shapes[i];
        struct demand d = {.model_n = s->model_n, .models = s->models};

        s->allowed_models = models_allowed(c->models, &d, t->allowed + i * t->model_n);
    }
}

/* One GPU as large as the largest, empty and without over-commit. Where some of that size share their compute and
 * others do not, as one that does. */
static struct device_state largest_device(const struct cluster_view *c)
{
    struct device_state max = {.milli_cap = DEVICE_MILLI};

    for (uint32_t i = 0; i < c->node_n; i++) {
        for (uint32_t k = 0; k < c->nodes[i].device_n; k++) {
            const struct device_state *d = &c->devices[c->nodes[i].first_device + k];

            if (d->mem_base_mib > max.mem_base_mib ||
                (d->mem_base_mib == max.mem_base_mib && d->memory_only < max.memory_only)) {
                max.mem_base_mib = max.mem_cap_mib = d->mem_base_mib;
                max.memory_only = d->memory_only;
            }
        }
    }
    return max;
}

void forecast_typicals_follow(struct forecast *o, const struct cluster_view *c)
{
    const struct demand_histogram *m = forecast_demand_histogram(o, c->demand_histogram);
    struct forecast_typicals *t = &o->typical;
    bool same = t->known && t->demand_histogram_version == demand_histogram_version(m) &&
                t->models_version == intern_version(c->models) && t->names_version == c->names_version;
    struct device_state largest;
    struct candidate *all;
    uint64_t covered, sum;

    if (same && t->gpus_version == c->gpus_version) {
        return;
    }
    largest = largest_device(c);
    t->gpus_version = c->gpus_version;
    if (same && device_equal(&largest, &t->largest)) {
        return;
    }
    t->largest = largest;
    t->demand_histogram_version = demand_histogram_version(m);
    t->model_n = intern_count(c->models);
    t->models_version = intern_version(c->models);
    t->names_version = c->names_version;
    t->known = true;
    t->version++;
    all = xcalloc(demand_histogram_shape_n(m) + 1, sizeof(*all));
    t->n = merge(all, collect(m, &largest, all));
    qsort(all, t->n, sizeof(*all), by_weight);
    t->n = prefix(all, t->n, &covered, &sum);
    t->shapes = xreallocarray(t->shapes, t->n + 1, sizeof(*t->shapes));
    for (size_t i = 0; i < t->n; i++) {
        t->shapes[i] = all[i].shape;
        /* Rounded twice, as published: fgd has ties that the last bit breaks. */
        t->shapes[i].probability = (double)all[i].weight / (double)sum / ((double)covered / (double)sum);
    }
    free(all);
    allow_models(t, c);
}

void forecast_typicals_fini(struct forecast_typicals *t)
{
    free(t->shapes);
    free(t->allowed);
}

size_t forecast_typical_n(const struct forecast *o)
{
    return o->typical.n;
}

const struct forecast_typical *forecast_typical(const struct forecast *o)
{
    return o->typical.shapes;
}

uint64_t forecast_typical_version(const struct forecast *o)
{
    return o->typical.version;
}
