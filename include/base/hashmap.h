/* base/hashmap.h - open addressing from a 64-bit hash to a 32-bit value; keys stay with their owner.
 *
 * The table stores (hash, value) pairs only. On a hit of the whole hash the owner's `eq` decides whether
 * the entry behind `value` really has the wanted key. Linear probing, deletion by shifting back (no
 * tombstones), grows at 3/4. Not thread-safe.
 */
#ifndef BASE_HASHMAP_H
#define BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASHMAP_NONE UINT32_MAX /* never stored as a value */

struct hashmap_slot {
    uint64_t hash;
    uint32_t value; /* HASHMAP_NONE: empty */
};

struct hashmap {
    struct hashmap_slot *slots;
    uint32_t slot_n; /* 0 or a power of two */
    uint32_t used_n;
};

/* Does the entry numbered `value` have this key? */
typedef bool hashmap_eq_fn(const void *owner, uint32_t value, const void *key);

void hashmap_init(struct hashmap *m);                /* all zeroes: an empty one */
void hashmap_fini(struct hashmap *m);                /* leaves an empty one */
void hashmap_reserve(struct hashmap *m, uint32_t n); /* room for n entries without growing again */

/* HASHMAP_NONE when absent. hashmap_probe is the same for loops that are hot enough to have `eq` inlined. */
static inline uint32_t hashmap_probe(const struct hashmap *m, uint64_t hash, hashmap_eq_fn *eq, const void *owner,
                                     const void *key)
{
    if (m->slot_n == 0) {
        return HASHMAP_NONE;
    }
    for (uint32_t mask = m->slot_n - 1, i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        const struct hashmap_slot *s = &m->slots[i];

        if (s->value == HASHMAP_NONE || (s->hash == hash && eq(owner, s->value, key))) {
            return s->value;
        }
    }
}
/* Begins to fetch what a probe of this hash will read. */
static inline void hashmap_fetch(const struct hashmap *m, uint64_t hash)
{
    if (m->slot_n > 0) {
        __builtin_prefetch(&m->slots[(uint32_t)hash & (m->slot_n - 1)]);
    }
}
uint32_t hashmap_find(const struct hashmap *m, uint64_t hash, hashmap_eq_fn *eq, const void *owner, const void *key);
/* The caller has made sure that the key is absent. */
void hashmap_insert(struct hashmap *m, uint64_t hash, uint32_t value);
/* The pair must be present (BUG otherwise). */
void hashmap_remove(struct hashmap *m, uint64_t hash, uint32_t value);

#endif
