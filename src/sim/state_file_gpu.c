/* gpus[] of a node, and who holds parts of them. */
#include "sim/state_file_internal.h"

#include "core/inventory/inventory.h"
#include "model/mig.h"

static void read_allocation(struct file_reader *f, uint32_t gpu)
{
    struct file_hold h = {
        .pod = {.node = (uint32_t)f->node_at, .dialect = ""}, .kind = GPU_REQUEST_KIND__MAX, .phases = 1, .gpu = gpu};
    struct json_reader *r = &f->json;
    struct str key;
    int64_t phases = 1;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "container")) {
            json_string(r, &h.container);
        } else if (str_eq_cstr(key, "init")) {
            json_bool(r, &h.init);
        } else if (str_eq_cstr(key, "kind")) {
            state_file_kind(r, &h.kind);
        } else if (str_eq_cstr(key, "phases")) {
            json_i64(r, &phases);
        } else if (str_eq_cstr(key, "editable")) {
            json_bool(r, &h.editable);
        } else if (str_eq_cstr(key, "record")) {
            h.granted = json_skip(r);
        } else if (str_eq_cstr(key, "milli")) {
            state_file_i64(r, 0, ASSIGNMENT_MILLI_MAX, &h.milli);
        } else if (str_eq_cstr(key, "qos")) {
            state_file_qos(r, &h.qos);
        } else if (str_eq_cstr(key, "askedMilli")) {
            state_file_i64(r, 0, DEVICE_MILLI, &h.asked_milli);
        } else if (str_eq_cstr(key, "askedMemMib")) {
            state_file_i64(r, 0, DEMAND_MEM_MIB_MAX, &h.asked_mem_mib);
        } else if (str_eq_cstr(key, "memMib")) {
            state_file_i64(r, 0, ASSIGNMENT_MEM_MIB_MAX, &h.mem_mib);
        } else if (!state_file_pod_key(f, key, &h.pod)) {
            json_skip(r);
        }
    }
    h.phases = (uint64_t)phases;
    state_file_require(f, h.pod.uid.n > 0, "an allocation without uid");
    state_file_require(f, h.phases != 0, "an allocation in no phase");
    f->holds = state_file_grow(f->holds, &f->hold_n, &f->hold_cap, sizeof(*f->holds));
    f->holds[f->hold_n - 1] = h;
}

static void read_raised(struct file_reader *f, uint32_t gpu)
{
    struct file_raised x = {.known = {.uuid = f->gpus[gpu].device.uuid, .index = f->gpus[gpu].device.index}};
    struct json_reader *r = &f->json;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "uid")) {
            json_string(r, &x.uid);
        } else if (str_eq_cstr(key, "milli")) {
            state_file_i32(r, 0, INT32_MAX, &x.known.charge.milli);
        } else if (str_eq_cstr(key, "memMib")) {
            state_file_i64(r, 0, INT64_MAX / 2, &x.known.charge.mem_mib);
        } else if (str_eq_cstr(key, "slots")) {
            state_file_i32(r, 0, INT32_MAX, &x.known.charge.slots);
        } else if (str_eq_cstr(key, "exclusive")) {
            json_bool(r, &x.known.charge.exclusive);
        } else {
            json_skip(r);
        }
    }
    f->raised = state_file_grow(f->raised, &f->raised_n, &f->raised_cap, sizeof(*f->raised));
    f->raised[f->raised_n - 1] = x;
}

/* Lists come behind the numbers of their GPU, as /state writes them: they are kept by its place. */
/* With a profile it is an instance, without one a GPU that has instances. */
static void read_gpu_mig(struct json_reader *r, struct device *d)
{
    struct str key;
    int32_t start = -1;

    d->profile = DEVICE_IN_MIG_MODE;
    d->gpu_index = -1;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "profile")) {
            state_file_profile(r, &d->profile);
        } else if (str_eq_cstr(key, "counted")) {
            json_bool(r, &d->counted);
        } else if (str_eq_cstr(key, "gpu")) {
            state_file_i32(r, 0, INVENTORY_INDEX_MAX, &d->gpu_index);
        } else if (str_eq_cstr(key, "start")) {
            state_file_i32(r, 0, MIG_SLOTS_MAX - 1, &start);
        } else {
            json_skip(r);
        }
    }
    d->start = (int8_t)start;
    if (d->profile == DEVICE_IN_MIG_MODE) {
        d->gpu_index = 0;
        d->start = 0;
    }
}

static void read_gpu_key(struct file_reader *f, struct str key, uint32_t gpu)
{
    struct file_gpu *g = &f->gpus[gpu];
    struct json_reader *r = &f->json;
    int64_t slots = 0;

    if (str_eq_cstr(key, "uuid")) {
        json_string(r, &g->device.uuid);
    } else if (str_eq_cstr(key, "index")) {
        state_file_i32(r, 0, INVENTORY_DEVICE_INDEX_MAX, &g->device.index);
    } else if (str_eq_cstr(key, "mig")) {
        read_gpu_mig(r, &g->device);
    } else if (str_eq_cstr(key, "model")) {
        json_string(r, &g->device.model);
    } else if (str_eq_cstr(key, "healthy")) {
        json_bool(r, &g->device.healthy);
    } else if (str_eq_cstr(key, "slice")) {
        json_bool(r, &g->device.slice);
    } else if (str_eq_cstr(key, "lost")) {
        json_bool(r, &g->lost);
    } else if (str_eq_cstr(key, "milli")) {
        state_file_amount(r, "capacity", INT32_MAX, &g->milli_cap);
    } else if (str_eq_cstr(key, "memMib")) {
        state_file_amount(r, "capacity", INT32_MAX, &g->mem_cap_mib);
    } else if (str_eq_cstr(key, "slots")) {
        state_file_amount(r, "capacity", INVENTORY_SLOTS_MAX, &slots);
        g->device.slot_n = (int32_t)slots;
    } else if (str_eq_cstr(key, "baseMemMib")) {
        state_file_i64(r, 0, DEMAND_MEM_MIB_MAX, &g->device.mem_mib);
    } else {
        json_skip(r);
    }
}

void state_file_decode_gpu(struct file_reader *f)
{
    struct json_reader *r = &f->json;
    uint32_t gpu = (uint32_t)f->gpu_n;
    struct str key;
    bool has_base = false;

    f->gpus = state_file_grow(f->gpus, &f->gpu_n, &f->gpu_cap, sizeof(*f->gpus));
    f->gpus[gpu] = (struct file_gpu){.device = {.index = -1, .minor = -1, .numa = -1}, .milli_cap = -1};
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "allocations")) {
            for (json_array_begin(r); json_array_next(r);) {
                read_allocation(f, gpu);
            }
        } else if (str_eq_cstr(key, "raised")) {
            for (json_array_begin(r); json_array_next(r);) {
                read_raised(f, gpu);
            }
        } else {
            has_base = has_base || str_eq_cstr(key, "baseMemMib");
            read_gpu_key(f, key, gpu);
        }
    }
    state_file_require(f, f->gpus[gpu].device.index >= 0, "a GPU without index");
    state_file_require(f, f->gpus[gpu].milli_cap >= 0, "a GPU without milli");
    state_file_require(f, has_base, "a GPU without baseMemMib: the document is of a version that did not say it");
}
