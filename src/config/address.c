#include "config/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

int address_parse(struct str text, struct address *ret, struct err *reterr)
{
    struct address a = {0};
    struct str host, port;
    uint64_t number;
    size_t colon = text.n;
    unsigned char binary[sizeof(struct in6_addr)];

    while (colon > 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return err_set(reterr, ERR_PARSE, "'%.*s' is not HOST:PORT, for example 127.0.0.1:9443",
                       STR_ARG(text));
    }
    host = (struct str){text.p, colon - 1};
    port = str_drop(text, colon);
    if (!str_to_u64(port, UINT16_MAX, &number)) {
        return err_set(reterr, ERR_PARSE, "the port of '%.*s' is not a number up to 65535",
                       STR_ARG(text));
    }
    a.port = (uint16_t)number;
    if (str_starts(host, STR("[")) && str_ends(host, STR("]"))) {
        host = (struct str){host.p + 1, host.n - 2};
        a.ipv6 = true;
    }
    if (str_eq_cstr(host, "localhost")) {
        host = STR("127.0.0.1");
    }
    if (host.n == 0) {
        return err_set(reterr, ERR_PARSE, "'%.*s' has no host; write 127.0.0.1:%.*s", STR_ARG(text),
                       STR_ARG(port));
    }
    if (host.n >= sizeof(a.host)) {
        return err_set(reterr, ERR_PARSE, "the host is neither an IP address nor localhost");
    }
    memcpy(a.host, host.p, host.n);
    if (!a.ipv6 && inet_pton(AF_INET6, a.host, binary) == 1) {
        return err_set(reterr, ERR_PARSE, "write an IPv6 address in brackets: [%s]:%u", a.host,
                       a.port);
    }
    if (inet_pton(a.ipv6 ? AF_INET6 : AF_INET, a.host, binary) != 1) {
        return err_set(reterr, ERR_PARSE, "the host '%s' is neither an IP address nor localhost",
                       a.host);
    }
    *ret = a;
    return 0;
}

bool address_is_loopback(const struct address *a)
{
    struct in6_addr six;

    if (a->ipv6) {
        return inet_pton(AF_INET6, a->host, &six) == 1 &&
               memcmp(&six, &in6addr_loopback, sizeof(six)) == 0;
    }
    return strncmp(a->host, "127.", 4) == 0;
}

char *address_text(const struct address *a, char buf[ADDRESS_TEXT_MAX])
{
    (void)snprintf(buf, ADDRESS_TEXT_MAX, a->ipv6 ? "[%s]:%u" : "%s:%u", a->host, a->port);
    return buf;
}
