/* nvml/limits.h - the driver's limit of GPU memory for a cgroup: nvmlDeviceSetMemoryLimits_v1, driver r615 and later.
 *
 * A limit belongs to one GPU and one cgroup of version 2, which is named by its folder; an allocation that passes it
 * fails (CUDA_ERROR_OUT_OF_MEMORY). It takes root. Facts: nvml.h of r615; docs.nvidia.com/deploy/mps, "memory
 * partitioning": the limit belongs on the cgroup in which the processes are, because one that is further up is not what
 * they see; where the kernel has the controller dmem (6.14), the cgroup must have it, else the answer is "not found";
 * MIG instances are refused; memory that CUDA manages (cudaMallocManaged) is not counted.
 *
 * The guarantee (soft limit) is 0: the driver would add it to all cgroups above, and leave it there when the container
 * ends.
 *
 * A call enters the kernel's driver and may hang there: only a process that nobody waits for may make it.
 */
#ifndef NVML_LIMITS_H
#define NVML_LIMITS_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "nvml/inventory.h"

#include <stdbool.h>
#include <stdint.h>

/* Does the library have the function? Its driver may still say no. */
bool nvml_can_limit_memory(const struct nvml *n);

/* ERR_UNAVAILABLE: the driver did not do it; the text names the GPU, the cgroup and what the driver said. */
WARN_UNUSED int nvml_limit_memory(const struct nvml *n, const char *cgroup_dir, const char *uuid, uint64_t hard_bytes,
                                  struct err *reterr);

#endif
