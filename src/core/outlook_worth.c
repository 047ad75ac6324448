/* What a room is worth, remembered: equal rooms on nodes of one shape are worth the same, and the same rooms come
 * again and again (all empty nodes, the node before this pod and before the next one).
 *
 * Places are found by two hashes of the room, 128 bits together, which stand for the room itself. Four places form a
 * set; a new room takes the place in its set that is out of date, else one that the hash tells. Nothing is allocated
 * once the table is there.
 */
#include "base/bug.h"
#include "base/hash.h"
#include "core/outlook_internal.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, TABLE_BYTES = 12 * 1024 * 1024, CPU_MAX = 1 << 28 };

static struct worth *place(const struct outlook *o, uint32_t i)
{
    return (struct worth *)(void *)((char *)o->worths + i * o->worth_bytes);
}

void outlook_worths_resize(struct outlook *o)
{
    size_t bytes = (sizeof(struct worth) + o->supply_n * sizeof(int32_t) + 15) / 16 * 16;
    uint32_t n = WAYS, serial = 0;

    if (o->worths != NULL && bytes <= o->worth_bytes) {
        return;
    }
    for (uint32_t i = 0; i < o->worth_n; i++) {
        serial = place(o, i)->serial > serial ? place(o, i)->serial : serial;
    }
    while (n * 2 * bytes <= TABLE_BYTES) {
        n *= 2;
    }
    free(o->worths);
    o->worths = xcalloc(n, bytes);
    o->worth_bytes = bytes;
    o->worth_n = n;
    for (uint32_t i = 0; i < n; i++) { /* what is remembered of the old table must not mean a room in this one */
        place(o, i)->serial = serial;
    }
}

static void hash_room(const struct room *r, uint64_t key[2])
{
    uint64_t a = UINT64_C(0x452821e638d01377) ^ (uint64_t)r->shape << 32 ^ (uint64_t)r->kinds << 8 ^ r->device_n;
    uint64_t b = UINT64_C(0xbe5466cf34e90c6c) ^ a;
    uint64_t host = (uint64_t)(uint32_t)r->cpu_milli << 32 | (uint32_t)r->mem_mib;

    a = hash_fold(a ^ host, UINT64_C(0xc0ac29b7c97c50dd));
    b = hash_fold(b ^ host, UINT64_C(0x3f84d5b5b5470917));
    for (unsigned i = 0; i < r->device_n; i++) {
        const struct room_device *d = &r->devices[i];
        uint64_t v = (uint64_t)(uint32_t)d->milli << 32 | (uint32_t)d->mem_mib;

        a = hash_fold(a ^ v, UINT64_C(0x9216d5d98979fb1b) + d->type);
        b = hash_fold(b ^ v, UINT64_C(0xd1310ba698dfb5ac) + d->type);
    }
    key[0] = a;
    key[1] = b;
}

static struct worth *find(const struct outlook *o, const uint64_t key[2])
{
    uint32_t set = (uint32_t)key[0] & (o->worth_n - 1) & ~(uint32_t)(WAYS - 1);
    struct worth *victim = NULL;

    for (uint32_t i = 0; i < WAYS; i++) {
        struct worth *w = place(o, set + i);

        if (w->draws_gen == o->draws_gen && w->key[0] == key[0] && w->key[1] == key[1]) {
            return w;
        }
        victim = w->draws_gen != o->draws_gen ? w : victim;
    }
    if (victim == NULL) {
        victim = place(o, set + (uint32_t)(key[1] % WAYS));
    }
    victim->draws_gen = 0;
    return victim;
}

static void look(const struct outlook *o, const struct room *r, const uint64_t key[2], struct worth *w)
{
    struct rollout g = rollout_run(o->shapes[r->shape].draws, r, false);
    int32_t idle = 0;

    for (unsigned i = 0; i < r->device_n; i++) {
        idle += r->devices[i].mem_mib > 0 ? r->devices[i].milli : 0; /* without memory nobody can use it */
    }
    w->key[0] = key[0];
    w->key[1] = key[1];
    w->draws_gen = o->draws_gen;
    w->classes_gen = 0;
    w->serial++;
    w->filled = (int32_t)g.filled;
    w->filled_among = -1;
    w->cpu_left = g.cpu_left;
    w->idle_milli = idle;
    w->drain = 16 * idle + (r->cpu_milli == INT32_MAX ? 0 : r->cpu_milli < CPU_MAX ? r->cpu_milli : CPU_MAX);
}

uint32_t outlook_worth_place(const struct outlook *o, const struct worth *w)
{
    return (uint32_t)((size_t)((const char *)w - (const char *)o->worths) / o->worth_bytes);
}

const struct worth *outlook_worth_at(const struct outlook *o, uint32_t i, uint32_t serial,
                                     bool among)
{
    const struct worth *w = place(o, i < o->worth_n ? i : 0);

    return i < o->worth_n && w->serial == serial && w->draws_gen == o->draws_gen && w->classes_gen == o->classes_gen &&
                   !(among && w->filled_among < 0)
               ? w
               : NULL;
}

const struct worth *outlook_worth(const struct outlook *o, const struct room *r, bool among)
{
    uint64_t key[2];
    struct worth *w;

    hash_room(r, key);
    w = find(o, key);
    if (w->draws_gen == 0) {
        look(o, r, key, w);
    }
    if (w->classes_gen != o->classes_gen) {
        outlook_supply(o, r, w->supply);
        w->classes_gen = o->classes_gen;
    }
    if (among && w->filled_among < 0) {
        w->filled_among = (int32_t)rollout_run(o->shapes[r->shape].draws, r, true).filled;
    }
    return w;
}
