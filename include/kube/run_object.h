/* kube/run_object.h - the ConfigMap in which a process says that it runs, or that it has ended (decision 0091), and the
 * wake object beside it, a change of which makes kube-scheduler try refused pods again.
 *
 * Encoding and decoding only. Every write is a merge patch that carries uid and resourceVersion of the object that was
 * read, so it takes effect on exactly that revision or never, whenever it reaches etcd: compare and swap. A patch
 * leaves alone what others have put into the object. It never creates one.
 *
 * data: state ("running", "ended"), process (id), version (of fgpu), since (RFC 3339, for people) and, of "ended",
 * wake: the resourceVersion of the wake object (extender/requeue_trigger.h) at the end, and holdOffMs: the shortest
 * hold-off by which it and those before it answer for theirs; "none" where nobody was before.
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
#define WAKE_PATCH_MAX 128
#define RUN_HOLD_OFF_NONE INT64_MAX /* there was nobody to wait for */

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
    int64_t hold_off_ms; /* 0: it does not say */
};

/* What a process writes. */
struct run_entry {
    enum run_state state; /* RUN_RUNNING or RUN_ENDED */
    const char *process, *version;
    const char *wake;    /* these two of RUN_ENDED alone */
    int64_t hold_off_ms; /* >= 0 */
};

/* Any object of the API: what is no data of ours is not looked at. ERR_PARSE, ERR_INVALID, ERR_LIMIT. */
WARN_UNUSED int run_object_read(struct str body, struct run_object *ret, struct err *reterr);

/* Appends the paths of quorum GET and PATCH. `object` is "NAMESPACE/NAME". */
void run_object_path(struct str object, struct strbuf *path);
void wake_object_path(struct str object, struct strbuf *path);

/* Appends the merge patch that makes `seen` say this. */
void run_object_patch(const struct run_object *seen, const struct run_entry *e, int64_t now_ms, struct strbuf *body);
/* ... that changes the wake object; the time is for people. */
void wake_object_patch(int64_t now_ms, struct strbuf *body);

#endif
