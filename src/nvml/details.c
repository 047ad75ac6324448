#include "nvml/inventory.h"
#include "nvml/library.h"

#include "base/compiler.h"

#include <string.h>

#define PROFILES_MAX 64   /* numbers that a library is asked for */
#define PLACEMENTS_MAX 32 /* of one profile; NVML writes as many as there are, which are at most its slots */

struct handles {
    nvml_handle of[DEVICES_PER_NODE_MAX]; /* by NVML index; NULL: cannot be reached now */
};

static bool is_gpu(const struct device *d)
{
    return d->profile == 0 || d->profile == DEVICE_IN_MIG_MODE;
}

static void find_handles(const struct nvml_functions *f, const struct device *devices, size_t n, struct handles *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < n; i++) {
        const int32_t index = devices[i].index;
        nvml_handle h;

        if (is_gpu(&devices[i]) && index >= 0 && index < DEVICES_PER_NODE_MAX &&
            f->handle_by_index((unsigned)index, &h) == NVML_OK) {
            ret->of[index] = h;
        }
    }
}

static enum compute_mode compute_mode_of(const struct nvml_functions *f, nvml_handle h)
{
    static const enum compute_mode modes[] = {COMPUTE_MODE_DEFAULT, COMPUTE_MODE_UNKNOWN, COMPUTE_MODE_PROHIBITED,
                                              COMPUTE_MODE_EXCLUSIVE_PROCESS};
    int mode;

    if (f->compute_mode == NULL || f->compute_mode(h, &mode) != NVML_OK || mode < 0 || mode >= (int)ARRAY_LEN(modes)) {
        return COMPUTE_MODE_UNKNOWN;
    }
    return modes[mode];
}

static uint64_t nvlinked_of(const struct nvml_functions *f, const struct handles *handles, int32_t index)
{
    uint64_t found = 0;

    for (int32_t i = 0; f->p2p != NULL && i < DEVICES_PER_NODE_MAX; i++) {
        int status;

        if (i != index && handles->of[i] != NULL &&
            f->p2p(handles->of[index], handles->of[i], NVML_P2P_NVLINK, &status) == NVML_OK && status == NVML_P2P_OK) {
            found |= UINT64_C(1) << i;
        }
    }
    return found;
}

/* ---- what a GPU can be cut into ---- */

/* False: not to be used, because its places are not known. */
static bool read_places(const struct nvml_functions *f, nvml_handle h, unsigned id, struct mig_shape *shape)
{
    struct nvml_placement places[PLACEMENTS_MAX];
    unsigned n = 0;

    if (f->placements(h, id, NULL, &n) != NVML_OK || n == 0 || n > PLACEMENTS_MAX) {
        return false;
    }
    memset(places, 0, sizeof(places));
    if (f->placements(h, id, places, &n) != NVML_OK || n > PLACEMENTS_MAX) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (places[i].size == 0 || places[i].size != places[0].size || places[i].start >= MIG_SLOTS_MAX ||
            places[i].size > MIG_SLOTS_MAX - places[i].start) {
            return false;
        }
        shape->starts |= (uint8_t)(1U << places[i].start);
    }
    shape->size = (uint8_t)places[0].size;
    return n > 0;
}

static bool read_shape(const struct nvml_functions *f, nvml_handle h, const struct nvml_profile *p,
                       struct mig_shape *ret)
{
    const struct str name = {p->name, strnlen(p->name, sizeof(p->name))};

    *ret = (struct mig_shape){.profile = nvml_profile_of_name(name),
                              .max = (uint8_t)(p->instances_max < MIG_SLOTS_MAX ? p->instances_max : MIG_SLOTS_MAX),
                              .mem_mib = p->mem_mib < INT32_MAX ? (int32_t)p->mem_mib : 0};
    return ret->profile != MIG_NO_PROFILE && read_places(f, h, p->id, ret);
}

static void read_shapes(const struct nvml_functions *f, nvml_handle h, struct arena *a, struct gpu_details *d)
{
    struct mig_shape shapes[PROFILES_MAX], *kept;
    size_t n = 0;

    for (unsigned i = 0; f->profile != NULL && f->placements != NULL && i < PROFILES_MAX; i++) {
        struct nvml_profile p = {.version = NVML_PROFILE_V2_VERSION};
        const int rc = f->profile(h, i, &p);

        if (rc == NVML_INVALID_ARGUMENT) { /* there are no more */
            break;
        }
        if (rc == NVML_OK && read_shape(f, h, &p, &shapes[n])) {
            n++;
        }
    }
    kept = ARENA_ARRAY(a, n + 1, struct mig_shape);
    if (kept != NULL) {
        memcpy(kept, shapes, n * sizeof(*kept));
        d->shapes = kept;
        d->shape_n = n;
    }
}

const struct gpu_details *nvml_read_details(const struct nvml *n, const struct device *devices, size_t device_n,
                                            struct arena *a)
{
    struct gpu_details *all = ARENA_ARRAY(a, device_n + 1, struct gpu_details);
    struct handles handles;

    if (all == NULL) {
        return NULL;
    }
    find_handles(&n->f, devices, device_n, &handles);
    for (size_t i = 0; i < device_n; i++) {
        const struct device *d = &devices[i];
        nvml_handle h = is_gpu(d) && d->index >= 0 && d->index < DEVICES_PER_NODE_MAX ? handles.of[d->index] : NULL;

        if (h != NULL) {
            all[i].compute_mode = compute_mode_of(&n->f, h);
            all[i].nvlinked = nvlinked_of(&n->f, &handles, d->index);
            if (d->profile == DEVICE_IN_MIG_MODE) {
                read_shapes(&n->f, h, a, &all[i]);
            }
        }
    }
    return a->overflowed ? NULL : all;
}
