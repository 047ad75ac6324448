#include "core/report/capacity.h"

#include "base/bug.h"
#include "core/fit/feasibility.h"
#include "core/fit/strategy.h"

static uint32_t times(int64_t free, int64_t each, uint32_t max)
{
    int64_t n = each > 0 ? free / each : INT64_MAX;

    return n < (int64_t)max ? (uint32_t)n : max;
}

/* How often the device takes `c`, one after another. */
static uint32_t capacity_device(const struct device_state *d, const struct charge *c)
{
    uint32_t n;

    if (!device_takes(d, c)) {
        return 0;
    }
    if (c->exclusive) {
        return 1;
    }
    n = times(d->slot_free, c->slots, UINT16_MAX); /* a charge has at least one */
    n = times(d->milli_free, c->milli, n);
    return times(d->mem_free_mib, c->mem_mib, n);
}

static uint64_t sum_up_to(const uint32_t *n, size_t count, uint64_t t)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += n[i] < t ? n[i] : t;
    }
    return sum;
}

/* The largest t with sum(min(n_i, t)) >= k t: the left side grows ever slower, so halving finds it. */
static uint64_t pods_of(const uint32_t *n, size_t count, uint64_t k)
{
    uint64_t low = 0, high = sum_up_to(n, count, UINT64_MAX) / k;

    while (low < high) {
        uint64_t t = high - (high - low) / 2;

        if (sum_up_to(n, count, t) >= k * t) {
            low = t;
        } else {
            high = t - 1;
        }
    }
    return low;
}

uint64_t capacity_node(const struct node_state *n, const struct device_state *devices, const struct demand *d)
{
    uint32_t each[DEVICES_PER_NODE_MAX];
    struct placement at;

    BUG_ON(d->defect != DEMAND_OK || d->gpu_request_n > 1 || d->model_n > 0 || d->uuid_n > 0);
    if (feasibility_place(n, devices, NULL, d, strategies[0], &at) != VERDICT_FITS) {
        return 0; /* the rules of the node, too */
    }
    if (d->plugin_managed_n > 0) {
        return (uint64_t)((n->plugin_managed_cap - n->plugin_managed_used) / d->plugin_managed_n);
    }
    for (size_t i = 0; i < n->device_n; i++) {
        struct charge c = device_charge(&devices[i], d, &d->gpu_requests[0]);

        each[i] = capacity_device(&devices[i], &c);
    }
    return pods_of(each, n->device_n, d->gpu_requests[0].count);
}

struct capacity_hole capacity_hole(const struct node_state *n, const struct device_state *devices)
{
    const struct charge nothing = {.slots = 1};
    struct capacity_hole h = {0};

    if (n->plugin_managed_used > 0) {
        return h; /* whole GPUs of a plugin keep shares away */
    }
    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *d = &devices[i];

        if (!device_takes(d, &nothing)) {
            continue;
        }
        if (d->milli_free > h.milli || (d->milli_free == h.milli && d->mem_free_mib > h.mem_mib)) {
            h.milli = d->milli_free;
            h.mem_mib = d->mem_free_mib;
        }
        h.empty_n += (d->flags & DEVICE_IN_USE) == 0;
    }
    return h;
}
