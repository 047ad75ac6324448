/* nvml/library.h - what of NVML we call: symbols, structs, return codes.
 *
 * Facts from nvml.h of the driver (the copy in NVIDIA's go-nvml). The header's macros map unversioned names to
 * versioned ones, dlsym does not; so the names here are the exported ones. Sizes are those of x86-64 and arm64.
 */
#ifndef NVML_LIBRARY_H
#define NVML_LIBRARY_H

#include <stdint.h>

#define NVML_UUID_BYTES 96
#define NVML_NAME_BYTES 96

/* nvmlReturn_t */
enum {
    NVML_OK = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
};

#define NVML_MIG_ENABLED 1

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
};

struct nvml {
    void *library;
    const char *path;
    struct nvml_functions f;
};

#endif
