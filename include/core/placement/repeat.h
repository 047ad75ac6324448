/* core/placement/repeat.h - how often one node takes the same pod: one after another on a copy, each on the devices
 * that the device strategy chooses, as filter and bind would go on.
 *
 * Which device a pod with a single GPU request gets makes no difference to how many fit; pods with several are placed
 * by feasibility_place() alone, as choice_make() does. So no forecast is needed, and none changes the number.
 *
 * Pure, no lock, nothing is allocated.
 */
#ifndef CORE_PLACEMENT_REPEAT_H
#define CORE_PLACEMENT_REPEAT_H

#include "core/fit/device_state.h"
#include "core/fit/strategy.h"
#include "core/fit/verdict.h"
#include "core/request/demand.h"
#include "core/tenancy/tenancy.h"

#include <stdint.h>

/* Of pods with several GPU requests each try may search; it costs as much work as so many others. */
#define REPEAT_SEARCH_WORK 50

/* Carried on from node to node. */
struct repeat {
    const struct demand *demand;   /* without a defect, and not empty */
    const uint8_t *allowed_models; /* core/ledger/view.h */
    struct holding residual;       /* what the pod's tenant may still take */
    uint64_t work_left;            /* a try costs 1, or REPEAT_SEARCH_WORK */
};

/* Places up to `max` pods on the node, which changes with them, and returns how many. *ret_next is what the node says
 * to one more: VERDICT_FITS if it was not asked, because there were `max` or no work is left. */
uint64_t repeat_on(struct repeat *r, struct node_state *n, struct device_state *devices,
                   const struct strategy *device_strategy, uint64_t max, enum verdict *ret_next);

#endif
