/* core/ledger/change.h - what an op does to nodes: a copy of each as it was, compared at the end of the op. */
#ifndef CORE_LEDGER_CHANGE_H
#define CORE_LEDGER_CHANGE_H

#include "core/fit/device_state.h"
#include "core/ledger/device_table.h"
#include "core/ledger/ledger.h"

/* What a node was before the op that is being applied. */
struct device_before {
    struct device_ref ref;
    struct device_state state;
};

struct node_before {
    uint32_t node;
    bool schedulable;
    uint64_t rules;
    struct node_state row;
    struct device_before devices[DEVICES_PER_NODE_MAX];
};

enum { NODES_BEFORE_MAX = 2 }; /* where a pod was, and where it is */

void ledger_change_begin(struct ledger *l, uint32_t node); /* before anything of the node changes; again is harmless */
/* After the op, or after each part of one that is about many objects: did room appear, did capacity go? */
void ledger_change_follow(struct ledger *l, enum ledger_op_kind kind);

#endif
