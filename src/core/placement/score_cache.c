#include "core/placement/score_cache.h"

#include "base/bug.h"
#include "base/hash.h"
#include "model/qos.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES_MAX = 1024, CAPACITY_STEP = 64 };

struct key {
    size_t n; /* above KEY_BYTES_MAX: does not fit */
    char bytes[KEY_BYTES_MAX];
};

struct shape {
    struct key key;
    uint64_t hash;
    uint64_t used_at; /* 0: free */
    struct score *scores;
    struct score_terms terms; /* empty: not priced */
    uint32_t node_n;
    size_t bytes; /* as counted in the cache */
};

struct score_cache {
    struct shape shapes[SCORE_CACHE_SHAPES];
    uint64_t now; /* counts uses */
    size_t bytes;
};

struct score_cache *score_cache_new(void)
{
    return xcalloc(1, sizeof(struct score_cache));
}

void score_cache_free(struct score_cache *c)
{
    for (size_t i = 0; c != NULL && i < SCORE_CACHE_SHAPES; i++) {
        free(c->shapes[i].scores);
        score_terms_fini(&c->shapes[i].terms);
    }
    free(c);
}

/* ---- the shape as bytes ---- */

static void key_add(struct key *k, const void *p, size_t n)
{
    if (k->n > KEY_BYTES_MAX || n > KEY_BYTES_MAX - k->n) {
        k->n = KEY_BYTES_MAX + 1;
        return;
    }
    if (n > 0) {
        memcpy(k->bytes + k->n, p, n);
    }
    k->n += n;
}

static void key_add_number(struct key *k, uint64_t v)
{
    key_add(k, &v, sizeof(v));
}

static void key_add_patterns(struct key *k, const struct device_pattern *patterns, size_t n)
{
    key_add_number(k, n);
    for (size_t i = 0; i < n; i++) {
        key_add_number(k, patterns[i].text.n << 1 | patterns[i].exclude);
        key_add(k, patterns[i].text.p, patterns[i].text.n);
    }
}

static void key_of(const struct demand *d, const struct pack_params *p, struct key *k)
{
    k->n = 0;
    key_add_number(k, (uintptr_t)p->node_strategy);
    key_add_number(k, (uintptr_t)p->device_strategy);
    if (p->forecast != NULL && !pack_is_priced(p) &&
        (p->node_strategy->looks_ahead || p->device_strategy->looks_ahead)) {
        key_add_number(k, forecast_typical_version(p->forecast));
    }
    key_add_number(k, (uint64_t)d->plugin_managed_n);
    key_add_number(k, (uint64_t)d->plugin_managed_most);
    key_add_number(k, d->plugin_managed_names);
    key_add_number(k, (uint64_t)d->host.cpu_milli << 32 | (uint32_t)d->host.mem_mib);
    key_add_number(k, (uint64_t)d->name_bytes_most << 32 | (uint64_t)d->gpu_request_n << 1 | demand_may_be_counted(d));
    key_add_number(k, !d->says_qos ? QOS__MAX : d->qos == QOS_EQUAL_SHARE); /* what a charge depends on */
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        const struct gpu_request *w = &d->gpu_requests[i];

        key_add_number(k, (uint64_t)w->kind << 32 | (uint64_t)w->profile << 16 | w->count);
        key_add_number(k, (uint64_t)w->milli);
        key_add_number(k, (uint64_t)w->mem_mib);
        key_add_number(k, w->phases);
    }
    key_add_patterns(k, d->models, d->model_n);
    key_add_patterns(k, d->uuids, d->uuid_n);
}

/* ---- shapes ---- */

static void shape_drop(struct score_cache *c, struct shape *s)
{
    c->bytes -= s->bytes;
    free(s->scores);
    score_terms_fini(&s->terms);
    s->scores = NULL;
    s->node_n = 0;
    s->bytes = 0;
    s->used_at = 0;
}

/* The shape used longest ago, a free one before any other; not `but`. NULL: there is no other in
 * use. */
static struct shape *oldest(struct score_cache *c, const struct shape *but, bool in_use)
{
    struct shape *found = NULL;

    for (size_t i = 0; i < SCORE_CACHE_SHAPES; i++) {
        struct shape *s = &c->shapes[i];

        if (s != but && (!in_use || s->used_at > 0) && (found == NULL || s->used_at < found->used_at)) {
            found = s;
        }
    }
    return found;
}

/* Little more than it takes, because memory is what limits how many shapes are remembered; a bit more where the number
 * of nodes is seen to grow. */
static void shape_grow(struct shape *s, uint32_t node_n, bool priced)
{
    uint32_t capacity = (node_n + (s->node_n > 0 ? node_n / 8 : 0)) / CAPACITY_STEP * CAPACITY_STEP + CAPACITY_STEP;

    s->scores = xreallocarray(s->scores, capacity, sizeof(*s->scores));
    memset(s->scores + s->node_n, 0, (capacity - s->node_n) * sizeof(*s->scores));
    if (priced) {
        score_terms_grow(&s->terms, capacity);
    }
    s->node_n = capacity;
}

/* Counts what the shape takes by now, and drops others until it has room. */
static void grow(struct score_cache *c, struct shape *s)
{
    size_t bytes = s->node_n * sizeof(*s->scores) + score_terms_bytes(&s->terms);
    struct shape *other;

    c->bytes += bytes - s->bytes;
    s->bytes = bytes;
    while (c->bytes > SCORE_CACHE_BYTES && (other = oldest(c, s, true)) != NULL) {
        shape_drop(c, other);
    }
}

static struct shape *shape_find(struct score_cache *c, const struct key *k, uint64_t hash)
{
    for (size_t i = 0; i < SCORE_CACHE_SHAPES; i++) {
        struct shape *s = &c->shapes[i];

        if (s->used_at > 0 && s->hash == hash && s->key.n == k->n && memcmp(s->key.bytes, k->bytes, k->n) == 0) {
            return s;
        }
    }
    return NULL;
}

/* A place for a new shape. What it remembered of another one is forgotten, its memory is kept. */
static struct shape *shape_take(struct score_cache *c, const struct key *k, uint64_t hash, bool priced)
{
    struct shape *s = oldest(c, NULL, false);

    if (s->node_n > 0 && (s->terms.nodes != NULL) != priced) {
        shape_drop(c, s);
    }
    if (s->node_n > 0) {
        memset(s->scores, 0, s->node_n * sizeof(*s->scores));
        score_terms_forget(&s->terms);
    }
    memcpy(s->key.bytes, k->bytes, k->n);
    s->key.n = k->n;
    s->hash = hash;
    return s;
}

struct score_row score_cache_find(struct score_cache *c, const struct demand *d, const struct pack_params *p,
                                  uint32_t node_n)
{
    bool priced = pack_is_priced(p);
    struct key k;
    struct shape *s;
    uint64_t hash;

    key_of(d, p, &k);
    if (k.n > KEY_BYTES_MAX) {
        return (struct score_row){NULL, NULL};
    }
    hash = hash_name((struct hash_key){0, 0}, (struct str){k.bytes, k.n});
    s = shape_find(c, &k, hash);
    s = s != NULL ? s : shape_take(c, &k, hash, priced);
    s->used_at = ++c->now;
    if (s->node_n < node_n || s->node_n == 0) {
        shape_grow(s, node_n, priced);
    }
    grow(c, s);
    return (struct score_row){s->scores, priced ? &s->terms : NULL};
}
