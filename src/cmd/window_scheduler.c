#include "cmd/window_scheduler.h"

#include "base/bug.h"
#include "base/sync.h"
#include "core/time/timetable.h"
#include "extender/notices.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct window_scheduler {
    struct window_scheduler_options o;
    struct timetable_change announced; /* the last one; at_s 0: none */
    struct thread thread;
    struct mutex lock; /* of `stopping` */
    struct condvar wake;
    bool stopping;
};

struct window_scheduler *window_scheduler_new(const struct window_scheduler_options *o)
{
    struct window_scheduler *t = xcalloc(1, sizeof(*t));

    t->o = *o;
    mutex_init(&t->lock, "window scheduler");
    condvar_init(&t->wake, "window scheduler wake");
    return t;
}

void window_scheduler_free(struct window_scheduler *t)
{
    if (t != NULL) {
        condvar_destroy(&t->wake);
        mutex_destroy(&t->lock);
        free(t);
    }
}

/* ---- one second ---- */

static void announce(struct window_scheduler *t, const struct config *c, const struct timetable_change *next)
{
    char note[EVENT_NOTE_MAX], when[CLOCK_RFC3339_MAX];
    struct strbuf change;

    strbuf_init(&change, sizeof(note) / 2);
    config_apply_name_change(&c->timetable, c->open, next->open, &change);
    clock_rfc3339(next->at_s * 1000, when);
    snprintf(note, sizeof(note), "Time windows at %s: %s", when, change.p);
    LOG_INFO(t->o.log, "Time windows will change", LOG_CSTR("at", when), LOG_STR("change", strbuf_view(&change)));
    notice_self(t->o.events, EVENT_WINDOWS_AHEAD, note);
    strbuf_fini(&change);
}

static void look_ahead(struct window_scheduler *t)
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

void window_scheduler_tick(struct window_scheduler *t)
{
    config_apply_keep_time(t->o.config_apply);
    look_ahead(t);
    if (t->o.each_second != NULL) {
        t->o.each_second(t->o.ctx);
    }
}

/* ---- the thread ---- */

/* False: stop. */
static bool wait_a_second(struct window_scheduler *t)
{
    const int64_t until_ns = sync_in_ns(WINDOW_SCHEDULER_POLL_MS * NS_PER_MS);
    bool in_time = true;
    bool go_on;

    mutex_lock(&t->lock);
    while (!t->stopping && in_time) {
        in_time = condvar_wait_until(&t->wake, &t->lock, until_ns);
    }
    go_on = !t->stopping;
    mutex_unlock(&t->lock);
    return go_on;
}

static void *window_scheduler_main(void *arg)
{
    struct window_scheduler *t = arg;

    while (wait_a_second(t)) {
        window_scheduler_tick(t);
    }
    return NULL;
}

int window_scheduler_start(const struct window_scheduler_options *o, struct window_scheduler **ret, struct err *reterr)
{
    struct window_scheduler *t = window_scheduler_new(o);
    int rc = thread_start(&t->thread, "windows", window_scheduler_main, t, reterr);

    if (rc != 0) {
        window_scheduler_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}

void window_scheduler_stop(struct window_scheduler *t)
{
    if (t == NULL) {
        return;
    }
    mutex_lock(&t->lock);
    t->stopping = true;
    condvar_signal(&t->wake);
    mutex_unlock(&t->lock);
    thread_join(&t->thread);
    window_scheduler_free(t);
}
