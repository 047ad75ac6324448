/* base/intern.c - text to number. Free entries are a list through `next_free`; the last freed is used first. */
#include "base/intern.h"

#include "base/bug.h"
#include "base/hashmap.h"

#include <stdlib.h>

struct entry {
    struct str text; /* an own copy */
    uint32_t user_n; /* 0: free */
    uint32_t next_free;
};

struct intern {
    struct hash_key key;
    uint32_t max_entries;
    struct entry *entries;
    uint32_t count, cap;
    uint32_t used_n;
    uint32_t first_free;
    uint64_t version;
    struct hashmap map; /* of entries in use */
};

struct intern *intern_new(struct hash_key key, uint32_t max_entries)
{
    struct intern *t = xcalloc(1, sizeof(*t));

    t->key = key;
    t->max_entries = max_entries < INTERN_NONE ? max_entries : INTERN_NONE - 1;
    t->first_free = INTERN_NONE;
    hashmap_init(&t->map);
    return t;
}

static void free_text(struct entry *e)
{
    free((char *)(uintptr_t)e->text.p);
    e->text = STR_NULL;
}

void intern_free(struct intern *t)
{
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        free_text(&t->entries[i]);
    }
    free(t->entries);
    hashmap_fini(&t->map);
    free(t);
}

static bool entry_is(const void *owner, uint32_t value, const void *key)
{
    const struct intern *t = owner;
    const struct str *wanted = key;

    return str_eq(t->entries[value].text, *wanted);
}

uint32_t intern_find(const struct intern *t, struct str s)
{
    uint32_t id = hashmap_find(&t->map, hash_str(t->key, s), entry_is, t, &s);

    return id == HASHMAP_NONE ? INTERN_NONE : id;
}

static uint32_t free_entry(struct intern *t)
{
    uint32_t id = t->first_free;

    if (id != INTERN_NONE) {
        t->first_free = t->entries[id].next_free;
        return id;
    }
    if (t->count == t->max_entries) {
        return INTERN_NONE;
    }
    if (t->count == t->cap) {
        t->cap = t->cap == 0 ? 16 : t->cap * 2;
        t->entries = xreallocarray(t->entries, t->cap, sizeof(*t->entries));
    }
    return t->count++;
}

uint32_t intern_take(struct intern *t, struct str s)
{
    uint64_t hash = hash_str(t->key, s);
    uint32_t id = hashmap_find(&t->map, hash, entry_is, t, &s);

    if (id != HASHMAP_NONE) {
        intern_take_again(t, id);
        return id;
    }
    id = free_entry(t);
    if (id == INTERN_NONE) {
        return INTERN_NONE;
    }
    t->entries[id] = (struct entry){.text = {str_dup(s), s.n}, .user_n = 1};
    t->used_n++;
    t->version++;
    hashmap_insert(&t->map, hash, id);
    return id;
}

void intern_take_again(struct intern *t, uint32_t id)
{
    BUG_ON(id >= t->count || t->entries[id].user_n == 0 || t->entries[id].user_n == UINT32_MAX);
    t->entries[id].user_n++;
}

void intern_drop(struct intern *t, uint32_t id)
{
    struct entry *e;

    BUG_ON(id >= t->count || t->entries[id].user_n == 0);
    e = &t->entries[id];
    if (--e->user_n > 0) {
        return;
    }
    hashmap_remove(&t->map, hash_str(t->key, e->text), id);
    free_text(e);
    e->next_free = t->first_free;
    t->first_free = id;
    t->used_n--;
}

struct str intern_text(const struct intern *t, uint32_t id)
{
    BUG_ON(id >= t->count);
    return t->entries[id].text;
}

uint32_t intern_users(const struct intern *t, uint32_t id)
{
    BUG_ON(id >= t->count);
    return t->entries[id].user_n;
}

uint32_t intern_count(const struct intern *t)
{
    return t->count;
}

uint32_t intern_used(const struct intern *t)
{
    return t->used_n;
}

uint64_t intern_version(const struct intern *t)
{
    return t->version;
}
