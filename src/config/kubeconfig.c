#include "config/kubeconfig.h"

#include "base/bug.h"
#include "config/base64_internal.h"
#include "config/diagnostics.h"
#include "config/file_internal.h"
#include "config/yaml_doc.h"

#include <stdlib.h>
#include <string.h>

/* 1 MiB of YAML make at most 520,000 nodes of about 100 bytes. */
#define TREE_BYTES_MAX ((size_t)128 * 1024 * 1024)
#define PEM_BYTES_MAX (1024 * 1024)

struct kubeconfig {
    struct arena *arena;
    struct diagnostics *d;
    struct str folder; /* of the kubeconfig, with its slash; empty: the current one */
};

static const struct text_pos whole_file = {0, 0};

static struct text_pos pos_of(const struct yaml_doc_node *n)
{
    return n != NULL ? n->pos : whole_file;
}

/* The text under `key`, empty when absent or null; *ret_n (may be NULL) is its node, NULL when
 * empty. */
static struct str text_of(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key,
                          const struct yaml_doc_node **ret_n)
{
    const struct yaml_doc_node *n = yaml_doc_find(map, str_of(key));
    struct str text = STR_NULL;

    if (n != NULL && n->type != YAML_DOC_TEXT && n->type != YAML_DOC_REFUSED) {
        diagnostics_add(k->d, n->pos, "%s must be text, not %s", key, yaml_doc_type_name(n));
    } else if (n != NULL && n->type == YAML_DOC_TEXT && !yaml_doc_is_null(n)) {
        text = n->text;
    }
    if (ret_n != NULL) {
        *ret_n = text.n > 0 ? n : NULL;
    }
    return text;
}

static char *owned(struct str s)
{
    char *p = xmalloc(s.n + 1);

    if (s.n > 0) {
        memcpy(p, s.p, s.n);
    }
    p[s.n] = '\0';
    return p;
}

static void set(char **slot, struct str s)
{
    if (s.n > 0) {
        *slot = owned(s);
    }
}

/* --- clusters, users, contexts: lists of {name, <kind>: {...}} --- */

struct section {
    const char *list; /* "clusters" */
    const char *kind; /* "cluster" */
};

static const struct section clusters = {"clusters", "cluster"};
static const struct section users = {"users", "user"};
static const struct section contexts = {"contexts", "context"};

static const struct yaml_doc_node *list_of(struct kubeconfig *k, const struct yaml_doc_node *root,
                                           const struct section *s)
{
    const struct yaml_doc_node *list = yaml_doc_find(root, str_of(s->list));

    if (list == NULL || yaml_doc_is_null(list)) {
        return NULL;
    }
    if (list->type != YAML_DOC_LIST) {
        diagnostics_add(k->d, list->pos, "%s must be a list, not %s", s->list,
                        yaml_doc_type_name(list));
        return NULL;
    }
    return list;
}

/* ": a, b" or nothing, for messages. */
static struct str names_in(struct kubeconfig *k, const struct yaml_doc_node *root,
                           const struct section *s)
{
    const struct yaml_doc_node *list = yaml_doc_find(root, str_of(s->list));
    struct str names = STR_NULL;
    size_t shown = 0;

    if (list == NULL || list->type != YAML_DOC_LIST) {
        return names;
    }
    for (const struct yaml_doc_node *item = list->first; item != NULL && shown < 5;
         item = item->next) {
        const struct yaml_doc_node *name = yaml_doc_find(item, STR("name"));
        if (name != NULL && name->type == YAML_DOC_TEXT) {
            struct str word = diagnostics_word(k->d, name->text);
            names = arena_printf(k->arena, "%.*s%s%.*s", STR_ARG(names),
                                 shown == 0 ? "; there are: " : ", ", STR_ARG(word));
            shown++;
        }
    }
    return names;
}

/* The entry called `name`. An absent one is reported at `at`. */
static const struct yaml_doc_node *find_entry(struct kubeconfig *k,
                                              const struct yaml_doc_node *root,
                                              const struct section *s, struct str name,
                                              struct text_pos at)
{
    size_t findings = k->d->n;
    const struct yaml_doc_node *list = list_of(k, root, s), *found = NULL;

    for (const struct yaml_doc_node *item = list != NULL ? list->first : NULL; item != NULL;
         item = item->next) {
        if (item->type != YAML_DOC_MAP) {
            diagnostics_add(k->d, item->pos, "an element of %s must have keys, found %s", s->list,
                            yaml_doc_type_name(item));
            continue;
        }
        const struct yaml_doc_node *item_name;
        if (!str_eq(text_of(k, item, "name", &item_name), name) || item_name == NULL) {
            continue;
        }
        if (found != NULL) {
            diagnostics_add(k->d, item_name->pos, "a second %s with this name", s->kind);
            continue;
        }
        found = yaml_doc_find(item, str_of(s->kind));
        if (found == NULL || found->type != YAML_DOC_MAP) {
            diagnostics_add(k->d, item_name->pos, "'%s' with its keys is missing here", s->kind);
            return NULL;
        }
    }
    if (found == NULL && k->d->n == findings) {
        struct str word = diagnostics_word(k->d, name), names = names_in(k, root, s);
        diagnostics_add(k->d, at, "no %s is named '%.*s'%.*s", s->kind, STR_ARG(word),
                        STR_ARG(names));
    }
    return found;
}

/* --- certificates and keys --- */

static struct str path_from_folder(struct kubeconfig *k, struct str path)
{
    if (path.n > 0 && path.p[0] == '/') {
        return path;
    }
    return arena_printf(k->arena, "%.*s%.*s", STR_ARG(k->folder), STR_ARG(path));
}

/* `s` is followed by a NUL and must hold none. */
static bool is_pem(struct str s)
{
    return s.n > 0 && strlen(s.p) == s.n && strstr(s.p, "-----BEGIN ") != NULL;
}

static void take_pem_data(struct kubeconfig *k, const struct yaml_doc_node *n, const char *key,
                          char **slot)
{
    size_t size = n->text.n / 4 * 3 + 4; /* and a NUL */
    unsigned char *bytes = xcalloc(1, size);
    struct str pem = {(const char *)bytes, 0};

    if (!config_base64_decode(n->text, bytes, &pem.n)) {
        diagnostics_add(k->d, n->pos, "%s is not base64", key);
    } else if (!is_pem(pem)) {
        diagnostics_add(k->d, n->pos, "%s does not hold PEM (a text with -----BEGIN ...)", key);
    } else {
        set(slot, pem);
    }
    explicit_bzero(bytes, size);
    free(bytes);
}

static void take_pem_file(struct kubeconfig *k, const struct yaml_doc_node *n, const char *key,
                          char **slot)
{
    struct str relative = path_from_folder(k, n->text);
    char *path = owned(relative);
    struct strbuf text;
    struct err err;

    strbuf_init(&text, 2 * PEM_BYTES_MAX);
    if (config_file_read(path, PEM_BYTES_MAX, &text, &err) < 0) {
        diagnostics_add(k->d, n->pos, "%s: %s", key, err.msg);
    } else if (!is_pem(strbuf_view(&text))) {
        diagnostics_add(k->d, n->pos, "%s: %s does not hold PEM (a text with -----BEGIN ...)", key,
                        path);
    } else {
        set(slot, strbuf_view(&text));
    }
    if (text.n > 0) {
        explicit_bzero(text.p, text.n);
    }
    strbuf_fini(&text);
    free(path);
}

static void take_pem(struct kubeconfig *k, const struct yaml_doc_node *map, const char *file_key,
                     const char *data_key, char **slot)
{
    const struct yaml_doc_node *file, *data;

    (void)text_of(k, map, file_key, &file);
    (void)text_of(k, map, data_key, &data);
    if (data != NULL) {
        take_pem_data(k, data, data_key, slot);
    } else if (file != NULL) {
        take_pem_file(k, file, file_key, slot);
    }
}

/* --- the parts of struct credentials --- */

static void refuse_keys(struct kubeconfig *k, const struct yaml_doc_node *map,
                        const char *const *keys, const char *remedy)
{
    for (; *keys != NULL; keys++) {
        const struct yaml_doc_node *n = yaml_doc_find(map, str_of(*keys));
        if (n != NULL && !yaml_doc_is_null(n)) {
            diagnostics_add(k->d, n->key->pos, "%s is not supported yet; %s", *keys, remedy);
        }
    }
}

static bool flag_of(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key)
{
    const struct yaml_doc_node *n;
    struct str text = text_of(k, map, key, &n);
    bool is_true = n != NULL && n->plain && str_eq_cstr(text, "true");

    if (n != NULL && !is_true && !(n->plain && str_eq_cstr(text, "false"))) {
        diagnostics_add(k->d, n->pos, "%s must be true or false", key);
    }
    return is_true;
}

static void take_server(struct kubeconfig *k, const struct yaml_doc_node *cluster,
                        struct credentials *ret)
{
    const struct yaml_doc_node *n;
    struct str url = text_of(k, cluster, "server", &n), host = url;

    if (n == NULL) {
        diagnostics_add(k->d, cluster->pos, "server is missing");
        return;
    }
    host = str_starts(url, STR("https://"))  ? str_drop(url, strlen("https://"))
           : str_starts(url, STR("http://")) ? str_drop(url, strlen("http://"))
                                             : STR_NULL;
    for (size_t i = 0; i < host.n; i++) {
        if ((unsigned char)host.p[i] <= ' ' || host.p[i] == '@' || host.p[i] == '?' ||
            host.p[i] == '#') {
            host.n = 0;
        }
    }
    if (host.n == 0 || host.p[0] == '/' || host.p[0] == ':') {
        diagnostics_add(k->d, n->pos, "server must be a URL such as https://10.0.0.1:6443");
        return;
    }
    while (str_ends(url, STR("/"))) {
        url.n--;
    }
    set(&ret->server, url);
}

static void take_cluster(struct kubeconfig *k, const struct yaml_doc_node *cluster,
                         struct credentials *ret)
{
    static const char *const later[] = {"proxy-url", NULL};
    const struct yaml_doc_node *insecure = yaml_doc_find(cluster, STR("insecure-skip-tls-verify"));

    refuse_keys(k, cluster, later, "fgpu must reach the API server directly");
    take_server(k, cluster, ret);
    take_pem(k, cluster, "certificate-authority", "certificate-authority-data", &ret->ca_pem);
    set(&ret->tls_server_name, text_of(k, cluster, "tls-server-name", NULL));
    ret->insecure_skip_tls_verify = flag_of(k, cluster, "insecure-skip-tls-verify");
    if (ret->insecure_skip_tls_verify && ret->ca_pem != NULL) {
        diagnostics_add(
            k->d, insecure->pos,
            "insecure-skip-tls-verify contradicts certificate-authority; remove one of them");
    }
}

static void take_user(struct kubeconfig *k, const struct yaml_doc_node *user,
                      struct credentials *ret)
{
    static const char *const plugins[] = {"exec", "auth-provider", NULL};
    static const char *const impersonation[] = {"as", "as-uid", "as-groups", "as-user-extra", NULL};
    struct str token_file = text_of(k, user, "tokenFile", NULL);

    refuse_keys(k, user, plugins, "use a client certificate, a token or tokenFile");
    refuse_keys(k, user, impersonation, "use credentials of that identity");
    take_pem(k, user, "client-certificate", "client-certificate-data", &ret->client_cert_pem);
    take_pem(k, user, "client-key", "client-key-data", &ret->client_key_pem);
    set(&ret->token, text_of(k, user, "token", NULL));
    if (token_file.n > 0) {
        set(&ret->token_file, path_from_folder(k, token_file));
    }
    set(&ret->username, text_of(k, user, "username", NULL));
    set(&ret->password, text_of(k, user, "password", NULL));
    if (diagnostics_any(k->d)) {
        return; /* what is missing may be what was refused */
    }
    if ((ret->client_cert_pem == NULL) != (ret->client_key_pem == NULL)) {
        diagnostics_add(k->d, user->pos, "%s is missing",
                        ret->client_key_pem == NULL ? "client-key" : "client-certificate");
    }
    if (ret->password != NULL && ret->username == NULL) {
        diagnostics_add(k->d, user->pos, "username is missing");
    }
    if ((ret->token != NULL || ret->token_file != NULL) && ret->username != NULL) {
        diagnostics_add(k->d, user->pos, "give either a token or username and password, not both");
    }
}

static void check_kind(struct kubeconfig *k, const struct yaml_doc_node *root)
{
    const struct yaml_doc_node *kind, *version;

    if (!str_eq_cstr(text_of(k, root, "kind", &kind), "Config") && kind != NULL) {
        diagnostics_add(k->d, kind->pos, "kind must be Config: this is not a kubeconfig");
    }
    if (!str_eq_cstr(text_of(k, root, "apiVersion", &version), "v1") && version != NULL) {
        diagnostics_add(k->d, version->pos, "apiVersion must be v1");
    }
}

static void decode(struct kubeconfig *k, const struct yaml_doc_node *root, const char *context_name,
                   struct credentials *ret)
{
    struct str name = str_of(context_name);
    const struct yaml_doc_node *at = NULL, *context, *entry;

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
        name = text_of(k, root, "current-context", &at);
    }
    if (name.n == 0) {
        struct str names = names_in(k, root, &contexts);
        diagnostics_add(k->d, whole_file, "no current-context; name a context%.*s", STR_ARG(names));
        return;
    }
    context = find_entry(k, root, &contexts, name, pos_of(at));
    if (context == NULL) {
        return;
    }
    name = text_of(k, context, "cluster", &at);
    if (at == NULL) {
        diagnostics_add(k->d, context->pos, "cluster is missing");
        return;
    }
    entry = find_entry(k, root, &clusters, name, at->pos);
    if (entry != NULL) {
        take_cluster(k, entry, ret);
    }
    name = text_of(k, context, "user", &at);
    entry = at != NULL ? find_entry(k, root, &users, name, at->pos) : NULL;
    if (entry != NULL) {
        take_user(k, entry, ret);
    }
}

int kubeconfig_parse(const char *path, struct str text, const char *context,
                     struct credentials *ret, struct err *reterr)
{
    const char *slash = strrchr(path, '/');
    const struct yaml_doc_node *root = NULL;
    struct credentials credentials = {0};
    struct diagnostics d;
    struct arena arena;
    int r = 0;

    if (text.n > KUBECONFIG_BYTES_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: larger than %d KiB", path,
                       KUBECONFIG_BYTES_MAX / 1024);
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
        r = diagnostics_to_err(&d, ERR_INVALID, reterr);
        credentials_fini(&credentials);
    } else {
        *ret = credentials;
    }
    arena_fini(&arena);
    return r;
}

int kubeconfig_load(const char *path, const char *context, struct credentials *ret,
                    struct err *reterr)
{
    struct strbuf text;

    strbuf_init(&text, 2 * KUBECONFIG_BYTES_MAX);
    int r = config_file_read(path, KUBECONFIG_BYTES_MAX, &text, reterr);
    if (r == 0) {
        r = kubeconfig_parse(path, strbuf_view(&text), context, ret, reterr);
    }
    if (text.n > 0) {
        explicit_bzero(text.p, text.n);
    }
    strbuf_fini(&text);
    return r;
}
