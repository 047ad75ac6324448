/* core/time/node_pools.h - which nodes the policy closes.
 *
 * A node is in an entry when it has every label of its selector. Of several entries that a node is
 * in the last one holds; without any it is open. A closed node takes no new pod (VERDICT_CLOSED),
 * whatever stands on it stays.
 */
#ifndef CORE_TIME_NODE_POOLS_H
#define CORE_TIME_NODE_POOLS_H

#include "model/node.h"
#include "model/policy.h"

#include <stdbool.h>

bool node_pools_close(const struct policy *p, const struct node *node);

#endif
