#include "extender/signing.h"

#include "base/bug.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct signing {
    char *private_key; /* NULL: none */
    struct str *public_keys;
    size_t public_key_n;
    const struct log *log;

    pthread_mutex_t looking; /* one look at a time; guards the rest of this block */
    const struct sign_keyring *seen; /* by the last look, when it is not what is in use; NULL: it is */
    char failed[ERR_MSG_MAX];        /* what was wrong then; empty: nothing */

    pthread_mutex_t lock; /* inner */
    pthread_cond_t wake;
    const struct sign_keyring *current;
    struct signing_stats stats;
    bool woken;
};

static void lock(pthread_mutex_t *m)
{
    BUG_ON(pthread_mutex_lock(m) != 0);
}

static void unlock(pthread_mutex_t *m)
{
    BUG_ON(pthread_mutex_unlock(m) != 0);
}

/* ---- life ---- */

static struct signing *new_signing(const struct log *log)
{
    struct signing *s = xcalloc(1, sizeof(*s));
    pthread_condattr_t attr;

    s->log = log;
    BUG_ON(pthread_mutex_init(&s->looking, NULL) != 0);
    BUG_ON(pthread_mutex_init(&s->lock, NULL) != 0);
    BUG_ON(pthread_condattr_init(&attr) != 0);
    BUG_ON(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0);
    BUG_ON(pthread_cond_init(&s->wake, &attr) != 0);
    BUG_ON(pthread_condattr_destroy(&attr) != 0);
    return s;
}

void signing_free(struct signing *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->public_key_n; i++) {
        free((char *)(uintptr_t)s->public_keys[i].p);
    }
    free(s->public_keys);
    free(s->private_key);
    sign_keyring_put(s->seen);
    sign_keyring_put(s->current);
    BUG_ON(pthread_cond_destroy(&s->wake) != 0);
    BUG_ON(pthread_mutex_destroy(&s->lock) != 0);
    BUG_ON(pthread_mutex_destroy(&s->looking) != 0);
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
    int r;

    s->private_key = o->files.private_key == NULL ? NULL : str_dup(str_of(o->files.private_key));
    s->public_keys = xcalloc(o->files.public_key_n, sizeof(s->public_keys[0]));
    for (; s->public_key_n < o->files.public_key_n; s->public_key_n++) {
        const struct str path = o->files.public_keys[s->public_key_n];

        s->public_keys[s->public_key_n] = (struct str){str_dup(path), path.n};
    }
    r = read_files(s, &k, &warning, reterr);
    if (r != 0) {
        signing_free(s);
        return r;
    }
    s->current = k;
    log_keys(s, k, "Records of decisions are signed", warning);
    *ret = s;
    return 0;
}

int signing_new_ephemeral(const struct log *log, struct signing **ret, struct err *reterr)
{
    struct sign_key key;
    const int r = sign_key_make(&key, reterr);

    if (r != 0) {
        return r;
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

    lock(&s->lock);
    k = sign_keyring_ref(s->current);
    unlock(&s->lock);
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

    lock(&s->lock);
    before = s->current;
    s->current = k;
    s->stats.reload_n++;
    unlock(&s->lock);
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
    lock(&s->lock);
    s->stats.reload_failed_n++;
    unlock(&s->lock);
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
    lock(&s->looking);
    if (read_files(s, &k, &warning, &err) != 0) {
        keep_old_ones(s, &err);
    } else {
        s->failed[0] = '\0';
        if (settle(s, k, at_once)) {
            other = use(s, k, warning);
        }
    }
    unlock(&s->looking);
    return other;
}

/* ---- what became of records ---- */

void signing_stats(struct signing *s, struct signing_stats *ret)
{
    lock(&s->lock);
    *ret = s->stats;
    unlock(&s->lock);
}

void signing_count(struct signing *s, enum signing_outcome outcome)
{
    lock(&s->lock);
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
    unlock(&s->lock);
}

/* ---- waiting ---- */

void signing_wake(struct signing *s)
{
    lock(&s->lock);
    s->woken = true;
    BUG_ON(pthread_cond_broadcast(&s->wake) != 0);
    unlock(&s->lock);
}

bool signing_wait(struct signing *s, int64_t timeout_ms)
{
    struct timespec until;
    bool woken;
    int rc = 0;

    BUG_ON(clock_gettime(CLOCK_MONOTONIC, &until) != 0);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    lock(&s->lock);
    while (!s->woken && rc == 0) {
        rc = pthread_cond_timedwait(&s->wake, &s->lock, &until);
    }
    woken = s->woken;
    s->woken = false;
    unlock(&s->lock);
    return woken;
}
