/* core/ledger/node_copy.h - one node as a decision sees it, copied: for looking at it without the ledger's lock.
 *
 * Lock: as the ledger. Text is borrowed until the next op.
 */
#ifndef CORE_LEDGER_NODE_COPY_H
#define CORE_LEDGER_NODE_COPY_H

#include "core/ledger/view.h"

#include <stdbool.h>
#include <stdint.h>

struct node_copy {
    struct node_state node;                            /* its first_device means nothing here */
    struct device_state devices[DEVICES_PER_NODE_MAX]; /* with the flags for the demand of the view */
    struct str host_group;                             /* empty: none (src/core/ledger/host_group.h) */
    bool nominated;                                    /* another pod is, of those of the view */
};

void ledger_copy_node(const struct ledger_view *v, uint32_t node, struct node_copy *ret);

/* How a device of a node is called. */
struct device_name {
    struct str uuid, model;
    int32_t index;
};
struct device_name ledger_device_name(const struct ledger_view *v, uint32_t node, unsigned ordinal);

#endif
