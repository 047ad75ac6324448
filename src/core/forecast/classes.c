/* What may become scarce, and how much of it a node supplies (packing.md 5.1: scarcity classes).
 *
 * Of hosts: pods are classed by the set of node shapes that can run them when empty, and by how many devices they
 * take. The harder of two classes is the one whose hosts are among the other's and that takes no fewer devices; who
 * needs the harder one makes the easier one scarce, too.
 * Of sizes: sizes above half a device that make a good part of the volume; a larger size makes a smaller one scarce.
 *
 * Kinds of pods that nobody has asked for yet have no class, and a cluster that fills up never gives their hosts back.
 * So the statistics begin with a few pods that nobody has seen: for every shape of nodes with several GPUs some that
 * take nearly all of it (packing.md: "prior"). They fade as real pods are counted.
 *
 * All of this is made anew when the demand histogram settles or the shapes of nodes change, which is rare, and is
 * only read between. Cost: kinds of pods x shapes of nodes, then kinds x classes. At most FORECAST_CLASSES_MAX classes
 * are kept, those with the largest share: one bit of node_shape.class_set for each.
 *
 * Invariant: classes_gen grows with every rebuild. Prices, supplies and values say which classes they are of, and those
 * of another generation are never mixed in.
 */
#include "base/bug.h"
#include "core/forecast/internal.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(FORECAST_CLASSES_MAX <= 64, "node_shape.class_set");

enum {
    PRIOR_DEVICES_MIN = 4, /* with the next three: packing.md 5.1, "Prior" */
    PRIOR_PODS = 4,        /* of each shape of nodes */
    PRIOR_CPU_PERCENT = 90,
    PRIOR_MEM_PERCENT = 70,
    PRIOR_VOLUME_PERCENT = 3, /* of all together, at most */
    HOSTS_PERCENT_MAX = 90,   /* a class that nearly every node supplies is not scarce before everything is */
    SIZE_MILLI_MIN = 500,
    SIZE_PERCENT_MIN = 2,
    SIZES_MAX = 16,
};

/* A kind of pods as the statistics see it. */
struct kind {
    struct shape_set hosts;
    const struct demand_histogram_shape *shape; /* NULL: a prior */
    bool plugin_managed;
    int32_t count, milli, mem_mib, cpu_milli, host_mem_mib;
    int32_t mean_milli;
    double pods;
};

static double volume(const struct kind *k)
{
    return k->pods * k->count * k->mean_milli;
}

static bool set_is_empty(const struct shape_set *s)
{
    uint64_t any = 0;

    for (size_t i = 0; i < FORECAST_SHAPES_MAX / 64; i++) {
        any |= s->bits[i];
    }
    return any == 0;
}

static bool set_within(const struct shape_set *a, const struct shape_set *b)
{
    uint64_t outside = 0;

    for (size_t i = 0; i < FORECAST_SHAPES_MAX / 64; i++) {
        outside |= a->bits[i] & ~b->bits[i];
    }
    return outside == 0;
}

/* ---- kinds ---- */

/* The kind, with all shapes of nodes that can run it. Where the amounts depend on the device, the least of any stand
 * for all: less than this is enough on none. */
static struct kind kind_of(const struct forecast *o, const struct cluster_view *c, const struct expected *e,
                           uint8_t *residual)
{
    struct demand d = {.model_n = e->shape->model_n, .models = e->shape->models};
    const uint8_t *allowed = models_allowed(c->models, &d, residual);
    struct kind k = {.shape = e->shape,
                     .plugin_managed = e->shape->plugin_managed,
                     .count = e->shape->count,
                     .milli = e->shape->milli,
                     .cpu_milli = e->shape->host.cpu_milli,
                     .host_mem_mib = e->shape->host.mem_mib,
                     .mean_milli = e->mean_milli,
                     .pods = (double)e->weight / DEMAND_HISTOGRAM_POD};
    int32_t milli = INT32_MAX, mem = INT32_MAX;

    for (uint32_t i = 0; i < o->shape_n; i++) {
        struct sample sample;

        if (o->shapes[i].node_n == 0 || !forecast_runs(&o->shapes[i], e->shape, allowed, &sample)) {
            continue;
        }
        shape_set_add(&k.hosts, i);
        for (unsigned t = 0; t < o->shapes[i].type_n; t++) {
            if (sample.on[t].milli != ROLLOUT_NEVER) {
                milli = sample.on[t].milli > 0 && sample.on[t].milli < milli ? sample.on[t].milli : milli;
                mem = sample.on[t].mem_mib < mem ? sample.on[t].mem_mib : mem;
            }
        }
    }
    k.milli = milli == INT32_MAX ? 0 : milli < DEVICE_MILLI ? milli : DEVICE_MILLI;
    k.mem_mib = e->shape->kind == GPU_REQUEST_WHOLE || mem == INT32_MAX ? 0 : mem;
    return k;
}

static int32_t percent(int32_t v, int p)
{
    return (int32_t)((int64_t)v * p / 100);
}

/* False: shapes with few devices have none. */
static bool prior_of(const struct forecast *o, uint32_t shape, struct kind *ret)
{
    const struct node_shape *s = &o->shapes[shape];
    struct demand_histogram_shape pod = {.kind = GPU_REQUEST_WHOLE, .milli = DEVICE_MILLI};

    if (s->node_n == 0 || (s->device_n < PRIOR_DEVICES_MIN && s->plugin_managed_n < PRIOR_DEVICES_MIN)) {
        return false;
    }
    pod.plugin_managed = s->device_n < PRIOR_DEVICES_MIN;
    pod.count = (uint16_t)(pod.plugin_managed ? s->plugin_managed_n : s->device_n);
    pod.host.cpu_milli = percent(s->cpu_cap_milli, PRIOR_CPU_PERCENT);
    pod.host.mem_mib = percent(s->mem_cap_mib, PRIOR_MEM_PERCENT);
    *ret = (struct kind){.plugin_managed = pod.plugin_managed,
                         .count = pod.count,
                         .milli = DEVICE_MILLI,
                         .mean_milli = DEVICE_MILLI,
                         .cpu_milli = pod.host.cpu_milli,
                         .host_mem_mib = pod.host.mem_mib,
                         .pods = PRIOR_PODS};
    for (uint32_t i = 0; i < o->shape_n; i++) {
        struct sample sample;

        if (o->shapes[i].node_n > 0 && forecast_runs(&o->shapes[i], &pod, NULL, &sample)) {
            shape_set_add(&ret->hosts, i);
        }
    }
    return true;
}

/* They must not outweigh what is known: while few pods have come, four of each would. Before the first real pod there
 * is nothing to compare with, and they stand alone. */
static void fade_priors(struct kind *kinds, size_t real_n, size_t n)
{
    double real = 0, prior = 0, most;

    for (size_t i = 0; i < n; i++) {
        *(i < real_n ? &real : &prior) += volume(&kinds[i]);
    }
    most = real * PRIOR_VOLUME_PERCENT / 100;
    for (size_t i = real_n; i < n && real > 0 && prior > most; i++) {
        kinds[i].pods *= most / prior;
    }
}

static size_t collect(const struct forecast *o, const struct cluster_view *c, const struct expected *pods, size_t n,
                      struct kind *ret)
{
    uint8_t *residual = xmalloc(o->model_n + 1);
    size_t kind_n = 0, real_n;

    for (size_t i = 0; i < n; i++) {
        if (pods[i].shape->count > 0) {
            ret[kind_n] = kind_of(o, c, &pods[i], residual);
            kind_n += !set_is_empty(&ret[kind_n].hosts) && ret[kind_n].milli > 0;
        }
    }
    real_n = kind_n;
    for (uint32_t i = 0; i < o->shape_n; i++) {
        kind_n += prior_of(o, i, &ret[kind_n]);
    }
    fade_priors(ret, real_n, kind_n);
    free(residual);
    return kind_n;
}

/* ---- classes ---- */

/* Those that need the class or a harder one: they can run on no other hosts and want no fewer devices, or want a larger
 * part. A pod counts for every class that it needs, so shares may add up to more than one. */
static bool needs(const struct kind *k, const struct scarcity *c)
{
    if (c->kind == SCARCE_SIZE) {
        return !k->plugin_managed && k->milli >= c->milli;
    }
    return k->plugin_managed == c->plugin_managed && k->count >= c->count && set_within(&k->hosts, &c->hosts);
}

static void weigh(struct scarcity *c, const struct kind *kinds, size_t n)
{
    double all = 0, mine = 0, pods = 0;

    for (size_t i = 0; i < n; i++) {
        all += volume(&kinds[i]);
        if (needs(&kinds[i], c)) {
            mine += volume(&kinds[i]);
            pods += kinds[i].pods;
        }
    }
    c->share = all > 0 ? mine / all : 0;
    c->mean_volume = pods > 0 ? mine / pods : 0;
    c->known_n = pods;
}

static bool same_class(const struct scarcity *c, const struct kind *k)
{
    return c->plugin_managed == k->plugin_managed && c->count == k->count && set_within(&c->hosts, &k->hosts) &&
           set_within(&k->hosts, &c->hosts);
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Adds the kind to its class, a new one if need be. */
static size_t class_hosts(struct scarcity *all, size_t n, const struct kind *k)
{
    size_t i = 0;

    while (i < n && !same_class(&all[i], k)) {
        i++;
    }
    if (i == n) {
        all[n++] = (struct scarcity){.kind = k->count > 1 ? SCARCE_GANG : SCARCE_HOST,
                                     .plugin_managed = k->plugin_managed,
                                     .hosts = k->hosts,
                                     .count = k->count,
                                     .mem_mib = k->mem_mib};
    }
    all[i].milli = larger(all[i].milli, k->milli);
    all[i].mean_milli = larger(all[i].mean_milli, k->mean_milli);
    all[i].cpu_milli = larger(all[i].cpu_milli, k->cpu_milli);
    all[i].host_mem_mib = larger(all[i].host_mem_mib, k->host_mem_mib);
    all[i].mem_mib = k->mem_mib < all[i].mem_mib ? k->mem_mib : all[i].mem_mib;
    return n;
}

static int64_t capacity(const struct node_shape *s)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < s->type_n; i++) {
        sum += (int64_t)s->types[i].device_n * s->types[i].milli_cap;
    }
    sum = s->device_n == 0 ? (int64_t)s->plugin_managed_n * DEVICE_MILLI : sum;
    return sum * s->node_n;
}

static bool nearly_everywhere(const struct forecast *o, const struct shape_set *hosts)
{
    int64_t all = 0, mine = 0;

    for (uint32_t i = 0; i < o->shape_n; i++) {
        int64_t c = capacity(&o->shapes[i]);

        all += c;
        mine += shape_set_has(hosts, i) ? c : 0;
    }
    return mine * 100 > all * HOSTS_PERCENT_MAX;
}

/* One size; false when the pods of just this size make too little of the volume. The means are of all pods that need
 * this size or a larger one. */
static bool class_size(int32_t milli, const struct kind *kinds, size_t n, struct scarcity *ret)
{
    double all = 0, just = 0, devices = 0, cpu = 0, mean = 0;
    int32_t mem = INT32_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct kind *k = &kinds[i];

        all += volume(k);
        if (k->plugin_managed || k->milli < milli) {
            continue;
        }
        if (k->milli == milli) {
            just += volume(k);
            mem = k->mem_mib < mem ? k->mem_mib : mem;
        }
        devices += k->pods * k->count;
        mean += volume(k);
        cpu += k->pods * k->cpu_milli;
    }
    if (just * 100 < all * SIZE_PERCENT_MIN || devices <= 0) {
        return false;
    }
    *ret = (struct scarcity){.kind = SCARCE_SIZE,
                             .milli = milli,
                             .mem_mib = mem,
                             .mean_milli = (int32_t)(mean / devices + 0.5),
                             .cpu_milli = (int32_t)(cpu / devices + 0.5)};
    return true;
}

static int compare_i32(const void *a, const void *b)
{
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b;
}

static size_t class_sizes(const struct kind *kinds, size_t n, struct scarcity *ret)
{
    int32_t *sizes = xmalloc((n + 1) * sizeof(*sizes));
    size_t size_n = 0, class_n = 0;

    for (size_t i = 0; i < n; i++) {
        if (kinds[i].milli > SIZE_MILLI_MIN && !kinds[i].plugin_managed) {
            sizes[size_n++] = kinds[i].milli;
        }
    }
    qsort(sizes, size_n, sizeof(*sizes), compare_i32);
    for (size_t i = 0; i < size_n && class_n < SIZES_MAX; i++) {
        if (i == 0 || sizes[i] != sizes[i - 1]) {
            class_n += class_size(sizes[i], kinds, n, &ret[class_n]);
        }
    }
    free(sizes);
    return class_n;
}

/* Largest share first. */
static int by_share(const void *a, const void *b)
{
    const struct scarcity *x = a, *y = b;

    if (x->share != y->share) {
        return x->share > y->share ? -1 : 1;
    }
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    if (x->plugin_managed != y->plugin_managed) {
        return x->plugin_managed - y->plugin_managed;
    }
    return memcmp(&x->hosts, &y->hosts, sizeof(x->hosts));
}

/* How many cores GPU-less pods ask for while the others ask for one milli. */
static void sum_cores(struct forecast *o, const struct expected *pods, size_t n)
{
    double cpu = 0, milli = 0;

    for (size_t i = 0; i < n; i++) {
        const struct demand_histogram_shape *s = pods[i].shape;

        if (s->count == 0) {
            cpu += (double)pods[i].weight * s->host.cpu_milli;
        } else {
            milli += (double)pods[i].weight * s->count * pods[i].mean_milli;
        }
    }
    o->cpu_per_milli = milli > 0 ? cpu / milli : 0;
}

static void sum_shares(struct forecast *o, const struct kind *kinds, size_t n)
{
    double all = 0, prior = 0, gang = 0;

    for (size_t i = 0; i < n; i++) {
        double v = volume(&kinds[i]);

        all += v;
        prior += kinds[i].shape == NULL ? v : 0;
        gang += kinds[i].shape != NULL && kinds[i].count > 1 ? v : 0;
    }
    o->prior_share = all > 0 ? prior / all : 0;
    o->gang_share = all > 0 ? gang / all : 0;
}

void forecast_classes_build(struct forecast *o, const struct cluster_view *c, const struct expected *pods, size_t n)
{
    struct kind *kinds = xcalloc(n + FORECAST_SHAPES_MAX + 1, sizeof(*kinds));
    size_t kind_n = collect(o, c, pods, n, kinds), class_n = 0, kept = 0;
    struct scarcity *all = xcalloc(kind_n + SIZES_MAX + 1, sizeof(*all));

    for (size_t i = 0; i < kind_n; i++) {
        if (kinds[i].count > 1 || !nearly_everywhere(o, &kinds[i].hosts)) {
            class_n = class_hosts(all, class_n, &kinds[i]);
        }
    }
    class_n += class_sizes(kinds, kind_n, &all[class_n]);
    for (size_t i = 0; i < class_n; i++) {
        weigh(&all[i], kinds, kind_n);
    }
    qsort(all, class_n, sizeof(*all), by_share);
    for (size_t i = 0; i < class_n && kept < FORECAST_CLASSES_MAX; i++) {
        o->classes[kept++] = all[i];
    }
    o->class_n = (uint32_t)kept;
    sum_shares(o, kinds, kind_n);
    free(all);
    free(kinds);
    sum_cores(o, pods, n);
    forecast_supplies_list(o);
    o->classes_gen++;
}
