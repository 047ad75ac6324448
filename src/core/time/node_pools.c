#include "core/time/node_pools.h"

#include "base/hash.h"

static bool says_closed(const struct policy *p, const struct node *node)
{
    for (size_t i = p->node_pool_n; i-- > 0;) {
        if (kv_has_all(node->labels, p->node_pools[i].selector)) {
            return p->node_pools[i].state == NODE_POOL_CLOSED;
        }
    }
    return false;
}

static bool is_in(const struct policy *p, struct str pool, const struct node *node)
{
    bool in = false;

    for (size_t i = 0; i < p->node_pool_n && !in; i++) {
        in = str_eq(p->node_pools[i].name, pool) && kv_has_all(node->labels, p->node_pools[i].selector);
    }
    return in;
}

uint64_t node_pools_gated(const struct policy *p, const struct node *node)
{
    uint64_t pools = 0;
    unsigned bit = 0;

    for (size_t i = 0; i < p->change_over_n; i++) {
        for (size_t k = 0; k < p->change_overs[i].pool_n; k++, bit++) {
            pools |= is_in(p, p->change_overs[i].pools[k], node) ? UINT64_C(1) << bit : 0;
        }
    }
    return pools;
}

uint64_t node_pools_layout(const struct policy *p)
{
    const struct hash_key key = {0x66677075, 0x706f6f6c}; /* the names are the admin's */
    uint64_t layout = 1;

    for (size_t i = 0; i < p->change_over_n; i++) {
        for (size_t k = 0; k < p->change_overs[i].pool_n; k++) {
            layout = hash_fold(layout ^ UINT64_C(0x243f6a8885a308d3), hash_str(key, p->change_overs[i].pools[k]) | 1);
        }
    }
    return layout != 0 ? layout : 1;
}

bool node_pools_close(const struct policy *p, const struct node *node)
{
    return says_closed(p, node) || (node_pools_gated(p, node) & ~p->admitted_pools) != 0;
}
