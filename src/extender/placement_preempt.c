#include "core/dialects/dialect.h"
#include "extender/placement.h"

int placement_preempt(const struct placement_context *c, struct arena *a, const struct pod *pod,
                      struct preempt_node *nodes, size_t n, size_t *ret_n, struct err *reterr)
{
    struct demand demand;
    struct preempt_request r = {.uid = pod->uid,
                                .namespace_ = pod->namespace_,
                                .priority = pod->priority,
                                .demand = &demand,
                                .device_strategy = c->plans.rest.params.device_strategy};
    const char *not_ready;
    size_t kept = 0;

    if (!dialect_demand(c->policy, pod, a, &demand) || !dialect_label_hashes(pod, a, &r.label_hashes, &r.label_n)) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    not_ready = demand_is_empty(&demand) ? store_not_open(c->store) : store_not_ready(c->store);
    if (not_ready != NULL) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s", not_ready);
    }
    for (size_t i = 0; i < n; i++) {
        struct preempt_node node = nodes[i];

        r.node_name = node.name;
        r.victims = node.victims;
        r.victim_n = node.victim_n;
        if (demand.defect == DEMAND_OK &&
            (demand_is_empty(&demand) || store_preempt(c->store, a, &r, &node.victims, &node.victim_n))) {
            nodes[kept++] = node;
        }
    }
    if (a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    *ret_n = kept;
    return 0;
}
