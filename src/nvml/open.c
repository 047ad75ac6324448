#include "nvml/inventory.h"
#include "nvml/library.h"

#include "base/bug.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The loader's (the host's driver, where the library is mounted or the process runs on the host), then the GPU
 * Operator's driver container, whose root is mounted at the same place in its plugins; then the host's root at /host,
 * as manifests/node mounts it: RPM and Debian distributions, Container-Optimized OS. */
static const char *const usual_paths[] = {
    "libnvidia-ml.so.1",
    "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/host/usr/lib64/libnvidia-ml.so.1",
    "/host/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/host/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/host/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1",
};

static const struct symbol {
    const char *name;
    size_t at; /* in struct nvml_functions */
    bool may_lack;
} symbols[] = {
#define SYMBOL(name_, member_, may_lack_)                                                                              \
    {                                                                                                                  \
        (name_), offsetof(struct nvml_functions, member_), (may_lack_)                                                 \
    }
    SYMBOL("nvmlInit_v2", init, false),
    SYMBOL("nvmlShutdown", shutdown, false),
    SYMBOL("nvmlErrorString", error_text, false),
    SYMBOL("nvmlDeviceGetCount_v2", count, false),
    SYMBOL("nvmlDeviceGetHandleByIndex_v2", handle_by_index, false),
    SYMBOL("nvmlDeviceGetUUID", uuid, false),
    SYMBOL("nvmlDeviceGetName", name, false),
    SYMBOL("nvmlDeviceGetMinorNumber", minor, false),
    SYMBOL("nvmlDeviceGetMemoryInfo", memory, false),
    SYMBOL("nvmlDeviceGetMemoryInfo_v2", memory_v2, true),
    SYMBOL("nvmlDeviceGetMigMode", mig_mode, true),
    SYMBOL("nvmlDeviceGetMaxMigDeviceCount", mig_max, true),
    SYMBOL("nvmlDeviceGetMigDeviceHandleByIndex", mig_by_index, true),
    SYMBOL("nvmlDeviceGetAttributes_v2", attributes, true),
    SYMBOL("nvmlDeviceGetComputeInstanceId", compute_instance_id, true),
    SYMBOL("nvmlEventSetCreate", set_create, true),
    SYMBOL("nvmlEventSetFree", set_free, true),
    SYMBOL("nvmlEventSetWait_v2", set_wait, true),
    SYMBOL("nvmlDeviceGetSupportedEventTypes", event_types, true),
    SYMBOL("nvmlDeviceRegisterEvents", register_events, true),
    SYMBOL("nvmlDeviceGetHandleByUUID", handle_by_uuid, true),
    SYMBOL("nvmlDeviceSetMemoryLimits_v1", set_memory_limits, true),
    SYMBOL("nvmlDeviceGetComputeRunningProcesses_v3", compute_processes, true),
    SYMBOL("nvmlDeviceGetMPSComputeRunningProcesses_v3", mps_processes, true),
    SYMBOL("nvmlDeviceGetGraphicsRunningProcesses_v3", graphics_processes, true),
    SYMBOL("nvmlDeviceGetProcessUtilization", utilization, true),
    SYMBOL("nvmlDeviceGetGpuInstanceId", instance_id, true),
    SYMBOL("nvmlDeviceGetGpuInstanceById", instance_by_id, true),
    SYMBOL("nvmlGpuInstanceGetInfo", instance_info, true),
    SYMBOL("nvmlDeviceGetGpuInstanceProfileInfoV", profile, true),
    SYMBOL("nvmlDeviceGetGpuInstancePossiblePlacements_v2", placements, true),
    SYMBOL("nvmlDeviceGetComputeMode", compute_mode, true),
    SYMBOL("nvmlDeviceGetMemoryAffinity", memory_affinity, true),
    SYMBOL("nvmlDeviceGetP2PStatus", p2p, true),
#undef SYMBOL
};

/* Functions and objects have pointers of one size here (POSIX, dlsym). */
_Static_assert(sizeof(void *) == sizeof(int (*)(void)), "dlsym");

static int find_symbols(struct nvml *n, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *found = dlsym(n->library, symbols[i].name);

        if (found == NULL && !symbols[i].may_lack) {
            return err_set(reterr, ERR_INVALID, "%s is not NVIDIA's management library: it has no %s", n->path,
                           symbols[i].name);
        }
        memcpy((char *)&n->f + symbols[i].at, &found, sizeof(found));
    }
    return 0;
}

static void *open_first(const char *path, const char **ret_path)
{
    void *library = NULL;

    if (path != NULL) {
        *ret_path = path;
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < ARRAY_LEN(usual_paths) && library == NULL; i++) {
        *ret_path = usual_paths[i];
        library = dlopen(usual_paths[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

int nvml_load(const char *path, struct nvml **ret, struct err *reterr)
{
    struct nvml n = {.library = NULL};
    int rc;

    n.library = open_first(path, &n.path);
    if (n.library == NULL) {
        const char *why = dlerror();

        return err_set(reterr, ERR_NOT_FOUND, "there is no driver library of NVIDIA's here (%s)",
                       path != NULL && why != NULL ? why : "libnvidia-ml.so.1; --nvml-library names another place");
    }
    rc = find_symbols(&n, reterr);
    if (rc != 0) {
        dlclose(n.library);
        return rc;
    }
    *ret = xmalloc(sizeof(**ret));
    **ret = n;
    return 0;
}

int nvml_open(const char *path, struct nvml **ret, struct err *reterr)
{
    struct nvml *n;
    int rc = nvml_load(path, &n, reterr);

    if (rc != 0) {
        return rc;
    }
    rc = n->f.init();
    if (rc != NVML_OK) {
        rc = err_set(reterr, ERR_UNAVAILABLE, "%s does not work: %s (%d)", n->path, n->f.error_text(rc), rc);
        nvml_close(n);
        return rc;
    }
    n->initialised = true;
    *ret = n;
    return 0;
}

int nvml_count(const struct nvml *n, unsigned *ret, struct err *reterr)
{
    const int rc = n->f.count(ret);

    if (rc != NVML_OK) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s does not say how many GPUs there are: %s (%d)", n->path,
                       n->f.error_text(rc), rc);
    }
    return 0;
}

void nvml_close(struct nvml *n)
{
    if (n != NULL) {
        if (n->initialised) {
            (void)n->f.shutdown();
        }
        dlclose(n->library);
        free(n);
    }
}

const char *nvml_path(const struct nvml *n)
{
    return n->path;
}
