/* kube/intent_object.h - the object of one node for `consistency: strict` (extender/intents.h): a Lease
 * (coordination.k8s.io/v1) in a namespace of fgpu.
 *
 * Encoding and decoding only. Every change is a merge patch that carries uid and resourceVersion as they were read, or
 * the creation of what is not there: it takes effect on exactly that revision or never, whenever it reaches etcd.
 *
 * While it lists an intent the object has the finalizer INTENT_FINALIZER: who deletes it, deletes nothing before the
 * last one is gone.
 */
#ifndef KUBE_INTENT_OBJECT_H
#define KUBE_INTENT_OBJECT_H

#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>

#define INTENT_FINALIZER "fgpu.io/intents"
#define INTENT_REVISION_BYTES 64
#define INTENT_UID_BYTES 64
#define INTENT_OBJECT_BYTES_MAX (2U * 1024 * 1024)
#define INTENT_PATH_MAX 1200
#define INTENT_LIST_PATH_MAX (16U * 1024)         /* tokens are opaque, and some hundred bytes long */
#define INTENT_LIST_BYTES_MAX (32U * 1024 * 1024) /* of a page of objects that are as large as they can be */

struct intent_object {
    char revision[INTENT_REVISION_BYTES]; /* resourceVersion; "": there is no object */
    char uid[INTENT_UID_BYTES];
    struct str node, intents; /* the annotations, in the buffer that was given */
};

/* Appends the path of the object of this node, or of the collection that it is created in. `objects` is
 * "NAMESPACE/PREFIX". The name of the object is "PREFIX.NODE", shortened where that is too long for a name. */
void intent_object_path(struct str objects, struct str node, struct strbuf *path);
void intent_object_create_path(struct str objects, struct strbuf *path);

/* ERR_PARSE, ERR_INVALID (another node's: two names were shortened to the same one), ERR_LIMIT. `text` is of the
 * caller; what `ret` borrows is in it. */
WARN_UNUSED int intent_object_read(struct str body, struct str node, struct strbuf *text, struct intent_object *ret,
                                   struct err *reterr);

/* Appends the path of a page of all objects; `more`: what intent_object_list_read() said, empty for the first. */
void intent_object_list_path(struct str objects, struct str more, struct strbuf *path);
/* Calls `found` for the node of each object of the page, and of no other Lease. `more` is written: the token of the
 * next page, empty after the last. ERR_PARSE, ERR_INVALID, ERR_LIMIT: of some of them it may have been called. */
typedef void intent_object_found_fn(void *ctx, struct str node);
WARN_UNUSED int intent_object_list_read(struct str objects, struct str body, intent_object_found_fn *found, void *ctx,
                                        struct strbuf *more, struct err *reterr);

/* Appends the body of a DELETE that takes effect on exactly the revision of `seen`, or never. */
void intent_object_delete_body(const struct intent_object *seen, struct strbuf *body);

/* Appends what is sent: the merge patch of `seen`, or where it has no revision, the object to be created. */
void intent_object_body(struct str objects, struct str node, const struct intent_object *seen, struct str intents,
                        struct str process, struct strbuf *body);

#endif
