#include "core/ledger/pool_use.h"

#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

#include <string.h>

/* Where nobody knows it, all. A node that was never read may have any name: it is in none. */
static uint64_t pools_of(const struct node_entry *n, uint64_t layout)
{
    const bool was_read = n->pools_layout != 0 || n->unreadable;

    return !was_read || n->pools_layout == layout ? n->pools : UINT64_MAX;
}

void ledger_pool_use(const struct ledger *l, uint64_t layout, struct pool_use ret[GATED_POOLS_MAX])
{
    memset(ret, 0, GATED_POOLS_MAX * sizeof(*ret));
    for (uint32_t i = 0; i < l->node_n; i++) {
        const struct node_entry *n = &l->nodes[i];

        for (uint64_t left = n->used ? pools_of(n, layout) : 0; left != 0; left &= left - 1) {
            struct pool_use *u = &ret[__builtin_ctzll(left)];

            u->open_n += n->described && !n->closed && !n->unreadable;
            u->pod_n += n->pod_n + n->shut;
        }
    }
}

static bool is_ours(const struct pod_entry *p)
{
    return p->state == LEDGER_BOUND && !p->contested && !p->usurped && !p->usurping &&
           (p->reserved_here || p->trust == RECORD_VERIFIED);
}

size_t ledger_pool_pods(const struct ledger *l, uint64_t layout, uint64_t pools, struct pool_pod *ret, size_t max)
{
    size_t found = 0;

    for (uint32_t i = 0; i < l->node_n && found < max; i++) {
        const struct node_entry *n = &l->nodes[i];

        for (uint32_t k = 0; n->used && (pools_of(n, layout) & pools) != 0 && k < n->pod_n && found < max; k++) {
            const struct pod_entry *p = &l->pods[n->pods[k]];

            ret[found++] = (struct pool_pod){p->uid,      p->namespace_, p->name,
                                             l->names[i], p->deleting,   is_ours(p) && n->pools_layout == layout};
        }
    }
    return found;
}
