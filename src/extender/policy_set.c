#include "extender/policy_set.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdatomic.h>
#include <stdlib.h>

struct rules_count {
    atomic_uint n;
    void (*release)(void *owner);
    void *owner;
};

struct policy_set {
    struct store *store;
    struct mutex lock;    /* of the rest */
    uint64_t announced_n; /* the number of the store's last transition */
    const struct rules *current;
    const struct rules *announced;   /* NULL: none */
    bool listed[KUBE_RESOURCE__MAX]; /* by the announced ones */
    struct mutex observing;          /* taken before `lock`: an observation, or an announcement */
};

int rules_new(const struct ingest *facts, uint64_t generation, void (*release)(void *owner), void *owner,
              const struct rules **ret, struct err *reterr)
{
    struct placement_context placement;
    struct rules *r;
    int rc = placement_context_init(&placement, facts->store, facts->policy, reterr);

    if (rc != 0) {
        return rc;
    }
    placement.plans.generation = generation;
    r = xcalloc(1, sizeof(*r));
    *r = (struct rules){.placement = placement, .ingest = *facts, .generation = generation};
    r->count = xcalloc(1, sizeof(*r->count));
    r->count->release = release;
    r->count->owner = owner;
    atomic_init(&r->count->n, 1);
    *ret = r;
    return 0;
}

static const struct rules *rules_ref(const struct rules *r)
{
    unsigned before = atomic_fetch_add_explicit(&r->count->n, 1, memory_order_relaxed);

    BUG_ON(before == 0);
    return r;
}

void rules_put(const struct rules *r)
{
    struct rules_count *count;

    if (r == NULL || atomic_fetch_sub_explicit(&r->count->n, 1, memory_order_acq_rel) > 1) {
        return;
    }
    count = r->count;
    if (count->release != NULL) {
        count->release(count->owner);
    }
    free(count);
    free((struct rules *)(uintptr_t)r);
}

struct policy_set *policy_set_new(const struct rules *first)
{
    struct policy_set *b = xcalloc(1, sizeof(*b));

    mutex_init(&b->lock, "policy set");
    mutex_init(&b->observing, "policy set observing");
    b->store = first->placement.store;
    b->current = first;
    return b;
}

void policy_set_free(struct policy_set *b)
{
    if (b == NULL) {
        return;
    }
    rules_put(b->announced);
    rules_put(b->current);
    mutex_destroy(&b->observing);
    mutex_destroy(&b->lock);
    free(b);
}

static const struct rules *take(struct policy_set *b, bool newest)
{
    const struct rules *r;

    mutex_lock(&b->lock);
    r = rules_ref(newest && b->announced != NULL ? b->announced : b->current);
    mutex_unlock(&b->lock);
    return r;
}

const struct rules *policy_set_take(struct policy_set *b)
{
    return take(b, false);
}

const struct rules *policy_set_take_newest(struct policy_set *b)
{
    return take(b, true);
}

void policy_set_publish(struct policy_set *b, const struct rules *next)
{
    const struct rules *before, *dropped;
    uint64_t transition;

    mutex_lock(&b->lock);
    transition = b->announced_n;
    before = b->current;
    dropped = b->announced;
    b->current = next;
    b->announced = NULL;
    mutex_unlock(&b->lock);
    store_transition_ends(b->store, transition);
    rules_put(before);
    rules_put(dropped);
}

void policy_set_announce(struct policy_set *b, const struct rules *next)
{
    const struct rules *dropped;
    uint64_t transition;

    mutex_lock(&b->observing);
    transition = b->announced_n + 1; /* nobody else announces now */
    store_transition_begins(b->store, transition);
    mutex_lock(&b->lock);
    b->announced_n = transition;
    dropped = b->announced;
    b->announced = next;
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        b->listed[i] = false;
    }
    mutex_unlock(&b->lock);
    mutex_unlock(&b->observing);
    rules_put(dropped);
}

bool policy_set_is_waiting(struct policy_set *b)
{
    bool waiting;

    mutex_lock(&b->lock);
    waiting = b->announced != NULL;
    mutex_unlock(&b->lock);
    return waiting;
}

enum policy_set_progress policy_set_listed(struct policy_set *b, enum kube_resource resource, const struct rules *by)
{
    enum policy_set_progress progress = POLICY_SET_CURRENT;
    const struct rules *before = NULL;
    uint64_t transition;

    mutex_lock(&b->lock);
    transition = b->announced_n;
    if (b->announced == NULL) {
        progress = POLICY_SET_IDLE;
    } else if (b->announced != by) {
        progress = POLICY_SET_STALE;
    } else {
        b->listed[resource] = true;
        for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
            progress = b->listed[i] ? progress : POLICY_SET_PARTIAL;
        }
    }
    if (progress == POLICY_SET_CURRENT) {
        before = b->current;
        b->current = b->announced;
        b->announced = NULL;
    }
    mutex_unlock(&b->lock);
    if (progress == POLICY_SET_CURRENT) {
        store_transition_ends(b->store, transition);
    }
    rules_put(before);
    return progress;
}

int policy_set_observe(struct policy_set *b, struct arena *a, const struct pod *pod, struct err *reterr)
{
    const struct rules *r;
    int rc;

    mutex_lock(&b->observing);
    r = policy_set_take_newest(b);
    rc = ingest_pod_read(&r->ingest, a, pod, reterr);
    mutex_unlock(&b->observing);
    rules_put(r);
    return rc;
}
