#include "core/plan/waiting_pod.h"

#include "base/bug.h"
#include "base/order.h"
#include "core/dialects/dialect.h"
#include "core/plan/constraints.h"
#include "core/request/toleration.h"

#include <stdlib.h>

static const struct {
    const char *name, *text;
} obstacles[PLAN_OBSTACLE__MAX] = {
    [PLAN_ELIGIBLE] = {"none", "it may be planned"},
    [PLAN_NOT_WAITING] = {"notWaiting", "it is bound, has ended or is being deleted"},
    [PLAN_NO_GPU] = {"noGpu", "it asks for no GPU"},
    [PLAN_DEFECT] = {"defect", "its GPU request is malformed"},
    [PLAN_NOMINATED] = {"nominated", "somebody else has nominated it"},
    [PLAN_GATED] = {"gated", "it has scheduling gates"},
    [PLAN_ODD] = {"odd", "its constraints cannot be read, or are too many"},
    [PLAN_POD_AFFINITY] = {"podAffinity", "it has affinity or anti-affinity to other pods"},
    [PLAN_SPREADS] = {"spread", "it has topology spread constraints"},
    [PLAN_HOST_PORTS] = {"hostPorts", "it takes ports of the host"},
    [PLAN_CLAIMS] = {"claims", "it has resource claims"},
    [PLAN_VOLUMES] = {"volumes", "it has volumes that may bind it to a node"},
    [PLAN_GROUPED] = {"grouped", "it is scheduled together with other pods"},
    [PLAN_OTHER_RESOURCES] = {"otherResources", "it asks for resources other than cores, memory and GPUs"},
    [PLAN_OTHER_PODS] = {"otherPods", "other pods, or single GPUs, decide where it may run"},
};

const char *plan_obstacle_text(enum plan_obstacle o)
{
    return obstacles[o].text;
}

const char *plan_obstacle_name(enum plan_obstacle o)
{
    return obstacles[o].name;
}

/* ---- may it be planned? ---- */

static bool has_others(const struct policy *policy, struct kv_list resources)
{
    bool any = false;

    for (size_t i = 0; i < resources.n && !any; i++) {
        struct str name = resources.items[i].key;

        any = !str_eq_cstr(name, "cpu") && !str_eq_cstr(name, "memory") && !dialect_owns_resource(policy, name);
    }
    return any;
}

static bool asks_for_others(const struct policy *policy, const struct pod *pod)
{
    bool any =
        has_others(policy, pod->limits) || has_others(policy, pod->requests) || has_others(policy, pod->overhead);

    for (size_t i = 0; i < pod->init_container_n + pod->container_n && !any; i++) {
        const struct container *c = pod_container(pod, i);

        any = has_others(policy, c->limits) || has_others(policy, c->requests);
    }
    return any;
}

static enum plan_obstacle obstacle_of(unsigned scheduler_only)
{
    static const struct {
        enum scheduler_only bit;
        enum plan_obstacle obstacle;
    } rows[] = {
        {POD_GATED, PLAN_GATED},     {POD_CONSTRAINTS_ODD, PLAN_ODD},   {POD_POD_AFFINITY, PLAN_POD_AFFINITY},
        {POD_SPREADS, PLAN_SPREADS}, {POD_HOST_PORTS, PLAN_HOST_PORTS}, {POD_CLAIMS, PLAN_CLAIMS},
        {POD_VOLUMES, PLAN_VOLUMES}, {POD_GROUPED, PLAN_GROUPED},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if ((scheduler_only & rows[i].bit) != 0) {
            return rows[i].obstacle;
        }
    }
    return PLAN_ELIGIBLE;
}

enum plan_obstacle plan_eligible(const struct policy *policy, const struct pod *pod, const struct demand *demand)
{
    enum plan_obstacle o = obstacle_of(pod_scheduler_only(pod));

    if (pod->node_name.n > 0 || pod_is_terminal(pod) || pod->deleting) {
        return PLAN_NOT_WAITING;
    }
    if (demand->defect != DEMAND_OK) {
        return PLAN_DEFECT;
    }
    if (demand_is_empty(demand)) {
        return PLAN_NO_GPU;
    }
    if (pod->nominated_node_name.n > 0 && !pod->nominated_by_planner) {
        return PLAN_NOMINATED;
    }
    if (o != PLAN_ELIGIBLE) {
        return o;
    }
    if (asks_for_others(policy, pod)) {
        return PLAN_OTHER_RESOURCES;
    }
    return demand->isolate_n > 0 || demand->uuid_n > 0 ? PLAN_OTHER_PODS : PLAN_ELIGIBLE;
}

/* ---- copies ---- */

static void keep(struct block *b, struct waiting_pod *w, const struct pod *pod, const uint64_t *label_hashes,
                 size_t label_n)
{
    w->label_hashes = block_keep(b, label_hashes, label_n * sizeof(*label_hashes));
    w->label_n = label_n;
    constraints_keep(b, w, pod);
    w->uid = block_text(b, pod->uid);
    w->namespace_ = block_text(b, pod->namespace_);
    w->name = block_text(b, pod->name);
    w->scheduler_name = block_text(b, pod->scheduler_name);
    w->nominated = block_text(b, pod->nominated_node_name);
}

struct waiting_pod *waiting_pod_new(const struct policy *policy, const struct pod *pod, const struct demand *demand,
                                    const uint64_t *label_hashes, size_t label_n)
{
    struct block b = {.used = sizeof(struct waiting_pod)};
    struct waiting_pod counted = {0}, *w;
    struct toleration *tolerations = NULL;
    size_t toleration_n = 0;

    keep(&b, &counted, pod, label_hashes, label_n);
    b.base = xcalloc(1, b.used);
    b.fills = true;
    b.used = sizeof(struct waiting_pod);
    w = (void *)b.base;
    keep(&b, w, pod, label_hashes, label_n);
    tolerations_replace(&tolerations, &toleration_n, pod->tolerations, pod->toleration_n);
    w->tolerations = tolerations;
    w->toleration_n = toleration_n;
    w->demand = demand_copy(demand);
    w->version = pod_version(pod);
    w->queued_ms = pod->created_ms;
    w->priority = pod->priority;
    w->nominated_by_us = pod->nominated_by_planner && pod->nominated_node_name.n > 0;
    w->scheduler_only = pod_scheduler_only(pod);
    w->obstacle = plan_eligible(policy, pod, demand);
    w->constraints = constraints_hash(w);
    return w;
}

void waiting_pod_free(struct waiting_pod *p)
{
    if (p != NULL) {
        free((void *)(uintptr_t)p->demand);
        free((void *)(uintptr_t)p->tolerations);
        free(p);
    }
}

/* ---- the order ---- */

int waiting_pod_compare(const struct waiting_pod *a, const struct waiting_pod *b)
{
    if (a->priority != b->priority) {
        return ORDER(b->priority, a->priority);
    }
    if (a->queued_ms != b->queued_ms) {
        return ORDER(a->queued_ms, b->queued_ms);
    }
    if (a->arrival != b->arrival) {
        return ORDER(a->arrival, b->arrival);
    }
    return str_cmp(a->uid, b->uid);
}
