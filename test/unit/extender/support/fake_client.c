#include "extender/support/fake_client.h"

#include "base/bug.h"
#include "base/sync.h"
#include "extender/support/await.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

struct call {
    char *method, *path, *body;
    uint32_t deadline_ms;
    kube_done_fn *done;
    void *ctx;
};

static struct {
    struct mutex lock;
    bool ready, refuses;
    struct call calls[FAKE_CLIENT_CALLS_MAX]; /* the oldest first */
    size_t n;
} fake;

static void call_free(struct call *c)
{
    free(c->method);
    free(c->path);
    free(c->body);
}

void fake_client_reset(void)
{
    if (!fake.ready) {
        mutex_init(&fake.lock, "fake client");
        fake.ready = true;
    }
    mutex_lock(&fake.lock);
    for (size_t i = 0; i < fake.n; i++) {
        call_free(&fake.calls[i]);
    }
    fake.n = 0;
    fake.refuses = false;
    mutex_unlock(&fake.lock);
}

void fake_client_refuse(bool refuses)
{
    mutex_lock(&fake.lock);
    fake.refuses = refuses;
    mutex_unlock(&fake.lock);
}

int kube_client_submit(struct kube_client *c, const struct kube_request *request, kube_done_fn *done, void *ctx,
                       struct err *reterr)
{
    int rc = 0;

    (void)c;
    mutex_lock(&fake.lock);
    if (fake.refuses) {
        rc = err_set(reterr, ERR_UNAVAILABLE, "too many calls");
    } else {
        BUG_ON(fake.n == FAKE_CLIENT_CALLS_MAX);
        fake.calls[fake.n++] = (struct call){
            .method = str_dup(str_of(request->method)),
            .path = str_dup((struct str){request->path, strcspn(request->path, "?")}),
            .body = str_dup(request->body),
            .deadline_ms = request->deadline_ms,
            .done = done,
            .ctx = ctx,
        };
    }
    mutex_unlock(&fake.lock);
    return rc;
}

static bool is_one(const struct call *c, const char *method, const char *end)
{
    return strcmp(c->method, method) == 0 && str_ends(str_of(c->path), str_of(end));
}

unsigned fake_client_pending(const char *method, const char *end)
{
    unsigned n = 0;

    mutex_lock(&fake.lock);
    for (size_t i = 0; i < fake.n; i++) {
        n += is_one(&fake.calls[i], method, end);
    }
    mutex_unlock(&fake.lock);
    return n;
}

/* With the lock; the oldest. */
static size_t find(const char *method, const char *end)
{
    size_t i = 0;

    while (i < fake.n && !is_one(&fake.calls[i], method, end)) {
        i++;
    }
    return i;
}

static void fail_of(const char *method, const char *end)
{
    fail_msg("no call %s ...%s is pending", method, end);
}

static bool is_pending(const void *call)
{
    const char *const *words = call;

    return fake_client_pending(words[0], words[1]) > 0;
}

void fake_client_await(const char *method, const char *end)
{
    const char *const words[] = {method, end};

    await(is_pending, words, method);
}

uint32_t fake_client_deadline_ms(const char *method, const char *end)
{
    uint32_t ms = 0;
    size_t i;

    mutex_lock(&fake.lock);
    i = find(method, end);
    ms = i < fake.n ? fake.calls[i].deadline_ms : 0;
    mutex_unlock(&fake.lock);
    if (ms == 0) {
        fail_of(method, end);
    }
    return ms;
}

bool fake_client_body_has(const char *method, const char *end, const char *part)
{
    bool has = false;
    size_t i;

    mutex_lock(&fake.lock);
    i = find(method, end);
    has = i < fake.n && strstr(fake.calls[i].body, part) != NULL;
    mutex_unlock(&fake.lock);
    return has;
}

static void finish(const char *method, const char *end, const struct kube_response *response)
{
    struct call c = {0};
    size_t i;

    mutex_lock(&fake.lock);
    i = find(method, end);
    if (i < fake.n) {
        c = fake.calls[i];
        fake.n--;
        memmove(&fake.calls[i], &fake.calls[i + 1], (fake.n - i) * sizeof(c));
    }
    mutex_unlock(&fake.lock);
    if (c.done == NULL) {
        fail_of(method, end);
    }
    c.done(c.ctx, response);
    call_free(&c);
}

void fake_client_answer(const char *method, const char *end, int http_status, int64_t retry_after_ms, const char *body)
{
    const struct kube_response response = {.outcome = {.kind = KUBE_ANSWERED,
                                                       .maybe_sent = true,
                                                       .http_status = http_status,
                                                       .retry_after_ms = retry_after_ms},
                                           .body = str_of(body)};

    finish(method, end, &response);
}

void fake_client_cancel_all(void)
{
    const struct kube_response response = {.outcome = kube_outcome_of(KUBE_CANCELLED, "of the test")};
    struct call call;

    do {
        call = (struct call){0};
        mutex_lock(&fake.lock);
        if (fake.n > 0) {
            call = fake.calls[--fake.n];
        }
        mutex_unlock(&fake.lock);
        if (call.done != NULL) {
            call.done(call.ctx, &response);
        }
        call_free(&call);
    } while (call.done != NULL);
}

void fake_client_end(const char *method, const char *end, enum kube_outcome_kind kind)
{
    struct kube_response response = {.outcome = kube_outcome_of(kind, "of the test")};

    response.outcome.maybe_sent = kind != KUBE_NOT_SENT;
    finish(method, end, &response);
}
