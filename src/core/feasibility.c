/* The node-level rules, the common case of one container, and what a placement charges. The search over
 * several containers is in feasibility_search.c, the reasons in feasibility_reason.c. */
#include "core/feasibility_internal.h"

#include "base/bug.h"

/* ---- charges ---- */

static void charge_add(struct charge *sum, const struct charge *c)
{
    /* Both are bounded (core/demand.h limits each wish), 64 wishes cannot overflow. */
    sum->milli += c->milli;
    sum->slots += c->slots;
    sum->mem_mib += c->mem_mib;
    sum->exclusive = sum->exclusive || c->exclusive;
}

static void charge_max(struct charge *peak, const struct charge *c)
{
    peak->milli = c->milli > peak->milli ? c->milli : peak->milli;
    peak->slots = c->slots > peak->slots ? c->slots : peak->slots;
    peak->mem_mib = c->mem_mib > peak->mem_mib ? c->mem_mib : peak->mem_mib;
    peak->exclusive = peak->exclusive || c->exclusive;
}

struct charge feasibility_wish_charge(const struct wish *w, const struct device_state *d)
{
    return wish_charge(w, d->milli_cap, d->mem_cap_mib, d->mem_base_mib);
}

/* The peak over the phases of the wishes in `wishes` (a bit each), all on the device `d`. */
static struct charge peak_charge(const struct demand *d, uint64_t wishes, const struct device_state *device)
{
    struct charge each[DEMAND_WISHES_MAX];
    struct charge peak = {0};
    uint64_t phases = 0;

    for (uint64_t left = wishes; left != 0; left &= left - 1) {
        unsigned w = (unsigned)__builtin_ctzll(left);

        each[w] = feasibility_wish_charge(&d->wishes[w], device);
        phases |= d->wishes[w].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        uint64_t phase = phases & -phases;
        struct charge sum = {0};

        for (uint64_t left = wishes; left != 0; left &= left - 1) {
            unsigned w = (unsigned)__builtin_ctzll(left);

            if ((d->wishes[w].phases & phase) != 0) {
                charge_add(&sum, &each[w]);
            }
        }
        charge_max(&peak, &sum);
    }
    return peak;
}

struct charge placement_charge(const struct demand *d, const struct placement *p,
                               const struct device_state *devices, size_t ordinal)
{
    uint64_t wishes = 0;

    if (d->wish_n == 1) { /* nearly always */
        return feasibility_wish_charge(&d->wishes[0], &devices[ordinal]);
    }
    for (size_t w = 0; w < d->wish_n; w++) {
        wishes |= ((p->wish_devices[w] >> ordinal) & 1) << w;
    }
    return peak_charge(d, wishes, &devices[ordinal]);
}

struct charge demand_pessimistic_charge(const struct demand *d, const struct device_state *device)
{
    uint64_t all = d->wish_n == 0 ? 0 : UINT64_MAX >> (64 - d->wish_n);
    struct charge c = {0};

    if (d->defect == DEMAND_OK) {
        c = peak_charge(d, all, device);
    }
    if (d->defect != DEMAND_OK || c.exclusive) {
        c = (struct charge){device->milli_cap, c.slots > 1 ? c.slots : 1, device->mem_cap_mib, true};
    }
    return c;
}

/* ---- one wish ---- */

bool feasibility_allows(const struct feasibility *f, const struct device_state *d)
{
    return f->allowed_models == NULL || f->allowed_models[d->model_id] != 0;
}

struct pick {
    int64_t cost;
    unsigned ordinal;
};

/* The `count` cheapest devices that take the wish, ties by ordinal; false when there are fewer. */
static bool pick_devices(const struct feasibility *f, const struct wish *w, uint64_t *ret)
{
    struct pick best[DEVICES_PER_NODE_MAX];
    size_t best_n = 0;
    struct charge c = {0};

    for (unsigned i = 0; i < f->node->device_n; i++) {
        const struct device_state *d = &f->devices[i];
        struct pick p = {.ordinal = i};
        size_t at;

        /* Neighbours nearly always have equal capacities. */
        if (i == 0 || d->milli_cap != d[-1].milli_cap || d->mem_cap_mib != d[-1].mem_cap_mib ||
            d->mem_base_mib != d[-1].mem_base_mib) {
            c = feasibility_wish_charge(w, d);
        }
        if (!device_takes(d, &c) || !feasibility_allows(f, d)) {
            continue;
        }
        p.cost = f->strategy->device_cost(d, &c);
        if (best_n == w->count && p.cost >= best[best_n - 1].cost) {
            continue;
        }
        at = best_n < w->count ? best_n++ : best_n - 1;
        for (; at > 0 && best[at - 1].cost > p.cost; at--) {
            best[at] = best[at - 1];
        }
        best[at] = p;
    }
    if (best_n < w->count) {
        return false;
    }
    *ret = 0;
    for (size_t i = 0; i < best_n; i++) {
        *ret |= UINT64_C(1) << best[i].ordinal;
    }
    return true;
}

bool feasibility_fits_alone(const struct feasibility *f, const struct wish *w)
{
    uint64_t devices;

    return w->count <= f->node->device_n && pick_devices(f, w, &devices);
}

/* ---- the node ---- */

static enum verdict place_unsteered(const struct node_state *n, const struct demand *d)
{
    if (n->unsteered_cap == 0) {
        return VERDICT_NO_PLUGIN;
    }
    if (d->unsteered_n > n->unsteered_cap) {
        return VERDICT_TOO_FEW_GPUS;
    }
    if (n->share_pod_n > 0) {
        return VERDICT_SHARES_HERE;
    }
    return d->unsteered_n > n->unsteered_cap - n->unsteered_used ? VERDICT_PLUGIN_FULL : VERDICT_FITS;
}

enum verdict feasibility_place(const struct node_state *n, const struct device_state *devices,
                               const uint8_t *allowed_models, const struct demand *d,
                               const struct strategy *device_strategy, struct placement *ret)
{
    const struct feasibility f = {n, devices, allowed_models, d, device_strategy};

    BUG_ON(d->defect != DEMAND_OK || d->wish_n > DEMAND_WISHES_MAX);
    if ((n->flags & NODE_DESCRIBED) == 0) {
        return VERDICT_NODE_UNKNOWN;
    }
    if (d->unsteered_n > 0) {
        return place_unsteered(n, d);
    }
    if (n->device_n == 0) {
        return VERDICT_NO_GPU;
    }
    if (n->unsteered_used > 0) {
        return VERDICT_WHOLE_PODS_HERE;
    }
    if (d->wish_n == 1) {
        uint64_t mask;

        if (d->wishes[0].count <= n->device_n && pick_devices(&f, &d->wishes[0], &mask)) {
            ret->wish_devices[0] = mask;
            return VERDICT_FITS;
        }
        return feasibility_reason(&f, &d->wishes[0]);
    }
    return feasibility_search(&f, ret);
}
