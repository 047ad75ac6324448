/* httpd/address.c - parses listen addresses; numeric only, see the header. */
#include "httpd/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int refuse(struct str text, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID,
                   "listen address \"%.*s\": write 127.0.0.1:PORT, [::1]:PORT, localhost:PORT or "
                   ":PORT, port 0 to 65535",
                   STR_ARG(text));
}

/* The text after the last colon is the port; an IPv6 address must be in brackets. */
static bool split(struct str text, struct str *ret_host, uint16_t *ret_port)
{
    size_t colon = text.n;
    while (colon > 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return false;
    }
    uint64_t port;
    if (!str_to_u64(str_drop(text, colon), UINT16_MAX, &port)) {
        return false;
    }
    *ret_host = (struct str){text.p, colon - 1};
    *ret_port = (uint16_t)port;
    return true;
}

static void set_v4(struct httpd_address *a, struct in_addr host, uint16_t port)
{
    const struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = host};
    memcpy(&a->sockaddr, &in, sizeof(in));
    a->len = sizeof(in);
}

static void set_v6(struct httpd_address *a, struct in6_addr host, uint16_t port)
{
    const struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = host};
    memcpy(&a->sockaddr, &in6, sizeof(in6));
    a->len = sizeof(in6);
}

int httpd_address_parse(struct str text, struct httpd_address *ret, struct err *reterr)
{
    struct str host;
    uint16_t port;
    if (!split(text, &host, &port)) {
        return refuse(text, reterr);
    }
    struct httpd_address a = {.any = host.n == 0};
    if (a.any) {
        set_v6(&a, (struct in6_addr)IN6ADDR_ANY_INIT, port);
        *ret = a;
        return 0;
    }
    if (str_eq(host, STR("localhost"))) {
        host = STR("127.0.0.1");
    }
    const bool brackets = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (brackets) {
        host = (struct str){host.p + 1, host.n - 2};
    }
    char name[INET6_ADDRSTRLEN];
    if (host.n >= sizeof(name) || memchr(host.p, '\0', host.n) != NULL) {
        return refuse(text, reterr);
    }
    memcpy(name, host.p, host.n);
    name[host.n] = '\0';

    struct in_addr v4;
    struct in6_addr v6;
    if (!brackets && inet_pton(AF_INET, name, &v4) == 1) {
        set_v4(&a, v4, port);
    } else if (brackets && inet_pton(AF_INET6, name, &v6) == 1) {
        set_v6(&a, v6, port);
    } else {
        return refuse(text, reterr);
    }
    *ret = a;
    return 0;
}

bool httpd_address_is_loopback(const struct httpd_address *a)
{
    if (a->sockaddr.ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, &a->sockaddr, sizeof(in));
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    if (a->sockaddr.ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, &a->sockaddr, sizeof(in6));
        return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) && in6.sin6_addr.s6_addr[12] == 127);
    }
    return false;
}

char *httpd_address_text(const struct sockaddr *sa, char buf[HTTPD_ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";
    if (sa != NULL && sa->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof(in));
        inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
        snprintf(buf, HTTPD_ADDRESS_TEXT_MAX, "%s:%u", host, (unsigned)ntohs(in.sin_port));
    } else if (sa != NULL && sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof(in6));
        inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
        snprintf(buf, HTTPD_ADDRESS_TEXT_MAX, "[%s]:%u", host, (unsigned)ntohs(in6.sin6_port));
    } else {
        snprintf(buf, HTTPD_ADDRESS_TEXT_MAX, "unknown");
    }
    return buf;
}
