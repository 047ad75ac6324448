/* Nodes whose plugins sell units. */
#include "core/dialects/units/units_internal.h"

#include "core/request/demand.h"

#define REPLICAS_LABEL "nvidia.com/gpu.replicas"
#define STRATEGY_LABEL "nvidia.com/gpu.sharing-strategy"
#define PRODUCT_LABEL "nvidia.com/gpu.product"

static void add_offer(struct inventory_draft *d, struct str resource, uint64_t name, int32_t units_per_gpu)
{
    const struct str *text = kv_find(d->node->allocatable, resource);
    struct plugin_resource plugin;
    int64_t amount;

    if (text == NULL) {
        return;
    }
    plugin = policy_plugin_of(d->policy, resource);
    d->vendors |= 1U << plugin.vendor;
    d->vendors_shared |= plugin.shareable ? 1U << plugin.vendor : 0;
    d->unshareable = d->unshareable || !plugin.shareable;
    if (!inventory_read_amount(*text, DEMAND_PLUGIN_MANAGED_MAX, &amount) ||
        amount > DEMAND_PLUGIN_MANAGED_MAX - d->plugin_managed_n) {
        d->plugin_managed_bad = true;
        return;
    }
    if (amount == 0) {
        return;
    }
    if (d->plugin_managed_n > 0) {
        inventory_add_note(d, "allocatable has GPUs under several names of device plugins: they are counted together");
        d->units_per_gpu = d->units_per_gpu == units_per_gpu ? units_per_gpu : 0;
    } else {
        d->units_per_gpu = units_per_gpu;
    }
    d->plugin_managed_n += amount;
    d->unshareable_n += plugin.shareable ? 0 : amount;
    d->plugin_managed_names |= name;
}

/* The label of replicas: 0 when there is none, and where it says that nothing is shared. */
static int32_t label_replicas(const struct node *node)
{
    const struct str *text = kv_find(node->labels, STR(REPLICAS_LABEL));
    uint64_t n;

    return text != NULL && str_to_u64(*text, DEMAND_PLUGIN_MANAGED_MAX, &n) && n > 1 ? (int32_t)n : 0;
}

static bool is_shared(const struct inventory_draft *d)
{
    const struct str *replicas = kv_find(d->node->labels, STR(REPLICAS_LABEL));
    const struct str *strategy = kv_find(d->node->labels, STR(STRATEGY_LABEL));
    const struct str *product = kv_find(d->node->labels, STR(PRODUCT_LABEL));

    return (replicas != NULL && !str_eq(*replicas, STR("1"))) ||
           (strategy != NULL && !str_eq(*strategy, STR("none"))) ||
           (product != NULL && str_ends(*product, STR(INVENTORY_SHARED_PRODUCT)));
}

static void read_offers(struct inventory_draft *d)
{
    const struct policy *p = d->policy;
    const struct str *strategy = kv_find(d->node->labels, STR(STRATEGY_LABEL));
    int32_t replicas;

    d->shared = is_shared(d);
    d->one_unit = strategy != NULL && str_eq(*strategy, STR("mps"));
    for (size_t i = 0; i < p->whole_resource_n; i++) {
        replicas = str_ends(p->whole_resources[i], STR(".shared")) || d->shared ? label_replicas(d->node) : 1;
        add_offer(d, p->whole_resources[i], POLICY_WHOLE_NAME(i), replicas);
    }
    for (size_t i = 0; i < p->compute_resource_n; i++) {
        if (p->compute_resources[i].picks == PICKS_KUBELET) {
            add_offer(d, p->compute_resources[i].name, POLICY_UNIT_NAME(i), p->compute_resources[i].units_per_gpu);
        }
    }
    if (d->plugin_managed_bad) {
        d->plugin_managed_n = d->unshareable_n = 0;
        d->plugin_managed_names = 0;
    }
}

/* Does anybody who knows say what one of the plugin's GPUs in allocatable is? */
static bool is_explained(const struct inventory_draft *d)
{
    const uint64_t whole_names = POLICY_UNIT_NAME(0) - 1;

    return (d->plugin_managed_names & whole_names) == 0 /* units of resources.compute */ || d->units_per_gpu > 1 ||
           inventory_has_profile(d->node) || inventory_is_vouched_for(d);
}

static enum source_result read_allocatable(struct inventory_draft *d)
{
    int64_t n = d->plugin_managed_n - d->unshareable_n;

    if (d->plugin_managed_bad) {
        return inventory_malformed(d, INVENTORY_NOTE_RESOURCE);
    }
    if (n == 0 && d->unshareable) { /* a template is not asked: it says how many, not what they are */
        d->unmeasured = true;
        return inventory_malformed(d, INVENTORY_NOTE_UNSHAREABLE);
    }
    if (n == 0) {
        return SOURCE_ABSENT;
    }
    if (!is_explained(d)) {
        return inventory_unmeasured(d, d->units_per_gpu == 0 ? INVENTORY_NOTE_REPLICAS : INVENTORY_NOTE_UNMEASURED);
    }
    if (d->units_per_gpu == 0) {
        return inventory_malformed(d, INVENTORY_NOTE_REPLICAS);
    }
    return inventory_add_allocatable(d, inventory_amount_of(n, d->units_per_gpu));
}

bool units_claims_node(const struct policy *p, const struct node *node)
{
    if (dialect_names_any(node->allocatable, p, units_owns_resource)) {
        return true;
    }
    return kv_find(node->labels, STR(REPLICAS_LABEL)) != NULL || kv_find(node->labels, STR(STRATEGY_LABEL)) != NULL ||
           kv_find(node->labels, STR(PRODUCT_LABEL)) != NULL;
}

enum source_result units_parse_node(struct inventory_draft *d, enum inventory_source source)
{
    switch (source) {
    case INVENTORY_NONE:
        read_offers(d);
        break;
    case INVENTORY_RESOURCES:
        return read_allocatable(d);
    case INVENTORY_ANNOTATION:
    case INVENTORY_GFD:
    case INVENTORY_TEMPLATE:
    case INVENTORY_SOURCE__MAX:
        break;
    }
    return SOURCE_ABSENT;
}
