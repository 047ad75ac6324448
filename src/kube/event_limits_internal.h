/* kube/event_limits_internal.h - how many new Events an object and a namespace may have, and how many calls there
 * are in all: token buckets (numbers: kube/event_machine.h).
 *
 * A bucket is the time when it is full again, so all zero is all full. Buckets of objects and of namespaces are shared
 * by chance: a keyed hash picks one of a fixed number.
 */
#ifndef KUBE_EVENT_LIMITS_INTERNAL_H
#define KUBE_EVENT_LIMITS_INTERNAL_H

#include "base/hash.h"
#include "kube/event.h"

enum { EVENT_OBJECT_BUCKETS = 4096, EVENT_NAMESPACE_BUCKETS = 1024 };

struct event_limits {
    int64_t calls_ns;
    int64_t objects_ns[EVENT_OBJECT_BUCKETS];
    int64_t namespaces_ns[EVENT_NAMESPACE_BUCKETS];
};

/* Takes a token of the object and, for a pod, one of its namespace; or none, and says no. */
bool event_limits_admit(struct event_limits *l, struct hash_key key, const struct event_object *o, int64_t now_ns);

/* When the next call may be made; and that it was. */
int64_t event_limits_call_at_ns(const struct event_limits *l);
void event_limits_called(struct event_limits *l, int64_t now_ns);

#endif
