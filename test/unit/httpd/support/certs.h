/* Certificates of every kind, made at run time, and a TLS client that presents them. */
#ifndef TEST_HTTPD_CERTS_H
#define TEST_HTTPD_CERTS_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cert {
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
};

struct cert_options {
    const char *cn;            /* NULL: no common name */
    size_t cn_n;               /* 0: strlen */
    const char *dns, *uri;     /* alternative names */
    const struct cert *issuer; /* NULL: signs itself */
    int64_t begins_s, ends_s;  /* from now; both 0: an hour ago, in an hour */
    const char *purpose;       /* GNUTLS_KP_...; NULL: none given */
    unsigned usage;            /* GNUTLS_KEY_...; 0: none given */
    bool ca;
    unsigned char serial;
};

void cert_make(struct cert *ret, const struct cert_options *options);
void cert_free(struct cert *c);
/* As PEM; `and` (may be NULL) behind it in the same file. */
void cert_write(const struct cert *c, const struct cert *and, const char *path);
void cert_write_key(const struct cert *c, const char *path);

struct tls_client {
    int fd;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
};

struct tls_options {
    const struct cert *cert;         /* NULL: none */
    const struct cert *intermediate; /* sent behind it; may be NULL */
    const struct cert *key_of;       /* signs with the key of this one; NULL: of `cert` */
    const char *priorities;          /* NULL: GnuTLS's own */
};

/* False when the handshake fails; with TLS 1.3 a refusal shows only in tls_client_get. */
bool tls_client_open(struct tls_client *c, uint16_t port, const struct tls_options *options);
/* Sends a GET; the status of the answer, or 0 when there is none: then *ret_alert is what was
 * received instead, GNUTLS_A_CLOSE_NOTIFY for a mere end. */
int tls_client_get(struct tls_client *c, const char *path, gnutls_alert_description_t *ret_alert);
/* Serial number of the server's certificate. */
unsigned char tls_client_serial(const struct tls_client *c);
void tls_client_close(struct tls_client *c);

#endif
