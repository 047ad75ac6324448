/* core/inventory/inventory.h - which GPUs a node has, from the first source that says so. Read by dialect_inventory()
 * in core/dialects/dialect.h: each source is asked of the dialects first, then of what describes the machine whoever
 * shares it.
 *
 * Order (design.md section 5): annotation fgpu.io/gpus; GPU Feature Discovery labels
 * (nvidia.com/gpu.count, .memory, .product); extended resources in allocatable (fgpu.io/gpu-milli
 * and the other configured names); node templates of the configuration. A source that is present
 * and malformed is not skipped in favour of the next: the node gets no devices and a note, because
 * guessing capacity over-commits.
 *
 * Capacity is what somebody measured (design.md 3.1.10). A plugin's number in allocatable may be GPUs or tenths of
 * GPUs, so it makes no devices without the word of the admin: a template for the node, which says how many there are or
 * that allocatable counts whole ones; the label fgpu.io/allocatable=whole-gpus; a label that says what one of
 * them is (nvidia.com/gpu.replicas, vgpu.type); an entry of resources.compute, whose unitsPerGPU says it. Otherwise the
 * node is `unmeasured`: its plugin's GPUs are counted for pods that ask for them, and no shares are placed there.
 *
 * Units of resources.compute, or replicas, that make no whole number of GPUs leave a part of one behind the whole ones:
 * 1500 of 1000 are a GPU and a half. It is rounded down to a milli, never up, and takes no requests for whole GPUs.
 * Memory in allocatable is that of all of it, parts in proportion; every other source tells that of a whole GPU, but
 * labels of a virtual one (nvidia.com/vgpu.present), which tell its own. Where labels count more GPUs than are sold in
 * units of resources.compute, the units hold (decision 0070).
 *
 * Nodes where the agent of another system hands out GPUs (HAMi, Volcano, gpushare and others:
 * src/core/dialects/foreign.c) are `elsewhere`: their devices stay, with what is charged on them, and take no further
 * shares.
 *
 * A name of a plugin has a vendor, and may be one that cannot be shared (policy_plugin_of): what it counts makes no
 * devices, whoever vouches for the number.
 *
 * Plugins that leave the choice to kubelet sell whole GPUs, replicas of them (time-slicing, MPS) or units: their
 * number, names and how many make one GPU are reported beside the devices (src/core/dialects/units, decision 0028).
 * Where labels speak of replicas and allocatable has none under a name of the configuration, the node has no devices,
 * unless the annotation describes them.
 *
 * MIG. The annotation lists the instances of a GPU: "mig":[{"uuid":"MIG-a","profile":"1g.10gb","start":0}], "memMib"
 * and "healthy" if known; an empty list is a GPU in MIG mode without instances. They must fit what the driver offers
 * for that GPU, "migProfiles":[{"profile":"1g.10gb","size":1,"starts":[0,1],"max":7,"memMib":9728}], or, where nobody
 * asked the driver, the model's table (model/mig.h), and become devices behind the GPUs; the memory reserve is not
 * taken off them, because they are not shared. What a device plugin offers as nvidia.com/mig-<profile> or, with the
 * strategy "single", as its whole GPUs, is counted: kubelet picks. A node whose label nvidia.com/mig.config.state is
 * there and not "success" is closed.
 *
 * A label vgpu.type or virtual.gpu.type (K8vGPUSharing) names the profile of virtual GPUs
 * (core/inventory/vgpu_profile.h): each GPU then has the profile's memory, or less where the source says so, and takes
 * one container. With a name that is not known the node gets no devices and a note; whole GPUs of its plugin are handed
 * out as before.
 *
 * nvidia.com/gpu.memory counts MiB; from 1 GiB of bytes on it is read as bytes, which some write into it.
 *
 * Memory that the source does not tell is taken from the next one that does (GFD label, memory
 * resources divided by the number of GPUs, template). Whole GPUs in allocatable are reported beside
 * the devices, whatever the source; a number that differs gives a note.
 *
 * Reserve, sharers and over-commit factors are those of the configuration for a node with these labels.
 */
#ifndef CORE_INVENTORY_INVENTORY_H
#define CORE_INVENTORY_INVENTORY_H

#include "model/device.h"

#define INVENTORY_ALLOCATABLE_LABEL "fgpu.io/allocatable" /* POLICY_WHOLE_GPUS means something */
#define INVENTORY_INDEX_MAX 1023                          /* of index, minor and numa */
#define INVENTORY_DEVICE_INDEX_MAX DEVICE_ANONYMOUS_INDEX(DEVICES_PER_NODE_MAX - 1) /* of MIG instances */
#define INVENTORY_SLOTS_MAX 32767
#define INVENTORY_TEXT_BYTES_MAX 128 /* of a UUID and a model */

/* "none", "annotation", "gfd", "resources", "template" */
const char *inventory_source_name(enum inventory_source s);

#endif
