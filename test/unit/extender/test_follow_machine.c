/* Single steps of extender/follow_machine.h, as the model found them or did not get to. */
#include "extender/follow_machine.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static void begin(struct follow_machine *m, int64_t duration_ms)
{
    follow_machine_init(m, &(struct follow_options){.host = "fgpu-b",
                                                    .duration_ms = duration_ms,
                                                    .renew_deadline_ms = duration_ms * 7 / 10,
                                                    .retry_ms = duration_ms / 5});
}

/* A GET that is sent at `ms`, and answered 10 ms later: of this holder, number and renewal. */
static void look(struct follow_machine *m, int64_t ms, const char *holder, int transition_n, int renewal)
{
    struct lease_record r = {
        .uid = "u", .duration_s = (int32_t)(m->o.duration_ms / 1000), .transition_n = transition_n};

    snprintf(r.holder, sizeof(r.holder), "%s", holder);
    snprintf(r.renewed, sizeof(r.renewed), "%d", renewal);
    m->wake_ns = INT64_MIN;
    assert_int_equal(follow_machine_next(m, ms * NS_PER_MS), LEASE_GET);
    follow_machine_answered(m, LEASE_ANSWER_OBJECT, &r, (ms + 10) * NS_PER_MS);
}

/* Nobody has it; fgpu-a is elected, by the next number; an administrator names fgpu-b instead and leaves the number. Of
 * that fgpu-b has seen the first and the last. What it saw free is no proof then. */
static void F141_lease_was_free__another_one_came_and_an_administrator_named_us__opens_an_age_after_that(void **state)
{
    struct follow_machine m;
    int64_t from_ns, until_ns;

    begin(&m, 5000);
    look(&m, 0, "", 1, 1);
    look(&m, 1900, "fgpu-b_1", 2, 2);
    look(&m, 2200, "fgpu-b_1", 2, 3);
    follow_machine_span(&m, &from_ns, &until_ns);
    assert_int_equal(from_ns, (1910 + FOLLOW_AGE_MS) * NS_PER_MS);
    assert_true(from_ns < until_ns);
}

/* fgpu-a may have renewed after the look at 1100, and that, too, has run out when fgpu-b is named. */
static void F143_lease_is_shorter_than_the_time_since_the_last_look__hold_off_counts_from_the_opening(void **state)
{
    struct follow_machine m;

    begin(&m, 1000);
    look(&m, 0, "fgpu-a_1", 0, 1);
    look(&m, 300, "fgpu-a_1", 0, 2);
    look(&m, 1100, "fgpu-a_1", 0, 2);
    look(&m, 2940, "fgpu-b_1", 1, 3);
    assert_int_equal(m.silent_since_ns, (2950 + FOLLOW_AGE_MS) * NS_PER_MS);
}

/* fgpu-a renews late, after the look at 3000, its fgpu looks, it gives the Lease back, and fgpu-b takes it. */
static void F143_another_one_may_have_renewed_late_and_given_back__hold_off_counts_from_the_opening(void **state)
{
    struct follow_machine m;

    begin(&m, 5000);
    look(&m, 0, "fgpu-a_1", 0, 1);
    look(&m, 1500, "fgpu-a_1", 0, 1);
    look(&m, 3000, "fgpu-a_1", 0, 1);
    look(&m, 4200, "fgpu-b_1", 1, 3);
    assert_int_equal(m.silent_since_ns, (4210 + FOLLOW_AGE_MS) * NS_PER_MS);
}

static void lease_ran_out_between_two_looks__hold_off_counts_from_its_last_renewal(void **state)
{
    struct follow_machine m;

    begin(&m, 5000);
    look(&m, 0, "fgpu-a_1", 0, 1);
    for (int64_t ms = 300; ms < 5000; ms += 300) {
        look(&m, ms, "fgpu-a_1", 0, 2);
    }
    look(&m, 5400, "fgpu-b_1", 1, 3);
    assert_int_equal(m.silent_since_ns, (310 + 3500) * NS_PER_MS);
}

/* ---- who is named ---- */

static void named__by_our_host_and_a_uuid_alone(void **state)
{
    static const struct {
        const char *holder;
        bool us;
    } rows[] = {{"fgpu-b_1", true},   {"fgpu-b", false}, {"fgpu-b_", false}, {"fgpu-b_1_2", false},
                {"fgpu-bb_1", false}, {"", false},       {"fgpu_1", false},  {"fgpu-b__", false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct follow_machine m;

        begin(&m, 5000);
        look(&m, 0, rows[i].holder, 1, 1);
        if ((m.phase == FOLLOW_NAMED) != rows[i].us) {
            fail_msg("\"%s\"", rows[i].holder);
        }
    }
}

static void expect_span(const struct follow_machine *m, int64_t from_ms, int64_t until_ms)
{
    int64_t from_ns, until_ns;

    follow_machine_span(m, &from_ns, &until_ns);
    assert_int_equal(from_ns, from_ms * NS_PER_MS);
    assert_int_equal(until_ns, until_ms * NS_PER_MS);
}

static void expect_closed(const struct follow_machine *m)
{
    int64_t from_ns, until_ns;

    follow_machine_span(m, &from_ns, &until_ns);
    assert_true(from_ns == INT64_MAX && until_ns == INT64_MIN);
}

/* An age after the first look that named us; until the last that did is too old, or its scheduler may be dead. */
static void gate__of_one_who_is_named__opens_and_closes_by_the_looks(void **state)
{
    struct follow_machine m;

    begin(&m, 5000);
    expect_closed(&m);
    look(&m, 0, "fgpu-b_1", 1, 1);
    expect_closed(&m); /* nobody knows whether that scheduler lives */
    look(&m, 300, "fgpu-b_1", 1, 1);
    expect_closed(&m);
    look(&m, 600, "fgpu-b_1", 1, 2); /* it lived after 300 */
    expect_span(&m, 2010, 600 + FOLLOW_AGE_MS);
    assert_int_equal(m.wake_ns, 860 * NS_PER_MS); /* a quarter of 1000 */
    look(&m, 1500, "fgpu-b_1", 1, 2);
    expect_span(&m, 2010, 1500 + FOLLOW_AGE_MS);
    assert_false(m.has_led);
    look(&m, 2000, "fgpu-b_1", 1, 2);
    expect_span(&m, 2010, 300 + 3500);
    assert_true(m.has_led);
    assert_int_equal(m.wake_ns, 2510 * NS_PER_MS); /* half: who follows looks twice as often */
    look(&m, 3000, "fgpu-b_1", 1, 2);
    expect_span(&m, 2010, 300 + 3500);
    look(&m, 3400, "fgpu-b_1", 1, 3); /* after 3000 */
    expect_span(&m, 2010, 3400 + FOLLOW_AGE_MS);
}

/* Whoever was named since, and looked, may open his gate meanwhile. */
static void gate__looks_are_an_age_apart__opens_an_age_later(void **state)
{
    struct follow_machine m;

    for (int64_t late_ms = 0; late_ms <= 1; late_ms++) {
        begin(&m, 5000);
        look(&m, 0, "fgpu-b_1", 1, 1);
        look(&m, 300, "fgpu-b_1", 1, 2);
        look(&m, 300 + FOLLOW_AGE_MS - 11 + late_ms, "fgpu-b_1", 1, 3); /* answered 10 ms later */
        if (late_ms == 0) {
            expect_span(&m, 2010, 300 + 3500);
            assert_int_equal(m.silent_since_ns, 2010 * NS_PER_MS);
        } else {
            expect_span(&m, 2300 + FOLLOW_AGE_MS, 300 + 3500); /* which is none */
            assert_int_equal(m.silent_since_ns, 4300 * NS_PER_MS);
        }
    }
}

static void pause__a_quarter_of_retry__within_bounds(void **state)
{
    static const struct {
        int64_t retry_ms, ms;
    } rows[] = {{1000, 250}, {1999, 499}, {2000, 500}, {2004, 500}, {9000, 500}, {8, 2}, {4, 1}, {3, 1}, {1, 1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct follow_machine m;

        begin(&m, 5000);
        m.o.retry_ms = rows[i].retry_ms;
        look(&m, 0, "fgpu-a_1", 1, 1);
        assert_int_equal(m.wake_ns, (10 + rows[i].ms) * NS_PER_MS);
        assert_int_equal(follow_machine_next(&m, m.wake_ns - 1), LEASE_WAIT);
        assert_int_equal(follow_machine_next(&m, m.wake_ns), LEASE_GET);
        follow_machine_answered(&m, LEASE_ANSWER_LOST, NULL, 1000 * NS_PER_MS);
        assert_int_equal(m.wake_ns, (1000 + rows[i].ms) * NS_PER_MS);
        assert_true(m.phase == FOLLOW_OTHERS && m.looked && m.exists);
    }
}

/* ---- whose tenure it is ---- */

/* Named since 0, by number 1; the gate is open since 2010. */
static void lead(struct follow_machine *m)
{
    begin(m, 5000);
    look(m, 0, "fgpu-b_1", 1, 1);
    look(m, 300, "fgpu-b_1", 1, 2);
    look(m, 1000, "fgpu-b_1", 1, 3);
    look(m, 2100, "fgpu-b_1", 1, 4);
    assert_true(m->has_led);
}

static void leads__what_becomes_of_the_lease__goes_on_or_is_lost(void **state)
{
    static const char taken[] = "the scheduler of another replica has the Lease",
                      changed[] = "somebody else has changed it";
    static const struct {
        const char *holder;
        int transition_n;
        const char *why; /* NULL: it goes on */
    } rows[] = {
        {"fgpu-b_1", 1, NULL},
        {"fgpu-b_2", 2, NULL},    /* restarted in place */
        {"fgpu-b_2", 1, changed}, /* by hand */
        {"fgpu-b_2", 3, changed}, /* somebody was in between */
        {"fgpu-b_1", 2, NULL},
        {"fgpu-b_1", 3, changed},
        {"fgpu-a_1", 2, taken},
        {"fgpu-a_1", 1, taken},
        {"", 1, NULL}, /* it ended in order */
        {"", 2, changed},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct follow_machine m;

        lead(&m);
        look(&m, 2300, rows[i].holder, rows[i].transition_n, 5);
        if (rows[i].why == NULL) {
            assert_int_equal(m.phase, FOLLOW_NAMED);
        } else {
            assert_int_equal(follow_machine_next(&m, 9000 * NS_PER_MS), LEASE_LOST);
            assert_string_equal(m.why, rows[i].why);
            expect_closed(&m);
        }
    }
}

static void leads__lease_is_made_anew_or_gone__lost(void **state)
{
    struct lease_record r = {.uid = "other", .holder = "fgpu-b_1", .duration_s = 5, .transition_n = 1};
    struct follow_machine m;

    lead(&m);
    m.wake_ns = INT64_MIN;
    assert_int_equal(follow_machine_next(&m, 2300 * NS_PER_MS), LEASE_GET);
    follow_machine_answered(&m, LEASE_ANSWER_OBJECT, &r, 2310 * NS_PER_MS);
    assert_int_equal(follow_machine_next(&m, 2310 * NS_PER_MS), LEASE_LOST);
    assert_string_equal(m.why, "somebody else has changed it");
    lead(&m);
    m.wake_ns = INT64_MIN;
    assert_int_equal(follow_machine_next(&m, 2300 * NS_PER_MS), LEASE_GET);
    follow_machine_answered(&m, LEASE_ANSWER_MISSING, NULL, 2310 * NS_PER_MS);
    assert_int_equal(follow_machine_next(&m, 2310 * NS_PER_MS), LEASE_LOST);
    assert_string_equal(m.why, "it was deleted");
}

/* It ended in order, and it is open who comes next: closed until our own does. */
static void leads__nobody_has_it__closed_until_the_next_is_ours(void **state)
{
    struct follow_machine m;

    lead(&m);
    look(&m, 2300, "", 1, 5);
    expect_closed(&m);
    look(&m, 2500, "fgpu-b_2", 2, 6);
    expect_span(&m, 2010, 2500 + FOLLOW_AGE_MS);
    assert_int_equal(m.alive_ns, 2300 * NS_PER_MS);
}

/* Nothing has begun, so nothing ends; and whoever is named again waits again. */
static void named__gate_was_never_open__begins_again(void **state)
{
    struct follow_machine m;

    for (int i = 0; i < 3; i++) {
        begin(&m, 5000);
        look(&m, 0, "fgpu-b_1", 1, 1);
        look(&m, 300, "fgpu-b_1", 1, 2);
        if (i == 0) {
            look(&m, 600, "fgpu-a_1", 2, 3);
            assert_int_equal(m.held_until_ns, (610 + 3500) * NS_PER_MS);
        } else if (i == 1) {
            look(&m, 600, "", 2, 3);
            assert_true(m.is_free && m.held_until_ns == INT64_MAX);
        } else {
            m.wake_ns = INT64_MIN;
            assert_int_equal(follow_machine_next(&m, 600 * NS_PER_MS), LEASE_GET);
            follow_machine_answered(&m, LEASE_ANSWER_MISSING, NULL, 610 * NS_PER_MS);
            assert_true(m.looked && !m.exists);
        }
        assert_int_equal(m.phase, FOLLOW_OTHERS);
        expect_closed(&m);
        look(&m, 900, "fgpu-b_1", 3, 4);
        assert_int_equal(m.phase, FOLLOW_NAMED);
        expect_closed(&m);
        look(&m, 1200, "fgpu-b_1", 3, 5);
        expect_span(&m, 910 + FOLLOW_AGE_MS, 1200 + FOLLOW_AGE_MS);
    }
}

/* ---- until when others may have sent ---- */

/* A record of another with this leaseDurationSeconds, twice the same. */
static void others__lead_for_their_time_at_most(void **state)
{
    static const struct {
        int64_t duration_s, ms;
    } rows[] = {{5, 3500}, {2, 3500}, {3, 3500}, {4, 4000}, {9, 9000}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct lease_record r = {.uid = "u", .holder = "fgpu-a_1", .duration_s = rows[i].duration_s};
        struct follow_machine m;

        begin(&m, 5000);
        for (int64_t ms = 0; ms <= 600; ms += 300) {
            assert_int_equal(follow_machine_next(&m, ms * NS_PER_MS), LEASE_GET);
            follow_machine_answered(&m, LEASE_ANSWER_OBJECT, &r, (ms + 10) * NS_PER_MS);
            assert_int_equal(m.held_until_ns, (10 + rows[i].ms) * NS_PER_MS);
        }
    }
}

/* The hold-off counts from the last renewal of the one before, where that is certain; else from the opening. */
static void silence__of_the_one_before__each_doubt_by_itself(void **state)
{
    static const struct {
        int64_t last_ms, named_ms; /* the last look at it, and the one that names us, by: */
        int transition_n;
        bool certain;
    } rows[] = {
        {3810, 5000, 1, true},         /* it had given up when we looked */
        {3809, 5000, 1, false},        /* not yet */
        {3900, 3900 + 1989, 1, true},  /* we would have been named within an age since, */
        {3900, 3900 + 1990, 1, false}, /* or not */
        {3900, 5000, 2, false},        /* somebody was in between */
        {3900, 5000, 0, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct follow_machine m;

        begin(&m, 5000);
        look(&m, 0, "fgpu-a_1", 0, 1);
        look(&m, 300, "fgpu-a_1", 0, 2);
        look(&m, 2000, "fgpu-a_1", 0, 2);
        look(&m, rows[i].last_ms, "fgpu-a_1", 0, 2);
        look(&m, rows[i].named_ms, "fgpu-b_1", rows[i].transition_n, 3);
        assert_int_equal(m.phase, FOLLOW_NAMED);
        assert_int_equal(m.others_until_ns, (rows[i].named_ms + 10 + FOLLOW_AGE_MS) * NS_PER_MS);
        if (m.silent_since_ns != (rows[i].certain ? (310 + 3500) * NS_PER_MS : m.others_until_ns)) {
            fail_msg("row %zu: silent since %lld", i, (long long)m.silent_since_ns);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(F141_lease_was_free__another_one_came_and_an_administrator_named_us__opens_an_age_after_that),
        cmocka_unit_test(F143_lease_is_shorter_than_the_time_since_the_last_look__hold_off_counts_from_the_opening),
        cmocka_unit_test(F143_another_one_may_have_renewed_late_and_given_back__hold_off_counts_from_the_opening),
        cmocka_unit_test(lease_ran_out_between_two_looks__hold_off_counts_from_its_last_renewal),
        cmocka_unit_test(named__by_our_host_and_a_uuid_alone),
        cmocka_unit_test(gate__of_one_who_is_named__opens_and_closes_by_the_looks),
        cmocka_unit_test(gate__looks_are_an_age_apart__opens_an_age_later),
        cmocka_unit_test(pause__a_quarter_of_retry__within_bounds),
        cmocka_unit_test(leads__what_becomes_of_the_lease__goes_on_or_is_lost),
        cmocka_unit_test(leads__lease_is_made_anew_or_gone__lost),
        cmocka_unit_test(leads__nobody_has_it__closed_until_the_next_is_ours),
        cmocka_unit_test(named__gate_was_never_open__begins_again),
        cmocka_unit_test(others__lead_for_their_time_at_most),
        cmocka_unit_test(silence__of_the_one_before__each_doubt_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
