/* node/gpu_nodes.h - which GPUs a container can open, by what the runtime tells of its device nodes and of the rules of
 * its device cgroup: a set of minor numbers.
 *
 * A GPU is the character device 195:MINOR, /dev/nvidiaMINOR (the kernel's Documentation/admin-guide/devices.txt; NVML
 * tells the minor number, which is not the index). 195:254 (nvidia-modeset) and 195:255 (nvidiactl) are no GPUs;
 * nvidia-uvm and nvidia-caps have other majors. All instances of a GPU in MIG mode have the node of their GPU; which of
 * them a container can use depends on its nodes of nvidia-caps, which are not looked at.
 *
 * A rule counts like a node, because a container may make nodes itself.
 */
#ifndef NODE_GPU_NODES_H
#define NODE_GPU_NODES_H

#include <stdbool.h>
#include <stdint.h>

#define GPU_NODES_MAJOR 195
#define GPU_NODES_MINORS 254
#define GPU_NODES_ALL (-1) /* as major or minor: every one */

struct gpu_nodes {
    uint64_t minors[4];
    bool everything; /* every device there is: a privileged container */
};

/* The container can open this character device. */
void gpu_nodes_open(struct gpu_nodes *s, int64_t major, int64_t minor);

bool gpu_nodes_has(const struct gpu_nodes *s, int64_t minor);
/* Of `s` what is not in `but`; `everything` as in `s`. */
struct gpu_nodes gpu_nodes_without(const struct gpu_nodes *s, const struct gpu_nodes *but);
void gpu_nodes_add(struct gpu_nodes *s, const struct gpu_nodes *more);
/* The smallest minor number; -1: there is none. */
int32_t gpu_nodes_first(const struct gpu_nodes *s);

#endif
