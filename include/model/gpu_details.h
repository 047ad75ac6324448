/* model/gpu_details.h - what a driver tells of a GPU beyond struct device: for people, and for whoever places MIG
 * instances.
 */
#ifndef MODEL_GPU_DETAILS_H
#define MODEL_GPU_DETAILS_H

#include "model/device.h"
#include "model/mig.h"

#include <stddef.h>
#include <stdint.h>

/* Who may compute on it. An admin sets it with nvidia-smi --compute-mode. */
enum compute_mode {
    COMPUTE_MODE_UNKNOWN,
    COMPUTE_MODE_DEFAULT,           /* everybody */
    COMPUTE_MODE_PROHIBITED,        /* nobody */
    COMPUTE_MODE_EXCLUSIVE_PROCESS, /* one process, be it the daemon of MPS */
    COMPUTE_MODE__MAX
};

_Static_assert(DEVICES_PER_NODE_MAX <= 64, "a bit for each GPU");

struct gpu_details {
    enum compute_mode compute_mode;
    uint64_t nvlinked;              /* a bit for the index of each GPU that it reaches by NVLink */
    const struct mig_shape *shapes; /* what it can be cut into; none where nobody knows, or it is not in MIG mode */
    size_t shape_n;
};

#endif
