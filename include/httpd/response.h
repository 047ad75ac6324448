/* httpd/response.h - what a handler answers.
 *
 * A plain response carries its body in a strbuf and always goes out with Content-Length, unchunked,
 * with no byte added: kube-scheduler's client gives up the connection when a newline follows the
 * JSON past a read boundary. A body that overflowed its strbuf is
 * replaced by a 500. A response with a stream (httpd/stream.h) goes out chunked, and its `body` is
 * not sent.
 */
#ifndef HTTPD_RESPONSE_H
#define HTTPD_RESPONSE_H

#include "base/compiler.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

#define HTTPD_RESPONSE_HEADERS_MAX 12
#define HTTPD_RESPONSE_HEADER_VALUE_MAX 256

struct httpd_stream;

struct httpd_response {
    int status;                  /* 200 */
    const char *content_type;    /* static text; "application/json"; NULL: none is sent */
    struct strbuf body;          /* owned */
    struct httpd_stream *stream; /* one reference, owned; NULL: a plain response */
    bool close_connection;       /* answer with "Connection: close" */
    size_t header_n;
    struct {
        const char *name;
        char value[HTTPD_RESPONSE_HEADER_VALUE_MAX];
    } headers[HTTPD_RESPONSE_HEADERS_MAX];
};

/* Handlers receive an initialised response; whoever resumes a request initialises one. */
void httpd_response_init(struct httpd_response *resp, size_t body_max_bytes);
/* Leaves it as after init: also the way to change one's mind half-way through. */
void httpd_response_fini(struct httpd_response *resp);

/* `name` is static text. False, and the header is left out, when the value is too long or holds
 * control bytes, or when there is no room for one more. */
bool httpd_response_header(struct httpd_response *resp, const char *name, struct str value);

/* A short plain-text answer. */
void httpd_response_text(struct httpd_response *resp, int status, const char *text);

#endif
