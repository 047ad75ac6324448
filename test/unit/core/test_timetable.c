/* When windows are open, by the clock on the wall: both jumps of the year, several zones, every
 * minute. */
#include "core/time/timetable.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "support/cmocka.h"

#include <string.h>

/* Berlin 2026: forward on March 29 at 02:00, back on October 25 at 03:00; both 01:00 UTC. */
static const struct zone_transition berlin_transitions[] = {{1774746000, 7200}, {1792890000, 3600}};
static const struct time_zone berlin = {STR("Europe/Berlin"), 3600, berlin_transitions, 2};
/* New York 2026: forward on March 8 at 02:00 (07:00 UTC), back on November 1 at 02:00 (06:00 UTC).
 */
static const struct zone_transition new_york_transitions[] = {{1772953200, -14400}, {1793512800, -18000}};
static const struct time_zone new_york = {STR("America/New_York"), -18000, new_york_transitions, 2};
/* Lord Howe moves by half an hour: back on April 5 2026 (April 4 15:00 UTC), forward on October 4
 * (October 3 15:30 UTC). */
static const struct zone_transition lord_howe_transitions[] = {{1775314800, 37800}, {1791041400, 39600}};
static const struct time_zone lord_howe = {STR("Australia/Lord_Howe"), 39600, lord_howe_transitions, 2};
/* Apia left out 2011-12-30: from -10 to +14 at 10:00 UTC that day. */
static const struct zone_transition apia_transitions[] = {{1325239200, 50400}};
static const struct time_zone apia = {STR("Pacific/Apia"), -36000, apia_transitions, 1};
static const struct time_zone utc = {.name = STR("UTC")};

enum { MON = 1 << 0, TUE = 1 << 1, WED = 1 << 2, THU = 1 << 3, FRI = 1 << 4, SAT = 1 << 5, SUN = 1 << 6 };

static int64_t at(const char *rfc3339)
{
    int64_t ms;

    assert_true(clock_rfc3339_parse(str_of(rfc3339), &ms));
    return ms / 1000;
}

static void expect_time(int64_t got_s, const char *want)
{
    char text[CLOCK_RFC3339_MAX];

    if (got_s != at(want)) {
        fail_msg("got %s, want %s", clock_rfc3339(got_s * 1000, text), want);
    }
}

/* The changes from `from` on, one after the other: opens and closes of window 0. */
static void expect_changes(const struct time_window *w, const char *from, const char *const *want, size_t n)
{
    const struct timetable tt = {w, 1};
    int64_t t = at(from);
    uint32_t open = timetable_open(&tt, t);
    struct timetable_change c;

    for (size_t i = 0; i < n; i++) {
        assert_true(timetable_next(&tt, t, &c));
        expect_time(c.at_s, want[i]);
        assert_int_equal(c.open, open ^ 1);
        assert_int_equal(timetable_open(&tt, c.at_s - 1), open);
        assert_int_equal(timetable_open(&tt, c.at_s), c.open);
        open = c.open;
        t = c.at_s;
    }
}

static void zone__moments_of_the_wall__first_time_it_shows_that_or_later(void **state)
{
    static const struct {
        const struct time_zone *zone;
        const char *wall, *want;
    } rows[] = {
        {&utc, "2026-03-29T02:30:00Z", "2026-03-29T02:30:00Z"},
        {&berlin, "2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z"},
        {&berlin, "2026-03-29T02:00:00Z", "2026-03-29T01:00:00Z"}, /* skipped: the jump */
        {&berlin, "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z"},
        {&berlin, "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"},
        {&berlin, "2026-03-29T03:00:01Z", "2026-03-29T01:00:01Z"},
        {&berlin, "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"}, /* twice: the first */
        {&berlin, "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"},
        {&new_york, "2026-03-08T02:15:00Z", "2026-03-08T07:00:00Z"},
        {&new_york, "2026-11-01T01:15:00Z", "2026-11-01T05:15:00Z"},
        {&lord_howe, "2026-10-04T02:10:00Z", "2026-10-03T15:30:00Z"},
        {&lord_howe, "2026-04-05T01:45:00Z", "2026-04-04T14:45:00Z"},
        {&apia, "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z"}, /* a day that was not */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_time(zone_moment(rows[i].zone, at(rows[i].wall)), rows[i].want);
    }
}

static void window__working_nights__over_midnight_and_the_weekend(void **state)
{
    const struct time_window w = {STR("night"), MON | TUE | WED | THU | FRI, 20 * 60, 8 * 60, &berlin};
    static const char *const want[] = {"2026-01-16T07:00:00Z", "2026-01-16T19:00:00Z", "2026-01-17T07:00:00Z",
                                       "2026-01-19T19:00:00Z", "2026-01-20T07:00:00Z"};

    expect_changes(&w, "2026-01-15T22:00:00Z", want, ARRAY_LEN(want)); /* a Thursday */
}

/* It ends on the next day at the time at which it began. */
static void window__from_and_to_are_one__a_day_and_a_night(void **state)
{
    const struct time_window w = {STR("duty"), WED, 10 * 60, 10 * 60, &utc};
    static const char *const want[] = {"2026-01-14T10:00:00Z", "2026-01-15T10:00:00Z", "2026-01-21T10:00:00Z"};

    expect_changes(&w, "2026-01-13T00:00:00Z", want, ARRAY_LEN(want));
}

static void window__nights_of_both_jumps__eleven_and_thirteen_hours(void **state)
{
    const struct time_window w = {STR("night"), WEEKDAYS_ALL, 20 * 60, 8 * 60, &berlin};
    static const char *const spring[] = {"2026-03-28T19:00:00Z", "2026-03-29T06:00:00Z", "2026-03-29T18:00:00Z"};
    static const char *const autumn[] = {"2026-10-24T18:00:00Z", "2026-10-25T07:00:00Z", "2026-10-25T19:00:00Z"};

    expect_changes(&w, "2026-03-28T12:00:00Z", spring, ARRAY_LEN(spring));
    expect_changes(&w, "2026-10-24T12:00:00Z", autumn, ARRAY_LEN(autumn));
}

static void window__begins_in_a_skipped_hour__begins_with_the_jump(void **state)
{
    const struct time_window w = {STR("w"), SUN, 150, 6 * 60, &berlin};
    static const char *const want[] = {"2026-03-29T01:00:00Z", "2026-03-29T04:00:00Z", "2026-04-05T00:30:00Z"};

    expect_changes(&w, "2026-03-28T12:00:00Z", want, ARRAY_LEN(want));
}

static void window__ends_in_a_repeated_hour__ends_the_first_time(void **state)
{
    const struct time_window w = {STR("w"), SUN, 60, 150, &berlin};
    static const char *const want[] = {"2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z", "2026-11-01T00:00:00Z"};

    expect_changes(&w, "2026-10-24T12:00:00Z", want, ARRAY_LEN(want));
}

static void window__within_a_skipped_hour__does_not_happen_that_day(void **state)
{
    const struct time_window w = {STR("w"), SUN, 130, 170, &berlin};
    static const char *const want[] = {"2026-04-05T00:10:00Z", "2026-04-05T00:50:00Z"};

    expect_changes(&w, "2026-03-28T12:00:00Z", want, ARRAY_LEN(want));
}

static void window__always_or_never__no_change_ahead(void **state)
{
    const struct time_window always[] = {
        {STR("days"), WEEKDAYS_ALL, 0, DAY_MIN, &berlin},
        {STR("noon to noon"), WEEKDAYS_ALL, 720, 720, &berlin},
        {STR("halves 1"), WEEKDAYS_ALL, 0, 150, &berlin},
        {STR("halves 2"), WEEKDAYS_ALL, 150, DAY_MIN, &berlin},
    };
    const struct time_window eaten = {STR("eaten"), THU | FRI, 0, DAY_MIN, &apia};
    struct timetable_change c;

    assert_false(timetable_next(&(struct timetable){always, 1}, at("2026-03-28T12:00:00Z"), &c));
    assert_false(timetable_next(&(struct timetable){always + 1, 1}, at("2026-10-24T12:00:00Z"), &c));
    assert_false(timetable_next(&(struct timetable){NULL, 0}, 0, &c));
    /* The whole of Friday December 30 2011 was left out in Apia: Thursday is followed by Saturday.
     */
    assert_true(timetable_next(&(struct timetable){&eaten, 1}, at("2011-12-29T12:00:00Z"), &c));
    expect_time(c.at_s, "2011-12-30T10:00:00Z");
    assert_int_equal(c.open, 0);
    /* Two windows that follow each other: at every second of the jump exactly one is open. */
    for (int64_t t = at("2026-03-29T00:00:00Z"); t < at("2026-03-29T02:00:00Z"); t++) {
        uint32_t open = timetable_open(&(struct timetable){always + 2, 2}, t);
        assert_true(open == 1 || open == 2);
    }
}

static void windows__several_zones__a_bit_each(void **state)
{
    const struct time_window windows[] = {
        {STR("berlin"), MON, 9 * 60, 17 * 60, &berlin},
        {STR("new york"), MON, 9 * 60, 17 * 60, &new_york},
    };
    const struct timetable tt = {windows, 2};
    struct timetable_change c;

    /* Between their jumps in March the two are five hours apart, not six. */
    assert_true(timetable_next(&tt, at("2026-03-16T00:00:00Z"), &c));
    expect_time(c.at_s, "2026-03-16T08:00:00Z");
    assert_int_equal(c.open, 1);
    assert_true(timetable_next(&tt, c.at_s, &c));
    expect_time(c.at_s, "2026-03-16T13:00:00Z");
    assert_int_equal(c.open, 3);
}

/* ---- every minute, against a reckoning by hand ---- */

#define WALK_DAYS 24
#define WALK_MIN (WALK_DAYS * DAY_MIN)
static bool iterator_open[WALK_MIN];

/* The rule word by word: go along time, look at the wall, note when it first shows the beginning
 * and the end. All times and jumps lie on whole minutes. */
static void walk(const struct time_window *w, int64_t from_s)
{
    int64_t first_day = (from_s + zone_offset(w->zone, from_s)) / DAY_S;

    memset(iterator_open, 0, sizeof(iterator_open));
    for (int64_t day = first_day; day < first_day + WALK_DAYS; day++) {
        int64_t begin_wall = day * DAY_S + w->from_min * 60;
        int64_t end_wall = (day + (w->to_min <= w->from_min)) * DAY_S + w->to_min * 60;
        bool began = false;

        if ((w->days >> ((day + 3) % 7) & 1) == 0) {
            continue;
        }
        for (size_t i = 0; i < WALK_MIN; i++) {
            int64_t t = from_s + (int64_t)i * 60;
            int64_t wall = t + zone_offset(w->zone, t);

            if (wall >= end_wall) {
                break;
            }
            began = began || wall >= begin_wall;
            iterator_open[i] = iterator_open[i] || began;
        }
    }
}

static void windows__at_random_around_every_jump__as_a_walk_along_time_finds(void **state)
{
    static const struct {
        const struct time_zone *zone;
        const char *jump;
    } rows[] = {
        {&berlin, "2026-03-29T01:00:00Z"},   {&berlin, "2026-10-25T01:00:00Z"},    {&new_york, "2026-03-08T07:00:00Z"},
        {&new_york, "2026-11-01T06:00:00Z"}, {&lord_howe, "2026-04-04T15:00:00Z"}, {&lord_howe, "2026-10-03T15:30:00Z"},
        {&apia, "2011-12-30T10:00:00Z"},     {&utc, "2026-06-01T00:00:00Z"},
    };
    struct rng rng;

    rng_init(&rng, 20260329);
    for (size_t i = 0; i < ARRAY_LEN(rows) * 6; i++) {
        int64_t from_s = at(rows[i / 6].jump) - 12 * DAY_S;
        /* Half of them near the hours that are skipped or repeated. */
        const struct time_window w = {
            .days = 1 + (uint32_t)rng_below(&rng, WEEKDAYS_ALL),
            .from_min = (int32_t)rng_below(&rng, i % 2 == 0 ? 300 : DAY_MIN),
            .to_min = 1 + (int32_t)rng_below(&rng, i % 2 == 0 ? 300 : DAY_MIN),
            .zone = rows[i / 6].zone,
        };
        const struct timetable tt = {&w, 1};
        size_t next = 3 * DAY_MIN; /* of what was open when the walk began it knows nothing before */

        walk(&w, from_s);
        for (size_t m = next; m < 14 * DAY_MIN; m++) {
            if (timetable_open(&tt, from_s + (int64_t)m * 60) != iterator_open[m] ||
                timetable_open(&tt, from_s + (int64_t)m * 60 + 59) != iterator_open[m]) {
                fail_msg("row %zu, days %x, %d-%d: minute %zu", i, w.days, w.from_min, w.to_min, m);
            }
        }
        for (size_t m = next; m < 14 * DAY_MIN; m += 401) {
            struct timetable_change c;
            size_t n = m + 1;

            while (n < m + TIMETABLE_HORIZON_S / 60 && iterator_open[n] == iterator_open[m]) {
                n++;
            }
            if (n < m + TIMETABLE_HORIZON_S / 60) {
                assert_true(timetable_next(&tt, from_s + (int64_t)m * 60, &c));
                assert_int_equal(c.at_s, from_s + (int64_t)n * 60);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zone__moments_of_the_wall__first_time_it_shows_that_or_later),
        cmocka_unit_test(window__working_nights__over_midnight_and_the_weekend),
        cmocka_unit_test(window__from_and_to_are_one__a_day_and_a_night),
        cmocka_unit_test(window__nights_of_both_jumps__eleven_and_thirteen_hours),
        cmocka_unit_test(window__begins_in_a_skipped_hour__begins_with_the_jump),
        cmocka_unit_test(window__ends_in_a_repeated_hour__ends_the_first_time),
        cmocka_unit_test(window__within_a_skipped_hour__does_not_happen_that_day),
        cmocka_unit_test(window__always_or_never__no_change_ahead),
        cmocka_unit_test(windows__several_zones__a_bit_each),
        cmocka_unit_test(windows__at_random_around_every_jump__as_a_walk_along_time_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
