/* core/inventory/vgpu_profile.h - the profile of a virtual GPU, as a node label names it: v100-4q-4GB.
 *
 * Grammar: <model>-<n><series>-<size>GB. n and size are both the frame buffer in GB (of 1024 MiB,
 * as vGPU software counts), series is a letter of NVIDIA's vGPU types: q (workstation), b (PC), a
 * (applications), c (compute). Upper and lower case are the same. A name in which the two sizes
 * differ, or of any other form, is not known; what its GPUs have is never guessed from it.
 */
#ifndef CORE_INVENTORY_VGPU_PROFILE_H
#define CORE_INVENTORY_VGPU_PROFILE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define VGPU_PROFILE_GB_MAX 1024

/* The memory of one; false: no known profile, and nothing is written. */
bool vgpu_profile_parse(struct str text, int64_t *ret_mem_mib);

#endif
