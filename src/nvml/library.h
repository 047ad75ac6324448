/* nvml/library.h - what of NVML we call: symbols, structs, return codes.
 *
 * Facts from nvml.h of the driver (the copy in NVIDIA's go-nvml). The header's macros map unversioned names to
 * versioned ones, dlsym does not; so the names here are the exported ones. Sizes are those of x86-64 and arm64.
 */
#ifndef NVML_LIBRARY_H
#define NVML_LIBRARY_H

#include "base/str.h"
#include "model/mig.h"

#include <stdbool.h>
#include <stdint.h>

#define NVML_UUID_BYTES 96
#define NVML_NAME_BYTES 96

/* nvmlReturn_t */
enum {
    NVML_OK = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_TIMEOUT = 10,
};

#define NVML_MIG_ENABLED 1

#define NVML_AFFINITY_OF_NODE 0 /* scope of nvmlDeviceGetMemoryAffinity */
#define NVML_P2P_NVLINK 2       /* of nvmlDeviceGetP2PStatus */
#define NVML_P2P_OK 0

typedef void *nvml_handle;

struct nvml_memory {
    uint64_t total, free, used;
};

#define NVML_MEMORY_V2_VERSION (sizeof(struct nvml_memory_v2) | 2U << 24)
struct nvml_memory_v2 {
    uint32_t version; /* NVML_MEMORY_V2_VERSION, set by the caller */
    uint64_t total, reserved, free, used;
};
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "as in nvml.h");

struct nvml_attributes {
    uint32_t multiprocessors, copy_engines, decoders, encoders, jpeg_engines, ofa_engines, gi_slices, ci_slices;
    uint64_t mem_mib;
};
_Static_assert(sizeof(struct nvml_attributes) == 40, "as in nvml.h");

/* nvmlEventData_t */
#define NVML_EVENT_XID 0x8ULL
typedef struct nvml_set_of_library *nvml_event_set;
struct nvml_event {
    nvml_handle device;                      /* a GPU, also of what happened to an instance */
    uint64_t type, data;                     /* data: of NVML_EVENT_XID its number, 999 if that is unknown */
    uint32_t gpu_instance, compute_instance; /* 0xffffffff: none */
};
_Static_assert(sizeof(struct nvml_event) == 32, "as in nvml.h");

struct nvml_set_memory_limits {
    const char *cgroup_dir; /* a folder below /sys/fs/cgroup */
    unsigned long long soft_bytes, hard_bytes;
};
_Static_assert(sizeof(struct nvml_set_memory_limits) == 24, "as in nvml.h");

/* nvmlProcessInfo_t, versions 2 and 3 */
struct nvml_process_info {
    uint32_t pid;
    uint64_t mem_bytes; /* ~0: not available */
    uint32_t gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_process_info) == 24, "as in nvml.h");
typedef int nvml_list_processes(nvml_handle h, unsigned *n, struct nvml_process_info *ret);

/* nvmlProcessUtilizationSample_t */
struct nvml_utilization_sample {
    uint32_t pid;
    uint64_t time_us;
    uint32_t sm_percent, mem_percent, encoder_percent, decoder_percent;
};
_Static_assert(sizeof(struct nvml_utilization_sample) == 32, "as in nvml.h");

struct nvml_placement {
    uint32_t start, size; /* memory slices */
};

/* Of nvmlGpuInstanceGetInfo. */
struct nvml_instance {
    nvml_handle gpu;
    uint32_t id, profile_id;
    struct nvml_placement placement;
};
_Static_assert(sizeof(struct nvml_instance) == 24, "as in nvml.h");

/* nvmlGpuInstanceProfileInfo_v2_t: what a GPU can be cut into. The function is asked for profile 0, 1 and so on until
 * it answers NVML_INVALID_ARGUMENT; NVML_NOT_SUPPORTED is one that this GPU does not have. */
#define NVML_PROFILE_V2_VERSION (sizeof(struct nvml_profile) | 2U << 24)
struct nvml_profile {
    uint32_t version; /* NVML_PROFILE_V2_VERSION, set by the caller */
    uint32_t id, p2p, slices, instances_max, multiprocessors, copy_engines, decoders, encoders, jpeg_engines,
        ofa_engines;
    uint64_t mem_mib;
    char name[NVML_NAME_BYTES]; /* "MIG 1g.5gb" */
};
_Static_assert(sizeof(struct nvml_profile) == 152, "as in nvml.h");

/* Those that older drivers lack may be NULL. */
struct nvml_functions {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int rc);
    int (*count)(unsigned *ret);
    int (*handle_by_index)(unsigned index, nvml_handle *ret);
    int (*uuid)(nvml_handle h, char *ret, unsigned size);
    int (*name)(nvml_handle h, char *ret, unsigned size);
    int (*minor)(nvml_handle h, unsigned *ret);
    int (*memory)(nvml_handle h, struct nvml_memory *ret);
    int (*memory_v2)(nvml_handle h, struct nvml_memory_v2 *ret);            /* NULL before 510 */
    int (*mig_mode)(nvml_handle h, unsigned *ret_now, unsigned *ret_later); /* this and the next before 450 */
    int (*mig_max)(nvml_handle h, unsigned *ret);
    int (*mig_by_index)(nvml_handle h, unsigned index, nvml_handle *ret);
    int (*attributes)(nvml_handle h, struct nvml_attributes *ret);
    int (*compute_instance_id)(nvml_handle h, unsigned *ret); /* of a MIG device */
    /* health.c; a driver without them tells of no errors */
    int (*set_create)(nvml_event_set *ret);
    int (*set_free)(nvml_event_set set);
    int (*set_wait)(nvml_event_set set, struct nvml_event *ret, unsigned timeout_ms);
    int (*event_types)(nvml_handle h, unsigned long long *ret);
    int (*register_events)(nvml_handle h, unsigned long long types, nvml_event_set set);
    int (*handle_by_uuid)(const char *uuid, nvml_handle *ret);
    int (*set_memory_limits)(nvml_handle h, struct nvml_set_memory_limits *limits); /* NULL before 615 */
    /* processes.c; a driver without them tells of no process */
    nvml_list_processes *compute_processes, *mps_processes, *graphics_processes;
    int (*utilization)(nvml_handle h, struct nvml_utilization_sample *ret, unsigned *n, uint64_t after_us);
    /* of a MIG instance; where it lies may be asked by a privileged process alone */
    int (*instance_id)(nvml_handle h, unsigned *ret);
    int (*instance_by_id)(nvml_handle gpu, unsigned id, nvml_handle *ret);
    int (*instance_info)(nvml_handle instance, struct nvml_instance *ret);
    int (*profile)(nvml_handle gpu, unsigned profile, struct nvml_profile *ret);
    int (*placements)(nvml_handle gpu, unsigned profile_id, struct nvml_placement *ret, unsigned *n); /* privileged */
    int (*compute_mode)(nvml_handle gpu, int *ret);
    int (*memory_affinity)(nvml_handle gpu, unsigned n, unsigned long *ret_nodes, unsigned scope);
    int (*p2p)(nvml_handle gpu, nvml_handle other, int what, int *ret_status);
};

/* The names of MIG devices and of profiles end in "MIG 1g.5gb". MIG_NO_PROFILE: of a form that we do not know. */
static inline uint16_t nvml_profile_of_name(struct str name)
{
    struct str rest = name, last = name;

    while (str_split(&rest, ' ', &last)) {
    }
    return mig_profile_parse(last);
}

struct nvml {
    void *library;
    const char *path;
    bool initialised;
    struct nvml_functions f;
};

/* open.c: how many GPUs there are. */
WARN_UNUSED int nvml_count(const struct nvml *n, unsigned *ret, struct err *reterr);

#endif
