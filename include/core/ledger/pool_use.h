/* core/ledger/pool_use.h - how the pools of change-over groups (core/time/change_over.h) are used: nodes of theirs that
 * take pods, and pods that hold GPUs on them.
 *
 * A node whose object is gone belongs to its pools for as long as pods are on it; so does one whose object cannot be
 * read, which takes no pods. Where it was last read by groups with other pools, nobody knows which pools these are now:
 * its pods count for all pools, and none of them is ours. A node on which there may be pods
 * that found no room in the ledger (turned away) counts as one pod more, which has no name.
 *
 * Pure; lock: as the ledger. One pass over all nodes.
 */
#ifndef CORE_LEDGER_POOL_USE_H
#define CORE_LEDGER_POOL_USE_H

#include "core/ledger/ledger.h"

#include <stddef.h>
#include <stdint.h>

struct pool_use {
    size_t open_n; /* nodes that the policy does not close */
    size_t pod_n;  /* reserved, bound or foreign; once for each pool */
};

/* A bit each as in policy.admitted_pools; `layout` is the node_pools_layout() of that policy. */
void ledger_pool_use(const struct ledger *l, uint64_t layout, struct pool_use ret[GATED_POOLS_MAX]);

/* A pod that holds GPUs; text is borrowed until the next op. */
struct pool_pod {
    struct str uid, namespace_, name, node_name;
    bool deleting;
    /* Bound by this process, or by a signed record that has been verified: a decision of fgpu beyond doubt. */
    bool ours;
};
/* The first `max` of those on nodes of any of these pools. */
size_t ledger_pool_pods(const struct ledger *l, uint64_t layout, uint64_t pools, struct pool_pod *ret, size_t max);

#endif
