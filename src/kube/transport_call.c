/* kube/transport_call.c - one short call that somebody submitted: all of it copied. */
#include "transport_call_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
    return text != NULL ? str_dup(str_of(text)) : NULL;
}

static char **copy_headers(const char *const *headers)
{
    size_t n = 0;
    while (headers != NULL && headers[n] != NULL) {
        n++;
    }
    char **ret = xcalloc(n + 1, sizeof(*ret));
    for (size_t i = 0; i < n; i++) {
        ret[i] = copy(headers[i]);
    }
    return ret;
}

struct call *call_new(const struct kube_request *r, int64_t now_ns, kube_done_fn *done, void *ctx)
{
    struct call *call = xcalloc(1, sizeof(*call));
    call->method = copy(r->method);
    call->path = copy(r->path);
    call->content_type = copy(r->content_type);
    call->headers = copy_headers(r->headers);
    call->body = str_dup(r->body);
    call->body_n = r->body.n;
    call->verb = r->verb;
    call->resource = r->resource;
    call->writes = kube_request_writes(r) && !r->unelected;
    call->response_max = r->response_bytes_max != 0 ? r->response_bytes_max : KUBE_RESPONSE_BYTES_MAX;
    call->submitted_ns = now_ns;
    call->deadline_ns = now_ns + r->deadline_ms * NS_PER_MS;
    call->done = done;
    call->ctx = ctx;
    return call;
}

void call_free(struct call *call)
{
    for (char **h = call->headers; *h != NULL; h++) {
        free(*h);
    }
    free(call->headers);
    free(call->method);
    free(call->path);
    free(call->content_type);
    explicit_bzero(call->body, call->body_n); /* a TokenReview holds a token */
    free(call->body);
    free(call);
}
