/* httpd/tls_internal.h - one reading of the files, and its use in a session. */
#ifndef HTTPD_TLS_INTERNAL_H
#define HTTPD_TLS_INTERNAL_H

#include "httpd/server_internal.h"
#include "httpd/tls.h"

#include <gnutls/gnutls.h>

/* Immutable but for what it remembers; a connection keeps the one it began with. */
struct tls_identity {
    atomic_uint refs;
    gnutls_certificate_credentials_t credentials;
    int64_t not_after_s;
    bool is_self_signed;
    struct tls_verified *verified; /* NULL: callers are not asked for a certificate */
};

/* self_signed.c: httpd_tls_self_signed(). */
WARN_UNUSED int httpd_tls_make_identity(int64_t wall_ms, struct tls_identity **ret, struct err *reterr);

/* With a reference. */
struct tls_identity *httpd_tls_identity(struct httpd_tls *t);
void httpd_tls_identity_unref(struct tls_identity *id);
bool httpd_tls_name_allowed(const struct httpd_tls *t, struct str name);
/* Reads the files when they have changed and the last look was long enough ago. */
void httpd_tls_poll(struct httpd_tls *t, int64_t now_ns);

/* tls_verified.c: chains that were verified with these credentials. Any thread. */
struct tls_verified *httpd_tls_verified_new(gnutls_certificate_credentials_t credentials);
void httpd_tls_verified_free(struct tls_verified *v); /* NULL is fine */
/* True: these bytes were verified, are still valid at now_s (seconds since 1970), and the allowed name is *ret_name;
 * else it is left alone. */
bool httpd_tls_verified_find(struct tls_verified *v, const gnutls_datum_t *chain, unsigned chain_n, int64_t now_s,
                             char ret_name[HTTPD_CLIENT_NAME_BYTES]);
/* Verified just now, and `name` is allowed. */
void httpd_tls_verified_add(struct tls_verified *v, const gnutls_datum_t *chain, unsigned chain_n,
                            const char name[HTTPD_CLIENT_NAME_BYTES]);

/* tls_session.c: what a connection of a TLS listener knows. */
void httpd_tls_begin(struct httpd_conn *c, gnutls_session_t session);
void httpd_tls_end(struct httpd_conn *c, gnutls_session_t session);
/* May requests of this connection be handled? */
bool httpd_tls_is_admitted(const struct httpd_conn *c);

#endif
