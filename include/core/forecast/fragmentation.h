/* core/forecast/fragmentation.h - how much of a node's idle compute the pods that are expected could not use.
 *
 * The measure F of "Beware of Fragmentation" (Weng et al., USENIX ATC 2023): the mean, over the typical pods, of the
 * idle milli that a pod of that kind leaves unusable. A pod that could not run here at all (it wants no GPU, another
 * model, more GPUs, more cores) leaves all of it; one that could leaves what is idle on the GPUs too full for it.
 * Memory is not looked at.
 *
 * Bit for bit as published: one running sum for each reason, added in one order, no fused multiply-add (the core is
 * compiled without). Pure functions; all is borrowed for the call.
 */
#ifndef CORE_FORECAST_FRAGMENTATION_H
#define CORE_FORECAST_FRAGMENTATION_H

#include "core/fit/device_state.h"
#include "core/forecast/forecast.h"

#include <stddef.h>
#include <stdint.h>

struct fragmentation_node {
    const struct device_state *devices;
    size_t device_n;
    int32_t plugin_managed_cap; /* GPUs of a plugin, which are the same GPUs seen otherwise */
    int32_t plugin_managed_free;
    int32_t plugin_managed_per_gpu; /* replicas or units: how many make one */
    struct host_state host;
};

/* The node as it is. */
static inline struct fragmentation_node fragmentation_node_of(const struct node_state *n,
                                                              const struct device_state *devices)
{
    return (struct fragmentation_node){.devices = devices,
                                       .device_n = n->device_n,
                                       .plugin_managed_cap = n->plugin_managed_cap,
                                       .plugin_managed_free = n->plugin_managed_cap - n->plugin_managed_used,
                                       .plugin_managed_per_gpu = n->plugin_managed_per_gpu,
                                       .host = n->host};
}

/* Compute that a share could still be given; nothing on a device that is closed, or is a MIG instance. */
static inline int64_t device_idle_milli(const struct device_state *d)
{
    const unsigned closed = DEVICE_EXCLUSIVE | DEVICE_LOST | DEVICE_ELSEWHERE | DEVICE_GROUP_TAKEN;

    return (d->flags & (DEVICE_HEALTHY | closed)) == DEVICE_HEALTHY && d->profile == 0 && d->milli_free > 0
               ? d->milli_free
               : 0;
}

/* All idle compute of the node. */
int64_t fragmentation_idle_milli(const struct fragmentation_node *n);

/* F in milli: 0 to fragmentation_idle_milli(). Without typical pods it is 0. */
double fragmentation_milli(const struct fragmentation_node *n, const struct forecast_typical *typical,
                           size_t typical_n);

#endif
