#include "demo/apiserver/apiserver_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "demo/apiserver/gzip_internal.h"
#include "httpd/stream.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* As the real server: smaller bodies are not worth it. */
#define GZIP_FROM_BYTES ((size_t)128 * 1024)
#define QUERY_BYTES_MAX (256U * 1024)

static bool socket_port(int fd, int (*name)(int, struct sockaddr *, socklen_t *), uint16_t *ret)
{
    struct sockaddr_in in = {0};
    socklen_t len = sizeof(in);
    if (name(fd, (struct sockaddr *)(void *)&in, &len) != 0 || in.sin_family != AF_INET) {
        return false;
    }
    *ret = ntohs(in.sin_port);
    return true;
}

/* The HTTP server has, rightly, no call for losing a connection, so the socket is found by its two
 * ends: our side of a loopback connection has our port here and the client's there. The request is
 * still being served, so the connection stays ours meanwhile. */
static void cut_connection(const struct apiserver *a, uint16_t peer_port)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir) {
        return;
    }
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        uint64_t fd;
        uint16_t here, there;
        if (str_to_u64(str_of(e->d_name), INT32_MAX, &fd) && socket_port((int)fd, getsockname, &here) &&
            socket_port((int)fd, getpeername, &there) && here == a->port && there == peer_port) {
            shutdown((int)fd, SHUT_RDWR);
        }
    }
    closedir(dir);
}

static uint16_t peer_port_of(struct httpd_request *req)
{
    struct str rest = httpd_request_peer(req), part, port = STR_NULL;
    uint64_t n = 0;
    while (str_split(&rest, ':', &part)) {
        port = part;
    }
    return str_to_u64(port, UINT16_MAX, &n) ? (uint16_t)n : 0;
}

/* False when the arena is full. */
static bool copy_query(struct httpd_request *req, struct kv_list *ret)
{
    struct arena *arena = httpd_request_arena(req);
    struct str key, value;
    size_t at = 0, n = 0;
    while (httpd_request_query_next(req, &at, &key, &value)) {
        n++;
    }
    struct kv *items = ARENA_ARRAY(arena, n, struct kv);
    at = 0;
    for (size_t i = 0; i < n && items; i++) {
        httpd_request_query_next(req, &at, &key, &value);
        items[i].key = key;
        const char *text = arena_cstr(arena, value); /* api_query() promises NUL-terminated text */
        items[i].value = (struct str){text, text ? value.n : 0};
    }
    *ret = (struct kv_list){items, items ? n : 0};
    return !arena->overflowed;
}

static void serve_api(struct apiserver *a, struct httpd_request *req, struct str content_type, bool hold,
                      struct api_reply *r)
{
    struct api_request q = {
        .method = httpd_request_method(req),
        .path = httpd_request_path(req),
        .hold = hold,
        .content_type = content_type,
        .body = httpd_request_body(req),
    };
    if (!copy_query(req, &q.query)) {
        api_fail(r, 413, NULL, "the request is too large");
        return;
    }
    api_serve(&a->api, &q, r);
}

/* Moves the reply over. */
static void fill_response(struct apiserver *a, struct api_reply *r, bool gzip, const struct fault_flow *flow,
                          struct httpd_response *resp)
{
    char seconds[16];
    resp->status = r->status;
    if (r->retry_after_s >= 0) {
        snprintf(seconds, sizeof(seconds), "%" PRId32, r->retry_after_s);
        httpd_response_header(resp, "Retry-After", str_of(seconds));
    }
    if (gzip && !r->watch && r->status == 200 && r->body.n > GZIP_FROM_BYTES) {
        gzip_pack(&r->body);
        httpd_response_header(resp, "Content-Encoding", STR("gzip"));
    }
    if (r->watch || (r->status == 200 && fault_flow_is_special(flow))) {
        resp->stream = streams_open(&a->streams, r->watch, strbuf_view(&r->body), flow);
        r->watch = NULL;
        return;
    }
    strbuf_fini(&resp->body);
    resp->body = r->body;
    strbuf_init(&r->body, 0);
}

static void fail_by_rule(const struct fault_rule *rule, struct api_reply *r)
{
    api_reply_fini(r);
    api_reply_init(r);
    r->retry_after_s = rule->retry_after_s;
    api_fail(r, rule->status, rule->reason[0] ? rule->reason : NULL, "%s",
             rule->message[0] ? rule->message : "fault injected by the simulated API server");
}

/* Nobody gets the reply. */
static void lose_reply(const struct apiserver *a, uint16_t peer_port, struct api_reply *r)
{
    cut_connection(a, peer_port);
    api_reply_fini(r);
    api_reply_init(r);
    api_fail(r, 500, "", "nobody receives this");
}

static void serve_with(struct apiserver *a, struct httpd_request *req, struct str content_type, bool gzip,
                       uint16_t peer_port, const struct fault_rule *rule, struct httpd_response *resp)
{
    struct api_reply r;
    api_reply_init(&r);
    bool skip = rule->action == FAULT_FAIL || rule->action == FAULT_CLOSE_BEFORE;
    if (!skip) {
        serve_api(a, req, content_type, rule->action == FAULT_COMMIT_LATE, &r);
    }
    switch (rule->action) {
    case FAULT_PASS:
    case FAULT_SWALLOW:
        break; /* the latter never matches a request */
    case FAULT_FAIL:
    case FAULT_FAIL_AFTER:
        fail_by_rule(rule, &r);
        break;
    case FAULT_CLOSE_BEFORE:
    case FAULT_CLOSE_AFTER:
        lose_reply(a, peer_port, &r);
        break;
    case FAULT_COMMIT_LATE: /* what it did not hold, it has answered */
        if (r.status < 300 && rule->status == 0) {
            lose_reply(a, peer_port, &r);
        } else if (r.status < 300) {
            fail_by_rule(rule, &r);
        }
        break;
    case FAULT_ACTION__MAX:
        BUG("fault action");
    }
    fill_response(a, &r, gzip, &rule->flow, resp);
    api_reply_fini(&r);
}

static void write_faults(struct apiserver *a, struct strbuf *out)
{
    struct fault_counts counts;
    struct apiserver_stats stats;
    apiserver_stats(a, &stats);
    counts.delayed = stats.delayed;
    api_count_held(&a->api, &counts.held, &counts.landed);
    faults_write(&a->faults, &counts, out);
}

static void serve_faults(struct apiserver *a, struct httpd_request *req, struct httpd_response *resp)
{
    struct err err;
    struct fault_command *c = NULL;
    if (str_eq(httpd_request_method(req), STR("GET"))) {
        write_faults(a, &resp->body);
        return;
    }
    if (!str_eq(httpd_request_method(req), STR("POST"))) {
        httpd_response_text(resp, 405, "GET or POST");
        return;
    }
    c = xcalloc(1, sizeof(*c));
    int rc = fault_command_parse(httpd_request_body(req), c, &err);
    if (rc == 0 && c->clear) {
        apiserver_faults_clear(a);
    }
    if (rc == 0 && c->compact) {
        apiserver_compact(a);
    }
    if (rc == 0 && c->commit) {
        apiserver_commit(a);
    }
    if (rc == 0 && c->minor != 0) {
        apiserver_set_minor(a, c->minor);
    }
    if (rc == 0 && c->sets_watch_list) {
        apiserver_set_watch_list(a, c->watch_list);
    }
    for (size_t i = 0; rc == 0 && i < c->rule_n; i++) {
        rc = faults_add(&a->faults, &c->rules[i], &err);
    }
    if (rc == 0 && c->drop_watches) {
        apiserver_drop_watches(a); /* last: who comes again meets the rules */
    }
    if (rc) {
        httpd_response_text(resp, 400, err.msg);
    } else {
        write_faults(a, &resp->body);
    }
    free(c);
}

/* "a=b&c=d", decoded. */
static void write_query(struct httpd_request *req, struct strbuf *out)
{
    struct str key, value;
    size_t at = 0;
    while (httpd_request_query_next(req, &at, &key, &value)) {
        strbuf_addf(out, "%s%.*s=%.*s", out->n > 0 ? "&" : "", STR_ARG(key), STR_ARG(value));
    }
}

static bool find_rule(struct apiserver *a, struct httpd_request *req, struct fault_rule *ret)
{
    struct strbuf query;
    if (!faults_any(&a->faults)) {
        return false;
    }
    strbuf_init(&query, QUERY_BYTES_MAX);
    write_query(req, &query);
    bool hit = faults_take(&a->faults, httpd_request_method(req), httpd_request_path(req), strbuf_view(&query), ret);
    strbuf_fini(&query);
    return hit;
}

/* False: the ticker has ended, or the faults were cleared since there were `clears` of it: nobody would come for it. */
static bool put_off(struct apiserver *a, struct httpd_request *req, struct str content_type, bool gzip,
                    const struct fault_rule *rule, unsigned clears)
{
    struct late *late = ARENA_NEW(httpd_request_arena(req), struct late);
    BUG_ON(!late); /* the arena has served nothing yet */
    late->due_ns = clock_mono_ns(a->api.clock) + (int64_t)rule->delay_ms * NS_PER_MS;
    late->req = req;
    late->content_type = arena_str(httpd_request_arena(req), content_type);
    late->gzip = gzip;
    late->peer_port = peer_port_of(req);
    late->rule = *rule;
    mutex_lock(&a->late_lock);
    const bool comes = !a->stopping && atomic_load(&a->clears) == clears;
    if (comes) {
        late->next = a->late;
        a->late = late;
        condvar_signal(&a->late_cond);
    }
    mutex_unlock(&a->late_lock);
    return comes;
}

enum httpd_action apiserver_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct apiserver *a = ctx;
    struct fault_rule rule = {.action = FAULT_PASS};
    if (str_eq(httpd_request_path(req), STR("/_faults"))) {
        serve_faults(a, req, resp);
        return HTTPD_REPLY;
    }
    atomic_fetch_add(&a->requests, 1);
    const unsigned clears = atomic_load(&a->clears);
    struct str content_type = httpd_request_header(req, "Content-Type");
    bool gzip = gzip_is_offered(httpd_request_header(req, "Accept-Encoding"));
    if (find_rule(a, req, &rule) && rule.delay_ms > 0 && put_off(a, req, content_type, gzip, &rule, clears)) {
        return HTTPD_SUSPENDED;
    }
    serve_with(a, req, content_type, gzip, peer_port_of(req), &rule, resp);
    return HTTPD_REPLY;
}

void apiserver_serve_late(struct apiserver *a, struct late *late)
{
    struct httpd_response resp;
    struct httpd_request *req = late->req;
    httpd_response_init(&resp, 1 << 20);
    serve_with(a, req, late->content_type, late->gzip, late->peer_port, &late->rule, &resp);
    httpd_resume(req, &resp);
}
