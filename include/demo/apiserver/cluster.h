/* demo/apiserver/cluster.h - the nodes of the demonstration: GPUs that exist only as annotations. */
#ifndef DEMO_APISERVER_CLUSTER_H
#define DEMO_APISERVER_CLUSTER_H

#include "base/compiler.h"
#include "base/err.h"

#include <stdint.h>

struct apiserver;

#define CLUSTER_NODES_MAX 5000
#define CLUSTER_GPUS_MAX 16

/* Creates `node_n` (1..5000) nodes "node-00", "node-01", ... with `gpu_n` (1..16) GPUs each. The
 * models alternate in pairs of nodes (A100 80 GB, L40S 48 GB, H100 80 GB, T4 16 GB); UUIDs follow
 * from node and index, so two runs agree. ERR_INVALID for numbers out of range. */
WARN_UNUSED int cluster_create(struct apiserver *a, int32_t node_n, int32_t gpu_n, struct err *reterr);

#endif
