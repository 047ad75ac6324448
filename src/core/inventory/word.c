/* The word of the admin about a node: its template, and what a number in its allocatable means, and of whose
 * devices. */
#include "core/inventory/internal.h"

const struct node_template *inventory_template(const struct inventory_draft *d)
{
    for (size_t i = 0; i < d->policy->template_n; i++) {
        const struct node_template *t = &d->policy->templates[i];
        const struct str *value = kv_find(d->node->labels, t->label);
        if (value != NULL && str_eq(*value, t->value)) {
            return t;
        }
    }
    return NULL;
}

bool inventory_is_vouched_for(const struct inventory_draft *d)
{
    const struct str *label = kv_find(d->node->labels, STR(INVENTORY_ALLOCATABLE_LABEL));
    const struct node_template *t = inventory_template(d);

    return (label != NULL && str_eq_cstr(*label, POLICY_WHOLE_GPUS)) ||
           (t != NULL && t->allocatable == ALLOCATABLE_WHOLE_GPUS);
}

/* Of units that fgpu picks; of its own names the totals say nothing about that. */
static uint32_t vendors_of_units(const struct inventory_draft *d)
{
    uint32_t vendors = 0;

    for (size_t i = 0; i < d->policy->compute_resource_n; i++) {
        const struct compute_resource *c = &d->policy->compute_resources[i];

        if (c->picks == PICKS_FGPU && kv_find(d->node->allocatable, c->name) != NULL &&
            !str_starts(c->name, STR("fgpu.io/"))) {
            vendors |= 1U << policy_plugin_of(d->policy, c->name).vendor;
        }
    }
    return vendors;
}

enum gpu_vendor inventory_vendor(const struct inventory_draft *d, enum inventory_source source)
{
    const uint32_t units = vendors_of_units(d);
    const bool sold = source == INVENTORY_RESOURCES && (d->vendors_shared | units) != 0;
    const uint32_t vendors = (sold ? d->vendors_shared : d->vendors) | units;

    if (source == INVENTORY_GFD || d->of_agent || vendors == 0) {
        return VENDOR_NVIDIA;
    }
    if ((vendors & (vendors - 1)) == 0) {
        return (enum gpu_vendor)__builtin_ctz(vendors);
    }
    return !sold && (vendors & 1U << VENDOR_NVIDIA) != 0 ? VENDOR_NVIDIA : VENDOR_OTHER;
}
