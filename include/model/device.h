/* model/device.h - one physical GPU and the inventory of one node.
 *
 * An instance of a GPU in MIG mode is a device of its own beside its GPU, which is then not handed out itself. Profiles
 * are numbers of model/mig.h.
 *
 * A device may be a part of a GPU, of which nothing else is known here: part_milli of 1000, and as much of its memory.
 * Amounts that pods ask for stay those of the whole GPU: 300 milli are 300 of 1000, not of the part (decision 0070).
 *
 * Units: milli = thousandths of the compute of one GPU (0..1000), mem_mib = MiB of device memory.
 */
#ifndef MODEL_DEVICE_H
#define MODEL_DEVICE_H

#include "base/str.h"
#include "model/hand_off.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_MILLI 1000
/* The largest machine sold has 16, and 8 GPUs with 7 MIG instances each are 64; a bit mask must hold them all. */
#define DEVICES_PER_NODE_MAX 64

#define DEVICE_IN_MIG_MODE 0xffff /* as profile: a GPU that is cut into instances, be it none */
/* Indexes of instances stand above those of GPUs, so that all indexes of a node are unique. */
#define DEVICE_INSTANCE_INDEX(gpu_index, start) (1024 + 8 * (gpu_index) + (start))
#define DEVICE_ANONYMOUS_INDEX(i) (16384 + (i)) /* of instances that are only counted */

/* Where an inventory came from, in the order in which sources are asked (design: first that matches). */
enum inventory_source {
    INVENTORY_NONE,
    INVENTORY_ANNOTATION, /* fgpu.io/gpus: UUIDs known */
    INVENTORY_GFD,        /* GPU Feature Discovery labels: devices are indexes */
    INVENTORY_RESOURCES,  /* extended resources in allocatable */
    INVENTORY_TEMPLATE,   /* node template in the configuration */
    INVENTORY_SOURCE__MAX
};

struct device {
    struct str uuid;  /* empty: not known, the device is its index */
    int32_t index;    /* NVML index; what NVIDIA_VISIBLE_DEVICES counts */
    int32_t minor;    /* /dev/nvidia<minor>; -1 unknown */
    struct str model; /* "NVIDIA-A100-SXM4-80GB"; empty: unknown */
    int64_t mem_mib;  /* after the configured reserve; 0: unknown. Of a part: of the whole GPU that it is a part of */
    int32_t slot_n;   /* containers that may use it at once */
    int32_t numa;     /* -1 unknown */
    bool healthy;
    uint16_t profile;   /* 0: a whole GPU; DEVICE_IN_MIG_MODE; else an instance of this profile */
    int32_t gpu_index;  /* of an instance: index of its GPU, -1 unknown */
    int8_t start;       /* of an instance: its first memory slice, -1 unknown */
    bool counted;       /* of an instance: a device plugin has it, kubelet picks */
    bool slice;         /* a virtual GPU of a fixed profile: one container has all of it. A profile names its own
                         * memory, so mem_mib is that, also where the slice is a part */
    int32_t part_milli; /* 1..999: a part of a GPU, this much of its compute; 0: all of it */
};

/* How the containers on one GPU divide its compute: model/qos.h. */
enum qos { QOS_FIXED_SHARE, QOS_BEST_EFFORT, QOS_EQUAL_SHARE, QOS__MAX };

/* May compute that its holder does not use be used by others? */
enum lending { LEND_ALLOW, LEND_FORBID, LEND__MAX };

/* What a GPU request for memory alone takes of the compute of a GPU (design.md section 5, memory-only placement). */
enum memory_only_mode {
    MEMORY_ONLY_SHARE, /* the same share as of the memory */
    MEMORY_ONLY_FREE,  /* none: compute is shared by all */
    MEMORY_ONLY__MAX
};

/* Who made the GPUs. Amounts mean the same; what the Binding says for programs of one vendor is for its GPUs alone. */
enum gpu_vendor { VENDOR_NVIDIA, VENDOR_AMD, VENDOR_INTEL, VENDOR_OTHER, VENDOR__MAX };
const char *gpu_vendor_name(enum gpu_vendor v); /* as in the configuration and in /state */

struct inventory {
    enum inventory_source source;
    const struct device *devices; /* ordered by index, indexes unique */
    size_t device_n;
    /* GPUs that a plugin of its own hands out (allocatable nvidia.com/gpu), or replicas or units of GPUs; kubelet
     * picks them. 0: the node has no such plugin. */
    int32_t plugin_managed_n;
    int32_t plugin_managed_per_gpu; /* how many of them make one GPU; 0 or 1: each is one, or nobody knows */
    uint64_t plugin_managed_names;  /* under which names: model/policy.h; 0: not known */
    bool plugin_managed_one;        /* a container gets one of them and no more */
    /* How often its GPUs may be given away, in thousandths, >= 1000; 0: as the ledger was told for all nodes. */
    int32_t overcommit_milli, overcommit_mem_milli;
    enum memory_only_mode memory_only; /* of its GPUs, but for MIG instances, which are taken whole */
    enum qos qos;                      /* of pods that say nothing themselves */
    enum lending lending;              /* of idle compute */
    enum hand_off hand_off;            /* who makes the devices visible to the containers */
    bool hand_off_unfit;               /* ... and cannot with these devices: no pod gets any of them */
    enum gpu_vendor vendor;            /* of its GPUs; of several: other */
    bool needs_agent;                  /* fgpu-node runs here: no container with GPUs may start past it */
    bool mig_changing;                 /* the layout of its instances is being changed: it takes no new pods */
    bool mig_single;                   /* the plugin's whole GPUs are its MIG instances */
    bool elsewhere;  /* another system hands these GPUs out: they take no shares (core/inventory/inventory.h) */
    bool unmeasured; /* nothing but a plugin's number speaks of GPUs: there are no devices */
};

#endif
