#include "nvml/limits.h"

#include "nvml/library.h"

bool nvml_can_limit_memory(const struct nvml *n)
{
    return n->f.handle_by_uuid != NULL && n->f.set_memory_limits != NULL;
}

static const char *what_helps(int rc)
{
    switch (rc) {
    case NVML_NOT_FOUND:
        return "; the cgroup of the container has no controller dmem: its parents must give it "
               "(cgroup.subtree_control)";
    case NVML_NOT_SUPPORTED:
        return "; this GPU, or its driver as it is loaded, has no memory limits: choose another kind";
    case NVML_NO_PERMISSION:
        return "; fgpu-node must be root in a privileged container";
    default:
        return "";
    }
}

int nvml_limit_memory(const struct nvml *n, const char *cgroup_dir, const char *uuid, uint64_t hard_bytes,
                      struct err *reterr)
{
    struct nvml_set_memory_limits limits = {.cgroup_dir = cgroup_dir, .soft_bytes = 0, .hard_bytes = hard_bytes};
    nvml_handle gpu;
    int rc = n->f.handle_by_uuid(uuid, &gpu);

    if (rc == NVML_OK) {
        rc = n->f.set_memory_limits(gpu, &limits);
    }
    return rc == NVML_OK ? 0
                         : err_set(reterr, ERR_UNAVAILABLE,
                                   "the driver did not limit the memory of GPU %s for cgroup %s: %s (%d)%s", uuid,
                                   cgroup_dir, n->f.error_text(rc), rc, what_helps(rc));
}
