#include "extender/signing.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"

#include <stdlib.h>
#include <string.h>

struct signing {
    char *private_key; /* NULL: none */
    struct str *public_keys;
    size_t public_key_n;
    const struct log *log;

    struct mutex looking;            /* one look at a time; guards the rest of this block */
    const struct sign_keyring *seen; /* by the last look, when it is not what is in use; NULL: it is */
    char failed[ERR_MSG_MAX];        /* what was wrong then; empty: nothing */

    struct mutex lock; /* inner */
    struct condvar wake;
    const struct sign_keyring *current;
    struct signing_stats stats;
    bool woken;
    struct str remembered[SIGNING_REMEMBERED]; /* a ring; owned */
    size_t remember_at, remembered_n;
};

/* ---- life ---- */

static struct signing *new_signing(const struct log *log)
{
    struct signing *s = xcalloc(1, sizeof(*s));

    s->log = log;
    mutex_init(&s->looking, "signing look");
    mutex_init(&s->lock, "signing");
    condvar_init(&s->wake, "signing wake");
    return s;
}

static void forget(struct str *owned)
{
    free((char *)(uintptr_t)owned->p);
    *owned = STR_NULL;
}

void signing_free(struct signing *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->public_key_n; i++) {
        free((char *)(uintptr_t)s->public_keys[i].p);
    }
    for (size_t i = 0; i < SIGNING_REMEMBERED; i++) {
        forget(&s->remembered[i]);
    }
    free(s->public_keys);
    free(s->private_key);
    sign_keyring_put(s->seen);
    sign_keyring_put(s->current);
    condvar_destroy(&s->wake);
    mutex_destroy(&s->lock);
    mutex_destroy(&s->looking);
    free(s);
}

static int read_files(const struct signing *s, struct sign_keyring **ret, const char **ret_warning, struct err *reterr)
{
    const struct sign_files files = {s->private_key, s->public_keys, s->public_key_n};

    return sign_keyring_read(&files, ret, ret_warning, reterr);
}

static void log_keys(const struct signing *s, const struct sign_keyring *k, const char *msg, const char *warning)
{
    const struct sign_key *private_ = sign_keyring_private(k);
    const struct sign_public *publics;
    const size_t n = sign_keyring_publics(k, &publics);

    LOG_INFO(s->log, msg, LOG_CSTR("signsWith", private_ == NULL ? "none" : private_->public_.id),
             LOG_I64("publicKeys", (int64_t)n));
    if (warning != NULL) {
        LOG_WARNING(s->log, warning, LOG_CSTR("file", s->private_key));
    }
}

int signing_new(const struct signing_options *o, struct signing **ret, struct err *reterr)
{
    struct signing *s = new_signing(o->log);
    struct sign_keyring *k;
    const char *warning;
    int rc;

    s->private_key = o->files.private_key == NULL ? NULL : str_dup(str_of(o->files.private_key));
    s->public_keys = xcalloc(o->files.public_key_n, sizeof(s->public_keys[0]));
    for (; s->public_key_n < o->files.public_key_n; s->public_key_n++) {
        const struct str path = o->files.public_keys[s->public_key_n];

        s->public_keys[s->public_key_n] = (struct str){str_dup(path), path.n};
    }
    rc = read_files(s, &k, &warning, reterr);
    if (rc != 0) {
        signing_free(s);
        return rc;
    }
    s->current = k;
    log_keys(s, k, "Records of decisions are signed", warning);
    *ret = s;
    return 0;
}

int signing_new_ephemeral(const struct log *log, struct signing **ret, struct err *reterr)
{
    struct sign_key key;
    const int rc = sign_key_make(&key, reterr);

    if (rc != 0) {
        return rc;
    }
    *ret = new_signing(log);
    (*ret)->current = sign_keyring_of(&key);
    sign_key_wipe(&key);
    return 0;
}

/* ---- keys ---- */

const struct sign_keyring *signing_take(struct signing *s)
{
    const struct sign_keyring *k;

    mutex_lock(&s->lock);
    k = sign_keyring_ref(s->current);
    mutex_unlock(&s->lock);
    return k;
}

static bool same_publics(const struct sign_keyring *a, const struct sign_keyring *b)
{
    const struct sign_public *of_a, *of_b;
    const size_t n = sign_keyring_publics(a, &of_a);
    bool same = sign_keyring_publics(b, &of_b) == n;

    for (size_t i = 0; same && i < n; i++) {
        const struct sign_public *found = sign_keyring_find(b, str_of(of_a[i].id));

        same = found != NULL && memcmp(found->bytes, of_a[i].bytes, SIGN_KEY_BYTES) == 0;
    }
    return same;
}

/* Under s->looking. Takes `k` over. */
static bool use(struct signing *s, const struct sign_keyring *k, const char *warning)
{
    const struct sign_keyring *before;
    bool other;

    mutex_lock(&s->lock);
    before = s->current;
    s->current = k;
    s->stats.reload_n++;
    mutex_unlock(&s->lock);
    other = !same_publics(before, k);
    sign_keyring_put(before);
    log_keys(s, k, "Read the signing keys again", warning);
    return other;
}

/* Under s->looking. */
static void keep_old_ones(struct signing *s, const struct err *why)
{
    if (strcmp(s->failed, why->msg) == 0) {
        return;
    }
    memcpy(s->failed, why->msg, sizeof(s->failed));
    mutex_lock(&s->lock);
    s->stats.reload_failed_n++;
    mutex_unlock(&s->lock);
    LOG_ERROR(s->log, "The new signing keys are wrong; the old ones stay in use", LOG_CSTR("err", why->msg));
}

/* Under s->looking. True: this is new, and counts. Takes `k` over in any case. */
static bool settle(struct signing *s, struct sign_keyring *k, bool at_once)
{
    const struct sign_keyring *seen = s->seen;
    const bool is_new = !sign_keyring_equal(s->current, k); /* only a look changes s->current */
    const bool counts = is_new && (at_once || (seen != NULL && sign_keyring_equal(seen, k)));

    sign_keyring_put(seen);
    s->seen = is_new && !counts ? k : NULL;
    if (!is_new) {
        sign_keyring_put(k);
    }
    return counts;
}

bool signing_look(struct signing *s, bool at_once)
{
    struct sign_keyring *k;
    const char *warning;
    struct err err;
    bool other = false;

    if (s->private_key == NULL && s->public_key_n == 0) {
        return false;
    }
    mutex_lock(&s->looking);
    if (read_files(s, &k, &warning, &err) != 0) {
        keep_old_ones(s, &err);
    } else {
        s->failed[0] = '\0';
        if (settle(s, k, at_once)) {
            other = use(s, k, warning);
        }
    }
    mutex_unlock(&s->looking);
    return other;
}

/* ---- what became of records ---- */

void signing_stats(struct signing *s, struct signing_stats *ret)
{
    mutex_lock(&s->lock);
    *ret = s->stats;
    mutex_unlock(&s->lock);
}

void signing_count(struct signing *s, enum signing_outcome outcome)
{
    mutex_lock(&s->lock);
    switch (outcome) {
    case SIGNING_VERIFIED:
        s->stats.verified_n++;
        break;
    case SIGNING_REFUTED:
        s->stats.refuted_n++;
        break;
    case SIGNING_IGNORED:
        s->stats.ignored_n++;
        break;
    }
    mutex_unlock(&s->lock);
}

/* ---- what was signed here ---- */

void signing_remember(struct signing *s, struct str proof)
{
    struct str *place;

    if (proof.n == 0 || proof.n > SIGNING_REMEMBERED_BYTES) {
        return;
    }
    mutex_lock(&s->lock);
    place = &s->remembered[s->remember_at];
    s->remember_at = (s->remember_at + 1) % SIGNING_REMEMBERED;
    s->remembered_n += place->p == NULL;
    forget(place);
    *place = (struct str){str_dup(proof), proof.n};
    mutex_unlock(&s->lock);
}

/* Backwards, past those that are gone: what is still to come lies close together. */
bool signing_recognizes(struct signing *s, struct str proof)
{
    bool found = false;

    mutex_lock(&s->lock);
    for (size_t back = 1, left_n = proof.n > 0 ? s->remembered_n : 0; left_n > 0 && !found; back++) {
        struct str *place = &s->remembered[(s->remember_at + SIGNING_REMEMBERED - back) % SIGNING_REMEMBERED];

        left_n -= place->p != NULL;
        found = place->p != NULL && str_eq(*place, proof);
        if (found) {
            forget(place);
            s->remembered_n--;
            s->stats.recognized_n++;
        }
    }
    mutex_unlock(&s->lock);
    return found;
}

/* ---- waiting ---- */

void signing_wake(struct signing *s)
{
    mutex_lock(&s->lock);
    s->woken = true;
    condvar_broadcast(&s->wake);
    mutex_unlock(&s->lock);
}

bool signing_wait(struct signing *s, int64_t timeout_ms)
{
    const int64_t until_ns = sync_in_ns(timeout_ms * NS_PER_MS);
    bool in_time = true;
    bool woken;

    mutex_lock(&s->lock);
    while (!s->woken && in_time) {
        in_time = condvar_wait_until(&s->wake, &s->lock, until_ns);
    }
    woken = s->woken;
    s->woken = false;
    mutex_unlock(&s->lock);
    return woken;
}
