/* A trial: which of two values of a GPU fills a small model cluster better, rollouts or places?
 *
 * While a cluster only fills up, rollouts are the better value where the pods are of many sizes and hosts differ, and
 * places where few sizes make holes that no other fits (decision 0051). So when the demand histogram settles,
 * TRIAL_GPUS empty GPUs are filled with the sampled pods, each pod on the GPU where it takes least of the value, until
 * they have asked for 130 % of the GPUs; and what is allocated at 100 % and at 130 % is compared.
 *
 * Sizes are parts of one GPU of the commonest kind, the larger of compute and memory, in thousandths. Machines, cores
 * and pods without GPUs are left out; a pod of several GPUs counts as so many pods. So it says nothing about
 * hosts, and it is asked for nothing else.
 *
 * All is integer and depends on the lists alone. Cost: a few tenths of a millisecond under the lock, once for
 * each settling, whatever the pods ask for: where they are so small that more than TRIAL_PODS would come in a round,
 * there are fewer GPUs.
 */
#include "base/bug.h"
#include "core/forecast/internal.h"
#include "core/forecast/rollout_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    TRIAL_GPUS = 64,
    TRIAL_PODS = 1024,
    TRIAL_ROUNDS = 8, /* with other pods each: one alone is decided by luck */
    ASKED = 1300,     /* thousandths of all GPUs, in a round */
    ALL = 1000,       /* of a GPU */
    BETTER_MIN = 5,   /* thousandths of the GPUs: up to here places are no better than rollouts, */
    BETTER_SURE = 10, /* and from here on they are */
};

struct trial {
    int32_t size[ROLLOUT_LISTS * ROLLOUT_PODS]; /* of each pod with GPUs that can run here, in the order of the lists */
    uint16_t count[ROLLOUT_LISTS * ROLLOUT_PODS];
    uint16_t end[ROLLOUT_LISTS]; /* of each list, in these */
    unsigned n;
    unsigned gpu_n;
    int32_t least;         /* of all sizes */
    int32_t pods[ALL + 1]; /* of each size */
    int64_t pod_n;
};

/* What of so much of a GPU would be filled, sum over the lists. */
typedef int32_t value_of(const struct trial *t, int32_t free);

/* GPUs by what is free on them: two of one amount are the same. */
struct gpus {
    uint64_t has[ALL / 64 + 1];
    uint8_t n[ALL + 1];
    int32_t value[ALL + 1]; /* -1: not asked for yet; a few hundred amounts ever come up */
    value_of *value_of;
};

static int32_t part_of(int32_t amount, int32_t all)
{
    int64_t part = all <= 0 || amount <= 0 ? 0 : ((int64_t)amount * ALL + all - 1) / all;

    return part < ALL ? (int32_t)part : ALL;
}

unsigned forecast_trial_gpus(int64_t sizes, int64_t pods)
{
    int64_t n = sizes * TRIAL_PODS / (pods * ASKED);

    return (unsigned)(n < 1 ? 1 : n < TRIAL_GPUS ? n : TRIAL_GPUS);
}

static void take_sizes(struct trial *t, const struct rollout_samples *s, unsigned type, const struct device_type *d)
{
    int64_t sizes = 0;

    t->least = ALL;
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        for (unsigned i = 0; i < s->lists[k].n; i++) {
            const struct sample *pod = &s->full[k][i];
            int32_t milli, mem;

            if (pod->count == 0 || pod->plugin_managed || pod->on[type].milli == ROLLOUT_NEVER) {
                continue;
            }
            milli = part_of(pod->on[type].milli, d->milli_cap);
            mem = part_of(pod->on[type].mem_mib, d->mem_high_mib);
            t->size[t->n] = milli > mem ? milli : mem;
            t->size[t->n] = t->size[t->n] > 0 ? t->size[t->n] : 1;
            t->least = t->size[t->n] < t->least ? t->size[t->n] : t->least;
            t->count[t->n] = pod->count;
            t->pods[t->size[t->n]] += pod->count;
            t->pod_n += pod->count;
            sizes += (int64_t)t->size[t->n++] * pod->count;
        }
        t->end[k] = (uint16_t)t->n;
    }
    t->gpu_n = t->pod_n > 0 ? forecast_trial_gpus(sizes, t->pod_n) : 0;
}

static int32_t by_rollouts(const struct trial *t, int32_t free)
{
    int32_t sum = 0;

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        int32_t left = free;

        for (unsigned i = k > 0 ? t->end[k - 1] : 0; i < t->end[k] && left >= t->least; i++) {
            int32_t fit = t->size[i] > left ? 0 : t->count[i] == 1 ? 1 : left / t->size[i];

            left -= (fit < t->count[i] ? fit : t->count[i]) * t->size[i];
        }
        sum += free - left;
    }
    return sum;
}

/* The same if all pods were alike. */
static int32_t by_places(const struct trial *t, int32_t free)
{
    int64_t sum = 0;

    for (int32_t size = t->least; size <= free; size++) {
        sum += t->pods[size] == 0 ? 0 : (int64_t)t->pods[size] * (free / size * size);
    }
    return (int32_t)(sum * ROLLOUT_LISTS / t->pod_n);
}

static int32_t value_at(const struct trial *t, struct gpus *g, int32_t free)
{
    if (g->value[free] < 0) {
        g->value[free] = g->value_of(t, free);
    }
    return g->value[free];
}

static void gpus_add(struct gpus *g, int32_t free, unsigned n)
{
    g->n[free] = (uint8_t)(g->n[free] + n);
    g->has[free / 64] |= UINT64_C(1) << (free % 64);
}

static void gpus_take(struct gpus *g, int32_t free)
{
    if (--g->n[free] == 0) {
        g->has[free / 64] &= ~(UINT64_C(1) << (free % 64));
    }
}

/* What is free on the GPU that loses least of its value; of equals the one with less free. Negative: none fits. */
static int32_t find_gpu(const struct trial *t, struct gpus *g, int32_t size)
{
    int32_t best = -1, least = 0;

    for (int32_t word = size / 64; word <= ALL / 64; word++) {
        uint64_t has = g->has[word] & (word == size / 64 ? UINT64_MAX << (size % 64) : UINT64_MAX);

        for (; has != 0; has &= has - 1) {
            int32_t free = word * 64 + __builtin_ctzll(has);
            int32_t loss = value_at(t, g, free) - value_at(t, g, free - size);

            if (best < 0 || loss < least) {
                best = free;
                least = loss;
            }
        }
    }
    return best;
}

/* What is allocated at 100 % and at 130 %, added up over all rounds. */
static int64_t fill(const struct trial *t, value_of *value)
{
    const int64_t capacity = (int64_t)t->gpu_n * ALL;
    struct gpus g = {.value_of = value};
    int64_t sum = 0;
    unsigned at = 0, copy = 0;

    memset(g.value, -1, sizeof(g.value));
    for (unsigned round = 0; round < TRIAL_ROUNDS; round++) {
        int64_t asked = 0, placed = 0;

        memset(g.has, 0, sizeof(g.has));
        memset(g.n, 0, sizeof(g.n));
        gpus_add(&g, ALL, t->gpu_n);
        while (asked * ALL < capacity * ASKED) {
            int32_t size = t->size[at];
            int32_t free = find_gpu(t, &g, size);

            if (free >= 0) {
                gpus_take(&g, free);
                gpus_add(&g, free - size, 1);
                placed += size;
            }
            sum += asked < capacity && asked + size >= capacity ? placed : 0;
            asked += size;
            if (++copy >= t->count[at]) {
                copy = 0;
                at = (at + 1) % t->n;
            }
        }
        sum += placed;
    }
    return sum;
}

/* Of two shapes with as many devices the larger machine, then the one with more GPU memory, cores and memory; if all
 * that is equal, any, but always the same one. */
static bool is_commoner(const struct node_shape *a, const struct node_shape *b)
{
    const int64_t keys[][2] = {
        {(int64_t)a->node_n * a->device_n, (int64_t)b->node_n * b->device_n},
        {a->device_n, b->device_n},
        {a->types[0].mem_high_mib, b->types[0].mem_high_mib},
        {a->cpu_cap_milli, b->cpu_cap_milli},
        {a->mem_cap_mib, b->mem_cap_mib},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] > keys[i][1];
        }
    }
    return a->hash < b->hash;
}

/* The machines that have most of the cluster's devices, among those with one kind of devices; NULL: none. */
static const struct node_shape *commonest(const struct forecast *o)
{
    const struct node_shape *best = NULL;

    for (uint32_t i = 0; i < o->shape_n; i++) {
        const struct node_shape *s = &o->shapes[i];

        if (s->type_n == 1 && s->node_n > 0 && s->device_n > 0 && (best == NULL || is_commoner(s, best))) {
            best = s;
        }
    }
    return best;
}

int32_t forecast_trial(const struct forecast *o)
{
    const struct node_shape *s = commonest(o);
    struct trial *t;
    int64_t better = 0;

    if (s == NULL) {
        return 0;
    }
    t = xcalloc(1, sizeof(*t));
    take_sizes(t, s->samples, 0, &s->types[0]);
    if (t->n > 0) {
        better = (fill(t, by_places) - fill(t, by_rollouts)) / (2 * TRIAL_ROUNDS * t->gpu_n); /* in thousandths */
    }
    free(t);
    better = (better - BETTER_MIN) * FORECAST_SIXTEENTHS / (BETTER_SURE - BETTER_MIN);
    return (int32_t)(better < 0 ? 0 : better > FORECAST_SIXTEENTHS ? FORECAST_SIXTEENTHS : better);
}
