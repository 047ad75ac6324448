/* The exec plugin of a user: what to run, and what to tell it in KUBERNETES_EXEC_INFO.
 *
 * Source: client-go clientcmd/api/v1 ExecConfig; pkg/apis/clientauthentication/v1 ExecCredential.
 * A service has no terminal, so a plugin that insists on one is refused here and not at every run.
 */
#include "config/kubeconfig_internal.h"

#include "base/base64.h"
#include "base/bug.h"
#include "base/json_write.h"

#include <stdlib.h>
#include <string.h>

#define INFO_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define GROUP "client.authentication.k8s.io/"
#define WORDS_MAX 1000
#define CONFIG_DEPTH_MAX 16 /* of the cluster's extension; the writer has a limit of its own */

/* The name under which a cluster keeps what its plugin wants to know. */
#define EXTENSION "client.authentication.k8s.io/exec"

/* ---- args and env ---- */

static struct str take_arg(struct kubeconfig *k, const struct yaml_doc_node *item)
{
    if (item->type != YAML_DOC_TEXT) {
        diagnostics_add(k->d, item->pos, "an element of args must be text, not %s", yaml_doc_type_name(item));
    }
    return item->text;
}

static struct str take_variable(struct kubeconfig *k, const struct yaml_doc_node *item)
{
    struct str name = kubeconfig_text(k, item, "name", NULL), value = kubeconfig_text(k, item, "value", NULL);

    if (name.n == 0 || memchr(name.p, '=', name.n) != NULL) {
        diagnostics_add(k->d, item->pos, "an element of env must have a name without '='");
    }
    return arena_printf(k->arena, "%.*s=%.*s", STR_ARG(name), STR_ARG(value));
}

/* A NULL-terminated list of what `take` makes of each element; it says what is wrong with one. NULL: there is none. */
static char **take_list(struct kubeconfig *k, const struct yaml_doc_node *exec, const char *key,
                        struct str (*take)(struct kubeconfig *k, const struct yaml_doc_node *item))
{
    const struct yaml_doc_node *list = kubeconfig_list(k, exec, key);
    char **ret;
    size_t n = 0;

    if (list != NULL && list->child_n > WORDS_MAX) {
        diagnostics_add(k->d, list->pos, "%s has more than %d entries", key, WORDS_MAX);
        list = NULL;
    }
    ret = list != NULL ? xcalloc(list->child_n + 1, sizeof(*ret)) : NULL;
    for (const struct yaml_doc_node *item = list != NULL ? list->first : NULL; item != NULL; item = item->next) {
        ret[n++] = str_dup(take(k, item));
    }
    return ret;
}

/* ---- KUBERNETES_EXEC_INFO ---- */

/* What YAML's core schema and JSON both call a number, without exponents. */
static bool is_number(struct str s)
{
    s = str_starts(s, STR("-")) ? str_drop(s, 1) : s;

    size_t whole = str_span(s, STR_DIGITS);
    struct str rest = str_drop(s, whole);

    if (whole == 0 || (whole > 1 && s.p[0] == '0')) {
        return false;
    }
    return rest.n == 0 || (rest.p[0] == '.' && rest.n > 1 && str_span(str_drop(rest, 1), STR_DIGITS) == rest.n - 1);
}

static void write_scalar(struct json_writer *w, const struct yaml_doc_node *n)
{
    if (yaml_doc_is_null(n)) {
        json_write_null(w);
    } else if (n->plain && (str_eq_cstr(n->text, "true") || str_eq_cstr(n->text, "false") || is_number(n->text))) {
        json_write_raw(w, n->text);
    } else {
        json_write_str(w, n->text);
    }
}

static void write_node(struct json_writer *w, const struct yaml_doc_node *n)
{
    bool is_map = n->type == YAML_DOC_MAP;

    if (!is_map && n->type != YAML_DOC_LIST) {
        write_scalar(w, n);
        return;
    }
    (is_map ? json_write_object_begin : json_write_array_begin)(w);
    for (const struct yaml_doc_node *c = n->first; c != NULL; c = c->next) {
        if (is_map) {
            json_write_key_str(w, c->key->text);
        }
        write_node(w, c);
    }
    (is_map ? json_write_object_end : json_write_array_end)(w);
}

static size_t depth_of(const struct yaml_doc_node *n)
{
    size_t deepest = 0;

    for (const struct yaml_doc_node *c = n->first; c != NULL; c = c->next) {
        size_t depth = depth_of(c);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

/* clusters[].cluster.extensions[name EXTENSION].extension */
static const struct yaml_doc_node *find_extension(struct kubeconfig *k, const struct yaml_doc_node *cluster)
{
    const struct yaml_doc_node *list = yaml_doc_find(cluster, STR("extensions"));

    if (list == NULL || list->type != YAML_DOC_LIST) {
        return NULL;
    }
    for (const struct yaml_doc_node *item = list->first; item != NULL; item = item->next) {
        const struct yaml_doc_node *name = yaml_doc_find(item, STR("name"));
        const struct yaml_doc_node *value = yaml_doc_find(item, STR("extension"));
        if (name == NULL || !str_eq_cstr(name->text, EXTENSION) || value == NULL) {
            continue;
        }
        if (depth_of(value) > CONFIG_DEPTH_MAX) {
            diagnostics_add(k->d, value->pos, "extension is nested deeper than %d levels", CONFIG_DEPTH_MAX);
            return NULL;
        }
        return value;
    }
    return NULL;
}

static void write_given(struct json_writer *w, const char *key, const char *value)
{
    if (value != NULL) {
        json_write_kv_cstr(w, key, value);
    }
}

static void write_flag(struct json_writer *w, const char *key, bool value)
{
    if (value) {
        json_write_kv_bool(w, key, true);
    }
}

static void write_cluster(struct kubeconfig *k, struct json_writer *w, const struct yaml_doc_node *cluster,
                          const struct credentials *c)
{
    const struct yaml_doc_node *config = find_extension(k, cluster);

    json_write_key(w, "cluster");
    json_write_object_begin(w);
    json_write_kv_cstr(w, "server", c->server != NULL ? c->server : "");
    write_given(w, "tls-server-name", c->tls_server_name);
    write_flag(w, "insecure-skip-tls-verify", c->insecure_skip_tls_verify);
    write_flag(w, "disable-compression", c->disable_compression);
    if (c->ca_pem != NULL) {
        struct strbuf text;
        strbuf_init(&text, INFO_BYTES_MAX);
        base64_encode(str_of(c->ca_pem), &text);
        json_write_kv_str(w, "certificate-authority-data", strbuf_view(&text));
        strbuf_fini(&text);
    }
    write_given(w, "proxy-url", c->proxy_url);
    if (config != NULL) {
        json_write_key(w, "config");
        write_node(w, config);
    }
    json_write_object_end(w);
}

static char *make_info(struct kubeconfig *k, struct str api_version, const struct yaml_doc_node *cluster,
                       const struct credentials *c)
{
    struct json_writer w;
    struct strbuf text;

    strbuf_init(&text, INFO_BYTES_MAX);
    json_writer_init(&w, &text);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "kind", "ExecCredential");
    json_write_kv_str(&w, "apiVersion", api_version);
    json_write_key(&w, "spec");
    json_write_object_begin(&w);
    if (cluster != NULL) {
        write_cluster(k, &w, cluster, c);
    }
    json_write_kv_bool(&w, "interactive", false);
    json_write_object_end(&w);
    json_write_object_end(&w);
    return strbuf_take(&text, NULL);
}

/* ---- the plugin ---- */

static struct str take_version(struct kubeconfig *k, const struct yaml_doc_node *exec)
{
    const struct yaml_doc_node *n;
    struct str version = kubeconfig_text(k, exec, "apiVersion", &n);

    if (n == NULL) {
        diagnostics_add(k->d, exec->pos, "apiVersion is missing: %sv1 or %sv1beta1", GROUP, GROUP);
    } else if (!str_eq_cstr(version, GROUP "v1") && !str_eq_cstr(version, GROUP "v1beta1")) {
        diagnostics_add(k->d, n->pos, "apiVersion must be %sv1 or %sv1beta1", GROUP, GROUP);
    }
    return version;
}

static void check_mode(struct kubeconfig *k, const struct yaml_doc_node *exec, struct str version)
{
    const struct yaml_doc_node *n;
    struct str mode = kubeconfig_text(k, exec, "interactiveMode", &n);

    if (n == NULL && str_eq_cstr(version, GROUP "v1")) {
        diagnostics_add(k->d, exec->pos, "interactiveMode is missing: Never or IfAvailable");
    } else if (n != NULL && str_eq_cstr(mode, "Always")) {
        diagnostics_add(k->d, n->pos,
                        "interactiveMode Always needs a terminal, which a service does not have; use other "
                        "credentials");
    } else if (n != NULL && !str_eq_cstr(mode, "Never") && !str_eq_cstr(mode, "IfAvailable")) {
        diagnostics_add(k->d, n->pos, "interactiveMode must be Never, IfAvailable or Always");
    }
}

void kubeconfig_take_exec(struct kubeconfig *k, const struct yaml_doc_node *exec, const struct yaml_doc_node *cluster,
                          struct credentials *ret)
{
    const struct yaml_doc_node *n;

    if (exec->type != YAML_DOC_MAP) {
        diagnostics_add(k->d, exec->pos, "exec must have keys, not %s", yaml_doc_type_name(exec));
        return;
    }
    struct credentials_exec *e = xcalloc(1, sizeof(*e));
    struct str command = kubeconfig_text(k, exec, "command", &n);
    struct str version = take_version(k, exec);

    ret->exec = e; /* credentials_fini ends it, whatever is found below */
    if (n == NULL) {
        diagnostics_add(k->d, exec->pos, "command is missing");
    } else {
        bool is_path = memchr(command.p, '/', command.n) != NULL;
        kubeconfig_set(&e->command, is_path ? kubeconfig_path(k, command) : command);
    }
    check_mode(k, exec, version);
    kubeconfig_set(&e->api_version, version);
    kubeconfig_set(&e->install_hint, kubeconfig_text(k, exec, "installHint", NULL));
    e->args = take_list(k, exec, "args", take_arg);
    e->env = take_list(k, exec, "env", take_variable);
    e->info = make_info(k, version, kubeconfig_flag(k, exec, "provideClusterInfo") ? cluster : NULL, ret);
}
