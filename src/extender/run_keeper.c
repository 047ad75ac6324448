#include "run_keeper_internal.h"

#include "base/bug.h"
#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXCHANGE_MS_MIN = 50,
    EXCHANGE_MS_MAX = 2000,
    PAUSE_MS_MIN = 50,
    PAUSE_MS_MAX = 1000,
    LOOK_STEPS = 4,
};

/* ---- the thread ---- */

struct progress {
    int64_t decide_at_ns, settle_at_ns;
    bool told;
    bool over; /* nothing is due any more */
    uint32_t lost_n;
};

static void tell(struct run_keeper *k, struct progress *p, bool settled)
{
    struct run_news news = {.settled = settled, .reason = k->claim.reason, .hold_off_ms = RUN_HOLD_OFF_NONE};

    /* Who was told that there is a hold-off has begun to list by that. */
    news.skips = !p->told && run_claim_is_skipped(&k->claim);
    if (!news.skips && (news.reason == RUN_HAS_ENDED || news.reason == RUN_NONE)) {
        news.reason = RUN_NOT_KNOWN;
    }
    if (news.skips && news.reason == RUN_HAS_ENDED) {
        news.hold_off_ms = k->claim.ended_hold_off_ms;
    }
    p->told = true;
    k->o.tell(k->o.ctx, &news);
}

static uint32_t exchange_ms(const struct progress *p)
{
    const int64_t end_ns = p->told ? p->settle_at_ns : p->decide_at_ns;
    const int64_t left_ms = p->over ? EXCHANGE_MS_MAX : (end_ns - sync_in_ns(0)) / NS_PER_MS;

    return (uint32_t)(left_ms < EXCHANGE_MS_MIN   ? EXCHANGE_MS_MIN
                      : left_ms < EXCHANGE_MS_MAX ? left_ms
                                                  : EXCHANGE_MS_MAX);
}

static void pause_until(struct run_keeper *k, int64_t until_ns)
{
    bool in_time = true;

    mutex_lock(&k->lock);
    while (!k->stopping && in_time) {
        in_time = condvar_wait_until(&k->changed, &k->lock, until_ns);
    }
    mutex_unlock(&k->lock);
}

/* Longer each time, but not past what is due. */
static void pause_after_loss(struct run_keeper *k, struct progress *p)
{
    const int64_t pause_ms = (int64_t)PAUSE_MS_MIN << (p->lost_n < 5 ? p->lost_n : 5);
    const int64_t due_ns = p->told ? p->settle_at_ns : p->decide_at_ns;
    const int64_t until_ns = sync_in_ns((pause_ms < PAUSE_MS_MAX ? pause_ms : PAUSE_MS_MAX) * NS_PER_MS);

    p->lost_n++;
    pause_until(k, until_ns < due_ns || p->over ? until_ns : due_ns);
}

static void claimed(struct run_keeper *k)
{
    k->was_ours = true;
    if (k->claim.takes_over) {
        k->claim.takes_over = false;
        k->alone_ns = sync_in_ns(RUN_KEEPER_ALONE_MS * NS_PER_MS);
    }
}

/* There were two at once, or are. */
static void warn_of_another(struct run_keeper *k)
{
    if (!k->was_ours || k->claim.step != RUN_SEND || k->claim.seen.process[0] == '\0' ||
        strcmp(k->warned_of, k->claim.seen.process) == 0) {
        return;
    }
    snprintf(k->warned_of, sizeof(k->warned_of), "%s", k->claim.seen.process);
    LOG_WARNING(k->o.log,
                k->o.strict
                    ? "Another fgpu has written into the run object of this one. If that one has consistency: strict, "
                      "too, no GPU is given twice, but each reports the other's decisions: end one of them"
                    : "Another fgpu has written into the run object of this one. Two at once do not know of each "
                      "other's Bindings and can give a GPU twice: end one of them",
                LOG_STR("runObject", k->o.run_object), LOG_CSTR("process", k->claim.seen.process));
}

/* False: stopping. */
static bool make_step(struct run_keeper *k, struct progress *p)
{
    const bool asks = k->claim.step == RUN_ASK;
    enum run_answer answer;

    if (asks ? !run_keeper_ask(k, exchange_ms(p))
             : (run_keeper_write(k, RUN_RUNNING, 0, exchange_ms(p)), !run_keeper_wait(k))) {
        return false;
    }
    answer = k->run.answer;
    if (asks) {
        run_claim_asked(&k->claim, answer, &k->run.object, k->wake);
    } else {
        run_claim_sent(&k->claim, answer, &k->run.object);
    }
    if (k->claim.step == RUN_CLAIMED) {
        claimed(k);
    } else {
        warn_of_another(k);
    }
    if (answer == RUN_ANSWER_LOST || answer == RUN_ANSWER_CONFLICT) {
        pause_after_loss(k, p);
    }
    return true;
}

static bool is_stopping(struct run_keeper *k)
{
    bool stopping;

    mutex_lock(&k->lock);
    stopping = k->stopping;
    mutex_unlock(&k->lock);
    return stopping;
}

static bool is_open(const struct run_keeper *k)
{
    return k->claim.step == RUN_ASK || k->claim.step == RUN_SEND;
}

/* A few steps; where they lead to nothing, the next look goes on. */
static void look_again(struct run_keeper *k, struct progress *p)
{
    if (!is_open(k)) {
        run_claim_look(&k->claim);
    }
    p->lost_n = 0;
    for (int i = 0; i < LOOK_STEPS && is_open(k) && !is_stopping(k) && make_step(k, p); i++) {
    }
}

/* Somebody else's `ended` stands there, as far as is known, and whoever comes next would believe it. */
static bool leaves_ended(const struct run_keeper *k)
{
    return !k->claim.is_ours && k->claim.seen.state == RUN_ENDED && k->o.wake_object.n > 0 &&
           (k->wake[0] == '\0' || strcmp(k->wake, k->claim.seen.wake) == 0);
}

/* Until the object is claimed, or the wake object is another than that `ended` names. One that is not there is never
 * the one that it names. */
static void spoil_ended(struct run_keeper *k, struct progress *p)
{
    bool warned = false;

    while (leaves_ended(k) && !is_stopping(k)) {
        run_keeper_wake(k, EXCHANGE_MS_MAX);
        if (!run_keeper_wait(k) || k->wake_read.answer == RUN_ANSWER_OBJECT ||
            k->wake_read.answer == RUN_ANSWER_MISSING) {
            return;
        }
        if (!warned) {
            LOG_WARNING(
                k->o.log,
                "No GPU is promised yet: the run object says that an earlier fgpu has ended, and neither it nor the "
                "wake object can be changed, so the next fgpu would believe that. Apply the roles fgpu-run and "
                "fgpu-wake from manifests/",
                LOG_STR("runObject", k->o.run_object), LOG_STR("wakeObject", k->o.wake_object));
            warned = true;
        }
        look_again(k, p);
        pause_until(k, sync_in_ns(PAUSE_MS_MAX * NS_PER_MS));
    }
}

static void *run_keeper_main(void *ctx)
{
    struct run_keeper *k = ctx;
    struct progress p = {.decide_at_ns = sync_in_ns(RUN_KEEPER_DECIDE_MS * NS_PER_MS),
                         .settle_at_ns = sync_in_ns(RUN_KEEPER_SETTLE_MS * NS_PER_MS)};

    while (is_open(k) && !is_stopping(k) && sync_in_ns(0) < p.settle_at_ns && make_step(k, &p)) {
        if (is_open(k) && !p.told && sync_in_ns(0) >= p.decide_at_ns) {
            tell(k, &p, false);
        }
    }
    p.over = true;
    if (leaves_ended(k) && !is_stopping(k)) {
        if (!p.told) {
            tell(k, &p, false);
        }
        spoil_ended(k, &p);
    }
    if (!is_stopping(k)) {
        tell(k, &p, true);
    }
    while (!is_stopping(k)) {
        pause_until(k, sync_in_ns(RUN_KEEPER_LOOK_MS * NS_PER_MS));
        if (!is_stopping(k)) {
            look_again(k, &p);
        }
    }
    return NULL;
}

/* ---- life ---- */

int run_keeper_start(const struct run_keeper_options *o, struct run_keeper **ret, struct err *reterr)
{
    struct run_keeper *k = xcalloc(1, sizeof(*k));
    char process[RUN_ID_BYTES];
    uint64_t random[2];
    int rc = rng_os_bytes(random, sizeof(random), reterr);

    if (rc != 0) {
        free(k);
        return rc;
    }
    k->o = *o;
    k->run.of = k;
    k->wake_read.of = k;
    snprintf(process, sizeof(process), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    run_claim_init(&k->claim, process, o->hold_off_ms);
    k->alone_ns = INT64_MIN;
    mutex_init(&k->lock, "run keeper");
    condvar_init(&k->changed, "run keeper changed");
    rc = thread_start(&k->thread, "run-keeper", run_keeper_main, k, reterr);
    if (rc != 0) {
        condvar_destroy(&k->changed);
        mutex_destroy(&k->lock);
        free(k);
        return rc;
    }
    *ret = k;
    return 0;
}

void run_keeper_stop(struct run_keeper *k)
{
    if (k == NULL || k->joined) {
        return;
    }
    mutex_lock(&k->lock);
    k->stopping = true;
    condvar_broadcast(&k->changed);
    mutex_unlock(&k->lock);
    thread_join(&k->thread);
    k->joined = true;
}

void run_keeper_free(struct run_keeper *k)
{
    if (k == NULL) {
        return;
    }
    run_keeper_stop(k);
    BUG_ON(k->run.under_way || k->wake_read.under_way);
    condvar_destroy(&k->changed);
    mutex_destroy(&k->lock);
    free(k);
}

/* ---- the end ---- */

static bool says_ended(const struct run_keeper *k, const struct run_object *o)
{
    return o->state == RUN_ENDED && strcmp(o->process, k->claim.process) == 0;
}

static bool says_running(const struct run_keeper *k, const struct run_object *o)
{
    return o->state == RUN_RUNNING && strcmp(o->process, k->claim.process) == 0;
}

/* One PATCH, and a GET if that does not tell; true: nothing is left to try. */
static bool try_end(struct run_keeper *k, int64_t hold_off_ms, uint32_t deadline_ms, bool *ret_ended)
{
    run_keeper_write(k, RUN_ENDED, hold_off_ms, deadline_ms);
    (void)run_keeper_wait(k);
    if (k->run.answer == RUN_ANSWER_OBJECT && says_ended(k, &k->run.object)) {
        *ret_ended = true;
        return true;
    }
    if (k->run.answer == RUN_ANSWER_MISSING || k->run.answer == RUN_ANSWER_FORBIDDEN) {
        return true;
    }
    run_keeper_get(k, deadline_ms);
    (void)run_keeper_wait(k);
    if (k->run.answer != RUN_ANSWER_OBJECT) {
        return false; /* once more, on the same revision */
    }
    *ret_ended = says_ended(k, &k->run.object);
    if (!says_running(k, &k->run.object)) {
        return true; /* done, or another process has it */
    }
    k->claim.seen = k->run.object; /* still ours: somebody has changed something else in it, or nothing has landed */
    return false;
}

bool run_keeper_end(struct run_keeper *k, int64_t hold_off_ms, int64_t wait_ms)
{
    const int64_t end_ns = sync_in_ns(wait_ms * NS_PER_MS);
    bool ended = false;

    BUG_ON(!k->joined);
    if (!k->claim.is_ours || sync_in_ns(0) < k->alone_ns) {
        return false;
    }
    mutex_lock(&k->lock);
    k->stopping = false; /* the thread is gone; whoever waits now waits for the answers */
    mutex_unlock(&k->lock);
    (void)run_keeper_wait(k); /* of a look that was interrupted */
    k->wake[0] = '\0';        /* as it is now */
    if (k->o.wake_object.n > 0) {
        run_keeper_read_wake(k, (uint32_t)wait_ms / 4);
    }
    while (sync_in_ns(0) < end_ns && !try_end(k, hold_off_ms, (uint32_t)wait_ms / 4, &ended)) {
        pause_until(k, sync_in_ns(PAUSE_MS_MIN * NS_PER_MS));
    }
    if (ended) {
        LOG_INFO(k->o.log, "Wrote into the run object that fgpu has ended in order: the next start needs no hold-off",
                 LOG_CSTR("process", k->claim.process));
    } else {
        LOG_WARNING(k->o.log,
                    "Could not write into the run object that fgpu has ended in order: the next start waits for the "
                    "hold-off",
                    LOG_CSTR("process", k->claim.process));
    }
    return ended;
}
