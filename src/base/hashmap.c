/* base/hashmap.c - linear probing with deletion by shifting back. */
#include "base/hashmap.h"

#include "base/bug.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 16 };

void hashmap_init(struct hashmap *m)
{
    *m = (struct hashmap){0};
}

void hashmap_fini(struct hashmap *m)
{
    free(m->slots);
    hashmap_init(m);
}

/* At most 3/4 full: there is always an empty slot, which is what ends every probe. */
static bool fits(uint32_t slot_n, uint32_t used_n)
{
    return (uint64_t)used_n * 4 <= (uint64_t)slot_n * 3;
}

static void place(struct hashmap_slot *slots, uint32_t mask, struct hashmap_slot s)
{
    uint32_t i = (uint32_t)s.hash & mask;
    while (slots[i].value != HASHMAP_NONE) {
        i = (i + 1) & mask;
    }
    slots[i] = s;
}

static void resize(struct hashmap *m, uint32_t slot_n)
{
    struct hashmap_slot *slots = xreallocarray(NULL, slot_n, sizeof(*slots));
    for (uint32_t i = 0; i < slot_n; i++) {
        slots[i] = (struct hashmap_slot){.value = HASHMAP_NONE};
    }
    for (uint32_t i = 0; i < m->slot_n; i++) {
        if (m->slots[i].value != HASHMAP_NONE) {
            place(slots, slot_n - 1, m->slots[i]);
        }
    }
    free(m->slots);
    m->slots = slots;
    m->slot_n = slot_n;
}

void hashmap_reserve(struct hashmap *m, uint32_t n)
{
    uint32_t slot_n = m->slot_n > 0 ? m->slot_n : FIRST_SLOTS;
    while (!fits(slot_n, n)) {
        BUG_ON(slot_n > UINT32_MAX / 2);
        slot_n *= 2;
    }
    if (slot_n > m->slot_n) {
        resize(m, slot_n);
    }
}

uint32_t hashmap_find(const struct hashmap *m, uint64_t hash, hashmap_eq_fn *eq, const void *owner, const void *key)
{
    return hashmap_probe(m, hash, eq, owner, key);
}

void hashmap_insert(struct hashmap *m, uint64_t hash, uint32_t value)
{
    BUG_ON(value == HASHMAP_NONE);
    hashmap_reserve(m, m->used_n + 1);
    place(m->slots, m->slot_n - 1, (struct hashmap_slot){.hash = hash, .value = value});
    m->used_n++;
}

void hashmap_remove(struct hashmap *m, uint64_t hash, uint32_t value)
{
    BUG_ON(m->slot_n == 0 || value == HASHMAP_NONE);
    uint32_t mask = m->slot_n - 1;
    uint32_t hole = (uint32_t)hash & mask;
    while (m->slots[hole].hash != hash || m->slots[hole].value != value) {
        BUG_ON(m->slots[hole].value == HASHMAP_NONE);
        hole = (hole + 1) & mask;
    }
    /* An entry further on moves into the hole unless its home lies behind the hole: then a probe that
     * starts at its home would not pass the hole anyway. */
    for (uint32_t i = (hole + 1) & mask; m->slots[i].value != HASHMAP_NONE; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)m->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct hashmap_slot){.value = HASHMAP_NONE};
    m->used_n--;
}
