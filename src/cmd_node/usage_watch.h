/* cmd_node/usage_watch.h - looks every few seconds which processes use the GPUs that containers hold, and sees to those
 * who use more memory than their record gives (node/usage.h).
 *
 * A thread of its own, with its own opening of the driver's library; where nobody holds a GPU it asks nothing and has
 * the library closed. What is
 * seen is reported; with `kill`, and after `grace_ms`, the process of such a container with the most memory on that GPU
 * is killed, as the kernel does where RAM is short, and again at the next look while the container stays above.
 *
 * Nobody is killed who is not in a container that holds this GPU by a record, at the time of the kill; or of whom it is
 * not known how much the container uses; or who has a GPU or a MIG instance alone.
 */
#ifndef CMD_NODE_USAGE_WATCH_H
#define CMD_NODE_USAGE_WATCH_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd_node/answers.h"
#include "kube/events.h"
#include "node/usage.h"
#include "obs/metrics.h"

struct usage_watch;

/* Borrowed, and outlive it. */
struct usage_watch_options {
    const char *library; /* of the driver */
    const char *proc;    /* cmd_node/proc.h */
    int64_t interval_ms, grace_ms;
    bool kill;
    struct answers *answers;
    struct events *events;   /* NULL: nobody is told by Events */
    struct metrics *metrics; /* of obs/node_catalog.h */
    const struct log *log;
};

WARN_UNUSED int usage_watch_start(const struct usage_watch_options *o, struct usage_watch **ret, struct err *reterr);
void usage_watch_stop(struct usage_watch *w); /* NULL is fine */

/* What is known, until unlocked: no call that waits in between. */
const struct usage *usage_watch_lock(struct usage_watch *w);
void usage_watch_unlock(struct usage_watch *w);

#endif
