/* The lists of sampled pods, from the demand histogram (packing.md 5.1, "Samples").
 *
 * The expected pods are sorted by how many devices, how much of them, cores and memory they ask for. The sorted row is
 * cut into as many parts of equal weight as the lists have places, 16 x 64, and the pod in the middle of each part is
 * taken. So no luck is involved, and the sample as a whole is as close to the histogram as 1,024 pods can be. The pods
 * are dealt to the lists in turn, as cards are: each list gets every 16th pod of the sorted row, so each list is a
 * small picture of the histogram, too. Then each list is shuffled, because the order of a list is the order of arrival.
 * The seed of the shuffle is fixed.
 *
 * All shapes of nodes get the same lists, less the pods that could not run on an empty node of the shape. So two nodes
 * are compared by the same pods, and their difference is not noise. The lists stay as they are until the histogram
 * settles on other pods; therefore what is remembered of a residual stays true.
 *
 * Invariants. The sort is by a total order of shapes of pods, so the lists do not depend on the order in which pods
 * came. forecast_classes_build() adds up floating point numbers in this same order. Kinds with the weight 0 are never
 * taken.
 *
 * Cost, once per settling: O(n log n) for n kinds of pods, then O(n x device types + 1,024) for each shape of nodes.
 */
#include "base/bug.h"
#include "base/order.h"
#include "base/rng.h"
#include "core/forecast/internal.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = ROLLOUT_LISTS * ROLLOUT_PODS, SHUFFLE_SEED = 1 };

/* ---- one pod on one node ---- */

/* What a pod takes of each device of this type, when it is empty. Requests are charged by the smaller capacity of the
 * shape and held against the larger one: rounding may let a pod in that just does not fit, but none is left out that
 * does. Of memory that is unknown a device has 0, as when pods are placed: who asks for some goes elsewhere. */
static struct sample_charge charge_on(const struct device_type *t, const struct demand_histogram_shape *pod)
{
    struct gpu_request w = {.kind = pod->kind, .milli = pod->milli, .mem_mib = pod->mem_mib};
    const struct device_state d = {.milli_cap = t->milli_cap,
                                   .mem_cap_mib = t->mem_low_mib,
                                   .mem_base_mib = t->base_low_mib,
                                   .memory_only = t->memory_only};
    struct charge c = device_charge(&d, NULL, &w);
    bool fits = c.milli <= t->milli_cap && c.mem_mib <= t->mem_high_mib;

    return fits ? (struct sample_charge){c.milli, (int32_t)c.mem_mib} : (struct sample_charge){ROLLOUT_NEVER, 0};
}

static bool fits_host(const struct node_shape *s, const struct demand_histogram_shape *pod)
{
    return (s->cpu_cap_milli == 0 || pod->host.cpu_milli <= s->cpu_cap_milli) &&
           (s->mem_cap_mib == 0 || pod->host.mem_mib <= s->mem_cap_mib);
}

static bool allows(const uint8_t *allowed, const struct device_type *t)
{
    return allowed == NULL || (t->model_id != UINT16_MAX && allowed[t->model_id] != 0);
}

bool forecast_runs(const struct node_shape *s, const struct demand_histogram_shape *pod, const uint8_t *allowed,
                   struct sample *ret)
{
    unsigned fit_n = 0, allowed_n = 0;

    *ret = (struct sample){.cpu_milli = pod->host.cpu_milli,
                           .mem_mib = pod->host.mem_mib,
                           .count = pod->count,
                           .plugin_managed = pod->plugin_managed};
    if (!fits_host(s, pod)) {
        return false;
    }
    for (unsigned i = 0; i < s->type_n && pod->count > 0; i++) {
        const struct device_type *t = &s->types[i];
        bool ok = allows(allowed, t);

        ret->on[i] = ok ? charge_on(t, pod) : (struct sample_charge){ROLLOUT_NEVER, 0};
        allowed_n += ok;
        fit_n += ret->on[i].milli != ROLLOUT_NEVER ? t->device_n : 0;
    }
    if (pod->plugin_managed) { /* kubelet may pick any of them, so all must be allowed */
        return pod->count <= s->plugin_managed_n && allowed_n == s->type_n;
    }
    return pod->count <= fit_n;
}

/* ---- sampling ---- */

static int compare_text(const struct demand_histogram_shape *a, const struct demand_histogram_shape *b)
{
    int c = ORDER(a->model_n, b->model_n);

    for (size_t i = 0; i < a->model_n && c == 0; i++) {
        c = str_cmp(a->models[i].text, b->models[i].text);
        c = c != 0 ? c : a->models[i].exclude - b->models[i].exclude;
    }
    return c;
}

/* By what is hard to place: neighbours in the row are alike to a node. The rest only makes the order total. */
static int compare_pods(const void *x, const void *y)
{
    const struct demand_histogram_shape *a = ((const struct expected *)x)->shape,
                                        *b = ((const struct expected *)y)->shape;
    const int64_t keys[][2] = {
        {a->count, b->count},
        {a->milli, b->milli},
        {a->host.cpu_milli, b->host.cpu_milli},
        {a->host.mem_mib, b->host.mem_mib},
        {a->mem_mib, b->mem_mib},
        {a->kind, b->kind},
        {a->plugin_managed, b->plugin_managed},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return ORDER(keys[i][0], keys[i][1]);
        }
    }
    return compare_text(a, b);
}

/* Which pod each sample is: sample i stands at (2i + 1) / 2N of the weight. Exact in 128 bits: a weight has 64
 * and 2N has 12. `at` never leaves the row, because the middle of a part is always below the whole. O(n + N), N =
 * ROLLOUT_LISTS x ROLLOUT_PODS. False when nothing is expected. */
static bool sample_pods(const struct expected *pods, size_t n, uint32_t *ret)
{
    unsigned __int128 sum = 0, below = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        sum += pods[i].weight;
    }
    if (sum == 0) {
        return false;
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        unsigned __int128 middle = (2 * i + 1) * sum;

        while ((below + pods[at].weight) * (2 * SAMPLES) <= middle) {
            below += pods[at++].weight;
        }
        ret[i] = (uint32_t)at;
    }
    return true;
}

static void deal(const uint32_t *samples, uint32_t lists[ROLLOUT_LISTS][ROLLOUT_PODS])
{
    struct rng rng;

    rng_init(&rng, SHUFFLE_SEED);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        lists[i % ROLLOUT_LISTS][i / ROLLOUT_LISTS] = samples[i];
    }
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        for (uint32_t i = ROLLOUT_PODS - 1; i > 0; i--) {
            uint32_t j = (uint32_t)rng_below(&rng, i + 1), t = lists[k][i];

            lists[k][i] = lists[k][j];
            lists[k][j] = t;
        }
    }
}

static void build_shape(struct forecast *o, const struct cluster_view *c, struct node_shape *s,
                        const struct expected *pods, size_t n, uint32_t lists[ROLLOUT_LISTS][ROLLOUT_PODS], bool any)
{
    struct sample *resolved = xmalloc((n + 1) * sizeof(*resolved));
    bool *runs = xcalloc(n + 1, sizeof(*runs));
    uint8_t *residual = xmalloc(o->model_n + 1);

    if (s->samples == NULL) {
        s->samples = rollout_samples_new(s->type_n);
    }
    rollout_samples_clear(s->samples);
    for (unsigned i = 0; i < s->type_n; i++) {
        rollout_samples_memory(s->samples, i, s->types[i].mem_high_mib);
    }
    for (size_t i = 0; i < n; i++) {
        struct demand d = {.model_n = pods[i].shape->model_n, .models = pods[i].shape->models};

        runs[i] = forecast_runs(s, pods[i].shape, models_allowed(c->models, &d, residual), &resolved[i]);
        resolved[i].worth_milli = pods[i].worth_milli;
    }
    for (unsigned k = 0; k < ROLLOUT_LISTS && any; k++) {
        for (unsigned i = 0; i < ROLLOUT_PODS; i++) {
            if (runs[lists[k][i]]) {
                rollout_samples_add(s->samples, k, &resolved[lists[k][i]]);
            }
        }
    }
    rollout_samples_seal(s->samples);
    free(residual);
    free(runs);
    free(resolved);
}

void forecast_samples_build(struct forecast *o, const struct cluster_view *c, struct expected *pods, size_t n)
{
    uint32_t samples[SAMPLES] = {0}, lists[ROLLOUT_LISTS][ROLLOUT_PODS];
    bool any;

    qsort(pods, n, sizeof(*pods), compare_pods);
    any = sample_pods(pods, n, samples);
    deal(samples, lists);
    for (uint32_t i = 0; i < o->shape_n; i++) {
        build_shape(o, c, &o->shapes[i], pods, n, lists, any);
    }
    o->samples_gen++;
    rollout_memo_forget(o->passes);
}
