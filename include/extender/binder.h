/* extender/binder.h - the bind verb: reserve under the lock, one write, resolve without it.
 *
 * binder_bind() reserves at once and returns; the answer comes later by callback, from the binder's thread
 * or before binder_bind() returns. The work goes on when the caller hangs up, and after its deadline when
 * the outcome is unknown. Idempotent by UID: a second bind of the same pod to the same node waits for the
 * first one's outcome, with a deadline of its own if the first was answered "not known yet"; to another node it is
 * refused while the first is not resolved. What resolves it is in bind_machine.h; what the watch shows of the pod
 * is looked at when it comes (store_watch_reserved), not at the next GET.
 *
 * A pod the ledger does not know (the watch lags, or it asks for no GPU) is fetched first, again and again
 * within the deadline if that fails for a passing reason.
 *
 * Whoever reaches the verb can have pods bound, so what kube-scheduler has judged is judged again: a pod that asks
 * for GPUs is not bound to a node whose taints it does not tolerate (core/request/toleration.h), and one that names
 * none of our resources and annotations is bound only where the scheduler sends every pod (binds_all_pods). One that
 * names them and asks for 0 is bound everywhere, because kube-scheduler leaves its binding to us (contract.md R1).
 *
 * Bindings are sent through kube/transport.h, up to max_in_flight at once; replies are worked off on its
 * thread, waits and deadlines on one thread of the binder. The binder's own lock is never held while a
 * caller is answered; under it only the store's lock is taken. What a GET has shown goes into the ledger before that
 * lock is taken, because the store tells the binder of reserved pods.
 */
#ifndef EXTENDER_BINDER_H
#define EXTENDER_BINDER_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "extender/policy_set.h"
#include "extender/store.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_client;
struct binder;

struct bind_request {
    struct str pod_name;
    struct str pod_namespace;
    struct str pod_uid;
    struct str node_name;
};

/* How it ended, for metrics. */
enum bind_outcome {
    BIND_OUTCOME_BOUND,
    BIND_OUTCOME_NO_FIT,     /* lost the race for the devices, or the request is malformed */
    BIND_OUTCOME_CONFLICT,   /* bound elsewhere, or another bind of the pod is not resolved */
    BIND_OUTCOME_REFUSED,    /* the API server did not bind it */
    BIND_OUTCOME_UNKNOWN,    /* no answer in time: stays charged */
    BIND_OUTCOME_OVERLOADED, /* max_in_flight */
    BIND_OUTCOME_NOT_READY,
    BIND_OUTCOME__MAX
};
const char *bind_outcome_name(enum bind_outcome o);

/* `error` is a static text, NULL on success. `decision_id`: of what was decided, also if it could not be written; ""
 * when nothing was, or earlier than this call. Called exactly once. */
typedef void bind_done_fn(void *ctx, enum bind_outcome outcome, const char *error, const char *decision_id);

struct binder_options {
    int64_t deadline_ms; /* our answer, retries included */
    uint32_t max_in_flight;
    bool binds_all_pods; /* false: a pod that names nothing of ours is refused */
    bool rehearses;      /* every bind is refused before anything is reserved */
    /* "NAMESPACE/PREFIX" of the objects of `consistency: strict` (extender/intents.h): no Binding of a pod with GPUs is
     * sent before its intent is written. Empty: consistency is not strict. Read at the start alone. */
    struct str intent_objects;
};

/* Borrows everything for its life. */
WARN_UNUSED int binder_new(struct policy_set *policies, struct kube_client *client, const struct clock *clock,
                           const struct log *log, const struct binder_options *options, struct binder **ret,
                           struct err *reterr);
/* For binds that begin from now on. */
void binder_set_options(struct binder *b, const struct binder_options *options);
/* No bind begins any more; those that are under way go on. True: none is left within `wait_ms`, so nothing that was
 * sent is unresolved (bind_machine.h), and nothing will ever be sent. Blocks. */
bool binder_close(struct binder *b, int64_t wait_ms);
/* Starts nothing any more and joins the thread; replies still on their way change nothing. Once only. */
void binder_stop(struct binder *b);
/* After binder_stop and kube_client_stop, in this order: answers every waiting caller with an error.
 * Unresolved Bindings stay as they are: the next process learns them from its first LIST. NULL is fine. */
void binder_free(struct binder *b);

void binder_bind(struct binder *b, const struct bind_request *req, bind_done_fn *done, void *ctx);

/* Bindings whose outcome is not known now (gauge). */
uint32_t binder_in_flight(struct binder *b);
/* Under `consistency: strict`: nodes that take no pod with GPUs, because an earlier decision may still take effect, for
 * more than a moment, or because what was decided is illegible; as far as binds have asked (gauge). */
uint32_t binder_nodes_in_doubt(struct binder *b);
/* Asks again what became of such nodes, so that they open as soon as there is proof, and not only when a bind asks;
 * then removes the objects of nodes that are gone, if none of their pods may land or has landed (decision 0111).
 * Returns at once; what an earlier call has left to do is dropped. For after each audit. From any thread. */
void binder_tidy(struct binder *b);

#endif
