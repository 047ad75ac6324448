/* routes/wire_preempt.h - the JSON bodies of the verb preempt.
 *
 * Source: k8s.io/kube-scheduler extender/v1 types.go, ExtenderPreemptionArgs and ExtenderPreemptionResult; rules as in
 * routes/wire.h. The caller names victims by uid (NodeNameToMetaVictims) or sends the pods (NodeNameToVictims); the
 * answer is always by uid.
 */
#ifndef ROUTES_WIRE_PREEMPT_H
#define ROUTES_WIRE_PREEMPT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "extender/placement.h"
#include "model/pod.h"

struct preemption_args {
    struct pod pod;
    struct preempt_node *nodes; /* in the caller's order; of both maps if both are there */
    size_t node_n;
};

/* Everything in `ret` is borrowed from `body` or lives in `a`. */
WARN_UNUSED int wire_read_preemption(struct str body, struct arena *a, struct preemption_args *ret, struct err *reterr);
void wire_write_preemption(struct strbuf *out, const struct preempt_node *nodes, size_t n);

#endif
