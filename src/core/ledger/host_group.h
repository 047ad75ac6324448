/* core/ledger/host_group.h - nodes that are parts of one machine, and its physical GPUs (decision 0071).
 *
 * Several nodes may be virtual machines of one host, each with slices of its GPUs, of which only some can be used at a
 * time: by day four of 4 GB, by night one of 16 GB. The nodes say which host group they are in (core/inventory/
 * host_group.h), and a *physical GPU* is what the devices of the group with one UUID, or else with one index, stand
 * for. On nodes that see different numbers of GPUs an index proves nothing: there a device may be a part of any.
 *
 * A device that any pod holds takes its whole memory of the physical GPU, as a slice does. On a physical GPU these sums
 * stay within its memory: a device that nobody holds has DEVICE_GROUP_TAKEN while it would not find room beside what
 * other nodes hold, and one that somebody holds has it while they are too much together (somebody came past fgpu). With
 * the flag a device takes no pod more, not even in a bind. GPUs that kubelet picks could be any of the node.
 *
 * All of it is derived from the numbers of the nodes of the group at the end of every op. The part of compute follows
 * from that of memory.
 *
 * Bound: HOST_GROUP_NODES_MAX; in a group with more, no node takes anything.
 */
#ifndef CORE_LEDGER_HOST_GROUP_H
#define CORE_LEDGER_HOST_GROUP_H

#include "base/str.h"

#include <stdint.h>

struct device_state;
struct ledger;
struct node_entry;
struct node_state;

#define HOST_GROUP_NODES_MAX 32

/* The node is in this group from now on (empty: in none), whose physical GPUs have so much memory (0: not said, then as
 * much as the largest device). Follow with ledger_recompute. */
void ledger_host_group_set(struct ledger *l, uint32_t node, struct str group, int64_t mem_mib);
/* ... in none; for a node that ends. */
void ledger_host_group_leave(struct ledger *l, uint32_t node);
/* What others leave to this node, whose numbers are in `row` and `states`: node_state.group_taken and the flags. */
void ledger_host_group_mark(const struct ledger *l, uint32_t node, struct node_state *row, struct device_state *states);
/* At the end of an op: the other nodes of the groups of those that were recomputed. */
void ledger_host_groups_follow(struct ledger *l);
/* NULL, or what is wrong with the flags of this node, or its place in its group. */
const char *ledger_host_group_check(const struct ledger *l, uint32_t node);

#endif
