/* httpd/stream.c - streamed bodies: pull, wait, wake, hang-up, abort.
 *
 * While `waiting`, libmicrohttpd has suspended the connection and will not touch it, so the
 * connection and its descriptor are alive as long as the flag is seen under the stream's lock.
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include "httpd/stream.h"

#include "base/bug.h"
#include "httpd/server_internal.h"

#include <poll.h>
#include <stdlib.h>

enum { STREAM_BLOCK_BYTES = 32 * 1024 };

struct httpd_stream {
    atomic_uint refs;
    struct httpd_stream_source source;
    bool source_closed; /* the last reference or the end of the response, never both at once */

    struct mutex lock;
    bool waiting;
    bool woken;       /* since the last read began */
    bool abort_waits; /* the server stops: waiting is failing */
    bool aborted;
    struct MHD_Connection *mhd; /* NULL before it is sent and after it is over */
    struct httpd_conn *conn;    /* as long as mhd */

    struct httpd_server *server;   /* NULL before it is sent */
    LIST_ENTRY(httpd_stream) link; /* of server.streams, server.lock */
};

struct httpd_stream *httpd_stream_new(const struct httpd_stream_source *source)
{
    struct httpd_stream *s = xcalloc(1, sizeof(*s));
    atomic_init(&s->refs, 1);
    s->source = *source;
    mutex_init(&s->lock, "httpd stream");
    return s;
}

struct httpd_stream *httpd_stream_ref(struct httpd_stream *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

static void close_source(struct httpd_stream *s)
{
    if (!s->source_closed) {
        s->source_closed = true;
        if (s->source.close != NULL) {
            s->source.close(s->source.ctx);
        }
    }
}

void httpd_stream_unref(struct httpd_stream *s)
{
    if (s == NULL || atomic_fetch_sub(&s->refs, 1) != 1) {
        return;
    }
    close_source(s);
    mutex_destroy(&s->lock);
    free(s);
}

/* Under s->lock. */
static void resume_locked(struct httpd_stream *s)
{
    s->woken = true;
    if (s->waiting) {
        s->waiting = false;
        MHD_resume_connection(s->mhd);
    }
}

void httpd_stream_wake(struct httpd_stream *s)
{
    mutex_lock(&s->lock);
    resume_locked(s);
    mutex_unlock(&s->lock);
}

/* The source has nothing: true when the connection is now set aside, false when it must be asked
 * again. */
static bool set_aside(struct httpd_stream *s)
{
    bool waits = false;
    mutex_lock(&s->lock);
    if (s->abort_waits) {
        s->aborted = true;
    } else if (!s->woken && !s->aborted) {
        s->waiting = true;
        waits = true;
        httpd_conn_waiting(s->conn);
        MHD_suspend_connection(s->mhd);
    }
    mutex_unlock(&s->lock);
    return waits;
}

static bool read_begins(struct httpd_stream *s)
{
    mutex_lock(&s->lock);
    s->woken = false;
    const bool aborted = s->aborted;
    mutex_unlock(&s->lock);
    return !aborted;
}

static ssize_t pull(void *cls, uint64_t at, char *buf, size_t max)
{
    (void)at;
    struct httpd_stream *s = cls;
    while (read_begins(s)) {
        const ssize_t n = s->source.read(s->source.ctx, buf, max);
        if (n > 0) {
            BUG_ON((size_t)n > max);
            httpd_conn_sending(s->conn);
            return n;
        }
        if (n == HTTPD_STREAM_END) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        if (n != HTTPD_STREAM_WAIT) {
            break;
        }
        if (set_aside(s)) {
            return 0;
        }
    }
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static void pull_over(void *cls)
{
    struct httpd_stream *s = cls;
    struct httpd_server *server = s->server;
    mutex_lock(&server->lock);
    LIST_REMOVE(s, link);
    mutex_unlock(&server->lock);

    mutex_lock(&s->lock);
    BUG_ON(s->waiting);
    s->mhd = NULL;
    mutex_unlock(&s->lock);
    close_source(s);
    httpd_stream_unref(s);
}

struct MHD_Response *httpd_stream_response(struct httpd_request *req)
{
    struct httpd_server *server = req->server;
    struct httpd_stream *s = req->response.stream;
    BUG_ON(s->server != NULL); /* a stream is sent once */
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, pull, s, pull_over);
    if (r == NULL) {
        return NULL;
    }
    req->response.stream = NULL; /* the reference is libmicrohttpd's now, pull_over drops it */

    mutex_lock(&server->lock);
    mutex_lock(&s->lock);
    s->server = server;
    s->mhd = req->mhd;
    s->conn = req->conn;
    s->abort_waits = atomic_load(&server->draining);
    s->aborted = server->closed;
    mutex_unlock(&s->lock);
    LIST_INSERT_HEAD(&server->streams, s, link);
    mutex_unlock(&server->lock);
    return r;
}

void httpd_streams_check_hangup(struct httpd_server *server)
{
    struct httpd_stream *s;
    mutex_lock(&server->lock);
    LIST_FOREACH (s, &server->streams, link) {
        mutex_lock(&s->lock);
        if (s->waiting) {
            /* A client that closed its sending side is taken as gone, as Go's server does. */
            struct pollfd p = {.fd = s->conn->fd, .events = POLLRDHUP};
            if (poll(&p, 1, 0) > 0) {
                s->aborted = true;
                resume_locked(s);
            }
        }
        mutex_unlock(&s->lock);
    }
    mutex_unlock(&server->lock);
}

void httpd_streams_abort(struct httpd_server *server, bool only_waiting)
{
    struct httpd_stream *s;
    mutex_lock(&server->lock);
    LIST_FOREACH (s, &server->streams, link) {
        mutex_lock(&s->lock);
        s->abort_waits = true;
        if (s->waiting || !only_waiting) {
            s->aborted = true;
            resume_locked(s);
        }
        mutex_unlock(&s->lock);
    }
    mutex_unlock(&server->lock);
}
