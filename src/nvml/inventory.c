#include "nvml/inventory.h"

#include "model/mig.h"
#include "nvml/library.h"

#include <stdint.h>
#include <string.h>

struct reading {
    const struct nvml_functions *f;
    struct arena *a;
    struct device devices[DEVICES_PER_NODE_MAX];
    size_t n;
    size_t unreadable_n;
    bool too_many;
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

static void add(struct reading *r, const struct device *d)
{
    if (r->n == DEVICES_PER_NODE_MAX) {
        r->too_many = true;
        return;
    }
    r->devices[r->n++] = *d;
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

/* Their names end in "MIG 1g.5gb". */
static uint16_t profile_of_name(struct str name)
{
    struct str rest = name, last = name;

    while (str_split(&rest, ' ', &last)) {
    }
    return mig_profile_parse(last);
}

static bool read_instance(struct reading *r, nvml_handle h, const struct device *gpu, struct device *ret)
{
    struct nvml_attributes attributes;
    struct str name;

    *ret = (struct device){.index = -1,
                           .minor = gpu->minor,
                           .model = gpu->model,
                           .slot_n = 1,
                           .numa = -1,
                           .healthy = true,
                           .gpu_index = gpu->index,
                           .start = -1};
    if (!read_uuid(r, h, &ret->uuid) || !read_name(r, h, &name) || r->f->attributes(h, &attributes) != NVML_OK) {
        return false;
    }
    ret->mem_mib = (int64_t)attributes.mem_mib;
    ret->profile = profile_of_name(name);
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
        if (rc == NVML_OK && read_instance(r, h, gpu, &d)) {
            add(r, &d);
        } else {
            r->unreadable_n++;
        }
    }
}

/* ---- GPUs ---- */

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
    ret->profile = is_in_mig_mode(r, h) ? DEVICE_IN_MIG_MODE : 0;
    return true;
}

static void read_index(struct reading *r, unsigned index)
{
    struct device d;
    nvml_handle h;

    if (r->f->handle_by_index(index, &h) != NVML_OK || !read_gpu(r, h, index, &d)) {
        r->unreadable_n++;
        return;
    }
    add(r, &d);
    if (d.profile == DEVICE_IN_MIG_MODE) {
        read_instances(r, h, &d);
    }
}

int nvml_read_devices(const struct nvml *n, struct arena *a, const struct device **ret, size_t *ret_n,
                      size_t *ret_unreadable_n, struct err *reterr)
{
    struct reading r = {.f = &n->f, .a = a};
    struct device *kept;
    unsigned count = 0;
    int rc = n->f.count(&count);

    if (rc != NVML_OK) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s does not say how many GPUs there are: %s (%d)", n->path,
                       n->f.error_text(rc), rc);
    }
    for (unsigned i = 0; i < count && !r.too_many; i++) {
        read_index(&r, i);
    }
    kept = ARENA_ARRAY(a, r.n + 1, struct device);
    if (r.too_many || kept == NULL || a->overflowed) {
        return err_set(reterr, ERR_LIMIT,
                       "this machine has more than %d GPUs and MIG instances, or their names are too "
                       "long",
                       DEVICES_PER_NODE_MAX);
    }
    memcpy(kept, r.devices, r.n * sizeof(*kept));
    *ret = kept;
    *ret_n = r.n;
    *ret_unreadable_n = r.unreadable_n;
    return 0;
}
