/* The value of a residual, remembered. Equal residuals on nodes of one shape are worth the same, and the same ones come
 * again and again: all empty nodes, the node before this pod, the node before the next one.
 *
 * The table has 16 MiB. It is allocated anew only when a place must hold more supplies. Places are given in turn, so a
 * decision that values thousands of new residuals writes one place behind the other, which is what memory is quick at;
 * who had the place is forgotten. A place is found by a slot, and a slot by two hashes of the residual, 128 bits
 * together, which stand for it. Four slots form a set. A new residual takes a slot in its set whose value is of earlier
 * samples, else one that the hash names; nothing is recorded about use. So a look costs one line of tags, a number and
 * one place: O(1), without allocation. Equality is that of 128 bits.
 *
 * What a place knows has three parts with three lives: what the residual is (for ever), what is filled of it (until the
 * samples change: samples_gen), what it supplies (until the classes change: classes_gen). A part that is out of date is
 * computed when it is asked for, and `parts` says which are.
 *
 * Whoever remembers a residual keeps (place, serial). The serial grows each time the place is given to another
 * residual, so an old one is recognised. A place keeps the residual, too, unless it has more than VALUE_DEVICES_MAX
 * devices: when other samples come, its new value is found without another look at the node (decision 0030).
 *
 * What would break it: a value that depends on anything that is not in the key of the residual, its shape included.
 */
#include "base/bug.h"
#include "core/forecast/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    WAYS = 4,
    TABLE_BYTES = 16 * 1024 * 1024,
    LINE_BYTES = 64, /* places begin where a line of the cache does */
    NOT_KEPT = UINT8_MAX,
    CPU_MAX = 1 << 28, /* keeps struct value.drain within 32 bits */
};

_Static_assert((int)DEVICES_PER_NODE_MAX < (int)NOT_KEPT, "value.device_n");

struct values {
    struct value *places; /* of place_bytes each */
    size_t place_bytes;
    uint32_t n;                      /* places, and slots */
    uint32_t next;                   /* the place that is given next */
    uint64_t *tags;                  /* of each slot */
    uint32_t *at;                    /* of each slot: its place, unless that was given to others since */
    uint32_t serial_min, serial_max; /* those up to the first are forgotten, none is above the last */
    char *memory;
};

struct values *forecast_values_new(void)
{
    return xcalloc(1, sizeof(struct values));
}

void forecast_values_free(struct values *t)
{
    free(t->memory);
    free(t->tags);
    free(t->at);
    free(t);
}

static struct value *place(const struct values *t, uint32_t i)
{
    return (struct value *)(void *)((char *)t->places + i * t->place_bytes);
}

/* No serial that was ever given is above the new minimum: O(1). */
void forecast_values_forget(struct values *t)
{
    t->serial_min = t->serial_max;
}

void forecast_values_resize(struct values *t, uint32_t supply_n)
{
    size_t bytes = (sizeof(struct value) + supply_n * sizeof(int32_t) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;

    if (t->places != NULL && bytes <= t->place_bytes) {
        return;
    }
    forecast_values_forget(t);
    free(t->memory);
    free(t->tags);
    free(t->at);
    t->place_bytes = bytes;
    t->next = 0;
    t->n = (uint32_t)(TABLE_BYTES / bytes / WAYS * WAYS);
    t->tags = xcalloc(t->n, sizeof(*t->tags));
    t->at = xcalloc(t->n, sizeof(*t->at));
    t->memory = xcalloc(t->n + 1, bytes);
    t->places = (void *)(t->memory + LINE_BYTES - (uintptr_t)t->memory % LINE_BYTES);
}

/* Which lists a place is of, and a part of its key: all four of a set are told apart in one cache line. */
static uint64_t tag_of(const struct forecast *o, const uint64_t key[2])
{
    return (uint64_t)o->samples_gen << 32 | key[1] >> 32;
}

static bool is_known(const struct values *t, const struct value *w)
{
    return w->serial > t->serial_min;
}

static void keep(struct value *w, const struct residual *r)
{
    bool fits = r->device_n <= VALUE_DEVICES_MAX;

    w->shape = r->shape;
    w->kinds = r->kinds;
    w->device_n = fits ? r->device_n : NOT_KEPT;
    w->cpu_milli = r->cpu_milli;
    w->mem_mib = r->mem_mib;
    if (fits) {
        memcpy(w->devices, r->devices, r->device_n * sizeof(r->devices[0]));
    }
}

static void kept(const struct value *w, struct residual *ret)
{
    ret->shape = w->shape;
    ret->kinds = w->kinds;
    ret->device_n = w->device_n;
    ret->cpu_milli = w->cpu_milli;
    ret->mem_mib = w->mem_mib;
    memcpy(ret->devices, w->devices, w->device_n * sizeof(w->devices[0]));
}

static void begin_value(struct values *t, struct value *w, const struct residual *r, const uint64_t key[2])
{
    /* Larger than any that this place had, and larger than all that are forgotten. */
    w->serial = (w->serial > t->serial_min ? w->serial : t->serial_min) + 1;
    t->serial_max = w->serial > t->serial_max ? w->serial : t->serial_max;
    w->key[0] = key[0];
    w->key[1] = key[1];
    w->samples_gen = w->classes_gen = 0;
    keep(w, r);
}

/* The next place, for this slot. */
static struct value *give_place(struct values *t, uint32_t slot, const struct residual *r, const uint64_t key[2])
{
    struct value *w = place(t, t->next);

    t->at[slot] = t->next;
    t->next = t->next + 1 < t->n ? t->next + 1 : 0;
    begin_value(t, w, r, key);
    w->slot = slot;
    return w;
}

/* The residual's place, its own or a new one. Tags are read first: four of them are half a line of the cache, and a
 * place is two lines and more. A tag that matches by chance costs a look at the place, whose whole key decides. */
static struct value *find_value(const struct forecast *o, const struct residual *r, const uint64_t key[2])
{
    struct values *t = o->values;
    uint32_t set = (uint32_t)((key[0] & UINT32_MAX) * (t->n / WAYS) >> 32) * WAYS;
    uint32_t slot = set + (uint32_t)(key[1] % WAYS);
    struct value *w;

    for (uint32_t i = set; i < set + WAYS; i++) {
        if ((uint32_t)t->tags[i] == key[1] >> 32) {
            w = place(t, t->at[i]);
            if (is_known(t, w) && w->key[0] == key[0] && w->key[1] == key[1]) {
                t->tags[i] = tag_of(o, key);
                return w;
            }
        }
        slot = t->tags[i] >> 32 != o->samples_gen ? i : slot;
    }
    t->tags[slot] = tag_of(o, key);
    return give_place(t, slot, r, key);
}

static bool is_complete(const struct forecast *o, const struct value *w, unsigned parts)
{
    return w->samples_gen == o->samples_gen && w->classes_gen == o->classes_gen &&
           ((parts & VALUE_FILLED) == 0 || w->filled >= 0) && ((parts & VALUE_AMONG) == 0 || w->filled_among >= 0) &&
           ((parts & VALUE_ALIKE) == 0 || w->filled_alike >= 0);
}

static void sum_idle(const struct node_shape *s, struct value *w, const struct residual *r)
{
    int32_t idle = 0;

    for (unsigned i = 0; i < r->device_n; i++) {
        idle += r->devices[i].mem_mib > 0 ? r->devices[i].milli : 0;
    }
    w->idle_milli = (int32_t)node_shape_counts(s, idle);
    w->drain = 16 * w->idle_milli + (r->cpu_milli == INT32_MAX ? 0 : r->cpu_milli < CPU_MAX ? r->cpu_milli : CPU_MAX);
}

/* Computes what is asked for and out of date. What nobody weighs costs no passes. */
static void complete(const struct forecast *o, struct value *w, const struct residual *r,
                     const struct residual_key *key, unsigned parts)
{
    const struct node_shape *s = &o->shapes[r->shape];

    if (w->samples_gen != o->samples_gen) {
        w->samples_gen = o->samples_gen;
        w->filled = w->filled_among = w->filled_alike = -1;
        sum_idle(s, w, r);
    }
    if ((parts & VALUE_FILLED) != 0 && w->filled < 0) {
        struct rollout g = rollout_recall(o->passes, s->samples, r, key, false);

        w->filled = (int32_t)node_shape_counts(s, g.filled);
        w->cpu_left = g.cpu_left;
    }
    if ((parts & VALUE_AMONG) != 0 && w->filled_among < 0) {
        w->filled_among = (int32_t)node_shape_counts(s, rollout_recall(o->passes, s->samples, r, key, true).filled);
    }
    if ((parts & VALUE_ALIKE) != 0 && w->filled_alike < 0) {
        w->filled_alike = (int32_t)rollout_places(o->passes, s->samples, r);
    }
    if (w->classes_gen != o->classes_gen) {
        w->classes_gen = o->classes_gen;
        forecast_supply(o, r, w->idle_milli, w->supply);
    }
}

uint32_t forecast_value_place(const struct forecast *o, const struct value *w)
{
    return (uint32_t)((size_t)((const char *)w - (const char *)o->values->places) / o->values->place_bytes);
}

/* Not inlined, so that what is complete is found quickly. */
static __attribute__((noinline)) const struct value *complete_kept(const struct forecast *o, struct value *w,
                                                                   uint32_t i, unsigned parts)
{
    struct residual_key key;
    struct residual r;

    if (w->device_n == NOT_KEPT) {
        return NULL;
    }
    kept(w, &r);
    residual_key(&r, &key);
    complete(o, w, &r, &key, parts);
    if (o->values->at[w->slot] == i) { /* unless others have the slot */
        o->values->tags[w->slot] = tag_of(o, w->key);
    }
    return w;
}

const struct value *forecast_value_at(const struct forecast *o, uint32_t i, uint32_t serial, unsigned parts)
{
    struct value *w;

    if (i >= o->values->n) {
        return NULL;
    }
    w = place(o->values, i);
    if (w->serial != serial || !is_known(o->values, w)) {
        return NULL;
    }
    return is_complete(o, w, parts) ? w : complete_kept(o, w, i, parts);
}

const struct value *forecast_value(const struct forecast *o, const struct residual *r, unsigned parts)
{
    struct residual_key key;
    struct value *w;

    residual_key(r, &key);
    w = find_value(o, r, key.all);
    if (!is_complete(o, w, parts)) {
        complete(o, w, r, &key, parts);
    }
    return w;
}
