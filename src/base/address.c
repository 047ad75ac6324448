#include "base/address.h"

#include "base/bug.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static int parse_host(struct str host, struct address *a, struct err *reterr)
{
    unsigned char binary[sizeof(struct in6_addr)];
    bool is_ip;

    if (str_starts(host, STR("[")) && str_ends(host, STR("]"))) {
        host = (struct str){host.p + 1, host.n - 2};
        a->ipv6 = true;
    }
    if (!a->ipv6 && str_eq_cstr(host, "localhost")) {
        host = STR("127.0.0.1");
    }
    if (host.n >= sizeof(a->host) || memchr(host.p, '\0', host.n) != NULL) {
        return err_set(reterr, ERR_PARSE, "the host is neither an IP address nor localhost");
    }
    memcpy(a->host, host.p, host.n);
    if (!a->ipv6 && inet_pton(AF_INET6, a->host, binary) == 1) {
        return err_set(reterr, ERR_PARSE, "write an IPv6 address in brackets: [%s]:%u", a->host, a->port);
    }
    is_ip = inet_pton(a->ipv6 ? AF_INET6 : AF_INET, a->host, binary) == 1;
    return is_ip ? 0 : err_set(reterr, ERR_PARSE, "the host '%s' is neither an IP address nor localhost", a->host);
}

int address_parse(struct str text, struct address *ret, struct err *reterr)
{
    struct address a = {0};
    struct str port;
    uint64_t number;
    size_t colon = text.n;
    int rc;

    while (colon > 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return err_set(reterr, ERR_PARSE, "'%.*s' is not HOST:PORT, for example 127.0.0.1:9443", STR_ARG(text));
    }
    port = str_drop(text, colon);
    if (!str_to_u64(port, UINT16_MAX, &number)) {
        return err_set(reterr, ERR_PARSE, "the port of '%.*s' is not a number up to 65535", STR_ARG(text));
    }
    a.port = (uint16_t)number;
    a.any = colon == 1;
    rc = parse_host(a.any ? STR("[::]") : (struct str){text.p, colon - 1}, &a, reterr);
    if (rc == 0) {
        *ret = a;
    }
    return rc;
}

bool address_is_loopback(const struct address *a)
{
    struct in6_addr six;

    if (!a->ipv6) {
        return strncmp(a->host, "127.", 4) == 0;
    }
    BUG_ON(inet_pton(AF_INET6, a->host, &six) != 1);
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

char *address_text(const struct address *a, char buf[ADDRESS_TEXT_MAX])
{
    if (a->any) {
        (void)snprintf(buf, ADDRESS_TEXT_MAX, ":%u", a->port);
    } else {
        (void)snprintf(buf, ADDRESS_TEXT_MAX, a->ipv6 ? "[%s]:%u" : "%s:%u", a->host, a->port);
    }
    return buf;
}

socklen_t address_to_sockaddr(const struct address *a, struct sockaddr_storage *ret)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(a->port)};

    memset(ret, 0, sizeof(*ret));
    if (a->ipv6) {
        BUG_ON(inet_pton(AF_INET6, a->host, &six.sin6_addr) != 1);
        memcpy(ret, &six, sizeof(six));
        return sizeof(six);
    }
    BUG_ON(inet_pton(AF_INET, a->host, &four.sin_addr) != 1);
    memcpy(ret, &four, sizeof(four));
    return sizeof(four);
}

bool address_from_sockaddr(const struct sockaddr *sa, struct address *ret)
{
    struct address a = {0};
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    if (sa != NULL && sa->sa_family == AF_INET) {
        memcpy(&four, sa, sizeof(four));
        a.port = ntohs(four.sin_port);
        (void)inet_ntop(AF_INET, &four.sin_addr, a.host, sizeof(a.host));
    } else if (sa != NULL && sa->sa_family == AF_INET6) {
        memcpy(&six, sa, sizeof(six));
        a.ipv6 = true;
        a.port = ntohs(six.sin6_port);
        (void)inet_ntop(AF_INET6, &six.sin6_addr, a.host, sizeof(a.host));
    } else {
        return false;
    }
    *ret = a;
    return true;
}
