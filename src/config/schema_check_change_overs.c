/* Groups of node pools that change over: what concerns changeOvers and nodePools at once. */
#include "config/schema_internal.h"

static bool is_pool(const struct policy *p, struct str name)
{
    bool found = false;

    for (size_t i = 0; i < p->node_pool_n && !found; i++) {
        found = str_eq(p->node_pools[i].name, name);
    }
    return found;
}

/* The group that has this pool before place `k` of group `g`; NULL: none. */
static const struct change_over_group *group_before(const struct policy *p, size_t g, size_t k)
{
    const struct str name = p->change_overs[g].pools[k];

    for (size_t i = 0; i <= g; i++) {
        const struct change_over_group *group = &p->change_overs[i];

        for (size_t j = 0; j < (i < g ? group->pool_n : k); j++) {
            if (str_eq(group->pools[j], name)) {
                return group;
            }
        }
    }
    return NULL;
}

void schema_check_change_overs(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct policy *p = &((const struct config *)base)->policy;
    const struct yaml_doc_node *list = yaml_doc_find(n, STR("changeOvers"));
    const struct yaml_doc_node *item = list != NULL ? list->first : NULL;
    size_t pool_n = 0;

    for (size_t i = 0; item != NULL && i < p->change_over_n; i++, item = item->next) {
        const struct yaml_doc_node *at = yaml_doc_find(item, STR("pools"))->first;

        for (size_t k = 0; k < p->change_overs[i].pool_n; k++, at = at->next) {
            const struct str name = p->change_overs[i].pools[k];
            const struct change_over_group *before = group_before(p, i, k);

            pool_n++;
            if (!is_pool(p, name)) {
                config_decode_error(c, at, "no element of nodePools has the name %.*s", STR_ARG(name));
            } else if (before != NULL) {
                config_decode_error(c, at, "%.*s belongs to the group %.*s already", STR_ARG(name),
                                    STR_ARG(before->name));
            }
        }
    }
    if (pool_n > GATED_POOLS_MAX) {
        config_decode_error(c, list, "%zu pools in all groups, at most %d are accepted", pool_n, GATED_POOLS_MAX);
    }
}
