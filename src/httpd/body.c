/* httpd/body.c - collects a body under a hard cap and a budget that all requests share.
 *
 * What is charged is memory held, not what a header promises: a client that announces 16 MiB and
 * sends nothing must not lock others out.
 */
#include "httpd/server_internal.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

enum {
    BODY_MIN_BYTES = 4096,
    BODY_AT_ONCE_BYTES = 1 << 20, /* an announced body up to here is allocated in one go */
    BODY_KEEP_BYTES = 1 << 18,    /* a buffer up to here stays with a pooled request */
};

static bool charge(struct httpd_request *req, size_t cap)
{
    if (cap <= req->body_charged) {
        return true;
    }
    struct httpd_server *s = req->server;
    const size_t more = cap - req->body_charged;
    if (atomic_fetch_add(&s->inflight_bytes, more) + more > atomic_load(&s->inflight_max_bytes)) {
        atomic_fetch_sub(&s->inflight_bytes, more);
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
    atomic_fetch_sub(&req->server->inflight_bytes, req->body_charged);
    req->body_charged = 0;
    req->body_n = 0;
    if (req->body_cap > BODY_KEEP_BYTES) {
        free(req->body);
        req->body = NULL;
        req->body_cap = 0;
    }
}
