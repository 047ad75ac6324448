/* kube/transport_stream.c - one long reply, on the thread of whoever wants it. */
#include "transport_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS = 10 * 1000, ERROR_BODY_MAX = 16 * 1024, IDENTITY_POLL_MS = 50 };

struct kube_stream {
    const struct easy_context *context;
    CURLM *multi;
    struct exchange exchange;
    bool interrupted; /* atomic: any thread sets it */

    /* the present run */
    kube_bytes_fn *bytes;
    kube_tick_fn *tick;
    void *ctx;
    bool refused;     /* `bytes` or `tick` returned negative */
    int64_t heard_ns; /* last byte of the body */
    uint32_t silence_ms;
    struct strbuf error_body; /* of a reply that is not 200; its beginning */
};

int kube_stream_new(struct kube_client *c, struct kube_stream **ret, struct err *reterr)
{
    struct kube_stream *s = xcalloc(1, sizeof(*s));
    s->context = &c->context;
    s->multi = curl_multi_init();
    s->exchange.easy = curl_easy_init();
    strbuf_init(&s->error_body, ERROR_BODY_MAX);
    if (s->multi == NULL || s->exchange.easy == NULL) {
        kube_stream_free(s);
        return err_set(reterr, ERR_INTERNAL, "libcurl has no memory for a stream");
    }
    *ret = s;
    return 0;
}

void kube_stream_free(struct kube_stream *s)
{
    if (s != NULL) {
        curl_easy_cleanup(s->exchange.easy);
        curl_multi_cleanup(s->multi);
        strbuf_fini(&s->error_body);
        free(s);
    }
}

void kube_stream_interrupt(struct kube_stream *s)
{
    __atomic_store_n(&s->interrupted, true, __ATOMIC_RELEASE);
    curl_multi_wakeup(s->multi);
}

void kube_stream_wake(struct kube_stream *s)
{
    curl_multi_wakeup(s->multi);
}

void kube_stream_silence(struct kube_stream *s, uint32_t silence_ms)
{
    s->silence_ms = silence_ms;
}

static size_t on_bytes(char *p, size_t size, size_t n, void *ctx)
{
    struct kube_stream *s = ctx;
    struct str bytes = {p, size * n};
    long status = 0;
    struct err ignored; /* the receiver keeps its own account */
    s->heard_ns = clock_mono_ns(s->context->clock);
    EASY_GET(s->exchange.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        size_t left = ERROR_BODY_MAX - s->error_body.n;
        strbuf_add(&s->error_body, p, bytes.n < left ? bytes.n : left);
        return bytes.n;
    }
    /* a stopping process must not work through what is left in the socket */
    if (__atomic_load_n(&s->interrupted, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    s->refused = s->bytes(s->ctx, bytes, &ignored) < 0;
    return s->refused ? 0 : bytes.n;
}

/* Whether the transfer is over; then *ret is what libcurl says. */
static bool is_over(struct kube_stream *s, CURLcode *ret)
{
    int active, left;
    BUG_ON(curl_multi_perform(s->multi, &active) != CURLM_OK);
    exchange_progress(&s->exchange, s->context);
    const CURLMsg *message = curl_multi_info_read(s->multi, &left);
    if (message != NULL) {
        *ret = message->data.result;
    }
    return message != NULL;
}

/* When to look again at the latest, in ms; negative: not at all. */
static int64_t tick(struct kube_stream *s, int64_t wait_ms)
{
    long status = 0;
    if (s->tick == NULL) {
        return wait_ms;
    }
    EASY_GET(s->exchange.easy, CURLINFO_RESPONSE_CODE, &status);
    int64_t tick_ms = s->tick(s->ctx, (int)status);
    s->refused = tick_ms < 0;
    return tick_ms < wait_ms ? tick_ms : wait_ms;
}

static void transfer(struct kube_stream *s, struct kube_outcome *ret)
{
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    bool silent = false, interrupted = false;
    while (!is_over(s, &code)) {
        int64_t quiet_ms = (clock_mono_ns(s->context->clock) - s->heard_ns) / NS_PER_MS;
        interrupted = __atomic_load_n(&s->interrupted, __ATOMIC_ACQUIRE);
        silent = quiet_ms >= s->silence_ms;
        if (silent || interrupted) {
            break;
        }
        int64_t wait_ms = tick(s, s->silence_ms - quiet_ms);
        if (wait_ms < 0) {
            break;
        }
        multi_wait(s->multi, (int)wait_ms);
    }
    exchange_outcome(&s->exchange, code, ret);
    if (s->refused) {
        ret->kind = KUBE_ABORTED;
    } else if (interrupted || (code == CURLE_WRITE_ERROR && __atomic_load_n(&s->interrupted, __ATOMIC_ACQUIRE))) {
        ret->kind = KUBE_CANCELLED;
    } else if (silent) {
        ret->kind = KUBE_SILENT;
        snprintf(ret->detail, sizeof(ret->detail), "no byte for %u ms", s->silence_ms);
    } else if (ret->kind == KUBE_ANSWERED && ret->http_status != 200) {
        outcome_describe(ret, strbuf_view(&s->error_body));
    }
}

/* Begins the exchange, after a wait for the exec plugin if need be; false: *ret says why not. */
static bool begin_request(struct kube_stream *s, const struct kube_stream_request *request, struct kube_outcome *ret)
{
    const struct exchange_request get = {
        .method = "GET",
        .path = request->path,
        .gzip = request->gzip && !s->context->creds->disable_compression,
    };
    int64_t until_ns = clock_mono_ns(s->context->clock) + request->silence_ms * NS_PER_MS;
    struct err err;
    int rc;
    while ((rc = exchange_begin(&s->exchange, s->context, &get, &err)) != 0) {
        bool interrupted = __atomic_load_n(&s->interrupted, __ATOMIC_ACQUIRE);
        exchange_abandon(&s->exchange);
        if (rc != -ERR_UNAVAILABLE || interrupted || clock_mono_ns(s->context->clock) >= until_ns) {
            *ret = exchange_refused(&err);
            ret->kind = interrupted ? KUBE_CANCELLED : KUBE_NOT_SENT;
            return false;
        }
        multi_wait(s->multi, IDENTITY_POLL_MS);
    }
    return true;
}

/* Whether to run once more. */
static bool run_once(struct kube_stream *s, const struct kube_stream_request *request, struct kube_outcome *ret)
{
    struct exchange *x = &s->exchange;
    s->refused = false;
    strbuf_reset(&s->error_body);
    if (!begin_request(s, request, ret)) {
        return false;
    }
    s->heard_ns = x->begun_ns;
    EASY_SET(x->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    EASY_SET(x->easy, CURLOPT_WRITEFUNCTION, on_bytes);
    EASY_SET(x->easy, CURLOPT_WRITEDATA, s);
    BUG_ON(curl_multi_add_handle(s->multi, x->easy) != CURLM_OK);
    transfer(s, ret);
    BUG_ON(curl_multi_remove_handle(s->multi, x->easy) != CURLM_OK);
    return exchange_end(x, s->context, request->verb, request->resource, ret);
}

void kube_stream_run(struct kube_stream *s, const struct kube_stream_request *request, kube_bytes_fn *bytes, void *ctx,
                     struct kube_outcome *ret)
{
    s->bytes = bytes;
    s->tick = request->tick;
    s->ctx = ctx;
    s->silence_ms = request->silence_ms;
    if (run_once(s, request, ret)) {
        (void)run_once(s, request, ret);
    }
    __atomic_store_n(&s->interrupted, false, __ATOMIC_RELEASE);
}
