#include "httpd/support/certs.h"

#include "support/cmocka.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { HOUR_S = 3600, PATIENCE_S = 60 };

#define OK(call_)                                                                                                      \
    do {                                                                                                               \
        const int ok_r = (call_);                                                                                      \
        if (ok_r < 0) {                                                                                                \
            fail_msg("%s: %s", #call_, gnutls_strerror(ok_r));                                                         \
        }                                                                                                              \
    } while (0)

void cert_make(struct cert *ret, const struct cert_options *w)
{
    const time_t now = time(NULL);
    const bool usual = w->begins_s == 0 && w->ends_s == 0;
    OK(gnutls_x509_privkey_init(&ret->key));
    OK(gnutls_x509_privkey_generate(ret->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    OK(gnutls_x509_crt_init(&ret->crt));
    OK(gnutls_x509_crt_set_version(ret->crt, 3));
    OK(gnutls_x509_crt_set_key(ret->crt, ret->key));
    const unsigned char serial = w->serial != 0 ? w->serial : 1;
    OK(gnutls_x509_crt_set_serial(ret->crt, &serial, 1));
    OK(gnutls_x509_crt_set_activation_time(ret->crt, usual ? now - HOUR_S : now + (time_t)w->begins_s));
    OK(gnutls_x509_crt_set_expiration_time(ret->crt, usual ? now + HOUR_S : now + (time_t)w->ends_s));
    if (w->cn != NULL) {
        const size_t n = w->cn_n != 0 ? w->cn_n : strlen(w->cn);
        OK(gnutls_x509_crt_set_dn_by_oid(ret->crt, GNUTLS_OID_X520_COMMON_NAME, 0, w->cn, (unsigned)n));
    }
    if (w->dns != NULL) {
        OK(gnutls_x509_crt_set_subject_alt_name(ret->crt, GNUTLS_SAN_DNSNAME, w->dns, (unsigned)strlen(w->dns),
                                                GNUTLS_FSAN_APPEND));
    }
    if (w->uri != NULL) {
        OK(gnutls_x509_crt_set_subject_alt_name(ret->crt, GNUTLS_SAN_URI, w->uri, (unsigned)strlen(w->uri),
                                                GNUTLS_FSAN_APPEND));
    }
    OK(gnutls_x509_crt_set_basic_constraints(ret->crt, w->ca, -1));
    if (w->purpose != NULL) {
        OK(gnutls_x509_crt_set_key_purpose_oid(ret->crt, w->purpose, 0));
    }
    if (w->usage != 0) {
        OK(gnutls_x509_crt_set_key_usage(ret->crt, w->usage));
    }
    const struct cert *issuer = w->issuer != NULL ? w->issuer : ret;
    OK(gnutls_x509_crt_sign2(ret->crt, issuer->crt, issuer->key, GNUTLS_DIG_SHA256, 0));

    /* as one that was read: only those are put in order in a chain */
    gnutls_datum_t der;
    OK(gnutls_x509_crt_export2(ret->crt, GNUTLS_X509_FMT_DER, &der));
    gnutls_x509_crt_deinit(ret->crt);
    OK(gnutls_x509_crt_init(&ret->crt));
    OK(gnutls_x509_crt_import(ret->crt, &der, GNUTLS_X509_FMT_DER));
    gnutls_free(der.data);
}

void cert_free(struct cert *c)
{
    gnutls_x509_crt_deinit(c->crt);
    gnutls_x509_privkey_deinit(c->key);
}

static void append(FILE *f, gnutls_datum_t *pem)
{
    assert_int_equal(fwrite(pem->data, 1, pem->size, f), pem->size);
    gnutls_free(pem->data);
}

void cert_write(const struct cert *c, const struct cert *and, const char *path)
{
    gnutls_datum_t pem;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    OK(gnutls_x509_crt_export2(c->crt, GNUTLS_X509_FMT_PEM, &pem));
    append(f, &pem);
    if (and != NULL) {
        OK(gnutls_x509_crt_export2(and->crt, GNUTLS_X509_FMT_PEM, &pem));
        append(f, &pem);
    }
    assert_int_equal(fclose(f), 0);
}

void cert_write_key(const struct cert *c, const char *path)
{
    gnutls_datum_t pem;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    OK(gnutls_x509_privkey_export2_pkcs8(c->key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem));
    append(f, &pem);
    assert_int_equal(fclose(f), 0);
}

bool tls_client_open(struct tls_client *c, uint16_t port, const struct tls_options *w)
{
    const struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(connect(c->fd, (const struct sockaddr *)&in, sizeof(in)), 0);
    OK(gnutls_certificate_allocate_credentials(&c->credentials));
    if (w->cert != NULL) {
        gnutls_x509_crt_t chain[] = {w->cert->crt, w->intermediate != NULL ? w->intermediate->crt : NULL};
        gnutls_certificate_set_flags(c->credentials, GNUTLS_CERTIFICATE_SKIP_KEY_CERT_MATCH);
        OK(gnutls_certificate_set_x509_key(c->credentials, chain, w->intermediate != NULL ? 2 : 1,
                                           (w->key_of != NULL ? w->key_of : w->cert)->key));
    }
    /* a certificate is sent whatever CAs the server says it knows */
    OK(gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT | GNUTLS_NO_SIGNAL));
    OK(gnutls_priority_set_direct(c->session, w->priorities != NULL ? w->priorities : "NORMAL", NULL));
    OK(gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->credentials));
    gnutls_transport_set_int(c->session, c->fd);
    int rc;
    do {
        rc = gnutls_handshake(c->session);
    } while (rc < 0 && !gnutls_error_is_fatal(rc));
    return rc == 0;
}

int tls_client_get(struct tls_client *c, const char *path, gnutls_alert_description_t *ret_alert)
{
    char text[256];
    char got[4096];
    size_t n = 0;
    const int text_n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    *ret_alert = GNUTLS_A_CLOSE_NOTIFY;
    (void)gnutls_record_send(c->session, text, (size_t)text_n); /* if refused, the alert is read below */
    for (;;) {
        const ssize_t r = gnutls_record_recv(c->session, got + n, sizeof(got) - 1 - n);
        if (r == GNUTLS_E_FATAL_ALERT_RECEIVED) {
            *ret_alert = gnutls_alert_get(c->session);
        }
        if (r < 0 && !gnutls_error_is_fatal((int)r)) {
            continue;
        }
        if (r <= 0) {
            return 0;
        }
        n += (size_t)r;
        got[n] = '\0';
        const char *body = strstr(got, "\r\n\r\n");
        const char *length = strstr(got, "Content-Length: ");
        if (body != NULL && length != NULL &&
            strlen(body + 4) == strtoul(length + strlen("Content-Length: "), NULL, 10)) {
            return (int)strtol(got + strlen("HTTP/1.1 "), NULL, 10);
        }
    }
}

unsigned char tls_client_serial(const struct tls_client *c)
{
    unsigned n;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(c->session, &n);
    assert_non_null(chain);
    gnutls_x509_crt_t crt;
    OK(gnutls_x509_crt_init(&crt));
    OK(gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER));
    unsigned char serial[32];
    size_t serial_n = sizeof(serial);
    OK(gnutls_x509_crt_get_serial(crt, serial, &serial_n));
    gnutls_x509_crt_deinit(crt);
    return serial[serial_n - 1];
}

void tls_client_close(struct tls_client *c)
{
    gnutls_deinit(c->session);
    gnutls_certificate_free_credentials(c->credentials);
    close(c->fd);
}
