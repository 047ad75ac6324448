/* Can this node take this demand: the rules for the node as a whole, the common case of one GPU request, and what a
 * placement charges. Several GPU requests are searched in feasibility_search.c; why there is no placement is found in
 * feasibility_reason.c.
 *
 * One GPU request needs no search. Whether a device takes it depends on that device alone, so the `count` cheapest
 * devices that take it are the best set, and fewer than `count` of them prove that there is none. That is one pass over
 * the devices: O(devices), O(devices x count) for several.
 *
 * This is the innermost loop of a decision: a demand that was never seen runs it once for every device of the cluster.
 * Neighbours are mostly equal, so the charge is computed once per run of equal capacities.
 */
#include "core/fit/feasibility_internal.h"

#include "base/bug.h"

/* ---- charges ---- */

static int32_t add_i32(int32_t a, int32_t b)
{
    int32_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT32_MAX : sum;
}

/* Sums stop at the largest number: a pod that says absurd amounts past us must not wrap to a small one. */
static void charge_add(struct charge *sum, const struct charge *c)
{
    sum->milli = add_i32(sum->milli, c->milli);
    sum->slots = add_i32(sum->slots, c->slots);
    if (__builtin_add_overflow(sum->mem_mib, c->mem_mib, &sum->mem_mib)) {
        sum->mem_mib = INT64_MAX;
    }
    sum->exclusive = sum->exclusive || c->exclusive;
    sum->profile = c->profile; /* those on one device agree where any of them is an answer */
}

static void charge_max(struct charge *peak, const struct charge *c)
{
    peak->milli = c->milli > peak->milli ? c->milli : peak->milli;
    peak->slots = c->slots > peak->slots ? c->slots : peak->slots;
    peak->mem_mib = c->mem_mib > peak->mem_mib ? c->mem_mib : peak->mem_mib;
    peak->exclusive = peak->exclusive || c->exclusive;
    peak->profile = c->profile;
}

/* The peak over the phases of the GPU requests in `gpu_requests` (a bit each), all on `device`. Each dimension has its
 * own peak: the phase with the most memory need not be the one with the most compute. */
static struct charge peak_charge(const struct demand *d, uint64_t gpu_requests, const struct device_state *device)
{
    struct charge each[DEMAND_GPU_REQUESTS_MAX];
    struct charge peak = {0};
    uint64_t phases = 0;

    for (uint64_t left = gpu_requests; left != 0; left &= left - 1) {
        unsigned w = (unsigned)__builtin_ctzll(left);

        each[w] = device_charge(device, d, &d->gpu_requests[w]);
        phases |= d->gpu_requests[w].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        uint64_t phase = phases & -phases;
        struct charge sum = {0};

        for (uint64_t left = gpu_requests; left != 0; left &= left - 1) {
            unsigned w = (unsigned)__builtin_ctzll(left);

            if ((d->gpu_requests[w].phases & phase) != 0) {
                charge_add(&sum, &each[w]);
            }
        }
        charge_max(&peak, &sum);
    }
    return peak;
}

struct charge placement_charge(const struct demand *d, const struct placement *p, const struct device_state *devices,
                               size_t ordinal)
{
    uint64_t gpu_requests = 0;

    for (size_t w = 0; w < d->gpu_request_n; w++) {
        gpu_requests |= ((p->gpu_request_devices[w] >> ordinal) & 1) << w;
    }
    if (gpu_requests != 0 && (gpu_requests & (gpu_requests - 1)) == 0) { /* nearly always one */
        return device_charge(&devices[ordinal], d, &d->gpu_requests[__builtin_ctzll(gpu_requests)]);
    }
    return peak_charge(d, gpu_requests, &devices[ordinal]);
}

struct charge demand_pessimistic_charge(const struct demand *d, const struct device_state *device)
{
    uint64_t all = d->gpu_request_n == 0 ? 0 : UINT64_MAX >> (64 - d->gpu_request_n);
    struct charge c = {0};

    if (d->defect == DEMAND_OK) {
        c = peak_charge(d, all, device);
    }
    if (device_is_instance(device)) { /* nobody can have a part of one */
        return (struct charge){device->milli_cap, 1, device->mem_cap_mib, true, device->profile};
    }
    if (d->defect != DEMAND_OK || c.exclusive) {
        c = (struct charge){device->milli_cap, c.slots > 1 ? c.slots : 1, device->mem_cap_mib, true, 0};
    }
    return c;
}

/* ---- one GPU request ---- */

struct pick {
    int64_t cost;
    unsigned ordinal;
};

/* The cheapest device that takes the GPU request: pick_devices() for one, without its list. This loop runs
 * for every device of the cluster; it is kept apart so that it keeps its registers. */
static __attribute__((noinline)) const struct device_state *pick_device(const struct feasibility *f,
                                                                        const struct gpu_request *w)
{
    const uint8_t *allowed = f->allowed_models;
    const struct device_state *best = NULL, *before = NULL, *d;
    int64_t best_cost = INT64_MAX;
    struct charge c = {0};

    for (size_t i = 0; i < f->node->device_n; i++, before = d) {
        int64_t cost;

        d = &f->devices[i];
        if (before == NULL || !device_same_capacity(d, before)) {
            c = device_charge(d, f->demand, w);
        } else if (device_equal(d, before)) {
            continue; /* it costs what its neighbour costs, and ties go to the lower ordinal */
        }
        if (!device_takes(d, &c) || (allowed != NULL && allowed[d->model_id] == 0)) {
            continue;
        }
        cost = feasibility_cost(f, d, &c);
        if (best == NULL || cost < best_cost) {
            best = d;
            best_cost = cost;
        }
    }
    return best;
}

/* The `count` cheapest devices that take the GPU request, ties by ordinal; false when there are fewer. */
static bool pick_devices(const struct feasibility *f, const struct gpu_request *w, uint64_t *ret)
{
    struct pick best[DEVICES_PER_NODE_MAX];
    const struct device_state *before = NULL;
    size_t best_n = 0;
    struct charge c = {0};
    uint64_t mask = 0;

    for (unsigned i = 0; i < f->node->device_n; i++) {
        const struct device_state *d = &f->devices[i];
        struct pick p = {.ordinal = i};
        size_t at;

        if (before == NULL || !device_same_capacity(d, before)) {
            c = device_charge(d, f->demand, w);
            before = d;
        }
        if (!device_takes(d, &c) || !feasibility_allows(f, d)) {
            continue;
        }
        p.cost = feasibility_cost(f, d, &c);
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
    for (size_t i = 0; i < best_n; i++) {
        mask |= UINT64_C(1) << best[i].ordinal;
    }
    *ret = mask;
    return true;
}

static enum verdict place_one(const struct feasibility *f, struct placement *ret)
{
    const struct gpu_request *w = &f->demand->gpu_requests[0];

    BUG_ON(w->count == 0);
    if (w->count == 1) {
        const struct device_state *d = pick_device(f, w);

        if (d == NULL) {
            return VERDICT_NO_COMBINATION;
        }
        ret->gpu_request_devices[0] = UINT64_C(1) << (d - f->devices);
        return VERDICT_FITS;
    }
    if (w->count > f->node->device_n || !pick_devices(f, w, &ret->gpu_request_devices[0])) {
        return VERDICT_NO_COMBINATION;
    }
    return VERDICT_FITS;
}

/* ---- the node ---- */

/* kubelet may pick any of the plugin's GPUs, so a constraint must admit every one we know of. */
static bool allows_every_device(const struct feasibility *f)
{
    size_t known_n = 0;

    for (size_t i = 0; i < f->node->device_n; i++) {
        const struct device_state *d = &f->devices[i];
        bool single = (f->node->flags & NODE_MIG_SINGLE) != 0;

        if ((d->flags & DEVICE_LOST) != 0 || (single ? !device_is_instance(d) : d->profile != 0)) {
            continue;
        }
        if (!feasibility_allows(f, d) || (d->flags & DEVICE_DENIED) != 0) {
            return false;
        }
        known_n++;
    }
    return known_n > 0 ||
           (demand_allows_model(f->demand, STR_NULL) && demand_allows_uuid(f->demand, STR_NULL, STR_NULL));
}

static enum verdict place_plugin_managed(const struct feasibility *f)
{
    const struct node_state *n = f->node;
    int32_t wanted = f->demand->plugin_managed_n;

    if (n->plugin_managed_cap <= 0) {
        return VERDICT_NO_PLUGIN;
    }
    if (wanted > n->plugin_managed_cap) {
        return VERDICT_TOO_FEW_GPUS;
    }
    if (!allows_every_device(f)) {
        return VERDICT_NOT_ALLOWED;
    }
    if (n->share_pod_n > 0) {
        return VERDICT_SHARES_HERE;
    }
    return wanted > n->plugin_managed_cap - n->plugin_managed_used ? VERDICT_PLUGIN_FULL : VERDICT_FITS;
}

/* Can the hand-off of the node say what this demand would get there? Whole GPUs of a plugin, and instances that are
 * only counted, are handed over by kubelet. */
static enum verdict hand_off_verdict(const struct node_state *n, const struct demand *d)
{
    if (d->gpu_request_n == 0 || ((n->flags & NODE_MIG_COUNTED) != 0 && demand_may_be_counted(d))) {
        return VERDICT_FITS;
    }
    if (n->hand_off == HAND_OFF__MAX) {
        return VERDICT_HAND_OFF;
    }
    return d->name_bytes_most > hand_off_name_bytes_max((enum hand_off)n->hand_off) ? VERDICT_HAND_OFF_NAME
                                                                                    : VERDICT_FITS;
}

enum verdict feasibility_of_node(const struct node_state *n, const struct demand *d)
{
    if ((n->flags & NODE_DESCRIBED) == 0) {
        return VERDICT_NODE_UNKNOWN;
    }
    if ((n->flags & NODE_SHUT) != 0) {
        return VERDICT_UNCOUNTED;
    }
    if (n->not_covered && !demand_is_empty(d)) {
        return VERDICT_NOT_COVERED;
    }
    if ((n->flags & NODE_MIG_CHANGING) != 0) {
        return VERDICT_MIG_CHANGING;
    }
    if (d->plugin_managed_n > 0 && n->plugin_managed_names != 0 &&
        (d->plugin_managed_names & ~n->plugin_managed_names) != 0) {
        return VERDICT_NO_PLUGIN;
    }
    if (d->plugin_managed_most > 1 && (n->flags & NODE_ONE_UNIT) != 0) {
        return VERDICT_ONE_UNIT;
    }
    if (d->plugin_managed_n > 0 && n->group_taken) {
        return VERDICT_HOST_GROUP;
    }
    if (demand_wants_instances(d) &&
        ((n->flags & NODE_MIG_SINGLE) != 0 || ((n->flags & NODE_MIG_COUNTED) != 0 && !demand_may_be_counted(d)))) {
        return VERDICT_MIG_PLUGIN;
    }
    return hand_off_verdict(n, d);
}

enum verdict feasibility_place(const struct node_state *n, const struct device_state *devices,
                               const uint8_t *allowed_models, const struct demand *d,
                               const struct strategy *device_strategy, struct placement *ret)
{
    const struct feasibility f = {n, devices, allowed_models, d, device_strategy};
    enum verdict v = feasibility_of_node(n, d);

    BUG_ON(d->defect != DEMAND_OK || d->gpu_request_n > DEMAND_GPU_REQUESTS_MAX || n->device_n > DEVICES_PER_NODE_MAX);
    if (v != VERDICT_FITS) {
        return v;
    }
    if ((n->flags & NODE_CLOSED) != 0) {
        return VERDICT_CLOSED;
    }
    if (d->plugin_managed_n > 0) {
        return place_plugin_managed(&f);
    }
    if (d->gpu_request_n == 0) {
        return VERDICT_FITS; /* wants no GPU: it is asked about only where machines are simulated */
    }
    v = VERDICT_NO_COMBINATION;
    if (n->plugin_managed_used == 0 || !demand_takes_shares(d)) {
        v = d->gpu_request_n == 1 ? place_one(&f, ret) : feasibility_search(&f, ret);
    }
    return v == VERDICT_NO_COMBINATION ? feasibility_reason(&f) : v;
}
