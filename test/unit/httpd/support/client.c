#define _GNU_SOURCE /* memmem, strcasestr */
#include "httpd/support/client.h"

#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka's headers come after these. */

static void open_to(struct client *c, const struct sockaddr *sa, socklen_t len)
{
    *c = (struct client){.fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(c->fd >= 0);
    const struct timeval patience = {.tv_sec = CLIENT_PATIENCE_S};
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
    /* as Go's client; a head and a body sent apart would wait for each other's acknowledgement */
    const int on = 1;
    assert_int_equal(setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    assert_int_equal(connect(c->fd, sa, len), 0);
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

void client_open(struct client *c, uint16_t port)
{
    const struct sockaddr_in in = loopback(port);
    open_to(c, (const struct sockaddr *)&in, sizeof(in));
}

void client_open_v6(struct client *c, uint16_t port)
{
    const struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    open_to(c, (const struct sockaddr *)&in6, sizeof(in6));
}

bool client_refused(uint16_t port)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    const struct sockaddr_in in = loopback(port);
    const int rc = connect(fd, (const struct sockaddr *)&in, sizeof(in));
    const int e = errno;
    close(fd);
    return rc != 0 && e == ECONNREFUSED;
}

void client_close(struct client *c)
{
    if (c->fd >= 0) {
        close(c->fd);
        c->fd = -1;
    }
    free(c->buf);
    c->buf = NULL;
    c->n = c->cap = 0;
}

bool client_send(struct client *c, const void *p, size_t n)
{
    const char *at = p;
    while (n > 0) {
        const ssize_t sent = send(c->fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool client_text(struct client *c, const char *text)
{
    return client_send(c, text, strlen(text));
}

/* 1: more came; 0: the end; a silent server fails the test. */
static int receive(struct client *c)
{
    if (c->cap - c->n < 65536) {
        c->cap = c->cap * 2 + 65536;
        c->buf = realloc(c->buf, c->cap);
        assert_non_null(c->buf);
    }
    const ssize_t got = recv(c->fd, c->buf + c->n, c->cap - c->n, 0);
    if (got < 0 && errno == EAGAIN) {
        fail_msg("no answer within %d s", CLIENT_PATIENCE_S);
    }
    if (got <= 0) {
        return 0;
    }
    c->n += (size_t)got;
    return 1;
}

static void consume(struct client *c, size_t n)
{
    memmove(c->buf, c->buf + n, c->n - n);
    c->n -= n;
}

static bool need(struct client *c, size_t n)
{
    while (c->n < n) {
        if (receive(c) == 0) {
            return false;
        }
    }
    return true;
}

/* The offset just behind the first `text` in the buffer, waiting for it; 0 at the end of input. */
static size_t find(struct client *c, const char *text)
{
    const size_t n = strlen(text);
    for (;;) {
        const char *at = c->n >= n ? memmem(c->buf, c->n, text, n) : NULL;
        if (at != NULL) {
            return (size_t)(at - c->buf) + n;
        }
        if (receive(c) == 0) {
            return 0;
        }
    }
}

static void append(struct reply *r, const char *p, size_t n)
{
    r->body = realloc(r->body, r->body_n + n + 1);
    assert_non_null(r->body);
    memcpy(r->body + r->body_n, p, n);
    r->body_n += n;
    r->body[r->body_n] = '\0';
}

static void read_chunks(struct client *c, struct reply *ret)
{
    for (;;) {
        const size_t line = find(c, "\r\n");
        if (line == 0) {
            return;
        }
        const size_t n = strtoul(c->buf, NULL, 16);
        consume(c, line);
        if (!need(c, n + 2)) {
            return;
        }
        append(ret, c->buf, n);
        consume(c, n + 2);
        if (n == 0) {
            ret->complete = true;
            return;
        }
    }
}

static bool read_reply(struct client *c, struct reply *ret, bool no_body)
{
    memset(ret, 0, sizeof(*ret));
    append(ret, "", 0);
    const size_t head = find(c, "\r\n\r\n");
    if (head == 0) {
        return false;
    }
    assert_true(head < sizeof(ret->head));
    memcpy(ret->head, c->buf, head);
    consume(c, head);
    if (sscanf(ret->head, "HTTP/1.%*d %d", &ret->status) != 1) {
        fail_msg("not a status line: %s", ret->head);
    }
    if (ret->status == 100) {
        reply_fini(ret);
        return read_reply(c, ret, no_body);
    }
    if (no_body) {
        ret->complete = true;
    } else if (reply_has(ret, "Transfer-Encoding: chunked")) {
        read_chunks(c, ret);
    } else {
        const char *length = strcasestr(ret->head, "\r\nContent-Length: ");
        assert_non_null(length);
        const size_t n = strtoul(length + strlen("\r\nContent-Length: "), NULL, 10);
        ret->complete = need(c, n);
        const size_t have = ret->complete ? n : c->n;
        append(ret, c->buf, have);
        consume(c, have);
    }
    return true;
}

bool client_reply(struct client *c, struct reply *ret)
{
    return read_reply(c, ret, false);
}

bool client_reply_head(struct client *c, struct reply *ret)
{
    return read_reply(c, ret, true);
}

bool client_wait_for(struct client *c, const char *text)
{
    return find(c, text) != 0;
}

bool client_at_end(struct client *c)
{
    return c->n == 0 && receive(c) == 0;
}

void client_drain(struct client *c)
{
    do {
        c->n = 0;
    } while (receive(c) != 0);
}

bool reply_has(const struct reply *r, const char *header_line)
{
    char line[256];
    snprintf(line, sizeof(line), "\r\n%s\r\n", header_line);
    return strcasestr(r->head, line) != NULL;
}

void reply_fini(struct reply *r)
{
    free(r->body);
    r->body = NULL;
}
