/* core/ledger/status.h - what people want to be told about a pod or a node when it changes.
 *
 * Read before and after an op; what differs is a transition (extender/notices.h). Sentences are static. Lock: as the
 * ledger.
 */
#ifndef CORE_LEDGER_STATUS_H
#define CORE_LEDGER_STATUS_H

#include "core/ledger/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero: the ledger does not know the pod. */
struct ledger_pod_status {
    bool known;
    bool claims_record; /* carries an assignment although it is not bound */
    bool decided_here;  /* holds devices that this process chose */
    bool devices_known; /* its devices are known */
    enum ledger_pod_state state;
    enum demand_defect defect;
    const char *conflict; /* static sentence; NULL: none */
};

/* All zero: the node's object has not been seen. */
struct ledger_node_status {
    bool known;
    const char *note;     /* of core/inventory/inventory.h; NULL: none */
    uint32_t lost_n;      /* devices that pods hold and that left the inventory */
    bool closed;          /* takes no new pods */
    uint32_t pod_n;       /* pods that hold something */
    uint32_t unhealthy_n; /* devices of the inventory that are reported unhealthy */
};

/* Of the pod or node that `op` is about; of other ops both are zero. */
struct ledger_status {
    struct ledger_pod_status pod;
    struct ledger_node_status node;
};

void ledger_status(const struct ledger *l, const struct ledger_op *op, struct ledger_status *ret);

#endif
