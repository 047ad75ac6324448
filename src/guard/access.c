#include "guard/access.h"

#include "base/bug.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/sync.h"
#include "guard/access_cache_internal.h"
#include "kube/review.h"
#include "kube/transport.h"

#include <stdlib.h>
#include <string.h>

enum {
    REVIEW_DEADLINE_MS = 5000, /* each of the two */
    SUBJECT_BYTES_MAX = 64 * 1024,
    REVIEW_BYTES_MAX = 256 * 1024,
    COMPLAINT_PAUSE_S = 60,
};

struct access {
    struct kube_client *client;
    const struct clock *clock;
    const struct log *log;
    struct digest_keys keys;

    struct mutex lock; /* of the rest */
    struct auth_cache cache;
    struct review *reviews;
    unsigned review_n, waiter_n;
    int64_t complained_ns; /* 0: never */
};

struct waiter {
    access_done_fn *done;
    void *ctx;
    struct waiter *next;
};

/* A question under way. */
struct review {
    struct access *access;
    struct review *next;
    struct digest token, action;
    char *verb, *path;
    struct waiter *waiters; /* never none */
};

static const char *const names[ACCESS_VERDICT__MAX] = {
    [ACCESS_ALLOWED] = "allowed",     [ACCESS_UNAUTHENTICATED] = "unauthenticated",
    [ACCESS_FORBIDDEN] = "forbidden", [ACCESS_OVERLOADED] = "overloaded",
    [ACCESS_FAILED] = "failed",
};

const char *access_verdict_name(enum access_verdict v)
{
    return names[v];
}

static int64_t until_ns(const struct access *a)
{
    return clock_mono_ns(a->clock) + ACCESS_TTL_S * NS_PER_S;
}

/* Once in a while, because callers decide how often it happens. */
static void complain(struct access *a, const char *review, int http_status, const char *detail)
{
    int64_t now_ns = clock_mono_ns(a->clock);
    bool silent;

    mutex_lock(&a->lock);
    silent = a->complained_ns != 0 && now_ns - a->complained_ns < COMPLAINT_PAUSE_S * NS_PER_S;
    if (!silent) {
        a->complained_ns = now_ns;
    }
    mutex_unlock(&a->lock);
    if (!silent) {
        LOG_WARNING(a->log,
                    http_status == 403 ? "fgpu may not ask the API server who its callers are: its ClusterRole "
                                         "must let it create this"
                                       : "The API server gives no answer about a caller; the caller is refused",
                    LOG_CSTR("review", review), LOG_I64("status", http_status), LOG_CSTR("err", detail));
    }
}

/* ---- a question ---- */

/* The four below: under the lock. */
static struct review *review_find(struct access *a, struct digest token, struct digest action)
{
    for (struct review *r = a->reviews; r != NULL; r = r->next) {
        if (digest_equal(r->token, token) && digest_equal(r->action, action)) {
            return r;
        }
    }
    return NULL;
}

static void review_join(struct review *r, access_done_fn *done, void *ctx)
{
    struct waiter *w = xmalloc(sizeof(*w));

    *w = (struct waiter){done, ctx, r->waiters};
    r->waiters = w;
    r->access->waiter_n++;
}

static struct review *review_begin(struct access *a, struct digest token, struct digest action, struct str verb,
                                   struct str path)
{
    struct review *r = xcalloc(1, sizeof(*r));

    *r = (struct review){.access = a,
                         .next = a->reviews,
                         .token = token,
                         .action = action,
                         .verb = str_dup(verb),
                         .path = str_dup(path)};
    a->reviews = r;
    a->review_n++;
    return r;
}

static void review_unlink(struct review *r)
{
    struct review **at = &r->access->reviews;

    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
    r->access->review_n--;
    for (const struct waiter *w = r->waiters; w != NULL; w = w->next) {
        r->access->waiter_n--;
    }
}

/* Nobody can join any more; then everybody who did is told. */
static void finish(struct review *r, enum access_verdict v)
{
    mutex_lock(&r->access->lock);
    review_unlink(r);
    mutex_unlock(&r->access->lock);
    while (r->waiters != NULL) {
        struct waiter *w = r->waiters;

        r->waiters = w->next;
        w->done(w->ctx, v);
        free(w);
    }
    free(r->verb);
    free(r->path);
    free(r);
}

static bool is_answer(const struct kube_response *response)
{
    return response->outcome.kind == KUBE_ANSWERED &&
           (response->outcome.http_status == 201 || response->outcome.http_status == 200);
}

static bool submit(struct review *r, const char *path, const char *resource, const struct strbuf *body,
                   kube_done_fn *done)
{
    const struct kube_request request = {
        .method = "POST",
        .path = path,
        .body = strbuf_view(body),
        .deadline_ms = REVIEW_DEADLINE_MS,
        .verb = "create",
        .resource = resource,
        .asks = true,
    };
    struct err err = {.code = ERR_LIMIT, .msg = "the question is too long"};

    if (!body->overflowed && kube_client_submit(r->access->client, &request, done, r, &err) == 0) {
        return true;
    }
    complain(r->access, resource, 0, err.msg);
    return false;
}

static void access_reviewed(void *ctx, const struct kube_response *response)
{
    struct review *r = ctx;
    struct access *a = r->access;
    struct err err = {.code = ERR_OK};
    bool allowed = false;

    if (!is_answer(response) || access_review_read(response->body, &allowed, &err) != 0) {
        complain(a, "subjectaccessreviews", response->outcome.http_status,
                 err.code != ERR_OK ? err.msg : response->outcome.detail);
        finish(r, ACCESS_FAILED);
        return;
    }
    mutex_lock(&a->lock);
    auth_cache_action(&a->cache, r->token, r->action, allowed, until_ns(a));
    mutex_unlock(&a->lock);
    finish(r, allowed ? ACCESS_ALLOWED : ACCESS_FORBIDDEN);
}

static bool ask_access(struct review *r, struct str subject)
{
    struct strbuf body;

    strbuf_init(&body, REVIEW_BYTES_MAX);
    access_review_write(subject, str_of(r->path), str_of(r->verb), &body);
    bool asked = submit(r, ACCESS_REVIEW_PATH, "subjectaccessreviews", &body, access_reviewed);
    strbuf_fini(&body);
    return asked;
}

static void token_reviewed(void *ctx, const struct kube_response *response)
{
    struct review *r = ctx;
    struct access *a = r->access;
    struct err err = {.code = ERR_OK};
    bool good = false;
    struct strbuf subject;

    strbuf_init(&subject, SUBJECT_BYTES_MAX);
    if (!is_answer(response) || token_review_read(response->body, &good, &subject, &err) != 0) {
        complain(a, "tokenreviews", response->outcome.http_status,
                 err.code != ERR_OK ? err.msg : response->outcome.detail);
        finish(r, ACCESS_FAILED);
    } else if (!good) {
        mutex_lock(&a->lock);
        auth_cache_bad(&a->cache, r->token, until_ns(a));
        mutex_unlock(&a->lock);
        finish(r, ACCESS_UNAUTHENTICATED);
    } else {
        mutex_lock(&a->lock);
        auth_cache_good(&a->cache, r->token, strbuf_view(&subject), until_ns(a));
        mutex_unlock(&a->lock);
        if (!ask_access(r, strbuf_view(&subject))) {
            finish(r, ACCESS_FAILED);
        }
    }
    strbuf_fini(&subject);
}

static bool ask_token(struct review *r, struct str token)
{
    struct strbuf body;

    strbuf_init(&body, REVIEW_BYTES_MAX);
    token_review_write(token, &body);
    bool asked = submit(r, TOKEN_REVIEW_PATH, "tokenreviews", &body, token_reviewed);
    if (body.cap > 0) {
        explicit_bzero(body.p, body.cap);
    }
    strbuf_fini(&body);
    return asked;
}

/* ---- what others call ---- */

static struct digest action_digest(const struct access *a, struct str verb, struct str path)
{
    struct strbuf text;
    struct digest ret;

    strbuf_init(&text, verb.n + 1 + path.n);
    strbuf_add_str(&text, verb);
    strbuf_add_char(&text, ' ');
    strbuf_add_str(&text, path);
    ret = digest_of(&a->keys, strbuf_view(&text));
    strbuf_fini(&text);
    return ret;
}

/* What access_check() is called with. */
struct question {
    struct digest token, action;
    struct str verb, path;
    access_done_fn *done;
    void *ctx;
};

/* True: *ret is the answer. False: it will come; and *ret_review, if not NULL, is to be asked, whose second
 * question alone is open where *ret_subject (the caller's) is not NULL. */
static bool find_or_begin(struct access *a, const struct question *q, enum access_verdict *ret,
                          struct review **ret_review, char **ret_subject)
{
    static const enum access_verdict verdicts[] = {
        [AUTH_ALLOWED] = ACCESS_ALLOWED, [AUTH_FORBIDDEN] = ACCESS_FORBIDDEN, [AUTH_BAD] = ACCESS_UNAUTHENTICATED};
    struct str subject = STR_NULL;
    struct review *r;
    bool known = true;

    *ret_review = NULL;
    *ret_subject = NULL;
    mutex_lock(&a->lock);
    enum auth_known what = auth_cache_find(&a->cache, q->token, q->action, clock_mono_ns(a->clock), &subject);
    r = review_find(a, q->token, q->action);
    if (what != AUTH_UNKNOWN && what != AUTH_USER_KNOWN) {
        *ret = verdicts[what];
    } else if (a->waiter_n == ACCESS_WAITERS_MAX || (r == NULL && a->review_n == ACCESS_REVIEWS_MAX)) {
        *ret = ACCESS_OVERLOADED;
    } else {
        known = false;
        if (r == NULL) {
            r = *ret_review = review_begin(a, q->token, q->action, q->verb, q->path);
            *ret_subject = what == AUTH_USER_KNOWN ? str_dup(subject) : NULL;
        }
        review_join(r, q->done, q->ctx);
    }
    mutex_unlock(&a->lock);
    return known;
}

bool access_check(struct access *a, struct str token, struct str verb, struct str path, access_done_fn *done, void *ctx,
                  enum access_verdict *ret)
{
    BUG_ON(token.n == 0 || token.n > ACCESS_TOKEN_BYTES_MAX || verb.n >= ACCESS_VERB_BYTES_MAX);
    const struct question q = {digest_of(&a->keys, token), action_digest(a, verb, path), verb, path, done, ctx};
    struct review *r;
    char *subject;

    if (find_or_begin(a, &q, ret, &r, &subject)) {
        return true;
    }
    if (r != NULL && !(subject != NULL ? ask_access(r, str_of(subject)) : ask_token(r, token))) {
        finish(r, ACCESS_FAILED); /* somebody may have joined */
    }
    free(subject);
    return false;
}

int access_new(struct kube_client *client, const struct clock *clock, const struct log *log, struct access **ret,
               struct err *reterr)
{
    struct access *a = xcalloc(1, sizeof(*a));
    int rc = rng_os_bytes(&a->keys, sizeof(a->keys), reterr);

    if (rc != 0) {
        free(a);
        return rc;
    }
    a->client = client;
    a->clock = clock;
    a->log = log;
    mutex_init(&a->lock, "access");
    *ret = a;
    return 0;
}

void access_free(struct access *a)
{
    if (a != NULL) {
        auth_cache_fini(&a->cache);
        mutex_destroy(&a->lock);
        free(a);
    }
}
