/* core/time/node_pools.h - which nodes the policy closes.
 *
 * A node is in an entry when it has every label of its selector. Of several entries that a node is
 * in the last one holds; without any it is open. A closed node takes no new pod (VERDICT_CLOSED),
 * whatever stands on it stays.
 *
 * A pool of a change-over group (policy.change_overs) has all nodes of all entries of its name. Its nodes are closed
 * while the pool is not among policy.admitted_pools, too, whatever the entries say; and a node that is in two such
 * pools is open only where both are admitted, which two of one group never are.
 */
#ifndef CORE_TIME_NODE_POOLS_H
#define CORE_TIME_NODE_POOLS_H

#include "model/node.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stdint.h>

bool node_pools_close(const struct policy *p, const struct node *node);

/* The pools of groups that the node is in: bits as in policy.admitted_pools. */
uint64_t node_pools_gated(const struct policy *p, const struct node *node);

/* Equal where each of these bits is the same pool; never 0. */
uint64_t node_pools_layout(const struct policy *p);

#endif
