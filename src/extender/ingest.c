#include "extender/ingest.h"

#include "core/dialects/dialect.h"
#include "core/inventory/host_group.h"
#include "core/inventory/inventory.h"
#include "core/placement/plan.h"
#include "core/record/assignment.h"
#include "core/request/host.h"
#include "core/request/toleration.h"
#include "core/time/node_pools.h"
#include "extender/notices.h"
#include "extender/plan_nodes.h"
#include "extender/planner.h"
#include "extender/record.h"
#include "extender/warn_limit.h"
#include "kube/binding.h"

static int arena_full(struct err *reterr, const char *what, struct str name)
{
    return err_set(reterr, ERR_LIMIT, "%s %.*s is too large to interpret", what, STR_ARG(name));
}

static void warn_of_record(const struct ingest *in, const struct pod *pod, const char *why)
{
    uint64_t withheld;

    if (warn_limit_take(in->warnings, pod->uid, "assignment", &withheld)) {
        LOG_WARNING(in->log,
                    "Ignored the assignment annotation of a bound pod; the pod counts on every device of its "
                    "node unless its devices are known, or it asks for none",
                    LOG_STR("namespace", pod->namespace_), LOG_STR("pod", pod->name), LOG_CSTR("err", why),
                    LOG_I64("warningsWithheld", (int64_t)withheld));
    }
}

static void ignore_record(const struct ingest *in, const struct pod *pod, const char *why)
{
    if (in->signing != NULL) {
        signing_count(in->signing, SIGNING_IGNORED);
    }
    warn_of_record(in, pod, why);
}

/* Is the record one that nobody believes before it is verified (ledger_must_verify)? Nearly no pod has one. */
static bool must_verify(const struct ingest *in, const struct ledger_pod_fact *f)
{
    return demand_is_empty(f->demand) || (in->store != NULL && store_must_verify(in->store, f));
}

/* What bind wrote comes back by the watch: nothing has to be computed for it, and nobody has to be woken. */
static bool recognize(const struct ingest *in, struct ledger_pod_fact *f)
{
    if (!signing_recognizes(in->signing, f->proof)) {
        return false;
    }
    signing_count(in->signing, SIGNING_VERIFIED);
    f->proof = STR_NULL;
    f->record_trust = RECORD_VERIFIED;
    return true;
}

static void verify_now(const struct ingest *in, const struct pod *pod, struct ledger_pod_fact *f)
{
    const struct sign_keyring *keys = signing_take(in->signing);
    const bool holds = record_proof_holds(keys, f->proof);

    sign_keyring_put(keys);
    signing_count(in->signing, holds ? SIGNING_VERIFIED : SIGNING_REFUTED);
    f->proof = STR_NULL;
    f->record_trust = holds ? RECORD_VERIFIED : RECORD_UNSIGNED;
    if (!holds) {
        f->assignment = NULL;
        warn_of_record(in, pod, "its signature is not valid");
    }
}

/* False: too large. */
static bool read_record(const struct ingest *in, struct arena *a, const struct pod *pod, struct ingest_fact *ret)
{
    struct record_judgement judgement;
    struct err why;

    if (dialect_native.parse_assignment(pod->annotations, a, &ret->assignment, &why) != 0) {
        ignore_record(in, pod, why.msg);
        return true;
    }
    if (!record_judge(in->signing, in->accept_unsigned_before_ms, pod, &ret->assignment, a, &judgement)) {
        return false;
    }
    if (!judgement.counts) {
        ignore_record(in, pod, judgement.why);
        return true;
    }
    ret->op.pod.assignment = &ret->assignment;
    ret->op.pod.record_trust = judgement.trust;
    ret->op.pod.proof = judgement.proof;
    if (judgement.trust == RECORD_PROVISIONAL && !recognize(in, &ret->op.pod) && must_verify(in, &ret->op.pod)) {
        verify_now(in, pod, &ret->op.pod);
    }
    return true;
}

/* What is known of every pod that has a uid. */
static struct ledger_op pod_op(const struct pod *pod, const struct demand *demand)
{
    if (pod_is_terminal(pod)) {
        return (struct ledger_op){.kind = LEDGER_POD_GONE, .name = pod->uid};
    }
    return (struct ledger_op){
        .kind = LEDGER_POD_OBSERVED,
        .pod = {.uid = pod->uid,
                .namespace_ = pod->namespace_,
                .name = pod->name,
                .node_name = pod->node_name,
                .version = pod_version(pod),
                .deleting = pod->deleting,
                .created_ms = pod->created_ms,
                .demand = demand},
    };
}

static int read_pod(const struct ingest *in, struct arena *a, const struct pod *pod, struct ingest_fact *ret,
                    struct err *reterr)
{
    const struct str *text = kv_find(pod->annotations, STR(ASSIGNMENT_KEY));
    const struct str *record = text != NULL && text->n > 0 ? text : NULL; /* overwritten with nothing: none */
    struct ledger_pod_fact *f = &ret->op.pod;

    ret->op = pod_op(pod, &ret->demand);
    if (ret->op.kind == LEDGER_POD_GONE) {
        return 0;
    }
    /* The planner's own nominations keep nobody away: it chose where there is room, and plans anew (contract.md R24).
     */
    f->nominated_node = pod->nominated_by_planner ? STR_NULL : pod->nominated_node_name;
    f->priority = pod->priority;
    f->claims_record = record != NULL && pod->node_name.n == 0;
    f->annotation_bytes = binding_kept_bytes(pod->annotations, (struct kv_list){0});
    f->init_containers = pod->init_containers;
    f->init_container_n = pod->init_container_n;
    f->tolerations = pod->tolerations;
    f->toleration_n = pod->toleration_n;
    if (!dialect_demand(in->policy, pod, a, &ret->demand) ||
        !dialect_label_hashes(pod, a, &f->label_hashes, &f->label_n) ||
        (pod->node_name.n == 0 && !dialect_leftovers(pod->annotations, a, &f->leftovers))) {
        return arena_full(reterr, "pod", pod->name);
    }
    /* A record on a pod that is not bound is somebody's text, not a decision. */
    if (record != NULL && pod->node_name.n > 0 && !read_record(in, a, pod, ret)) {
        return arena_full(reterr, "pod", pod->name);
    }
    return 0;
}

static int read_pod_unusable(const struct pod *pod, struct ingest_fact *ret, struct err *reterr)
{
    if (pod->uid.n == 0) {
        return err_set(reterr, ERR_INVALID, "a pod without a readable uid");
    }
    ret->demand = (struct demand){.defect = DEMAND_TOO_LARGE, .dialect = ""};
    ret->op = pod_op(pod, &ret->demand);
    return 0;
}

static int read_node(const struct ingest *in, struct arena *a, const struct node *node, struct ingest_fact *ret,
                     struct err *reterr)
{
    const struct host_group group = host_group_of_node(node);

    ret->op = (struct ledger_op){
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = node->name,
                 .uid = node->uid,
                 .schedulable = !node->unschedulable,
                 .host = host_capacity_of_node(node),
                 .closed = node_pools_close(in->policy, node),
                 .pools = node_pools_gated(in->policy, node),
                 .pools_layout = node_pools_layout(in->policy),
                 .rules = plan_node_rules(in->policy, node->labels),
                 .host_group = group.name,
                 .host_gpu_mem_mib = group.mem_mib,
                 .inventory = &ret->inventory},
    };
    if (!dialect_inventory(in->policy, node, a, &ret->inventory, &ret->op.node.note) ||
        !taints_of_node(node, a, &ret->op.node.taints, &ret->op.node.taint_n)) {
        return arena_full(reterr, "node", node->name);
    }
    if (ret->op.node.note == NULL && group.is_odd) {
        ret->op.node.note =
            "the label fgpu.io/host-gpu-memory is no quantity such as 16Gi: the largest GPU of the host "
            "group counts instead";
    }
    if (ret->op.node.note != NULL) {
        LOG_V(in->log, 4, "Inventory of a node needs attention", LOG_STR("node", node->name),
              LOG_CSTR("note", ret->op.node.note));
    }
    return 0;
}

static int read_node_unusable(const struct node *node, struct ingest_fact *ret, struct err *reterr)
{
    if (node->name.n == 0) {
        return err_set(reterr, ERR_INVALID, "a node without a readable name");
    }
    ret->inventory = (struct inventory){.source = INVENTORY_NONE};
    ret->op = (struct ledger_op){
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = node->name,
                 .uid = node->uid,
                 .unreadable = true,
                 .inventory = &ret->inventory,
                 .note = "the Node object cannot be read: see the log"},
    };
    return 0;
}

static int read_unusable(const struct kube_object *o, struct ingest_fact *ret, struct err *reterr)
{
    return o->pod != NULL ? read_pod_unusable(o->pod, ret, reterr) : read_node_unusable(o->node, ret, reterr);
}

/* With the planner's own verdict about the nomination: the ledger and the planner have one. */
static struct pod judged(const struct ingest *in, const struct pod *pod)
{
    struct pod j = *pod;

    j.nominated_by_planner = planner_nominated(in->planner, pod);
    return j;
}

int ingest_read(const struct ingest *in, struct arena *a, const struct kube_object *o, bool usable,
                struct ingest_fact *ret, struct err *reterr)
{
    int rc = -ERR_INVALID;

    if (usable && o->pod != NULL) {
        const struct pod j = judged(in, o->pod);

        rc = read_pod(in, a, &j, ret, reterr);
    } else if (usable) {
        rc = read_node(in, a, o->node, ret, reterr);
    }
    return rc == 0 ? 0 : read_unusable(o, ret, reterr);
}

/* ---- reading and applying ---- */

static int apply_fact(const struct ingest *in, struct ingest_fact *f, struct err *reterr)
{
    const bool is_provisional = f->op.kind == LEDGER_POD_OBSERVED && f->op.pod.record_trust == RECORD_PROVISIONAL;
    int rc;

    if (f->op.kind == LEDGER_POD_GONE) {
        store_tentative_end(in->store, f->op.name);
        waiting_gone(store_waiting(in->store), f->op.name);
        planner_gone(in->planner, f->op.name);
    } else if (f->op.kind == LEDGER_NODE_GONE) {
        plan_nodes_gone(in->plan_nodes, f->op.name);
    }
    rc = notices_apply(in->store, in->events, &f->op, reterr);
    if (is_provisional && store_has_unverified(in->store)) { /* most that come again have their verdict */
        signing_wake(in->signing);
    }
    return rc;
}

/* Pods that the planner may nominate, and those whose nomination takes room from them or is its own. */
static void tell_planner(const struct ingest *in, const struct pod *pod, const struct ledger_pod_fact *f)
{
    struct waiting_pod *waits = NULL;

    if (in->planner == NULL) {
        return;
    }
    if (pod->node_name.n == 0 && (in->policy->plan_ahead || pod->nominated_by_planner)) {
        waits = waiting_pod_new(in->policy, pod, f->demand, f->label_hashes, f->label_n);
        if (waits->obstacle != PLAN_ELIGIBLE && waits->nominated.n == 0) {
            waiting_pod_free(waits);
            waits = NULL;
        }
    }
    planner_observed(in->planner, pod, waits);
}

enum pod_source { POD_LISTED, POD_WATCHED, POD_READ };

static int take_pod(const struct ingest *in, struct arena *a, const struct pod *pod, enum pod_source by,
                    struct err *reterr)
{
    const struct pod j = judged(in, pod);
    struct ingest_fact f;
    int rc = read_pod(in, a, &j, &f, reterr);
    bool news;

    f.op.pod.read = f.op.kind == LEDGER_POD_OBSERVED && by == POD_READ;
    f.op.told = by == POD_WATCHED ? pod_version(pod) : 0;
    news = rc == 0 && f.op.kind == LEDGER_POD_OBSERVED && !store_is_old(in->store, &f.op);
    if (news && !demand_is_empty(f.op.pod.demand)) {
        waiting_observed(store_waiting(in->store), pod);
    }
    if (news) {
        tell_planner(in, &j, &f.op.pod);
    }
    return rc == 0 ? apply_fact(in, &f, reterr) : rc;
}

int ingest_pod(const struct ingest *in, struct arena *a, const struct pod *pod, struct err *reterr)
{
    return take_pod(in, a, pod, POD_LISTED, reterr);
}

int ingest_pod_read(const struct ingest *in, struct arena *a, const struct pod *pod, struct err *reterr)
{
    return take_pod(in, a, pod, POD_READ, reterr);
}

int ingest_node(const struct ingest *in, struct arena *a, const struct node *node, struct err *reterr)
{
    struct ingest_fact f;
    int rc = read_node(in, a, node, &f, reterr);

    if (rc == 0 && in->policy->plan_ahead) {
        plan_nodes_observed(in->plan_nodes, node);
    }
    return rc == 0 ? apply_fact(in, &f, reterr) : rc;
}

int ingest_object(const struct ingest *in, struct arena *a, const struct kube_object *o, struct err *reterr)
{
    return o->pod != NULL ? take_pod(in, a, o->pod, o->in_order ? POD_WATCHED : POD_LISTED, reterr)
                          : ingest_node(in, a, o->node, reterr);
}

static uint64_t told_by(const struct kube_object *o)
{
    return o->pod != NULL && o->in_order ? pod_version(o->pod) : 0;
}

int ingest_unusable(const struct ingest *in, const struct kube_object *o, struct err *reterr)
{
    struct ingest_fact f;
    int rc = read_unusable(o, &f, reterr);

    if (rc == 0 && o->node != NULL) {
        plan_nodes_gone(in->plan_nodes, o->node->name);
    } else if (rc == 0) {
        planner_gone(in->planner, o->pod->uid);
        f.op.told = told_by(o);
    }

    return rc == 0 ? apply_fact(in, &f, reterr) : rc;
}

int ingest_gone(const struct ingest *in, const struct kube_object *o, struct err *reterr)
{
    struct ingest_fact f = {.op = o->pod != NULL ? (struct ledger_op){.kind = LEDGER_POD_GONE, .name = o->pod->uid}
                                                 : (struct ledger_op){.kind = LEDGER_NODE_GONE, .name = o->node->name}};

    f.op.told = told_by(o);
    return apply_fact(in, &f, reterr);
}
