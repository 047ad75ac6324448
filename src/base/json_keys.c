/* base/json_keys.c - duplicate keys.
 *
 * The keys of all open objects form one stack. A new key is compared by hash with those of its own object:
 * one after the other while they are few, through `index` (open addressing) when they are many. Both the
 * stack and the index work because objects close in the reverse order of opening: what was inserted last
 * is removed first, so linear probing needs no marks for removed entries.
 */
#include "json_read_internal.h"

#include "load_internal.h"

#include "base/bug.h"

#include <string.h>

enum { FEW_KEYS = 16 };

/* A 64-bit hash, fast and unkeyed: an equal hash is only a reason to compare the texts. */
struct key_hash {
    uint64_t h;
    uint64_t fold; /* or'ed into every word: makes letters of either case alike */
};

static void hash_word(struct key_hash *k, uint64_t w)
{
    k->h = (k->h ^ (w | k->fold)) * 0x9e3779b97f4a7c15U;
    k->h ^= k->h >> 29;
}

static uint64_t hash_plain(struct key_hash k, struct str s)
{
    const char *p = s.p;
    size_t left = s.n;
    for (; left >= 8; p += 8, left -= 8) {
        hash_word(&k, load_le64(p));
    }
    hash_word(&k, load_le_tail(p, left));
    hash_word(&k, s.n);
    return k.h;
}

/* The same number for the text behind the escapes, which is nowhere stored. Out of line, as everything
 * rare here, so that the frequent path keeps a small frame. */
static NOINLINE uint64_t hash_escaped(struct key_hash k, struct str raw)
{
    uint64_t word = 0;
    uint64_t total = 0;
    while (raw.n > 0) {
        char one[4];
        size_t one_n = json_unescape_one(&raw, one);
        for (size_t i = 0; i < one_n; i++) {
            word |= (uint64_t)(unsigned char)one[i] << (8 * (total % 8));
            if (++total % 8 == 0) {
                hash_word(&k, word);
                word = 0;
            }
        }
    }
    hash_word(&k, word);
    hash_word(&k, total);
    return k.h;
}

static NOINLINE bool same_text(const struct json_reader *r, struct str a, struct str b)
{
    bool any_escape = memchr(a.p, '\\', a.n) != NULL || memchr(b.p, '\\', b.n) != NULL;
    if (!any_escape) {
        return r->fold_keys ? str_ieq(a, b) : str_eq(a, b);
    }
    char a_bytes[4], b_bytes[4];
    size_t a_n = 0, b_n = 0, a_at = 0, b_at = 0;
    for (;;) {
        if (a_at == a_n && a.n > 0) {
            a_n = json_unescape_one(&a, a_bytes);
            a_at = 0;
        }
        if (b_at == b_n && b.n > 0) {
            b_n = json_unescape_one(&b, b_bytes);
            b_at = 0;
        }
        if (a_at == a_n || b_at == b_n) {
            return a_at == a_n && b_at == b_n;
        }
        char x = a_bytes[a_at++];
        char y = b_bytes[b_at++];
        if (r->fold_keys ? str_fold(x) != str_fold(y) : x != y) {
            return false;
        }
    }
}

static bool same_key(const struct json_reader *r, const struct json_key *a, const struct json_key *b)
{
    return a->hash == b->hash && same_text(r, (struct str){a->raw, a->raw_n}, (struct str){b->raw, b->raw_n});
}

/* The keys of different objects share the index: the place of the object goes into the slot, so that a
 * list of objects inside an object does not probe along the same run. */
static uint32_t first_slot(const struct json_level *level, uint64_t hash)
{
    return (uint32_t)(((hash ^ level->key_base) * 0xd6e8feb86659fd93U) >> 32) & (JSON_INDEX_SLOTS - 1);
}

/* The slot of a key equal to `key` in this object, or the empty slot where it belongs. At most half of
 * the slots are in use. */
static uint32_t find_slot(const struct json_reader *r, const struct json_level *level, const struct json_key *key)
{
    uint32_t slot = first_slot(level, key->hash);
    for (;; slot = (slot + 1) & (JSON_INDEX_SLOTS - 1)) {
        uint32_t i = r->index[slot];
        if (i == 0 || (i > level->key_base && same_key(r, &r->keys[i - 1], key))) {
            return slot;
        }
    }
}

static void index_level(struct json_reader *r, struct json_level *level)
{
    if (!r->index_clear) {
        memset(r->index, 0, sizeof(r->index));
        r->index_clear = true;
    }
    for (uint32_t i = level->key_base; i < r->key_n; i++) {
        r->index[find_slot(r, level, &r->keys[i])] = (uint16_t)(i + 1);
    }
    level->indexed = true;
}

/* As the loop in json_keys_add, for an object with more keys than are worth comparing one by one. */
static NOINLINE bool is_duplicate_among_many(struct json_reader *r, struct json_level *level)
{
    if (!level->indexed) {
        index_level(r, level);
    }
    uint32_t slot = find_slot(r, level, &r->keys[r->key_n]);
    if (r->index[slot] != 0) {
        return true;
    }
    r->index[slot] = (uint16_t)(r->key_n + 1);
    return false;
}

bool json_keys_add(struct json_reader *r, const struct json_raw_string *key, size_t at)
{
    struct json_level *level = &r->levels[r->depth];
    if (r->key_n == JSON_KEYS_MAX && r->as_stored) {
        return true;
    }
    if (r->key_n == JSON_KEYS_MAX) {
        return json_fail_at(r, at, ERR_LIMIT, "too many keys");
    }
    struct key_hash start = {.h = 0, .fold = r->fold_keys ? 0x2020202020202020U : 0};
    struct json_key *new_key = &r->keys[r->key_n];
    new_key->hash = key->escaped ? hash_escaped(start, key->raw) : hash_plain(start, key->raw);
    new_key->raw = key->raw.p;
    new_key->raw_n = key->raw.n;

    bool duplicate = false;
    if (r->key_n - level->key_base >= FEW_KEYS) {
        duplicate = is_duplicate_among_many(r, level);
    } else {
        for (uint32_t i = level->key_base; i < r->key_n && !duplicate; i++) {
            duplicate = same_key(r, &r->keys[i], new_key);
        }
    }
    if (duplicate) {
        return json_fail_at(r, at, ERR_PARSE, "duplicate key");
    }
    r->key_n++;
    return true;
}

void json_keys_close(struct json_reader *r)
{
    const struct json_level *level = &r->levels[r->depth];
    BUG_ON(r->key_n < level->key_base);
    for (uint32_t i = r->key_n; level->indexed && i > level->key_base; i--) {
        uint32_t slot = first_slot(level, r->keys[i - 1].hash);
        while (r->index[slot] != i) {
            slot = (slot + 1) & (JSON_INDEX_SLOTS - 1);
        }
        r->index[slot] = 0;
    }
    r->key_n = level->key_base;
}
