#include "support/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static __attribute__((noreturn)) void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static __attribute__((noreturn)) void bad_reply(const char *what)
{
    fprintf(stderr, "bad reply: %s\n", what);
    exit(1);
}

int64_t client_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void client_open(struct client *c, const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strrchr(address, ':');
    uint64_t port;
    const int on = 1;

    if (colon == NULL || !str_to_u64(str_of(colon + 1), UINT16_MAX, &port)) {
        fprintf(stderr, "\"%s\" is not an address\n", address);
        exit(2);
    }
    to.sin_port = htons((uint16_t)port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
        give_up(address);
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    strbuf_init(&c->out, 256 << 20);
    strbuf_init(&c->in, 256 << 20);
}

void client_close(struct client *c)
{
    close(c->fd);
    strbuf_fini(&c->out);
    strbuf_fini(&c->in);
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0) {
            give_up("send");
        }
        p += sent;
        n -= (size_t)sent;
    }
}

static void receive(struct client *c, size_t want)
{
    char *to = strbuf_reserve(&c->in, want);
    ssize_t n = to != NULL ? recv(c->fd, to, want, 0) : -1;

    if (n <= 0) {
        give_up("recv");
    }
    strbuf_commit(&c->in, (size_t)n);
}

/* Where the body begins, or 0. */
static size_t head_end(const struct strbuf *in)
{
    const char *end = memmem(in->p, in->n, "\r\n\r\n", 4);

    return end == NULL ? 0 : (size_t)(end - in->p) + 4;
}

static size_t content_length(const struct strbuf *in, size_t head_n)
{
    static const char NAME[] = "\r\nContent-Length: ";
    const char *at = memmem(in->p, head_n, NAME, sizeof(NAME) - 1);

    if (at == NULL) {
        bad_reply("no Content-Length");
    }
    return strtoul(at + sizeof(NAME) - 1, NULL, 10);
}

struct client_reply client_call(struct client *c, const char *method, const char *path, struct str body)
{
    struct client_reply r;
    int64_t start;
    size_t head_n, body_n;

    strbuf_reset(&c->in);
    strbuf_reset(&c->out);
    strbuf_addf(&c->out,
                "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: "
                "Go-http-client/1.1\r\nContent-Length: %zu\r\n"
                "Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n",
                method, path, body.n);
    strbuf_add(&c->out, body.p, body.n);
    start = client_now_ns();
    send_all(c->fd, c->out.p, c->out.n);
    do {
        receive(c, 65536);
        head_n = head_end(&c->in);
    } while (head_n == 0);
    body_n = content_length(&c->in, head_n);
    while (c->in.n < head_n + body_n) {
        receive(c, head_n + body_n - c->in.n);
    }
    r.took_ns = client_now_ns() - start;
    if (c->in.n != head_n + body_n || strncmp(c->in.p, "HTTP/1.1 ", 9) != 0) {
        bad_reply("not one HTTP/1.1 answer");
    }
    r.status = (int)strtol(c->in.p + 9, NULL, 10);
    r.body = (struct str){c->in.p + head_n, body_n};
    return r;
}
