#include "core/inventory/inventory.h"

#include "base/bug.h"
#include "core/inventory/internal.h"
#include "core/request/demand.h"

#include <string.h>

#define GFD_COUNT "nvidia.com/gpu.count"
#define GFD_MEMORY "nvidia.com/gpu.memory"
#define GFD_MIB_END (UINT64_C(1) << 20)   /* 1 TiB: more than any GPU has */
#define GFD_BYTES_MIN (UINT64_C(1) << 30) /* 1 GiB: less than any GPU has */
#define GFD_PRODUCT "nvidia.com/gpu.product"

static const char NOTE_TOO_MANY[] = "more than 64 GPUs on the node";
static const char NOTE_RESOURCE[] = "GPU resource in allocatable is not a whole number";
static const char NOTE_GFD[] = "label nvidia.com/gpu.count or gpu.memory is not a number in range";
static const char NOTE_UNKNOWN_NAME[] = "the device plugin shares these GPUs under a resource name that "
                                        "is not among resources.whole: fgpu does not share them again";
static const char NOTE_REPLICAS[] = "the device plugin shares these GPUs and nothing tells how many replicas a GPU "
                                    "has: each is counted as a whole one";

static const char NOTE_UNMEASURED[] =
    "allocatable alone says that there are GPUs, and a plugin may split GPUs: no shares are placed here. Run GPU Feature "
    "Discovery, or say it: label fgpu.io/allocatable=whole-gpus, or nodeTemplates";

const char *inventory_source_name(enum inventory_source s)
{
    static const char *const names[INVENTORY_SOURCE__MAX] = {
        [INVENTORY_NONE] = "none",
        [INVENTORY_ANNOTATION] = "annotation",
        [INVENTORY_GFD] = "gfd",
        [INVENTORY_RESOURCES] = "resources",
        [INVENTORY_TEMPLATE] = "template",
    };

    BUG_ON((unsigned)s >= INVENTORY_SOURCE__MAX);
    return names[s];
}

/* The sum of the named resources in allocatable; absent ones count 0. */
static bool sum_allocatable(const struct node *node, const struct str *names, size_t n, int64_t max,
                            int64_t *ret)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        const struct str *text = kv_find(node->allocatable, names[i]);
        int64_t amount;
        if (text != NULL) {
            if (!inventory_read_amount(*text, max, &amount) || amount > max - sum) {
                return false;
            }
            sum += amount;
        }
    }
    *ret = sum;
    return true;
}

/* The GFD label for memory; 0 when there is none. It counts MiB, but some write bytes into it, and KAI-Scheduler takes
 * numbers from 1 TiB in MiB on as bytes. What is neither a GPU in MiB nor one in bytes is not believed. */
static bool label_memory(const struct inventory_draft *d, int64_t *ret)
{
    const struct str *text = kv_find(d->node->labels, STR(GFD_MEMORY));
    uint64_t v = 0;

    if (text != NULL && !str_to_u64(*text, INT64_MAX, &v)) {
        return false;
    }
    if (v >= GFD_MIB_END) {
        if (v < GFD_BYTES_MIN || v >> 20 >= GFD_MIB_END) {
            return false;
        }
        v >>= 20;
    }
    *ret = (int64_t)v;
    return true;
}

/* Memory resources in allocatable, for each of n GPUs; 0 when there are none. */
static bool resource_memory(struct inventory_draft *d, size_t n, int64_t *ret)
{
    const struct policy *p = d->policy;
    int64_t total;

    if (!sum_allocatable(d->node, p->memory_resources, p->memory_resource_n,
                         DEMAND_MEM_MIB_MAX * (int64_t)n, &total)) {
        return false;
    }
    if (total % (int64_t)n != 0) {
        inventory_add_note(
            d, "GPU memory in allocatable is no multiple of the number of GPUs: rounded down");
    }
    *ret = total / (int64_t)n;
    return true;
}

/* n GPUs of one kind, known by their index only. Asks the sources for what the caller does not
 * know: memory 0, model empty. */
static enum source_result add_alike(struct inventory_draft *d, int64_t n, int64_t mem_mib,
                                    struct str model)
{
    const struct node_template *t = inventory_template(d);
    const struct str *product = kv_find(d->node->labels, STR(GFD_PRODUCT));

    if (n > DEVICES_PER_NODE_MAX) {
        return inventory_malformed(d, NOTE_TOO_MANY);
    }
    if (mem_mib == 0 && !label_memory(d, &mem_mib)) {
        return inventory_malformed(d, NOTE_GFD);
    }
    if (mem_mib == 0 && n > 0 && !resource_memory(d, (size_t)n, &mem_mib)) {
        return inventory_malformed(d, NOTE_RESOURCE);
    }
    if (mem_mib == 0 && t != NULL) {
        mem_mib = t->mem_mib;
    }
    if (model.n == 0) {
        model = product != NULL ? inventory_plain_product(*product) : t != NULL ? t->model : STR_NULL;
    }
    for (size_t i = 0; i < (size_t)n; i++) {
        d->devices[i] = (struct device){
            .index = (int32_t)i,
            .minor = -1,
            .model = model,
            .mem_mib = mem_mib,
            .slot_n = d->settings.max_sharers,
            .numa = -1,
            .healthy = true,
        };
    }
    d->device_n = (size_t)n;
    return SOURCE_READ;
}

static enum source_result from_gfd(struct inventory_draft *d)
{
    const struct str *text = kv_find(d->node->labels, STR(GFD_COUNT));
    uint64_t n;

    if (text == NULL) {
        return SOURCE_ABSENT;
    }
    if (d->shared && d->unsteered_n == 0) {
        return inventory_malformed(d, NOTE_UNKNOWN_NAME);
    }
    if (!str_to_u64(*text, INT32_MAX, &n)) {
        return inventory_malformed(d, NOTE_GFD);
    }
    if (d->units_per_gpu == 0) {
        inventory_add_note(d, NOTE_REPLICAS);
    }
    return add_alike(d, (int64_t)n, 0, STR_NULL);
}

/* Nobody has measured, or said, what is behind the number in allocatable: but a template may know the number. */
static enum source_result unmeasured(struct inventory_draft *d, const char *note)
{
    const struct node_template *t = inventory_template(d);

    if (t != NULL && t->gpu_n > 0) {
        return SOURCE_ABSENT;
    }
    d->unmeasured = true;
    return inventory_malformed(d, note);
}

/* Number of GPUs behind fgpu's own resources (compute in its unit, counts), which must agree; 0:
 * none are advertised. *ret_computed: compute is among them, whose unit the configuration knows. NULL, or what is wrong. */
static const char *count_own_resources(const struct inventory_draft *d, int64_t *ret, bool *ret_computed)
{
    const struct policy *p = d->policy;
    int64_t n = 0;

    *ret_computed = false;
    for (size_t i = 0; i < p->compute_resource_n + p->count_resource_n; i++) {
        bool compute = i < p->compute_resource_n;

        if (compute && p->compute_resources[i].picks == PICKS_KUBELET) {
            continue; /* a plugin's */
        }
        struct str name =
            compute ? p->compute_resources[i].name : p->count_resources[i - p->compute_resource_n];
        int64_t units_per_gpu = compute ? p->compute_resources[i].units_per_gpu : 1;
        int64_t units;
        if (!sum_allocatable(d->node, &name, 1, INT64_MAX, &units)) {
            return NOTE_RESOURCE;
        }
        if (units % units_per_gpu != 0) {
            return "compute resource in allocatable is no multiple of the configured units of one "
                   "GPU";
        }
        if (units > 0 && n > 0 && units / units_per_gpu != n) {
            return "GPU resources in allocatable disagree about the number of GPUs";
        }
        n = units > 0 ? units / units_per_gpu : n;
        *ret_computed = *ret_computed || (compute && units > 0);
    }
    *ret = n;
    return NULL;
}

static enum source_result from_resources(struct inventory_draft *d)
{
    const struct policy *p = d->policy;
    int64_t n;
    int64_t mem_total;
    int64_t mem_mib = 0;
    bool computed;
    const char *wrong = count_own_resources(d, &n, &computed);

    if (wrong != NULL) {
        return inventory_malformed(d, wrong);
    }
    if (!sum_allocatable(d->node, p->memory_resources, p->memory_resource_n, INT64_MAX,
                         &mem_total)) {
        return inventory_malformed(d, NOTE_RESOURCE);
    }
    if (n > 0 && !computed && !inventory_is_vouched_for(d)) {
        return unmeasured(d, NOTE_UNMEASURED);
    }
    if (n == 0) {
        if (d->unsteered_bad) {
            return inventory_malformed(d, NOTE_RESOURCE);
        }
        n = d->unsteered_n;
        if (n > 0 && !inventory_is_explained(d)) {
            return unmeasured(d, d->units_per_gpu == 0 ? NOTE_REPLICAS : NOTE_UNMEASURED);
        }
        if (n > 0 && d->units_per_gpu == 0) {
            return inventory_malformed(d, NOTE_REPLICAS);
        }
        if (n % (d->units_per_gpu > 0 ? d->units_per_gpu : 1) != 0) {
            inventory_add_note(d, "allocatable has no multiple of the replicas or units of one GPU: rounded up");
        }
        n = d->units_per_gpu > 1 ? (n + d->units_per_gpu - 1) / d->units_per_gpu : n;
    }
    if (n == 0) {
        return mem_total == 0
                   ? SOURCE_ABSENT
                   : inventory_malformed(d, "GPU memory in allocatable without a number of GPUs");
    }
    if (n > DEVICES_PER_NODE_MAX) {
        return inventory_malformed(d, NOTE_TOO_MANY);
    }
    if (!resource_memory(d, (size_t)n, &mem_mib)) {
        return inventory_malformed(d, NOTE_RESOURCE);
    }
    return add_alike(d, n, mem_mib, STR_NULL);
}

static enum source_result from_template(struct inventory_draft *d)
{
    const struct node_template *t = inventory_template(d);

    return t == NULL || t->gpu_n <= 0 ? SOURCE_ABSENT : add_alike(d, t->gpu_n, t->mem_mib, t->model);
}

static enum inventory_source read_sources(struct inventory_draft *d)
{
    static const struct {
        enum inventory_source source;
        enum source_result (*read)(struct inventory_draft *d);
    } sources[] = {
        {INVENTORY_ANNOTATION, inventory_from_annotation},
        {INVENTORY_GFD, inventory_from_mig_plugin},
        {INVENTORY_GFD, from_gfd},
        {INVENTORY_RESOURCES, from_resources},
        {INVENTORY_TEMPLATE, from_template},
    };

    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        switch (sources[i].read(d)) {
        case SOURCE_ABSENT:
            break;
        case SOURCE_READ:
            return sources[i].source;
        case SOURCE_MALFORMED:
            d->device_n = 0;
            return sources[i].source;
        }
    }
    return INVENTORY_NONE;
}

static void note_disagreement(struct inventory_draft *d)
{
    const struct str *label = kv_find(d->node->labels, STR(GFD_COUNT));
    uint64_t n;

    if (d->unsteered_bad) {
        inventory_add_note(d, NOTE_RESOURCE);
    }
    size_t gpu_n = 0, healthy_n = 0, whole_n = 0; /* a GPU in MIG mode is none of the plugin's */
    for (size_t i = 0; i < d->device_n; i++) {
        bool whole = d->devices[i].profile == 0;
        gpu_n += whole || d->devices[i].profile == DEVICE_IN_MIG_MODE;
        whole_n += whole;
        healthy_n += whole && d->devices[i].healthy;
    }
    /* A plugin takes unhealthy devices off its number, so both numbers agree with ours. */
    if (d->mig_counted) {
        return; /* these numbers mean something else, and have been compared */
    }
    if (d->unsteered_n > 0 && d->units_per_gpu > 0 &&
        d->unsteered_n != (int64_t)whole_n * d->units_per_gpu &&
        d->unsteered_n != (int64_t)healthy_n * d->units_per_gpu) {
        inventory_add_note(d, d->units_per_gpu == 1
                                  ? "allocatable has another number of whole GPUs than the inventory of the node"
                                  : "allocatable has another number of replicas or units than the GPUs of the "
                                    "node make");
    }
    if (label != NULL && str_to_u64(*label, INT32_MAX, &n) && n != gpu_n) {
        inventory_add_note(d, "label nvidia.com/gpu.count differs from the inventory of the node");
    }
}

static void apply_reserve(struct inventory_draft *d)
{
    for (size_t i = 0; i < d->device_n; i++) {
        int64_t *mem_mib = &d->devices[i].mem_mib;
        bool instance = d->devices[i].profile != 0 && d->devices[i].profile != DEVICE_IN_MIG_MODE;
        if (*mem_mib > 0 && !instance && !d->devices[i].slice) { /* nobody shares these */
            *mem_mib =
                *mem_mib > d->settings.mem_reserve_mib ? *mem_mib - d->settings.mem_reserve_mib : 0;
            if (*mem_mib == 0) {
                inventory_add_note(d, "the configured memory reserve leaves nothing of a GPU");
            }
        }
    }
}

bool inventory_of_node(const struct policy *p, const struct node *node, struct arena *a,
                       struct inventory *ret, const char **ret_note)
{
    struct inventory_draft d; /* the devices need no clearing */
    const char *foreign;
    struct inventory found = {.source = INVENTORY_NONE};

    d.policy = p;
    d.settings = policy_devices_of(p, node->labels);
    d.node = node;
    d.arena = a;
    d.note = NULL;
    d.device_n = 0;
    d.mig_changing = inventory_mig_is_changing(node);
    d.mig_single = d.mig_counted = d.unmeasured = false;
    inventory_read_units(&d);
    found.source = read_sources(&d);
    inventory_apply_profile(&d);
    found.unsteered_n = (int32_t)d.unsteered_n;
    found.unsteered_per_gpu = d.units_per_gpu;
    found.unsteered_names = d.unsteered_names;
    found.unsteered_one = d.one_unit;
    found.overcommit_milli = d.settings.overcommit_milli;
    found.overcommit_mem_milli = d.settings.overcommit_mem_milli;
    found.memory_only = d.settings.memory_only;
    found.qos = d.settings.qos;
    found.lending = d.settings.lending;
    if (a->overflowed) {
        return false;
    }
    if (found.source == INVENTORY_ANNOTATION) {
        inventory_compare_mig_plugin(&d);
    }
    if (found.source == INVENTORY_GFD && kv_find(node->labels, STR(GFD_COUNT)) == NULL) {
        found.source = INVENTORY_RESOURCES; /* MIG in allocatable alone */
    }
    found.mig_changing = d.mig_changing;
    found.mig_single = d.mig_single;
    found.unmeasured = d.unmeasured;
    foreign = inventory_foreign_agent(p, node);
    found.elsewhere = foreign != NULL;
    note_disagreement(&d);
    apply_reserve(&d);
    if (d.device_n > 0) {
        struct device *devices = ARENA_ARRAY(a, d.device_n, struct device);
        if (devices == NULL) {
            return false;
        }
        memcpy(devices, d.devices, d.device_n * sizeof(*devices));
        found.devices = devices;
        found.device_n = d.device_n;
    }
    *ret = found;
    *ret_note = foreign != NULL ? foreign : d.note;
    return true;
}
