/* The web server of a simulated process: httpd's functions, defined here. A request is a fiber that calls the handler
 * of its route; bodies and answers are the bytes that would go over the wire. Streams, TLS (web_without.c) and other
 * listeners are not simulated. */
#define SIM_STREAM SIM_NET
#include "process.h"

#include "fiber.h"

#include "base/bug.h"
#include "base/clock.h"
#include "httpd/response.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX (16U * 1024 * 1024)
#define ROUTES_MAX 8

struct httpd_server {
    struct process *of;
    struct httpd_route routes[ROUTES_MAX]; /* of the verbs */
    size_t route_n;
    struct httpd_request *requests; /* that are not answered */
    struct fiber_waiters idle;
    bool stopped;
};

struct httpd_request {
    struct httpd_server *server; /* NULL: the connection broke, or it was answered without its handler */
    const struct httpd_route *route;
    struct httpd_request *next, *prev;
    char *path, *body;
    size_t body_n;
    struct arena arena;
    int64_t start_ns;
    bool suspended; /* its handler has returned, and an answer is still due */
    bool resumed;
    web_done_fn *done;
    void *ctx;
};

/* ---- a request ---- */

static void free_request(struct httpd_request *q)
{
    arena_fini(&q->arena);
    free(q->path);
    free(q->body);
    free(q);
}

static void take_off(struct httpd_request *q)
{
    struct httpd_server *s = q->server;

    if (s == NULL) {
        return;
    }
    *(q->prev != NULL ? &q->prev->next : &s->requests) = q->next;
    if (q->next != NULL) {
        q->next->prev = q->prev;
    }
    q->server = NULL;
    if (s->requests == NULL) {
        fiber_wake(&s->idle, true);
    }
}

struct reply {
    web_done_fn *done;
    void *ctx;
    char *body;
};

static void deliver(void *ctx)
{
    struct reply *r = ctx;

    r->done(r->ctx, r->body);
    free(r->body);
    free(r);
}

/* Outside of fibers, some time later. */
static void reply(web_done_fn *done, void *ctx, struct str body, bool broke)
{
    struct reply *r = xmalloc(sizeof(*r));

    *r = (struct reply){done, ctx, NULL};
    if (!broke) {
        r->body = xmalloc(body.n + 1);
        memcpy(r->body, body.p, body.n);
        r->body[body.n] = '\0';
    }
    sim_at(sim_now_ns() + 50000 + (int64_t)sim_below(300000), deliver, r);
}

/* Once for each request; the connection may have broken. */
static void answer(struct httpd_request *q, struct httpd_response *resp)
{
    if (q->server != NULL) {
        reply(q->done, q->ctx, strbuf_view(&resp->body), false);
        take_off(q);
    }
    httpd_response_fini(resp);
}

static void *request_main(void *ctx)
{
    struct httpd_request *q = ctx;
    struct httpd_response resp;

    httpd_response_init(&resp, BODY_MAX);
    if (q->route->handle(q->route->ctx, q, &resp) == HTTPD_REPLY) {
        answer(q, &resp);
        free_request(q);
        return NULL;
    }
    httpd_response_fini(&resp);
    if (q->resumed) { /* meanwhile */
        free_request(q);
    } else {
        q->suspended = true;
    }
    return NULL;
}

void web_post(struct process *p, const char *path, const char *body, web_done_fn *done, void *ctx)
{
    struct httpd_server *s = p->server;
    struct httpd_request *q;

    if (s == NULL || s->stopped || p->cut) {
        reply(done, ctx, STR_NULL, true);
        return;
    }
    q = xcalloc(1, sizeof(*q));
    for (size_t i = 0; i < s->route_n; i++) {
        q->route = strcmp(s->routes[i].path, path) == 0 ? &s->routes[i] : q->route;
    }
    BUG_ON(q->route == NULL);
    q->body_n = strlen(body);
    q->body = memcpy(xmalloc(q->body_n + 1), body, q->body_n + 1);
    q->path = memcpy(xmalloc(strlen(path) + 1), path, strlen(path) + 1);
    q->start_ns = sim_now_ns();
    q->done = done;
    q->ctx = ctx;
    arena_init(&q->arena, 32U * 1024 * 1024);
    q->server = s;
    q->next = s->requests;
    if (q->next != NULL) {
        q->next->prev = q;
    }
    s->requests = q;
    fiber_detach(fiber_spawn("http", request_main, q, p));
}

void web_cut(struct process *p)
{
    while (p->server != NULL && p->server->requests != NULL) {
        struct httpd_request *q = p->server->requests;

        reply(q->done, q->ctx, STR_NULL, true);
        take_off(q); /* whoever resumes it frees it */
    }
}

void httpd_resume(struct httpd_request *q, struct httpd_response *resp)
{
    answer(q, resp);
    q->resumed = true;
    if (q->suspended) {
        free_request(q);
    }
}

void httpd_again(struct httpd_request *q, void *note)
{
    (void)q;
    (void)note;
    BUG("only listeners with tokens call a handler again");
}

void *httpd_request_note(const struct httpd_request *q)
{
    (void)q;
    return NULL;
}

struct str httpd_request_method(const struct httpd_request *q)
{
    (void)q;
    return STR("POST");
}

struct str httpd_request_path(const struct httpd_request *q)
{
    return str_of(q->path);
}

struct str httpd_request_body(const struct httpd_request *q)
{
    return (struct str){q->body, q->body_n};
}

enum httpd_body httpd_request_body_state(const struct httpd_request *q)
{
    (void)q;
    return HTTPD_BODY_COMPLETE;
}

bool httpd_request_query_next(const struct httpd_request *q, size_t *at, struct str *ret_name, struct str *ret_value)
{
    (void)q;
    (void)at;
    (void)ret_name;
    (void)ret_value;
    return false;
}

struct str httpd_request_header(const struct httpd_request *q, const char *name)
{
    (void)q;
    (void)name;
    return STR_NULL;
}

struct str httpd_request_peer(struct httpd_request *q)
{
    (void)q;
    return STR("127.0.0.1:1");
}

struct str httpd_request_client(struct httpd_request *q)
{
    (void)q;
    return STR_NULL;
}

struct arena *httpd_request_arena(struct httpd_request *q)
{
    return &q->arena;
}

void httpd_request_forget(struct httpd_request *q)
{
    arena_reset(&q->arena);
}

int64_t httpd_request_start_ns(const struct httpd_request *q)
{
    return q->start_ns + 1000 * NS_PER_S; /* as clock_mono_ns(): fiber_wrap.c */
}

/* ---- answers ---- */

void httpd_response_init(struct httpd_response *resp, size_t body_max_bytes)
{
    resp->status = 200;
    strbuf_init(&resp->body, body_max_bytes);
    resp->stream = NULL;
    resp->header_n = 0;
}

void httpd_response_fini(struct httpd_response *resp)
{
    strbuf_fini(&resp->body);
}

bool httpd_response_header(struct httpd_response *resp, const char *name, struct str value)
{
    (void)resp;
    (void)name;
    (void)value;
    return true;
}

void httpd_response_text(struct httpd_response *resp, int status, const char *text)
{
    resp->status = status;
    strbuf_add_cstr(&resp->body, text);
}

/* ---- the server ---- */

int httpd_server_new(const struct httpd_config *config, struct httpd_server **ret, struct err *reterr)
{
    struct httpd_server *s = xcalloc(1, sizeof(*s));
    const struct httpd_listener_config *verbs = &config->listeners[0];

    (void)reterr;
    BUG_ON(strcmp(verbs->name, "verbs") != 0 || verbs->route_n > ROUTES_MAX);
    s->of = fiber_owner();
    s->route_n = verbs->route_n;
    memcpy(s->routes, verbs->routes, verbs->route_n * sizeof(s->routes[0]));
    *ret = s;
    return 0;
}

int httpd_server_start(struct httpd_server *s, struct err *reterr)
{
    (void)reterr;
    s->of->server = s;
    return 0;
}

void httpd_server_set_body_limits(struct httpd_server *s, size_t body_max_bytes, size_t inflight_max_bytes)
{
    (void)s;
    (void)body_max_bytes;
    (void)inflight_max_bytes;
}

uint16_t httpd_server_port(const struct httpd_server *s, size_t listener_ix)
{
    (void)s;
    (void)listener_ix;
    return 1;
}

uint64_t httpd_server_drops(const struct httpd_server *s, size_t listener_ix, enum httpd_drop why)
{
    (void)s;
    (void)listener_ix;
    (void)why;
    return 0;
}

const char *httpd_drop_name(enum httpd_drop why)
{
    (void)why;
    return "none";
}

void httpd_server_stop(struct httpd_server *s, int64_t drain_ms)
{
    const int64_t until_ns = sim_now_ns() + drain_ms * NS_PER_MS;

    s->stopped = true;
    while (s->requests != NULL && sim_now_ns() < until_ns) {
        (void)fiber_wait(&s->idle, until_ns);
    }
    while (s->requests != NULL) {
        struct httpd_request *q = s->requests;
        struct httpd_response resp;

        httpd_response_init(&resp, BODY_MAX);
        if (q->route->stopping != NULL) {
            (void)q->route->stopping(q->route->ctx, NULL, &resp);
        }
        answer(q, &resp);
    }
}

void httpd_server_free(struct httpd_server *s)
{
    if (s != NULL) {
        s->of->server = NULL;
        free(s);
    }
}
