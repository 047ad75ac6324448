/* node/facts.h - what the agent knows of its node, and what the runtime tells it of a pod and of a container.
 *
 * All text and arrays are borrowed from whoever fills these in (the wire, the driver's library), for one call.
 */
#ifndef NODE_FACTS_H
#define NODE_FACTS_H

#include "core/record/assignment.h"
#include "model/device.h"
#include "model/kv.h"
#include "node/gpu_nodes.h"
#include "node/health.h"
#include "sign/keyring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_facts {
    struct str name;                 /* as in the Binding: what signatures cover */
    const struct sign_keyring *keys; /* whose records are believed */
    const struct device *devices;    /* GPUs and MIG instances; each has a UUID */
    size_t device_n;
    /* Who of them is ill, and GPUs that it had and that are lost: no container gets them. */
    const struct health_ill *ill;
    size_t ill_n;
    /* How often a GPU may be given away, in thousandths, as the extender has it (devices.overcommit): >= 1000. MIG
     * instances are cut by the hardware: no factor makes them larger. */
    int32_t overcommit_milli, overcommit_mem_milli;
};

struct pod_facts {
    struct str uid, namespace_, name;
    struct kv_list annotations; /* as of the creation of its sandbox; later changes are not seen (NRI) */
};

struct container_facts {
    struct str id; /* of the runtime */
    struct str sandbox_id;
    struct str name;       /* unique in its pod, init containers and ephemeral ones included */
    const struct str *env; /* "KEY=VALUE" of image and pod, not deduplicated */
    size_t env_n;
    const struct str *cdi; /* CDI devices that it has without us: of DRA drivers and device plugins */
    size_t cdi_n;
    const struct str *mounts; /* where they are in the container, as pod or device plugin spelled it */
    size_t mount_n;
    struct gpu_nodes gpus; /* that it can open; from its creation on those from CDI, too */
    bool plugin_gpu;       /* PodResources says that a device plugin allocated GPUs for it */
};

/* The device of this node that a record means: by its UUID, or by its index where the record knows none. NULL: the node
 * does not have it. */
const struct device *node_facts_device(const struct node_facts *node, const struct assigned_device *recorded);
/* A copy with its text, in one block; free() it. */
struct device *node_facts_copy_devices(const struct device *devices, size_t n);
struct health_ill *node_facts_copy_ill(const struct health_ill *ill, size_t n);
/* NULL: nothing is wrong with this GPU or MIG device. */
const struct health_verdict *node_facts_illness(const struct node_facts *node, struct str uuid);
/* The nodes of those of these devices that are there now. *ret_all (may be NULL): that is all of them. */
struct gpu_nodes node_facts_nodes(const struct node_facts *node, const struct assigned_device *recorded, size_t n,
                                  bool *ret_all);
/* Is it this one? */
bool node_facts_means(const struct assigned_device *recorded, const struct device *device);

#endif
