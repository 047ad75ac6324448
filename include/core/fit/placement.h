/* core/fit/placement.h - which devices of one node each GPU request gets, as bit masks over device ordinals.
 *
 * A device's ordinal is its place in the node's inventory at one ledger generation; placements are not kept
 * longer than that. What is kept is the device's identity (core/record/assignment.h).
 *
 * Only the first demand.gpu_request_n entries are ever written or read: the rest is not initialised. A node has at most
 * DEVICES_PER_NODE_MAX = 64 devices, so one word holds a set of them.
 */
#ifndef CORE_FIT_PLACEMENT_H
#define CORE_FIT_PLACEMENT_H

#include "core/request/demand.h"

#include <stddef.h>
#include <stdint.h>

struct placement {
    uint64_t gpu_request_devices[DEMAND_GPU_REQUESTS_MAX]; /* [i]: devices of demand.gpu_requests[i], its .count
                                                              bits set */
};

/* The devices that any of the first gpu_request_n GPU requests gets, a bit each. */
static inline uint64_t placement_devices(const struct placement *p, size_t gpu_request_n)
{
    uint64_t devices = 0;

    for (size_t w = 0; w < gpu_request_n; w++) {
        devices |= p->gpu_request_devices[w];
    }
    return devices;
}

#endif
