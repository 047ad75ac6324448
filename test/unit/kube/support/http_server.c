#define _GNU_SOURCE /* strcasestr */

#include "http_server.h"

#include "base/bug.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 1200, REQUEST_MAX = 512 * 1024 };

struct connection {
    struct http_server *server;
    pthread_t thread;
    unsigned number;
    int fd;
};

struct http_server {
    http_handler *handler;
    void *ctx;
    uint16_t port;
    pthread_t acceptor;
    int listener;
    pthread_mutex_t lock; /* of the rest */
    bool listening, stopping;
    unsigned n;
    struct connection connections[CONNECTIONS_MAX];
};

/* One more piece of the request into the buffer; false at the end. */
static bool receive(int fd, char *buffer, size_t *n)
{
    BUG_ON(*n + 1 >= REQUEST_MAX);
    ssize_t got = recv(fd, buffer + *n, REQUEST_MAX - 1 - *n, 0);
    if (got <= 0) {
        return false;
    }
    *n += (size_t)got;
    buffer[*n] = '\0';
    return true;
}

static size_t body_length(const char *head)
{
    const char *line = strcasestr(head, "\r\nContent-Length:");
    return line != NULL ? strtoul(line + 17, NULL, 10) : 0;
}

/* Serves one request; returns whether the connection goes on. *n bytes are in the buffer already.
 */
static bool serve(struct connection *c, char *buffer, size_t *n, unsigned nth)
{
    char *end;
    while ((end = strstr(buffer, "\r\n\r\n")) == NULL) {
        if (!receive(c->fd, buffer, n)) {
            return false;
        }
    }
    char *body = end + 4;
    *end = '\0';
    size_t length = body_length(buffer);
    while (*n < (size_t)(body - buffer) + length) {
        if (!receive(c->fd, buffer, n)) {
            return false;
        }
    }
    char *line_end = strstr(buffer, "\r\n");
    BUG_ON(line_end == NULL);
    *line_end = '\0';
    char *target = strchr(buffer, ' ');
    BUG_ON(target == NULL || strchr(target + 1, ' ') == NULL);
    *strchr(target + 1, ' ') = '\0';
    *target++ = '\0';
    struct http_in in = {
        .fd = c->fd,
        .server = c->server,
        .connection = c->number,
        .nth = nth,
        .method = buffer,
        .target = target,
        .head = line_end + 2,
        .body = body,
    };
    bool keep = c->server->handler(c->server->ctx, &in);
    *n = 0; /* the client does not pipeline */
    buffer[0] = '\0';
    return keep;
}

static void *run_connection(void *ctx)
{
    struct connection *c = ctx;
    char *buffer = xmalloc(REQUEST_MAX);
    size_t n = 0;
    buffer[0] = '\0';
    for (unsigned nth = 0; serve(c, buffer, &n, nth); nth++) {
    }
    /* the descriptor itself is closed by http_server_stop, so that its number is not used again */
    shutdown(c->fd, SHUT_RDWR);
    free(buffer);
    return NULL;
}

static void *run_acceptor(void *ctx)
{
    struct http_server *s = ctx;
    int fd;
    while ((fd = accept(s->listener, NULL, NULL)) >= 0) {
        pthread_mutex_lock(&s->lock);
        BUG_ON(s->n == CONNECTIONS_MAX);
        struct connection *c = &s->connections[s->n];
        *c = (struct connection){.server = s, .number = s->n, .fd = fd};
        BUG_ON(pthread_create(&c->thread, NULL, run_connection, c) != 0);
        s->n++;
        if (s->stopping) {
            shutdown(fd, SHUT_RDWR);
        }
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

struct http_server *http_server_start(http_handler *handler, void *ctx)
{
    struct http_server *s = xcalloc(1, sizeof(*s));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    s->handler = handler;
    s->ctx = ctx;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    BUG_ON(s->listener < 0);
    BUG_ON(bind(s->listener, (struct sockaddr *)&address, size) != 0);
    BUG_ON(listen(s->listener, 1024) != 0);
    BUG_ON(getsockname(s->listener, (struct sockaddr *)&address, &size) != 0);
    s->port = ntohs(address.sin_port);
    s->listening = true;
    BUG_ON(pthread_mutex_init(&s->lock, NULL) != 0);
    BUG_ON(pthread_create(&s->acceptor, NULL, run_acceptor, s) != 0);
    return s;
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

unsigned http_server_connections(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned n = s->n;
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* A listening socket that is shut down wakes accept and refuses from then on (Linux). */
void http_server_close_listener(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool was = s->listening;
    s->listening = false;
    pthread_mutex_unlock(&s->lock);
    if (was) {
        shutdown(s->listener, SHUT_RDWR);
    }
}

void http_server_stop(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_mutex_unlock(&s->lock);
    http_server_close_listener(s);
    pthread_join(s->acceptor, NULL);
    for (unsigned i = 0; i < s->n; i++) {
        shutdown(s->connections[i].fd, SHUT_RDWR);
    }
    for (unsigned i = 0; i < s->n; i++) {
        pthread_join(s->connections[i].thread, NULL);
        close(s->connections[i].fd);
    }
    close(s->listener);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void http_send(const struct http_in *in, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(in->fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return; /* the client went away: some tests want just that */
        }
        bytes += sent;
        n -= (size_t)sent;
    }
}

void http_reply(const struct http_in *in, int status, const char *headers, const char *body)
{
    size_t length = strlen(body), size = length + strlen(headers) + 128;
    char *text = xmalloc(size);
    int n = snprintf(text, size, "HTTP/1.1 %d x\r\nContent-Length: %zu\r\n%s\r\n%s", status, length, headers, body);
    http_send(in, text, (size_t)n);
    free(text);
}

bool http_header(const struct http_in *in, const char *name, char *ret, size_t n)
{
    for (const char *line = in->head; line != NULL; line = strstr(line, "\r\n")) {
        line += line == in->head ? 0 : 2;
        size_t length = strlen(name);
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1;
            line += strspn(line, " ");
            snprintf(ret, n, "%.*s", (int)strcspn(line, "\r"), line);
            return true;
        }
        if (*line == '\0') {
            break;
        }
    }
    return false;
}

void http_hang(const struct http_in *in)
{
    char byte;
    while (recv(in->fd, &byte, 1, 0) > 0) {
    }
}
