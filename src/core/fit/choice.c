#include "core/fit/choice.h"

#include "core/fit/feasibility.h"

#include <string.h>

/* A charge is of one device, and known before that changes. */
static void take_devices(struct device_state *devices, const struct demand *d, const struct placement *at)
{
    for (uint64_t used = placement_devices(at, d->gpu_request_n); used != 0; used &= used - 1) {
        unsigned i = (unsigned)__builtin_ctzll(used);
        struct charge c = placement_charge(d, at, devices, i);

        device_take(&devices[i], &c);
    }
}

void choice_take(const struct node_state *n, const struct device_state *before, const struct demand *d,
                 const struct placement *at, struct device_state *after)
{
    memcpy(after, before, n->device_n * sizeof(*after));
    take_devices(after, d, at);
}

/* As the ledger has it once the pod is there (ledger_pod_class). */
static uint8_t class_of(const struct device_state *devices, const struct demand *d, const struct placement *at)
{
    int32_t device_n = d->plugin_managed_n;
    bool whole = true;

    for (uint64_t used = placement_devices(at, d->gpu_request_n); used != 0; used &= used - 1) {
        struct charge c = placement_charge(d, at, devices, (unsigned)__builtin_ctzll(used));

        device_n++;
        whole = whole && c.profile == 0 && (c.exclusive || c.milli >= DEVICE_MILLI);
    }
    return pod_class_of(device_n, whole);
}

void choice_land(struct node_state *n, struct device_state *devices, const struct demand *d, const struct placement *at)
{
    n->pod_classes |= class_of(devices, d, at);
    n->host = host_after(n->host, d->host);
    take_devices(devices, d, at);
    n->plugin_managed_used += d->plugin_managed_n;
    n->share_pod_n += demand_takes_shares(d);
}

static inline struct strategy_node judged(const struct node_state *n, const struct demand *d,
                                          const struct device_state *before, const struct device_state *after)
{
    return (struct strategy_node){
        .demand = d,
        .node = n,
        .before = before,
        .after = after,
        .device_n = n->device_n,
        .plugin_managed_cap = n->plugin_managed_cap,
        .plugin_managed_free = n->plugin_managed_cap - n->plugin_managed_used - d->plugin_managed_n,
        .host = host_after(n->host, d->host),
    };
}

static int64_t score(const struct strategy *s, const struct pack_params *p, const struct node_state *n,
                     const struct demand *d, const struct device_state *before, const struct device_state *after,
                     struct forecast_terms *terms)
{
    const struct strategy_node at = judged(n, d, before, after);

    if (s->priced_score != NULL && p->forecast != NULL) {
        return s->priced_score(p->forecast, p->prices, &at, s == p->node_strategy ? terms : NULL);
    }
    if (s->looks_ahead && p->forecast == NULL) {
        return 0; /* nothing is known: all placements are alike */
    }
    return s->node_score(p->forecast, &at);
}

/* Every different device that takes the one GPU request, judged by the device strategy's node score. */
static void try_devices(const struct pack_params *p, const struct node_state *n, const struct device_state *devices,
                        const uint8_t *allowed_models, const struct demand *d, struct placement *ret,
                        int64_t *ret_score, struct forecast_terms *terms)
{
    struct device_state after[DEVICES_PER_NODE_MAX];
    const struct gpu_request *w = &d->gpu_requests[0];
    int64_t best = INT64_MIN;
    struct charge c = {0};
    bool found = false;

    memcpy(after, devices, n->device_n * sizeof(after[0]));
    for (unsigned i = 0; i < n->device_n; i++) {
        const struct device_state *v = &devices[i];
        bool seen;
        int64_t s;

        if (i == 0 || !device_same_capacity(v, &devices[i - 1])) {
            c = device_charge(v, d, w);
        }
        seen = !device_takes(v, &c) || (allowed_models != NULL && allowed_models[v->model_id] == 0);
        for (unsigned k = 0; k < i && !seen; k++) {
            seen = device_equal(v, &devices[k]);
        }
        if (seen) {
            continue;
        }
        device_take(&after[i], &c);
        s = score(p->device_strategy, p, n, d, devices, after, terms);
        after[i] = *v;
        if (!found || s > best) {
            found = true;
            best = s;
            ret->gpu_request_devices[0] = UINT64_C(1) << i;
        }
    }
    *ret_score = best;
}

enum verdict choice_make_terms(const struct pack_params *p, const struct node_state *n,
                               const struct device_state *devices, const uint8_t *allowed_models,
                               const struct demand *d, struct placement *ret, int64_t *ret_score,
                               struct forecast_terms *terms)
{
    struct device_state after[DEVICES_PER_NODE_MAX];
    enum verdict v = feasibility_place(n, devices, allowed_models, d, p->device_strategy, ret);
    int64_t known;

    if (v != VERDICT_FITS) {
        return v;
    }
    if (p->device_strategy->tries_devices && d->gpu_request_n == 1 && d->gpu_requests[0].count == 1 &&
        !device_is_instance(&devices[__builtin_ctzll(ret->gpu_request_devices[0])])) {
        try_devices(p, n, devices, allowed_models, d, ret, &known, terms);
        if (p->node_strategy == p->device_strategy) {
            if (ret_score != NULL) {
                *ret_score = known;
            }
            return v;
        }
    }
    if (ret_score != NULL) {
        choice_take(n, devices, d, ret, after);
        *ret_score = score(p->node_strategy, p, n, d, devices, after, terms);
    }
    return v;
}

enum verdict choice_make(const struct pack_params *p, const struct node_state *n, const struct device_state *devices,
                         const uint8_t *allowed_models, const struct demand *d, struct placement *ret,
                         int64_t *ret_score)
{
    return choice_make_terms(p, n, devices, allowed_models, d, ret, ret_score, NULL);
}

size_t choice_parts(const struct pack_params *p, const struct node_state *n, const struct device_state *devices,
                    const struct demand *d, const struct placement *at, struct score_part ret[SCORE_PARTS_MAX])
{
    struct device_state after[DEVICES_PER_NODE_MAX];
    struct strategy_node node;

    if (p->node_strategy->score_parts == NULL) {
        return 0;
    }
    choice_take(n, devices, d, at, after);
    node = judged(n, d, devices, after);
    return p->node_strategy->score_parts(p->forecast, p->prices, &node, ret);
}
