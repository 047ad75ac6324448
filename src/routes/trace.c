#include "routes/trace.h"

#include "base/bug.h"
#include "base/json_write.h"
#include "extender/store_trace.h"
#include "httpd/stream.h"
#include "routes/state_internal.h"

#include <stdlib.h>
#include <string.h>

#define EDGE_BYTES_MAX 1024

struct reader {
    struct trace_context *context;
    struct store_trace trace;
    struct strbuf edge; /* the first line, later the last one */
    size_t edge_at;
    bool ends; /* the edge is the last line */
};

static void write_head(struct reader *r)
{
    const struct trace_context *c = r->context;
    char text[CLOCK_RFC3339_MAX];
    struct json_writer w;

    json_writer_init(&w, &r->edge);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", TRACE_API_VERSION);
    json_write_kv_cstr(&w, "kind", "Trace");
    json_write_kv_cstr(&w, "version", c->version);
    json_write_kv_cstr(&w, "startedAt", clock_rfc3339(c->started_ms, text));
    json_write_kv_cstr(&w, "asOf", clock_rfc3339(clock_wall_ms(c->clock), text));
    json_write_kv_i64(&w, "first", (int64_t)r->trace.first);
    json_write_kv_i64(&w, "next", (int64_t)r->trace.next);
    json_write_kv_bool(&w, "complete", r->trace.first == 1);
    json_write_kv_i64(&w, "generation", (int64_t)r->trace.generation);
    json_write_object_end(&w);
    strbuf_add_char(&r->edge, '\n');
}

static void write_end(struct reader *r)
{
    struct json_writer w;

    strbuf_reset(&r->edge);
    r->edge_at = 0;
    r->ends = true;
    json_writer_init(&w, &r->edge);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "type", "end");
    json_write_kv_i64(&w, "lines", (int64_t)(r->trace.next - r->trace.first));
    json_write_object_end(&w);
    strbuf_add_char(&r->edge, '\n');
}

static size_t take_edge(struct reader *r, char *buf, size_t max)
{
    size_t n = r->edge.n - r->edge_at < max ? r->edge.n - r->edge_at : max;

    memcpy(buf, r->edge.p + r->edge_at, n);
    r->edge_at += n;
    return n;
}

static ssize_t reader_read(void *ctx, char *buf, size_t max)
{
    struct reader *r = ctx;
    size_t n = take_edge(r, buf, max);

    if (n > 0) {
        return (ssize_t)n;
    }
    if (r->ends) {
        return HTTPD_STREAM_END;
    }
    if (!store_trace_read(r->context->store, &r->trace, buf, max, &n)) {
        return HTTPD_STREAM_ABORT;
    }
    if (n == 0) {
        write_end(r);
        n = take_edge(r, buf, max);
    }
    return (ssize_t)n;
}

static void reader_close(void *ctx)
{
    struct reader *r = ctx;

    atomic_fetch_sub(&r->context->reader_n, 1);
    strbuf_fini(&r->edge);
    store_trace_close(&r->trace);
    free(r);
}

static enum httpd_action answer(struct trace_context *c, struct httpd_response *resp)
{
    struct httpd_stream_source source = {.read = reader_read, .close = reader_close};
    struct reader *r;
    struct err err;

    if (!state_take_place(&c->reader_n, TRACE_READERS_MAX, "requests for /v1/trace are already running; try again",
                          resp)) {
        return HTTPD_REPLY;
    }
    r = xcalloc(1, sizeof(*r));
    r->context = c;
    strbuf_init(&r->edge, EDGE_BYTES_MAX);
    source.ctx = r;
    if (!store_trace_open(c->store, &r->trace)) {
        reader_close(r);
        err_set(&err, ERR_UNAVAILABLE, "nothing is recorded here; give flightRecorder.memory in the configuration");
        return state_refuse(resp, 503, &err);
    }
    write_head(r);
    resp->content_type = "application/x-ndjson";
    BUG_ON(!httpd_response_header(resp, "Cache-Control", STR("no-store")));
    BUG_ON(!httpd_response_header(resp, "X-Content-Type-Options", STR("nosniff")));
    resp->stream = httpd_stream_new(&source);
    return HTTPD_REPLY;
}

enum httpd_action trace_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct str name, value;
    size_t at = 0;
    struct err err;

    if (httpd_request_query_next(req, &at, &name, &value)) {
        err_set(&err, ERR_INVALID, "unknown parameter \"%.*s\"; there is none: fgpu trace chooses what it shows",
                (int)(name.n < 64 ? name.n : 64), name.p != NULL ? name.p : "");
        return state_refuse(resp, 400, &err);
    }
    return answer(ctx, resp);
}
