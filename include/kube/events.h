/* kube/events.h - tells people about transitions, by Events of the API server. Best effort.
 *
 * events_record() may be called from any thread, with locks held: it copies the event into a
 * bounded queue and returns; it makes no call and waits for none. What cannot be kept is dropped
 * and counted. One thread posts. Nothing that decides about GPUs waits for an Event or reads one.
 *
 * Record transitions, never states: "the inventory can no longer be read", once, and "it can be
 * read again", once. What repeats all the same (something flaps) becomes one Event with a series:
 * equal object, reason, related object and note are counted, told at the second occurrence and then
 * at most every six minutes, while it goes on. How that is done, and all limits: kube/event_machine.h.
 *
 * kube-scheduler writes FailedScheduling with our reasons and Scheduled; those are not said twice.
 *
 * Reasons are a closed set, so that they can be a metric label and be documented: for each, the
 * table in kube/event.c has the words of the API object, and config/README.md cause and remedy.
 */
#ifndef KUBE_EVENTS_H
#define KUBE_EVENTS_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "kube/event.h"

#include <stdint.h>

struct kube_client;
struct events;

/* What was, or was not, done with an event. Usable as metric labels by event_outcome_name. */
enum event_outcome {
    EVENT_POSTED,     /* a new Event was accepted */
    EVENT_COUNTED,    /* a PATCH of a series was accepted */
    EVENT_REPEATED,   /* one more of a known series: no call of its own */
    EVENT_LIMITED,    /* dropped: its object or namespace has too many */
    EVENT_QUEUE_FULL, /* dropped: the queue is full */
    EVENT_SILENCED,   /* dropped: the API server forbade events, fgpu is stopping, or follows */
    EVENT_FORBIDDEN,  /* lost: 403 */
    EVENT_REJECTED,   /* lost: the API server calls it invalid, or its namespace is gone */
    EVENT_GAVE_UP,    /* lost: no answer, tried often enough */
    EVENT_NOWHERE,    /* about fgpu's own pod, and which one that is is not known */
    EVENT_OUTCOME__MAX
};
const char *event_outcome_name(enum event_outcome f); /* "queue_full" */

/* From any thread, perhaps with locks held: it must only count. */
typedef void events_observe_fn(void *ctx, enum event_reason reason, enum event_outcome outcome);

struct events_options {
    struct event_source source; /* an empty instance is "fgpu" */
    struct event_object self;   /* fgpu's own pod, for events about fgpu; EVENT_OBJECT_NONE: not known */
    events_observe_fn *observe; /* NULL: nobody counts */
    void *observe_ctx;
};

/* Starts the thread. Borrows client, clock and log; copies the options. */
WARN_UNUSED int events_new(struct kube_client *client, const struct clock *clock, const struct log *log,
                           const struct events_options *o, struct events **ret, struct err *reterr);

/* `e` may be NULL: nothing happens. Regarding EVENT_OBJECT_SELF means options.self. */
void events_record(struct events *e, const struct event *event);

/* While silenced, nothing is recorded (EVENT_SILENCED): a replica that follows leaves telling to the one that leads.
 * NULL is fine. */
void events_silence(struct events *e, bool silent);

/* Posts what is queued, for `deadline_ms` at most, then ends the thread. Later records are dropped.
 * NULL is fine. */
void events_stop(struct events *e, int64_t deadline_ms);
/* Stops with deadline 0 if need be. The client must have been stopped before: it may hold a call of
 * ours. NULL is fine. */
void events_free(struct events *e);

#endif
