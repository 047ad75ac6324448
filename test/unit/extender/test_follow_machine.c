/* Single steps of extender/follow_machine.h, as the model found them or did not get to. */
#include "extender/follow_machine.h"

#include "base/clock.h"
#include "support/cmocka.h"

#include <stdio.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(F141_lease_was_free__another_one_came_and_an_administrator_named_us__opens_an_age_after_that),
        cmocka_unit_test(F143_lease_is_shorter_than_the_time_since_the_last_look__hold_off_counts_from_the_opening),
        cmocka_unit_test(F143_another_one_may_have_renewed_late_and_given_back__hold_off_counts_from_the_opening),
        cmocka_unit_test(lease_ran_out_between_two_looks__hold_off_counts_from_its_last_renewal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
