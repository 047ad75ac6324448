/* GET /v1/stream over HTTP: where the client is, and its end of the feed. */
#include "routes/stream_internal.h"

#include "base/bug.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct client {
    struct stream_reader reader; /* joins the log at its first read: then libmicrohttpd has the stream */
    struct stream_log *log;
    struct state_context *state;
    uint64_t generation;
    bool known; /* its generation is of this process */
};

/* ---- what the client says ---- */

struct place {
    uint64_t generation;
    struct str started_at;
    bool has_generation;
};

static int place_read(const struct httpd_request *req, struct place *ret, struct err *reterr)
{
    struct str last = httpd_request_header(req, "Last-Event-ID"), name, value;
    size_t at = 0;

    *ret = (struct place){.generation = 0};
    while (httpd_request_query_next(req, &at, &name, &value)) {
        if (str_eq(name, STR("startedAt"))) {
            ret->started_at = value;
        } else if (!str_eq(name, STR("generation"))) {
            return err_set(reterr, ERR_INVALID, "unknown parameter \"%.*s\"; use generation and startedAt",
                           (int)(name.n < 64 ? name.n : 64), name.p != NULL ? name.p : "");
        } else if (!str_to_u64(value, INT64_MAX, &ret->generation)) {
            return err_set(reterr, ERR_INVALID, "generation must be a number, that of the /state that was read");
        } else {
            ret->has_generation = true;
        }
    }
    if (last.n > 0) {
        ret->has_generation = str_to_u64(last, INT64_MAX, &ret->generation);
    }
    return 0;
}

/* Is what it has of this process? */
static bool is_known(const struct state_context *c, const struct place *p, uint64_t now)
{
    char text[CLOCK_RFC3339_MAX];

    return p->has_generation && p->generation <= now &&
           str_eq(p->started_at, str_of(clock_rfc3339(c->started_ms, text)));
}

/* ---- the stream ---- */

static void say_hello(struct stream_reader *r, const struct state_context *c, uint64_t generation, bool reload)
{
    char started_at[CLOCK_RFC3339_MAX];
    struct json_writer w;
    struct strbuf b;

    strbuf_init(&b, STREAM_HELLO_MAX - 1);
    strbuf_add_cstr(&b, "event: hello\ndata: ");
    json_writer_init(&w, &b);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", STREAM_API_VERSION);
    json_write_kv_i64(&w, "generation", (int64_t)generation);
    json_write_kv_cstr(&w, "startedAt", clock_rfc3339(c->started_ms, started_at));
    state_write_text(&w, "version", c->version);
    json_write_object_end(&w);
    strbuf_add_cstr(&b, reload ? "\n\nevent: reload\ndata: {}\n\n" : "\n\n");
    BUG_ON(b.overflowed);
    memcpy(r->hello, b.p, b.n);
    r->hello_n = b.n;
    strbuf_fini(&b);
}

static void client_join(struct client *c)
{
    uint64_t now = store_generation(c->state->store);

    say_hello(&c->reader, c->state, now, false);
    if (!c->known || !stream_log_join(c->log, c->generation, &c->reader)) {
        say_hello(&c->reader, c->state, now, true);
        stream_log_join_to_end(c->log, &c->reader);
    }
}

static ssize_t client_read(void *ctx, char *buf, size_t max)
{
    struct client *c = ctx;

    if (c->reader.log == NULL) {
        client_join(c);
    }
    return stream_log_read(&c->reader, buf, max, clock_mono_ns(clock_system()));
}

static void client_close(void *ctx)
{
    struct client *c = ctx;

    if (c->reader.log != NULL) {
        stream_log_leave(&c->reader);
    }
    stream_log_release(c->log);
    free(c);
}

static enum httpd_action answer(struct stream_handler *h, const struct place *p, struct httpd_response *resp)
{
    struct stream_log *log = stream_feed_log(h->feed);
    struct client *c;
    struct err err;

    if (!stream_log_reserve(log)) {
        err_set(&err, ERR_UNAVAILABLE, "%d streams are already open; close one, or try again", STREAM_CLIENTS_MAX);
        return state_refuse(resp, 503, &err);
    }
    c = xcalloc(1, sizeof(*c));
    c->log = log;
    c->state = h->state;
    c->generation = p->generation;
    c->known = is_known(h->state, p, store_generation(h->state->store));
    c->reader.until_ns = clock_mono_ns(clock_system()) + STREAM_LIFE_MS * NS_PER_MS;
    resp->stream = c->reader.stream =
        httpd_stream_new(&(struct httpd_stream_source){.read = client_read, .close = client_close, .ctx = c});
    return HTTPD_REPLY;
}

enum httpd_action stream_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct stream_handler *h = ctx;
    struct place place;
    struct err err;

    if (h->feed == NULL) {
        httpd_response_text(resp, 404, "nothing to follow here\n");
        return HTTPD_REPLY;
    }
    if (place_read(req, &place, &err) != 0) {
        return state_refuse(resp, 400, &err);
    }
    resp->content_type = "text/event-stream; charset=utf-8";
    BUG_ON(!httpd_response_header(resp, "Cache-Control", STR("no-store")));
    BUG_ON(!httpd_response_header(resp, "X-Accel-Buffering", STR("no"))); /* a proxy between must not collect */
    BUG_ON(!httpd_response_header(resp, "X-Content-Type-Options", STR("nosniff")));
    return str_eq(httpd_request_method(req), STR("HEAD")) ? HTTPD_REPLY : answer(h, &place, resp);
}
