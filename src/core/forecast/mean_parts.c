/* What a pod counts for, whichever GPU it gets (packing.md 5.1: mean parts).
 *
 * 6 GiB are a third of one GPU and a thirteenth of another, but it is the same pod. So a kind of pods counts for its
 * mean part of all GPUs that it could run on; and what is free on a machine counts for as much more as these pods take
 * less of its GPUs than they do in the mean:
 *
 *   m  of a kind of pods: mean part of compute, over the GPUs that can run it when they are empty
 *   u  of a machine: sum over the kinds that it can run of n m / sum of n x their part of its GPUs
 *
 * Where all GPUs are alike, and where pods ask for compute alone, m is what they take and u is 1. All is integer and
 * sums over kinds and shapes, so their order does not matter. Cost: kinds of pods x shapes of nodes, once per settling.
 */
#include "base/bug.h"
#include "core/forecast/internal.h"

#include <stdlib.h>

enum { TIMES_MAX = 16 * FORECAST_TIMES_ONE }; /* keeps values within 32 bits; no GPU has that much more than another */

/* Of the GPUs of one machine that can run a kind of pods: what these take of all together, and how many there are. */
struct parts {
    int64_t milli, device_n;
};

/* Sums over kinds: what they count for, and what they take here. */
struct sums {
    unsigned __int128 mean, here;
};

static struct parts parts_of(const struct node_shape *s, const struct sample *d)
{
    struct parts ret = {0, 0};

    for (unsigned t = 0; t < s->type_n; t++) {
        if (d->on[t].milli != ROLLOUT_NEVER) {
            ret.milli += (int64_t)d->on[t].milli * s->types[t].device_n;
            ret.device_n += s->types[t].device_n;
        }
    }
    return ret;
}

/* To the nearest. */
static int64_t quotient(unsigned __int128 sum, unsigned __int128 n)
{
    return (int64_t)((sum + n / 2) / n);
}

static int32_t mean(struct parts p)
{
    return (int32_t)quotient((uint64_t)p.milli, (uint64_t)p.device_n);
}

/* Returns m of one kind; `ret`: its parts of a machine of each shape. */
static int32_t mean_part(const struct forecast *o, const struct cluster_view *c,
                         const struct demand_histogram_shape *pod, uint8_t *buffer, struct parts *ret)
{
    const struct demand d = {.model_n = pod->model_n, .models = pod->models};
    const uint8_t *allowed = models_allowed(c->models, &d, buffer);
    struct parts all = {0, 0};

    for (uint32_t i = 0; i < o->shape_n; i++) {
        const struct node_shape *s = &o->shapes[i];
        struct sample resolved;

        ret[i] = (struct parts){0, 0};
        if (s->node_n > 0 && forecast_runs(s, pod, allowed, &resolved)) {
            ret[i] = parts_of(s, &resolved);
        }
        all.milli += ret[i].milli * s->node_n;
        all.device_n += ret[i].device_n * s->node_n;
    }
    return all.device_n > 0 ? mean(all) : pod->milli;
}

static int32_t times_of(const struct sums *s)
{
    if (s->here == 0) {
        return FORECAST_TIMES_ONE;
    }
    return s->mean * FORECAST_TIMES_ONE < s->here * TIMES_MAX ? (int32_t)quotient(s->mean * FORECAST_TIMES_ONE, s->here)
                                                              : TIMES_MAX;
}

void forecast_mean_parts(struct forecast *o, const struct cluster_view *c, struct expected *pods, size_t n)
{
    struct sums *sums = xcalloc(o->shape_n + 1, sizeof(*sums));
    struct parts *parts = xcalloc(o->shape_n + 1, sizeof(*parts));
    uint8_t *buffer = xmalloc(o->model_n + 1);

    for (size_t i = 0; i < n; i++) {
        unsigned __int128 devices = (unsigned __int128)pods[i].weight * pods[i].shape->count;

        if (devices == 0) {
            continue;
        }
        pods[i].mean_milli = mean_part(o, c, pods[i].shape, buffer, parts);
        for (uint32_t k = 0; k < o->shape_n; k++) {
            if (parts[k].device_n > 0) {
                sums[k].mean += devices * (uint32_t)pods[i].mean_milli;
                sums[k].here += devices * (uint32_t)mean(parts[k]);
            }
        }
    }
    for (uint32_t k = 0; k < o->shape_n; k++) {
        o->shapes[k].times = times_of(&sums[k]);
    }
    free(buffer);
    free(parts);
    free(sums);
}
