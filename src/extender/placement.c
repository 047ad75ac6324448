#include "extender/placement.h"

#include "base/bug.h"
#include "core/dialect.h"

int placement_context_init(struct placement_context *c, struct store *store, const struct policy *policy,
                           struct err *reterr)
{
    *c = (struct placement_context){
        .store = store,
        .policy = policy,
        .node_strategy = strategy_find(policy->node_strategy),
        .device_strategy = strategy_find(policy->device_strategy),
    };
    if (c->node_strategy == NULL) {
        return err_set(reterr, ERR_INVALID, "unknown node strategy \"%.*s\"",
                       STR_ARG(policy->node_strategy));
    }
    if (c->device_strategy == NULL) {
        return err_set(reterr, ERR_INVALID, "unknown device strategy \"%.*s\"",
                       STR_ARG(policy->device_strategy));
    }
    return 0;
}

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

/* One decision: demand, view, holds, a verdict and a score per name. Leaves *ret_results NULL when the pod
 * asks for nothing or is malformed. */
static int decide(const struct placement_context *c, struct arena *a, const struct pod *pod,
                  const struct str *names, size_t name_n, struct demand *ret_demand,
                  struct pack_result **ret_results, uint64_t *ret_generation, struct err *reterr)
{
    const struct pack_params params = {c->node_strategy, c->device_strategy};
    struct view_pod key = {.uid = pod->uid,
                           .namespace_ = pod->namespace_,
                           .priority = pod->priority,
                           .demand = ret_demand};
    const struct pack_hold *holds;
    size_t hold_n;
    const char *not_ready = store_not_ready(c->store);
    struct ledger_view view;
    int r;

    *ret_results = NULL;
    *ret_generation = 0;
    if (not_ready != NULL) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s", not_ready);
    }
    if (!dialect_demand(c->policy, pod, a, ret_demand) ||
        !dialect_label_hashes(pod, a, &key.label_hashes, &key.label_n)) {
        return too_large(reterr);
    }
    if (demand_is_empty(ret_demand) || ret_demand->defect != DEMAND_OK) {
        return 0;
    }
    r = store_view(c->store, a, &key, &view, reterr);
    if (r == 0) {
        r = store_holds(c->store, a, pod->uid, &holds, &hold_n, reterr);
    }
    if (r != 0) {
        return r;
    }
    *ret_results = ARENA_ARRAY(a, name_n, struct pack_result);
    if (*ret_results == NULL) {
        return too_large(reterr);
    }
    *ret_generation = view.generation;
    pack_nodes(&view, ret_demand, &params, holds, hold_n, names, name_n, *ret_results);
    return 0;
}

static void hold(const struct placement_context *c, const struct pod *pod, struct str node_name,
                 const struct demand *d)
{
    if (c->policy->hold_ms > 0) {
        store_hold(c->store, pod->uid, node_name, d, c->policy->hold_ms);
    }
}

int placement_filter(const struct placement_context *c, struct arena *a, const struct pod *pod,
                     const struct str *names, size_t name_n, struct filter_result *ret, struct err *reterr)
{
    struct demand demand;
    struct pack_result *results;
    size_t limit = (size_t)c->policy->candidates;
    uint64_t generation;
    int r = decide(c, a, pod, names, name_n, &demand, &results, &generation, reterr);

    if (r != 0) {
        return r;
    }
    /* A new filter call for this pod proves that its previous attempt is over (contract.md 3.1). */
    store_unhold(c->store, pod->uid);
    *ret = (struct filter_result){
        .outcome = FILTER_NOT_OURS, .defect = demand.defect, .generation = generation};
    if (demand.defect != DEMAND_OK) {
        ret->outcome = FILTER_DEFECT;
    } else if (results != NULL) {
        ret->results = results;
        ret->fit_n = pack_rank(results, name_n, limit);
        if (limit > 0 && ret->fit_n > limit) {
            ret->fit_n = limit;
        }
        ret->outcome = ret->fit_n > 0 ? FILTER_SOME_FIT : FILTER_NONE_FITS;
        if (ret->fit_n == 1) {
            /* kube-scheduler skips prioritize when one node is left (contract.md 2.3). */
            hold(c, pod, results[0].name, &demand);
        }
    }
    return 0;
}

static struct pack_result *without_merit(struct arena *a, const struct str *names, size_t name_n)
{
    struct pack_result *results = ARENA_ARRAY(a, name_n, struct pack_result);

    for (size_t i = 0; results != NULL && i < name_n; i++) {
        results[i] = (struct pack_result){.name = names[i], .verdict = VERDICT_NO_GPU};
    }
    return results;
}

int placement_prioritize(const struct placement_context *c, struct arena *a, const struct pod *pod,
                         const struct str *names, size_t name_n, struct prioritize_result *ret,
                         struct err *reterr)
{
    struct demand demand;
    struct pack_result *results;
    int32_t *points = ARENA_ARRAY(a, name_n, int32_t);
    uint64_t generation;
    int r = decide(c, a, pod, names, name_n, &demand, &results, &generation, reterr);

    if (r != 0) {
        return r;
    }
    if (results == NULL) {
        results = without_merit(a, names, name_n);
    }
    if (points == NULL || results == NULL) {
        return too_large(reterr);
    }
    (void)pack_rank(results, name_n, 0);
    pack_points(results, name_n, points);
    if (name_n > 0 && results[0].verdict == VERDICT_FITS) {
        hold(c, pod, results[0].name, &demand);
    }
    ret->ranked = results;
    ret->points = points;
    return 0;
}
