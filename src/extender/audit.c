#include "extender/audit_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

const char *audit_result_name(enum audit_result r)
{
    static const char *const names[AUDIT_RESULT__MAX] = {
        [AUDIT_NEVER] = "never",   [AUDIT_CLEAN] = "clean",   [AUDIT_DRIFT] = "drift",
        [AUDIT_FAILED] = "failed", [AUDIT_BROKEN] = "broken", [AUDIT_INCIDENTS] = "incidents",
    };

    BUG_ON((unsigned)r >= AUDIT_RESULT__MAX);
    return names[r];
}

bool audit_wait(struct audit *a, int64_t until_ns)
{
    bool go_on;

    mutex_lock(&a->lock);
    while (!a->stopping) {
        int64_t now_ns = clock_mono_ns(a->clock);

        if (now_ns >= until_ns || until_ns > a->give_up_ns) {
            break;
        }
        /* By the system's clock, whatever `clock` is; looks again either way. */
        (void)condvar_wait_until(&a->changed, &a->lock, sync_in_ns(until_ns - now_ns));
    }
    go_on = !a->stopping && until_ns <= a->give_up_ns;
    mutex_unlock(&a->lock);
    return go_on;
}

static bool lister_wait(void *ctx, int64_t until_ns)
{
    return audit_wait(ctx, until_ns);
}

/* ---- the thread ---- */

/* The audits of several fgpu must not meet at the API server. */
static int64_t next_due_ns(struct audit *a)
{
    uint64_t interval = (uint64_t)a->options.interval_ms;

    if (interval == 0) {
        return INT64_MAX;
    }
    interval += rng_below(&a->rng, interval / 5 + 1);
    return clock_mono_ns(a->clock) + (int64_t)(interval - (uint64_t)a->options.interval_ms / 10) * NS_PER_MS;
}

/* With the lock. False: stopping. */
static bool wait_for_work(struct audit *a, int64_t due_ns)
{
    while (!a->stopping && !a->asked) {
        int64_t now_ns = clock_mono_ns(a->clock);

        if (now_ns >= due_ns) {
            break;
        }
        (void)condvar_wait_until(&a->changed, &a->lock, sync_in_ns(due_ns - now_ns));
    }
    return !a->stopping;
}

static void answer(struct audit_waiter *waiters, const struct audit_report *r, bool stopped)
{
    while (waiters != NULL) {
        struct audit_waiter *w = waiters;

        waiters = w->next;
        w->done(w->ctx, r, stopped);
        free(w);
    }
}

static void finish(struct audit *a, struct audit_report *r)
{
    bool stopping;

    mutex_lock(&a->lock);
    stopping = a->stopping;
    r->run_n = a->last.run_n + 1;
    r->success_ms = r->result == AUDIT_FAILED || r->result == AUDIT_BROKEN ? a->last.success_ms : r->ended_ms;
    if (!stopping) {
        a->last = *r;
    }
    mutex_unlock(&a->lock);
    if (!stopping && a->options.finished != NULL) {
        a->options.finished(a->options.ctx, r);
    }
}

static void *audit_main(void *arg)
{
    struct audit *a = arg;

    for (;;) {
        int64_t due_ns = next_due_ns(a);
        struct audit_waiter *waiters;
        struct audit_report report;
        bool stopped;

        mutex_lock(&a->lock);
        if (!wait_for_work(a, due_ns)) {
            mutex_unlock(&a->lock);
            return NULL;
        }
        waiters = a->waiters;
        a->waiters = NULL;
        a->asked = false;
        mutex_unlock(&a->lock);
        audit_run(a, &report);
        finish(a, &report);
        mutex_lock(&a->lock);
        stopped = a->stopping;
        mutex_unlock(&a->lock);
        answer(waiters, &report, stopped);
    }
}

/* ---- life ---- */

static void audit_fini(struct audit *a)
{
    kube_stream_free(a->stream);
    arena_fini(&a->arena);
    condvar_destroy(&a->changed);
    mutex_destroy(&a->lock);
    free(a->seen);
    free(a->suspects);
    free(a);
}

int audit_new(struct policy_set *policies, struct kube_client *client, const struct clock *clock, const struct log *log,
              const struct audit_options *options, struct audit **ret, struct err *reterr)
{
    struct audit *a = xcalloc(1, sizeof(*a));
    uint64_t seed = 0;
    int rc;

    a->policies = policies;
    a->log = log;
    a->clock = clock;
    a->options = *options;
    a->give_up_ns = INT64_MAX;
    arena_init(&a->arena, FEED_ARENA_BYTES_MAX);
    mutex_init(&a->lock, "audit");
    condvar_init(&a->changed, "audit changed");
    rc = rng_os_bytes(&seed, sizeof(seed), reterr);
    rng_init(&a->rng, seed);
    a->hash_key = (struct hash_key){rng_u64(&a->rng), rng_u64(&a->rng)};
    if (rc == 0) {
        rc = kube_stream_new(client, &a->stream, reterr);
    }
    a->lister = (struct kube_lister){a->stream, clock, &a->rng, lister_wait, a};
    if (rc == 0) {
        rc = thread_start(&a->thread, "audit", audit_main, a, reterr);
    }
    if (rc != 0) {
        audit_fini(a);
        return rc;
    }
    *ret = a;
    return 0;
}

void audit_free(struct audit *a)
{
    if (a == NULL) {
        return;
    }
    mutex_lock(&a->lock);
    a->stopping = true;
    condvar_broadcast(&a->changed);
    mutex_unlock(&a->lock);
    kube_stream_interrupt(a->stream);
    thread_join(&a->thread);
    answer(a->waiters, &a->last, true);
    audit_fini(a);
}

void audit_request(struct audit *a, audit_done_fn *done, void *ctx)
{
    mutex_lock(&a->lock);
    if (done != NULL) {
        struct audit_waiter *w = xmalloc(sizeof(*w));

        *w = (struct audit_waiter){done, ctx, a->waiters};
        a->waiters = w;
    }
    a->asked = true;
    condvar_broadcast(&a->changed);
    mutex_unlock(&a->lock);
}

void audit_last(struct audit *a, struct audit_report *ret)
{
    mutex_lock(&a->lock);
    *ret = a->last;
    mutex_unlock(&a->lock);
}
