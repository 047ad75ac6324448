/* core/fit/shortfall.h - what the devices of a node lack for a demand that does not fit there, in amounts.
 *
 * Of the first GPU request that too few devices take: the devices that come next, nearest first. A device is nearer the
 * smaller the part of itself that is missing. Devices that no amount would make an answer (another model, lost,
 * unhealthy, handed out by others, out of bounds by UUID) are none of them.
 *
 * For a demand with a single GPU request it is exact: with these amounts added to what is free of these devices, and
 * `held` ended, the node would take it; with one unit less of any it would not (test_shortfall.c). Nothing is said of
 * whole GPUs of a plugin.
 *
 * Units: compute in milli, memory in MiB. Pure.
 */
#ifndef CORE_FIT_SHORTFALL_H
#define CORE_FIT_SHORTFALL_H

#include "core/fit/device_state.h"

#include <stdbool.h>
#include <stdint.h>

#define SHORTFALL_DEVICES_MAX 8

struct shortfall_device {
    uint16_t ordinal; /* of the node's devices */
    bool held; /* somebody holds it alone, it must be empty, or it holds a pod that this one must not be beside */
    int32_t milli, slots;
    int64_t mem_mib;
    int64_t too_small_mib; /* by which it has less memory than is asked for, however empty; part of mem_mib */
};

struct shortfall {
    size_t gpu_request; /* of the demand */
    uint32_t missing_n; /* devices, beside those that take it; 0: nothing can be said in amounts */
    uint32_t near_n;    /* of these, devices that could take it: at most missing_n */
    uint32_t device_n;  /* of these, the first: */
    uint64_t distance;  /* of the farthest of near_n; smaller is nearer */
    struct shortfall_device devices[SHORTFALL_DEVICES_MAX];
};

/* `allowed_models` as for feasibility_place(); the demand has no defect. */
void shortfall_of(const struct node_state *n, const struct device_state *devices, const uint8_t *allowed_models,
                  const struct demand *d, struct shortfall *ret);

#endif
