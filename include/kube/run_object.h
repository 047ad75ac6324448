/* kube/run_object.h - the ConfigMap in which a process says that it runs, or that it has ended (decision 0091).
 *
 * Encoding and decoding only. Every write is a merge patch that carries uid and resourceVersion of the object that was
 * read, so it takes effect on exactly that revision or never, whenever it reaches etcd: compare and swap. A patch
 * leaves alone what others have put into the object. It never creates one.
 *
 * data: state ("running", "ended"), process (id), version (of fgpu), since (RFC 3339, for people) and, of "ended",
 * wake: the resourceVersion of the wake object (extender/requeue_trigger.h) at the end.
 */
#ifndef KUBE_RUN_OBJECT_H
#define KUBE_RUN_OBJECT_H

#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

#define RUN_ID_BYTES 33 /* 32 digits */
#define RUN_REVISION_BYTES 64
#define RUN_UID_BYTES 64
#define RUN_OBJECT_PATH_MAX 700

enum run_state {
    RUN_NEVER, /* nobody has written anything */
    RUN_RUNNING,
    RUN_ENDED,
    RUN_ILLEGIBLE, /* something else stands there */
};

/* "" where the object has none, or a longer one than fits, which is none of ours. */
struct run_object {
    char revision[RUN_REVISION_BYTES]; /* resourceVersion; never "" after run_object_read */
    char uid[RUN_UID_BYTES];
    enum run_state state;
    char process[RUN_ID_BYTES];
    char wake[RUN_REVISION_BYTES];
};

/* Any object of the API: what is no data of ours is not looked at. ERR_PARSE, ERR_INVALID, ERR_LIMIT. */
WARN_UNUSED int run_object_read(struct str body, struct run_object *ret, struct err *reterr);

/* Appends the paths of quorum GET and PATCH. `object` is "NAMESPACE/NAME". */
void run_object_path(struct str object, struct strbuf *path);
void wake_object_path(struct str object, struct strbuf *path);

/* Appends the merge patch that makes `seen` say `state` of `process`; `wake` counts for RUN_ENDED alone. */
void run_object_patch(const struct run_object *seen, enum run_state state, const char *process, const char *wake,
                      const char *version, int64_t now_ms, struct strbuf *body);

#endif
