/* model/node.h - what fgpu knows of a Node object: plain facts, as they stand in the API.
 *
 * Which GPUs a node has is computed by core/inventory.h. Text is borrowed as in model/pod.h.
 */
#ifndef MODEL_NODE_H
#define MODEL_NODE_H

#include "model/kv.h"

#include <stdbool.h>

struct node {
    struct str name;
    struct str uid;
    struct str resource_version;
    bool unschedulable;
    bool deleting;
    struct kv_list labels;
    struct kv_list annotations;
    struct kv_list allocatable; /* resource name -> quantity text */
};

#endif
