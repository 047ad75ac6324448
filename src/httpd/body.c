/* httpd/body.c - collects a body under a hard cap and a budget that all requests share.
 *
 * What is charged is memory held, not what a header promises: a client that announces 16 MiB and
 * sends nothing must not lock others out. What handlers make of a body lies in the request's arena, which is
 * charged to the same budget (httpd_budget_take): a few MiB of JSON become several times that.
 */
#include "httpd/server_internal.h"

#include "base/bug.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    BODY_MIN_BYTES = 4096,
    BODY_AT_ONCE_BYTES = 1 << 20, /* an announced body up to here is allocated in one go */
    BODY_KEEP_BYTES = 1 << 18,    /* a buffer up to here stays with a pooled request */
    TRIM_PEAK_BYTES = 32 << 20,   /* so much in flight was a burst, */
    TRIM_BELOW_BYTES = 1 << 20,   /* which is over when no more is left than this */
    TRIM_KEEP_BYTES = 8 << 20,    /* for what comes next */
};

static struct httpd_server *server_of(struct arena_lender *l)
{
    return (struct httpd_server *)(void *)((char *)l - offsetof(struct httpd_server, budget));
}

bool httpd_budget_take(struct arena_lender *l, size_t bytes)
{
    struct httpd_server *s = server_of(l);
    const size_t now = atomic_fetch_add(&s->inflight_bytes, bytes) + bytes;

    if (now > atomic_load(&s->inflight_max_bytes)) {
        atomic_fetch_sub(&s->inflight_bytes, bytes);
        return false;
    }
    for (size_t peak = atomic_load(&s->inflight_peak); now > peak;) {
        if (atomic_compare_exchange_weak(&s->inflight_peak, &peak, now)) {
            break;
        }
    }
    return true;
}

/* After a burst malloc would keep what it has for good (cmd/main.c wants it to keep some). */
void httpd_budget_give(struct arena_lender *l, size_t bytes)
{
    struct httpd_server *s = server_of(l);
    const size_t left = atomic_fetch_sub(&s->inflight_bytes, bytes) - bytes;

    if (left <= TRIM_BELOW_BYTES && atomic_load(&s->inflight_peak) >= TRIM_PEAK_BYTES &&
        atomic_exchange(&s->inflight_peak, left) >= TRIM_PEAK_BYTES) {
        (void)malloc_trim(TRIM_KEEP_BYTES);
    }
}

static bool charge(struct httpd_request *req, size_t cap)
{
    if (cap <= req->body_charged) {
        return true;
    }
    if (!httpd_budget_take(&req->server->budget, cap - req->body_charged)) {
        return false;
    }
    req->body_charged = cap;
    return true;
}

static void give_up(struct httpd_request *req, enum httpd_body why)
{
    req->body_state = why;
    req->discard = true;
    httpd_body_release(req); /* reading on may take a while */
}

static size_t grown(const struct httpd_request *req, size_t need)
{
    size_t cap = req->body_cap < BODY_MIN_BYTES ? BODY_MIN_BYTES : req->body_cap * 2;
    if (req->content_length != SIZE_MAX && cap < BODY_AT_ONCE_BYTES) {
        cap = BODY_AT_ONCE_BYTES;
    }
    if (cap > req->content_length) {
        cap = req->content_length;
    }
    if (cap > req->body_max) {
        cap = req->body_max;
    }
    return cap < need ? need : cap;
}

void httpd_body_add(struct httpd_request *req, const char *p, size_t n)
{
    if (req->discard) {
        return;
    }
    if (n > req->body_max - req->body_n) {
        give_up(req, HTTPD_BODY_TOO_LARGE);
        return;
    }
    const size_t need = req->body_n + n;
    const size_t cap = need <= req->body_cap ? req->body_cap : grown(req, need);
    if (!charge(req, cap)) {
        give_up(req, HTTPD_BODY_NO_BUDGET);
        return;
    }
    if (cap > req->body_cap) {
        req->body = xreallocarray(req->body, cap, 1);
        req->body_cap = cap;
    }
    memcpy(req->body + req->body_n, p, n);
    req->body_n = need;
}

void httpd_body_release(struct httpd_request *req)
{
    const size_t charged = req->body_charged;

    req->body_charged = 0;
    req->body_n = 0;
    if (req->body_cap > BODY_KEEP_BYTES) {
        free(req->body);
        req->body = NULL;
        req->body_cap = 0;
    }
    if (charged > 0) {
        httpd_budget_give(&req->server->budget, charged);
    }
}
