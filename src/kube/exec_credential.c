/* kube/exec_credential.c - the ExecCredential that a plugin printed. */
#include "kube/exec_plugin.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct str kind, api_version, token, cert, key, expires;
    bool has_status;
};

static void wipe(char **p)
{
    if (*p != NULL) {
        explicit_bzero(*p, strlen(*p));
        free(*p);
        *p = NULL;
    }
}

void exec_credential_fini(struct exec_credential *c)
{
    wipe(&c->token);
    wipe(&c->cert_pem);
    wipe(&c->key_pem);
}

static void read_text(struct json_reader *r, struct str *ret)
{
    if (!json_accept_null(r)) {
        (void)json_string(r, ret);
    }
}

static void read_status(struct json_reader *r, struct reading *ret)
{
    struct str key;
    if (json_accept_null(r)) {
        return;
    }
    ret->has_status = true;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("token"))) {
            read_text(r, &ret->token);
        } else if (str_eq(key, STR("clientCertificateData"))) {
            read_text(r, &ret->cert);
        } else if (str_eq(key, STR("clientKeyData"))) {
            read_text(r, &ret->key);
        } else if (str_eq(key, STR("expirationTimestamp"))) {
            read_text(r, &ret->expires);
        } else {
            json_skip(r);
        }
    }
}

static void read_object(struct json_reader *r, struct reading *ret)
{
    struct str key;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("kind"))) {
            read_text(r, &ret->kind);
        } else if (str_eq(key, STR("apiVersion"))) {
            read_text(r, &ret->api_version);
        } else if (str_eq(key, STR("status"))) {
            read_status(r, ret);
        } else {
            json_skip(r);
        }
    }
}

static const char *what_is_wrong(const struct reading *in, const char *api_version, int64_t *ret_expires)
{
    *ret_expires = INT64_MAX;
    if (!str_eq_cstr(in->kind, "ExecCredential")) {
        return "kind is not ExecCredential";
    }
    if (!str_eq_cstr(in->api_version, api_version)) {
        return "apiVersion is not the one of the kubeconfig";
    }
    if (!in->has_status || (in->token.n == 0 && in->cert.n == 0)) {
        return "status has neither a token nor a client certificate";
    }
    if ((in->cert.n == 0) != (in->key.n == 0)) {
        return "clientCertificateData and clientKeyData are needed together";
    }
    if (in->expires.n > 0 && !clock_rfc3339_parse(in->expires, ret_expires)) {
        return "expirationTimestamp is not a time of RFC 3339";
    }
    return NULL;
}

static char *owned(struct str s)
{
    char *p = s.n > 0 ? strndup(s.p, s.n) : NULL;
    BUG_ON(s.n > 0 && p == NULL);
    return p;
}

int exec_credential_parse(struct str text, const char *api_version, struct exec_credential *ret, struct err *reterr)
{
    struct json_reader *r = xmalloc(sizeof(*r));
    struct reading in = {.has_status = false};
    struct arena arena;
    int64_t expires;
    arena_init(&arena, EXEC_PLUGIN_OUTPUT_MAX);
    json_reader_init(r, text, &arena);
    read_object(r, &in);
    int rc = json_read_end(r, reterr);
    if (rc == 0) {
        const char *wrong = what_is_wrong(&in, api_version, &expires);
        if (wrong != NULL) {
            rc = err_set(reterr, ERR_INVALID, "%s", wrong);
        } else {
            *ret = (struct exec_credential){.token = owned(in.token),
                                            .cert_pem = owned(in.cert),
                                            .key_pem = owned(in.key),
                                            .expires_wall_ms = expires};
        }
    }
    arena_fini(&arena);
    free(r);
    return rc;
}
