#include "kube/event_limits_internal.h"

#include "base/clock.h"
#include "kube/event_machine.h"

static int64_t token_at_ns(int64_t full_ns, int64_t burst, int64_t refill_ms)
{
    return full_ns - (burst - 1) * refill_ms * NS_PER_MS;
}

static void take_token(int64_t *full_ns, int64_t refill_ms, int64_t now_ns)
{
    *full_ns = (*full_ns > now_ns ? *full_ns : now_ns) + refill_ms * NS_PER_MS;
}

bool event_limits_admit(struct event_limits *l, struct hash_key key, const struct event_object *o, int64_t now_ns)
{
    uint64_t ns_hash = hash_str(key, o->namespace_);
    uint64_t hash = hash_str(key, o->name) ^ (ns_hash * 31);
    int64_t *object = &l->objects_ns[hash % EVENT_OBJECT_BUCKETS];
    int64_t *ns = o->kind == EVENT_OBJECT_POD ? &l->namespaces_ns[ns_hash % EVENT_NAMESPACE_BUCKETS] : NULL;

    if (token_at_ns(*object, EVENT_OBJECT_BURST, EVENT_OBJECT_REFILL_MS) > now_ns ||
        (ns != NULL && token_at_ns(*ns, EVENT_NAMESPACE_BURST, EVENT_NAMESPACE_REFILL_MS) > now_ns)) {
        return false;
    }
    take_token(object, EVENT_OBJECT_REFILL_MS, now_ns);
    if (ns != NULL) {
        take_token(ns, EVENT_NAMESPACE_REFILL_MS, now_ns);
    }
    return true;
}

int64_t event_limits_call_at_ns(const struct event_limits *l)
{
    return token_at_ns(l->calls_ns, EVENT_CALLS_BURST, EVENT_CALLS_REFILL_MS);
}

void event_limits_called(struct event_limits *l, int64_t now_ns)
{
    take_token(&l->calls_ns, EVENT_CALLS_REFILL_MS, now_ns);
}
