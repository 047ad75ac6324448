/* httpd/tls.h - what a listener needs to speak TLS: its certificate, its key, and the CA and names
 * of those who may call. Reloaded while it is used.
 *
 * TLS 1.2 and 1.3. A caller's certificate is judged inside the handshake, before a byte of HTTP is
 * read: it must lead to a CA of client_ca_file, be valid now, be fit for client authentication
 * (extended key usage clientAuth, or none given; key usage digitalSignature, or none given), and
 * carry a name that is allowed: common name or a DNS, URI or e-mail alternative name, compared byte
 * by byte. Who fails is told by a TLS alert and never reaches a handler. Revocation lists are not
 * read: a name is taken off the list, or the CA is changed, instead. What was found of a certificate is remembered
 * until the files are read anew, or it or a CA of the file ends; that the caller has its key is proven each time.
 *
 * The files are PEM. They are looked at every poll_ms: when one is another file, or has another
 * size or time (symlinks are followed, so a mounted Secret counts), all are read anew. New
 * handshakes use the new ones; connections that are open stay as they are, also those whose CA is
 * gone. If anything is wrong with the new ones, and while it is, the old ones stay in use; that is
 * logged once per change and counted. One object may serve several listeners.
 */
#ifndef HTTPD_TLS_H
#define HTTPD_TLS_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Copied by httpd_tls_new, but for the log. */
struct httpd_tls_config {
    const char *cert_file; /* the server's certificate, then its intermediates */
    const char *key_file;  /* without a password */
    const char *client_ca_file;
    const struct str *client_names; /* at least one */
    size_t client_name_n;
    int64_t poll_ms; /* 0: 1000 */
    const struct log *log;
};

struct httpd_tls_stats {
    uint64_t reload_n, reload_failed_n; /* changes taken, changes refused */
    int64_t not_after_s;                /* end of the server certificate in use, seconds since 1970 */
};

struct httpd_tls;

/* Reads the files. The error names the file and what is wrong with it. */
WARN_UNUSED int httpd_tls_new(const struct httpd_tls_config *config, struct httpd_tls **ret, struct err *reterr);
/* With a key and a certificate that are made now, kept in memory only and signed by that key, for ten years. Nobody can
 * verify it, so it keeps out who listens on the way, not who answers in our place. Callers are not asked for a
 * certificate: the listener needs client_cert_optional, and something else that tells who calls. `wall_ms`: now. */
WARN_UNUSED int httpd_tls_self_signed(int64_t wall_ms, struct httpd_tls **ret, struct err *reterr);
/* After the servers that use it. NULL is fine. */
void httpd_tls_free(struct httpd_tls *t);

/* Reads the files now, changed or not. On failure the old ones stay in use. Not of a self-signed one. Any thread. */
WARN_UNUSED int httpd_tls_reload(struct httpd_tls *t, struct err *reterr);
void httpd_tls_stats(struct httpd_tls *t, struct httpd_tls_stats *ret);

#endif
