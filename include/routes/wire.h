/* routes/wire.h - the JSON bodies of the extender verbs.
 *
 * Source: k8s.io/kube-scheduler extender/v1 types.go; the types carry no JSON tags, so the keys of the
 * envelope are the Go field names. Callers' keys are accepted in any case, as Go does (contract.md R12);
 * inside Pod and Node keys are exact. What we write uses the exact names (R13). null means absent.
 */
#ifndef ROUTES_WIRE_H
#define ROUTES_WIRE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "extender/binder.h"
#include "extender/placement.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stddef.h>

/* ExtenderArgs, of filter and prioritize. */
struct extender_args {
    struct pod pod;
    const struct str *names; /* of the candidate nodes, in the caller's order */
    size_t name_n;
    /* nodeCacheCapable: false - the caller sent whole nodes and wants those echoed that fit. raw[i] is
     * the text of names[i]'s object, unchanged. NULL when names were sent. */
    const struct str *raw_nodes;
};

/* ExtenderPreemptionArgs. The caller names victims by uid (NodeNameToMetaVictims) or sends the pods
 * (NodeNameToVictims). */
struct preemption_args {
    struct pod pod;
    struct preempt_node *nodes; /* in the caller's order; of both maps if both are there */
    size_t node_n;
};

/* Everything in `ret` is borrowed from `body` or lives in `a`. */
WARN_UNUSED int wire_read_args(struct str body, struct arena *a, struct extender_args *ret, struct err *reterr);
WARN_UNUSED int wire_read_preemption(struct str body, struct arena *a, struct preemption_args *ret, struct err *reterr);
/* ExtenderBindingArgs: every field is required, and a name is one that the API server accepts (model/names.h). */
WARN_UNUSED int wire_read_bind(struct str body, struct arena *a, struct bind_request *ret, struct err *reterr);

/* ExtenderFilterResult. */
void wire_write_filter(struct strbuf *out, const struct extender_args *args, const struct filter_result *result);
void wire_write_filter_error(struct strbuf *out, struct str error);
/* HostPriorityList, in the order of the result. */
void wire_write_priorities(struct strbuf *out, const struct prioritize_result *result);
/* ExtenderPreemptionResult, always by uid. */
void wire_write_preemption(struct strbuf *out, const struct preempt_node *nodes, size_t n);
/* ExtenderBindingResult. To the caller an empty Error means bound, so whether a pod was is said by which of the two is
 * called and never by a text: an `error` that is NULL or empty is written as "not bound, for an unknown reason". */
void wire_write_bound(struct strbuf *out);
void wire_write_not_bound(struct strbuf *out, const char *error);

#endif
