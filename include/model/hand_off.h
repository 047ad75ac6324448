/* model/hand_off.h - how the containers of a node get the devices that were decided for them.
 *
 * The record (fgpu.io/assignment) is written for every pod. What the Binding says beside it is for the program that
 * acts on that node, and is a setting of the node (devices.handOff):
 *
 *   downward-api     fgpu.io/visible-devices.c0 and the like, which the pod reads into its variables: no program at all
 *   agent            nothing: fgpu-node reads the record
 *   nvidia-cdi       nvidia.cdi.k8s.io/container.NAME, a list of CDI names, for the NRI plugin of NVIDIA's container
 * toolkit (1.19 and newer: cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go) kai-fractioning
 * nvidia.com/container.NAME.gpus.devices, .gpu-memory.request and so on, for kai-gpu-fractioning
 *                    (fractioning-manager/fractiond/internal/annotations); with its time-slicing
 *   kai-sm-sharing   the same, with its sm-sharing, which has to be switched on there
 *
 * The contract of the last three is the name of a container as part of an annotation's key, behind whose prefix 63
 * bytes are allowed. A container may have 63 of its own, so some names are too long: such a pod does not fit on the
 * node.
 */
#ifndef MODEL_HAND_OFF_H
#define MODEL_HAND_OFF_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum hand_off {
    HAND_OFF_DOWNWARD_API,
    HAND_OFF_AGENT,
    HAND_OFF_NVIDIA_CDI,
    HAND_OFF_KAI_FRACTIONING,
    HAND_OFF_KAI_SM_SHARING,
    HAND_OFF__MAX
};

#define HAND_OFF_KEY_CDI "nvidia.cdi.k8s.io/container" /* and "." and the container's name */
#define HAND_OFF_KEY_CDI_ALL "nvidia.cdi.k8s.io/"      /* whatever begins so chooses devices, by some version */
#define HAND_OFF_KEY_KAI "nvidia.com/container"        /* and "." and the container's name and one of: */
#define HAND_OFF_KAI_DEVICES ".gpus.devices"           /* UUIDs or indexes, with commas */
#define HAND_OFF_KAI_MEM_REQUEST ".gpu-memory.request" /* a quantity of at least 1Mi; without it nothing is done */
#define HAND_OFF_KAI_MEM_LIMIT ".gpu-memory.limit"     /* the same */
#define HAND_OFF_KAI_MODE ".gpu-compute.mode"          /* time-slicing, sm-sharing */
#define HAND_OFF_KAI_PORTION ".gpu-compute.portion"    /* above 0 and up to 1; without it compute is not limited */

/* As in the configuration and in /state. */
const char *hand_off_name(enum hand_off h);
/* False: no such name; then nothing is written. */
bool hand_off_parse(struct str text, enum hand_off *ret);
/* Longest name of a container with GPUs for which every key can be written. */
size_t hand_off_name_bytes_max(enum hand_off h);

static inline bool hand_off_is_kai(enum hand_off h)
{
    return h == HAND_OFF_KAI_FRACTIONING || h == HAND_OFF_KAI_SM_SHARING;
}

/* Does a program of somebody else act on the node, so that fgpu-node has to stand back? */
static inline bool hand_off_is_of_others(enum hand_off h)
{
    return h == HAND_OFF_NVIDIA_CDI || hand_off_is_kai(h);
}

/* fgpu-node: how it says in fgpu.io/gpus that it runs on the node, and its name as a plugin of the container runtime.
 */
#define FGPU_NODE_WRITER "fgpu-node"
#define FGPU_NODE_PLUGIN "fgpu"

#endif
