/* What change-overs of node pools ask of the store. */
#include "extender/store_internal.h"

void store_pool_use(struct store *s, uint64_t layout, struct pool_use ret[GATED_POOLS_MAX])
{
    mutex_lock(&s->lock);
    ledger_pool_use(s->ledger, layout, ret);
    mutex_unlock(&s->lock);
}

size_t store_pool_pods(struct store *s, struct arena *a, uint64_t layout, uint64_t pools, struct pool_pod *ret,
                       size_t max)
{
    size_t n, kept = 0;

    mutex_lock(&s->lock);
    n = ledger_pool_pods(s->ledger, layout, pools, ret, max);
    while (kept < n) {
        ret[kept].uid = arena_str(a, ret[kept].uid);
        ret[kept].namespace_ = arena_str(a, ret[kept].namespace_);
        ret[kept].name = arena_str(a, ret[kept].name);
        ret[kept].node_name = arena_str(a, ret[kept].node_name);
        if (a->overflowed) {
            break;
        }
        kept++;
    }
    mutex_unlock(&s->lock);
    return kept;
}
