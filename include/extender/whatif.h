/* extender/whatif.h - how many pods of a kind would fit now: for the person who asks before creating them.
 *
 * The request is read as that of a pod that waits: one container with these limits, these annotations, in this
 * namespace, without labels and tolerations, of priority 0. All nodes are judged as filter judges them (extender/
 * explain.h), and in the order in which they would be chosen they take one pod after another on copies
 * (core/placement/repeat.h), within what is left to the tenant.
 *
 * Nothing is reserved, learned, counted as demand, or kept as a decision. The lock of the store is held for sections as
 * short as those of filter; nodes are looked at at different moments.
 *
 * The number is exact for a cluster that stays as it is, but
 *   - where not all was counted (`at_least`): the work is bounded; nodes of one host group take from each other, so the
 *     second one gives only what is certain; and so does a node to which another pod is nominated;
 *   - under a limit of the tenant where GPUs differ in what the pod is charged for: the order decides then, and that
 *     may change with each pod.
 */
#ifndef EXTENDER_WHATIF_H
#define EXTENDER_WHATIF_H

#include "extender/explain.h"

#define WHATIF_PODS_MAX 100000
/* Tries (struct repeat): a second or less. */
#define WHATIF_WORK_MAX 200000

struct whatif_question {
    struct str namespace_;
    struct kv_list limits, annotations;
    uint64_t count; /* 1 to WHATIF_PODS_MAX */
};

enum whatif_outcome {
    WHATIF_COUNTED,
    WHATIF_INVALID,  /* the request: e.pod.pod.demand->defect */
    WHATIF_NOT_OURS, /* it asks for no GPU */
};

struct whatif {
    enum whatif_outcome outcome;
    uint64_t asked, fitting;
    bool at_least;        /* more may fit */
    struct explanation e; /* of the first pod, as if it waited */
    /* What the nodes would say to one pod more; those that were not asked again, because enough were counted, say that
     * it fits. They add up to e.node_n. */
    uint64_t next[VERDICT__MAX];
    struct str first;                  /* the node of the first; empty: none */
    const struct device_name *devices; /* that it would get there; none if kubelet chooses them */
    size_t device_n;
    struct decision_note *why; /* why that node; a reference, for whatif_end(); NULL: not known */
};

/* At most `node_max` of the nearest nodes, if nothing fits. All text is in `a`, or as asked. Errors of explain_pod().
 */
WARN_UNUSED int whatif_ask(const struct placement_context *c, struct arena *a, const struct whatif_question *q,
                           size_t node_max, struct whatif *ret, struct err *reterr);
void whatif_end(struct whatif *w);

/* The answer in one sentence without its full stop, as explain_sentence(). */
char *whatif_sentence(const struct whatif *w, char *buf, size_t size);

#endif
