/* cmd_node/health_watch.h - the thread that speaks with the driver's library about its GPUs: which there are, what
 * errors they have, and whether they still answer. It judges them (node/health.h), and tells the agent, the log and, by
 * Events on the node and on the pods that hold such a GPU, people; each once, when it changes.
 *
 * Any call of that library may hang where a GPU is ill. Then this thread hangs, with no lock held: containers are
 * answered all the same, by what was known, and the main thread sees it (health_watch_guard) and says so. After
 * HEALTH_UNWATCHED_AFTER_MS no GPU of the node is given to a new container.
 *
 *   an XID         told at once
 *   a lost GPU     seen within HEALTH_WATCH_LOOK_MS, before each reading of the devices, and when waiting for events
 *                  fails
 */
#ifndef CMD_NODE_HEALTH_WATCH_H
#define CMD_NODE_HEALTH_WATCH_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "cmd_node/answers.h"
#include "kube/event.h"
#include "nvml/inventory.h"

#define HEALTH_WATCH_LOOK_MS 4000

struct health_watch;

struct health_watch_options {
    const char *library; /* NULL: the usual places */
    const uint32_t *ignored_xids;
    size_t ignored_xid_n;
    struct str node;
    const struct log *log;
    struct answers *answers;
    const struct clock *clock; /* by which it judges; waits are real */
    /* One more Event, from any thread and with a lock held: it must not wait. */
    void (*record)(void *ctx, const struct event *e);
    /* On the thread, the library being there and who is ill judged: reads the devices and hands them to
     * health_watch_found. When the library was opened, every HEALTH_WATCH_READ_MS, and soon after health_watch_wake. */
    void (*read)(void *ctx, struct health_watch *w, const struct nvml *n);
    /* From any thread and with a lock held, so it must not wait: the devices of the node from now on, each marked
     * healthy or not. */
    void (*devices)(void *ctx, const struct device *devices, size_t n);
    /* On the thread: there is no library, or none that works. */
    void (*no_driver)(void *ctx);
    void *ctx;
};
#define HEALTH_WATCH_READ_MS 10000

/* Starts the thread, which waits for a library if there is none. What the options point to must outlive it. */
WARN_UNUSED int health_watch_start(const struct health_watch_options *o, struct health_watch **ret, struct err *reterr);
/* False: the thread hangs in the library and goes on using what it was given: nothing may be freed; end the process, or
 * try again. NULL is fine. */
WARN_UNUSED bool health_watch_stop(struct health_watch *w);
/* After the last false, before the process ends. */
void health_watch_abandon(struct health_watch *w);

/* From the main thread, every few seconds: does the thread come back from the library? */
void health_watch_guard(struct health_watch *w);
/* Read the devices soon. From any thread. */
void health_watch_wake(struct health_watch *w);

/* In options.read only: that is what there is. Copied. */
void health_watch_found(struct health_watch *w, const struct device *devices, size_t n);

#endif
