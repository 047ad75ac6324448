/* kube/eviction.h - the request that evicts a pod, and what its reply means.
 *
 * POST pods/NAME/eviction (policy/v1, from Kubernetes 1.22 on): the API server deletes the pod, with the grace period
 * of the pod, unless a PodDisruptionBudget forbids it now. It is asked to do so only if the pod has the uid that is
 * meant. A request that is sent twice does no harm: a pod that is being deleted stays so.
 */
#ifndef KUBE_EVICTION_H
#define KUBE_EVICTION_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "kube/outcome.h"

#include <stdint.h>

/* Appends path and body of the POST.
 *   ERR_INVALID  a name the API server would not accept, an empty uid
 *   ERR_LIMIT    a buffer is too small */
WARN_UNUSED int kube_eviction_request(struct str namespace_, struct str name, struct str uid, struct strbuf *path,
                                      struct strbuf *body, struct err *reterr);

enum eviction_reply {
    EVICTION_ACCEPTED,  /* the pod is being deleted */
    EVICTION_GONE,      /* 404, or 409: another pod has its name by now */
    EVICTION_HELD,      /* 429: a PodDisruptionBudget forbids it now, or the API server asks for patience */
    EVICTION_FORBIDDEN, /* 403: we have no right to */
    EVICTION_FAILED,    /* anything else, no answer at all; it may have been done */
    EVICTION_REPLY__MAX
};
const char *eviction_reply_name(enum eviction_reply r); /* "held", for labels */

struct eviction_answer {
    enum eviction_reply reply;
    int64_t retry_after_ms; /* of HELD and FAILED: at least so long; 0: not said */
};
struct eviction_answer eviction_classify(const struct kube_outcome *o);

#endif
