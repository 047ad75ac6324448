/* cmd_node/gpus_told.h - the GPUs that a container can open (node/gpu_nodes.h), by what the runtime tells of it. */
#ifndef CMD_NODE_GPUS_TOLD_H
#define CMD_NODE_GPUS_TOLD_H

#include "node/gpu_nodes.h"
#include "nri/container.h"

/* Every rule that allows something counts, whatever stands behind it. */
struct gpu_nodes gpus_told(const struct nri_container *c);

#endif
