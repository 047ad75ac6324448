/* cmd_node/node_view.h - what the agent knows at one moment, for who shows it: GPUs, and which containers hold them.
 *
 * A copy in the reader's arena, so that nobody who shows it keeps the runtime waiting.
 */
#ifndef CMD_NODE_NODE_VIEW_H
#define CMD_NODE_NODE_VIEW_H

#include "base/arena.h"
#include "model/device.h"
#include "node/fence.h"

struct view_gpu {
    struct device device;
    struct fence_use held;
    bool over; /* more is held of it than it has */
};

/* A container, and one GPU that it holds. */
struct view_hold {
    struct str container_id, pod_uid, namespace_, pod, container;
    struct str gpu; /* UUID; as recorded, where the node does not have it (now) */
    int32_t milli;
    int64_t mem_mib;
    bool alone; /* a whole GPU or a MIG instance */
};

struct node_view {
    struct str runtime, runtime_version; /* empty before the first connection */
    struct str limits, not_by_driver;    /* the kind (node/limits.h); why not driver, if that was asked for */
    const struct view_gpu *gpus;
    size_t gpu_n;
    const struct view_hold *holds;
    size_t hold_n;
    size_t container_n; /* that hold something */
};

#endif
