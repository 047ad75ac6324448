/* model/node.h - what fgpu knows of a Node object: plain facts, as they stand in the API.
 *
 * Which GPUs a node has is computed by core/inventory/inventory.h. Text is borrowed as in model/pod.h.
 */
#ifndef MODEL_NODE_H
#define MODEL_NODE_H

#include "model/kv.h"

#include <stdbool.h>

/* What keeps pods off a node, as in spec.taints. */
enum taint_effect {
    TAINT_OTHER, /* PreferNoSchedule, or a word we do not know, or none: keeps nobody off */
    TAINT_NO_SCHEDULE,
    TAINT_NO_EXECUTE,
};

struct taint {
    struct str key;
    struct str value;
    enum taint_effect effect;
};

struct node {
    struct str name;
    struct str uid;
    struct str resource_version;
    bool unschedulable;
    bool deleting;
    struct kv_list labels;
    struct kv_list annotations;
    struct kv_list allocatable; /* resource name -> quantity text */
    const struct taint *taints;
    size_t taint_n;
};

#endif
