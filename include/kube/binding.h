/* kube/binding.h - the request that binds a pod, and what its reply means.
 *
 * One POST carries node and devices together; the API server merges the annotations into the pod in
 * the transaction that sets spec.nodeName (contract.md 4.1). Annotations are not validated there,
 * and a bad one makes the pod unchangeable for good, so everything is checked here before a byte is
 * sent (R27).
 *
 * The classification is contract.md 4.2 and 4.4. Retrying, and asking with a GET what became of a
 * lost request, is the caller's: here are only the pieces.
 */
#ifndef KUBE_BINDING_H
#define KUBE_BINDING_H

#include "base/err.h"
#include "base/strbuf.h"
#include "kube/outcome.h"
#include "model/binding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The API server's own bound on its work for one Binding (design.md 8). */
#define BINDING_TIMEOUT_S 4
#define BINDING_PATH_MAX 512
/* The largest body: annotations at their limit, every byte escaped as \u00XX. */
#define BINDING_BODY_MAX (POD_ANNOTATION_BYTES_MAX * 6 + 4096)

/* Bytes of keys and values in `existing` that a binding with `ours` leaves in place. */
size_t binding_kept_bytes(struct kv_list existing, struct kv_list ours);

/* Appends path with query, and body, of the POST. `kept_bytes` is binding_kept_bytes of the pod. On
 * failure the buffers may hold a part.
 *   ERR_INVALID  a name the API server would not accept, an empty uid, an illegal annotation key
 *   ERR_LIMIT    kept_bytes and our annotations together pass POD_ANNOTATION_BYTES_MAX, or a buffer
 *                is too small */
WARN_UNUSED int binding_request(const struct binding *b, size_t kept_bytes, struct strbuf *path,
                                struct strbuf *body, struct err *reterr);

/* Appends the path of a quorum GET of one pod (no resourceVersion). ERR_INVALID as above. */
WARN_UNUSED int kube_pod_path(struct str namespace_, struct str name, struct strbuf *path,
                              struct err *reterr);

enum bind_reply {
    BIND_BOUND,        /* done: node and annotations are in the pod */
    BIND_UNAUTHORIZED, /* the token was not accepted; it was dropped, try once more */
    BIND_RETRY_AFTER,  /* the server asks for patience: retry_after_ms */
    BIND_CONFLICT,     /* bound already, being deleted, gated, or not this uid: a GET tells */
    BIND_LOST,         /* no usable reply, the server may have bound the pod: a GET decides */
    BIND_NOT_SENT,     /* the server cannot have seen it */
    BIND_REFUSED,      /* a definite no */
    BIND_REPLY__MAX
};

struct bind_answer {
    enum bind_reply reply;
    /* The pod may be bound although the reply does not say so: it stays charged until a GET or the
     * watch tells. Set with LOST, with RETRY_AFTER of any 5xx, and with REFUSED by a 500, which
     * also stands for a storage time-out whose write went through. */
    bool maybe_bound;
    int64_t retry_after_ms; /* RETRY_AFTER: at least this long; 0 otherwise */
    const char *reason;     /* short, constant */
};

struct bind_answer bind_classify(const struct kube_outcome *outcome);

const char *bind_reply_name(enum bind_reply reply); /* "retry_after", usable as a metric label */

#endif
