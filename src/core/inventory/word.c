/* The word of the admin about a node: its template, and what a number in its allocatable means. */
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
