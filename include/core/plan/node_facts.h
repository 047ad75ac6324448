/* core/plan/node_facts.h - what the filters of kube-scheduler itself look at in a node, and what they say.
 *
 * The ledger keeps of a node what decides about GPUs, and no labels. Planning ahead (core/plan/head.h) needs the rest,
 * so this table keeps it, and only where planning is on: about 1 KiB a node and what its labels take.
 *
 * node_takes() is kube-scheduler's NodeUnschedulable, TaintToleration and NodeAffinity; host_room() its
 * NodeResourcesFit for cores, memory and the number of pods. Both say yes only where it says yes (Kubernetes 1.36,
 * k8s.io/component-helpers/scheduling/corev1; proved by test/planmatch). A node affinity that the administrator
 * adds to all pods of a scheduler profile (NodeAffinityArgs.addedAffinity), and filters of others, are not known here.
 *
 * Owned copies; no lock: the caller serialises.
 */
#ifndef CORE_PLAN_NODE_FACTS_H
#define CORE_PLAN_NODE_FACTS_H

#include "base/compiler.h"
#include "base/order.h"
#include "core/fit/device_state.h"
#include "core/plan/waiting_pod.h"
#include "model/node.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Keys of labels by their lengths first: most differ there. As strcmp. */
static inline int label_key_order(struct str a, struct str b)
{
    return a.n != b.n ? ORDER(a.n, b.n) : a.n > 0 ? memcmp(a.p, b.p, a.n) : 0;
}

struct node_facts {
    struct str name;
    struct kv_list labels;      /* in the order of label_key_order() */
    const struct taint *taints; /* those that keep pods off; that of a cordoned node among them */
    size_t taint_n;
    int32_t pods_max; /* status.allocatable["pods"]; 0: not said, or not a number: takes none */
    bool shares_gpus; /* of a host group (core/inventory/host_group.h): what it has left depends on other nodes */
};

/* By name. `version` counts changes of any of them. */
struct node_facts_table;
struct node_facts_table *node_facts_table_new(void);
void node_facts_table_free(struct node_facts_table *t); /* NULL is fine */
/* A node as it was read; the same facts again change nothing. False: no memory is left for it (NODE_FACTS_BYTES_MAX),
 * and it is not known from now on. */
bool node_facts_put(struct node_facts_table *t, const struct node *node);
void node_facts_remove(struct node_facts_table *t, struct str name); /* gone, or not readable any more */
void node_facts_clear(struct node_facts_table *t);
/* NULL: not known. Valid until the next change. */
const struct node_facts *node_facts_find(const struct node_facts_table *t, struct str name);
uint64_t node_facts_version(const struct node_facts_table *t);
uint32_t node_facts_count(const struct node_facts_table *t);

/* What one node may say in all. The API server allows 256 KiB of labels and annotations; ordinary nodes have 3 KiB. */
#define NODE_FACTS_BYTES_MAX 65536

/* Would the filters named above let the pod onto the node? */
bool node_takes(const struct waiting_pod *p, const struct node_facts *n);

/* Is there room for what the pod asks of the machine, beside the pods there? `h`: the node less what its pods ask,
 * those that are promised it included; `pod_n` of them. The ledger rounds each pod up to whole MiB and the node down,
 * so the answer is never more than kube-scheduler's. A node of which cores or memory are not known has none. */
bool host_room(const struct node_facts *n, const struct host_state *h, uint32_t pod_n, struct host_request asked);

#endif
