/* What a room is worth, remembered: equal rooms on nodes of one shape are worth the same, and the same rooms come
 * again and again (all empty nodes, the node before this pod and before the next one).
 *
 * Places are found by two hashes of the room, 128 bits together, which stand for the room itself. Four places form a
 * set; a new room takes the place in its set that is out of date, else one that the hash tells. Nothing is allocated
 * once the table is there.
 */
#include "base/bug.h"
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
    free(o->worth_tags);
    o->worths = xcalloc(n, bytes);
    o->worth_tags = xcalloc(n, sizeof(*o->worth_tags));
    o->worth_bytes = bytes;
    o->worth_n = n;
    for (uint32_t i = 0; i < n && serial > 0; i++) { /* what is remembered of the old table must not mean a room in this one */
        place(o, i)->serial = serial;
    }
}

/* Which lists a place is of, and a part of its key: all four of a set are told apart in one cache line. */
static uint64_t tag_of(const struct outlook *o, const uint64_t key[2])
{
    return (uint64_t)o->draws_gen << 32 | key[1] >> 32;
}

static struct worth *find(const struct outlook *o, const uint64_t key[2])
{
    uint32_t set = (uint32_t)key[0] & (o->worth_n - 1) & ~(uint32_t)(WAYS - 1);
    uint32_t victim = set + (uint32_t)(key[1] % WAYS);
    uint64_t tag = tag_of(o, key);
    struct worth *w;

    for (uint32_t i = set; i < set + WAYS; i++) {
        w = place(o, i);
        if (o->worth_tags[i] == tag && w->draws_gen == o->draws_gen && w->key[0] == key[0] && w->key[1] == key[1]) {
            return w;
        }
        victim = o->worth_tags[i] >> 32 != o->draws_gen ? i : victim;
    }
    o->worth_tags[victim] = tag;
    w = place(o, victim);
    w->draws_gen = 0;
    return w;
}

static void look(const struct outlook *o, const struct room *r, const struct room_key *key, struct worth *w)
{
    struct rollout g = rollout_recall(o->walks, o->shapes[r->shape].draws, r, key, false);
    int32_t idle = 0;

    for (unsigned i = 0; i < r->device_n; i++) {
        idle += r->devices[i].mem_mib > 0 ? r->devices[i].milli : 0; /* without memory nobody can use it */
    }
    w->key[0] = key->all[0];
    w->key[1] = key->all[1];
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
    struct room_key key;
    struct worth *w;

    room_key(r, &key);
    w = find(o, key.all);
    if (w->draws_gen == 0) {
        look(o, r, &key, w);
    }
    if (w->classes_gen != o->classes_gen) {
        outlook_supply(o, r, w->supply);
        w->classes_gen = o->classes_gen;
    }
    if (among && w->filled_among < 0) {
        w->filled_among = (int32_t)rollout_recall(o->walks, o->shapes[r->shape].draws, r, &key, true).filled;
    }
    return w;
}
