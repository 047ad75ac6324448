/* config/address.h - HOST:PORT of a listener. Used for the file and for the flags that override it.
 *
 * HOST is an IP address or "localhost" (no names: a listener must not depend on DNS); IPv6 in
 * brackets. Port 0 means any free port. "localhost" counts as loopback and is 127.0.0.1.
 */
#ifndef CONFIG_ADDRESS_H
#define CONFIG_ADDRESS_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_HOST_MAX 46 /* INET6_ADDRSTRLEN */
#define ADDRESS_TEXT_MAX (ADDRESS_HOST_MAX + 8)

struct address {
    char host[ADDRESS_HOST_MAX]; /* numeric, no brackets: "127.0.0.1", "::1" */
    uint16_t port;
    bool ipv6;
};

/* ERR_PARSE with the remedy in the message. */
WARN_UNUSED int address_parse(struct str text, struct address *ret, struct err *reterr);

/* 127.0.0.0/8 or ::1. */
bool address_is_loopback(const struct address *a);

/* "127.0.0.1:9443", "[::1]:9443". Returns buf. */
char *address_text(const struct address *a, char buf[ADDRESS_TEXT_MAX]);

#endif
