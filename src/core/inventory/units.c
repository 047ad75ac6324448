/* GPUs that a device plugin sells while kubelet picks: whole ones, replicas (time-slicing, MPS) or units.
 *
 * NVIDIA's plugin multiplies its GPUs by their replicas, under the same name or, renamed, as nvidia.com/gpu.shared. What
 * one replica is, labels of GPU Feature Discovery say: nvidia.com/gpu.replicas is per GPU, although it is documented
 * as the total, and the product ends in "-SHARED" unless the resource was renamed. MPS refuses containers that ask
 * for more than one (failRequestsGreaterThanOne, which is on there by default). Source: k8s-device-plugin,
 * internal/lm and api/config/v1. Units of other plugins are those of the configuration.
 */
#include "core/inventory/internal.h"
#include "core/request/demand.h"

#define REPLICAS_LABEL "nvidia.com/gpu.replicas"
#define STRATEGY_LABEL "nvidia.com/gpu.sharing-strategy"
#define PRODUCT_LABEL "nvidia.com/gpu.product"

static void add_offer(struct inventory_draft *d, struct str resource, uint64_t name, int32_t units_per_gpu)
{
    const struct str *text = kv_find(d->node->allocatable, resource);
    int64_t amount;

    if (text == NULL) {
        return;
    }
    if (!inventory_read_amount(*text, DEMAND_UNSTEERED_MAX, &amount) ||
        amount > DEMAND_UNSTEERED_MAX - d->unsteered_n) {
        d->unsteered_bad = true;
        return;
    }
    if (amount == 0) {
        return;
    }
    if (d->unsteered_n > 0) {
        inventory_add_note(d, "allocatable has GPUs under several names of device plugins: they are counted together");
        d->units_per_gpu = d->units_per_gpu == units_per_gpu ? units_per_gpu : 0;
    } else {
        d->units_per_gpu = units_per_gpu;
    }
    d->unsteered_n += amount;
    d->unsteered_names |= name;
}

/* The label of replicas: 0 when there is none, and where it says that nothing is shared. */
static int32_t label_replicas(const struct node *node)
{
    const struct str *text = kv_find(node->labels, STR(REPLICAS_LABEL));
    uint64_t n;

    return text != NULL && str_to_u64(*text, DEMAND_UNSTEERED_MAX, &n) && n > 1 ? (int32_t)n : 0;
}

static bool is_shared(const struct inventory_draft *d)
{
    const struct str *replicas = kv_find(d->node->labels, STR(REPLICAS_LABEL));
    const struct str *strategy = kv_find(d->node->labels, STR(STRATEGY_LABEL));
    const struct str *product = kv_find(d->node->labels, STR(PRODUCT_LABEL));

    return (replicas != NULL && !str_eq(*replicas, STR("1"))) ||
           (strategy != NULL && !str_eq(*strategy, STR("none"))) ||
           (product != NULL && str_ends(*product, STR("-SHARED")));
}

void inventory_read_units(struct inventory_draft *d)
{
    const struct policy *p = d->policy;
    const struct str *strategy = kv_find(d->node->labels, STR(STRATEGY_LABEL));
    int32_t replicas;

    d->unsteered_n = 0;
    d->unsteered_bad = false;
    d->unsteered_names = 0;
    d->shared = is_shared(d);
    d->one_unit = strategy != NULL && str_eq(*strategy, STR("mps"));
    d->units_per_gpu = 1;
    for (size_t i = 0; i < p->whole_resource_n; i++) {
        replicas = str_ends(p->whole_resources[i], STR(".shared")) || d->shared ? label_replicas(d->node) : 1;
        add_offer(d, p->whole_resources[i], POLICY_WHOLE_NAME(i), replicas);
    }
    for (size_t i = 0; i < p->compute_resource_n; i++) {
        if (p->compute_resources[i].picks == PICKS_KUBELET) {
            add_offer(d, p->compute_resources[i].name, POLICY_UNIT_NAME(i), p->compute_resources[i].units_per_gpu);
        }
    }
    if (d->unsteered_bad) {
        d->unsteered_n = 0;
        d->unsteered_names = 0;
    }
}

struct str inventory_plain_product(struct str product)
{
    const struct str mark = STR("-SHARED");

    return str_ends(product, mark) ? (struct str){product.p, product.n - mark.n} : product;
}
