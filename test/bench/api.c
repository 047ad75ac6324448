/* bench_api: an API server that costs next to nothing. Lists and events are written from numbers as
 * they are sent (support/cluster.h), a Binding is accepted at once and comes back as an event.
 * Nothing is checked and nothing is kept, so this is no stand-in for `fgpu apiserver` in any test.
 *
 *   GET  /api/v1/nodes, /api/v1/pods     with limit and continue; with watch=true a stream
 *   POST .../binding                     201, and a MODIFIED of that pod
 *   POST /bench/events?n=N               N times MODIFIED of bound pods, as fast as they are read
 *   POST /bench/expire                   ends every watch; the next one is told 410, so its owner
 * relists GET  /bench/sent                     events sent since the start
 *
 * Prints its URL; ends when its standard input is closed.
 */
#include "base/bug.h"
#include "httpd/stream.h"
#include "support/cluster.h"
#include "support/program.h"
#include "support/serve.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WATCHES_MAX = 8, PIECE_BYTES = 256 * 1024 };

struct watch {
    struct api *api;
    struct httpd_stream *stream; /* our reference, for waking; NULL: slot is free */
    bool is_pods;
    bool expire;
    uint64_t events;     /* still to be sent */
    struct strbuf extra; /* lines of single events, ready */
    struct strbuf piece;
    size_t at;
};

struct api {
    pthread_mutex_t lock;
    struct bench_cluster cluster;
    bool odd_shapes;
    uint64_t version;
    uint64_t sent;
    bool expired; /* watches from versions before `version` are refused */
    struct watch watches[WATCHES_MAX];
};

static void add_version(struct strbuf *out, uint64_t version, const char *continue_)
{
    strbuf_addf(out, "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\",\"continue\":\"%s\"}", version, continue_);
}

/* ---- lists ---- */

static uint64_t query_number(const struct httpd_request *req, const char *name, uint64_t otherwise)
{
    struct str text;
    uint64_t v;

    return httpd_request_query(req, name, &text) && str_to_u64(text, UINT32_MAX, &v) ? v : otherwise;
}

static void write_item(const struct api *api, struct strbuf *out, bool is_pods, uint32_t i, uint64_t version)
{
    uint32_t bound_n = bench_bound_n(&api->cluster);

    if (!is_pods) {
        bench_write_node(out, &api->cluster, i, version);
    } else if (i < bound_n) {
        bench_write_bound(out, &api->cluster, i, version);
    } else if (api->cluster.full && i - bound_n + 1 == api->cluster.pending_n) {
        bench_write_hungry(out, &api->cluster, i - bound_n, version);
    } else {
        bench_write_pending(out, i - bound_n, api->odd_shapes, NULL, version);
    }
}

static enum httpd_action list(struct api *api, struct httpd_request *req, struct httpd_response *resp, bool is_pods)
{
    uint64_t total = is_pods ? (uint64_t)bench_bound_n(&api->cluster) + api->cluster.pending_n : api->cluster.node_n;
    uint64_t first = query_number(req, "continue", 0), limit = query_number(req, "limit", total);
    uint64_t end = first + limit < total ? first + limit : total, version;
    char rest[32] = "";

    pthread_mutex_lock(&api->lock);
    version = api->version;
    pthread_mutex_unlock(&api->lock);
    if (end < total) {
        snprintf(rest, sizeof(rest), "%" PRIu64, end);
    }
    strbuf_addf(&resp->body, "{\"kind\":\"%s\",\"apiVersion\":\"v1\",", is_pods ? "PodList" : "NodeList");
    add_version(&resp->body, version, rest);
    strbuf_add_cstr(&resp->body, ",\"items\":[");
    for (uint64_t i = first; i < end; i++) {
        if (i > first) {
            strbuf_add_char(&resp->body, ',');
        }
        write_item(api, &resp->body, is_pods, (uint32_t)i, i + 1);
    }
    strbuf_add_cstr(&resp->body, "]}");
    BUG_ON(resp->body.overflowed);
    return HTTPD_REPLY;
}

/* ---- watches ---- */

static void write_event_begin(struct strbuf *out)
{
    strbuf_add_cstr(out, "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",");
}

/* The object without its opening brace, which the event has written. */
static void write_event_object(struct strbuf *out, const struct strbuf *object)
{
    strbuf_add(out, object->p + 1, object->n - 1);
    strbuf_add_cstr(out, "}\n");
}

/* Under the lock. */
static void fill(struct watch *w)
{
    struct api *api = w->api;
    uint32_t bound_n = bench_bound_n(&api->cluster);
    struct strbuf object;

    strbuf_reset(&w->piece);
    w->at = 0;
    strbuf_add(&w->piece, w->extra.p, w->extra.n);
    strbuf_reset(&w->extra);
    strbuf_init(&object, 1 << 20);
    while (w->events > 0 && bound_n > 0 && w->piece.n < PIECE_BYTES) {
        strbuf_reset(&object);
        bench_write_bound(&object, &api->cluster, (uint32_t)(w->events * 7919 % bound_n), ++api->version);
        write_event_begin(&w->piece);
        write_event_object(&w->piece, &object);
        w->events--;
        api->sent++;
    }
    strbuf_fini(&object);
}

static ssize_t watch_read(void *ctx, char *buf, size_t max)
{
    struct watch *w = ctx;
    ssize_t r = HTTPD_STREAM_WAIT;

    pthread_mutex_lock(&w->api->lock);
    if (w->at == w->piece.n) {
        fill(w);
    }
    if (w->at < w->piece.n) {
        size_t n = w->piece.n - w->at < max ? w->piece.n - w->at : max;

        memcpy(buf, w->piece.p + w->at, n);
        w->at += n;
        r = (ssize_t)n;
    } else if (w->expire) {
        r = HTTPD_STREAM_END;
    }
    pthread_mutex_unlock(&w->api->lock);
    return r;
}

static void watch_close(void *ctx)
{
    struct watch *w = ctx;
    struct httpd_stream *stream;

    pthread_mutex_lock(&w->api->lock);
    stream = w->stream;
    w->stream = NULL;
    strbuf_fini(&w->extra);
    strbuf_fini(&w->piece);
    pthread_mutex_unlock(&w->api->lock);
    httpd_stream_unref(stream);
}

static enum httpd_action watch(struct api *api, struct httpd_request *req, struct httpd_response *resp, bool is_pods)
{
    uint64_t since = query_number(req, "resourceVersion", 0);
    struct watch *w = NULL;

    pthread_mutex_lock(&api->lock);
    if (api->expired && since < api->version) {
        strbuf_add_cstr(&resp->body, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\","
                                     "\"reason\":\"Expired\",\"code\":410}}\n");
    } else {
        for (size_t i = 0; i < WATCHES_MAX && w == NULL; i++) {
            w = api->watches[i].stream == NULL ? &api->watches[i] : NULL;
        }
        BUG_ON(w == NULL);
        *w = (struct watch){.api = api, .is_pods = is_pods};
        strbuf_init(&w->extra, 64 << 20);
        strbuf_init(&w->piece, 64 << 20);
        resp->stream = httpd_stream_new(&(struct httpd_stream_source){watch_read, watch_close, w});
        w->stream = httpd_stream_ref(resp->stream);
    }
    pthread_mutex_unlock(&api->lock);
    return HTTPD_REPLY;
}

static enum httpd_action handle_get(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct api *api = ctx;
    struct str path = httpd_request_path(req), ignored;
    bool is_pods = str_eq(path, STR("/api/v1/pods"));

    if (!is_pods && !str_eq(path, STR("/api/v1/nodes"))) {
        httpd_response_text(resp, 404, "bench_api does not serve this");
        return HTTPD_REPLY;
    }
    if (httpd_request_query(req, "sendInitialEvents", &ignored)) {
        /* As servers without WatchList: what is measured at the start is a list. */
        resp->status = 422;
        strbuf_add_cstr(&resp->body,
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                        "\"message\":\"sendInitialEvents: Forbidden\",\"reason\":\"Invalid\",\"code\":422}");
        return HTTPD_REPLY;
    }
    return httpd_request_query(req, "watch", &ignored) ? watch(api, req, resp, is_pods) : list(api, req, resp, is_pods);
}

/* Calls `change` for every open watch of pods (or of both kinds) and wakes it. */
static void for_watches(struct api *api, bool pods_only, void (*change)(struct watch *w, void *ctx), void *ctx)
{
    struct httpd_stream *woken[WATCHES_MAX];
    size_t n = 0;

    pthread_mutex_lock(&api->lock);
    for (size_t i = 0; i < WATCHES_MAX; i++) {
        struct watch *w = &api->watches[i];

        if (w->stream != NULL && (w->is_pods || !pods_only)) {
            change(w, ctx);
            woken[n++] = httpd_stream_ref(w->stream);
        }
    }
    pthread_mutex_unlock(&api->lock);
    for (size_t i = 0; i < n; i++) {
        httpd_stream_wake(woken[i]);
        httpd_stream_unref(woken[i]);
    }
}

/* ---- bindings ---- */

struct bound_event {
    struct api *api;
    uint32_t pod;
    struct bench_binding at;
};

static void add_bound_event(struct watch *w, void *ctx)
{
    struct bound_event *e = ctx;
    struct strbuf object;

    strbuf_init(&object, 1 << 20);
    bench_write_pending(&object, e->pod, e->api->odd_shapes, &e->at, ++e->api->version);
    write_event_begin(&w->extra);
    write_event_object(&w->extra, &object);
    strbuf_fini(&object);
    e->api->sent++;
}

static enum httpd_action handle_binding(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct str body = httpd_request_body(req);
    struct str name = text_between(body, "\"name\":\"waiting-", "\"");
    struct bound_event e = {.api = ctx};
    uint64_t pod;

    e.at.annotations = text_between(body, "\"annotations\":{", "}},\"target\"");
    e.at.node_name = text_between(body, "\"kind\":\"Node\",\"name\":\"", "\"");
    if (str_to_u64(name, UINT32_MAX, &pod) && e.at.node_name.n > 0) {
        e.pod = (uint32_t)pod;
        for_watches(ctx, true, add_bound_event, &e);
    }
    resp->status = 201;
    strbuf_add_cstr(&resp->body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                 "\"status\":\"Success\",\"code\":201}");
    return HTTPD_REPLY;
}

/* ---- orders of the benchmark ---- */

static void add_events(struct watch *w, void *ctx)
{
    w->events += *(const uint64_t *)ctx;
}

static void expire_watch(struct watch *w, void *ctx)
{
    (void)ctx;
    w->expire = true;
}

static enum httpd_action handle_bench(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct api *api = ctx;
    uint64_t n = query_number(req, "n", 0);

    if (str_eq(httpd_request_path(req), STR("/bench/events"))) {
        for_watches(api, true, add_events, &n);
    } else if (str_eq(httpd_request_path(req), STR("/bench/expire"))) {
        pthread_mutex_lock(&api->lock);
        api->expired = true;
        api->version++;
        pthread_mutex_unlock(&api->lock);
        for_watches(api, false, expire_watch, NULL);
    }
    pthread_mutex_lock(&api->lock);
    strbuf_addf(&resp->body, "{\"sent\":%" PRIu64 "}", api->sent);
    pthread_mutex_unlock(&api->lock);
    return HTTPD_REPLY;
}

int main(int argc, char **argv)
{
    struct api api = {.lock = PTHREAD_MUTEX_INITIALIZER, .cluster = {5000, 8, 10, 0}};
    const struct httpd_route routes[] = {
        {.method = "POST",
         .path = "/api/v1/namespaces/",
         .handle = handle_binding,
         .ctx = &api,
         .flags = HTTPD_ROUTE_PREFIX},
        {.path = "/bench/", .handle = handle_bench, .ctx = &api, .flags = HTTPD_ROUTE_PREFIX},
        {.method = "GET", .path = "/", .handle = handle_get, .ctx = &api, .flags = HTTPD_ROUTE_PREFIX},
    };
    const struct httpd_listener_config listener = {
        .name = "api", .address = "127.0.0.1:0", .routes = routes, .route_n = 3, .thread_n = 2};
    int c;

    while ((c = getopt(argc, argv, "n:g:p:w:of")) != -1) {
        if (c == 'n') {
            api.cluster.node_n = option_number(optarg);
        } else if (c == 'g') {
            api.cluster.gpu_n = option_number(optarg);
        } else if (c == 'p') {
            api.cluster.per_node = option_number(optarg);
        } else if (c == 'w') {
            api.cluster.pending_n = option_number(optarg);
        } else if (c == 'o') {
            api.odd_shapes = true;
        } else if (c == 'f') {
            api.cluster.full = true;
        } else {
            fprintf(stderr, "usage: bench_api [-n nodes] [-g GPUs a node] [-p bound pods a node] "
                            "[-w waiting pods] [-o: odd shapes] [-f: full, and a pod that fits nowhere]\n");
            return 2;
        }
    }
    api.version = 10 + bench_bound_n(&api.cluster) + api.cluster.pending_n + api.cluster.node_n;
    return serve_until_stdin_ends(&listener);
}
