/* Finding the clusters, users and contexts of a kubeconfig by name. */
#include "config/kubeconfig_internal.h"

const struct kubeconfig_section kubeconfig_clusters = {"clusters", "cluster"};
const struct kubeconfig_section kubeconfig_users = {"users", "user"};
const struct kubeconfig_section kubeconfig_contexts = {"contexts", "context"};

struct str kubeconfig_names(struct kubeconfig *k, const struct yaml_doc_node *root, const struct kubeconfig_section *s)
{
    const struct yaml_doc_node *list = yaml_doc_find(root, str_of(s->list));
    struct str names = STR_NULL;
    size_t shown = 0;

    if (list == NULL || list->type != YAML_DOC_LIST) {
        return names;
    }
    for (const struct yaml_doc_node *item = list->first; item != NULL && shown < 5; item = item->next) {
        const struct yaml_doc_node *name = yaml_doc_find(item, STR("name"));
        if (name != NULL && name->type == YAML_DOC_TEXT) {
            struct str word = diagnostics_word(k->d, name->text);
            names = arena_printf(k->arena, "%.*s%s%.*s", STR_ARG(names), shown == 0 ? "; there are: " : ", ",
                                 STR_ARG(word));
            shown++;
        }
    }
    return names;
}

const struct yaml_doc_node *kubeconfig_entry(struct kubeconfig *k, const struct yaml_doc_node *root,
                                             const struct kubeconfig_section *s, struct str name, struct text_pos at)
{
    size_t findings = k->d->n;
    const struct yaml_doc_node *list = kubeconfig_list(k, root, s->list), *found = NULL;

    for (const struct yaml_doc_node *item = list != NULL ? list->first : NULL; item != NULL; item = item->next) {
        if (item->type != YAML_DOC_MAP) {
            diagnostics_add(k->d, item->pos, "an element of %s must have keys, found %s", s->list,
                            yaml_doc_type_name(item));
            continue;
        }
        const struct yaml_doc_node *item_name;
        if (!str_eq(kubeconfig_text(k, item, "name", &item_name), name) || item_name == NULL) {
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
        struct str word = diagnostics_word(k->d, name), names = kubeconfig_names(k, root, s);
        diagnostics_add(k->d, at, "no %s is named '%.*s'%.*s", s->kind, STR_ARG(word), STR_ARG(names));
    }
    return found;
}
