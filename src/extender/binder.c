#include "extender/binder_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char TEXT_FETCH[] = "the API server did not answer in time: nothing was bound";
static const char TEXT_REHEARSAL[] = "this fgpu rehearses (--rehearse, --wall-clock): it binds nothing";
static const char TEXT_STOPPING[] = "fgpu is stopping; the outcome is read again at the next start";

const char *bind_outcome_name(enum bind_outcome o)
{
    static const char *const names[BIND_OUTCOME__MAX] = {
        [BIND_OUTCOME_BOUND] = "bound",         [BIND_OUTCOME_NO_FIT] = "no_fit",
        [BIND_OUTCOME_CONFLICT] = "conflict",   [BIND_OUTCOME_REFUSED] = "refused",
        [BIND_OUTCOME_UNKNOWN] = "unknown",     [BIND_OUTCOME_OVERLOADED] = "overloaded",
        [BIND_OUTCOME_NOT_READY] = "not_ready",
    };

    BUG_ON(o >= BIND_OUTCOME__MAX);
    return names[o];
}

/* The one that is not resolved. */
static struct bind *bind_find(struct binder *b, struct str uid)
{
    for (struct bind *i = b->binds; i != NULL; i = i->next) {
        if (i->machine.resolution == BIND_OPEN && str_eq(i->request.pod_uid, uid)) {
            return i;
        }
    }
    return NULL;
}

static void join(struct binder *b, struct bind *same, bind_done_fn *done, void *ctx)
{
    if (same->waiters == NULL) { /* all who asked so far were told that it is not known */
        int64_t now_ns = clock_mono_ns(b->clock);

        bind_machine_join(&same->machine, now_ns + b->options.deadline_ms * NS_PER_MS, now_ns);
        bind_wake_at(b, now_ns);
    }
    bind_add_waiter(same, done, ctx);
    bind_wake_at(b, same->machine.deadline_ns);
}

void binder_bind(struct binder *b, const struct bind_request *req, bind_done_fn *done, void *ctx)
{
    const char *error = store_not_open(b->store); /* for GPUs store_reserve() asks for more */
    enum bind_outcome outcome = BIND_OUTCOME_NOT_READY;
    struct bind_answer_due due = {0}, earlier = {0};
    struct bind *same;

    if (error != NULL) {
        done(ctx, outcome, error, "");
        return;
    }
    mutex_lock(&b->lock);
    same = bind_find(b, req->pod_uid);
    if (b->options.rehearses) {
        mutex_unlock(&b->lock);
        done(ctx, outcome, TEXT_REHEARSAL, "");
        return;
    }
    if (same != NULL && !b->stopping) {
        bind_resolve_by_watch(same, &earlier);
        same = bind_find(b, req->pod_uid);
    }
    if (same != NULL && str_eq(same->request.node_name, req->node_name)) {
        join(b, same, done, ctx);
    } else if (same != NULL) {
        outcome = BIND_OUTCOME_CONFLICT;
        error = BIND_TEXT_OTHER;
    } else if (b->closed || b->stopping || b->bind_n >= b->options.max_in_flight) {
        outcome = BIND_OUTCOME_OVERLOADED;
        error = BIND_TEXT_OVERLOADED;
    } else {
        struct bind *fresh = bind_new(b, req);

        bind_add_waiter(fresh, done, ctx);
        bind_begin(fresh, &due);
    }
    mutex_unlock(&b->lock);
    bind_deliver(&earlier);
    bind_deliver(&due);
    if (error != NULL) {
        done(ctx, outcome, error, "");
    }
}

uint32_t binder_in_flight(struct binder *b)
{
    uint32_t n;

    mutex_lock(&b->lock);
    n = b->bind_n;
    mutex_unlock(&b->lock);
    return n;
}

/* On the thread that watches: only the binder's own thread answers callers. */
static void reserved_was_seen(void *ctx, struct str uid)
{
    struct binder *b = ctx;
    struct bind *seen;

    mutex_lock(&b->lock);
    seen = bind_find(b, uid);
    if (seen != NULL) {
        seen->news = true;
        bind_wake_at(b, clock_mono_ns(b->clock));
    }
    mutex_unlock(&b->lock);
}

/* When the timer has something to do for this bind; INT64_MAX while its exchange is in flight. */
static int64_t due_at_ns(const struct bind *b)
{
    if (b->news) {
        return INT64_MIN;
    }
    if (b->turn) {
        return INT64_MIN;
    }
    if (b->busy) {
        return INT64_MAX;
    }
    if (b->intent != BIND_INTENT_NONE) {
        return bind_node_due_ns(b);
    }
    return b->fetching ? b->fetch_at_ns : b->machine.wake_ns;
}

/* A fetch that is out of time, or whose next try is due. News is none for it: one exchange at a time. */
static void fetch_turn(struct bind *b, bool expired, struct bind_answer_due *due)
{
    if (!expired) {
        if (!b->busy) {
            bind_fetch(b, due);
        }
    } else if (b->busy) {
        bind_answer(b, BIND_OUTCOME_REFUSED, TEXT_FETCH, due); /* the reply will find nobody waiting */
    } else {
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_FETCH, due);
    }
}

/* Advances the first bind that is due; false when none is. The lock is given up to deliver its answer. */
static bool advance_one(struct binder *b)
{
    int64_t now_ns = clock_mono_ns(b->clock);

    for (struct bind *i = b->binds; i != NULL; i = i->next) {
        bool expired = i->waiters != NULL && now_ns >= i->machine.deadline_ns;
        struct bind_answer_due due = {0};

        if (!expired && due_at_ns(i) > now_ns) {
            if (i->waiters != NULL) {
                bind_wake_at(b, i->machine.deadline_ns);
            }
            bind_wake_at(b, due_at_ns(i));
            continue;
        }
        if (i->fetching) {
            i->news = false;
            fetch_turn(i, expired, &due);
        } else if (i->news) {
            bind_resolve_by_watch(i, &due);
        } else if (i->intent != BIND_INTENT_NONE) {
            bind_intent_turn(i, expired, &due);
        } else {
            i->turn = false;
            bind_advance(i, &due);
        }
        mutex_unlock(&b->lock);
        bind_deliver(&due);
        mutex_lock(&b->lock);
        return true;
    }
    return false;
}

static void *timer_main(void *arg)
{
    struct binder *b = arg;

    mutex_lock(&b->lock);
    while (!b->stopping) {
        b->wake_ns = INT64_MAX;
        binder_ask_server(b);
        binder_ask_rights(b);
        binder_tidy_turn(b);
        binder_doubts_turn(b);
        if (advance_one(b)) {
            continue;
        }
        (void)condvar_wait_until(&b->wake, &b->lock, b->wake_ns); /* looks again either way */
    }
    mutex_unlock(&b->lock);
    return NULL;
}

int binder_new(struct policy_set *policies, struct kube_client *client, const struct clock *clock,
               const struct log *log, const struct binder_options *options, struct binder **ret, struct err *reterr)
{
    struct binder *b = xcalloc(1, sizeof(*b));
    uint64_t seed;
    const struct rules *rules;
    int rc = rng_os_bytes(&seed, sizeof(seed), reterr);

    if (rc != 0) {
        free(b);
        return rc;
    }
    rules = policy_set_take(policies);
    b->policies = policies;
    b->store = rules->placement.store;
    rules_put(rules);
    b->client = client;
    b->clock = clock;
    b->log = log;
    b->options = *options;
    b->wake_ns = INT64_MAX;
    b->server.ask_at_ns = INT64_MIN;
    binder_tidy_init(&b->tidy);
    binder_rights_init(&b->rights);
    rng_init(&b->rng, seed);
    if (options->intent_objects.n > 0) {
        b->intent_objects = str_dup(options->intent_objects);
        b->nodes = xcalloc(BIND_NODE_BUCKETS, sizeof(*b->nodes));
        snprintf(b->process, sizeof(b->process), "%016" PRIx64, rng_u64(&b->rng));
    }
    mutex_init(&b->lock, "binder");
    condvar_init(&b->wake, "binder wake");
    condvar_init(&b->idle, "binder idle");
    rc = thread_start(&b->thread, "binder", timer_main, b, reterr);
    if (rc != 0) {
        condvar_destroy(&b->wake);
        condvar_destroy(&b->idle);
        mutex_destroy(&b->lock);
        binder_free_nodes(b);
        free(b);
        return rc;
    }
    store_watch_reserved(b->store, reserved_was_seen, b);
    *ret = b;
    return 0;
}

void binder_set_options(struct binder *b, const struct binder_options *options)
{
    mutex_lock(&b->lock);
    b->options = *options;
    mutex_unlock(&b->lock);
}

bool binder_close(struct binder *b, int64_t wait_ms)
{
    const int64_t until_ns = sync_in_ns(wait_ms * NS_PER_MS);
    bool in_time = true, none_left;

    mutex_lock(&b->lock);
    b->closed = true;
    while (b->bind_n > 0 && in_time) {
        in_time = condvar_wait_until(&b->idle, &b->lock, until_ns);
    }
    none_left = b->bind_n == 0;
    mutex_unlock(&b->lock);
    return none_left;
}

void binder_stop(struct binder *b)
{
    mutex_lock(&b->lock);
    b->stopping = true;
    condvar_signal(&b->wake);
    mutex_unlock(&b->lock);
    thread_join(&b->thread);
}

void binder_free(struct binder *b)
{
    struct bind_answer_due due = {0};

    if (b == NULL) {
        return;
    }
    BUG_ON(!b->stopping);
    store_watch_reserved(b->store, NULL, NULL);
    while (b->binds != NULL) {
        bind_settle(b->binds, BIND_OUTCOME_UNKNOWN, TEXT_STOPPING, &due);
        bind_deliver(&due);
    }
    binder_free_nodes(b);
    binder_tidy_fini(&b->tidy);
    condvar_destroy(&b->wake);
    condvar_destroy(&b->idle);
    mutex_destroy(&b->lock);
    free(b);
}
