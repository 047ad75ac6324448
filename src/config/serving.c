/* What may be served where: the rule that plain HTTP stays on loopback. */
#include "config/load.h"

#include <stddef.h>

static bool has_tls(const struct config_serving *s)
{
    return s->tls.cert_file.n > 0;
}

bool config_serving_is_tls(const struct config_serving *s, const struct address *a)
{
    return config_serving_is_self_signed(s, a) ||
           (has_tls(s) && (!address_is_loopback(a) || s->tls.on_loopback == TLS_ON_LOOPBACK_ON));
}

bool config_serving_is_self_signed(const struct config_serving *s, const struct address *a)
{
    return a == &s->metrics && !has_tls(s) && !address_is_none(a) && !address_is_loopback(a);
}

bool config_serving_needs_token(const struct config_serving *s, const struct address *a)
{
    return !address_is_none(a) && (s->ops_authorization == OPS_AUTHORIZATION_ALWAYS || !address_is_loopback(a));
}

static const char *tls_problem(const struct config_tls *t, const char **ret_key)
{
    *ret_key = "tls.certFile";
    if (t->cert_file.n == 0) {
        return t->key_file.n > 0 || t->client_ca_file.n > 0 || t->on_loopback == TLS_ON_LOOPBACK_ON
                   ? "TLS needs a certificate"
                   : NULL;
    }
    *ret_key = "tls.keyFile";
    if (t->key_file.n == 0) {
        return "a certificate needs its key";
    }
    *ret_key = "tls.clientCAFile";
    if (t->client_ca_file.n == 0) {
        return "without it nobody's certificate could be verified";
    }
    *ret_key = "tls.allowedNames";
    if (t->allowed_name_n == 0) {
        return "with an empty list nobody may call";
    }
    for (size_t i = 0; i < t->allowed_name_n; i++) {
        if (t->allowed_names[i].n == 0) {
            return "an empty name allows nobody";
        }
    }
    return NULL;
}

const char *config_serving_problem(const struct config_serving *s, const char **ret_key)
{
    const struct {
        const struct address *address;
        const char *key;
    } guarded[] = {{&s->verbs, "verbsAddress"}, {&s->ops, "opsAddress"}};
    const char *why = tls_problem(&s->tls, ret_key);

    for (size_t i = 0; i < ARRAY_LEN(guarded) && why == NULL; i++) {
        if (!address_is_loopback(guarded[i].address) && !has_tls(s)) {
            *ret_key = guarded[i].key;
            why = "plain HTTP only on loopback; use a 127.0.0.1 address, or give serving.tls";
        }
    }
    return why;
}
