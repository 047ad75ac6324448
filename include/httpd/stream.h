/* httpd/stream.h - a response body that is pulled, possibly for hours.
 *
 * The server calls `read` when the client can take more bytes. A source that has none at the moment
 * returns HTTPD_STREAM_WAIT; the connection is then set aside at no cost until httpd_stream_wake().
 * A wake that comes between that return and the setting aside is not lost.
 *
 * The producer keeps its own reference so that it can wake the stream at any time; waking a stream
 * that is over does nothing. While a stream waits, the server looks a few times a second whether
 * the client has hung up. When the server stops, a waiting stream is aborted at once and a
 * producing one when the grace period ends, so that the client sees a cut body and never a
 * complete-looking half.
 */
#ifndef HTTPD_STREAM_H
#define HTTPD_STREAM_H

#include "base/compiler.h"

#include <stddef.h>
#include <sys/types.h>

#define HTTPD_STREAM_WAIT ((ssize_t)0)   /* nothing yet; call httpd_stream_wake later */
#define HTTPD_STREAM_END ((ssize_t)-1)   /* the body is complete */
#define HTTPD_STREAM_ABORT ((ssize_t)-2) /* cut the connection so that the client sees it failed */

struct httpd_stream_source {
    /* Fills at most `max` bytes and returns how many (> 0), or one of the values above. Called
     * on a server thread, never twice at once, without a lock of the server that
     * httpd_stream_wake needs. */
    ssize_t (*read)(void *ctx, char *buf, size_t max);
    /* Called exactly once, when nothing will be read any more. NULL: nothing to do. */
    void (*close)(void *ctx);
    void *ctx;
};

struct httpd_stream;

/* One reference, for httpd_response.stream. */
struct httpd_stream *httpd_stream_new(const struct httpd_stream_source *source);
struct httpd_stream *httpd_stream_ref(struct httpd_stream *s); /* returns s */
/* The last one frees; a stream that was never sent is closed by it. NULL is fine. */
void httpd_stream_unref(struct httpd_stream *s);

/* There may be data, or an end, now. Any thread. */
void httpd_stream_wake(struct httpd_stream *s);

#endif
