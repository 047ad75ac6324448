/* core/inventory/host_group.h - the host group that a node says it is in (decision 0071).
 *
 * Two labels, because whoever sets up the machines knows it and the machines do not:
 *   fgpu.io/host-group       name of the host, any value that a label may have; GPU i of each node of the group is a
 * part of GPU i of the host. Machines with one GPU each on a host with several: name the host's GPU
 *   fgpu.io/host-gpu-memory  memory of each physical GPU, a quantity with a unit ("16Gi"); absent: that of the largest
 *                            device of the group
 */
#ifndef CORE_INVENTORY_HOST_GROUP_H
#define CORE_INVENTORY_HOST_GROUP_H

#include "model/node.h"

#include <stdint.h>

#define HOST_GROUP_LABEL "fgpu.io/host-group"
#define HOST_GPU_MEMORY_LABEL "fgpu.io/host-gpu-memory"

struct host_group {
    struct str name; /* borrowed; empty: none */
    int64_t mem_mib; /* 0: not said */
    bool is_odd;     /* the memory cannot be read, and counts as not said */
};

struct host_group host_group_of_node(const struct node *node);

#endif
