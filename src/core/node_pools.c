#include "core/node_pools.h"

static bool has_labels(const struct node *node, struct kv_list wanted)
{
    for (size_t i = 0; i < wanted.n; i++) {
        const struct str *value = kv_find(node->labels, wanted.items[i].key);

        if (value == NULL || !str_eq(*value, wanted.items[i].value)) {
            return false;
        }
    }
    return true;
}

bool node_pools_close(const struct policy *p, const struct node *node)
{
    for (size_t i = p->node_pool_n; i-- > 0;) {
        if (has_labels(node, p->node_pools[i].selector)) {
            return p->node_pools[i].state == NODE_POOL_CLOSED;
        }
    }
    return false;
}
