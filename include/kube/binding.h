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

/* How long the API server waits for its own work on one Binding. It bounds the waiting and proves nothing: what was
 * handed to etcd lands whenever it lands (design.md 3.1, rule 4). */
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
WARN_UNUSED int binding_request(const struct binding *b, size_t kept_bytes, struct strbuf *path, struct strbuf *body,
                                struct err *reterr);

/* Appends the path of a quorum GET of one pod (no resourceVersion). ERR_INVALID as above. */
WARN_UNUSED int kube_pod_path(struct str namespace_, struct str name, struct strbuf *path, struct err *reterr);

enum bind_reply {
    BIND_BOUND,        /* done: node and annotations are in the pod */
    BIND_UNAUTHORIZED, /* the token was not accepted; it was dropped, try once more */
    BIND_RETRY_AFTER,  /* the server asks for patience: retry_after_ms */
    BIND_CONFLICT,     /* another uid or resourceVersion, bound already, being deleted, gated; or etcd failed,
                          which the API server reports as a conflict, too, and the write lands later */
    BIND_LOST,         /* no usable reply, the server may have bound the pod */
    BIND_NOT_SENT,     /* the server cannot have seen it */
    BIND_REFUSED,      /* a definite no to this send: 400, 403, 404, 422 */
    BIND_REPLY__MAX
};

struct bind_answer {
    enum bind_reply reply;
    /* This send may still be applied although the reply does not say so. Set with CONFLICT, LOST and
     * RETRY_AFTER of any 5xx; and with any reply but BOUND where the transport had to send the request
     * again, because what it answers is the second copy. */
    bool maybe_bound;
    int64_t retry_after_ms; /* RETRY_AFTER: at least this long; 0 otherwise */
    const char *reason;     /* short, constant */
};

/* The minor version of a server of major version 1, at least 1; UINT32_MAX for later ones; 0: `document` is not what a
 * server answers to GET KUBE_VERSION_PATH. */
#define KUBE_VERSION_PATH "/version"
uint32_t kube_minor_of(struct str document);

/* Does an API server look at the preconditions of a Binding? From 1.23 on it does (contract.md R29). */
enum binding_preconditions {
    BINDING_PRECONDITIONS_UNKNOWN, /* not what a server answers to GET /version */
    BINDING_PRECONDITIONS_IGNORED,
    BINDING_PRECONDITIONS_CHECKED,
};
/* `document` as above. */
enum binding_preconditions binding_preconditions_of(struct str document);

struct bind_answer bind_classify(const struct kube_outcome *outcome);

#endif
