/* httpd/request.c - the life of a request between libmicrohttpd's callbacks, handlers and resumers.
 *
 *   on_target   request line complete: the object is born, its deadline runs
 *   on_access   once with the head, once per piece of body, once with nothing left: here handlers run.
 *               After a suspension it is called once more, with the response waiting in the request
 *   on_over     libmicrohttpd is done with it, whatever happened
 *
 * Two references: libmicrohttpd's from on_target to on_over, and one that is taken before the
 * handler runs and belongs to the resumer if the handler suspends.
 */
#include "httpd/server_internal.h"

#include "base/bug.h"
#include "httpd/tls_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOL_MAX = 64,
    ARENA_FREE_BYTES = 16384, /* not counted: heads, and calls that carry little */
};

static struct httpd_request *take_pooled(struct httpd_server *s)
{
    mutex_lock(&s->lock);
    s->active_n++;
    struct httpd_request *req = LIST_FIRST(&s->pool);
    if (req != NULL) {
        LIST_REMOVE(req, link);
        s->pool_n--;
    }
    mutex_unlock(&s->lock);
    return req;
}

static struct httpd_request *request_new(struct httpd_server *s)
{
    struct httpd_request *req = take_pooled(s);
    if (req == NULL) {
        req = xcalloc(1, sizeof(*req));
        req->server = s;
        arena_init_lent(&req->arena, s->config.arena_max_bytes, &s->budget, ARENA_FREE_BYTES);
    } else {
        struct arena arena = req->arena;
        char *body = req->body;
        const size_t body_cap = req->body_cap;
        /* Not the response: its header table is over a kilobyte and init makes it fresh. */
        memset(req, 0, offsetof(struct httpd_request, response));
        req->server = s;
        req->arena = arena;
        req->body = body;
        req->body_cap = body_cap;
    }
    req->status_sent = 0;
    httpd_response_init(&req->response, s->config.reply_max_bytes);
    atomic_init(&req->refs, 1);
    atomic_fetch_add(&s->refs, 1);
    return req;
}

void httpd_request_destroy(struct httpd_request *req)
{
    arena_fini(&req->arena);
    free(req->body);
    free(req);
}

static void request_unref(struct httpd_request *req)
{
    if (atomic_fetch_sub(&req->refs, 1) != 1) {
        return;
    }
    struct httpd_server *s = req->server;
    httpd_response_fini(&req->response);
    httpd_body_release(req);
    arena_reset(&req->arena);
    mutex_lock(&s->lock);
    const bool pooled = s->pool_n < POOL_MAX;
    if (pooled) {
        LIST_INSERT_HEAD(&s->pool, req, link);
        s->pool_n++;
    }
    mutex_unlock(&s->lock);
    if (!pooled) {
        httpd_request_destroy(req);
    }
    httpd_server_unref(s);
}

void *httpd_request_on_target(void *cls, const char *target, struct MHD_Connection *mhd)
{
    const struct httpd_listener *l = cls;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    BUG_ON(info == NULL || info->socket_context == NULL);
    struct httpd_request *req = request_new(l->server);
    req->listener = l;
    req->conn = info->socket_context;
    req->mhd = mhd;
    req->start_ns = clock_mono_ns(l->server->config.clock);
    req->target = arena_str(&req->arena, str_of(target)); /* libmicrohttpd cuts its own up */
    req->raw_target = str_of(target);
    httpd_conn_request_begins(req->conn);
    return req;
}

/* Answers a request that no handler sees, or whose handler cannot be asked. */
static enum MHD_Result answer_fault(struct httpd_request *req, int status, const char *text)
{
    httpd_response_text(&req->response, status, text);
    if (status == 405) {
        httpd_response_header(&req->response, "Allow", str_of(req->allow));
    }
    return httpd_response_queue(req);
}

/* Without waiting for a body that nobody knows the end of. */
static enum MHD_Result answer_at_once(struct httpd_request *req)
{
    httpd_conn_request_received(req->conn);
    req->phase = REQUEST_ANSWERED;
    req->response.close_connection = true;
    return answer_fault(req, req->fault_status, req->fault_text);
}

static void stopping_response(const struct httpd_route *route, size_t max, struct httpd_response *resp)
{
    httpd_response_init(resp, max);
    if (route->stopping == NULL) {
        httpd_response_text(resp, 503, "the server is stopping");
    } else {
        BUG_ON(route->stopping(route->ctx, NULL, resp) != HTTPD_REPLY);
    }
}

/* Lets libmicrohttpd come for the request, if it is set aside. Under server.lock. */
static void wake_locked(struct httpd_request *req)
{
    if (req->phase == REQUEST_SUSPENDED) {
        req->phase = REQUEST_HANDLING;
        LIST_REMOVE(req, link);
        MHD_resume_connection(req->mhd);
    }
}

/* Moves an answer into the request. Under server.lock. */
static void deliver_locked(struct httpd_request *req, struct httpd_response *resp)
{
    req->response = *resp;
    req->have_response = true;
    wake_locked(req);
}

void httpd_resume(struct httpd_request *req, struct httpd_response *resp)
{
    struct httpd_server *s = req->server;
    mutex_lock(&s->lock);
    const bool wanted = !req->answer_claimed && req->phase != REQUEST_OVER;
    req->answer_claimed = true;
    if (wanted) {
        deliver_locked(req, resp);
    }
    mutex_unlock(&s->lock);
    const size_t max = resp->body.max_bytes;
    if (!wanted) {
        httpd_response_fini(resp);
    }
    httpd_response_init(resp, max); /* moved or released: the caller's copy owns nothing */
    request_unref(req);
}

void httpd_again(struct httpd_request *req, void *note)
{
    struct httpd_server *s = req->server;
    mutex_lock(&s->lock);
    if (!req->answer_claimed && req->phase != REQUEST_OVER) {
        req->again = true;
        req->note = note;
        wake_locked(req);
    }
    mutex_unlock(&s->lock);
    request_unref(req);
}

void httpd_request_finish_suspended(struct httpd_server *s)
{
    mutex_lock(&s->lock);
    for (;;) {
        struct httpd_request *req = LIST_FIRST(&s->suspended);
        while (req != NULL && req->answer_claimed) {
            req = LIST_NEXT(req, link);
        }
        if (req == NULL) {
            break;
        }
        req->answer_claimed = true; /* a resumer that comes now is too late */
        mutex_unlock(&s->lock);
        struct httpd_response resp;
        stopping_response(req->route, s->config.reply_max_bytes, &resp);
        mutex_lock(&s->lock);
        deliver_locked(req, &resp);
    }
    mutex_unlock(&s->lock);
}

static enum MHD_Result run_handler(struct httpd_request *req);

/* The handler has returned HTTPD_SUSPENDED. */
static enum MHD_Result set_aside(struct httpd_request *req)
{
    struct httpd_server *s = req->server;
    bool stop = false;
    mutex_lock(&s->lock);
    const bool answered = req->have_response;
    const bool again = !answered && req->again;
    if (again) {
        req->again = false;
        mutex_unlock(&s->lock);
        return run_handler(req);
    }
    if (!answered && s->closed) {
        req->answer_claimed = true;
        stop = true;
    } else if (!answered) {
        req->phase = REQUEST_SUSPENDED;
        LIST_INSERT_HEAD(&s->suspended, req, link);
        MHD_suspend_connection(req->mhd);
        mutex_unlock(&s->lock);
        return MHD_YES;
    } else {
        req->phase = REQUEST_ANSWERED;
    }
    mutex_unlock(&s->lock);
    if (stop) {
        stopping_response(req->route, s->config.reply_max_bytes, &req->response);
    }
    return httpd_response_queue(req);
}

static enum MHD_Result run_handler(struct httpd_request *req)
{
    const struct httpd_route *route = req->route;
    struct httpd_response resp;
    httpd_response_init(&resp, req->server->config.reply_max_bytes);
    req->phase = REQUEST_HANDLING; /* not yet shared */
    atomic_fetch_add(&req->refs, 1);
    if (route->handle(route->ctx, req, &resp) == HTTPD_SUSPENDED) {
        httpd_response_fini(&resp);
        return set_aside(req);
    }
    request_unref(req);
    req->phase = REQUEST_ANSWERED;
    req->response = resp;
    return httpd_response_queue(req);
}

/* Everything has been received. */
static enum MHD_Result request_complete(struct httpd_request *req)
{
    if (!httpd_conn_request_received(req->conn)) {
        return MHD_NO;
    }
    if (req->fault_status != 0) {
        return answer_fault(req, req->fault_status, req->fault_text);
    }
    if (req->body_state != HTTPD_BODY_COMPLETE && (req->route->flags & HTTPD_ROUTE_BODY_FAULTS) == 0) {
        return req->body_state == HTTPD_BODY_TOO_LARGE
                   ? answer_fault(req, 413, "request body too large")
                   : answer_fault(req, 503, "too many request bytes in flight, try again");
    }
    return run_handler(req);
}

/* libmicrohttpd calls again after a resume; nothing else brings it back once a request is
 * complete. */
static enum MHD_Result request_resumed(struct httpd_request *req)
{
    mutex_lock(&req->server->lock);
    const bool ready = req->have_response;
    const bool again = !ready && req->again;
    req->again = false;
    if (ready) {
        req->phase = REQUEST_ANSWERED;
    }
    mutex_unlock(&req->server->lock);
    if (again) {
        return run_handler(req);
    }
    return ready ? httpd_response_queue(req) : MHD_YES;
}

enum MHD_Result httpd_request_on_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                        const char *version, const char *upload, size_t *upload_n, void **req_cls)
{
    (void)cls, (void)mhd, (void)url;
    struct httpd_request *req = *req_cls;
    BUG_ON(req == NULL);
    if (!req->begun) {
        req->begun = true;
        if (!httpd_tls_is_admitted(req->conn)) {
            return MHD_NO; /* the handshake has failed already; should it ever not */
        }
        if (httpd_request_read_head(req, method, version)) {
            httpd_conn_head_complete(req->conn);
            return MHD_YES;
        }
        return answer_at_once(req);
    }
    if (*upload_n != 0) {
        if (!httpd_head_ends_before(req, upload)) {
            return MHD_NO; /* a bare LF before the body: no telling what the peer means */
        }
        req->body_begun = true;
        httpd_body_add(req, upload, *upload_n);
        *upload_n = 0;
        return MHD_YES;
    }
    return req->phase == REQUEST_RECEIVING ? request_complete(req) : request_resumed(req);
}

static void observe(struct httpd_request *req)
{
    const struct httpd_config *config = &req->server->config;
    if (config->observe == NULL) {
        return;
    }
    const struct httpd_observation o = {
        .listener = req->listener->config.name,
        .method = req->method,
        .path = req->path,
        .status = req->status_sent,
        .duration_ns = clock_mono_ns(config->clock) - req->start_ns,
    };
    config->observe(config->observe_ctx, &o);
}

void httpd_request_on_over(void *cls, struct MHD_Connection *mhd, void **req_cls, enum MHD_RequestTerminationCode toe)
{
    (void)cls, (void)mhd, (void)toe;
    struct httpd_request *req = *req_cls;
    if (req == NULL) {
        return;
    }
    *req_cls = NULL;
    struct httpd_server *s = req->server;
    httpd_conn_request_over(req->conn);
    observe(req);
    mutex_lock(&s->lock);
    BUG_ON(req->phase == REQUEST_SUSPENDED);
    req->phase = REQUEST_OVER;
    s->active_n--;
    condvar_broadcast(&s->idle);
    mutex_unlock(&s->lock);
    request_unref(req);
}
