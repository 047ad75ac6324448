#include "extender/ingest.h"

#include "core/assignment.h"
#include "core/dialect.h"
#include "core/inventory.h"
#include "extender/notices.h"
#include "kube/binding.h"

static int arena_full(struct err *reterr, const char *what, struct str name)
{
    return err_set(reterr, ERR_LIMIT, "%s %.*s is too large to interpret", what, STR_ARG(name));
}

int ingest_pod(const struct ingest *in, struct arena *a, const struct pod *pod, struct err *reterr)
{
    const struct str *record = kv_find(pod->annotations, STR(ASSIGNMENT_KEY));
    struct assignment assignment;
    struct demand demand;
    struct err why;
    struct ledger_op op = {
        .kind = LEDGER_POD_OBSERVED,
        .pod = {.uid = pod->uid,
                .namespace_ = pod->namespace_,
                .name = pod->name,
                .node_name = pod->node_name,
                .nominated_node = pod->nominated_node_name,
                .deleting = pod->deleting,
                .priority = pod->priority,
                .claims_record = record != NULL && pod->node_name.n == 0,
                .annotation_bytes = binding_kept_bytes(pod->annotations, (struct kv_list){0}),
                .demand = &demand},
    };

    if (pod_is_terminal(pod)) {
        return ingest_pod_gone(in, pod->uid, reterr);
    }
    if (!dialect_demand(in->policy, pod, a, &demand) ||
        !dialect_label_hashes(pod, a, &op.pod.label_hashes, &op.pod.label_n)) {
        return arena_full(reterr, "pod", pod->name);
    }
    /* A record on a pod that is not bound is somebody's text, not a decision. */
    if (record != NULL && pod->node_name.n > 0) {
        if (assignment_parse(*record, a, &assignment, &why) == 0) {
            op.pod.assignment = &assignment;
        } else {
            LOG_WARNING(in->log, "Ignored an unreadable assignment annotation; the pod counts on every "
                                 "device of its node unless its devices are known",
                        LOG_STR("namespace", pod->namespace_), LOG_STR("pod", pod->name),
                        LOG_CSTR("err", why.msg));
        }
    }
    return notices_apply(in->store, in->events, &op, reterr);
}

int ingest_pod_gone(const struct ingest *in, struct str uid, struct err *reterr)
{
    struct ledger_op op = {.kind = LEDGER_POD_GONE, .name = uid};

    store_unhold(in->store, uid);
    return store_apply(in->store, &op, reterr);
}

int ingest_node(const struct ingest *in, struct arena *a, const struct node *node, struct err *reterr)
{
    struct inventory inventory;
    struct ledger_op op = {
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = node->name,
                 .uid = node->uid,
                 .schedulable = !node->unschedulable,
                 .inventory = &inventory},
    };

    if (!inventory_of_node(in->policy, node, a, &inventory, &op.node.note)) {
        return arena_full(reterr, "node", node->name);
    }
    if (op.node.note != NULL) {
        LOG_V(in->log, 4, "Inventory of a node needs attention", LOG_STR("node", node->name),
              LOG_CSTR("note", op.node.note));
    }
    return notices_apply(in->store, in->events, &op, reterr);
}

int ingest_node_gone(const struct ingest *in, struct str name, struct err *reterr)
{
    struct ledger_op op = {.kind = LEDGER_NODE_GONE, .name = name};

    return store_apply(in->store, &op, reterr);
}

int ingest_pod_unusable(const struct ingest *in, const struct pod *pod, struct err *reterr)
{
    const struct demand demand = {.defect = DEMAND_TOO_LARGE, .dialect = ""};
    struct ledger_op op = {
        .kind = LEDGER_POD_OBSERVED,
        .pod = {.uid = pod->uid,
                .namespace_ = pod->namespace_,
                .name = pod->name,
                .node_name = pod->node_name,
                .deleting = pod->deleting,
                .demand = &demand},
    };

    if (pod->uid.n == 0) {
        return err_set(reterr, ERR_INVALID, "a pod without a readable uid");
    }
    return pod_is_terminal(pod) ? ingest_pod_gone(in, pod->uid, reterr)
                                : notices_apply(in->store, in->events, &op, reterr);
}

int ingest_node_unusable(const struct ingest *in, const struct node *node, struct err *reterr)
{
    const struct inventory nothing = {.source = INVENTORY_NONE};
    struct ledger_op op = {
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = node->name,
                 .uid = node->uid,
                 .inventory = &nothing,
                 .note = "the Node object cannot be read: see the log"},
    };

    if (node->name.n == 0) {
        return err_set(reterr, ERR_INVALID, "a node without a readable name");
    }
    return notices_apply(in->store, in->events, &op, reterr);
}
