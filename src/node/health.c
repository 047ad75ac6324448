#include "node/health.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

#define UUID_BYTES 96 /* of NVML, its NUL included */

struct known {
    char uuid[UUID_BYTES], gpu[UUID_BYTES]; /* `gpu` is empty: it is one */
    uint32_t gpu_instance, compute_instance;
    bool there, answers;
    int64_t failed_ms; /* when it last did not answer; -1: never */
    int64_t watched_ms;
    bool has_xid;
    uint64_t xid;
    struct health_verdict verdict;
};

struct health {
    uint32_t ignored[HEALTH_IGNORED_MAX];
    size_t ignored_n;
    struct known known[HEALTH_DEVICES_MAX];
    size_t n;
};

struct health *health_new(const uint32_t *ignored, size_t n)
{
    struct health *h = xcalloc(1, sizeof(*h));

    BUG_ON(n > HEALTH_IGNORED_MAX);
    if (n > 0) {
        memcpy(h->ignored, ignored, n * sizeof(*ignored));
    }
    h->ignored_n = n;
    return h;
}

void health_free(struct health *h)
{
    free(h);
}

bool health_counts(const struct health *h, uint64_t xid)
{
    static const uint8_t of_programs[] = {13, 31, 43, 45, 68, 109};

    for (size_t i = 0; i < sizeof(of_programs); i++) {
        if (of_programs[i] == xid) {
            return false;
        }
    }
    for (size_t i = 0; i < h->ignored_n; i++) {
        if (h->ignored[i] == xid) {
            return false;
        }
    }
    return true;
}

/* ---- the table ---- */

static bool is_gpu(const struct known *k)
{
    return k->gpu[0] == '\0';
}

static const struct known *find_known(const struct health *h, struct str uuid)
{
    for (size_t i = 0; i < h->n; i++) {
        if (str_eq_cstr(uuid, h->known[i].uuid)) {
            return &h->known[i];
        }
    }
    return NULL;
}

static struct known *find(struct health *h, struct str uuid)
{
    const struct known *k = find_known(h, uuid);

    return k == NULL ? NULL : &h->known[k - h->known];
}

static const struct known *gpu_of(const struct health *h, const struct known *k)
{
    for (size_t i = 0; i < h->n; i++) {
        if (is_gpu(&h->known[i]) && strcmp(h->known[i].uuid, k->gpu) == 0) {
            return &h->known[i];
        }
    }
    return NULL;
}

static void put_uuid(char to[UUID_BYTES], struct str uuid)
{
    if (uuid.n > 0) {
        memcpy(to, uuid.p, uuid.n);
    }
    to[uuid.n] = '\0';
}

/* In the order of the library: what changes is told in it. */
static void forget(struct health *h, size_t i)
{
    memmove(&h->known[i], &h->known[i + 1], (h->n - i - 1) * sizeof(h->known[0]));
    h->n--;
}

/* An instance goes with the layout of its GPU, if that answers, and with its GPU. */
static void forget_instances(struct health *h)
{
    for (size_t i = h->n; i-- > 0;) {
        const struct known *k = &h->known[i], *gpu = is_gpu(k) ? NULL : gpu_of(h, k);

        if (!is_gpu(k) && !k->there && (gpu == NULL || gpu->answers)) {
            forget(h, i);
        }
    }
}

static void forget_one_that_is_gone(struct health *h)
{
    for (size_t i = 0; i < h->n; i++) {
        if (!h->known[i].there) {
            forget(h, i);
            return;
        }
    }
}

/* NULL: there is no room, or that is no UUID. */
static struct known *add(struct health *h, const struct health_sight *s, int64_t now_ms)
{
    struct known *k;

    if (h->n == HEALTH_DEVICES_MAX) {
        forget_one_that_is_gone(h);
    }
    if (h->n == HEALTH_DEVICES_MAX || s->uuid.n == 0 || s->uuid.n >= UUID_BYTES || s->gpu.n >= UUID_BYTES) {
        return NULL;
    }
    k = &h->known[h->n++];
    *k = (struct known){.failed_ms = -1, .watched_ms = now_ms};
    put_uuid(k->uuid, s->uuid);
    put_uuid(k->gpu, s->gpu);
    return k;
}

/* ---- what is told ---- */

static void take_sight(struct known *k, const struct health_sight *s, int64_t now_ms)
{
    k->gpu_instance = s->gpu_instance;
    k->compute_instance = s->compute_instance;
    k->there = true;
    k->answers = s->answers;
    if (s->watched) {
        k->watched_ms = now_ms;
    }
}

/* Of the GPUs and instances that are known. */
static void take_known(struct health *h, const struct health_sight *sights, size_t n, int64_t now_ms)
{
    for (size_t i = 0; i < h->n; i++) {
        h->known[i].there = h->known[i].answers = false;
    }
    for (size_t i = 0; i < n; i++) {
        struct known *k = find(h, sights[i].uuid);

        if (k != NULL) {
            take_sight(k, &sights[i], now_ms);
        }
    }
}

static void take_new(struct health *h, const struct health_sight *sights, size_t n, int64_t now_ms)
{
    for (size_t i = 0; i < n; i++) {
        struct known *k = find(h, sights[i].uuid) == NULL ? add(h, &sights[i], now_ms) : NULL;

        if (k != NULL) {
            take_sight(k, &sights[i], now_ms);
        }
    }
}

void health_saw(struct health *h, const struct health_sight *sights, size_t n, int64_t now_ms)
{
    take_known(h, sights, n, now_ms);
    forget_instances(h);
    take_new(h, sights, n, now_ms);
    for (size_t i = 0; i < h->n; i++) {
        if (!h->known[i].answers) {
            h->known[i].failed_ms = now_ms;
        }
    }
}

static void mark(struct known *k, uint64_t xid)
{
    if (!k->has_xid) {
        k->has_xid = true;
        k->xid = xid;
    }
}

static void mark_those_it_could_be(struct health *h, uint64_t xid)
{
    bool one_is_silent = false;

    for (size_t i = 0; i < h->n; i++) {
        one_is_silent = one_is_silent || (is_gpu(&h->known[i]) && !h->known[i].answers);
    }
    for (size_t i = 0; i < h->n; i++) {
        if (is_gpu(&h->known[i]) && (!one_is_silent || !h->known[i].answers)) {
            mark(&h->known[i], xid);
        }
    }
}

/* False: there is none of these numbers. */
static bool mark_instances(struct health *h, struct str gpu, uint32_t gpu_instance, uint32_t compute_instance,
                           uint64_t xid)
{
    bool found = false;

    for (size_t i = 0; i < h->n; i++) {
        struct known *k = &h->known[i];

        if (!is_gpu(k) && str_eq_cstr(gpu, k->gpu) && k->gpu_instance == gpu_instance &&
            (compute_instance == HEALTH_ALL_INSTANCES || k->compute_instance == compute_instance)) {
            mark(k, xid);
            found = true;
        }
    }
    return found;
}

void health_heard(struct health *h, struct str gpu, uint32_t gpu_instance, uint32_t compute_instance, uint64_t xid)
{
    struct known *k = find(h, gpu);

    if (!health_counts(h, xid)) {
        return;
    }
    if (k == NULL) {
        mark_those_it_could_be(h, xid);
    } else if (gpu_instance == HEALTH_ALL_INSTANCES || !mark_instances(h, gpu, gpu_instance, compute_instance, xid)) {
        mark(k, xid);
    }
}

/* ---- judgement ---- */

static struct health_verdict judge(const struct known *k, int64_t now_ms)
{
    if (k->has_xid) {
        return (struct health_verdict){.kind = HEALTH_XID, .xid = k->xid};
    }
    if (!k->answers || (k->failed_ms >= 0 && now_ms - k->failed_ms < HEALTH_WELL_AFTER_MS)) {
        return (struct health_verdict){.kind = HEALTH_LOST};
    }
    if (now_ms - k->watched_ms >= HEALTH_UNWATCHED_AFTER_MS) {
        return (struct health_verdict){.kind = HEALTH_UNWATCHED};
    }
    return (struct health_verdict){.kind = HEALTH_WELL};
}

static bool same(struct health_verdict a, struct health_verdict b)
{
    return a.kind == b.kind && a.xid == b.xid;
}

/* A MIG device is as ill as its GPU, unless it has an error of its own. */
static struct health_verdict judge_with_gpu(const struct known *k, const struct known *gpu, int64_t now_ms)
{
    const struct health_verdict own = judge(k, now_ms);

    return gpu == NULL || own.kind == HEALTH_XID || gpu->verdict.kind == HEALTH_WELL ? own : gpu->verdict;
}

static bool has_changed(const struct known *k, const struct health_change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_cstr(changes[i].uuid, k->uuid)) {
            return true;
        }
    }
    return false;
}

static size_t judge_those(struct health *h, bool gpus, int64_t now_ms, struct health_change *ret, size_t n)
{
    for (size_t i = 0; i < h->n; i++) {
        struct known *k = &h->known[i];
        const struct known *gpu = gpus ? NULL : gpu_of(h, k);
        const struct health_verdict before = k->verdict;

        if (is_gpu(k) != gpus) {
            continue;
        }
        k->verdict = judge_with_gpu(k, gpu, now_ms);
        if (!same(before, k->verdict)) {
            ret[n] = (struct health_change){.uuid = str_of(k->uuid),
                                            .before = before,
                                            .now = k->verdict,
                                            .of_its_gpu = gpu != NULL && same(k->verdict, gpu->verdict) &&
                                                          has_changed(gpu, ret, n)};
            n++;
        }
    }
    return n;
}

size_t health_judge(struct health *h, int64_t now_ms, struct health_change ret[HEALTH_DEVICES_MAX])
{
    const size_t n = judge_those(h, true, now_ms, ret, 0);

    return judge_those(h, false, now_ms, ret, n);
}

size_t health_ill(const struct health *h, struct health_ill ret[HEALTH_DEVICES_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++) {
        if (h->known[i].verdict.kind != HEALTH_WELL) {
            ret[n++] = (struct health_ill){.uuid = str_of(h->known[i].uuid), .verdict = h->known[i].verdict};
        }
    }
    return n;
}

/* ---- devices ---- */

static bool is_ill(const struct health *h, struct str uuid)
{
    const struct known *k = find_known(h, uuid);

    return k != NULL && k->verdict.kind != HEALTH_WELL;
}

static bool has_uuid(const struct device *devices, size_t n, const char *uuid)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_cstr(devices[i].uuid, uuid)) {
            return true;
        }
    }
    return false;
}

/* It is no news for the judgement, but it, or its GPU, could not be read: it died after it was seen last. */
static bool is_lost_by_now(const struct health *h, struct str uuid, const struct device *now, size_t n)
{
    const struct known *k = find_known(h, uuid);

    return k != NULL && !has_uuid(now, n, is_gpu(k) ? k->uuid : k->gpu);
}

static bool is_taken(const struct device *devices, size_t n, const struct device *d)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(devices[i].uuid, d->uuid) || (d->index >= 0 && devices[i].index == d->index)) {
            return true;
        }
    }
    return false;
}

size_t health_mark(const struct health *h, const struct device *now, size_t n, const struct device *before,
                   size_t before_n, struct device ret[DEVICES_PER_NODE_MAX])
{
    size_t ret_n = 0;

    for (size_t i = 0; i < n && ret_n < DEVICES_PER_NODE_MAX; i++) {
        ret[ret_n] = now[i];
        ret[ret_n++].healthy = !is_ill(h, now[i].uuid);
    }
    for (size_t i = 0; i < before_n && ret_n < DEVICES_PER_NODE_MAX; i++) {
        const bool stays = is_ill(h, before[i].uuid) || is_lost_by_now(h, before[i].uuid, now, n);

        if (stays && !is_taken(ret, ret_n, &before[i])) {
            ret[ret_n] = before[i];
            ret[ret_n++].healthy = false;
        }
    }
    return ret_n;
}
