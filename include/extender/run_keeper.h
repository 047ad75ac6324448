/* extender/run_keeper.h - says in the run object that this process runs, and at the end that it has ended.
 *
 * The driver of extender/run_claim.h, on a thread of its own. It asks and claims at once, and tells its owner twice, or
 * once when both are known together:
 *   - what was found: this opens the first list of pods, which must begin after it (what the one that ended has bound
 *     is in a list that begins later). At the latest RUN_KEEPER_DECIDE_MS after the start, with the hold-off if nothing
 *     is certain by then;
 *   - that it is settled: the object says that we run, or it cannot be claimed. Before that no Binding may be sent. At
 *     the latest RUN_KEEPER_SETTLE_MS after the start: an API server that takes Bindings and no change of a ConfigMap
 *     must not stop the cluster for ever. But where it still says `ended` of somebody else, the wake object must have
 *     changed before: whoever comes next would take that `ended` for true.
 *
 * From then on it looks every RUN_KEEPER_LOOK_MS whether the object is still ours, or can be claimed now, and claims it
 * again: a second process may have taken it, by mistake, and have ended since.
 *
 * run_keeper_end() writes `ended`. It is the caller's to know that it is true, now and whenever the write lands:
 * nothing will be sent any more, all that was sent is resolved, and the hold-off of this process itself is over. The
 * write is conditional on the revision of our own claim, so it never overwrites the claim of another process; and for
 * RUN_KEEPER_ALONE_MS after a claim that has replaced one of somebody who may live, nothing is written. */
#ifndef EXTENDER_RUN_KEEPER_H
#define EXTENDER_RUN_KEEPER_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "extender/run_claim.h"

#include <stdbool.h>
#include <stdint.h>

#define RUN_KEEPER_DECIDE_MS 1000
#define RUN_KEEPER_SETTLE_MS 30000
#define RUN_KEEPER_LOOK_MS 10000
#define RUN_KEEPER_ALONE_MS 35000 /* three looks of the other one, and their exchanges */

struct kube_client;
struct run_keeper;

struct run_news {
    bool skips; /* no hold-off; of RUN_NONE: if the first list shows no trace */
    bool settled;
    enum run_reason reason;
    int64_t hold_off_ms; /* by which those before us answer for theirs, if we skip: for run_keeper_end() */
};
/* On the keeper's thread, with no lock. */
typedef void run_keeper_tell_fn(void *ctx, const struct run_news *news);

/* Borrowed for its life. Objects are "NAMESPACE/NAME"; an empty wake_object: there is none. */
struct run_keeper_options {
    struct kube_client *client;
    const struct clock *clock; /* of the wall time that is written */
    const struct log *log;
    struct str run_object, wake_object;
    int64_t hold_off_ms; /* of this process, if it does not skip it */
    bool strict;         /* consistency: strict: what another one means is something else */
    const char *version;
    run_keeper_tell_fn *tell;
    void *ctx;
};

WARN_UNUSED int run_keeper_start(const struct run_keeper_options *o, struct run_keeper **ret, struct err *reterr);
/* Joins the thread: nothing is told any more. NULL is fine. */
void run_keeper_stop(struct run_keeper *k);
/* After run_keeper_stop(). Writes `ended`, and the hold-off by which we and those before us have waited, if we have
 * claimed the object; false: it was not claimed, or not for long enough, or whether the write landed is not known
 * within `wait_ms`. Blocks. */
bool run_keeper_end(struct run_keeper *k, int64_t hold_off_ms, int64_t wait_ms);
/* After kube_client_stop(). NULL is fine. */
void run_keeper_free(struct run_keeper *k);

#endif
