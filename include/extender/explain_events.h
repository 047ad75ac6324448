/* extender/explain_events.h - tells by an Event why a pod waits, once it has been refused everywhere for a while.
 *
 * One Event for a pod, and another only when the kinds of its reasons change; never more than the event machine's
 * limits (kube/event_machine.h). It names no other pod, because the tenant reads it. A pod that was looked at is looked
 * at again after twice the time that it had to be refused for.
 */
#ifndef EXTENDER_EXPLAIN_EVENTS_H
#define EXTENDER_EXPLAIN_EVENTS_H

#include "extender/placement.h"

#include <stdbool.h>

struct events;

/* Looks at one pod that has been refused for `after_ms` (0: none), if there is one: to be called every second. `now_ms`
 * is wall time; `events` NULL: nobody is told. True: there is something new to say about it. */
bool explain_events_tick(const struct placement_context *c, struct events *events, int64_t after_ms, int64_t now_ms);

#endif
