#include "extender/warn_limit.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

static struct clock_manual the_clock;
static uint64_t withheld;

static bool take(struct warn_limit *w, const char *object, const char *cause)
{
    return warn_limit_take(w, str_of(object), cause, &withheld);
}

static void warn_limit__same_object_and_cause__once_then_every_ten_minutes(void **state)
{
    clock_manual_init(&the_clock, 5, 0);
    struct warn_limit *w = warn_limit_new(&the_clock.clock);
    assert_true(take(w, "uid-1", "large"));
    assert_true(take(w, "uid-1", "odd")); /* another cause */
    assert_true(take(w, "uid-2", "large"));
    for (int i = 0; i < 599; i++) {
        assert_false(take(w, "uid-1", "large"));
        clock_manual_advance_ms(&the_clock, 1000);
    }
    assert_int_equal(withheld, 0); /* what everybody has been told already is not withheld */
    clock_manual_advance_ms(&the_clock, 1000);
    assert_true(take(w, "uid-1", "large"));
    assert_false(take(w, "uid-1", "large"));
    warn_limit_free(w);
}

/* Somebody makes up objects by the thousand. */
static void warn_limit__flood_of_objects__is_bounded_and_counted(void **state)
{
    uint64_t told = 0, not_told = 0;
    clock_manual_init(&the_clock, 5, 0);
    struct warn_limit *w = warn_limit_new(&the_clock.clock);
    for (int i = 0; i < 60000; i++) { /* a minute */
        char object[32];
        (void)snprintf(object, sizeof(object), "uid-%d", i);
        if (take(w, object, "large")) {
            told++;
            not_told += withheld;
        }
        clock_manual_advance_ms(&the_clock, 1);
    }
    assert_in_range(told, WARN_BURST + WARN_PER_MINUTE - 2, WARN_BURST + WARN_PER_MINUTE);
    assert_true(not_told > 50000);
    clock_manual_advance_ms(&the_clock, 3600 * 1000);
    told = 0;
    for (int i = 0; i < 1000; i++) {
        char object[32];
        (void)snprintf(object, sizeof(object), "later-%d", i);
        told += take(w, object, "large");
    }
    assert_int_equal(told, WARN_BURST);
    warn_limit_free(w);
}

/* One more after the time of one, and what was withheld is told then; who was not told may be. */
static void warn_limit__all_is_spent__one_more_when_it_is_paid_for(void **state)
{
    clock_manual_init(&the_clock, 5, 0);
    struct warn_limit *w = warn_limit_new(&the_clock.clock);
    for (int i = 0; i < WARN_BURST; i++) {
        char object[32];
        (void)snprintf(object, sizeof(object), "uid-%d", i);
        assert_true(take(w, object, "large"));
        assert_int_equal(withheld, 0);
    }
    assert_false(take(w, "late", "large"));
    clock_manual_advance_ms(&the_clock, 60000 / WARN_PER_MINUTE - 1);
    assert_false(take(w, "late", "large"));
    clock_manual_advance_ms(&the_clock, 1);
    assert_true(take(w, "late", "large"));
    assert_int_equal(withheld, 2);
    assert_false(take(w, "later", "large"));
    clock_manual_advance_ms(&the_clock, 2 * 60000 / WARN_PER_MINUTE);
    assert_true(take(w, "later", "large"));
    assert_int_equal(withheld, 1);
    assert_true(take(w, "latest", "large"));
    assert_int_equal(withheld, 0);
    warn_limit_free(w);
}

static void warn_limit__none__lets_everything_through(void **state)
{
    assert_true(take(NULL, "a", "b") && take(NULL, "a", "b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warn_limit__same_object_and_cause__once_then_every_ten_minutes),
        cmocka_unit_test(warn_limit__flood_of_objects__is_bounded_and_counted),
        cmocka_unit_test(warn_limit__all_is_spent__one_more_when_it_is_paid_for),
        cmocka_unit_test(warn_limit__none__lets_everything_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
