/* Nodes in the words of the native dialect: annotation fgpu.io/gpus (gpus.c), else its own resources in allocatable. */
#include "core/dialects/native/native_internal.h"

bool native_claims_node(const struct policy *p, const struct node *node)
{
    return dialect_names_any(node->allocatable, p, native_owns_resource) ||
           kv_find(node->annotations, STR(NATIVE_KEY_GPUS)) != NULL;
}

static bool is_none(struct gpu_amount n)
{
    return n.whole_n == 0 && n.part_milli == 0;
}

/* GPUs behind the resources (compute in its unit, counts), which must agree; none: none are advertised.
 * *ret_computed: compute is among them, whose unit the configuration knows. NULL, or what is wrong. */
static const char *count_gpus(const struct inventory_draft *d, struct gpu_amount *ret, bool *ret_computed)
{
    const struct policy *p = d->policy;

    *ret = (struct gpu_amount){0};
    *ret_computed = false;
    for (size_t i = 0; i < p->compute_resource_n + p->count_resource_n; i++) {
        bool compute = i < p->compute_resource_n;

        if (compute && p->compute_resources[i].picks == PICKS_KUBELET) {
            continue; /* a plugin's */
        }
        struct str name = compute ? p->compute_resources[i].name : p->count_resources[i - p->compute_resource_n];
        int64_t units_per_gpu = compute ? p->compute_resources[i].units_per_gpu : 1;
        struct gpu_amount n;
        int64_t units;

        if (!inventory_sum_allocatable(d->node, &name, 1, INT64_MAX, &units)) {
            return INVENTORY_NOTE_RESOURCE;
        }
        if (units == 0) {
            continue;
        }
        n = inventory_amount_of(units, units_per_gpu);
        if (is_none(n)) {
            return INVENTORY_NOTE_CRUMB;
        }
        if (!is_none(*ret) && !gpu_amount_equal(n, *ret)) {
            return "GPU resources in allocatable disagree about the number of GPUs";
        }
        *ret = n;
        *ret_computed = *ret_computed || compute;
    }
    return NULL;
}

/* Do device plugins offer GPUs beside, to which the memory may belong? */
static bool others_offer(const struct inventory_draft *d)
{
    return d->plugin_managed_n > 0 || d->plugin_managed_bad;
}

static enum source_result read_allocatable(struct inventory_draft *d)
{
    const struct policy *p = d->policy;
    struct gpu_amount n;
    int64_t mem_total;
    bool computed;
    const char *wrong = count_gpus(d, &n, &computed);

    if (wrong != NULL) {
        return inventory_malformed(d, wrong);
    }
    if (!inventory_sum_allocatable(d->node, p->memory_resources, p->memory_resource_n, INT64_MAX, &mem_total)) {
        return inventory_malformed(d, INVENTORY_NOTE_RESOURCE);
    }
    if (!is_none(n) && !computed && !inventory_is_vouched_for(d)) {
        return inventory_unmeasured(d, INVENTORY_NOTE_UNMEASURED);
    }
    if (is_none(n)) {
        return mem_total == 0 || others_offer(d)
                   ? SOURCE_ABSENT
                   : inventory_malformed(d, "GPU memory in allocatable without a number of GPUs");
    }
    return inventory_add_allocatable(d, n);
}

enum source_result native_parse_node(struct inventory_draft *d, enum inventory_source source)
{
    switch (source) {
    case INVENTORY_ANNOTATION:
        return native_read_gpus(d);
    case INVENTORY_RESOURCES:
        return read_allocatable(d);
    case INVENTORY_NONE:
    case INVENTORY_GFD:
    case INVENTORY_TEMPLATE:
    case INVENTORY_SOURCE__MAX:
        break;
    }
    return SOURCE_ABSENT;
}
