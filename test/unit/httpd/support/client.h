/* A blocking HTTP client of raw sockets: sends exactly the bytes it is given, reads exactly one
 * reply. Every wait ends after CLIENT_PATIENCE_S, so that a hanging server is a failing test. */
#ifndef TEST_HTTPD_CLIENT_H
#define TEST_HTTPD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_PATIENCE_S 60

struct client {
    int fd;
    char *buf; /* received and not yet consumed */
    size_t n, cap;
};

struct reply {
    int status;
    char head[4096]; /* status line and headers, NUL-terminated */
    char *body;      /* malloc'ed, NUL-terminated */
    size_t body_n;
    bool complete; /* the body ended as its framing says */
};

void client_open(struct client *c, uint16_t port);
void client_open_v6(struct client *c, uint16_t port);
bool client_refused(uint16_t port);
void client_close(struct client *c);

/* False when the peer has closed. */
bool client_send(struct client *c, const void *p, size_t n);
bool client_text(struct client *c, const char *text);
/* False when the connection ended before a whole head; a cut body is complete == false. */
bool client_reply(struct client *c, struct reply *ret);
/* As client_reply for the answer to a HEAD request, which has no body. */
bool client_reply_head(struct client *c, struct reply *ret);
/* Waits until `text` is among the received bytes, which are not consumed; false at the end. */
bool client_wait_for(struct client *c, const char *text);
/* The peer has closed or reset the connection, and nothing is left to read. */
bool client_at_end(struct client *c);
/* Reads and drops everything until the peer closes; a peer that does not fails the test. */
void client_drain(struct client *c);

bool reply_has(const struct reply *r, const char *header_line); /* case ignored */
void reply_fini(struct reply *r);

#endif
