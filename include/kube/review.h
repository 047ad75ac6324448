/* kube/review.h - asking the API server who a token belongs to, and what that one may do.
 *
 * Encoding and decoding only; sending is the caller's. A TokenReview tells whether a bearer token is
 * good and whose it is; a SubjectAccessReview whether that user may GET a path that is no resource, or do something
 * with resources. Both are answered 201 even when the answer is no. Sources: authentication.k8s.io/v1,
 * authorization.k8s.io/v1; contract.md 7.
 */
#ifndef KUBE_REVIEW_H
#define KUBE_REVIEW_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>

#define TOKEN_REVIEW_PATH "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS_REVIEW_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define SELF_REVIEW_PATH "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

/* Appends the body of a POST to TOKEN_REVIEW_PATH. It holds the token: wipe it. */
void token_review_write(struct str token, struct strbuf *out);

/* Whether the token is good; then appends the user as a JSON object {"user", "uid", "groups",
 * "extra"}, for access_review_write. ERR_PARSE, ERR_INVALID, ERR_LIMIT (subject's maximum). */
WARN_UNUSED int token_review_read(struct str body, bool *ret_authenticated, struct strbuf *subject, struct err *reterr);

/* Appends the body of a POST to ACCESS_REVIEW_PATH. `verb` is a HTTP method in lower case. */
void access_review_write(struct str subject, struct str path, struct str verb, struct strbuf *out);

/* What somebody wants to do with resources; text without anything in it means all, or none. */
struct review_resource {
    struct str verb, group, resource, subresource, namespace_, name;
};
/* The same about resources. */
void resource_review_write(struct str subject, const struct review_resource *what, struct strbuf *out);

WARN_UNUSED int access_review_read(struct str body, bool *ret_allowed, struct err *reterr);

/* The same about whoever asks, for SELF_REVIEW_PATH: everybody who is known to the API server may do that. */
void self_review_write(const struct review_resource *what, struct strbuf *out);
WARN_UNUSED int self_review_read(struct str body, bool *ret_allowed, struct err *reterr);

#endif
