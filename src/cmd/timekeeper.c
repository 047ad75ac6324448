#include "cmd/timekeeper.h"

#include "base/bug.h"
#include "core/timetable.h"
#include "extender/notices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct timekeeper {
    struct timekeeper_options o;
    struct timetable_change announced; /* the last one; at_s 0: none */
    pthread_t thread;
    pthread_mutex_t lock; /* of `stopping` */
    pthread_cond_t wake;
    bool stopping;
};

struct timekeeper *timekeeper_new(const struct timekeeper_options *o)
{
    struct timekeeper *t = xcalloc(1, sizeof(*t));
    pthread_condattr_t attr;

    t->o = *o;
    BUG_ON(pthread_mutex_init(&t->lock, NULL) != 0);
    BUG_ON(pthread_condattr_init(&attr) != 0);
    BUG_ON(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0);
    BUG_ON(pthread_cond_init(&t->wake, &attr) != 0);
    BUG_ON(pthread_condattr_destroy(&attr) != 0);
    return t;
}

void timekeeper_free(struct timekeeper *t)
{
    if (t != NULL) {
        BUG_ON(pthread_cond_destroy(&t->wake) != 0);
        BUG_ON(pthread_mutex_destroy(&t->lock) != 0);
        free(t);
    }
}

/* ---- one second ---- */

static void announce(struct timekeeper *t, const struct config *c,
                     const struct timetable_change *next)
{
    char note[EVENT_NOTE_MAX], when[CLOCK_RFC3339_MAX];
    struct strbuf change;

    strbuf_init(&change, sizeof(note) / 2);
    changeover_name_change(&c->timetable, c->open, next->open, &change);
    clock_rfc3339(next->at_s * 1000, when);
    snprintf(note, sizeof(note), "Time windows at %s: %s", when, change.p);
    LOG_INFO(t->o.log, "Time windows will change", LOG_CSTR("at", when),
             LOG_STR("change", strbuf_view(&change)));
    notice_self(t->o.events, EVENT_WINDOWS_AHEAD, note);
    strbuf_fini(&change);
}

static void look_ahead(struct timekeeper *t)
{
    const struct config *c = config_slot_take(t->o.slot);
    int64_t now_s = clock_wall_ms(t->o.clock) / 1000;
    struct timetable_change next;

    if (c->window_notice_ms > 0 && timetable_next(&c->timetable, now_s, &next) &&
        next.at_s - now_s <= c->window_notice_ms / 1000 &&
        (next.at_s != t->announced.at_s || next.open != t->announced.open)) {
        announce(t, c, &next);
        t->announced = next;
    }
    config_free(c);
}

void timekeeper_tick(struct timekeeper *t)
{
    changeover_keep_time(t->o.changeover);
    look_ahead(t);
    if (t->o.each_second != NULL) {
        t->o.each_second(t->o.ctx);
    }
}

/* ---- the thread ---- */

/* False: stop. */
static bool wait_a_second(struct timekeeper *t)
{
    struct timespec until;
    int rc = 0;
    bool go_on;

    BUG_ON(clock_gettime(CLOCK_MONOTONIC, &until) != 0);
    until.tv_sec += TIMEKEEPER_POLL_MS / 1000;
    BUG_ON(pthread_mutex_lock(&t->lock) != 0);
    while (!t->stopping && rc == 0) {
        rc = pthread_cond_timedwait(&t->wake, &t->lock, &until);
    }
    go_on = !t->stopping;
    BUG_ON(pthread_mutex_unlock(&t->lock) != 0);
    return go_on;
}

static void *timekeeper_main(void *arg)
{
    struct timekeeper *t = arg;

    while (wait_a_second(t)) {
        timekeeper_tick(t);
    }
    return NULL;
}

int timekeeper_start(const struct timekeeper_options *o, struct timekeeper **ret,
                     struct err *reterr)
{
    struct timekeeper *t = timekeeper_new(o);

    if (pthread_create(&t->thread, NULL, timekeeper_main, t) != 0) {
        timekeeper_free(t);
        return err_set(reterr, ERR_INTERNAL, "cannot start a thread");
    }
    *ret = t;
    return 0;
}

void timekeeper_stop(struct timekeeper *t)
{
    if (t == NULL) {
        return;
    }
    BUG_ON(pthread_mutex_lock(&t->lock) != 0);
    t->stopping = true;
    BUG_ON(pthread_cond_signal(&t->wake) != 0);
    BUG_ON(pthread_mutex_unlock(&t->lock) != 0);
    BUG_ON(pthread_join(t->thread, NULL) != 0);
    timekeeper_free(t);
}
