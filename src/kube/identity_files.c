/* kube/identity_files.c - tokens and certificates from their files. */
#include "identity_internal.h"

#include "base/file.h"

#include <string.h>

enum { PEM_BYTES_MAX = 1024 * 1024, PAIR_TRIES = 5 };

static void end(struct strbuf *b)
{
    strbuf_wipe(b);
    strbuf_fini(b);
}

void material_init(struct material *m)
{
    strbuf_init(&m->token, IDENTITY_TOKEN_BYTES_MAX);
    strbuf_init(&m->ca, PEM_BYTES_MAX);
    strbuf_init(&m->cert, PEM_BYTES_MAX);
    strbuf_init(&m->key, PEM_BYTES_MAX);
}

void material_fini(struct material *m)
{
    end(&m->token);
    end(&m->ca);
    end(&m->cert);
    end(&m->key);
}

static bool same(const struct strbuf *a, const struct strbuf *b)
{
    return str_eq(strbuf_view(a), strbuf_view(b));
}

bool material_eq(const struct material *a, const struct material *b)
{
    return same(&a->token, &b->token) && same(&a->ca, &b->ca) && same(&a->cert, &b->cert) && same(&a->key, &b->key);
}

bool material_is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~') {
            return false;
        }
    }
    return s.n > 0;
}

/* ---- one file ---- */

static int read_pem(const char *path, struct strbuf *ret, struct err *reterr)
{
    strbuf_wipe(ret);
    int rc = file_read(path, ret, reterr);
    if (rc == 0 && (ret->n == 0 || strlen(ret->p) != ret->n || strstr(ret->p, "-----BEGIN ") == NULL)) {
        rc = err_set(reterr, ERR_INVALID, "%s does not hold PEM", path);
    }
    if (rc != 0) {
        strbuf_wipe(ret);
    }
    return rc;
}

static int read_token(const struct credentials *c, struct strbuf *ret, struct err *reterr)
{
    struct strbuf text;
    strbuf_init(&text, IDENTITY_TOKEN_BYTES_MAX);
    int rc = 0;
    if (c->token_file != NULL) {
        rc = file_read(c->token_file, &text, reterr);
    } else if (c->token != NULL) {
        strbuf_add_cstr(&text, c->token);
    }
    struct str token = str_trim(strbuf_view(&text));
    if (rc == 0 && !material_is_token(token)) {
        rc = err_set(reterr, ERR_INVALID, "%s is not a bearer token",
                     c->token_file != NULL ? c->token_file : "the token of the credentials");
    } else if (rc == 0) {
        strbuf_add_str(ret, token);
    }
    end(&text);
    return rc;
}

static int read_ca(const struct credentials *c, struct strbuf *ret, struct err *reterr)
{
    if (c->ca_file != NULL) {
        return read_pem(c->ca_file, ret, reterr);
    }
    strbuf_add_str(ret, str_of(c->ca_pem));
    return 0;
}

static int read_half(const char *path, const char *pem, struct strbuf *ret, struct err *reterr)
{
    if (path != NULL) {
        return read_pem(path, ret, reterr);
    }
    strbuf_wipe(ret);
    strbuf_add_str(ret, str_of(pem));
    return 0;
}

/* The two files may be replaced between our two reads: the pair counts when the certificate is the
 * same before and after reading the key. */
static int read_pair(const struct credentials *c, struct strbuf *cert, struct strbuf *key, struct err *reterr)
{
    struct strbuf again;
    strbuf_init(&again, PEM_BYTES_MAX);
    int rc = -ERR_CONFLICT;
    for (unsigned i = 0; i < PAIR_TRIES && rc == -ERR_CONFLICT; i++) {
        rc = read_half(c->client_cert_file, c->client_cert_pem, cert, reterr);
        if (rc == 0) {
            rc = read_half(c->client_key_file, c->client_key_pem, key, reterr);
        }
        if (rc == 0) {
            rc = read_half(c->client_cert_file, c->client_cert_pem, &again, reterr);
        }
        if (rc == 0 && !same(cert, &again)) {
            rc = err_set(reterr, ERR_CONFLICT, "%s changes while it is read", c->client_cert_file);
        }
    }
    end(&again);
    if (rc != 0) {
        strbuf_wipe(cert);
        strbuf_wipe(key);
    }
    return rc;
}

unsigned material_read(const struct credentials *c, struct material *ret, struct err why[MATERIAL_FILE__MAX])
{
    unsigned failed = 0;
    for (size_t i = 0; i < MATERIAL_FILE__MAX; i++) {
        why[i].code = ERR_OK;
    }
    if (c->token != NULL || c->token_file != NULL) {
        failed += read_token(c, &ret->token, &why[MATERIAL_TOKEN]) != 0;
    }
    if (c->ca_pem != NULL) {
        failed += read_ca(c, &ret->ca, &why[MATERIAL_CA]) != 0;
    }
    if (c->client_cert_pem != NULL && c->client_key_pem != NULL) {
        failed += read_pair(c, &ret->cert, &ret->key, &why[MATERIAL_PAIR]) != 0;
    }
    return failed;
}
