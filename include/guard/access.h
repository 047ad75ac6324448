/* guard/access.h - may the owner of this bearer token use this HTTP method on this path?
 *
 * Delegated to the API server as Kubernetes components do it: a TokenReview tells whose the token
 * is, a SubjectAccessReview whether that user may use the verb (the method in lower case) on the
 * path as a nonResourceURL.
 *
 * Answers are kept for ACCESS_TTL_S, both yes and no, in tables of fixed size; tokens are kept as
 * keyed hashes of 128 bits, never as text. Tokens that are no good have a table of their own, so a
 * flood of them does not evict good ones. At most ACCESS_REVIEWS_MAX questions are under way at one
 * moment; a further one is ACCESS_OVERLOADED at once. Who asks the same (token, verb and path) while it
 * is under way waits for its answer, up to ACCESS_WAITERS_MAX callers in all. Whatever is not a clear
 * yes is a no.
 *
 * Nobody waits in here: the answer comes by callback. One private lock; nothing is called under it.
 *
 * Sources: k8s.io/apiserver pkg/server/options authentication.go and authorization.go (components
 * cache 10 s); contract.md 7.
 */
#ifndef GUARD_ACCESS_H
#define GUARD_ACCESS_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

#include <stdbool.h>

#define ACCESS_TTL_S 10
#define ACCESS_REVIEWS_MAX 16
#define ACCESS_WAITERS_MAX 256
#define ACCESS_TOKEN_BYTES_MAX (16U * 1024)
#define ACCESS_VERB_BYTES_MAX 16

enum access_verdict {
    ACCESS_ALLOWED,
    ACCESS_UNAUTHENTICATED, /* the API server does not know the token */
    ACCESS_FORBIDDEN,
    ACCESS_OVERLOADED,
    ACCESS_FAILED, /* no usable answer; the log says why, once a minute */
    ACCESS_VERDICT__MAX
};

const char *access_verdict_name(enum access_verdict v); /* "forbidden", usable as a metric label */

struct access;
struct kube_client;

/* Borrows everything for life. ERR_INTERNAL: no random bytes. */
WARN_UNUSED int access_new(struct kube_client *client, const struct clock *clock, const struct log *log,
                           struct access **ret, struct err *reterr);
/* After kube_client_stop. NULL is fine. */
void access_free(struct access *a);

/* On the API client's thread, or before access_check returned; must not block. */
typedef void access_done_fn(void *ctx, enum access_verdict v);

/* True: *ret is the answer. False: `done` will bring it, once. The token has 1 to
 * ACCESS_TOKEN_BYTES_MAX visible ASCII characters, the verb less than ACCESS_VERB_BYTES_MAX; both
 * and the path are used during the call only. */
WARN_UNUSED bool access_check(struct access *a, struct str token, struct str verb, struct str path,
                              access_done_fn *done, void *ctx, enum access_verdict *ret);

#endif
