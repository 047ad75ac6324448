#include "base/clock.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "base/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void clock_rfc3339__table__as_stated(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {86399999, "1970-01-01T23:59:59.999Z"},
        {68169600000, "1972-02-29T00:00:00.000Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {951868800000, "2000-03-01T00:00:00.000Z"},
        {978307199999, "2000-12-31T23:59:59.999Z"},
        {1795161600123, "2026-11-20T08:00:00.123Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {4107456000000, "2100-02-28T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {253402300800000, "9999-12-31T23:59:59.999Z"}, /* held at the last one */
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
        {-1, "1970-01-01T00:00:00.000Z"},
        {INT64_MIN, "1970-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char buf[CLOCK_RFC3339_MAX];
        assert_ptr_equal(clock_rfc3339(rows[i].ms, buf), buf);
        assert_string_equal(buf, rows[i].text);
    }
}

static void expect_as_gmtime(int64_t ms)
{
    char got[CLOCK_RFC3339_MAX], want[64];
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    assert_non_null(gmtime_r(&t, &tm));
    snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
             tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms % 1000));
    assert_string_equal(clock_rfc3339(ms, got), want);
}

static void clock_rfc3339__every_day_and_random_times__as_gmtime(void **state)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (int64_t day = 0; day < 2932897; day += day < 60000 ? 1 : 13) {
        expect_as_gmtime(day * 86400000);
    }
    for (int i = 0; i < 20000; i++) {
        expect_as_gmtime((int64_t)rng_below(&rng, 253402300800000));
    }
}

static void clock_shifted__set__wall_time_goes_on_from_there_and_intervals_are_real(void **state)
{
    struct clock_shifted s;
    clock_shifted_init(&s);
    int64_t before_ns = clock_mono_ns(clock_system());
    assert_true(clock_wall_ms(&s.clock) >= clock_wall_ms(clock_system()) - 1000);
    clock_shifted_set(&s, 5000);
    int64_t wall_ms = clock_wall_ms(&s.clock);
    assert_true(wall_ms >= 5000 && wall_ms < clock_wall_ms(clock_system()));
    int64_t now_ns = clock_mono_ns(&s.clock);
    assert_true(now_ns >= before_ns && now_ns <= clock_mono_ns(clock_system()));
}

static void clock_manual__advanced__both_clocks_move(void **state)
{
    struct clock_manual m;
    clock_manual_init(&m, 5, 1000);
    assert_int_equal(clock_mono_ns(&m.clock), 5);
    assert_int_equal(clock_wall_ms(&m.clock), 1000);
    clock_manual_advance_ms(&m, 7);
    assert_int_equal(clock_mono_ns(&m.clock), 7000005);
    assert_int_equal(clock_wall_ms(&m.clock), 1007);
}

static void clock_rfc3339_parse__table__as_stated(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-20T08:00:00Z", 1795161600000},
        {"2026-11-20T08:00:00.123Z", 1795161600123},
        {"2026-11-20T08:00:00.1Z", 1795161600100},
        {"2026-11-20T08:00:00.123456789z", 1795161600123},
        {"2026-11-20T09:30:00+01:30", 1795161600000},
        {"2026-11-20t07:00:00-01:00", 1795161600000},
        {"2000-02-29T00:00:00Z", 951782400000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    static const char *const bad[] = {
        "",
        "2026-11-20",
        "2026-11-20T08:00:00",
        "2026-11-20 08:00:00Z",
        "2026-13-20T08:00:00Z",
        "2026-11-31T08:00:00Z",
        "2025-02-29T08:00:00Z",
        "2100-02-29T08:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T08:60:00Z",
        "2026-11-20T08:00:00.Z",
        "2026-11-20T08:00:00Zx",
        "2026-11-20T08:00:00+1:00",
        "0001-01-01T00:00:00Z",
        "12026-11-20T08:00:00Z",
        "2026-11-20T08:00:00Z ",
    };
    int64_t got = -1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(clock_rfc3339_parse(str_of(rows[i].text), &got));
        assert_int_equal(got, rows[i].ms);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        got = 7;
        if (clock_rfc3339_parse(str_of(bad[i]), &got) || got != 7) {
            fail_msg("accepted: %s", bad[i]);
        }
    }
}

static void clock_rfc3339_parse__every_day__the_time_that_was_written(void **state)
{
    for (int64_t ms = 0; ms < 13700000000000; ms += 86400000 - 1) { /* more than 400 years */
        char text[CLOCK_RFC3339_MAX];
        int64_t got = -1;
        clock_rfc3339(ms, text);
        if (!clock_rfc3339_parse(str_of(text), &got) || got != ms) {
            fail_msg("%s", text);
        }
    }
}

static void clock_system__read_twice__does_not_go_back(void **state)
{
    const struct clock *c = clock_system();
    int64_t before = clock_mono_ns(c);
    assert_true(clock_mono_ns(c) >= before);
    assert_true(clock_wall_ms(c) > 1700000000000); /* any machine that builds this */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_rfc3339__table__as_stated),
        cmocka_unit_test(clock_rfc3339__every_day_and_random_times__as_gmtime),
        cmocka_unit_test(clock_rfc3339_parse__table__as_stated),
        cmocka_unit_test(clock_rfc3339_parse__every_day__the_time_that_was_written),
        cmocka_unit_test(clock_manual__advanced__both_clocks_move),
        cmocka_unit_test(clock_shifted__set__wall_time_goes_on_from_there_and_intervals_are_real),
        cmocka_unit_test(clock_system__read_twice__does_not_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
