#include "core/dialects/units/units_internal.h"

bool units_owns_resource(const struct policy *p, struct str name)
{
    for (size_t i = 0; i < p->whole_resource_n; i++) {
        if (str_eq(p->whole_resources[i], name)) {
            return true;
        }
    }
    for (size_t i = 0; i < p->compute_resource_n; i++) {
        if (p->compute_resources[i].picks == PICKS_KUBELET && str_eq(p->compute_resources[i].name, name)) {
            return true;
        }
    }
    return false;
}
