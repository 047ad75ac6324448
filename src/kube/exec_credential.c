/* kube/exec_credential.c - the ExecCredential that a plugin printed. */
#include "kube/exec_plugin.h"

#include "objects_internal.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/clock.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct str kind, api_version, token, cert, key, expires;
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

static const struct kube_field status_fields[] = {
    {STR("token"), kube_decode_text, offsetof(struct reading, token)},
    {STR("clientCertificateData"), kube_decode_text, offsetof(struct reading, cert)},
    {STR("clientKeyData"), kube_decode_text, offsetof(struct reading, key)},
    {STR("expirationTimestamp"), kube_decode_text, offsetof(struct reading, expires)},
    {STR_NULL},
};

static const struct kube_field object_fields[] = {
    {STR("kind"), kube_decode_text, offsetof(struct reading, kind)},
    {STR("apiVersion"), kube_decode_text, offsetof(struct reading, api_version)},
    {STR("status"), .inner = status_fields},
    {STR_NULL},
};

static const char *what_is_wrong(const struct reading *in, const char *api_version, int64_t *ret_expires)
{
    *ret_expires = INT64_MAX;
    if (!str_eq_cstr(in->kind, "ExecCredential")) {
        return "kind is not ExecCredential";
    }
    if (!str_eq_cstr(in->api_version, api_version)) {
        return "apiVersion is not the one of the kubeconfig";
    }
    if (in->token.n == 0 && in->cert.n == 0) {
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
    return s.n > 0 ? str_dup(s) : NULL;
}

int exec_credential_parse(struct str text, const char *api_version, struct exec_credential *ret, struct err *reterr)
{
    struct json_reader *r = xmalloc(sizeof(*r));
    struct reading in = {.token = STR_NULL};
    struct arena arena;
    int64_t expires;
    arena_init(&arena, EXEC_PLUGIN_OUTPUT_MAX);
    json_reader_init(r, text, &arena);
    kube_decode_object(r, object_fields, &in);
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
