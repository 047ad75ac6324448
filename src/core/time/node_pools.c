#include "core/time/node_pools.h"

bool node_pools_close(const struct policy *p, const struct node *node)
{
    for (size_t i = p->node_pool_n; i-- > 0;) {
        if (kv_has_all(node->labels, p->node_pools[i].selector)) {
            return p->node_pools[i].state == NODE_POOL_CLOSED;
        }
    }
    return false;
}
