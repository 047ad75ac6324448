/* httpd/self_signed.c - a certificate of our own, for a listener whose callers show a token. */
#include "httpd/tls_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <gnutls/x509.h>
#include <stdlib.h>

#define DAY_S (INT64_C(24) * 3600)
#define LIFE_S (3650 * DAY_S)

enum { SERIAL_BYTES = 20 };

struct pair {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
};

/* Negative: GnuTLS says why. A day earlier than now, for callers whose clock is behind. */
static int describe(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, int64_t now_s)
{
    static const char name[] = "fgpu", host[] = "localhost";
    unsigned char serial[SERIAL_BYTES] = {0};
    size_t n = sizeof(serial);
    int rc = gnutls_x509_privkey_get_key_id(key, 0, serial, &n); /* another key, another number */

    serial[0] = (unsigned char)((serial[0] & 0x3fU) | 0x40U); /* positive, and not zero */
    rc = rc < 0 ? rc : gnutls_x509_crt_set_version(crt, 3);
    rc = rc < 0 ? rc : gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
    rc = rc < 0 ? rc : gnutls_x509_crt_set_activation_time(crt, (time_t)(now_s - DAY_S));
    rc = rc < 0 ? rc : gnutls_x509_crt_set_expiration_time(crt, (time_t)(now_s + LIFE_S));
    rc = rc < 0 ? rc : gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, sizeof(name) - 1);
    rc = rc < 0 ? rc
                : gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host, sizeof(host) - 1,
                                                       GNUTLS_FSAN_APPEND);
    rc = rc < 0 ? rc : gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
    rc = rc < 0 ? rc : gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
    rc = rc < 0 ? rc : gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
    rc = rc < 0 ? rc : gnutls_x509_crt_set_key(crt, key);
    return rc < 0 ? rc : gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
}

static int make_pair(struct pair *p, int64_t now_s)
{
    int rc = gnutls_x509_privkey_init(&p->key);

    rc = rc < 0 ? rc : gnutls_x509_crt_init(&p->crt);
    rc = rc < 0 ? rc
                : gnutls_x509_privkey_generate(p->key, GNUTLS_PK_ECDSA,
                                               GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    return rc < 0 ? rc : describe(p->crt, p->key, now_s);
}

int httpd_tls_make_identity(int64_t wall_ms, struct tls_identity **ret, struct err *reterr)
{
    struct pair p = {.key = NULL};
    struct tls_identity *id = xcalloc(1, sizeof(*id));
    int rc;

    atomic_init(&id->refs, 1);
    id->is_self_signed = true;
    BUG_ON(gnutls_certificate_allocate_credentials(&id->credentials) < 0); /* memory */
    rc = make_pair(&p, wall_ms / 1000);
    rc = rc < 0 ? rc : gnutls_certificate_set_x509_key(id->credentials, &p.crt, 1, p.key);
    if (rc >= 0) {
        id->not_after_s = gnutls_x509_crt_get_expiration_time(p.crt);
    }
    gnutls_x509_crt_deinit(p.crt);
    gnutls_x509_privkey_deinit(p.key);
    if (rc < 0) {
        httpd_tls_identity_unref(id);
        return err_set(reterr, ERR_INTERNAL, "cannot make a certificate: %s", gnutls_strerror(rc));
    }
    *ret = id;
    return 0;
}
