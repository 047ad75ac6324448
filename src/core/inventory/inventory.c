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
#define GFD_VIRTUAL "nvidia.com/vgpu.present"

static const char NOTE_TOO_MANY[] = "more than 64 GPUs on the node";
static const char NOTE_GFD[] = "label nvidia.com/gpu.count or gpu.memory is not a number in range";
static const char NOTE_UNKNOWN_NAME[] = "the device plugin shares these GPUs under a resource name that is not in "
                                        "resources.whole: fgpu does not share them again";

const char *inventory_source_name(enum inventory_source s)
{
    static const char *const names[INVENTORY_SOURCE__MAX] = {
        [INVENTORY_NONE] = "none",           [INVENTORY_ANNOTATION] = "annotation", [INVENTORY_GFD] = "gfd",
        [INVENTORY_RESOURCES] = "resources", [INVENTORY_TEMPLATE] = "template",
    };

    BUG_ON((unsigned)s >= INVENTORY_SOURCE__MAX);
    return names[s];
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

/* Memory resources in allocatable, for each whole GPU; 0 when there are none. */
static bool resource_memory(struct inventory_draft *d, struct gpu_amount n, int64_t *ret)
{
    const struct policy *p = d->policy;
    const int64_t milli = n.whole_n * DEVICE_MILLI + n.part_milli;
    const int64_t max = DEMAND_MEM_MIB_MAX * milli / DEVICE_MILLI;
    int64_t total;

    if (!inventory_sum_allocatable(d->node, p->memory_resources, p->memory_resource_n, max, &total)) {
        return false;
    }
    if (n.part_milli == 0 && total % n.whole_n != 0) {
        inventory_add_note(d, "GPU memory in allocatable is not a multiple of the number of GPUs: rounded down");
    }
    *ret = total * DEVICE_MILLI / milli;
    return true;
}

/* What drivers tell of a virtual GPU is its own memory; a part is measured by the whole GPU's. */
static int64_t whole_memory(const struct inventory_draft *d, struct gpu_amount n, int64_t label_mib)
{
    const struct str *virtual = kv_find(d->node->labels, STR(GFD_VIRTUAL));
    bool of_part = n.whole_n == 0 && n.part_milli > 0 && virtual != NULL && str_eq(*virtual, STR("true"));

    return of_part ? label_mib * DEVICE_MILLI / n.part_milli : label_mib;
}

static struct str plain_product(struct str product)
{
    const struct str mark = STR(INVENTORY_SHARED_PRODUCT);

    return str_ends(product, mark) ? (struct str){product.p, product.n - mark.n} : product;
}

static bool is_too_many(struct gpu_amount n)
{
    return n.whole_n > DEVICES_PER_NODE_MAX - (n.part_milli > 0);
}

/* GPUs of one kind, known by their index only. Asks the sources for what the caller does not know: memory 0, model
 * empty. Memory is that of a whole GPU. */
static enum source_result add_alike(struct inventory_draft *d, struct gpu_amount n, int64_t mem_mib, struct str model)
{
    const struct node_template *t = inventory_template(d);
    const struct str *product = kv_find(d->node->labels, STR(GFD_PRODUCT));

    if (is_too_many(n)) {
        return inventory_malformed(d, NOTE_TOO_MANY);
    }
    d->device_n = (size_t)n.whole_n + (n.part_milli > 0);
    if (mem_mib == 0) {
        if (!label_memory(d, &mem_mib)) {
            return inventory_malformed(d, NOTE_GFD);
        }
        mem_mib = whole_memory(d, n, mem_mib);
    }
    if (mem_mib == 0 && d->device_n > 0 && !resource_memory(d, n, &mem_mib)) {
        return inventory_malformed(d, INVENTORY_NOTE_RESOURCE);
    }
    if (mem_mib == 0 && t != NULL) {
        mem_mib = t->mem_mib;
    }
    if (model.n == 0) {
        model = product != NULL ? plain_product(*product) : t != NULL ? t->model : STR_NULL;
    }
    for (size_t i = 0; i < d->device_n; i++) {
        d->devices[i] = (struct device){
            .index = (int32_t)i,
            .minor = -1,
            .model = model,
            .mem_mib = mem_mib,
            .slot_n = d->settings.max_sharers,
            .numa = -1,
            .healthy = true,
            .part_milli = i < (size_t)n.whole_n ? 0 : n.part_milli,
        };
    }
    return SOURCE_READ;
}

enum source_result inventory_add_allocatable(struct inventory_draft *d, struct gpu_amount n)
{
    int64_t mem_mib = 0;

    if (is_too_many(n)) {
        return inventory_malformed(d, NOTE_TOO_MANY);
    }
    if (n.whole_n == 0 && n.part_milli == 0) {
        return inventory_malformed(d, INVENTORY_NOTE_CRUMB);
    }
    if (!resource_memory(d, n, &mem_mib)) {
        return inventory_malformed(d, INVENTORY_NOTE_RESOURCE);
    }
    return add_alike(d, n, mem_mib, STR_NULL);
}

/* Labels count the GPUs that a driver sees. If fewer are sold in units, the node has no more of them: that is the word
 * of the admin. False: the units are no number. */
static bool limit_to_units(struct inventory_draft *d, struct gpu_amount *n)
{
    for (size_t i = 0; i < d->policy->compute_resource_n; i++) {
        const struct compute_resource *c = &d->policy->compute_resources[i];
        struct gpu_amount sold;
        int64_t units;

        if (!inventory_sum_allocatable(d->node, &c->name, 1, INT64_MAX, &units)) {
            return false;
        }
        sold = inventory_amount_of(units, c->units_per_gpu);
        if (units > 0 && gpu_amount_is_less(sold, *n)) {
            inventory_add_note(d, "allocatable has fewer units of resources.compute than the GPUs of label "
                                  "nvidia.com/gpu.count have: fgpu uses allocatable");
            *n = sold;
        }
    }
    return true;
}

static enum source_result from_gfd(struct inventory_draft *d)
{
    const struct str *text = kv_find(d->node->labels, STR(GFD_COUNT));
    struct gpu_amount found = {0};
    uint64_t n;

    if (text == NULL) {
        return SOURCE_ABSENT;
    }
    if (d->shared && d->plugin_managed_n == 0) {
        return inventory_malformed(d, NOTE_UNKNOWN_NAME);
    }
    if (!str_to_u64(*text, INT32_MAX, &n)) {
        return inventory_malformed(d, NOTE_GFD);
    }
    if (d->units_per_gpu == 0) {
        inventory_add_note(d, INVENTORY_NOTE_REPLICAS);
    }
    found.whole_n = (int64_t)n;
    if (!limit_to_units(d, &found)) {
        return inventory_malformed(d, INVENTORY_NOTE_RESOURCE);
    }
    return add_alike(d, found, 0, STR_NULL);
}

enum source_result inventory_unmeasured(struct inventory_draft *d, const char *note)
{
    const struct node_template *t = inventory_template(d);

    if (t != NULL && t->gpu_n > 0) {
        return SOURCE_DEFERRED;
    }
    d->unmeasured = true;
    return inventory_malformed(d, note);
}

static enum source_result from_template(struct inventory_draft *d)
{
    const struct node_template *t = inventory_template(d);

    return t == NULL || t->gpu_n <= 0 ? SOURCE_ABSENT
                                      : add_alike(d, (struct gpu_amount){t->gpu_n, 0}, t->mem_mib, t->model);
}

enum source_result inventory_from_machine(struct inventory_draft *d, enum inventory_source source)
{
    enum source_result r = SOURCE_ABSENT;

    switch (source) {
    case INVENTORY_GFD:
        r = inventory_from_mig_plugin(d);
        return r == SOURCE_ABSENT ? from_gfd(d) : r;
    case INVENTORY_TEMPLATE:
        return from_template(d);
    case INVENTORY_NONE:
    case INVENTORY_ANNOTATION:
    case INVENTORY_RESOURCES:
    case INVENTORY_SOURCE__MAX:
        break;
    }
    return r;
}

static void count_in(struct gpu_amount *sum, const struct device *d)
{
    sum->whole_n += d->part_milli == 0;
    sum->part_milli += d->part_milli;
}

static void note_disagreement(struct inventory_draft *d)
{
    const struct str *label = kv_find(d->node->labels, STR(GFD_COUNT));
    uint64_t n;

    if (d->plugin_managed_bad) {
        inventory_add_note(d, INVENTORY_NOTE_RESOURCE);
    }
    struct gpu_amount offered, there = {0}, healthy = {0}; /* a GPU in MIG mode is none of the plugin's */
    size_t gpu_n = 0;
    for (size_t i = 0; i < d->device_n; i++) {
        bool whole = d->devices[i].profile == 0;
        gpu_n += whole || d->devices[i].profile == DEVICE_IN_MIG_MODE;
        if (whole) {
            count_in(&there, &d->devices[i]);
        }
        if (whole && d->devices[i].healthy) {
            count_in(&healthy, &d->devices[i]);
        }
    }
    offered = inventory_amount_of(d->plugin_managed_n - d->unshareable_n, d->units_per_gpu > 0 ? d->units_per_gpu : 1);
    /* A plugin takes unhealthy devices off its number, so both numbers agree with ours. */
    if (d->mig_counted) {
        return; /* these numbers mean something else, and have been compared */
    }
    if (d->plugin_managed_n > d->unshareable_n && d->units_per_gpu > 0 && !gpu_amount_equal(offered, there) &&
        !gpu_amount_equal(offered, healthy)) {
        inventory_add_note(d, d->units_per_gpu == 1
                                  ? "allocatable has another number of whole GPUs than the inventory of the node"
                                  : "allocatable has another number of replicas or units than the GPUs of the node "
                                    "have");
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
            *mem_mib = *mem_mib > d->settings.mem_reserve_mib ? *mem_mib - d->settings.mem_reserve_mib : 0;
            if (*mem_mib == 0) {
                inventory_add_note(d, "the configured memory reserve is as large as the memory of a GPU, or larger");
            }
        }
    }
}

void inventory_begin(struct inventory_draft *d, const struct policy *p, const struct node *node, struct arena *a)
{
    d->policy = p;
    d->settings = policy_devices_of(p, node->labels);
    d->node = node;
    d->arena = a;
    d->plugin_managed_n = d->unshareable_n = 0;
    d->unshareable = false;
    d->vendors = d->vendors_shared = 0;
    d->plugin_managed_bad = d->shared = d->one_unit = false;
    d->plugin_managed_names = 0;
    d->units_per_gpu = 1;
    d->foreign = NULL;
    d->unmeasured = false;
    d->note = NULL;
    d->mig_changing = inventory_mig_is_changing(node);
    d->mig_single = d->mig_counted = d->of_agent = false;
    d->device_n = 0; /* the devices need no clearing */
}

/* kai-gpu-fractioning acts on a container only if an amount of memory stands there, and the driver limits the memory of
 * whole GPUs alone. */
static bool is_unfit_for_hand_off(struct inventory_draft *d, enum gpu_vendor vendor)
{
    if (vendor != VENDOR_NVIDIA && d->settings.hand_off != HAND_OFF_DOWNWARD_API && d->device_n > 0) {
        inventory_add_note(d, "devices.handOff here is for GPUs of NVIDIA, and these are of another vendor: no shares "
                              "are placed here. Set downward-api for this node");
        return true;
    }
    for (size_t i = 0; hand_off_is_kai(d->settings.hand_off) && i < d->device_n; i++) {
        if (d->devices[i].profile != 0 || d->devices[i].mem_mib == 0) {
            inventory_add_note(
                d, "devices.handOff is kai-fractioning or kai-sm-sharing, which work with GPUs that are not in "
                   "MIG mode and whose memory is known: no shares are placed here");
            return true;
        }
    }
    return false;
}

static bool keep_devices(const struct inventory_draft *d, struct inventory *found)
{
    struct device *devices;

    if (d->device_n == 0) {
        return true;
    }
    devices = ARENA_ARRAY(d->arena, d->device_n, struct device);
    if (devices == NULL) {
        return false;
    }
    memcpy(devices, d->devices, d->device_n * sizeof(*devices));
    found->devices = devices;
    found->device_n = d->device_n;
    return true;
}

bool inventory_finish(struct inventory_draft *d, enum inventory_source source, struct inventory *ret,
                      const char **ret_note)
{
    struct inventory found = {.source = source};

    inventory_apply_profile(d);
    if (d->arena->overflowed) {
        return false;
    }
    if (source == INVENTORY_ANNOTATION) {
        inventory_compare_mig_plugin(d);
    }
    if (source == INVENTORY_GFD && kv_find(d->node->labels, STR(GFD_COUNT)) == NULL) {
        found.source = INVENTORY_RESOURCES; /* MIG in allocatable alone */
    }
    note_disagreement(d);
    apply_reserve(d);
    found.plugin_managed_n = (int32_t)d->plugin_managed_n;
    found.plugin_managed_per_gpu = d->units_per_gpu;
    found.plugin_managed_names = d->plugin_managed_names;
    found.plugin_managed_one = d->one_unit;
    found.overcommit_milli = d->settings.overcommit_milli;
    found.overcommit_mem_milli = d->settings.overcommit_mem_milli;
    found.memory_only = d->settings.memory_only;
    found.qos = d->settings.qos;
    found.lending = d->settings.lending;
    found.hand_off = d->settings.hand_off;
    found.vendor = inventory_vendor(d, source);
    found.hand_off_unfit = is_unfit_for_hand_off(d, found.vendor);
    found.needs_agent = (d->of_agent || found.hand_off == HAND_OFF_AGENT) && !hand_off_is_of_others(found.hand_off);
    found.mig_changing = d->mig_changing;
    found.mig_single = d->mig_single;
    found.unmeasured = d->unmeasured;
    found.elsewhere = d->foreign != NULL;
    if (!keep_devices(d, &found)) {
        return false;
    }
    *ret = found;
    *ret_note = d->foreign != NULL ? d->foreign : d->note;
    return true;
}
