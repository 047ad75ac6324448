#include "extender/access_cache_internal.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

struct digest digest_of(const struct digest_keys *keys, struct str text)
{
    return (struct digest){hash_str(keys->a, text), hash_str(keys->b, text)};
}

bool digest_equal(struct digest x, struct digest y)
{
    return x.a == y.a && x.b == y.b;
}

static struct auth_good *find_good(struct auth_cache *c, struct digest token)
{
    for (size_t i = 0; i < AUTH_GOOD_MAX; i++) {
        if (c->good[i].until_ns > 0 && digest_equal(c->good[i].token, token)) {
            return &c->good[i];
        }
    }
    return NULL;
}

enum auth_known auth_cache_find(struct auth_cache *c, struct digest token, struct digest action, int64_t now_ns,
                                struct str *ret_subject)
{
    const struct auth_good *g = find_good(c, token);

    for (size_t i = 0; i < AUTH_BAD_MAX; i++) {
        if (c->bad[i].until_ns > now_ns && digest_equal(c->bad[i].token, token)) {
            return AUTH_BAD;
        }
    }
    if (g == NULL || g->until_ns <= now_ns) {
        return AUTH_UNKNOWN;
    }
    for (size_t i = 0; i < AUTH_ACTIONS_MAX; i++) {
        const struct auth_action *x = &g->actions[i];
        if (x->until_ns > now_ns && digest_equal(x->what, action)) {
            return x->allowed ? AUTH_ALLOWED : AUTH_FORBIDDEN;
        }
    }
    *ret_subject = str_of(g->subject);
    return AUTH_USER_KNOWN;
}

static void forget(struct auth_good *g)
{
    free(g->subject);
    memset(g, 0, sizeof(*g));
}

void auth_cache_good(struct auth_cache *c, struct digest token, struct str subject, int64_t until_ns)
{
    struct auth_good *g = find_good(c, token);

    for (size_t i = 0; i < AUTH_GOOD_MAX && g == NULL; i++) {
        if (c->good[i].until_ns == 0) {
            g = &c->good[i];
        }
    }
    if (g == NULL) {
        g = &c->good[0];
        for (size_t i = 1; i < AUTH_GOOD_MAX; i++) {
            g = c->good[i].until_ns < g->until_ns ? &c->good[i] : g;
        }
    }
    forget(g);
    g->token = token;
    g->until_ns = until_ns;
    g->subject = strndup(subject.p, subject.n);
    BUG_ON(g->subject == NULL);
}

void auth_cache_bad(struct auth_cache *c, struct digest token, int64_t until_ns)
{
    struct auth_bad *b = &c->bad[0];
    struct auth_good *g = find_good(c, token);

    for (size_t i = 1; i < AUTH_BAD_MAX && !digest_equal(b->token, token); i++) {
        if (c->bad[i].until_ns < b->until_ns || digest_equal(c->bad[i].token, token)) {
            b = &c->bad[i];
        }
    }
    *b = (struct auth_bad){token, until_ns};
    if (g != NULL) {
        forget(g);
    }
}

void auth_cache_action(struct auth_cache *c, struct digest token, struct digest action, bool allowed, int64_t until_ns)
{
    struct auth_good *g = find_good(c, token);

    if (g == NULL) {
        return;
    }
    struct auth_action *x = &g->actions[0];
    for (size_t i = 1; i < AUTH_ACTIONS_MAX && !digest_equal(x->what, action); i++) {
        if (g->actions[i].until_ns < x->until_ns || digest_equal(g->actions[i].what, action)) {
            x = &g->actions[i];
        }
    }
    *x = (struct auth_action){action, until_ns, allowed};
}

void auth_cache_fini(struct auth_cache *c)
{
    for (size_t i = 0; i < AUTH_GOOD_MAX; i++) {
        forget(&c->good[i]);
    }
}
