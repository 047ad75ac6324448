/* Certificates of callers that were verified before: for how long, and what they are worth to somebody else. */
#include "base/clock.h"
#include "httpd/support/certs.h"
#include "httpd/support/fixture.h"
#include "httpd/tls_internal.h"

#include <stdlib.h>

enum { HOUR_S = 3600, CALLERS = 40 };

struct remembered {
    struct cert ca;
    gnutls_certificate_credentials_t credentials;
    struct tls_verified *v;
    int64_t now_s;
};

/* The CA is valid from ca_begins_s to ca_ends_s, from now. */
static void begin(struct remembered *r, int64_t ca_begins_s, int64_t ca_ends_s)
{
    cert_make(&r->ca, &(struct cert_options){.cn = "ca", .ca = true, .begins_s = ca_begins_s, .ends_s = ca_ends_s});
    assert_int_equal(gnutls_certificate_allocate_credentials(&r->credentials), 0);
    assert_int_equal(gnutls_certificate_set_x509_trust(r->credentials, &r->ca.crt, 1), 1);
    r->v = httpd_tls_verified_new(r->credentials);
    r->now_s = clock_wall_ms(clock_system()) / 1000;
}

static void end(struct remembered *r)
{
    httpd_tls_verified_free(r->v);
    gnutls_certificate_free_credentials(r->credentials);
    cert_free(&r->ca);
}

/* A chain of one, as the peer sends it; gnutls_free(der.data). */
static gnutls_datum_t chain_of(struct remembered *r, int64_t begins_s, int64_t ends_s)
{
    struct cert cert;
    gnutls_datum_t der;
    cert_make(&cert, &(struct cert_options){
                         .cn = "caller", .issuer = &r->ca, .begins_s = begins_s, .ends_s = ends_s, .serial = 7});
    assert_int_equal(gnutls_x509_crt_export2(cert.crt, GNUTLS_X509_FMT_DER, &der), 0);
    cert_free(&cert);
    return der;
}

static bool knows(const struct remembered *r, const gnutls_datum_t *chain, unsigned chain_n, int64_t after_s)
{
    char name[HTTPD_CLIENT_NAME_BYTES] = "";
    const bool found = httpd_tls_verified_find(r->v, chain, chain_n, r->now_s + after_s, name);
    assert_string_equal(name, found ? "caller" : "");
    return found;
}

static void add(const struct remembered *r, const gnutls_datum_t *chain, unsigned chain_n)
{
    char name[HTTPD_CLIENT_NAME_BYTES] = "caller";
    httpd_tls_verified_add(r->v, chain, chain_n, name);
}

static void remembered__time_passes__known_as_long_as_chain_and_ca_are_valid(void **state)
{
    static const struct {
        int64_t ca_begins_s, ca_ends_s, begins_s, ends_s, from_s, until_s;
    } rows[] = {
        {-9 * HOUR_S, 9 * HOUR_S, -HOUR_S, 2 * HOUR_S, -HOUR_S, 2 * HOUR_S}, /* the caller's ends first */
        {-HOUR_S, 3 * HOUR_S, -9 * HOUR_S, 9 * HOUR_S, -HOUR_S, 3 * HOUR_S}, /* the CA ends first */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct remembered r;
        enum { SLACK_S = 60 }; /* certificates are made a moment before or after `now` is read */
        begin(&r, rows[i].ca_begins_s, rows[i].ca_ends_s);
        gnutls_datum_t der = chain_of(&r, rows[i].begins_s, rows[i].ends_s);
        assert_false(knows(&r, &der, 1, 0));
        add(&r, &der, 1);
        assert_true(knows(&r, &der, 1, 0));
        assert_true(knows(&r, &der, 1, rows[i].from_s + SLACK_S));
        assert_false(knows(&r, &der, 1, rows[i].from_s - SLACK_S));
        assert_true(knows(&r, &der, 1, rows[i].until_s - SLACK_S));
        assert_false(knows(&r, &der, 1, rows[i].until_s + SLACK_S));
        gnutls_free(der.data);
        end(&r);
    }
}

static void remembered__other_bytes__not_known(void **state)
{
    struct remembered r;
    begin(&r, -HOUR_S, HOUR_S);
    gnutls_datum_t der = chain_of(&r, -HOUR_S, HOUR_S), other = chain_of(&r, -HOUR_S, HOUR_S);
    const gnutls_datum_t both[] = {der, other}, turned[] = {other, der}, none = {NULL, 0};
    add(&r, both, 2);
    assert_true(knows(&r, both, 2, 0));
    assert_false(knows(&r, turned, 2, 0));
    assert_false(knows(&r, both, 1, 0));
    assert_false(knows(&r, &none, 1, 0));
    assert_false(knows(&r, &none, 0, 0));
    for (unsigned i = 0; i < der.size; i++) { /* every bit of it counts */
        der.data[i] ^= 1U;
        assert_false(knows(&r, both, 2, 0));
        der.data[i] ^= 1U;
    }
    assert_true(knows(&r, both, 2, 0));
    gnutls_free(der.data);
    gnutls_free(other.data);
    end(&r);
}

static void remembered__many_callers__the_oldest_goes_and_the_same_one_takes_one_place(void **state)
{
    struct remembered r;
    gnutls_datum_t first, other;
    begin(&r, -HOUR_S, HOUR_S);
    first = chain_of(&r, -HOUR_S, HOUR_S);
    other = chain_of(&r, -HOUR_S, HOUR_S);
    add(&r, &first, 1);
    for (int i = 0; i < CALLERS; i++) {
        add(&r, &other, 1);
    }
    assert_true(knows(&r, &first, 1, 0));
    for (int i = 0; i < CALLERS; i++) {
        gnutls_datum_t more = chain_of(&r, -HOUR_S, HOUR_S);
        add(&r, &more, 1);
        assert_true(knows(&r, &more, 1, 0));
        gnutls_free(more.data);
    }
    assert_false(knows(&r, &first, 1, 0));
    gnutls_free(first.data);
    gnutls_free(other.data);
    end(&r);
}

static void remembered__longer_than_any_chain__not_kept_and_harmless(void **state)
{
    struct remembered r;
    begin(&r, -HOUR_S, HOUR_S);
    gnutls_datum_t der = chain_of(&r, -HOUR_S, HOUR_S);
    gnutls_datum_t many[200];
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = der;
    }
    add(&r, many, ARRAY_LEN(many));
    assert_false(knows(&r, many, ARRAY_LEN(many), 0));
    add(&r, &der, 1);
    assert_true(knows(&r, &der, 1, 0));
    gnutls_free(der.data);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembered__time_passes__known_as_long_as_chain_and_ca_are_valid),
        cmocka_unit_test(remembered__other_bytes__not_known),
        cmocka_unit_test(remembered__many_callers__the_oldest_goes_and_the_same_one_takes_one_place),
        cmocka_unit_test(remembered__longer_than_any_chain__not_kept_and_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
