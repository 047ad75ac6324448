#include "core/fit/shortfall.h"

#include "core/fit/feasibility.h"

/* A device that somebody holds is farther than any that lacks amounts. */
#define HELD_DISTANCE (UINT64_C(1) << 40)

struct near {
    struct shortfall_device device;
    uint64_t distance;
};

static int32_t lack(int64_t wanted, int64_t free)
{
    int64_t more = wanted - free;

    return more <= 0 ? 0 : more > INT32_MAX ? INT32_MAX : (int32_t)more;
}

/* In thousandths of what there is. */
static uint64_t part_of(int64_t amount, int64_t whole)
{
    return amount <= 0 ? 0 : (uint64_t)amount * 1000 / (uint64_t)(whole > 0 ? whole : 1) + 1;
}

/* Could it take the charge if enough of it were free? */
static bool is_eligible(const struct device_state *d, const struct charge *c, const uint8_t *allowed_models)
{
    return (d->flags & (DEVICE_LOST | DEVICE_ELSEWHERE | DEVICE_DENIED)) == 0 && (d->flags & DEVICE_HEALTHY) != 0 &&
           d->profile == c->profile && (allowed_models == NULL || allowed_models[d->model_id] != 0) &&
           (c->mem_mib == 0 || d->mem_cap_mib > 0);
}

static bool is_held(const struct device_state *d, const struct charge *c)
{
    return (d->flags & (DEVICE_EXCLUSIVE | DEVICE_BLOCKED | DEVICE_ISOLATED)) != 0 ||
           ((d->flags & DEVICE_IN_USE) != 0 && (c->exclusive || (d->flags & DEVICE_SLICE) != 0));
}

static struct near nearness(const struct device_state *d, const struct charge *c, uint16_t ordinal)
{
    struct near n = {.device = {.ordinal = ordinal,
                                .held = is_held(d, c),
                                .milli = lack(c->milli, d->milli_free),
                                .slots = lack(c->slots, d->slot_free),
                                .mem_mib = lack(c->mem_mib, d->mem_free_mib),
                                .too_small_mib = lack(c->mem_mib, d->mem_cap_mib)}};

    n.distance = part_of(n.device.milli, d->milli_cap) + part_of(n.device.mem_mib, d->mem_cap_mib) +
                 part_of(n.device.slots, d->slot_cap) + (n.device.held ? HELD_DISTANCE : 0);
    return n;
}

/* Devices that take the GPU request, and the nearest of the others in order. */
static void look(const struct node_state *n, const struct device_state *devices, const uint8_t *allowed_models,
                 const struct demand *d, size_t gpu_request, struct shortfall *ret)
{
    const struct gpu_request *w = &d->gpu_requests[gpu_request];
    struct near near[DEVICES_PER_NODE_MAX];
    size_t near_n = 0;
    uint32_t takes_n = 0;

    for (uint16_t i = 0; i < n->device_n; i++) {
        struct charge c = device_charge(&devices[i], d, w);
        struct near x;
        size_t at;

        if (!is_eligible(&devices[i], &c, allowed_models)) {
            continue;
        }
        if (device_takes(&devices[i], &c)) {
            takes_n++;
            continue;
        }
        x = nearness(&devices[i], &c, i);
        for (at = near_n++; at > 0 && near[at - 1].distance > x.distance; at--) {
            near[at] = near[at - 1];
        }
        near[at] = x;
    }
    *ret = (struct shortfall){.gpu_request = gpu_request, .missing_n = w->count > takes_n ? w->count - takes_n : 0};
    ret->near_n = near_n < ret->missing_n ? (uint32_t)near_n : ret->missing_n;
    ret->device_n = ret->near_n < SHORTFALL_DEVICES_MAX ? ret->near_n : SHORTFALL_DEVICES_MAX;
    for (uint32_t i = 0; i < ret->device_n; i++) {
        ret->devices[i] = near[i].device;
    }
    ret->distance = ret->near_n < ret->missing_n ? UINT64_MAX : ret->near_n > 0 ? near[ret->near_n - 1].distance : 0;
}

void shortfall_of(const struct node_state *n, const struct device_state *devices, const uint8_t *allowed_models,
                  const struct demand *d, struct shortfall *ret)
{
    *ret = (struct shortfall){.distance = UINT64_MAX};
    if (d->plugin_managed_n > 0 || (n->plugin_managed_used > 0 && demand_takes_shares(d)) ||
        feasibility_of_node(n, d) != VERDICT_FITS || (n->flags & NODE_CLOSED) != 0) {
        return;
    }
    for (size_t w = 0; w < d->gpu_request_n; w++) {
        look(n, devices, allowed_models, d, w, ret);
        if (ret->missing_n > 0) {
            return;
        }
    }
    *ret = (struct shortfall){.distance = UINT64_MAX}; /* each fits alone */
}
