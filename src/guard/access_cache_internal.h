/* guard/access_cache_internal.h - what was learned about tokens, for a while. Not safe for
 * several threads: access.c locks. */
#ifndef GUARD_ACCESS_CACHE_INTERNAL_H
#define GUARD_ACCESS_CACHE_INTERNAL_H

#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 128 bits under secret keys: nobody can look for two texts with the same one. */
struct digest {
    uint64_t a, b;
};

struct digest_keys {
    struct hash_key a, b;
};

struct digest digest_of(const struct digest_keys *keys, struct str text);
bool digest_equal(struct digest x, struct digest y);

enum { AUTH_GOOD_MAX = 64, AUTH_BAD_MAX = 256, AUTH_ACTIONS_MAX = 16 };

/* What all entries begin with. */
struct auth_entry {
    struct digest key; /* of the token; of an action, of "get /metrics" */
    int64_t until_ns;  /* 0: not in use */
};

struct auth_action {
    struct auth_entry entry;
    bool allowed;
};

struct auth_good {
    struct auth_entry entry;
    char *subject; /* JSON for access_review_write (kube/review.h); owned */
    struct auth_action actions[AUTH_ACTIONS_MAX];
};

struct auth_cache {
    struct auth_good good[AUTH_GOOD_MAX];
    struct auth_entry bad[AUTH_BAD_MAX];
};

enum auth_known {
    AUTH_UNKNOWN,    /* ask whose the token is */
    AUTH_USER_KNOWN, /* ask what the user may */
    AUTH_ALLOWED,
    AUTH_FORBIDDEN,
    AUTH_BAD,
};

/* `subject` of AUTH_USER_KNOWN is borrowed until the next change. */
enum auth_known auth_cache_find(struct auth_cache *c, struct digest token, struct digest action, int64_t now_ns,
                                struct str *ret_subject);
/* The oldest entry gives way. `until_ns` > 0. */
void auth_cache_good(struct auth_cache *c, struct digest token, struct str subject, int64_t until_ns);
void auth_cache_bad(struct auth_cache *c, struct digest token, int64_t until_ns);
/* Nothing happens when the token has been forgotten meanwhile. */
void auth_cache_action(struct auth_cache *c, struct digest token, struct digest action, bool allowed, int64_t until_ns);
void auth_cache_fini(struct auth_cache *c); /* all zero is an empty one */

#endif
