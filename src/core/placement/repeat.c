#include "core/placement/repeat.h"

#include "core/fit/choice.h"
#include "core/fit/feasibility.h"

static bool may_try(struct repeat *r)
{
    uint64_t cost = r->demand->gpu_request_n > 1 ? REPEAT_SEARCH_WORK : 1;

    if (r->work_left < cost) {
        r->work_left = 0;
        return false;
    }
    r->work_left -= cost;
    return true;
}

static enum verdict place_one(struct repeat *r, struct node_state *n, struct device_state *devices,
                              const struct strategy *device_strategy)
{
    struct placement at;
    struct holding wanted;
    enum verdict v = feasibility_place(n, devices, r->allowed_models, r->demand, device_strategy, &at);

    if (v != VERDICT_FITS) {
        return v;
    }
    wanted = tenancy_wanted(r->demand, &at, n, devices);
    if (!holding_fits(wanted, r->residual)) {
        return VERDICT_TENANT_LIMIT;
    }
    r->residual.milli -= wanted.milli;
    r->residual.mem_mib -= wanted.mem_mib;
    choice_land(n, devices, r->demand, &at);
    return VERDICT_FITS;
}

uint64_t repeat_on(struct repeat *r, struct node_state *n, struct device_state *devices,
                   const struct strategy *device_strategy, uint64_t max, enum verdict *ret_next)
{
    uint64_t placed = 0;

    *ret_next = VERDICT_FITS;
    while (placed < max && may_try(r)) {
        *ret_next = place_one(r, n, devices, device_strategy);
        if (*ret_next != VERDICT_FITS) {
            break;
        }
        placed++;
    }
    return placed;
}
