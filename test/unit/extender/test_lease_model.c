/* A model of what several candidates, an API server and an administrator may do to each other through a Lease, and who
 * leads.
 *
 * One object, writes that land when they like or never, answers that are lost or late, processes that are stopped and
 * go on, that are killed or give the Lease back; clocks that show different times and go at one speed, which is the one
 * assumption. They drive the real machine. What is checked, at every step, of all that live, stopped ones included:
 *
 *     the spans of time in which two processes may send Bindings do not meet.
 */
#include "extender/lease_machine.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { CANDIDATES = 3, FLIGHTS = 64, STEPS = 1500, RUNS = 2000, CALL_MS = 1500 };
#define NEVER INT64_MAX

struct candidate {
    struct lease_machine m;
    char identity[40];
    int64_t offset_ns; /* of its clock */
    int64_t frozen_until_ns;
    bool lives, gives_back, busy;
    size_t flight; /* when busy */
};

/* A request. It lands once or never; who sent it may not wait any more. */
struct flight {
    bool used;
    enum lease_step step;
    struct lease_record record;
    char uid[LEASE_UID_BYTES], revision[LEASE_REVISION_BYTES]; /* preconditions */
    size_t of;
    bool awaited, landed;
    int64_t land_ns, reply_ns, give_up_ns;
    enum lease_answer answer;
    struct lease_record object;
};

static struct world {
    struct rng rng;
    int64_t now_ns;
    uint64_t counter;
    bool exists;
    struct lease_record lease;
    struct candidate all[CANDIDATES];
    struct flight flights[FLIGHTS];
    const char *broken;
    uint64_t elections, hand_overs, losses, led_steps;
    bool calm;  /* nothing goes wrong any more */
    bool mixed; /* two configurations; then nobody deletes the Lease, in which the durations of others stand */
    /* Rules that are left out: */
    bool counts_from_answer, waits_for_nobody, clock_sleeps, repeats_words, gives_back_early, slow_clock;
} w;

static bool chance(unsigned percent)
{
    return rng_below(&w.rng, 100) < percent;
}

static int64_t local(const struct candidate *c)
{
    return w.now_ns + c->offset_ns;
}

static void touch(void)
{
    snprintf(w.lease.revision, sizeof(w.lease.revision), "%llu", (unsigned long long)++w.counter);
}

static void begin(size_t i)
{
    struct candidate *c = &w.all[i];
    const int64_t duration_ms = w.mixed && chance(50) ? 8000 : 5000;

    memset(c, 0, sizeof(*c));
    c->lives = true;
    c->offset_ns = (int64_t)rng_below(&w.rng, 1000) * NS_PER_S;
    snprintf(c->identity, sizeof(c->identity), "host-%zu_%llu", i, (unsigned long long)++w.counter);
    lease_machine_init(&c->m, &(struct lease_options){.identity = c->identity,
                                                      .duration_ms = duration_ms,
                                                      .renew_deadline_ms = duration_ms * 3 / 5,
                                                      .retry_ms = 1000});
}

/* ---- the API server ---- */

static void land(struct flight *f)
{
    const bool same = w.exists && strcmp(f->uid, w.lease.uid) == 0 && strcmp(f->revision, w.lease.revision) == 0;
    struct lease_record before = w.lease;

    f->landed = true;
    f->answer = LEASE_ANSWER_OBJECT;
    if (f->step == LEASE_GET) {
        f->answer = w.exists ? LEASE_ANSWER_OBJECT : LEASE_ANSWER_MISSING;
    } else if (f->step == LEASE_CREATE ? w.exists : !same) {
        f->answer = f->step == LEASE_UPDATE && !w.exists ? LEASE_ANSWER_LOST : LEASE_ANSWER_CONFLICT;
    } else {
        w.lease = f->record;
        if (f->step == LEASE_CREATE) {
            snprintf(w.lease.uid, sizeof(w.lease.uid), "u%llu", (unsigned long long)++w.counter);
        } else {
            memcpy(w.lease.uid, before.uid, sizeof(before.uid));
        }
        memcpy(w.lease.revision, before.revision, sizeof(before.revision));
        if (f->step == LEASE_CREATE || memcmp(&before, &w.lease, sizeof(before)) != 0) {
            touch(); /* what changes nothing makes no revision */
        }
        w.exists = true;
    }
    f->object = w.lease;
}

static void send_request(size_t i, enum lease_step step)
{
    struct candidate *c = &w.all[i];
    struct flight *f;
    size_t k = 0;
    const bool lost = !w.calm && chance(8), late = !w.calm && chance(8);

    while (w.flights[k].used) {
        k++;
        assert_true(k < FLIGHTS);
    }
    c->flight = k;
    f = &w.flights[k];
    *f = (struct flight){.used = true, .step = step, .record = c->m.next, .of = i, .awaited = true};
    memcpy(f->uid, c->m.seen.uid, sizeof(f->uid));
    memcpy(f->revision, c->m.seen.revision, sizeof(f->revision));
    f->land_ns = w.now_ns + (int64_t)rng_below(&w.rng, late ? 9000 : 60) * NS_PER_MS;
    f->land_ns = lost && chance(50) ? NEVER : f->land_ns;
    f->reply_ns =
        lost || f->land_ns == NEVER ? NEVER : f->land_ns + (int64_t)rng_below(&w.rng, late ? 2000 : 60) * NS_PER_MS;
    f->give_up_ns = w.now_ns + CALL_MS * NS_PER_MS;
    c->busy = true;
}

/* ---- the candidates ---- */

static void answer(struct candidate *c, struct flight *f, bool in_time)
{
    const struct lease_machine before = c->m;

    c->busy = false;
    f->awaited = false;
    lease_machine_answered(&c->m, in_time ? f->answer : LEASE_ANSWER_LOST, &f->object, local(c),
                           (uint32_t)rng_below(&w.rng, 1001));
    if (w.counts_from_answer && c->m.leads_until_ns != before.leads_until_ns) {
        c->m.leads_until_ns = local(c) + c->m.o.renew_deadline_ms * NS_PER_MS;
    }
    if (c->m.phase == LEASE_LEADS && before.phase == LEASE_FOLLOWS) {
        w.elections++;
        if (w.waits_for_nobody) {
            c->m.others_until_ns = 0;
        }
    }
}

static void turn(size_t i)
{
    struct candidate *c = &w.all[i];
    enum lease_step step;

    if (c->busy) {
        struct flight *f = &w.flights[c->flight];

        if (f->landed && f->reply_ns <= w.now_ns) {
            answer(c, f, true);
        } else if (f->give_up_ns <= w.now_ns) {
            answer(c, f, false);
        }
        return;
    }
    if (w.repeats_words) {
        c->m.last_renewed_us = 0;
    }
    step = lease_machine_next(&c->m, local(c), w.repeats_words ? 1 : w.now_ns / 1000 + 1);
    if (step == LEASE_LOST || step == LEASE_RELEASED) {
        w.losses += step == LEASE_LOST;
        w.hand_overs += step == LEASE_RELEASED && c->gives_back;
        begin(i); /* the same pod starts again */
    } else if (step != LEASE_WAIT) {
        send_request(i, step);
    }
}

static void trouble(struct candidate *c)
{
    if (!c->busy && !c->gives_back && c->m.phase == LEASE_LEADS && chance(8)) {
        if (w.gives_back_early) {
            c->m.others_until_ns = 0;
        }
        c->gives_back = lease_machine_give_back(&c->m, local(c));
    } else if (chance(3)) { /* SIGSTOP, or the machine sleeps */
        const int64_t ns = (int64_t)rng_below(&w.rng, 12000) * NS_PER_MS;

        c->frozen_until_ns = w.now_ns + ns;
        c->offset_ns -= w.clock_sleeps ? ns : 0;
    }
}

static void meddle(void)
{
    const unsigned what = (unsigned)rng_below(&w.rng, 5);

    if (what == 0) {
        w.exists = w.exists && w.mixed;
    } else if (w.exists && what == 1) {
        w.lease.holder[0] = '\0';
    } else if (w.exists && what == 2) {
        snprintf(w.lease.holder, sizeof(w.lease.holder), "admin");
    } else if (w.exists && what == 3) { /* hands it to somebody */
        memcpy(w.lease.holder, w.all[rng_below(&w.rng, CANDIDATES)].identity, sizeof(w.all[0].identity));
    }
    touch(); /* or: a label */
}

static void check_spans(void)
{
    for (size_t i = 0; i < CANDIDATES; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct candidate *a = &w.all[i], *b = &w.all[k];
            int64_t from, until;

            if (a->m.phase != LEASE_LEADS || b->m.phase != LEASE_LEADS) {
                continue;
            }
            from = a->m.others_until_ns - a->offset_ns;
            from = b->m.others_until_ns - b->offset_ns > from ? b->m.others_until_ns - b->offset_ns : from;
            until = a->m.leads_until_ns - a->offset_ns;
            until = b->m.leads_until_ns - b->offset_ns < until ? b->m.leads_until_ns - b->offset_ns : until;
            if ((from < w.now_ns ? w.now_ns : from) < until) {
                w.broken = "two lead at once";
            }
        }
        w.led_steps += lease_machine_leads(&w.all[i].m, local(&w.all[i]));
    }
}

static void step_world(void)
{
    const int64_t passed_ns = (int64_t)rng_below(&w.rng, 40) * NS_PER_MS;

    w.now_ns += passed_ns;
    w.all[0].offset_ns -= w.slow_clock ? passed_ns * 3 / 4 : 0;
    for (size_t k = 0; k < FLIGHTS; k++) {
        struct flight *f = &w.flights[k];

        if (f->used && !f->landed && f->land_ns <= w.now_ns) {
            land(f);
        }
        if (f->used && !f->awaited && (f->landed || f->land_ns == NEVER)) {
            f->used = false;
        }
    }
    for (size_t i = 0; i < CANDIDATES; i++) {
        struct candidate *c = &w.all[i];

        if (!w.calm && chance(1) && chance(30)) { /* kill -9 */
            if (c->busy) {
                w.flights[c->flight].awaited = false;
            }
            begin(i);
        }
        if (!w.calm && c->frozen_until_ns <= w.now_ns && chance(20)) {
            trouble(c);
        }
        if (c->frozen_until_ns <= w.now_ns) {
            turn(i);
        }
    }
    if (!w.calm && chance(1)) {
        meddle();
    }
    check_spans();
}

/* What `how` leaves out stays left out; the first run that breaks ends it. */
static void run_model(uint64_t runs, const struct world *how)
{
    uint64_t elections = 0, hand_overs = 0, losses = 0;

    for (uint64_t run = 0; run < runs; run++) {
        w = *how;
        w.mixed = run % 2 == 1;
        rng_init(&w.rng, run + 1);
        for (size_t i = 0; i < CANDIDATES; i++) {
            begin(i);
        }
        for (unsigned s = 0; s < STEPS && w.broken == NULL; s++) {
            step_world();
        }
        elections += w.elections;
        hand_overs += w.hand_overs;
        losses += w.losses;
        if (w.broken != NULL) {
            print_message("run %llu: %s\n", (unsigned long long)run, w.broken);
            return;
        }
        w.calm = true; /* once faults stop, somebody leads soon, and goes on */
        for (unsigned s = 0; s < 2000; s++) {
            step_world();
        }
        w.led_steps = 0;
        for (unsigned s = 0; s < 100; s++) {
            step_world();
        }
        if (w.broken == NULL && w.led_steps < 100) {
            w.broken = "nobody leads";
        }
        if (w.broken != NULL) {
            print_message("run %llu: %s\n", (unsigned long long)run, w.broken);
            return;
        }
    }
    w.elections = elections;
    w.hand_overs = hand_overs;
    w.losses = losses;
}

static void model__as_it_is__never_two_and_always_one(void **state)
{
    run_model(RUNS, &(struct world){.counter = 0});
    assert_null(w.broken);
    assert_true(w.elections > RUNS * 2); /* else it has shown nothing */
    assert_true(w.hand_overs > RUNS / 10);
    assert_true(w.losses > RUNS / 2);
}

/* Each rule that is left out is missed: two lead at once, or (the words of a renewal are those of the one before)
 * nobody does. The last is the assumption itself. */
static void model__without_one_of_the_rules__is_broken(void **state)
{
    const struct world without[] = {
        {.counts_from_answer = true}, {.waits_for_nobody = true}, {.clock_sleeps = true},
        {.repeats_words = true},      {.gives_back_early = true}, {.slow_clock = true},
    };

    for (size_t i = 0; i < ARRAY_LEN(without); i++) {
        run_model((uint64_t)25 * RUNS, &without[i]); /* to the first that is broken */
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
