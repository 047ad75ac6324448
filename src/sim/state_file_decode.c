/* The document of /state, key by key. */
#include "sim/state_file_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "core/assignment.h"
#include "core/inventory.h"
#include "core/mig.h"
#include "core/qos.h"

#include <stdlib.h>

void *state_file_grow(void *items, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        *cap = *cap == 0 ? 256 : *cap * 2;
        items = xreallocarray(items, *cap, size);
    }
    ++*n;
    return items;
}

/* ---- values ---- */

bool state_file_i64(struct json_reader *r, int64_t min, int64_t max, int64_t *ret)
{
    int64_t v = 0;

    if (!json_i64(r, &v)) {
        return false;
    }
    if (v < min || v > max) {
        json_fail(r, ERR_INVALID, "a number out of its range");
        return false;
    }
    *ret = v;
    return true;
}

static void read_i32(struct json_reader *r, int64_t min, int64_t max, int32_t *ret)
{
    int64_t v = 0;

    if (state_file_i64(r, min, max, &v)) {
        *ret = (int32_t)v;
    }
}

void state_file_profile(struct json_reader *r, uint16_t *ret)
{
    struct str text = STR_NULL;

    if (json_string(r, &text)) {
        *ret = mig_profile_parse(text);
        if (*ret == MIG_NO_PROFILE) {
            json_fail(r, ERR_INVALID, "a MIG profile that this version does not know");
        }
    }
}

/* The number under `want` of {"capacity", "charged", "free"}. */
static void read_amount(struct json_reader *r, const char *want, int64_t max, int64_t *ret)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, want)) {
            state_file_i64(r, 0, max, ret);
        } else {
            json_skip(r);
        }
    }
}

static void read_source(struct json_reader *r, enum inventory_source *ret)
{
    struct str text = STR_NULL;

    json_string(r, &text);
    for (int i = 0; !json_failed(r) && i < INVENTORY_SOURCE__MAX; i++) {
        if (str_eq_cstr(text, inventory_source_name((enum inventory_source)i))) {
            *ret = (enum inventory_source)i;
            return;
        }
    }
    json_fail(r, ERR_INVALID, "a source of GPUs that this version does not know");
}

void state_file_kind(struct json_reader *r, enum wish_kind *ret)
{
    struct str text = STR_NULL;

    json_string(r, &text);
    for (int i = 0; !json_failed(r) && i < WISH_KIND__MAX; i++) {
        if (str_eq_cstr(text, wish_kind_name((enum wish_kind)i))) {
            *ret = (enum wish_kind)i;
            return;
        }
    }
    json_fail(r, ERR_INVALID, "a kind of request that this version does not know");
}

void state_file_qos(struct json_reader *r, enum qos *ret)
{
    struct str text = STR_NULL;

    if (json_string(r, &text) && !qos_parse(text, ret)) {
        json_fail(r, ERR_INVALID, "a quality of service that this version does not know");
    }
}

static void read_time(struct json_reader *r, int64_t *ret)
{
    struct str text = STR_NULL;

    if (json_string(r, &text) && !clock_rfc3339_parse(text, ret)) {
        json_fail(r, ERR_INVALID, "not a time");
    }
}

static void require(struct file_reader *f, bool there, const char *why)
{
    if (!there && !json_failed(&f->json)) {
        json_fail(&f->json, ERR_INVALID, why);
    }
}

/* ---- nodes ---- */

static void read_allocation(struct file_reader *f, uint32_t gpu)
{
    struct file_hold h = {.pod = {.node = (uint32_t)f->node_at, .dialect = ""},
                          .kind = WISH_KIND__MAX,
                          .phases = 1,
                          .gpu = gpu};
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
    require(f, h.pod.uid.n > 0, "an allocation without uid");
    require(f, h.phases != 0, "an allocation in no phase");
    f->holds = state_file_grow(f->holds, &f->hold_n, &f->hold_cap, sizeof(*f->holds));
    f->holds[f->hold_n - 1] = h;
}

static void read_raised(struct file_reader *f, uint32_t gpu)
{
    struct file_raised x = {
        .known = {.uuid = f->gpus[gpu].device.uuid, .index = f->gpus[gpu].device.index}};
    struct json_reader *r = &f->json;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "uid")) {
            json_string(r, &x.uid);
        } else if (str_eq_cstr(key, "milli")) {
            read_i32(r, 0, INT32_MAX, &x.known.charge.milli);
        } else if (str_eq_cstr(key, "memMib")) {
            state_file_i64(r, 0, INT64_MAX / 2, &x.known.charge.mem_mib);
        } else if (str_eq_cstr(key, "slots")) {
            read_i32(r, 0, INT32_MAX, &x.known.charge.slots);
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
            read_i32(r, 0, INVENTORY_INDEX_MAX, &d->gpu_index);
        } else if (str_eq_cstr(key, "start")) {
            read_i32(r, 0, MIG_SLOTS_MAX - 1, &start);
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

static void read_node_mig(struct json_reader *r, struct file_node *n)
{
    struct str key, text = STR_NULL;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "changing")) {
            json_bool(r, &n->mig_changing);
        } else if (str_eq_cstr(key, "strategy")) {
            json_string(r, &text);
        } else {
            json_skip(r);
        }
    }
    n->mig_single = str_eq_cstr(text, "single");
}

static void read_gpu_key(struct file_reader *f, struct str key, uint32_t gpu)
{
    struct file_gpu *g = &f->gpus[gpu];
    struct json_reader *r = &f->json;
    int64_t slots = 0;

    if (str_eq_cstr(key, "uuid")) {
        json_string(r, &g->device.uuid);
    } else if (str_eq_cstr(key, "index")) {
        read_i32(r, 0, INVENTORY_DEVICE_INDEX_MAX, &g->device.index);
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
        read_amount(r, "capacity", INT32_MAX, &g->milli_cap);
    } else if (str_eq_cstr(key, "memMib")) {
        read_amount(r, "capacity", INT32_MAX, &g->mem_cap_mib);
    } else if (str_eq_cstr(key, "slots")) {
        read_amount(r, "capacity", INVENTORY_SLOTS_MAX, &slots);
        g->device.slot_n = (int32_t)slots;
    } else if (str_eq_cstr(key, "baseMemMib")) {
        state_file_i64(r, 0, DEMAND_MEM_MIB_MAX, &g->device.mem_mib);
    } else {
        json_skip(r);
    }
}

static void read_gpu(struct file_reader *f)
{
    struct json_reader *r = &f->json;
    uint32_t gpu = (uint32_t)f->gpu_n;
    struct str key;
    bool has_base = false;

    f->gpus = state_file_grow(f->gpus, &f->gpu_n, &f->gpu_cap, sizeof(*f->gpus));
    f->gpus[gpu] =
        (struct file_gpu){.device = {.index = -1, .minor = -1, .numa = -1}, .milli_cap = -1};
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
    require(f, f->gpus[gpu].device.index >= 0, "a GPU without index");
    require(f, f->gpus[gpu].milli_cap >= 0, "a GPU without milli");
    require(f, has_base,
            "a GPU without baseMemMib: the document is of a version that did not say it");
}

static void read_whole(struct file_reader *f, struct file_node *n)
{
    struct json_reader *r = &f->json;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "capacity")) {
            read_i32(r, 0, DEMAND_UNSTEERED_MAX, &n->unsteered_n);
        } else if (str_eq_cstr(key, "unitsPerGpu")) {
            read_i32(r, 2, 1000000, &n->unsteered_per_gpu);
        } else if (str_eq_cstr(key, "oneToAContainer")) {
            json_bool(r, &n->unsteered_one);
        } else if (str_eq_cstr(key, "allocations")) {
            for (json_array_begin(r); json_array_next(r);) {
                state_file_decode_pod(f, (uint32_t)f->node_at);
            }
        } else {
            json_skip(r);
        }
    }
}

static void read_factors(struct file_reader *f, struct file_node *n)
{
    struct json_reader *r = &f->json;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "compute")) {
            read_i32(r, 1000, 10000, &n->overcommit_milli);
        } else if (str_eq_cstr(key, "memory")) {
            read_i32(r, 1000, 10000, &n->overcommit_mem_milli);
        } else {
            json_skip(r);
        }
    }
}

static void read_memory_only(struct json_reader *r, enum memory_only_mode *ret)
{
    struct str name = STR_NULL;

    json_string(r, &name);
    if (str_eq_cstr(name, "share") || str_eq_cstr(name, "free")) {
        *ret = name.p[0] == 's' ? MEMORY_ONLY_SHARE : MEMORY_ONLY_FREE;
    } else {
        json_fail(r, ERR_INVALID, "memoryOnly is neither share nor free");
    }
}

static void read_gpus(struct file_reader *f, struct file_node *n)
{
    n->first_gpu = (uint32_t)f->gpu_n;
    json_array_begin(&f->json);
    for (f->gpu_at = 0; json_array_next(&f->json); f->gpu_at += !json_failed(&f->json)) {
        read_gpu(f);
    }
    if (!json_failed(&f->json)) {
        f->gpu_at = -1;
    }
    n->gpu_n = (uint32_t)f->gpu_n - n->first_gpu;
    require(f, n->gpu_n <= DEVICES_PER_NODE_MAX, "a node with more than 64 GPUs");
}

static void read_host_amount(struct json_reader *r, int32_t *ret_cap, int32_t *ret_taken)
{
    int64_t capacity = 0, free = 0, taken;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "capacity")) {
            state_file_i64(r, 1, INT32_MAX, &capacity);
        } else if (str_eq_cstr(key, "free")) {
            state_file_i64(r, INT32_MIN, INT32_MAX, &free);
        } else {
            json_skip(r);
        }
    }
    taken = capacity - free;
    *ret_cap = (int32_t)capacity;
    *ret_taken = taken < 0 ? 0 : taken > INT32_MAX ? INT32_MAX : (int32_t)taken;
}

static void read_host(struct file_reader *f, struct file_node *n)
{
    struct json_reader *r = &f->json;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "cpuMilli")) {
            read_host_amount(r, &n->host.cpu_milli, &n->host_taken.cpu_milli);
        } else if (str_eq_cstr(key, "memMib")) {
            read_host_amount(r, &n->host.mem_mib, &n->host_taken.mem_mib);
        } else {
            json_skip(r);
        }
    }
}

static void read_node(struct file_reader *f)
{
    struct file_node n = {
        .described = true, .schedulable = true, .memory_only = MEMORY_ONLY__MAX};
    struct json_reader *r = &f->json;
    struct str key, note = STR_NULL;
    bool lends = true;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "name")) {
            json_string(r, &n.name);
        } else if (str_eq_cstr(key, "uid")) {
            json_string(r, &n.uid);
        } else if (str_eq_cstr(key, "described")) {
            json_bool(r, &n.described);
        } else if (str_eq_cstr(key, "schedulable")) {
            json_bool(r, &n.schedulable);
        } else if (str_eq_cstr(key, "closed")) {
            json_bool(r, &n.closed);
        } else if (str_eq_cstr(key, "source")) {
            read_source(r, &n.source);
        } else if (str_eq_cstr(key, "note")) {
            json_string(r, &note);
        } else if (str_eq_cstr(key, "overCommitMilli")) {
            read_factors(f, &n);
        } else if (str_eq_cstr(key, "memoryOnly")) {
            read_memory_only(r, &n.memory_only);
        } else if (str_eq_cstr(key, "qos")) {
            state_file_qos(r, &n.qos);
        } else if (str_eq_cstr(key, "lendsIdleCompute")) {
            json_bool(r, &lends);
        } else if (str_eq_cstr(key, "host")) {
            read_host(f, &n);
        } else if (str_eq_cstr(key, "wholeGpus")) {
            read_whole(f, &n);
        } else if (str_eq_cstr(key, "mig")) {
            read_node_mig(r, &n);
        } else if (str_eq_cstr(key, "gpus")) {
            read_gpus(f, &n);
        } else if (str_eq_cstr(key, "unplaced")) {
            for (json_array_begin(r); json_array_next(r);) {
                state_file_decode_pod(f, (uint32_t)f->node_at);
            }
        } else {
            json_skip(r);
        }
    }
    require(f, n.name.n > 0, "a node without name");
    n.lending = lends ? LEND_ALLOW : LEND_FORBID;
    n.note = note.n > 0 ? arena_cstr(f->arena, note) : NULL;
    f->nodes = state_file_grow(f->nodes, &f->node_n, &f->node_cap, sizeof(*f->nodes));
    f->nodes[f->node_n - 1] = n;
}

/* ---- pods ---- */

bool state_file_pod_key(struct file_reader *f, struct str key, struct file_pod *pod)
{
    struct json_reader *r = &f->json;
    struct str text = STR_NULL;

    if (str_eq_cstr(key, "uid")) {
        json_string(r, &pod->uid);
    } else if (str_eq_cstr(key, "namespace")) {
        json_string(r, &pod->namespace_);
    } else if (str_eq_cstr(key, "pod")) {
        json_string(r, &pod->name);
    } else if (str_eq_cstr(key, "decision")) {
        json_string(r, &pod->decision);
    } else if (str_eq_cstr(key, "since")) {
        read_time(r, &pod->since_ms);
    } else if (str_eq_cstr(key, "state")) {
        json_string(r, &text);
        pod->deleting = str_eq_cstr(text, "terminating");
    } else if (str_eq_cstr(key, "dialect")) {
        json_string(r, &text);
        pod->dialect = state_file_dialect(f, text);
    } else {
        return false;
    }
    return true;
}

/* ---- the document ---- */

static void read_metadata(struct file_reader *f)
{
    struct json_reader *r = &f->json;
    struct str key;
    int64_t generation = 0;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "generation")) {
            state_file_i64(r, 0, INT64_MAX, &generation);
        } else if (str_eq_cstr(key, "asOf")) {
            read_time(r, &f->file->as_of_ms);
        } else {
            json_skip(r);
        }
    }
    f->file->generation = (uint64_t)generation;
}

static void read_nodes(struct file_reader *f)
{
    f->section = "nodes";
    json_array_begin(&f->json);
    for (f->node_at = 0; json_array_next(&f->json); f->node_at += !json_failed(&f->json)) {
        read_node(f);
    }
    f->has_nodes = true;
}

static void read_pending(struct file_reader *f)
{
    f->section = "pending";
    json_array_begin(&f->json);
    for (f->node_at = 0; json_array_next(&f->json); f->node_at += !json_failed(&f->json)) {
        state_file_decode_pod(f, FILE_NONE);
    }
    f->has_pending = true;
}

static void read_head_key(struct file_reader *f, struct str key, bool *ret_is_state)
{
    struct json_reader *r = &f->json;
    struct str text = STR_NULL;

    if (str_eq_cstr(key, "apiVersion")) {
        json_string(r, &text);
        require(f, str_eq_cstr(text, "state.fgpu.io/v1alpha1"),
                "apiVersion is not state.fgpu.io/v1alpha1");
    } else if (str_eq_cstr(key, "kind")) {
        json_string(r, &text);
        *ret_is_state = str_eq_cstr(text, "State");
    } else {
        json_skip(r);
    }
}

void state_file_decode(struct file_reader *f)
{
    struct json_reader *r = &f->json;
    struct str key;
    bool is_state = false;

    f->node_at = f->gpu_at = -1;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        f->section = NULL;
        f->node_at = f->gpu_at = -1;
        if (str_eq_cstr(key, "metadata")) {
            read_metadata(f);
        } else if (str_eq_cstr(key, "nodes")) {
            read_nodes(f);
        } else if (str_eq_cstr(key, "pending")) {
            read_pending(f);
        } else if (str_eq_cstr(key, "summary")) {
            state_file_decode_summary(f);
        } else if (str_eq_cstr(key, "configuration")) {
            json_raw(r, &f->configuration);
        } else if (str_eq_cstr(key, "fileConfiguration")) {
            json_raw(r, &f->file_configuration);
        } else {
            read_head_key(f, key, &is_state);
        }
    }
    if (!json_failed(r)) { /* else they say where */
        f->section = NULL;
        f->node_at = f->gpu_at = -1;
    }
    require(f, is_state, "not a document of /state: kind is not State");
    require(f, f->has_nodes && f->has_pending && f->configuration.n > 0,
            "not a whole document: save /state without node, namespace and fields");
}
