/* extender/explain_events.h - tells by an Event why a pod waits, once it has been refused everywhere for a while.
 *
 * One Event for a pod, and another only when the kinds of its reasons change; never more than the event machine's
 * limits (kube/event_machine.h). It names no other pod, because the tenant reads it.
 */
#ifndef EXTENDER_EXPLAIN_EVENTS_H
#define EXTENDER_EXPLAIN_EVENTS_H

#include "extender/placement.h"

#include <stdbool.h>

#define EXPLAIN_EVENT_AFTER_MS (30 * 1000)
#define EXPLAIN_EVENT_AGAIN_MS (60 * 1000) /* a pod is looked at again after this */

struct events;

/* Looks at one pod that is due, if there is one: to be called every second. `now_ms` is wall time; `events` NULL:
 * nobody is told. True: there is something new to say about it. */
bool explain_events_tick(const struct placement_context *c, struct events *events, int64_t now_ms);

#endif
