#include "extender/requeue_trigger.h"

#include "base/bug.h"
#include "base/sync.h"
#include "extender/policy_set.h"

#include <stdlib.h>

#define READY_LOOK_MS 20
#define STAND_BY_LOOK_MS 200

struct requeue_trigger {
    struct store *store;
    const struct clock *clock;
    const struct log *log;
    requeue_trigger_send_fn *send;
    void *send_ctx;

    struct mutex lock;
    struct condvar changed;
    struct thread thread;
    bool stopping;
    bool refused;   /* somebody would be glad of room */
    bool malformed; /* somebody would be glad of other rules */
    bool due;       /* and that is there */
    bool sending;
    bool follows; /* not before the store is ready */
    bool failing; /* the log has said so */
    int64_t not_before_ns;
    int64_t pause_ms;
    /* For those who would fit on a node that was not asked about: */
    int64_t elsewhere_ns; /* when one is wished for; NEVER: not */
    int64_t elsewhere_not_before_ns;
    bool twice;              /* the next of them is followed by another one */
    bool sending_elsewhere;  /* what is under way is for them, too */
    int64_t failed_pause_ms; /* after the next failure */
    unsigned step;           /* so many, and the pause is doubled */
    unsigned quick_n;        /* how many were sent, less step / 4 for each REQUEUE_TRIGGER_PAUSE_MS since: */
    int64_t counted_ns;      /* up to then */
};

#define NEVER INT64_MAX

static void make_due(struct requeue_trigger *w)
{
    w->due = true;
    condvar_broadcast(&w->changed);
}

static void capacity_grew(void *ctx)
{
    struct requeue_trigger *w = ctx;

    mutex_lock(&w->lock);
    if (w->refused && !w->due) {
        make_due(w);
    }
    mutex_unlock(&w->lock);
}

void requeue_trigger_capacity(struct requeue_trigger *w)
{
    if (w == NULL) {
        return;
    }
    mutex_lock(&w->lock);
    if ((w->refused || w->malformed) && !w->due) {
        make_due(w);
    }
    mutex_unlock(&w->lock);
}

void requeue_trigger_follows(struct requeue_trigger *w)
{
    mutex_lock(&w->lock);
    w->refused = true;
    w->follows = true;
    mutex_unlock(&w->lock);
}

void requeue_trigger_refused(struct requeue_trigger *w, uint64_t generation)
{
    /* Read after the refusal was computed: room that appeared in between was not seen by it. */
    bool grew = store_capacity_generation(w->store) > generation;

    mutex_lock(&w->lock);
    w->refused = true;
    if (grew && !w->due) {
        make_due(w);
    }
    mutex_unlock(&w->lock);
}

static void judged_by(struct requeue_trigger *w, struct policy_set *policies, uint64_t rules_generation)
{
    const struct rules *now = policy_set_take(policies);

    if (now->generation != rules_generation) {
        requeue_trigger_capacity(w);
    }
    rules_put(now);
}

void requeue_trigger_refused_by(struct requeue_trigger *w, uint64_t generation, struct policy_set *policies,
                                uint64_t rules_generation)
{
    requeue_trigger_refused(w, generation);
    judged_by(w, policies, rules_generation);
}

void requeue_trigger_malformed(struct requeue_trigger *w, struct policy_set *policies, uint64_t rules_generation)
{
    mutex_lock(&w->lock);
    w->malformed = true;
    mutex_unlock(&w->lock);
    judged_by(w, policies, rules_generation);
}

static unsigned step_of(size_t sample_n)
{
    if (sample_n >= REQUEUE_TRIGGER_ELSEWHERE_STEP_MAX / 2) {
        return REQUEUE_TRIGGER_ELSEWHERE_STEP_MAX;
    }
    return sample_n <= REQUEUE_TRIGGER_ELSEWHERE_STEP_MIN / 2 ? REQUEUE_TRIGGER_ELSEWHERE_STEP_MIN
                                                              : 2 * (unsigned)sample_n;
}

void requeue_trigger_elsewhere(struct requeue_trigger *w, int64_t delay_ms, bool twice, size_t sample_n)
{
    int64_t at_ns = clock_mono_ns(w->clock) + delay_ms * NS_PER_MS;

    mutex_lock(&w->lock);
    w->step = step_of(sample_n);
    w->twice = w->twice || twice;
    if (at_ns < w->elsewhere_ns) {
        w->elsewhere_ns = at_ns;
        condvar_broadcast(&w->changed);
    }
    mutex_unlock(&w->lock);
}

/* One was sent for those who fit elsewhere: when may the next one follow? */
static void pause_elsewhere(struct requeue_trigger *w, int64_t now_ns)
{
    const int64_t unit_ns = REQUEUE_TRIGGER_PAUSE_MS * NS_PER_MS * REQUEUE_TRIGGER_ELSEWHERE_STEP_MIN / w->step;
    const int64_t passed = (now_ns - w->counted_ns) / unit_ns;
    int64_t pause_ms = REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS;

    if (passed >= (int64_t)w->quick_n) {
        w->quick_n = 0;
        w->counted_ns = now_ns;
    } else {
        w->quick_n -= (unsigned)passed;
        w->counted_ns += passed * unit_ns;
    }
    w->quick_n++;
    for (unsigned n = w->quick_n; n >= w->step && pause_ms < REQUEUE_TRIGGER_PAUSE_MS; n -= w->step) {
        pause_ms *= 2;
    }
    pause_ms = pause_ms < REQUEUE_TRIGGER_PAUSE_MS ? pause_ms : REQUEUE_TRIGGER_PAUSE_MS;
    w->elsewhere_not_before_ns = now_ns + pause_ms * NS_PER_MS;
}

/* Who asked for it waits for it, and asks no second time. */
static void elsewhere_failed(struct requeue_trigger *w, enum wake_result result)
{
    const int64_t now_ns = clock_mono_ns(w->clock);

    w->elsewhere_not_before_ns = result == WAKE_FAILED ? now_ns + w->failed_pause_ms * NS_PER_MS : w->not_before_ns;
    w->failed_pause_ms = w->failed_pause_ms * 2 < REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS
                             ? w->failed_pause_ms * 2
                             : REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS;
    if (w->sending_elsewhere) {
        w->elsewhere_ns = now_ns;
    }
}

void requeue_trigger_sent(struct requeue_trigger *w, enum wake_result result, const char *detail)
{
    bool say_bad, say_good;

    mutex_lock(&w->lock);
    w->sending = false;
    say_bad = result != WAKE_DONE && !w->failing && !w->stopping;
    say_good = result == WAKE_DONE && w->failing;
    w->failing = result != WAKE_DONE;
    if (result == WAKE_DONE) {
        w->pause_ms = REQUEUE_TRIGGER_PAUSE_MS;
        w->failed_pause_ms = REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS;
    } else {
        w->refused = true;
        w->due = true;
        w->pause_ms = w->pause_ms * 2 < REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS && result == WAKE_FAILED
                          ? w->pause_ms * 2
                          : REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS;
    }
    w->not_before_ns = clock_mono_ns(w->clock) + w->pause_ms * NS_PER_MS;
    if (result != WAKE_DONE) {
        elsewhere_failed(w, result);
    }
    condvar_broadcast(&w->changed);
    mutex_unlock(&w->lock);
    if (say_bad && result == WAKE_IMPOSSIBLE) {
        LOG_WARNING(w->log,
                    "Cannot notify kube-scheduler when room becomes free: a refused pod may wait up to five minutes. "
                    "Apply the CSIStorageCapacity fgpu-wake and its role from manifests/, or set "
                    "clientConnection.wakeObject",
                    LOG_CSTR("err", detail));
    } else if (say_bad) {
        LOG_WARNING(w->log, "Could not notify kube-scheduler; trying again", LOG_CSTR("err", detail));
    } else if (say_good) {
        LOG_INFO(w->log, "kube-scheduler can be notified again");
    }
}

/* With the lock, which is given up: nobody tells when the store gets ready. While another replica decides that may take
 * for ever, and once it is over the pods are listed before. */
static void wait_until_ready(struct requeue_trigger *w)
{
    int64_t pause_ms;
    bool ready;

    mutex_unlock(&w->lock);
    ready = store_is_ready(w->store);
    pause_ms = store_stands_by(w->store) ? STAND_BY_LOOK_MS : READY_LOOK_MS;
    mutex_lock(&w->lock);
    if (ready) {
        w->follows = false;
    } else if (!w->stopping) {
        (void)condvar_wait_until(&w->changed, &w->lock, sync_in_ns(pause_ms * NS_PER_MS));
    }
}

/* When the next PATCH is to be sent; NEVER: nobody wants one. */
static int64_t next_ns(const struct requeue_trigger *w)
{
    int64_t room_ns = w->due ? w->not_before_ns : NEVER, elsewhere_ns = w->elsewhere_ns;

    if (elsewhere_ns < w->elsewhere_not_before_ns) {
        elsewhere_ns = w->elsewhere_not_before_ns;
    }
    return room_ns < elsewhere_ns ? room_ns : elsewhere_ns;
}

/* Before the event: who is refused from now on may have been asked because of it. Whatever it is sent for, it is for
 * everybody. */
static void begin_sending(struct requeue_trigger *w, int64_t now_ns)
{
    bool elsewhere;

    w->due = false;
    w->refused = false;
    w->malformed = false;
    w->sending = true;
    elsewhere = w->elsewhere_ns <= now_ns;
    w->sending_elsewhere = w->elsewhere_ns != NEVER;
    w->elsewhere_ns = NEVER;
    if (elsewhere) {
        pause_elsewhere(w, now_ns);
    }
    if (elsewhere && w->twice) {
        w->elsewhere_ns = w->elsewhere_not_before_ns = now_ns;
    }
    w->twice = false;
}

int64_t requeue_trigger_due_ns(struct requeue_trigger *w)
{
    int64_t at_ns;

    mutex_lock(&w->lock);
    while (w->sending) {
        condvar_wait(&w->changed, &w->lock);
    }
    at_ns = next_ns(w);
    condvar_broadcast(&w->changed);
    mutex_unlock(&w->lock);
    return at_ns;
}

static void *requeue_trigger_main(void *arg)
{
    struct requeue_trigger *w = arg;

    mutex_lock(&w->lock);
    while (!w->stopping) {
        const int64_t at_ns = w->sending ? NEVER : next_ns(w), now_ns = clock_mono_ns(w->clock);

        if (at_ns == NEVER) {
            condvar_wait(&w->changed, &w->lock);
        } else if (w->follows) {
            wait_until_ready(w);
        } else if (now_ns < at_ns) {
            (void)condvar_wait_until(&w->changed, &w->lock, at_ns);
        } else {
            begin_sending(w, now_ns);
            mutex_unlock(&w->lock);
            w->send(w->send_ctx, w);
            mutex_lock(&w->lock);
        }
    }
    mutex_unlock(&w->lock);
    return NULL;
}

int requeue_trigger_new(struct store *store, const struct clock *clock, const struct log *log,
                        requeue_trigger_send_fn *send, void *send_ctx, struct requeue_trigger **ret, struct err *reterr)
{
    struct requeue_trigger *w = xcalloc(1, sizeof(*w));
    int rc;

    w->store = store;
    w->clock = clock;
    w->log = log;
    w->send = send;
    w->send_ctx = send_ctx;
    w->pause_ms = REQUEUE_TRIGGER_PAUSE_MS;
    w->elsewhere_ns = NEVER;
    w->step = REQUEUE_TRIGGER_ELSEWHERE_STEP_MIN;
    w->failed_pause_ms = REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS;
    mutex_init(&w->lock, "requeue trigger");
    condvar_init(&w->changed, "requeue trigger changed");
    rc = thread_start(&w->thread, "requeue", requeue_trigger_main, w, reterr);
    if (rc != 0) {
        condvar_destroy(&w->changed);
        mutex_destroy(&w->lock);
        free(w);
        return rc;
    }
    store_watch_capacity(store, capacity_grew, w);
    *ret = w;
    return 0;
}

void requeue_trigger_stop(struct requeue_trigger *w)
{
    bool stopping;

    if (w == NULL) {
        return;
    }
    store_watch_capacity(w->store, NULL, NULL);
    mutex_lock(&w->lock);
    stopping = w->stopping;
    w->stopping = true;
    condvar_broadcast(&w->changed);
    mutex_unlock(&w->lock);
    if (!stopping) {
        thread_join(&w->thread);
    }
}

void requeue_trigger_free(struct requeue_trigger *w)
{
    if (w == NULL) {
        return;
    }
    requeue_trigger_stop(w);
    BUG_ON(w->sending);
    condvar_destroy(&w->changed);
    mutex_destroy(&w->lock);
    free(w);
}
