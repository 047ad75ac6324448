/* kube/reflector.h - keeps a consumer in step with all pods, or all nodes, of a cluster. No I/O, no
 * clock.
 *
 * A driver (kube/watcher.h) asks reflector_next what to do, does it, feeds the bytes of the reply
 * and says how it ended. The state machine:
 *
 *     LIST --complete--> WATCH from the cursor --ends--> WATCH from the cursor ...
 *      ^                     |        ^    |
 *      |                     |        |    +--silent, broken, unreachable--> PROBE --+
 *      |                     |        +-------------- cursor known ------------------+
 *      +---------------------+-- ERROR 410, unreadable data, cursor unknown, an HTTP status that is
 *                                neither 200, 401 nor 429
 *
 * - A list is a WatchList where the API server offers it: a watch that begins with everything as
 *   ADDED (and perhaps changes of it) and says with a bookmark that this was all; the same stream is
 *   the watch then. A server that refuses it (HTTP 400, 405, 406, 422, 501) is asked for pages at
 *   once, and ever after; so is one that does not understand it, after REFLECTOR_FILL_FAILURES_MAX
 *   streams without that bookmark. A WatchList that breaks for another reason is followed by a list
 *   in pages, which gets further on a bad line.
 * - Every list is without resourceVersion, so it is the most recent state (design.md 8). Pages hold
 *   REFLECTOR_PAGE items. A page that fails for a passing reason is asked for again, within the same
 *   bracket; 410 in the middle starts over. After pages the watch starts at the resourceVersion of
 *   the first one.
 * - The cursor is the resourceVersion of the last event applied, bookmarks included (contract.md
 *   R31).
 * - Watches carry timeoutSeconds of 300 to 600, at random, and bookmarks. A clean end goes on from
 *   the cursor; so do 429 and 401. A watch that ends within 1 s without an event counts as failed
 *   and is followed by a list; where watches end so soon after events, they begin 1 s apart.
 * - Contact (design.md 3.1.7) is what proves that the consumer hears of changes: bytes on an open watch, or, while that
 *   watch is open and silent, a quorum list of one item, which the driver sends on another connection when
 *   reflector_check_due_ns says so. A watch that cannot be opened has none, however well lists may work. What
 *   a list or the beginning of a WatchList brings is none either: before its end the consumer may still hold
 *   what was deleted long ago. A check that succeeds after one that failed ends the silent watch: nobody knows
 *   whether it outlived whatever that was.
 * - After 2 minutes of silence, a broken connection or one that could not be made, a probe comes first:
 *   the list of one item "not older than the cursor". It tells a living server from a dead one, and a
 *   server that was restored from a backup: there our cursor lies in the future, and a watch from it
 *   would be silent while changes pass by. The answer to that is 504, and a list follows (decision
 *   0006).
 * - Failures wait: 0.8 s, doubling to 30 s, plus up to 100 % at random, forgotten after 2 minutes
 *   without failure; at least as long as a Retry-After, or the Status in an ERROR event, says.
 *
 * Pods that are Succeeded or Failed are not asked for: completion arrives as DELETED
 * (contract.md 5.4).
 *
 * Sources: client-go tools/cache/reflector.go, contract.md 5.
 */
#ifndef KUBE_REFLECTOR_H
#define KUBE_REFLECTOR_H

#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"
#include "kube/outcome.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/resource_slice.h"

#include <stdbool.h>
#include <stdint.h>

#define REFLECTOR_PAGE 500
#define REFLECTOR_FILL_FAILURES_MAX 2

enum kube_resource {
    KUBE_PODS,
    KUBE_NODES,
    KUBE_RESOURCE__MAX, /* those that the ledger is a fold of; behind it */
    KUBE_SLICES_V1 =
        KUBE_RESOURCE__MAX, /* ResourceSlices, of which a server has some versions (kube/resource_slices.h) */
    KUBE_SLICES_V1BETA2,
    KUBE_SLICES_V1BETA1,
    KUBE_WATCHED__MAX
};

const char *kube_resource_name(enum kube_resource resource); /* "pods" */

/* One of `pod`, `node`, `slice` is set. All text is valid until the callback returns. */
struct kube_object {
    enum kube_resource resource;
    const struct pod *pod;
    const struct node *node;
    const struct resource_slice *slice;
    struct str raw;     /* the object as JSON; of one that is too large, an excerpt */
    uint64_t cut_bytes; /* > 0: it is too large to be kept; what fgpu reads was taken from these many bytes as they
                           passed (kube/excerpt.h) */
    bool in_order;      /* an event of a watch behind its list: with it, everything up to its version has been told */
};

/* Called from within reflector_feed and reflector_done. NULL entries are skipped, except
 * `unusable`. */
struct reflector_handler {
    /* A list begins: what is not seen before list_end(complete) does not exist any more. Within the
     * bracket `deleted` may come too: of an object that went while a WatchList was being sent. */
    void (*list_begin)(void *ctx);
    /* The object is like this now. In a bracket: an item of the list (the same item may come
     * twice). */
    void (*object)(void *ctx, const struct kube_object *o);
    /* The object is gone, or does not match the selection any more; last known content. */
    void (*deleted)(void *ctx, const struct kube_object *o);
    /* An object that cannot be decoded (wrong type of a field, beyond our limits), although it is JSON: *o has what
     * could be salvaged (kube_salvage_pod), `why` the reason. NULL: such an object is a failure of
     * the list or watch, so that nothing is ever missing unnoticed. */
    void (*unusable)(void *ctx, const struct kube_object *o, bool deleted, const struct err *why);
    /* `resource_version` as of the list; empty when not complete: the bracket is to be forgotten.
     */
    void (*list_end)(void *ctx, bool complete, struct str resource_version);
    /* Everything up to here was delivered. */
    void (*bookmark)(void *ctx, struct str resource_version);
    /* The first complete list of this reflector, right after its list_end. */
    void (*synced)(void *ctx);
    /* Of ResourceSlices: the API server serves none (404, whatever the version), or lets us list none (403). By
     * kube/watcher.h, which goes on asking. */
    void (*refused)(void *ctx, int http_status);
    void *ctx;
};

enum reflector_action {
    REFLECTOR_LIST, /* a page, or a probe */
    REFLECTOR_WATCH,
    REFLECTOR_WAIT
};

struct reflector_step {
    enum reflector_action action;
    int64_t wait_until_ns; /* REFLECTOR_WAIT */
    const char *path;      /* LIST, WATCH: path and query, until the next call */
    uint32_t silence_ms;   /* LIST, WATCH: give up (KUBE_SILENT) after so long without a byte; at
                              first, see reflector_silence_ms */
};

/* Why there is no contact, as of the last exchange that failed. */
enum reflector_trouble {
    REFLECTOR_FINE,
    REFLECTOR_UNREACHABLE, /* no connection, or it broke, or no answer in time */
    REFLECTOR_FORBIDDEN,   /* 401, 403 */
    REFLECTOR_REFUSED,     /* any other HTTP status, also inside a watch */
    REFLECTOR_UNREADABLE,  /* what came is not a list, not a watch, or not JSON */
    REFLECTOR_TROUBLE__MAX
};

/* Counters for metrics, and what a status page wants to know. */
struct reflector_stats {
    uint64_t list_n;        /* complete lists */
    uint64_t watch_list_n;  /* of these, by WatchList */
    uint64_t list_failed_n; /* pages that failed, and lists that had to start over */
    uint64_t watch_n;       /* watches begun, by WatchList or after a list */
    uint64_t watch_failed_n;
    uint64_t probe_n;
    uint64_t expired_n; /* 410, in whatever form */
    uint64_t event_n;   /* ADDED, MODIFIED, DELETED applied */
    uint64_t bookmark_n;
    uint64_t item_n; /* list items delivered */
    uint64_t unusable_n;
    bool synced;
    bool watching;                  /* a watch was begun and has not ended */
    int64_t last_heard_ns;          /* monotonic: the last byte, or complete list; 0: never */
    char resource_version[128];     /* the cursor */
    char last_error[ERR_MSG_MAX];   /* empty when the last exchange went well */
    int64_t last_contact_ns;        /* monotonic; 0: never */
    uint64_t check_n;               /* quorum lists sent while a watch was silent */
    uint64_t trouble_n;             /* exchanges that failed and are waited after, checks included */
    enum reflector_trouble trouble; /* of the last of these since the last contact */
    const char *trouble_verb;       /* "list", "watch", "check" */
    char trouble_text[ERR_MSG_MAX];
};

struct reflector;

/* `handler` is copied. `rng` is borrowed, used by this reflector only. */
struct reflector *reflector_new(enum kube_resource resource, const struct reflector_handler *handler, struct rng *rng);
/* Lists one object, whatever its phase: `name`, of a pod in `namespace_`, both taken over by copy. By
 * field selector, so that it needs no right but the one to list. Only its lists are of use.
 * ERR_INVALID: no name that the API server would accept. */
WARN_UNUSED int reflector_new_one(enum kube_resource resource, struct str namespace_, struct str name,
                                  const struct reflector_handler *handler, struct rng *rng, struct reflector **ret,
                                  struct err *reterr);
/* Never by WatchList; before the first step. */
void reflector_list_in_pages(struct reflector *r);
void reflector_free(struct reflector *r);

/* What to do now. LIST and WATCH must be followed by reflector_done before the next call. */
void reflector_next(struct reflector *r, int64_t now_ns, struct reflector_step *ret);

/* Bytes of the body of a reply with status 200. Negative: end the exchange (KUBE_ABORTED). */
WARN_UNUSED int reflector_feed(struct reflector *r, int64_t now_ns, struct str bytes, struct err *reterr);

/* How long the present exchange may be silent from now on: a WatchList that has become a watch may be
 * silent for longer. */
uint32_t reflector_silence_ms(const struct reflector *r);

/* ---- contact ---- */

/* Before the first step; 0, as at first: no checks. */
void reflector_set_stale_after(struct reflector *r, int64_t stale_after_ns);
/* The present exchange was answered with status 200; may be said again and again. */
void reflector_opened(struct reflector *r);
/* When to send a check, beside the present exchange; INT64_MAX: no need, as things are. */
int64_t reflector_check_due_ns(const struct reflector *r);
/* The check begins: its path. reflector_checked must follow, whatever becomes of the exchange beside it. */
const char *reflector_begin_check(struct reflector *r, int64_t now_ns);
uint32_t reflector_check_ms(const struct reflector *r); /* what it may take */
/* How it ended. Negative: end the present exchange (KUBE_ABORTED). */
WARN_UNUSED int reflector_checked(struct reflector *r, int64_t now_ns, const struct kube_outcome *o,
                                  struct err *reterr);

/* How the exchange ended. KUBE_CANCELLED leaves everything as it is, but for a WatchList, which has to
 * begin anew. */
void reflector_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *outcome);

/* Asks for a fresh list as soon as the present exchange is done; the driver may end a watch for it.
 */
void reflector_relist(struct reflector *r);

const struct reflector_stats *reflector_stats(const struct reflector *r);

#endif
