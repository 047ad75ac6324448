/* nodes[] of a document. */
#include "sim/state_file_internal.h"

#include "core/inventory/inventory.h"

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

static void read_whole(struct file_reader *f, struct file_node *n)
{
    struct json_reader *r = &f->json;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "capacity")) {
            state_file_i32(r, 0, DEMAND_PLUGIN_MANAGED_MAX, &n->plugin_managed_n);
        } else if (str_eq_cstr(key, "unitsPerGpu")) {
            state_file_i32(r, 2, 1000000, &n->plugin_managed_per_gpu);
        } else if (str_eq_cstr(key, "oneToAContainer")) {
            json_bool(r, &n->plugin_managed_one);
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
            state_file_i32(r, 1000, 10000, &n->overcommit_milli);
        } else if (str_eq_cstr(key, "memory")) {
            state_file_i32(r, 1000, 10000, &n->overcommit_mem_milli);
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
        state_file_decode_gpu(f);
    }
    if (!json_failed(&f->json)) {
        f->gpu_at = -1;
    }
    n->gpu_n = (uint32_t)f->gpu_n - n->first_gpu;
    state_file_require(f, n->gpu_n <= DEVICES_PER_NODE_MAX, "a node with more than 64 GPUs");
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

void state_file_decode_node(struct file_reader *f)
{
    struct file_node n = {.described = true, .schedulable = true, .memory_only = MEMORY_ONLY__MAX};
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
        } else if (str_eq_cstr(key, "elsewhere")) {
            json_bool(r, &n.elsewhere);
        } else if (str_eq_cstr(key, "unmeasured")) {
            json_bool(r, &n.unmeasured);
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
    state_file_require(f, n.name.n > 0, "a node without name");
    n.lending = lends ? LEND_ALLOW : LEND_FORBID;
    n.note = note.n > 0 ? arena_cstr(f->arena, note) : NULL;
    f->nodes = state_file_grow(f->nodes, &f->node_n, &f->node_cap, sizeof(*f->nodes));
    f->nodes[f->node_n - 1] = n;
}
