/* demo/apiserver/apiserver.h - a simulated Kubernetes API server: real HTTP, real status codes, no cluster.
 *
 * It keeps pods, nodes and events in memory and serves, over plain HTTP on 127.0.0.1 only, what
 * fgpu and its tests use of the real one, with the behaviour recorded from kube-apiserver 1.28
 * to 1.36:
 *
 *   GET    /api/v1/pods, /api/v1/nodes, .../namespaces/NS/pods[/NAME], /api/v1/nodes/NAME
 *          limit+continue (pages of one snapshot), fieldSelector, labelSelector (equality),
 *          resourceVersion
 *   GET    ?watch=true: chunked ADDED/MODIFIED/DELETED/BOOKMARK lines, timeoutSeconds,
 *          allowWatchBookmarks, sendInitialEvents; a compacted resourceVersion gives ERROR with
 *          code 410 inside a 200 stream, one from the future silence; an object that leaves the
 *          selector is DELETED with its previous content and the new resourceVersion
 *   POST, PUT, PATCH (merge; strategic is treated as merge), DELETE of pods and nodes; /status too
 *   POST   .../pods/NAME/binding: annotations merged in the same step as spec.nodeName; dryRun, here only
 *   events at /api/v1 and /apis/events.k8s.io/v1 (the newest 1,000 are kept); those written through
 *          the second are checked as the real server does
 *   lists and objects above 128 KiB gzipped for clients that offer it; watches never
 *   resourceslices at /apis/resource.k8s.io/v1, v1beta2 and v1beta1, as nodes; nothing of them is checked. A server
 *          without them is one with a fault of status 404 for their paths
 *   POST   tokenreviews, subjectaccessreviews and selfsubjectaccessreviews, answered as POST /_reviews says; at first
 *          no token is good and nobody may anything, but whoever asks for himself may do everything
 *   configmaps, and csistoragecapacities at /apis/storage.k8s.io/v1, as pods; nothing of them is checked but
 *          preconditions. A PATCH of a CSIStorageCapacity that does not exist is accepted and forgotten
 *   /version, /readyz, /livez
 *
 * One counter gives every write its resourceVersion. There is no kubelet: a bound pod that is
 * deleted with grace stays, terminating, until somebody deletes it with grace 0. No authentication,
 * no admission, no defaulting beyond what the readers of this project look at, no namespaces as
 * objects.
 *
 * Faults: rules that make the next matching requests fail, wait or lose their connection, set
 * through this API or by POST /_faults (see struct fault_rule). Every function is safe to call from
 * several threads.
 */
#ifndef DEMO_APISERVER_APISERVER_H
#define DEMO_APISERVER_APISERVER_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct cJSON;

enum apiserver_kind {
    APISERVER_PODS,
    APISERVER_NODES,
    APISERVER_EVENTS,
    APISERVER_SLICES,
    APISERVER_CONFIGMAPS,
    APISERVER_LEASES,
    APISERVER_STORAGE_CAPACITIES,
    APISERVER_KIND__MAX
};

/* What a watch with sendInitialEvents meets: the feature; 422, as with its gate off; a server that does
 * not know the parameter and sends ADDED for everything, but never the bookmark that ends it. */
enum apiserver_watch_list {
    APISERVER_WATCH_LIST_OFFERED,
    APISERVER_WATCH_LIST_REFUSED,
    APISERVER_WATCH_LIST_IGNORED,
    APISERVER_WATCH_LIST__MAX
};

struct apiserver_options {
    uint16_t port;                /* 0: any free one */
    uint64_t seed;                /* of the uids; the same seed gives the same uids */
    uint32_t history_max;         /* events kept for watches; 0: 8192 */
    int32_t bookmark_interval_ms; /* 0: 60,000 */
    enum apiserver_watch_list watch_list;
    const struct clock *clock; /* NULL: the system's */
};

struct apiserver;

/* Listens and serves when it returns. `o` may be NULL: all defaults. */
WARN_UNUSED int apiserver_start(const struct apiserver_options *o, struct apiserver **ret, struct err *reterr);
/* Ends every watch, closes, frees. NULL is fine. */
void apiserver_free(struct apiserver *a);

const char *apiserver_url(const struct apiserver *a); /* "http://127.0.0.1:41234" */

/* ---- objects, without HTTP: the same code behind the same checks ---- */

/* `json` is one Pod or Node. Unlike a POST, a pod's status is kept as given, so a test can start
 * with a bound, running pod. ERR_PARSE, ERR_INVALID, ERR_CONFLICT (exists). */
WARN_UNUSED int apiserver_create(struct apiserver *a, enum apiserver_kind kind, const char *json, struct err *reterr);
/* Merge patch of the whole object, status included. `namespace_` is NULL for nodes. ERR_NOT_FOUND.
 */
WARN_UNUSED int apiserver_patch(struct apiserver *a, enum apiserver_kind kind, const char *namespace_, const char *name,
                                const char *json, struct err *reterr);
/* grace_s 0: gone at once. Otherwise a bound pod becomes terminating. ERR_NOT_FOUND. */
WARN_UNUSED int apiserver_delete(struct apiserver *a, enum apiserver_kind kind, const char *namespace_,
                                 const char *name, int32_t grace_s, struct err *reterr);

/* Calls `fn` for every object of one moment, in the order of their keys. The tree is borrowed,
 * immutable, and gone after the call. No lock is held. Returns the resourceVersion of the moment.
 */
uint64_t apiserver_each(struct apiserver *a, enum apiserver_kind kind,
                        void (*fn)(void *ctx, const struct cJSON *object), void *ctx);
/* Calls `fn` for one object; false when there is none. */
bool apiserver_find(struct apiserver *a, enum apiserver_kind kind, const char *namespace_, const char *name,
                    void (*fn)(void *ctx, const struct cJSON *object), void *ctx);
/* The newest resourceVersion; changes with every write. */
uint64_t apiserver_rv(struct apiserver *a);

struct apiserver_stats {
    uint64_t requests;
    uint64_t binds;          /* 201 to a Binding */
    uint64_t bind_conflicts; /* 409 to a Binding */
    uint32_t watches;        /* open now */
    uint32_t delayed;        /* requests that wait for their fault's delay */
};
void apiserver_stats(struct apiserver *a, struct apiserver_stats *ret);

/* ---- reviews ----
 *
 * POST /_reviews replaces who is known and what they may:
 *
 *     {"tokens": {"TOKEN": {"username": "alice", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}},
 *      "allow": [{"user": "alice", "verb": "get", "path": "/metrics"}],
 *      "refuse": [{"verb": "create", "resource": "leases"}]}     of those who ask for themselves
 *
 * GET /_reviews tells how often each was asked, and the spec of the last SubjectAccessReview:
 * {"tokenReviews": 2, "accessReviews": 1, "selfReviews": 0, "last": {...}}. */

/* ---- faults ---- */

enum fault_action {
    FAULT_PASS,         /* serve as usual (with delay_ms: late) */
    FAULT_FAIL,         /* answer `status` without doing anything */
    FAULT_FAIL_AFTER,   /* do it, then answer `status` */
    FAULT_CLOSE_BEFORE, /* close the connection without doing anything */
    FAULT_CLOSE_AFTER,  /* do it, then close the connection: a lost reply */
    FAULT_SWALLOW,      /* of watches: do not send this event, ever */
    FAULT_COMMIT_LATE,  /* of Bindings and PATCHes: hold the transaction, see apiserver_commit(); answer `status`, or
                           cut the connection if it is 0 */
    FAULT_ACTION__MAX
};

/* What happens to the body of a 200 on its way, be it a watch or a list. All zero: nothing. */
enum fault_then {
    FAULT_GO_ON,
    FAULT_END,   /* the body ends cleanly, perhaps within a line */
    FAULT_CUT,   /* the connection breaks */
    FAULT_STALL, /* nothing more is sent, the connection stays */
    FAULT_THEN__MAX
};

struct fault_flow {
    char inject[1024];    /* sent first; whole lines if it is to be a watch still */
    uint32_t split_bytes; /* at most so many bytes in an HTTP chunk; 0: as they come */
    uint32_t after_bytes; /* of the body, what was injected not counted; then comes `then` */
    enum fault_then then;
};

/* Over HTTP: POST /_faults with every member optional, done in the order given here:
 *
 *     {"clear": true, "dropWatches": true, "compact": true, "commit": true, "watchList": "refused", "minor": 22,
 *      "rules": [{"method": "POST", "path": "*binding", "times": 2, "skip": 0, "action": "fail",
 *                 "status": 503, "retryAfter": 1, "reason": "...", "message": "...",
 *                 "delayMs": 50},
 *                {"path": "/api/v1/pods", "query": "*watch=true*", "times": -1,
 *                 "inject": "{\"type\":...}\n", "splitBytes": 1, "afterBytes": 400, "then": "cut"}]}
 *
 * Actions are pass (the default), fail, fail-after, close-before, close-after, commit-late; `then` is end, cut
 * or stall; `watchList` is offered, refused or ignored; `minor` is apiserver_set_minor(). The action swallow acts on
 * events of watches and not on requests: {"action": "swallow", "event": "DELETED", "path": "*pods*"}; `path` is then
 * that of the object (/api/v1/namespaces/NS/pods/NAME, /api/v1/nodes/NAME), and every watch that would have sent the
 * event counts, one whose client has just gone too. GET /_faults lists the rules with their hits, and says how many
 * requests are `delayed`, how many transactions are `held` and how many `landed` late. /_faults itself is never
 * matched. */
struct fault_rule {
    char method[8];  /* "": any */
    char event[12];  /* of SWALLOW: ADDED, MODIFIED, DELETED; "": any */
    char path[160];  /* glob with '*' over the path without its query; "": any */
    char query[160]; /* glob over the decoded query, "a=b&c=d" as the client ordered it; "": any */
    int64_t times;   /* matching requests it acts on; < 0: for ever */
    int64_t skip;    /* matching requests it lets pass first */
    enum fault_action action;
    int32_t status;        /* of FAIL, FAIL_AFTER and COMMIT_LATE: 400..599 (of the last also 0) */
    int32_t retry_after_s; /* < 0: no Retry-After header */
    int32_t delay_ms;      /* 0..60,000, before anything else */
    char reason[48];       /* "": the usual one of the status */
    char message[160];
    struct fault_flow flow; /* of replies with status 200 */
};

/* The first rule in order of addition that matches and is not used up acts. ERR_INVALID, ERR_LIMIT
 * (64). */
WARN_UNUSED int apiserver_fault_add(struct apiserver *a, const struct fault_rule *rule, struct err *reterr);
/* Forgets the rules. What they delay waits no longer: so a test holds requests with a long delay until it has seen what
 * it wants to see. */
void apiserver_faults_clear(struct apiserver *a);
/* Cuts every open watch connection in mid-stream. */
void apiserver_drop_watches(struct apiserver *a);
/* From now on. */
void apiserver_set_watch_list(struct apiserver *a, enum apiserver_watch_list mode);
/* An API server may hand a transaction to etcd, answer anything or nothing, and the transaction lands whenever the
 * link to etcd allows. With FAULT_COMMIT_LATE a Binding or PATCH that passes every check is held instead of written;
 * this tries all that are held, oldest first. Each lands if, now, it passes the checks again, its preconditions among
 * them, as in a real server's GuaranteedUpdate; else it is gone. Returns how many landed. */
uint32_t apiserver_commit(struct apiserver *a);
uint32_t apiserver_held(struct apiserver *a); /* transactions held now */
/* The 1.X that /version names, 36 at first. Below 23 a Binding's uid and resourceVersion are not looked at. */
void apiserver_set_minor(struct apiserver *a, int32_t minor);
/* Forgets all history: older resourceVersions and continue tokens are Expired from now on. */
void apiserver_compact(struct apiserver *a);

#endif
