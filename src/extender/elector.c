#include "elector_internal.h"

#include "base/bug.h"
#include "kube/transport.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t elector_boot_ns(void)
{
    struct timespec ts;

    BUG_ON(clock_gettime(CLOCK_BOOTTIME, &ts) != 0);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

bool elector_may_write(void *elector)
{
    struct elector *e = elector;
    const int64_t until_ns = atomic_load(&e->until_ns);
    const int64_t from_ns = atomic_load(&e->from_ns); /* after it: of a new span both are new */
    const int64_t now_ns = elector_boot_ns();         /* last: the process may be stopped between any two steps */

    return now_ns >= from_ns && now_ns < until_ns;
}

/* ---- what follows from it ---- */

/* The span in which Bindings may be sent, by what is known now. */
static void span_of(const struct elector *e, int64_t *ret_from_ns, int64_t *ret_until_ns)
{
    const struct lease_machine *m = &e->machine;

    if (e->o.follows) {
        follow_machine_span(&e->follow, ret_from_ns, ret_until_ns);
    } else {
        *ret_from_ns = m->others_until_ns;
        *ret_until_ns = m->phase == LEASE_LEADS ? m->leads_until_ns : INT64_MIN;
    }
}

static const char *holder_of(const struct elector *e)
{
    if (e->o.follows) {
        return e->follow.exists ? e->follow.seen.holder : "";
    }
    return e->machine.exists ? e->machine.seen.holder : "";
}

static void publish(struct elector *e)
{
    const char *holder = holder_of(e);
    int64_t from_ns, until_ns;

    span_of(e, &from_ns, &until_ns);
    if (from_ns != atomic_load(&e->from_ns)) {
        /* Whoever asks between these lines finds an empty span; he reads the end first. */
        atomic_store(&e->until_ns, INT64_MIN);
        atomic_store(&e->from_ns, from_ns);
    }
    atomic_store(&e->until_ns, until_ns);
    if (strcmp(e->holder, holder) != 0) {
        snprintf(e->holder, sizeof(e->holder), "%s", holder);
        LOG_INFO(e->o.log, "The holder of the Lease is another one than before", LOG_STR("lease", e->o.lease),
                 LOG_CSTR("holder", holder), LOG_CSTR("own", e->o.follows ? e->o.host : e->identity));
    }
}

/* May somebody be told? Then he is being told. */
static bool begin_telling(struct elector *e)
{
    bool may;

    mutex_lock(&e->lock);
    may = !e->declines;
    e->telling = may;
    mutex_unlock(&e->lock);
    return may;
}

static void end_telling(struct elector *e)
{
    mutex_lock(&e->lock);
    e->telling = false;
    condvar_broadcast(&e->changed);
    mutex_unlock(&e->lock);
}

static bool is_open(const struct elector *e)
{
    const int64_t now_ns = elector_boot_ns();
    int64_t from_ns, until_ns;

    span_of(e, &from_ns, &until_ns);
    return now_ns >= from_ns && now_ns < until_ns;
}

static void tell(struct elector *e)
{
    if (!e->told && is_open(e) && begin_telling(e)) {
        const int64_t silent_ns = e->o.follows ? e->follow.silent_since_ns : e->machine.others_until_ns;
        const int64_t ago_ns = elector_boot_ns() - silent_ns;

        e->told = true;
        e->o.listener.elected(e->o.listener.ctx, clock_mono_ns(clock_system()) - ago_ns);
        end_telling(e);
    }
}

static void tell_lost(struct elector *e)
{
    const char *why = e->o.follows ? e->follow.why : e->machine.why;

    LOG_ERROR(e->o.log, "Lost the Lease: nothing is bound any more by this process", LOG_STR("lease", e->o.lease),
              LOG_CSTR("why", why));
    if (begin_telling(e)) {
        e->o.listener.lost(e->o.listener.ctx, why);
        end_telling(e);
    }
}

/* Until the next thing is due. */
static void wait_for_it(struct elector *e)
{
    int64_t until_ns = e->o.follows ? e->follow.wake_ns : e->machine.wake_ns, now_ns = elector_boot_ns();
    int64_t opens_ns, closes_ns;
    bool in_time = true;

    span_of(e, &opens_ns, &closes_ns);
    if (opens_ns < closes_ns) {
        /* Who follows asks again when it was told to; who leads has lost the Lease when its time is over. */
        until_ns = !e->o.follows && closes_ns < until_ns ? closes_ns : until_ns;
        until_ns = !e->told && now_ns < opens_ns && opens_ns < until_ns ? opens_ns : until_ns;
    }
    until_ns = sync_in_ns(until_ns - now_ns);
    mutex_lock(&e->lock);
    while (!e->stopping && in_time) {
        in_time = condvar_wait_until(&e->changed, &e->lock, until_ns);
    }
    mutex_unlock(&e->lock);
}

static bool is_stopping(struct elector *e)
{
    bool stopping;

    mutex_lock(&e->lock);
    stopping = e->stopping;
    mutex_unlock(&e->lock);
    return stopping;
}

static enum lease_step next_step(struct elector *e)
{
    const int64_t now_ns = elector_boot_ns();

    e->step = e->o.follows ? follow_machine_next(&e->follow, now_ns)
                           : lease_machine_next(&e->machine, now_ns, clock_wall_ms(e->o.clock) * 1000);
    return e->step;
}

/* While somebody waits for it. */
static void give_back(struct elector *e)
{
    bool gives;

    mutex_lock(&e->lock);
    gives = e->gives_back && lease_machine_give_back(&e->machine, elector_boot_ns());
    mutex_unlock(&e->lock);
    publish(e);
    while (gives && elector_boot_ns() < e->give_up_ns) {
        const enum lease_step step = next_step(e);

        if (step == LEASE_RELEASED) {
            LOG_INFO(e->o.log, "Gave the Lease back", LOG_STR("lease", e->o.lease));
            return;
        }
        if (step == LEASE_LOST) {
            break;
        }
        if (step == LEASE_WAIT) {
            const struct timespec pause = {.tv_nsec = 20 * NS_PER_MS};

            (void)nanosleep(&pause, NULL);
        } else if (elector_exchange(e, step)) {
            elector_take_answer(e);
        }
    }
    if (gives) {
        LOG_WARNING(e->o.log, "Could not give the Lease back: another replica takes it when it has run out",
                    LOG_STR("lease", e->o.lease));
    }
}

static void *elector_main(void *ctx)
{
    struct elector *e = ctx;
    bool lost = false;

    while (!is_stopping(e)) {
        const enum lease_step step = next_step(e);

        publish(e);
        if (step == LEASE_LOST) {
            lost = true;
            tell_lost(e);
            break;
        }
        tell(e);
        if (step == LEASE_WAIT) {
            wait_for_it(e);
        } else if (elector_exchange(e, step)) {
            elector_take_answer(e);
        }
    }
    if (!lost && !e->o.follows) {
        give_back(e);
    }
    return NULL;
}

/* ---- life ---- */

int elector_new(const struct elector_options *o, struct elector **ret, struct err *reterr)
{
    struct elector *e = xcalloc(1, sizeof(*e));
    uint64_t random[3];
    int rc = rng_os_bytes(random, sizeof(random), reterr);

    if (rc != 0) {
        free(e);
        return rc;
    }
    e->o = *o;
    rng_init(&e->rng, random[2]);
    snprintf(e->identity, sizeof(e->identity), "%.63s_%08" PRIx32 "-%04x-4%03x-%04x-%012" PRIx64, o->host,
             (uint32_t)(random[0] >> 32), (unsigned)(random[0] >> 16) & 0xffffU, (unsigned)random[0] & 0xfffU,
             ((unsigned)(random[1] >> 48) & 0x3fffU) | 0x8000U, random[1] & UINT64_C(0xffffffffffff));
    lease_machine_init(&e->machine, &(struct lease_options){.identity = e->identity,
                                                            .duration_ms = o->duration_ms,
                                                            .renew_deadline_ms = o->renew_deadline_ms,
                                                            .retry_ms = o->retry_ms});
    follow_machine_init(&e->follow, &(struct follow_options){.host = o->host,
                                                             .duration_ms = o->duration_ms,
                                                             .renew_deadline_ms = o->renew_deadline_ms,
                                                             .retry_ms = o->retry_ms});
    atomic_init(&e->from_ns, INT64_MAX);
    atomic_init(&e->until_ns, INT64_MIN);
    lease_kept_init(&e->kept);
    lease_kept_init(&e->object_kept);
    mutex_init(&e->lock, "elector");
    condvar_init(&e->changed, "elector changed");
    *ret = e;
    return 0;
}

int elector_start(struct elector *e, struct err *reterr)
{
    const int rc = thread_start(&e->thread, "elector", elector_main, e, reterr);

    e->started = rc == 0;
    return rc;
}

void elector_decline(struct elector *e)
{
    if (e == NULL) {
        return;
    }
    mutex_lock(&e->lock);
    e->declines = true;
    while (e->telling) {
        condvar_wait(&e->changed, &e->lock);
    }
    mutex_unlock(&e->lock);
}

void elector_stop(struct elector *e, bool give_back, int64_t wait_ms)
{
    if (e == NULL || !e->started) {
        return;
    }
    mutex_lock(&e->lock);
    e->stopping = true;
    e->gives_back = give_back;
    e->give_up_ns = elector_boot_ns() + wait_ms * NS_PER_MS;
    condvar_broadcast(&e->changed);
    mutex_unlock(&e->lock);
    thread_join(&e->thread);
    e->started = false;
    atomic_store(&e->until_ns, INT64_MIN);
}

void elector_free(struct elector *e)
{
    if (e == NULL) {
        return;
    }
    elector_stop(e, false, 0);
    BUG_ON(e->under_way);
    lease_kept_fini(&e->kept);
    lease_kept_fini(&e->object_kept);
    condvar_destroy(&e->changed);
    mutex_destroy(&e->lock);
    free(e);
}
