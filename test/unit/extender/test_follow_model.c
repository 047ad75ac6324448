/* A model of what kube-schedulers, an API server and an administrator do to a Lease, and what the fgpu beside each
 * scheduler makes of it.
 *
 * The schedulers elect one as client-go does it, with writes that land late or never, and processes that are stopped,
 * killed, asked to end or restarted in place under another identity. The fgpu are the real machine; they are stopped
 * and killed apart from their schedulers, their GETs are lost or late. Clocks show different times and go at one speed.
 * Checked at every step, of all that live, stopped ones included:
 *
 *     the spans of time in which two fgpu may send Bindings do not meet;
 *     what a new one counts its hold-off from is not before the end of the spans of others (without the administrator);
 *     nobody goes on who was not the last that might send (without the administrator).
 */
#include "extender/follow_machine.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { PODS = 3, WRITES = 64, STEPS = 1500, RUNS = 1000, DURATION_S = 5, RENEW_MS = 3000, RETRY_MS = 1000 };
#define NEVER INT64_MAX

/* As k8s.io/client-go/tools/leaderelection. */
struct scheduler {
    char identity[LEASE_HOLDER_BYTES];
    bool leads, busy;
    int64_t frozen_until_ns, next_ns, renewed_ns, seen_ns;
    struct lease_record seen;
};

/* A PUT of a scheduler: it lands once, if the revision is still this, or never. */
struct put {
    bool used;
    struct lease_record record;
    char revision[LEASE_REVISION_BYTES], uid[LEASE_UID_BYTES];
    size_t of;
    char by[LEASE_HOLDER_BYTES];
    int64_t land_ns;
};

struct fgpu {
    struct follow_machine m;
    int64_t offset_ns, frozen_until_ns;
    bool busy, answered, told;
    int64_t land_ns, reply_ns, give_up_ns;
    enum lease_answer answer;
    struct lease_record object;
    int64_t open_until_ns; /* global: the latest end of a span that it ever had */
    uint64_t process;
    bool has_opened;
};

static struct world {
    struct rng rng;
    int64_t now_ns;
    uint64_t counter, opened_last; /* a process */
    bool exists;
    struct lease_record lease;
    struct scheduler schedulers[PODS];
    struct fgpu all[PODS];
    struct put puts[WRITES];
    const char *broken;
    uint64_t elections, losses, restarts_in_place, open_steps;
    bool calm, administered, calms_down;
    /* Rules that are left out: */
    bool counts_from_answer, waits_for_nobody, clock_sleeps, ignores_numbers, goes_on_after_gap, any_prefix, slow_clock;
} w;

static const char *const hosts[PODS] = {"fgpu-a", "fgpu-a_b", "fgpu-c"};

static bool chance(unsigned percent)
{
    return rng_below(&w.rng, 100) < percent;
}

static int64_t local(const struct fgpu *f)
{
    return w.now_ns + f->offset_ns;
}

static void touch(void)
{
    snprintf(w.lease.revision, sizeof(w.lease.revision), "%llu", (unsigned long long)++w.counter);
}

static void begin_scheduler(size_t i)
{
    struct scheduler *s = &w.schedulers[i];

    memset(s, 0, sizeof(*s));
    snprintf(s->identity, sizeof(s->identity), "%s_%llu", hosts[i], (unsigned long long)++w.counter);
    s->next_ns = w.now_ns + (int64_t)rng_below(&w.rng, 1500) * NS_PER_MS;
}

static void begin_fgpu(size_t i)
{
    struct fgpu *f = &w.all[i];
    const int64_t open_until_ns = f->open_until_ns;

    memset(f, 0, sizeof(*f));
    f->open_until_ns = open_until_ns;
    f->process = ++w.counter;
    f->offset_ns = (int64_t)rng_below(&w.rng, 1000) * NS_PER_S;
    follow_machine_init(&f->m, &(struct follow_options){.host = hosts[i],
                                                        .duration_ms = DURATION_S * 1000,
                                                        .renew_deadline_ms = RENEW_MS,
                                                        .retry_ms = RETRY_MS});
}

/* ---- the schedulers ---- */

static void put(size_t i, const struct lease_record *r)
{
    struct put *p = w.puts;

    while (p->used) {
        p++;
        assert_true(p < w.puts + WRITES);
    }
    *p = (struct put){.used = true, .record = *r, .of = i, .land_ns = w.now_ns};
    memcpy(p->revision, w.lease.revision, sizeof(p->revision));
    memcpy(p->uid, w.lease.uid, sizeof(p->uid));
    memcpy(p->by, w.schedulers[i].identity, sizeof(p->by));
    p->land_ns += (int64_t)rng_below(&w.rng, !w.calm && chance(8) ? 5000 : 80) * NS_PER_MS;
    p->land_ns = !w.calm && chance(4) ? NEVER : p->land_ns;
    w.schedulers[i].busy = true;
}

static void try_to_lead(size_t i)
{
    struct scheduler *s = &w.schedulers[i];
    const bool is_mine = w.exists && strcmp(w.lease.holder, s->identity) == 0;
    struct lease_record r = {.duration_s = DURATION_S};

    s->next_ns = w.now_ns + (RETRY_MS + (int64_t)rng_below(&w.rng, s->leads ? 1 : 200)) * NS_PER_MS;
    if (w.exists && strcmp(s->seen.revision, w.lease.revision) != 0) {
        s->seen = w.lease;
        s->seen_ns = w.now_ns;
    }
    if (w.exists && w.lease.holder[0] != '\0' && !is_mine && w.now_ns < s->seen_ns + w.lease.duration_s * NS_PER_S) {
        return;
    }
    memcpy(r.holder, s->identity, sizeof(r.holder));
    snprintf(r.renewed, sizeof(r.renewed), "%lld", (long long)w.now_ns);
    memcpy(r.acquired, is_mine ? w.lease.acquired : r.renewed, sizeof(r.acquired));
    r.transition_n = w.exists ? w.lease.transition_n + !is_mine : 0;
    put(i, &r);
}

/* SIGTERM: gives the Lease back, as ReleaseOnCancel does. */
static void release(size_t i)
{
    struct lease_record r = w.lease;

    if (w.exists && strcmp(w.lease.holder, w.schedulers[i].identity) == 0) {
        r.holder[0] = '\0';
        r.duration_s = LEASE_RELEASED_S;
        snprintf(r.renewed, sizeof(r.renewed), "%lld", (long long)w.now_ns);
        put(i, &r);
    }
    begin_scheduler(i);
}

static void land(struct put *p)
{
    struct scheduler *s = &w.schedulers[p->of];
    const bool awaited = strcmp(s->identity, p->by) == 0;
    const bool made = p->uid[0] == '\0' && !w.exists;

    if (made || (w.exists && strcmp(p->uid, w.lease.uid) == 0 && strcmp(p->revision, w.lease.revision) == 0)) {
        memcpy(p->record.uid, w.lease.uid, sizeof(p->record.uid));
        if (made) {
            snprintf(p->record.uid, sizeof(p->record.uid), "u%llu", (unsigned long long)++w.counter);
        }
        w.lease = p->record;
        w.exists = true;
        touch();
        if (awaited) {
            s->leads = true;
            s->renewed_ns = w.now_ns;
        }
    }
    s->busy = s->busy && !awaited;
    p->used = false;
}

static void turn_scheduler(size_t i)
{
    struct scheduler *s = &w.schedulers[i];

    if (s->leads && w.now_ns > s->renewed_ns + (RENEW_MS + RETRY_MS) * NS_PER_MS) {
        begin_scheduler(i); /* it ends, and the kubelet starts it again */
        w.restarts_in_place++;
    } else if (w.now_ns >= s->next_ns && (!s->busy || w.now_ns >= s->next_ns + 2 * NS_PER_S)) {
        try_to_lead(i);
    }
}

/* ---- the fgpu ---- */

static void note_span(struct fgpu *f, int64_t *ret_from_ns, int64_t *ret_until_ns)
{
    follow_machine_span(&f->m, ret_from_ns, ret_until_ns);
    if (*ret_from_ns >= *ret_until_ns) {
        *ret_from_ns = NEVER;
        *ret_until_ns = INT64_MIN;
        return;
    }
    *ret_from_ns -= f->offset_ns;
    *ret_until_ns -= f->offset_ns;
}

static bool is_open(struct fgpu *f)
{
    int64_t from_ns, until_ns;

    note_span(f, &from_ns, &until_ns);
    return from_ns <= w.now_ns && w.now_ns < until_ns;
}

static void answer(struct fgpu *f, bool in_time)
{
    const struct follow_machine before = f->m;

    f->busy = false;
    if (w.counts_from_answer) {
        f->m.asked_ns = local(f);
    }
    if (w.ignores_numbers && f->object.holder[0] != '\0' && before.exists) {
        f->object.transition_n = before.seen.transition_n + (strcmp(f->object.holder, before.seen.holder) != 0);
    }
    if (w.goes_on_after_gap) {
        f->m.seen_asked_ns = local(f) - 1;
    }
    if (w.any_prefix && strncmp(f->object.holder, f->m.o.host, strlen(f->m.o.host)) == 0) {
        snprintf(f->object.holder, sizeof(f->object.holder), "%s_x", f->m.o.host);
    }
    follow_machine_answered(&f->m, in_time ? f->answer : LEASE_ANSWER_LOST, &f->object, local(f));
    if (f->m.phase == FOLLOW_NAMED && before.phase != FOLLOW_NAMED) {
        if (w.waits_for_nobody) {
            f->m.others_until_ns = local(f);
        }
    }
}

static void check_hold_off(const struct fgpu *f)
{
    for (size_t k = 0; k < PODS && !w.administered; k++) {
        if (&w.all[k] != f && w.all[k].open_until_ns > f->m.silent_since_ns - f->offset_ns) {
            w.broken = "the hold-off counts from before the last span of another one";
        }
    }
}

static void turn_fgpu(size_t i)
{
    struct fgpu *f = &w.all[i];
    enum lease_step step;

    if (f->busy) {
        if (f->answered && f->reply_ns <= w.now_ns) {
            answer(f, true);
        } else if (f->give_up_ns <= w.now_ns) {
            answer(f, false);
        }
        return;
    }
    step = follow_machine_next(&f->m, local(f));
    if (!f->told && is_open(f)) {
        f->told = true;
        w.elections++;
        check_hold_off(f);
    }
    if (step == LEASE_LOST) {
        w.losses++;
        begin_fgpu(i);
    } else if (step == LEASE_GET) {
        const bool late = !w.calm && chance(8);

        f->busy = true;
        f->answered = false;
        f->land_ns = w.now_ns + (int64_t)rng_below(&w.rng, late ? 4000 : 60) * NS_PER_MS;
        f->reply_ns = f->land_ns + (int64_t)rng_below(&w.rng, late ? 2000 : 60) * NS_PER_MS;
        f->reply_ns = !w.calm && chance(6) ? NEVER : f->reply_ns;
        f->give_up_ns = w.now_ns + FOLLOW_CALL_MS * NS_PER_MS;
    }
}

static void show(struct fgpu *f)
{
    if (f->busy && !f->answered && f->land_ns <= w.now_ns) {
        f->answered = true;
        f->answer = w.exists ? LEASE_ANSWER_OBJECT : LEASE_ANSWER_MISSING;
        f->object = w.lease;
    }
}

/* ---- what goes wrong ---- */

static void trouble(size_t i)
{
    const unsigned what = (unsigned)rng_below(&w.rng, 6);
    const int64_t ns = (int64_t)rng_below(&w.rng, 12000) * NS_PER_MS;

    if (what == 0) { /* kill -9 */
        begin_scheduler(i);
    } else if (what == 1) {
        release(i);
    } else if (what == 2) {
        w.schedulers[i].frozen_until_ns = w.now_ns + ns;
    } else if (what == 3) {
        begin_fgpu(i);
    } else {
        w.all[i].frozen_until_ns = w.now_ns + ns;
        w.all[i].offset_ns -= w.clock_sleeps ? ns : 0;
        w.schedulers[i].frozen_until_ns = what == 5 ? w.now_ns + ns : w.schedulers[i].frozen_until_ns;
    }
}

static void meddle(void)
{
    const unsigned what = (unsigned)rng_below(&w.rng, 5);

    if (what == 0) {
        w.exists = false;
        memset(&w.lease, 0, sizeof(w.lease));
    } else if (w.exists && what == 1) {
        w.lease.holder[0] = '\0';
    } else if (w.exists && what == 2) {
        snprintf(w.lease.holder, sizeof(w.lease.holder), "admin");
    } else if (w.exists && what == 3) { /* hands it to somebody */
        memcpy(w.lease.holder, w.schedulers[rng_below(&w.rng, PODS)].identity, sizeof(w.lease.holder));
    }
    touch(); /* or: a label */
}

static void note_open(struct fgpu *f)
{
    if (f->has_opened && w.opened_last != f->process && !w.administered) {
        w.broken = "one goes on after another one has decided";
    }
    f->has_opened = true;
    w.opened_last = f->process;
}

static void check_spans(void)
{
    int64_t from_ns[PODS], until_ns[PODS];

    for (size_t i = 0; i < PODS; i++) {
        struct fgpu *f = &w.all[i];

        note_span(f, &from_ns[i], &until_ns[i]);
        if (from_ns[i] <= w.now_ns && until_ns[i] > w.now_ns) {
            f->open_until_ns = until_ns[i];
            w.open_steps++;
            note_open(f);
        }
        for (size_t k = 0; k < i; k++) {
            const int64_t from = from_ns[i] > from_ns[k] ? from_ns[i] : from_ns[k];
            const int64_t until = until_ns[i] < until_ns[k] ? until_ns[i] : until_ns[k];

            if ((from < w.now_ns ? w.now_ns : from) < until) {
                w.broken = "two may send at once";
            }
        }
    }
}

static void step_world(void)
{
    const int64_t passed_ns = (int64_t)rng_below(&w.rng, 40) * NS_PER_MS;

    w.now_ns += passed_ns;
    w.all[0].offset_ns -= w.slow_clock ? passed_ns * 3 / 4 : 0;
    for (size_t k = 0; k < WRITES; k++) {
        if (w.puts[k].used && w.puts[k].land_ns <= w.now_ns) {
            land(&w.puts[k]);
        } else if (w.puts[k].used && w.puts[k].land_ns == NEVER) {
            w.puts[k].used = false;
        }
    }
    for (size_t i = 0; i < PODS; i++) {
        show(&w.all[i]);
        if (!w.calm && chance(1) && chance(40)) {
            trouble(i);
        }
        if (w.schedulers[i].frozen_until_ns <= w.now_ns) {
            turn_scheduler(i);
        }
        if (w.all[i].frozen_until_ns <= w.now_ns) {
            turn_fgpu(i);
        }
    }
    if (!w.calm && w.administered && chance(1)) {
        meddle();
    }
    check_spans();
}

/* Once nothing goes wrong any more, somebody may send soon, and goes on. */
static void run_calm(void)
{
    w.calm = true;
    for (unsigned s = 0; s < 1500; s++) {
        step_world();
    }
    w.open_steps = 0;
    for (unsigned s = 0; s < 100; s++) {
        step_world();
    }
    if (w.broken == NULL && w.open_steps < 100) {
        w.broken = "nobody may send";
    }
}

/* What `how` leaves out stays left out; the first run that breaks ends it. */
static void run_model(uint64_t runs, const struct world *how)
{
    uint64_t elections = 0, losses = 0, in_place = 0;

    for (uint64_t run = 0; run < runs; run++) {
        w = *how;
        w.administered = run % 2 == 1;
        rng_init(&w.rng, run + 1);
        for (size_t i = 0; i < PODS; i++) {
            begin_scheduler(i);
            begin_fgpu(i);
        }
        for (unsigned s = 0; s < STEPS && w.broken == NULL; s++) {
            step_world();
        }
        if (w.broken == NULL && how->calms_down) {
            run_calm();
        }
        elections += w.elections;
        losses += w.losses;
        in_place += w.restarts_in_place;
        if (w.broken != NULL) {
            print_message("run %llu, %lld ms: %s\n", (unsigned long long)run, (long long)(w.now_ns / NS_PER_MS),
                          w.broken);
            return;
        }
    }
    w.elections = elections;
    w.losses = losses;
    w.restarts_in_place = in_place;
}

static void model__as_it_is__never_two_and_always_one(void **state)
{
    run_model(RUNS, &(struct world){.calms_down = true});
    assert_null(w.broken);
    assert_true(w.elections > RUNS * 2); /* else it has shown nothing */
    assert_true(w.losses > RUNS);
    assert_true(w.restarts_in_place > RUNS / 2);
}

/* Each rule that is left out is missed. The last is the assumption itself. */
static void model__without_one_of_the_rules__is_broken(void **state)
{
    const struct world without[] = {
        {.counts_from_answer = true}, {.waits_for_nobody = true}, {.clock_sleeps = true}, {.ignores_numbers = true},
        {.goes_on_after_gap = true},  {.any_prefix = true},       {.slow_clock = true},
    };

    for (size_t i = 0; i < ARRAY_LEN(without); i++) {
        run_model((uint64_t)50 * RUNS, &without[i]); /* to the first that is broken */
        assert_non_null(w.broken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model__as_it_is__never_two_and_always_one),
        cmocka_unit_test(model__without_one_of_the_rules__is_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
