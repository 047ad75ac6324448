/* base/intern.c - text to number.
 *
 * The entries live in segments that double in size and never move, so intern_text may run on one thread
 * while intern_add runs on another, for every id that the first thread got in an ordered way.
 */
#include "base/intern.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/hashmap.h"

#include <stdlib.h>

enum { FIRST_SEGMENT_BITS = 6, SEGMENT_MAX = 32 - FIRST_SEGMENT_BITS + 1 };

struct intern {
    struct hash_key key;
    uint32_t max_entries;
    uint32_t count; /* atomic: intern_text reads it without a lock */
    struct hashmap map;
    struct arena texts;
    struct str *segments[SEGMENT_MAX]; /* segment k holds 2^(k + FIRST_SEGMENT_BITS) entries */
};

/* With ids shifted by the size of the first segment, the highest bit names the segment. */
static struct str *entry(const struct intern *t, uint32_t id, uint32_t *ret_segment)
{
    uint64_t shifted = (uint64_t)id + (1U << FIRST_SEGMENT_BITS);
    uint32_t top = 63 - (uint32_t)__builtin_clzll(shifted);
    uint32_t segment = top - FIRST_SEGMENT_BITS;
    if (ret_segment != NULL) {
        *ret_segment = segment;
    }
    struct str *base = t->segments[segment];
    return base ? base + (shifted - (1ULL << top)) : NULL;
}

struct intern *intern_new(struct hash_key key, uint32_t max_entries)
{
    struct intern *t = xcalloc(1, sizeof(*t));
    t->key = key;
    t->max_entries = max_entries < INTERN_NONE ? max_entries : INTERN_NONE - 1;
    hashmap_init(&t->map);
    arena_init(&t->texts, SIZE_MAX);
    return t;
}

void intern_free(struct intern *t)
{
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; i < SEGMENT_MAX; i++) {
        free(t->segments[i]);
    }
    arena_fini(&t->texts);
    hashmap_fini(&t->map);
    free(t);
}

static bool entry_is(const void *owner, uint32_t value, const void *key)
{
    const struct str *e = entry(owner, value, NULL);
    const struct str *wanted = key;
    return e != NULL && str_eq(*e, *wanted);
}

uint32_t intern_find(const struct intern *t, struct str s)
{
    uint32_t id = hashmap_find(&t->map, hash_str(t->key, s), entry_is, t, &s);
    return id == HASHMAP_NONE ? INTERN_NONE : id;
}

uint32_t intern_add(struct intern *t, struct str s)
{
    uint64_t hash = hash_str(t->key, s);
    uint32_t id = hashmap_find(&t->map, hash, entry_is, t, &s);
    if (id != HASHMAP_NONE) {
        return id;
    }
    id = t->count;
    if (id >= t->max_entries) {
        return INTERN_NONE;
    }
    uint32_t segment;
    struct str *e = entry(t, id, &segment);
    if (e == NULL) {
        t->segments[segment] =
            xreallocarray(NULL, (size_t)1 << (segment + FIRST_SEGMENT_BITS), sizeof(struct str));
        e = entry(t, id, NULL);
        BUG_ON(e == NULL);
    }
    *e = arena_str(&t->texts, s);
    BUG_ON(e->p == NULL);
    hashmap_insert(&t->map, hash, id);
    __atomic_store_n(&t->count, id + 1, __ATOMIC_RELEASE);
    return id;
}

struct str intern_text(const struct intern *t, uint32_t id)
{
    BUG_ON(id >= intern_count(t));
    const struct str *e = entry(t, id, NULL);
    BUG_ON(e == NULL);
    return *e;
}

uint32_t intern_count(const struct intern *t)
{
    return __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
}
