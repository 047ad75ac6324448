#include "config/kubeconfig.h"

#include "base/file.h"
#include "config/kubeconfig_internal.h"

#include <string.h>

/* 1 MiB of YAML make at most 520,000 nodes of about 100 bytes. */
#define TREE_BYTES_MAX ((size_t)128 * 1024 * 1024)

static const struct text_pos whole_file = {0, 0};

static struct text_pos pos_of(const struct yaml_doc_node *n)
{
    return n != NULL ? n->pos : whole_file;
}

/* --- the parts of struct credentials --- */

static void refuse_keys(struct kubeconfig *k, const struct yaml_doc_node *map, const char *const *keys,
                        const char *remedy)
{
    for (; *keys != NULL; keys++) {
        const struct yaml_doc_node *n = yaml_doc_find(map, str_of(*keys));
        if (n != NULL && !yaml_doc_is_null(n)) {
            diagnostics_add(k->d, n->key->pos, "%s is not supported; %s", *keys, remedy);
        }
    }
}

/* What may stand behind the scheme: at least a host. */
static bool is_authority(struct str s, bool with_user)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || (c == '@' && !with_user) || c == '?' || c == '#') {
            return false;
        }
    }
    return s.n > 0 && s.p[0] != '/' && s.p[0] != ':';
}

static struct str after_scheme(struct str url, const char *const *schemes)
{
    for (; *schemes != NULL; schemes++) {
        struct str scheme = str_of(*schemes);
        if (str_starts(url, scheme)) {
            return str_drop(url, scheme.n);
        }
    }
    return STR_NULL;
}

static struct str without_slashes(struct str url)
{
    while (str_ends(url, STR("/"))) {
        url.n--;
    }
    return url;
}

static void take_server(struct kubeconfig *k, const struct yaml_doc_node *cluster, struct credentials *ret)
{
    static const char *const schemes[] = {"https://", "http://", NULL};
    const struct yaml_doc_node *n;
    struct str url = kubeconfig_text(k, cluster, "server", &n);

    if (n == NULL) {
        diagnostics_add(k->d, cluster->pos, "server is missing");
    } else if (!is_authority(after_scheme(url, schemes), false)) {
        diagnostics_add(k->d, n->pos, "server must be a URL such as https://10.0.0.1:6443");
    } else {
        kubeconfig_set(&ret->server, without_slashes(url));
    }
}

/* The schemes that client-go knows. */
static void take_proxy(struct kubeconfig *k, const struct yaml_doc_node *cluster, struct credentials *ret)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://", NULL};
    const struct yaml_doc_node *n;
    struct str url = kubeconfig_text(k, cluster, "proxy-url", &n);

    if (n != NULL && !is_authority(after_scheme(url, schemes), true)) {
        diagnostics_add(k->d, n->pos,
                        "proxy-url must be a URL such as http://10.0.0.1:3128; https:// and socks5:// are "
                        "supported, too");
    } else if (n != NULL) {
        kubeconfig_set(&ret->proxy_url, without_slashes(url));
    }
}

static void take_cluster(struct kubeconfig *k, const struct yaml_doc_node *cluster, struct credentials *ret)
{
    const struct yaml_doc_node *insecure = yaml_doc_find(cluster, STR("insecure-skip-tls-verify"));

    take_server(k, cluster, ret);
    take_proxy(k, cluster, ret);
    kubeconfig_take_pem(k, cluster, "certificate-authority", "certificate-authority-data", &ret->ca_pem, &ret->ca_file);
    kubeconfig_set(&ret->tls_server_name, kubeconfig_text(k, cluster, "tls-server-name", NULL));
    ret->insecure_skip_tls_verify = kubeconfig_flag(k, cluster, "insecure-skip-tls-verify");
    ret->disable_compression = kubeconfig_flag(k, cluster, "disable-compression");
    if (ret->insecure_skip_tls_verify && ret->ca_pem != NULL) {
        diagnostics_add(k->d, insecure->pos,
                        "insecure-skip-tls-verify contradicts certificate-authority; remove one of them");
    }
}

static void check_user(struct kubeconfig *k, const struct yaml_doc_node *user, const struct credentials *c)
{
    bool has_token = c->token != NULL || c->token_file != NULL;

    if ((c->client_cert_pem == NULL) != (c->client_key_pem == NULL)) {
        diagnostics_add(k->d, user->pos, "%s is missing",
                        c->client_key_pem == NULL ? "client-key" : "client-certificate");
    }
    if (c->password != NULL && c->username == NULL) {
        diagnostics_add(k->d, user->pos, "username is missing");
    }
    if (has_token && c->username != NULL) {
        diagnostics_add(k->d, user->pos, "give either a token or username and password, not both");
    }
    if (c->exec != NULL && (has_token || c->username != NULL || c->client_cert_pem != NULL)) {
        diagnostics_add(k->d, user->pos,
                        "exec makes the credentials: give either exec or a token, a certificate or "
                        "username and password, not both");
    }
}

static void take_user(struct kubeconfig *k, const struct yaml_doc_node *user, const struct yaml_doc_node *cluster,
                      struct credentials *ret)
{
    static const char *const plugins[] = {"auth-provider", NULL};
    static const char *const impersonation[] = {"as", "as-uid", "as-groups", "as-user-extra", NULL};
    struct str token_file = kubeconfig_text(k, user, "tokenFile", NULL);
    const struct yaml_doc_node *exec = yaml_doc_find(user, STR("exec"));

    refuse_keys(k, user, plugins, "use exec, a client certificate, a token or tokenFile (client-go removed it, too)");
    refuse_keys(k, user, impersonation, "use credentials of that identity");
    kubeconfig_take_pem(k, user, "client-certificate", "client-certificate-data", &ret->client_cert_pem,
                        &ret->client_cert_file);
    kubeconfig_take_pem(k, user, "client-key", "client-key-data", &ret->client_key_pem, &ret->client_key_file);
    kubeconfig_set(&ret->token, kubeconfig_text(k, user, "token", NULL));
    if (token_file.n > 0) {
        kubeconfig_set(&ret->token_file, kubeconfig_path(k, token_file));
    }
    kubeconfig_set(&ret->username, kubeconfig_text(k, user, "username", NULL));
    kubeconfig_set(&ret->password, kubeconfig_text(k, user, "password", NULL));
    if (exec != NULL && !yaml_doc_is_null(exec)) {
        kubeconfig_take_exec(k, exec, cluster, ret);
    }
    if (!diagnostics_any(k->d)) { /* else what is missing may be what was refused */
        check_user(k, user, ret);
    }
}

static void check_kind(struct kubeconfig *k, const struct yaml_doc_node *root)
{
    const struct yaml_doc_node *kind, *version;

    if (!str_eq_cstr(kubeconfig_text(k, root, "kind", &kind), "Config") && kind != NULL) {
        diagnostics_add(k->d, kind->pos, "kind must be Config: this is not a kubeconfig");
    }
    if (!str_eq_cstr(kubeconfig_text(k, root, "apiVersion", &version), "v1") && version != NULL) {
        diagnostics_add(k->d, version->pos, "apiVersion must be v1");
    }
}

static void decode(struct kubeconfig *k, const struct yaml_doc_node *root, const char *context_name,
                   struct credentials *ret)
{
    struct str name = str_of(context_name);
    const struct yaml_doc_node *at = NULL, *context, *cluster, *user;

    if (root == NULL || root->type != YAML_DOC_MAP) {
        diagnostics_add(k->d, root != NULL ? root->pos : whole_file, "this is not a kubeconfig: %s",
                        root == NULL ? "it is empty" : "it has no keys");
        return;
    }
    check_kind(k, root);
    if (diagnostics_any(k->d)) {
        return;
    }
    if (name.n == 0) {
        name = kubeconfig_text(k, root, "current-context", &at);
    }
    if (name.n == 0) {
        struct str names = kubeconfig_names(k, root, &kubeconfig_contexts);
        diagnostics_add(k->d, whole_file, "no current-context; name a context%.*s", STR_ARG(names));
        return;
    }
    context = kubeconfig_entry(k, root, &kubeconfig_contexts, name, pos_of(at));
    if (context == NULL) {
        return;
    }
    name = kubeconfig_text(k, context, "cluster", &at);
    if (at == NULL) {
        diagnostics_add(k->d, context->pos, "cluster is missing");
        return;
    }
    cluster = kubeconfig_entry(k, root, &kubeconfig_clusters, name, at->pos);
    if (cluster != NULL) {
        take_cluster(k, cluster, ret);
    }
    name = kubeconfig_text(k, context, "user", &at);
    user = at != NULL ? kubeconfig_entry(k, root, &kubeconfig_users, name, at->pos) : NULL;
    if (user != NULL) {
        take_user(k, user, cluster, ret);
    }
}

int kubeconfig_parse(const char *path, struct str text, const char *context, struct credentials *ret,
                     struct err *reterr)
{
    const char *slash = strrchr(path, '/');
    const struct yaml_doc_node *root = NULL;
    struct credentials credentials = {0};
    struct diagnostics d;
    struct arena arena;
    int rc = 0;

    if (text.n > KUBECONFIG_BYTES_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: larger than %d KiB", path, KUBECONFIG_BYTES_MAX / 1024);
    }
    arena_init(&arena, TREE_BYTES_MAX);
    diagnostics_init(&d, &arena, str_of(path), text);
    d.secret = true;
    struct kubeconfig k = {.arena = &arena, .d = &d};
    if (slash != NULL) {
        k.folder = (struct str){path, (size_t)(slash + 1 - path)};
    }
    if (yaml_doc_read(text, &arena, &d, &root) == 0) {
        decode(&k, root, context, &credentials);
    }
    if (diagnostics_any(&d)) {
        rc = diagnostics_to_err(&d, ERR_INVALID, reterr);
        credentials_fini(&credentials);
    } else {
        *ret = credentials;
    }
    arena_fini(&arena);
    return rc;
}

int kubeconfig_load(const char *path, const char *context, struct credentials *ret, struct err *reterr)
{
    struct strbuf text;

    strbuf_init(&text, KUBECONFIG_BYTES_MAX);
    int rc = file_or_pipe_read(path, &text, reterr);
    if (rc == 0) {
        rc = kubeconfig_parse(path, strbuf_view(&text), context, ret, reterr);
    }
    strbuf_wipe(&text);
    strbuf_fini(&text);
    return rc;
}
