/* httpd/address.h - what may stand in a listen address, and whether it stays on this machine.
 *
 * Forms: "127.0.0.1:9443", "[::1]:9443", "localhost:9443" (127.0.0.1) and ":9443" (every address of
 * the machine, IPv6 and IPv4). Names are not resolved: where a server listens must not depend on
 * DNS. Port 0 asks the kernel for a free one.
 */
#ifndef HTTPD_ADDRESS_H
#define HTTPD_ADDRESS_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/socket.h>

struct httpd_address {
    struct sockaddr_storage sockaddr;
    socklen_t len;
    bool any; /* ":port": falls back to IPv4 on a machine without IPv6 */
};

/* ERR_INVALID names the text and the accepted forms. */
WARN_UNUSED int httpd_address_parse(struct str text, struct httpd_address *ret, struct err *reterr);

/* 127.0.0.0/8, ::1 or the IPv4-mapped form of the former. */
bool httpd_address_is_loopback(const struct httpd_address *a);

#define HTTPD_ADDRESS_TEXT_MAX 64
/* "127.0.0.1:9443", "[::1]:9443"; "unknown" for another family. Returns buf. */
char *httpd_address_text(const struct sockaddr *sa, char buf[HTTPD_ADDRESS_TEXT_MAX]);

#endif
