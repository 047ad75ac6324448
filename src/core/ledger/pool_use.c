#include "core/ledger/pool_use.h"

#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

#include <string.h>

void ledger_pool_use(const struct ledger *l, struct pool_use ret[GATED_POOLS_MAX])
{
    memset(ret, 0, GATED_POOLS_MAX * sizeof(*ret));
    for (uint32_t i = 0; i < l->node_n; i++) {
        const struct node_entry *n = &l->nodes[i];

        for (uint64_t left = n->used ? n->pools : 0; left != 0; left &= left - 1) {
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

size_t ledger_pool_pods(const struct ledger *l, uint64_t pools, struct pool_pod *ret, size_t max)
{
    size_t found = 0;

    for (uint32_t i = 0; i < l->node_n && found < max; i++) {
        const struct node_entry *n = &l->nodes[i];

        for (uint32_t k = 0; n->used && (n->pools & pools) != 0 && k < n->pod_n && found < max; k++) {
            const struct pod_entry *p = &l->pods[n->pods[k]];

            ret[found++] = (struct pool_pod){p->uid, p->namespace_, p->name, l->names[i], p->deleting, is_ours(p)};
        }
    }
    return found;
}
