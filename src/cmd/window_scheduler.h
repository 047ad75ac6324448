/* cmd/window_scheduler.h - time windows open and close by themselves, and are announced before.
 *
 * A thread of its own that looks at the clock once a second, so that no request ever waits for a
 * window and a clock that is set, or a machine that was suspended, is noticed. What a change does
 * is the affair of cmd/config_apply.h; here it is only asked to keep time. `timeWindowNotice` before a
 * change the log and an Event on fgpu's own pod say what will come: once for each change, and once
 * more when another file makes it another.
 */
#ifndef CMD_WINDOW_SCHEDULER_H
#define CMD_WINDOW_SCHEDULER_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/config_apply.h"
#include "config/slot.h"

#define WINDOW_SCHEDULER_POLL_MS 1000

struct window_scheduler;
struct events;

/* Borrowed for its life. */
struct window_scheduler_options {
    struct config_apply *config_apply;
    struct config_slot *slot;
    struct events *events; /* NULL: nobody is told */
    const struct clock *clock;
    const struct log *log;
    void (*each_second)(void *ctx); /* NULL is fine */
    void *ctx;
};

/* The work of one second, for who keeps time himself (tests). One caller at a time. */
struct window_scheduler *window_scheduler_new(const struct window_scheduler_options *o);
void window_scheduler_tick(struct window_scheduler *t);
void window_scheduler_free(struct window_scheduler *t); /* NULL is fine */

/* The same with the thread that ticks. */
WARN_UNUSED int window_scheduler_start(const struct window_scheduler_options *o, struct window_scheduler **ret,
                                       struct err *reterr);
void window_scheduler_stop(struct window_scheduler *t); /* joins and frees; NULL is fine */

#endif
