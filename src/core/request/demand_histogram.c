#include "core/request/demand_histogram.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/order.h"

#include <stdlib.h>

/* The share of departures is a moving mean over about this many events, in units of 2^-CHURN_ONE_SHIFT. */
enum { CHURN_EVENTS_SHIFT = 10, CHURN_ONE_SHIFT = 40, SIXTEENTHS = 16 };

#define WEIGHT_MAX ((uint64_t)DEMAND_HISTOGRAM_PODS_MAX * DEMAND_HISTOGRAM_POD)
/* A shape below this has not been seen for so long that it is gone. Those for several GPUs stay. */
#define WEIGHT_GONE (DEMAND_HISTOGRAM_POD / 16)

struct counted {
    struct demand_histogram_shape shape;
    struct device_pattern *models; /* the block behind shape.models */
    uint64_t hash;
    uint64_t weight; /* live */
};

struct demand_histogram {
    struct counted *shapes;
    size_t shape_n, shape_cap;
    uint64_t weight; /* sum, live */
    uint64_t arrived_n, departed_n;
    uint64_t settle_at; /* arrived_n */
    uint64_t version;
    int64_t departing; /* share of departures; 2^CHURN_ONE_SHIFT: all */
};

struct demand_histogram *demand_histogram_new(void)
{
    struct demand_histogram *m = xcalloc(1, sizeof(*m));

    m->settle_at = 1;
    return m;
}

void demand_histogram_free(struct demand_histogram *m)
{
    for (size_t i = 0; m != NULL && i < m->shape_n; i++) {
        free(m->shapes[i].models);
    }
    if (m != NULL) {
        free(m->shapes);
    }
    free(m);
}

/* ---- the shape of a demand ---- */

static int32_t cut(int64_t v, int64_t max)
{
    return (int32_t)(v < max ? v : max);
}

/* Several GPU requests: what runs at once, summed up in the phase that asks for most, on as few devices
 * as that needs. */
static void sum_gpu_requests(const struct demand *d, struct demand_histogram_shape *s)
{
    uint64_t phases = 0;

    s->kind = GPU_REQUEST_BOTH;
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        phases |= d->gpu_requests[i].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        uint64_t phase = phases & -phases;
        int64_t milli = 0, mem = 0, count = 1;

        for (size_t i = 0; i < d->gpu_request_n; i++) {
            const struct gpu_request *w = &d->gpu_requests[i];

            if ((w->phases & phase) == 0) {
                continue;
            }
            s->kind = w->kind == GPU_REQUEST_WHOLE || s->kind == GPU_REQUEST_WHOLE ? GPU_REQUEST_WHOLE
                      : s->kind == GPU_REQUEST_BOTH                                ? w->kind
                                                                                   : s->kind;
            milli += (int64_t)w->count * (w->kind == GPU_REQUEST_WHOLE ? DEVICE_MILLI : w->milli);
            mem += w->count * w->mem_mib;
            count = w->count > count ? w->count : count;
        }
        if (milli > count * DEVICE_MILLI) {
            count = (milli + DEVICE_MILLI - 1) / DEVICE_MILLI;
        }
        count = cut(count > 1 ? count : 1, DEVICES_PER_NODE_MAX);
        if (milli > (int64_t)s->milli * s->count || (milli == 0 && mem > s->mem_mib * s->count)) {
            s->count = (uint16_t)count;
            s->milli = cut((milli + count - 1) / count, DEVICE_MILLI);
            s->mem_mib = mem / count;
        }
    }
    s->count = s->count == 0 ? 1 : s->count;
}

static void shape_of(const struct demand *d, struct demand_histogram_shape *s)
{
    *s = (struct demand_histogram_shape){.host = d->host, .model_n = d->model_n, .models = d->models};
    if (d->plugin_managed_n > 0) {
        s->plugin_managed = true;
        s->kind = GPU_REQUEST_WHOLE;
        s->milli = DEVICE_MILLI;
        s->count = (uint16_t)cut(d->plugin_managed_n, UINT16_MAX);
    } else if (d->gpu_request_n == 1 && !demand_wants_instances(d)) {
        s->kind = d->gpu_requests[0].kind;
        s->count = d->gpu_requests[0].count;
        s->milli = s->kind == GPU_REQUEST_WHOLE ? DEVICE_MILLI : d->gpu_requests[0].milli;
        s->mem_mib = d->gpu_requests[0].mem_mib;
    } else if (!demand_wants_instances(d) && d->gpu_request_n > 1) {
        sum_gpu_requests(d, s);
    } /* MIG instances leave the GPUs to others: such a pod takes of the machine alone */
    if (s->count == 0) {
        s->model_n = 0;
    }
}

static uint64_t shape_hash(const struct demand_histogram_shape *s)
{
    const struct hash_key key = {0, 0};
    int64_t numbers[] = {s->host.cpu_milli, s->host.mem_mib, s->count,   s->plugin_managed,
                         s->kind,           s->milli,        s->mem_mib, (int64_t)s->model_n};
    uint64_t h = hash_name(key, (struct str){(const char *)numbers, sizeof(numbers)});

    for (size_t i = 0; i < s->model_n; i++) {
        h = hash_fold(h ^ s->models[i].exclude, hash_name(key, s->models[i].text) | 1);
    }
    return h;
}

static bool shape_equal(const struct demand_histogram_shape *a, const struct demand_histogram_shape *b)
{
    if (a->host.cpu_milli != b->host.cpu_milli || a->host.mem_mib != b->host.mem_mib || a->count != b->count ||
        a->plugin_managed != b->plugin_managed || a->kind != b->kind || a->milli != b->milli ||
        a->mem_mib != b->mem_mib || a->model_n != b->model_n) {
        return false;
    }
    for (size_t i = 0; i < a->model_n; i++) {
        if (a->models[i].exclude != b->models[i].exclude || !str_eq(a->models[i].text, b->models[i].text)) {
            return false;
        }
    }
    return true;
}

/* The patterns and their text in one block. */
static struct device_pattern *copy_patterns(const struct device_pattern *from, size_t n)
{
    size_t bytes = n * sizeof(*from);
    struct device_pattern *copy;
    char *text;

    if (n == 0) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        bytes += from[i].text.n;
    }
    copy = xmalloc(bytes);
    text = (char *)(copy + n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = (struct device_pattern){.text = str_put(&text, from[i].text), .exclude = from[i].exclude};
    }
    return copy;
}

/* ---- counting ---- */

void demand_histogram_settle(struct demand_histogram *m)
{
    for (size_t i = 0; i < m->shape_n; i++) {
        m->shapes[i].shape.weight = m->shapes[i].weight;
    }
    m->version++;
}

/* What is forgotten first: for several GPUs after all others. */
static uint64_t merit(const struct counted *c)
{
    return c->weight + (c->shape.count > 1 ? 2 * WEIGHT_MAX : 0);
}

/* Forgets what has less merit than `limit`, and of what has just that the first `even_n`. */
static void forget(struct demand_histogram *m, uint64_t limit, size_t even_n)
{
    size_t kept = 0;

    m->weight = 0;
    for (size_t i = 0; i < m->shape_n; i++) {
        struct counted *c = &m->shapes[i];

        if (merit(c) < limit || (merit(c) == limit && even_n > 0)) {
            even_n -= merit(c) == limit;
            free(c->models);
            continue;
        }
        m->weight += c->weight;
        m->shapes[kept++] = *c;
    }
    m->shape_n = kept;
    demand_histogram_settle(m);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return ORDER(x, y);
}

static void forget_rare(struct demand_histogram *m)
{
    uint64_t merits[DEMAND_HISTOGRAM_SHAPES_MAX];
    size_t half = m->shape_n / 2, below = 0;

    for (size_t i = 0; i < m->shape_n; i++) {
        merits[i] = merit(&m->shapes[i]);
    }
    qsort(merits, m->shape_n, sizeof(merits[0]), compare_u64);
    while (merits[below] < merits[half]) {
        below++;
    }
    forget(m, merits[half], half - below);
}

static void halve(struct demand_histogram *m)
{
    for (size_t i = 0; i < m->shape_n; i++) {
        struct counted *c = &m->shapes[i];

        c->weight /= 2;
        if (c->shape.count > 1 && c->weight < WEIGHT_GONE) {
            c->weight = WEIGHT_GONE;
        }
    }
    forget(m, WEIGHT_GONE, 0);
}

static struct counted *find_counted(struct demand_histogram *m, const struct demand_histogram_shape *s, uint64_t hash)
{
    for (size_t i = 0; i < m->shape_n; i++) {
        if (m->shapes[i].hash == hash && shape_equal(&m->shapes[i].shape, s)) {
            return &m->shapes[i];
        }
    }
    return NULL;
}

static struct counted *add(struct demand_histogram *m, const struct demand_histogram_shape *s, uint64_t hash)
{
    struct counted *c;

    if (m->shape_n == DEMAND_HISTOGRAM_SHAPES_MAX) {
        forget_rare(m);
    }
    if (m->shape_n == m->shape_cap) {
        m->shape_cap = m->shape_cap > 0 ? 2 * m->shape_cap : 32;
        m->shapes = xreallocarray(m->shapes, m->shape_cap, sizeof(*m->shapes));
    }
    c = &m->shapes[m->shape_n++];
    *c = (struct counted){.shape = *s, .hash = hash};
    c->models = copy_patterns(s->models, s->model_n);
    c->shape.models = c->models;
    return c;
}

static void note_event(struct demand_histogram *m, bool departed)
{
    int64_t now = departed ? (int64_t)1 << CHURN_ONE_SHIFT : 0;

    m->departing += (now - m->departing) / (1 << CHURN_EVENTS_SHIFT);
}

/* The next step after arrived_n pods, of which the weights still stand for `pods`. */
static uint64_t step(uint64_t arrived_n, uint64_t pods)
{
    if (arrived_n < DEMAND_HISTOGRAM_SETTLE_MIN) {
        return arrived_n;
    }
    return pods / 20 > DEMAND_HISTOGRAM_SETTLE_MIN ? pods / 20 : DEMAND_HISTOGRAM_SETTLE_MIN;
}

/* Would settling make a difference that is worth it? */
static bool has_changed(const struct demand_histogram *m)
{
    double moved = 0, settled = 0;

    for (size_t i = 0; i < m->shape_n; i++) {
        settled += (double)m->shapes[i].shape.weight;
        if (m->shapes[i].shape.weight == 0 && m->shapes[i].shape.count > 1) {
            return true;
        }
    }
    for (size_t i = 0; i < m->shape_n && settled > 0; i++) {
        double d = (double)m->shapes[i].weight / (double)m->weight - (double)m->shapes[i].shape.weight / settled;

        moved += d > 0 ? d : 0;
    }
    return settled <= 0 || moved * DEMAND_HISTOGRAM_MOVED >= 1 || (double)m->weight >= settled * DEMAND_HISTOGRAM_GROWN;
}

void demand_histogram_arrived(struct demand_histogram *m, const struct demand *d)
{
    struct demand_histogram_shape s;
    struct counted *c;
    uint64_t hash;

    if (d->defect != DEMAND_OK) {
        return;
    }
    shape_of(d, &s);
    hash = shape_hash(&s);
    c = find_counted(m, &s, hash);
    c = c != NULL ? c : add(m, &s, hash);
    c->weight += DEMAND_HISTOGRAM_POD;
    m->weight += DEMAND_HISTOGRAM_POD;
    m->arrived_n++;
    note_event(m, false);
    if (m->weight >= WEIGHT_MAX) {
        halve(m);
    }
    if (m->arrived_n >= m->settle_at) {
        if (has_changed(m)) {
            demand_histogram_settle(m);
        }
        m->settle_at = m->arrived_n + step(m->arrived_n, m->weight / DEMAND_HISTOGRAM_POD);
    }
}

void demand_histogram_departed(struct demand_histogram *m, const struct demand *d)
{
    if (d->defect != DEMAND_OK) {
        return;
    }
    m->departed_n++;
    note_event(m, true);
}

/* ---- reading ---- */

uint64_t demand_histogram_version(const struct demand_histogram *m)
{
    return m->version;
}

size_t demand_histogram_shape_n(const struct demand_histogram *m)
{
    return m->shape_n;
}

const struct demand_histogram_shape *demand_histogram_shape(const struct demand_histogram *m, size_t i)
{
    BUG_ON(i >= m->shape_n);
    return &m->shapes[i].shape;
}

uint64_t demand_histogram_arrived_n(const struct demand_histogram *m)
{
    return m->arrived_n;
}

uint64_t demand_histogram_departed_n(const struct demand_histogram *m)
{
    return m->departed_n;
}

int demand_histogram_churn(const struct demand_histogram *m)
{
    const int64_t one = (int64_t)1 << CHURN_ONE_SHIFT;
    int64_t twice = 2 * m->departing < one ? 2 * m->departing : one;

    return (int)((twice * SIXTEENTHS + one / 2) / one);
}
