/* nodes[] of a document, and their gpus[]. */
#include "sim/state_file_internal.h"

#include "core/inventory/inventory.h"
#include "model/mig.h"

/* ---- GPUs ---- */

/* With a profile it is an instance, without one a GPU that has instances. */
static void read_gpu_mig(struct json_reader *r, void *to)
{
    struct device *d = to;
    int32_t start = -1;

    d->profile = DEVICE_IN_MIG_MODE;
    d->gpu_index = -1;
    json_members(r, JSON_MEMBERS({"profile", .read = state_file_profile, .to = &d->profile},
                                 {"counted", .flag = &d->counted},
                                 {"gpu", .i32 = &d->gpu_index, .max = INVENTORY_INDEX_MAX},
                                 {"start", .i32 = &start, .max = MIG_SLOTS_MAX - 1}));
    d->start = (int8_t)start;
    if (d->profile == DEVICE_IN_MIG_MODE) {
        d->gpu_index = 0;
        d->start = 0;
    }
}

/* The number under "capacity" of {"capacity", "charged", "free"}. */
#define CAPACITY(key_, ...)                                                                                            \
    {                                                                                                                  \
        (key_), .object = JSON_MEMBERS({"capacity", __VA_ARGS__})                                                      \
    }

/* What its lists say is kept by its place: its name and number may come behind them. */
static void read_gpu(struct json_reader *r, void *to)
{
    struct file_reader *f = to;
    struct file_gpu *g;
    struct device *d;

    f->gpus = state_file_grow(f->gpus, &f->gpu_n, &f->gpu_cap, sizeof(*f->gpus));
    g = &f->gpus[f->gpu_n - 1];
    d = &g->device;
    *g = (struct file_gpu){.device = {.index = -1, .minor = -1, .numa = -1, .mem_mib = -1}, .milli_cap = -1};
    f->gpu_at++;
    json_members(r, JSON_MEMBERS({"uuid", .text = &d->uuid},
                                 {"index", .i32 = &d->index, .max = INVENTORY_DEVICE_INDEX_MAX},
                                 {"mig", .read = read_gpu_mig, .to = d}, {"model", .text = &d->model},
                                 {"healthy", .flag = &d->healthy}, {"slice", .flag = &d->slice},
                                 {"lost", .flag = &g->lost}, CAPACITY("milli", .i64 = &g->milli_cap, .max = INT32_MAX),
                                 CAPACITY("memMib", .i64 = &g->mem_cap_mib, .max = INT32_MAX),
                                 CAPACITY("slots", .i32 = &d->slot_n, .max = INVENTORY_SLOTS_MAX),
                                 {"baseMemMib", .i64 = &d->mem_mib, .max = DEMAND_MEM_MIB_MAX},
                                 {"allocations", .element = state_file_allocation, .to = f},
                                 {"raised", .element = state_file_raised, .to = f}));
    state_file_require(r, d->index >= 0, "a GPU without index");
    state_file_require(r, g->milli_cap >= 0, "a GPU without milli");
    if (d->profile == 0 && g->milli_cap > 0 && g->milli_cap < DEVICE_MILLI) {
        d->part_milli = (int32_t)g->milli_cap; /* no factor is below 1 */
    }
    state_file_require(r, d->mem_mib >= 0,
                       "a GPU without baseMemMib: the document is of a version that did not say it");
}

static void read_gpus(struct json_reader *r, void *to)
{
    struct file_reader *f = to;

    for (json_array_begin(r); json_array_next(r);) {
        read_gpu(r, f);
    }
    f->gpu_at = json_failed(r) ? f->gpu_at : -1;
}

/* ---- nodes ---- */

static void read_hand_off(struct json_reader *r, void *to)
{
    struct str text = STR_NULL;

    if (json_string(r, &text)) {
        state_file_require(r, hand_off_parse(text, to), "a hand-off that this version does not know");
    }
}

static void read_vendor(struct json_reader *r, void *to)
{
    enum gpu_vendor *ret = to;
    struct str text = STR_NULL;

    json_string(r, &text);
    for (int i = 0; !json_failed(r) && i < VENDOR__MAX; i++) {
        if (str_eq_cstr(text, gpu_vendor_name((enum gpu_vendor)i))) {
            *ret = (enum gpu_vendor)i;
            return;
        }
    }
    json_fail(r, ERR_INVALID, "a vendor of GPUs that this version does not know");
}

static void read_source(struct json_reader *r, void *to)
{
    enum inventory_source *ret = to;
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

static int32_t taken(int32_t capacity, int32_t free)
{
    int64_t n = (int64_t)capacity - free;

    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static void read_host(struct json_reader *r, void *to)
{
    struct file_node *n = to;
    int32_t cpu_free = 0, mem_free = 0;

    json_members(
        r, JSON_MEMBERS(
               {"cpuMilli", .object = JSON_MEMBERS({"capacity", .i32 = &n->host.cpu_milli, .min = 1, .max = INT32_MAX},
                                                   {"free", .i32 = &cpu_free})},
               {"memMib", .object = JSON_MEMBERS({"capacity", .i32 = &n->host.mem_mib, .min = 1, .max = INT32_MAX},
                                                 {"free", .i32 = &mem_free})}));
    n->host_taken = (struct host_request){taken(n->host.cpu_milli, cpu_free), taken(n->host.mem_mib, mem_free)};
}

static void add_node(struct file_reader *f, const struct file_node *n)
{
    f->nodes = state_file_grow(f->nodes, &f->node_n, &f->node_cap, sizeof(*f->nodes));
    f->nodes[f->node_n - 1] = *n;
    f->nodes[f->node_n - 1].gpu_n = (uint32_t)f->gpu_n - n->first_gpu;
}

void state_file_node(struct json_reader *r, void *to)
{
    struct file_reader *f = to;
    struct file_node n = {.described = true, .schedulable = true, .first_gpu = (uint32_t)f->gpu_n};
    struct inventory *inv = &n.inventory;
    struct str memory_only = STR_NULL, strategy = STR_NULL;
    bool lends = true;

    f->section = "nodes";
    f->at = f->node_n;
    json_members(
        r,
        JSON_MEMBERS(
            {"name", .text = &n.name}, {"uid", .text = &n.uid}, {"described", .flag = &n.described},
            {"schedulable", .flag = &n.schedulable}, {"closed", .flag = &n.closed},
            {"elsewhere", .flag = &inv->elsewhere}, {"unmeasured", .flag = &inv->unmeasured},
            {"source", .read = read_source, .to = &inv->source}, {"note", .text = &n.note},
            {"overCommitMilli",
             .object = JSON_MEMBERS({"compute", .i32 = &inv->overcommit_milli, .min = 1000, .max = 10000},
                                    {"memory", .i32 = &inv->overcommit_mem_milli, .min = 1000, .max = 10000})},
            {"memoryOnly", .text = &memory_only}, {"qos", .read = state_file_qos, .to = &inv->qos},
            {"lendsIdleCompute", .flag = &lends}, {"handOff", .read = read_hand_off, .to = &inv->hand_off},
            {"handOffUnfit", .flag = &inv->hand_off_unfit}, {"needsAgent", .flag = &inv->needs_agent},
            {"vendor", .read = read_vendor, .to = &inv->vendor}, {"host", .read = read_host, .to = &n},
            {"hostGroup", .object = JSON_MEMBERS({"name", .text = &n.host_group},
                                                 {"gpuMemMib", .i64 = &n.host_gpu_mem_mib, .max = INT32_MAX})},
            {"wholeGpus",
             .object = JSON_MEMBERS({"capacity", .i32 = &inv->plugin_managed_n, .max = DEMAND_PLUGIN_MANAGED_MAX},
                                    {"unitsPerGpu", .i32 = &inv->plugin_managed_per_gpu, .min = 2, .max = 1000000},
                                    {"oneToAContainer", .flag = &inv->plugin_managed_one},
                                    {"allocations", .element = state_file_unplaced, .to = f})},
            {"mig", .object = JSON_MEMBERS({"changing", .flag = &inv->mig_changing}, {"strategy", .text = &strategy})},
            {"gpus", .read = read_gpus, .to = f}, {"unplaced", .element = state_file_unplaced, .to = f}));
    state_file_require(r, n.name.n > 0, "a node without name");
    state_file_require(r, f->gpu_n - n.first_gpu <= DEVICES_PER_NODE_MAX, "a node with more than 64 GPUs");
    state_file_require(r, memory_only.n == 0 || str_eq_cstr(memory_only, "share") || str_eq_cstr(memory_only, "free"),
                       "memoryOnly is neither share nor free");
    inv->memory_only = memory_only.n == 0                 ? MEMORY_ONLY__MAX
                       : str_eq_cstr(memory_only, "free") ? MEMORY_ONLY_FREE
                                                          : MEMORY_ONLY_SHARE;
    inv->lending = lends ? LEND_ALLOW : LEND_FORBID;
    inv->mig_single = str_eq_cstr(strategy, "single");
    add_node(f, &n);
    f->section = json_failed(r) ? f->section : NULL;
}
