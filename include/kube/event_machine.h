/* kube/event_machine.h - which Event to post next, without posting it.
 *
 * An I/O-free state machine behind kube/events.h; time is an argument (monotonic nanoseconds;
 * wall milliseconds only to be shown). Not thread-safe.
 *
 * Repeats. Events that agree in object, reason, related object and note are one Event of the API
 * server, as long as no EVENT_QUIET_MS pass without one: the first is a POST, the second a PATCH with
 * series.count 2 (contract.md 6.2). Further ones are only counted; a repeat that comes EVENT_REFRESH_MS
 * after the last PATCH, or the end of the process, has the count told. If the Event has expired
 * meanwhile (404), the next repeat is a new one.
 *
 * Limits. New Events take a token of their object and of its namespace, or are dropped. So one
 * flapping node cannot fill the list of events, nor one tenant who creates and deletes pods keep
 * others from being heard. Buckets are shared by chance (a keyed hash picks one of a fixed number),
 * so there is no table to fill. All calls together take tokens too; there they wait, in a queue
 * that is bounded.
 *
 * Trouble. Without a usable answer a call is tried again with growing pauses, EVENT_TRIES_MAX
 * times. A 403 that means us silences that kind of call for EVENT_SILENCE_MIN_MS, then one call tries again; each 403
 * in a row doubles it, up to EVENT_SILENCE_MS. Short at first, because an API server that has just started answers 403
 * until it knows the roles.
 */
#ifndef KUBE_EVENT_MACHINE_H
#define KUBE_EVENT_MACHINE_H

#include "base/hash.h"
#include "base/strbuf.h"
#include "kube/events.h"
#include "kube/event.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENT_PENDING_MAX 1000 /* waiting for a call */
#define EVENT_SERIES_MAX 4096  /* remembered, to know a repeat */
#define EVENT_TRIES_MAX 12
#define EVENT_REFRESH_MS (6 * 60 * 1000)
#define EVENT_QUIET_MS (6 * 60 * 1000)
#define EVENT_SILENCE_MIN_MS (5 * 1000)
#define EVENT_SILENCE_MS (10 * 60 * 1000)
#define EVENT_PAUSE_MIN_MS 1000
#define EVENT_PAUSE_MAX_MS 30000

/* Token buckets: so many at once, then one per so many milliseconds. Of an object: client-go's
 * numbers (contract.md 6.2). */
#define EVENT_OBJECT_BURST 25
#define EVENT_OBJECT_REFILL_MS (300 * 1000)
#define EVENT_NAMESPACE_BURST 100
#define EVENT_NAMESPACE_REFILL_MS 1000
#define EVENT_CALLS_BURST 100
#define EVENT_CALLS_REFILL_MS 100

struct event_machine;

struct event_machine_options {
    struct hash_key key; /* of objects: people choose their names */
    uint64_t seed;       /* of names of Events and of jitter */
    struct event_source source;
    events_observe_fn *observe;
    void *observe_ctx;
};

struct event_machine *event_machine_new(const struct event_machine_options *o);
void event_machine_free(struct event_machine *m); /* NULL is fine */

/* Copies what is needed. Every event ends in exactly one outcome told to the observer, at once or
 * later. */
void event_machine_record(struct event_machine *m, const struct event *e, int64_t now_ns, int64_t wall_ms);

enum event_call { EVENT_CALL_NONE, EVENT_CALL_POST, EVENT_CALL_PATCH };

/* What to do now: a call, whose path and body are put into the (reset) buffers, and whose reply
 * must be told before the next question; or nothing before *ret_wake_ns (INT64_MAX: until something
 * is recorded). */
enum event_call event_machine_next(struct event_machine *m, int64_t now_ns, struct strbuf *path, struct strbuf *body,
                                   int64_t *ret_wake_ns);

/* What is worth a line in the log; each at most once until the contrary happens. */
enum event_news {
    EVENT_NEWS_NONE,
    EVENT_NEWS_FORBIDDEN, /* silent from now on */
    EVENT_NEWS_ALLOWED,   /* no longer */
    EVENT_NEWS_REJECTED,  /* the API server will not have this Event: the first time only */
};
enum event_news event_machine_replied(struct event_machine *m, const struct event_answer *a, int64_t now_ns);

/* The end is near: counts that were not told are due now, nothing waits for tokens, and the first
 * call without an answer gives everything up. */
void event_machine_hurry(struct event_machine *m);
/* Nothing is waiting for a call. */
bool event_machine_is_idle(const struct event_machine *m);
/* Drops what still waits. */
void event_machine_abandon(struct event_machine *m);

#endif
