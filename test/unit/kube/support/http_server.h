/* A tiny HTTP/1.1 server on loopback, a thread per connection; what it answers is the test's. */
#ifndef TEST_KUBE_HTTP_SERVER_H
#define TEST_KUBE_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_server;

/* One request, valid during the handler. */
struct http_in {
    int fd; /* for answers that http_reply cannot give */
    struct http_server *server;
    unsigned connection; /* 0, 1, ... in order of acceptance */
    unsigned nth;        /* request on this connection, from 0 */
    const char *method, *target;
    const char *head; /* all header lines */
    const char *body;
};

/* Runs on the connection's thread. Returns whether to keep the connection. */
typedef bool http_handler(void *ctx, const struct http_in *in);

struct http_server *http_server_start(http_handler *handler, void *ctx);
uint16_t http_server_port(const struct http_server *s);
unsigned http_server_connections(struct http_server *s); /* accepted so far */
/* No new connections from now on: they are refused. */
void http_server_close_listener(struct http_server *s);
/* Ends every connection, joins every thread. */
void http_server_stop(struct http_server *s);

/* A complete reply. `headers`: further lines, each ending in CRLF, or "". */
void http_reply(const struct http_in *in, int status, const char *headers, const char *body);
/* Bytes as they are. */
void http_send(const struct http_in *in, const char *bytes, size_t n);
/* The value of a header, copied; false when absent. */
bool http_header(const struct http_in *in, const char *name, char *ret, size_t n);
/* Blocks until the server is told to stop, or the peer closed. */
void http_hang(const struct http_in *in);

#endif
