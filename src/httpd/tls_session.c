/* httpd/tls_session.c - the handshake of one connection.
 *
 * libmicrohttpd 0.9.75 asks for a client certificate at most, takes any, and cannot change its own
 * once started. But it shows a connection before its handshake, with the GnuTLS session: that gets
 * our credentials (so a reload is a new object for the next one), our verification, and a hook at
 * the client's Finished message, the last moment before application data. Both fail the handshake.
 * gnutls_db_set_ptr carries the connection: the session's own pointer is libmicrohttpd's, and
 * neither of us uses the session cache that the other one is meant for. No session is ever resumed,
 * so none evades the verification; of bytes that were verified before, its result is remembered (tls_verified.c).
 */
#include "httpd/tls_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 256 };

#define LOG_PAUSE_NS (10 * NS_PER_S)

/* One line in ten seconds and listener: whoever can connect must not be able to fill the log. */
static void log_refusal(struct httpd_conn *c, const char *why)
{
    struct httpd_listener *l = c->listener;
    const int64_t now_ns = clock_mono_ns(c->server->config.clock);
    int64_t next_ns = atomic_load(&l->refusal_log_ns);
    if (now_ns >= next_ns && atomic_compare_exchange_strong(&l->refusal_log_ns, &next_ns, now_ns + LOG_PAUSE_NS)) {
        LOG_WARNING(c->server->config.log, "Refused a TLS client", LOG_CSTR("listener", l->config.name),
                    LOG_CSTR("peer", c->peer_text), LOG_CSTR("reason", why));
    }
}

static int refuse(struct httpd_conn *c, gnutls_session_t session, enum httpd_drop drop,
                  gnutls_alert_description_t alert, const char *why)
{
    atomic_fetch_add(&c->listener->drops[drop], 1);
    c->tls_refused = true;
    log_refusal(c, why);
    (void)gnutls_alert_send(session, GNUTLS_AL_FATAL, alert); /* the handshake fails either way */
    return GNUTLS_E_CERTIFICATE_ERROR;
}

static int refuse_status(struct httpd_conn *c, gnutls_session_t session, unsigned status)
{
    static const struct {
        unsigned bit;
        gnutls_alert_description_t alert;
        const char *why;
    } rows[] = {
        {GNUTLS_CERT_SIGNER_NOT_FOUND, GNUTLS_A_UNKNOWN_CA, "certificate of an unknown CA"},
        {GNUTLS_CERT_SIGNATURE_FAILURE, GNUTLS_A_UNKNOWN_CA, "certificate of another CA of the same name"},
        {GNUTLS_CERT_SIGNER_NOT_CA, GNUTLS_A_UNKNOWN_CA, "certificate signed by a certificate that is not a CA"},
        {GNUTLS_CERT_EXPIRED, GNUTLS_A_CERTIFICATE_EXPIRED, "certificate expired"},
        {GNUTLS_CERT_NOT_ACTIVATED, GNUTLS_A_CERTIFICATE_EXPIRED, "certificate not valid yet"},
        {GNUTLS_CERT_PURPOSE_MISMATCH, GNUTLS_A_BAD_CERTIFICATE, "certificate not for client authentication"},
        {GNUTLS_CERT_INSECURE_ALGORITHM, GNUTLS_A_BAD_CERTIFICATE, "certificate with a weak signature"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if ((status & rows[i].bit) != 0) {
            return refuse(c, session, HTTPD_DROP_TLS_BAD_CERTIFICATE, rows[i].alert, rows[i].why);
        }
    }
    return refuse(c, session, HTTPD_DROP_TLS_BAD_CERTIFICATE, GNUTLS_A_BAD_CERTIFICATE, "certificate not valid");
}

/* ---- names ---- */

static bool take_name(struct httpd_conn *c, const char *p, size_t n)
{
    const struct str name = {p, n};
    if (n == 0 || n >= sizeof(c->client_name) || !httpd_tls_name_allowed(c->listener->config.tls, name)) {
        return false;
    }
    memcpy(c->client_name, p, n);
    c->client_name[n] = '\0';
    return true;
}

static bool common_name_allowed(struct httpd_conn *c, gnutls_x509_crt_t crt)
{
    for (unsigned i = 0;; i++) {
        char name[NAME_MAX_BYTES];
        size_t n = sizeof(name);
        const int rc = gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, i, 0, name, &n);
        if (rc == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
            return false;
        }
        if (rc >= 0 && take_name(c, name, n)) {
            return true;
        }
        if (rc < 0 && rc != GNUTLS_E_SHORT_MEMORY_BUFFER) {
            return false;
        }
    }
}

static bool alternative_name_allowed(struct httpd_conn *c, gnutls_x509_crt_t crt)
{
    for (unsigned i = 0;; i++) {
        char name[NAME_MAX_BYTES];
        size_t n = sizeof(name);
        const int type = gnutls_x509_crt_get_subject_alt_name(crt, i, name, &n, NULL);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
            return false;
        }
        if ((type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_URI || type == GNUTLS_SAN_RFC822NAME) &&
            take_name(c, name, n)) {
            return true;
        }
        if (type < 0 && type != GNUTLS_E_SHORT_MEMORY_BUFFER) {
            return false;
        }
    }
}

/* The leaf has been verified. */
static int judge_leaf(struct httpd_conn *c, gnutls_session_t session, gnutls_x509_crt_t crt)
{
    unsigned usage = 0;
    unsigned critical;
    if (gnutls_x509_crt_get_key_usage(crt, &usage, &critical) >= 0 && (usage & GNUTLS_KEY_DIGITAL_SIGNATURE) == 0) {
        return refuse(c, session, HTTPD_DROP_TLS_BAD_CERTIFICATE, GNUTLS_A_BAD_CERTIFICATE,
                      "the key of the certificate is not for signatures");
    }
    if (common_name_allowed(c, crt) || alternative_name_allowed(c, crt)) {
        return 0;
    }
    /* Where certificates are optional, an unknown name is as good as none. */
    return c->listener->config.client_cert_optional
               ? 0
               : refuse(c, session, HTTPD_DROP_TLS_NAME, GNUTLS_A_ACCESS_DENIED, "name not allowed");
}

/* Called by GnuTLS for the client's Certificate message, which may be empty: `finished` decides. */
static int verify(gnutls_session_t session)
{
    struct httpd_conn *c = gnutls_db_get_ptr(session);
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned status = 0;
    unsigned chain_n = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &chain_n);
    if (chain_n == 0) {
        return 0;
    }
    /* By the clock that GnuTLS itself reads. */
    const int64_t now_s = clock_wall_ms(clock_system()) / 1000;
    if (httpd_tls_verified_find(c->identity->verified, chain, chain_n, now_s, c->client_name)) {
        return 0;
    }
    if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0) {
        status = GNUTLS_CERT_INVALID;
    }
    if (status != 0) {
        return refuse_status(c, session, status);
    }
    gnutls_x509_crt_t crt = NULL;
    BUG_ON(gnutls_x509_crt_init(&crt) < 0); /* memory */
    int rc = gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER);
    rc = rc < 0 ? refuse_status(c, session, GNUTLS_CERT_INVALID) : judge_leaf(c, session, crt);
    gnutls_x509_crt_deinit(crt);
    if (rc == 0 && c->client_name[0] != '\0') {
        httpd_tls_verified_add(c->identity->verified, chain, chain_n, c->client_name);
    }
    return rc;
}

/* Called by GnuTLS for each Finished message, ours and the client's. */
static int finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                    const gnutls_datum_t *msg)
{
    (void)type, (void)when, (void)msg;
    struct httpd_conn *c = gnutls_db_get_ptr(session);
    if (!incoming) {
        return 0;
    }
    if (c->client_name[0] == '\0' && !c->listener->config.client_cert_optional) {
        const bool tls13 = gnutls_protocol_get_version(session) == GNUTLS_TLS1_3;
        return refuse(c, session, HTTPD_DROP_TLS_NO_CERTIFICATE,
                      tls13 ? GNUTLS_A_CERTIFICATE_REQUIRED : GNUTLS_A_HANDSHAKE_FAILURE, "no certificate");
    }
    c->tls_done = true;
    httpd_conn_request_over(c); /* the handshake's bytes are no request */
    return 0;
}

void httpd_tls_begin(struct httpd_conn *c, gnutls_session_t session)
{
    c->identity = httpd_tls_identity(c->listener->config.tls);
    gnutls_db_set_ptr(session, c);
    BUG_ON(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, c->identity->credentials) < 0);
    gnutls_certificate_server_set_request(session,
                                          c->identity->is_self_signed ? GNUTLS_CERT_IGNORE : GNUTLS_CERT_REQUEST);
    gnutls_session_set_verify_function(session, verify);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, finished);
}

void httpd_tls_end(struct httpd_conn *c, gnutls_session_t session)
{
    if (c->identity == NULL) {
        return;
    }
    if (!c->tls_done && !c->tls_refused && c->counted) {
        atomic_fetch_add(&c->listener->drops[HTTPD_DROP_TLS_HANDSHAKE], 1);
    }
    if (session != NULL) {
        gnutls_credentials_clear(session); /* it may live a little longer than they */
    }
    httpd_tls_identity_unref(c->identity);
}

bool httpd_tls_is_admitted(const struct httpd_conn *c)
{
    const struct httpd_listener_config *config = &c->listener->config;
    return config->tls == NULL || (c->tls_done && (c->client_name[0] != '\0' || config->client_cert_optional));
}
