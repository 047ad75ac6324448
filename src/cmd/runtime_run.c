/* The run object: what it says of those before us decides about the hold-off, and at the end it says that we have ended
 * in order (extender/run_claim.h, decision 0091). */
#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "base/sync.h"
#include "extender/binder.h"
#include "extender/run_keeper.h"
#include "kube/watcher.h"
#include "routes/state.h"

#include <stdlib.h>

enum {
    RESOLVE_MS = 1000, /* for binds whose callers have their answer, after those who wait have got theirs */
    END_MS = 2000,     /* for writing `ended` */
};

struct run_start {
    struct runtime *of;
    struct run_keeper *keeper; /* NULL: there is no run object */
    int64_t hold_off_ends_ns;  /* if there is one */

    struct thread thread; /* ends with the hold-off */
    bool started;         /* the owner's */

    struct mutex lock; /* of the rest */
    struct condvar changed;
    bool stopping;
    bool elected;     /* or there is no election */
    bool lists_again; /* when the hold-off is over, see begin_hold_off() */
    /* The list of pods that shows what others have done: it begins after the order of that number (0: any). And which
     * order the list that began last, and the one that was complete last, came after. */
    uint64_t list_order, begun_after, listed_after;
    bool decided, settled;
    bool skips;          /* no hold-off */
    bool awaits_list;    /* ... unless the first list of pods shows traces */
    int64_t hold_off_ms; /* by which those before us answer, if it is skipped */
    enum run_reason reason;
};

/* With the lock. Has what others did before us been read? */
static bool is_listed(const struct run_start *r)
{
    return r->elected && !r->lists_again && r->listed_after >= r->list_order;
}

/* With the lock: one that is on its way may have begun too early. */
static void order_list(struct run_start *r)
{
    r->list_order = kube_watcher_relist(r->of->watchers[KUBE_PODS]);
}

/* With the lock. What lands while it lasts must be known when it is over, and nothing says that the watch has shown it
 * by then: an API server may be behind etcd for longer than that. So the pods are listed again at its end (F121). */
static void begin_hold_off(struct run_start *r)
{
    r->lists_again = r->of->options.holdoff_ms > 0;
    condvar_signal(&r->changed);
}

/* With the lock, so that what was said last holds. The ledger has the last pod of the list a moment before it is known
 * whether there are traces (F124). */
static void move_hold_off(struct run_start *r)
{
    int64_t until_ns = r->awaits_list ? INT64_MAX : r->skips ? INT64_MIN : r->hold_off_ends_ns;

    store_hold_off(r->of->store, r->settled && is_listed(r) ? until_ns : INT64_MAX);
}

static void say(const struct run_start *r, bool skips, enum run_reason reason)
{
    const struct log *log = r->of->options.log;
    const struct log_field why = LOG_CSTR("reason", run_reason_name(reason));
    const struct log_field text = LOG_CSTR("why", run_reason_text(reason));

    if (skips) {
        LOG_INFO(log, "No hold-off: Bindings of an earlier fgpu cannot arrive any more", why, text);
    } else if (r->of->options.holdoff_ms == 0) {
        LOG_INFO(log, "No hold-off, because clientConnection.holdOff is 0", why, text);
    } else if (reason == RUN_MISSING || reason == RUN_FORBIDDEN || reason == RUN_NO_WAKE) {
        LOG_WARNING(log, "Hold-off: no GPU is promised yet, because Bindings of an earlier fgpu may still arrive", why,
                    text, LOG_I64("holdOffMs", r->of->options.holdoff_ms));
    } else {
        LOG_INFO(log, "Hold-off: no GPU is promised yet, because Bindings of an earlier fgpu may still arrive", why,
                 text, LOG_I64("holdOffMs", r->of->options.holdoff_ms));
    }
}

static void told(void *ctx, const struct run_news *news)
{
    struct run_start *r = ctx;
    bool first, says;

    mutex_lock(&r->lock);
    first = !r->decided;
    if (first) {
        r->decided = true;
        r->skips = news->skips;
        r->awaits_list = news->skips && news->reason == RUN_NONE;
        r->hold_off_ms = news->hold_off_ms;
        r->reason = news->reason;
    }
    if (first && !news->skips) {
        begin_hold_off(r);
    }
    if (first && r->of->election != NULL && !r->lists_again) { /* else the list at its end tells all */
        order_list(r);
    }
    r->settled = news->settled;
    says = first && !r->awaits_list;
    move_hold_off(r);
    mutex_unlock(&r->lock);
    if (says) {
        say(r, news->skips, news->reason);
    }
    if (first && r->of->election == NULL) {
        kube_watcher_release(r->of->watchers[KUBE_PODS]);
    }
    if (news->settled && !first) {
        LOG_INFO(r->of->options.log, "Bindings may be sent as soon as the hold-off is over",
                 LOG_CSTR("runObject", run_reason_name(news->reason)));
    }
}

void runtime_run_begun(struct runtime *s)
{
    struct run_start *r = s->run_start;
    bool ordered;

    mutex_lock(&r->lock);
    ordered = r->list_order > 0;
    mutex_unlock(&r->lock);
    if (ordered) { /* before that the watcher may not be there yet */
        const uint64_t after = kube_watcher_relists_taken(s->watchers[KUBE_PODS]);

        mutex_lock(&r->lock);
        r->begun_after = after;
        mutex_unlock(&r->lock);
    }
}

void runtime_run_listed(struct runtime *s, uint64_t traces)
{
    struct run_start *r = s->run_start;
    bool says;

    mutex_lock(&r->lock);
    r->listed_after = r->begun_after;
    says = r->awaits_list && is_listed(r);
    r->awaits_list = r->awaits_list && !says;
    if (says && traces > 0) {
        r->skips = false;
        r->reason = RUN_TRACES;
        begin_hold_off(r);
    }
    if (says || r->list_order > 0) {
        move_hold_off(r);
    }
    mutex_unlock(&r->lock);
    if (says) {
        say(r, traces == 0, traces == 0 ? RUN_NONE : RUN_TRACES);
    }
}

bool runtime_run_is_asked(const struct runtime *s)
{
    return s->options.config->client.run_object.n > 0 && !s->options.rehearses;
}

void runtime_run_status(void *ctx, struct state_start *ret)
{
    const struct runtime *s = ctx;
    struct run_start *r = s->run_start;

    mutex_lock(&r->lock);
    ret->hold_off = !r->decided || r->awaits_list            ? "undecided"
                    : r->skips || s->options.holdoff_ms == 0 ? "none"
                                                             : "held";
    ret->reason = run_reason_name(r->reason);
    mutex_unlock(&r->lock);
}

/* Before the feeds, whose first list asks for it. */
int runtime_prepare_run(struct runtime *s, struct err *reterr)
{
    struct run_start *r = xcalloc(1, sizeof(*r));

    (void)reterr;
    r->of = s;
    r->hold_off_ends_ns = clock_mono_ns(s->options.clock) + s->options.holdoff_ms * NS_PER_MS;
    r->elected = s->election == NULL;
    r->decided = r->settled = !runtime_run_is_asked(s) && r->elected;
    r->reason = runtime_run_is_asked(s) ? RUN_NOT_KNOWN : RUN_OFF;
    mutex_init(&r->lock, "run start");
    condvar_init(&r->changed, "run start changed");
    s->run_start = r;
    if (r->decided) {
        begin_hold_off(r);
    }
    move_hold_off(r);
    return 0;
}

/* With the lock. How long the hold-off that there is will last. */
static int64_t left_ns(const struct run_start *r)
{
    return r->lists_again && r->elected ? r->hold_off_ends_ns - clock_mono_ns(r->of->options.clock) : INT64_MAX;
}

static void *hold_off_main(void *ctx)
{
    struct run_start *r = ctx;

    mutex_lock(&r->lock);
    while (!r->stopping) {
        const int64_t ns = left_ns(r);

        if (ns <= 0) {
            r->lists_again = false;
            order_list(r);
            move_hold_off(r);
        } else if (ns == INT64_MAX) {
            condvar_wait(&r->changed, &r->lock);
        } else {
            (void)condvar_wait_until(&r->changed, &r->lock, sync_in_ns(ns));
        }
    }
    mutex_unlock(&r->lock);
    return NULL;
}

static void stop_hold_off(struct run_start *r)
{
    mutex_lock(&r->lock);
    r->stopping = true;
    condvar_signal(&r->changed);
    mutex_unlock(&r->lock);
    if (r->started) {
        thread_join(&r->thread);
    }
    r->started = false;
}

static int start_keeper(struct runtime *s, struct err *reterr)
{
    const struct run_keeper_options o = {
        .client = s->client,
        .clock = s->options.clock,
        .log = s->options.log,
        .run_object = s->options.config->client.run_object,
        .wake_object = s->options.config->client.wake_object,
        .hold_off_ms = s->options.holdoff_ms,
        .strict = s->options.config->policy.consistency == CONSISTENCY_STRICT,
        .version = FGPU_VERSION,
        .tell = told,
        .ctx = s->run_start,
    };

    return runtime_run_is_asked(s) ? run_keeper_start(&o, &s->run_start->keeper, reterr) : 0;
}

/* After the feeds: it lets the first list of pods begin. */
int runtime_start_run(struct runtime *s, struct err *reterr)
{
    struct run_start *r = s->run_start;
    const int rc = thread_start(&r->thread, "hold-off", hold_off_main, r, reterr);

    r->started = rc == 0;
    return rc == 0 && s->election == NULL ? start_keeper(s, reterr) : rc;
}

/* What counts is not when this process began, but until when another one may have sent a Binding. */
int runtime_run_elected(struct runtime *s, int64_t others_until_ns, struct err *reterr)
{
    struct run_start *r = s->run_start;

    mutex_lock(&r->lock);
    r->elected = true;
    r->hold_off_ends_ns = others_until_ns + s->options.holdoff_ms * NS_PER_MS;
    r->list_order = UINT64_MAX; /* until it is ordered */
    if (!runtime_run_is_asked(s)) {
        r->decided = r->settled = true;
        begin_hold_off(r);
        if (!r->lists_again) {
            order_list(r);
        }
    }
    move_hold_off(r);
    mutex_unlock(&r->lock);
    return start_keeper(s, reterr);
}

/* Is it true that nothing of ours, and nothing of those before us, can land any more? The hold-off answers for those
 * before us: which one, is told. */
static bool has_ended(struct runtime *s, int64_t *ret_hold_off_ms)
{
    struct run_start *r = s->run_start;
    bool proven;

    mutex_lock(&r->lock);
    proven = r->settled && is_listed(r) && !r->awaits_list &&
             (r->skips || clock_mono_ns(s->options.clock) >= r->hold_off_ends_ns);
    *ret_hold_off_ms = r->skips ? r->hold_off_ms : s->options.holdoff_ms;
    mutex_unlock(&r->lock);
    return binder_close(s->binder, RESOLVE_MS) && proven;
}

/* Callers are gone, the feeds still tell the binder what became of the rest. */
void runtime_stop_run(struct runtime *s)
{
    struct run_start *r = s->run_start;
    int64_t hold_off_ms;

    if (r == NULL) {
        return;
    }
    stop_hold_off(r); /* it orders lists of the feeds */
    if (r->keeper == NULL) {
        return;
    }
    run_keeper_stop(r->keeper);
    if (s->drain_ms > 0 && has_ended(s, &hold_off_ms)) {
        (void)run_keeper_end(r->keeper, hold_off_ms, END_MS);
    }
}

void runtime_free_run(struct runtime *s)
{
    if (s->run_start != NULL) {
        run_keeper_free(s->run_start->keeper);
        condvar_destroy(&s->run_start->changed);
        mutex_destroy(&s->run_start->lock);
        free(s->run_start);
    }
}
