/* kube/nomination.h - the request that nominates a pod to a node, or takes that back, and what its reply means.
 *
 * PATCH pods/NAME/status (JSON merge patch) of status.nominatedNodeName alone. The patch carries uid and
 * resourceVersion, and the API server applies it only to exactly that version of that pod: it never writes over
 * somebody else's nomination, never lands on a pod that is bound meanwhile, and never on another pod of the same name.
 * So a patch whose answer was lost needs no proof: once a later version of the pod is seen, it cannot land any more.
 *
 * What was written by us is told from what others wrote by the field manager (PLANNER_FIELD_MANAGER, model/pod.h), also
 * after a restart.
 */
#ifndef KUBE_NOMINATION_H
#define KUBE_NOMINATION_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "kube/outcome.h"

#include <stdint.h>

struct nomination {
    struct str namespace_, pod_name, pod_uid;
    uint64_t pod_version; /* metadata.resourceVersion, not 0 */
    struct str node_name; /* empty: no nomination any more */
};

/* Appends path with query, and body, of the PATCH, whose content type is NOMINATION_CONTENT_TYPE.
 *   ERR_INVALID  a name the API server would not accept, an empty uid, no version
 *   ERR_LIMIT    a buffer is too small */
#define NOMINATION_CONTENT_TYPE "application/merge-patch+json"
WARN_UNUSED int kube_nomination_request(const struct nomination *n, struct strbuf *path, struct strbuf *body,
                                        struct err *reterr);

enum nomination_reply {
    NOMINATION_DONE,      /* it stands in the pod */
    NOMINATION_CHANGED,   /* 409: the pod has another version by now; look again */
    NOMINATION_GONE,      /* 404: no such pod any more */
    NOMINATION_FORBIDDEN, /* 403: no right to patch pods/status */
    NOMINATION_REFUSED,   /* 400, 422: not for this pod; an admission policy says so, or the pod is bound */
    NOMINATION_FAILED,    /* anything else, no answer at all; it may have been done */
    NOMINATION_REPLY__MAX
};
const char *nomination_reply_name(enum nomination_reply r); /* "changed", for labels */

struct nomination_answer {
    enum nomination_reply reply;
    int64_t retry_after_ms; /* of FAILED: the API server asks for at least so much patience; 0: it does not */
};
struct nomination_answer nomination_classify(const struct kube_outcome *o);

#endif
