/* cmd/timekeeper.h - time windows open and close by themselves, and are announced before.
 *
 * A thread of its own that looks at the clock once a second, so that no request ever waits for a
 * window and a clock that is set, or a machine that was suspended, is noticed. What a change does
 * is the changeover's affair; here it is only asked to keep time. `timeWindowNotice` before a
 * change the log and an Event on fgpu's own pod say what will come: once for each change, and once
 * more when another file makes it another.
 */
#ifndef CMD_TIMEKEEPER_H
#define CMD_TIMEKEEPER_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/changeover.h"
#include "config/slot.h"

#define TIMEKEEPER_POLL_MS 1000

struct timekeeper;
struct events;

/* Borrowed for its life. */
struct timekeeper_options {
    struct changeover *changeover;
    struct config_slot *slot;
    struct events *events; /* NULL: nobody is told */
    const struct clock *clock;
    const struct log *log;
    void (*each_second)(void *ctx); /* NULL is fine */
    void *ctx;
};

/* The work of one second, for who keeps time himself (tests). One caller at a time. */
struct timekeeper *timekeeper_new(const struct timekeeper_options *o);
void timekeeper_tick(struct timekeeper *t);
void timekeeper_free(struct timekeeper *t); /* NULL is fine */

/* The same with the thread that ticks. */
WARN_UNUSED int timekeeper_start(const struct timekeeper_options *o, struct timekeeper **ret,
                                 struct err *reterr);
void timekeeper_stop(struct timekeeper *t); /* joins and frees; NULL is fine */

#endif
