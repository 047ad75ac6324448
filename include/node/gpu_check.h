/* node/gpu_check.h - may a container have the GPUs that it can open?
 *
 * What it was granted, and what it got, are two things. A file in /etc/cdi or /var/run/cdi that describes a machine as
 * it was before a card was changed gives another GPU under the old name; other plugins of the runtime hand out devices
 * that a tenant names in an annotation. So the device nodes that the runtime tells of are compared with the record.
 *
 * It cannot see what NVIDIA's runtime adds behind the container runtime's back (by a variable, hand_over_way
 * HAND_OVER_BY_ENV), nor nodes of nvidia-caps: which instance of a GPU in MIG mode it is. Pure.
 */
#ifndef NODE_GPU_CHECK_H
#define NODE_GPU_CHECK_H

#include "base/arena.h"
#include "node/facts.h"

/* `devices` are what it is granted, none if nothing. It must not have the node of another GPU, and with `all_there` it
 * must have those of all its own. False: *ret_why is the sentence, in `a`. */
WARN_UNUSED bool gpu_check(const struct node_facts *node, const struct pod_facts *pod, const struct container_facts *c,
                           const struct assigned_device *devices, size_t n, bool all_there, struct arena *a,
                           struct str *ret_why);

#endif
