#include "config/kubeconfig_internal.h"

struct str kubeconfig_text(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key,
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

const struct yaml_doc_node *kubeconfig_list(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key)
{
    const struct yaml_doc_node *list = yaml_doc_find(map, str_of(key));

    if (list == NULL || yaml_doc_is_null(list)) {
        return NULL;
    }
    if (list->type != YAML_DOC_LIST) {
        diagnostics_add(k->d, list->pos, "%s must be a list, not %s", key, yaml_doc_type_name(list));
        return NULL;
    }
    return list;
}

void kubeconfig_set(char **slot, struct str s)
{
    if (s.n > 0) {
        *slot = str_dup(s);
    }
}

struct str kubeconfig_path(struct kubeconfig *k, struct str path)
{
    if (path.n > 0 && path.p[0] == '/') {
        return path;
    }
    return arena_printf(k->arena, "%.*s%.*s", STR_ARG(k->folder), STR_ARG(path));
}

bool kubeconfig_flag(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key)
{
    const struct yaml_doc_node *n;
    struct str text = kubeconfig_text(k, map, key, &n);
    bool is_true = n != NULL && n->plain && str_eq_cstr(text, "true");

    if (n != NULL && !is_true && !(n->plain && str_eq_cstr(text, "false"))) {
        diagnostics_add(k->d, n->pos, "%s must be true or false", key);
    }
    return is_true;
}
