#include "guard/access_cache_internal.h"

#include "base/compiler.h"

#include <stdlib.h>

struct digest digest_of(const struct digest_keys *keys, struct str text)
{
    return (struct digest){hash_str(keys->a, text), hash_str(keys->b, text)};
}

bool digest_equal(struct digest x, struct digest y)
{
    return x.a == y.a && x.b == y.b;
}

/* The entry with this key, else the one that ends first and gives way. */
static void *place_for(void *entries, size_t n, size_t size, struct digest key)
{
    struct auth_entry *first = entries;

    for (size_t i = 0; i < n; i++) {
        struct auth_entry *e = (struct auth_entry *)(void *)((char *)entries + i * size);

        if (digest_equal(e->key, key)) {
            return e;
        }
        if (e->until_ns < first->until_ns) {
            first = e;
        }
    }
    return first;
}

#define PLACE_FOR(array, key) place_for((array), ARRAY_LEN(array), sizeof((array)[0]), (key))

static bool is_valid(const struct auth_entry *e, struct digest key, int64_t now_ns)
{
    return e->until_ns > now_ns && digest_equal(e->key, key);
}

enum auth_known auth_cache_find(struct auth_cache *c, struct digest token, struct digest action, int64_t now_ns,
                                struct str *ret_subject)
{
    struct auth_good *g = PLACE_FOR(c->good, token);
    const struct auth_action *x = PLACE_FOR(g->actions, action);

    if (is_valid(PLACE_FOR(c->bad, token), token, now_ns)) {
        return AUTH_BAD;
    }
    if (!is_valid(&g->entry, token, now_ns)) {
        return AUTH_UNKNOWN;
    }
    if (is_valid(&x->entry, action, now_ns)) {
        return x->allowed ? AUTH_ALLOWED : AUTH_FORBIDDEN;
    }
    *ret_subject = str_of(g->subject);
    return AUTH_USER_KNOWN;
}

static void forget(struct auth_good *g)
{
    free(g->subject);
    *g = (struct auth_good){.subject = NULL};
}

void auth_cache_good(struct auth_cache *c, struct digest token, struct str subject, int64_t until_ns)
{
    struct auth_good *g = PLACE_FOR(c->good, token);

    forget(g);
    *g = (struct auth_good){.entry = {token, until_ns}, .subject = str_dup(subject)};
}

void auth_cache_bad(struct auth_cache *c, struct digest token, int64_t until_ns)
{
    struct auth_entry *bad = PLACE_FOR(c->bad, token);
    struct auth_good *g = PLACE_FOR(c->good, token);

    *bad = (struct auth_entry){token, until_ns};
    if (digest_equal(g->entry.key, token)) {
        forget(g);
    }
}

void auth_cache_action(struct auth_cache *c, struct digest token, struct digest action, bool allowed, int64_t until_ns)
{
    struct auth_good *g = PLACE_FOR(c->good, token);
    struct auth_action *x = PLACE_FOR(g->actions, action);

    if (digest_equal(g->entry.key, token)) {
        *x = (struct auth_action){{action, until_ns}, allowed};
    }
}

void auth_cache_fini(struct auth_cache *c)
{
    for (size_t i = 0; i < AUTH_GOOD_MAX; i++) {
        forget(&c->good[i]);
    }
}
