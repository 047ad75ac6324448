#include "nvml/inventory.h"

#include "base/compiler.h"
#include "model/mig.h"
#include "nvml/library.h"

#include <stdint.h>
#include <string.h>

#define NUMA_NODES_MAX 1024

struct reading {
    const struct nvml_functions *f;
    struct arena *a;
    struct device devices[DEVICES_PER_NODE_MAX];
    size_t n;
    size_t unreadable_n;
    /* Of DEVICES_PER_NODE_MAX: those that are taken, and those that are kept for GPUs which are still to be read. What
     * cannot be read takes one, too: nvml_watch_look may see it, and nothing may be here that it has no place for. */
    size_t place_n, later_gpu_n;
};

static int64_t mib_of(uint64_t bytes)
{
    return (int64_t)(bytes >> 20);
}

/* NVML writes a NUL, or the answer is not an answer. */
static struct str text_of(struct arena *a, const char *text, size_t size)
{
    const size_t n = strnlen(text, size);

    return n == 0 || n == size ? STR_NULL : arena_str(a, (struct str){text, n});
}

static bool read_uuid(struct reading *r, nvml_handle h, struct str *ret)
{
    char text[NVML_UUID_BYTES] = "";

    if (r->f->uuid(h, text, sizeof(text)) != NVML_OK) {
        return false;
    }
    *ret = text_of(r->a, text, sizeof(text));
    return ret->p != NULL;
}

static bool read_name(struct reading *r, nvml_handle h, struct str *ret)
{
    char text[NVML_NAME_BYTES] = "";

    if (r->f->name(h, text, sizeof(text)) != NVML_OK) {
        return false;
    }
    *ret = text_of(r->a, text, sizeof(text));
    return ret->p != NULL;
}

static bool read_memory(const struct reading *r, nvml_handle h, int64_t *ret_mib)
{
    struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2_VERSION};
    struct nvml_memory v1;

    if (r->f->memory_v2 != NULL && r->f->memory_v2(h, &v2) == NVML_OK) {
        *ret_mib = mib_of(v2.total > v2.reserved ? v2.total - v2.reserved : 0);
        return true;
    }
    if (r->f->memory(h, &v1) == NVML_OK) {
        *ret_mib = mib_of(v1.total);
        return true;
    }
    return false;
}

static bool take_place(struct reading *r)
{
    if (r->place_n + r->later_gpu_n >= DEVICES_PER_NODE_MAX) {
        return false;
    }
    r->place_n++;
    return true;
}

/* ---- MIG ---- */

static bool has_mig(const struct nvml_functions *f)
{
    return f->mig_mode != NULL && f->mig_max != NULL && f->mig_by_index != NULL && f->attributes != NULL;
}

static bool is_in_mig_mode(const struct reading *r, nvml_handle h)
{
    unsigned now = 0, later = 0;

    return has_mig(r->f) && r->f->mig_mode(h, &now, &later) == NVML_OK && now == NVML_MIG_ENABLED;
}

/* Where the instance lies, as far as this process may ask. */
static int8_t start_of(const struct nvml_functions *f, nvml_handle gpu, nvml_handle h)
{
    struct nvml_instance info = {.gpu = NULL};
    nvml_handle instance;
    unsigned id;

    if (f->instance_id == NULL || f->instance_by_id == NULL || f->instance_info == NULL ||
        f->instance_id(h, &id) != NVML_OK || f->instance_by_id(gpu, id, &instance) != NVML_OK ||
        f->instance_info(instance, &info) != NVML_OK || info.placement.start >= MIG_SLOTS_MAX) {
        return -1;
    }
    return (int8_t)info.placement.start;
}

static bool read_instance(struct reading *r, nvml_handle gpu_handle, nvml_handle h, const struct device *gpu,
                          struct device *ret)
{
    struct nvml_attributes attributes;
    struct str name;

    *ret = (struct device){.index = -1,
                           .minor = gpu->minor,
                           .model = gpu->model,
                           .slot_n = 1,
                           .numa = gpu->numa,
                           .healthy = true,
                           .gpu_index = gpu->index,
                           .start = start_of(r->f, gpu_handle, h)};
    if (ret->start >= 0) {
        ret->index = DEVICE_INSTANCE_INDEX(gpu->index, ret->start);
    }
    if (!read_uuid(r, h, &ret->uuid) || !read_name(r, h, &name) || r->f->attributes(h, &attributes) != NVML_OK) {
        return false;
    }
    ret->mem_mib = (int64_t)attributes.mem_mib;
    ret->profile = nvml_profile_of_name(name);
    return ret->profile != MIG_NO_PROFILE;
}

static void read_instances(struct reading *r, nvml_handle gpu_handle, const struct device *gpu)
{
    unsigned max = 0;

    if (r->f->mig_max(gpu_handle, &max) != NVML_OK) {
        r->unreadable_n++;
        return;
    }
    for (unsigned i = 0; i < max; i++) {
        struct device d;
        nvml_handle h;
        int rc = r->f->mig_by_index(gpu_handle, i, &h);

        if (rc == NVML_NOT_FOUND) { /* a hole */
            continue;
        }
        if (take_place(r) && rc == NVML_OK && read_instance(r, gpu_handle, h, gpu, &d)) {
            r->devices[r->n++] = d;
        } else {
            r->unreadable_n++;
        }
    }
}

/* ---- GPUs ---- */

/* The one NUMA node whose memory is nearest; of several none is. */
static int32_t numa_of(const struct nvml_functions *f, nvml_handle h)
{
    enum { BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[NUMA_NODES_MAX / BITS] = {0};
    int32_t found = -1;

    if (f->memory_affinity == NULL ||
        f->memory_affinity(h, ARRAY_LEN(nodes), nodes, NVML_AFFINITY_OF_NODE) != NVML_OK) {
        return -1;
    }
    for (int32_t i = 0; i < NUMA_NODES_MAX; i++) {
        if ((nodes[i / BITS] >> i % BITS & 1) != 0) {
            if (found >= 0) {
                return -1;
            }
            found = i;
        }
    }
    return found;
}

static bool read_gpu(struct reading *r, nvml_handle h, unsigned index, struct device *ret)
{
    unsigned minor = 0;

    *ret = (struct device){
        .index = (int32_t)index, .slot_n = INT32_MAX, .numa = -1, .healthy = true, .gpu_index = -1, .start = -1};
    if (!read_uuid(r, h, &ret->uuid) || !read_name(r, h, &ret->model) || !read_memory(r, h, &ret->mem_mib) ||
        r->f->minor(h, &minor) != NVML_OK) {
        return false;
    }
    ret->minor = (int32_t)minor;
    ret->numa = numa_of(r->f, h);
    ret->profile = is_in_mig_mode(r, h) ? DEVICE_IN_MIG_MODE : 0;
    return true;
}

static void read_index(struct reading *r, unsigned index)
{
    struct device d;
    nvml_handle h;

    if (!take_place(r) || r->f->handle_by_index(index, &h) != NVML_OK || !read_gpu(r, h, index, &d)) {
        r->unreadable_n++;
        return;
    }
    r->devices[r->n++] = d;
    if (d.profile == DEVICE_IN_MIG_MODE) {
        read_instances(r, h, &d);
    }
}

int nvml_read_devices(const struct nvml *n, struct arena *a, const struct device **ret, size_t *ret_n,
                      size_t *ret_unreadable_n, struct err *reterr)
{
    struct reading r = {.f = &n->f, .a = a};
    struct device *kept;
    unsigned count = 0, first_n;
    const int rc = nvml_count(n, &count, reterr);

    if (rc != 0) {
        return rc;
    }
    first_n = count < DEVICES_PER_NODE_MAX ? count : DEVICES_PER_NODE_MAX;
    for (unsigned i = 0; i < first_n; i++) {
        r.later_gpu_n = first_n - i - 1;
        read_index(&r, i);
    }
    r.unreadable_n += count - first_n;
    kept = ARENA_ARRAY(a, r.n + 1, struct device);
    if (kept == NULL || a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the names of this machine's GPUs and MIG instances are too long");
    }
    memcpy(kept, r.devices, r.n * sizeof(*kept));
    *ret = kept;
    *ret_n = r.n;
    *ret_unreadable_n = r.unreadable_n;
    return 0;
}
