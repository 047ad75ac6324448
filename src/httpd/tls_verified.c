/* httpd/tls_verified.c - the chains of callers that have been verified.
 *
 * kube-scheduler keeps two idle connections and resumes no session, so a burst of binds is a burst of handshakes, each
 * with the same certificate. To verify it is more than a third of the server's work for one (decision 0094). Remembered
 * is what the verification said of these very bytes, until something that it rests on ends: a certificate of the chain
 * or a CA of the file. That the caller has the key is proven in every handshake. Only chains that were good and carry
 * an allowed name come in here, so nobody else can fill it.
 */
#include "httpd/tls_internal.h"

#include "base/bug.h"
#include "base/strbuf.h"
#include "base/sync.h"

#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 8, CHAIN_BYTES_MAX = 32 * 1024 };

struct span { /* seconds since 1970; both ends belong to it */
    int64_t from_s, until_s;
};

struct verified_chain {
    struct strbuf bytes; /* each certificate with its length before it */
    struct span valid;
    char name[HTTPD_CLIENT_NAME_BYTES];
};

struct tls_verified {
    struct span cas;   /* when all CAs of the file are valid */
    struct mutex lock; /* guards what follows */
    struct verified_chain chains[CHAINS];
    size_t next; /* whose place the next one takes */
};

static struct span always(void)
{
    return (struct span){INT64_MIN, INT64_MAX};
}

/* A time that cannot be read is no time at all. */
static void narrow(struct span *s, gnutls_x509_crt_t crt)
{
    const time_t from = gnutls_x509_crt_get_activation_time(crt), until = gnutls_x509_crt_get_expiration_time(crt);
    if (from == (time_t)-1 || until == (time_t)-1) {
        *s = (struct span){INT64_MAX, INT64_MIN};
        return;
    }
    s->from_s = s->from_s > from ? s->from_s : from;
    s->until_s = s->until_s < until ? s->until_s : until;
}

static struct span span_of_cas(gnutls_certificate_credentials_t credentials)
{
    struct span ret = always();
    gnutls_x509_trust_list_t list;
    gnutls_x509_trust_list_iter_t at = NULL;
    gnutls_x509_crt_t crt;
    gnutls_certificate_get_trust_list(credentials, &list);
    while (gnutls_x509_trust_list_iter_get_ca(list, &at, &crt) == 0) {
        narrow(&ret, crt);
        gnutls_x509_crt_deinit(crt);
    }
    return ret;
}

static struct span span_of_chain(const gnutls_datum_t *chain, unsigned chain_n)
{
    struct span ret = always();
    for (unsigned i = 0; i < chain_n; i++) {
        gnutls_x509_crt_t crt = NULL;
        BUG_ON(gnutls_x509_crt_init(&crt) < 0); /* memory */
        if (gnutls_x509_crt_import(crt, &chain[i], GNUTLS_X509_FMT_DER) < 0) {
            ret = (struct span){INT64_MAX, INT64_MIN};
        } else {
            narrow(&ret, crt);
        }
        gnutls_x509_crt_deinit(crt);
    }
    return ret;
}

static bool is_same(const struct verified_chain *v, const gnutls_datum_t *chain, unsigned chain_n)
{
    size_t at = 0;
    for (unsigned i = 0; i < chain_n; i++) {
        const size_t n = chain[i].size;
        if (v->bytes.n - at < sizeof(n) + n || memcmp(v->bytes.p + at, &n, sizeof(n)) != 0 ||
            memcmp(v->bytes.p + at + sizeof(n), chain[i].data, n) != 0) {
            return false;
        }
        at += sizeof(n) + n;
    }
    return at > 0 && at == v->bytes.n;
}

bool httpd_tls_verified_find(struct tls_verified *v, const gnutls_datum_t *chain, unsigned chain_n, int64_t now_s,
                             char ret_name[HTTPD_CLIENT_NAME_BYTES])
{
    bool found = false;
    mutex_lock(&v->lock);
    for (size_t i = 0; i < CHAINS && !found; i++) {
        const struct verified_chain *c = &v->chains[i];
        found = c->valid.from_s <= now_s && now_s <= c->valid.until_s && is_same(c, chain, chain_n);
        if (found) {
            memcpy(ret_name, c->name, sizeof(c->name));
        }
    }
    mutex_unlock(&v->lock);
    return found;
}

/* Under the lock. Its own, if several handshakes verified it at once or it was not valid for a while. */
static struct verified_chain *place_of(struct tls_verified *v, const gnutls_datum_t *chain, unsigned chain_n)
{
    for (size_t i = 0; i < CHAINS; i++) {
        if (is_same(&v->chains[i], chain, chain_n)) {
            return &v->chains[i];
        }
    }
    struct verified_chain *c = &v->chains[v->next];
    v->next = (v->next + 1) % CHAINS;
    return c;
}

void httpd_tls_verified_add(struct tls_verified *v, const gnutls_datum_t *chain, unsigned chain_n,
                            const char name[HTTPD_CLIENT_NAME_BYTES])
{
    struct span valid = span_of_chain(chain, chain_n);
    valid.from_s = valid.from_s > v->cas.from_s ? valid.from_s : v->cas.from_s;
    valid.until_s = valid.until_s < v->cas.until_s ? valid.until_s : v->cas.until_s;
    mutex_lock(&v->lock);
    struct verified_chain *c = place_of(v, chain, chain_n);
    strbuf_reset(&c->bytes);
    for (unsigned i = 0; i < chain_n; i++) {
        const size_t n = chain[i].size;
        strbuf_add(&c->bytes, (const char *)&n, sizeof(n));
        strbuf_add(&c->bytes, (const char *)chain[i].data, n);
    }
    c->valid = valid;
    memcpy(c->name, name, sizeof(c->name));
    if (c->bytes.overflowed) { /* too long to be kept */
        strbuf_reset(&c->bytes);
    }
    mutex_unlock(&v->lock);
}

struct tls_verified *httpd_tls_verified_new(gnutls_certificate_credentials_t credentials)
{
    struct tls_verified *v = xcalloc(1, sizeof(*v));
    mutex_init(&v->lock, "tls verified");
    v->cas = span_of_cas(credentials);
    for (size_t i = 0; i < CHAINS; i++) {
        strbuf_init(&v->chains[i].bytes, CHAIN_BYTES_MAX);
    }
    return v;
}

void httpd_tls_verified_free(struct tls_verified *v)
{
    if (v == NULL) {
        return;
    }
    for (size_t i = 0; i < CHAINS; i++) {
        strbuf_fini(&v->chains[i].bytes);
    }
    mutex_destroy(&v->lock);
    free(v);
}
