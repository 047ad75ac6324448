/* base/address.h - HOST:PORT: where a listener listens, and who calls.
 *
 * HOST is an IP address, IPv6 in brackets, or "localhost" (127.0.0.1), or nothing: ":9443" is every
 * address of the machine, IPv6 and IPv4. Names are not resolved: where a server listens must not
 * depend on DNS. Port 0 asks the kernel for a free one.
 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_HOST_MAX 46 /* INET6_ADDRSTRLEN */
#define ADDRESS_TEXT_MAX (ADDRESS_HOST_MAX + 8)

struct address {
    char host[ADDRESS_HOST_MAX]; /* numeric, no brackets: "127.0.0.1", "::1" */
    uint16_t port;
    bool ipv6;
    bool any; /* ":PORT"; host is "::", and IPv4 is meant too */
};

/* Of a listener that is not wanted: all zero. address_parse makes no such address, and nothing else here takes one. */
static inline bool address_is_none(const struct address *a)
{
    return a->host[0] == '\0';
}

/* ERR_PARSE with the remedy in the message. */
WARN_UNUSED int address_parse(struct str text, struct address *ret, struct err *reterr);

/* 127.0.0.0/8, ::1 or the IPv4-mapped form of the former. */
bool address_is_loopback(const struct address *a);

/* "127.0.0.1:9443", "[::1]:9443", ":9443"; address_parse reads it back. Returns buf. */
char *address_text(const struct address *a, char buf[ADDRESS_TEXT_MAX]);

/* Returns the length of what it wrote. */
socklen_t address_to_sockaddr(const struct address *a, struct sockaddr_storage *ret);
/* False, and *ret untouched, for a family other than IPv4 and IPv6. `sa` may be NULL. */
bool address_from_sockaddr(const struct sockaddr *sa, struct address *ret);

#endif
