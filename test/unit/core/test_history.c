/* A bounded number of samples against all readings ever, kept and grouped by the interval. */
#include "core/report/history.h"

#include "base/rng.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    int64_t at_ms;
    int64_t values[HISTORY_VALUE__MAX];
};

struct group {
    int64_t slot, reading_n, last_ms, sums[HISTORY_VALUE__MAX];
};

/* Wall time runs with monotonic time here. */
#define WALL_MS INT64_C(1795161600000)

static size_t group_all(const struct reading *all, size_t n, int64_t interval_s, struct group *ret)
{
    size_t group_n = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t slot = all[i].at_ms / (interval_s * 1000);

        if (group_n == 0 || ret[group_n - 1].slot != slot) {
            ret[group_n++] = (struct group){.slot = slot};
        }
        ret[group_n - 1].reading_n++;
        ret[group_n - 1].last_ms = all[i].at_ms;
        for (size_t v = 0; v < HISTORY_VALUE__MAX; v++) {
            ret[group_n - 1].sums[v] += all[i].values[v];
        }
    }
    return group_n;
}

/* The samples are the last of the groups; before the interval is as long as it may be, all of them. */
static void check_all(const struct history *h, const struct reading *all, size_t n, struct group *buffer)
{
    size_t group_n = group_all(all, n, h->interval_s, buffer);

    assert_true(h->n <= HISTORY_SAMPLES_MAX && h->n <= group_n);
    assert_true(h->n == group_n || (h->interval_s == HISTORY_INTERVAL_MAX_S && h->n == HISTORY_SAMPLES_MAX));
    for (size_t i = 0; i < h->n; i++) {
        const struct history_sample *s = &h->samples[i];
        const struct group *g = &buffer[group_n - h->n + i];

        assert_int_equal(s->slot, g->slot);
        assert_int_equal(s->wall_ms, WALL_MS + g->last_ms);
        assert_int_equal(s->reading_n, g->reading_n);
        assert_memory_equal(s->sums, g->sums, sizeof(s->sums));
    }
}

/* Readings whenever one is due, `step_ms` or up to `jitter_ms` more after the last look; sometimes a pause. */
static void run(size_t reading_n, int64_t step_ms, uint32_t jitter_ms, bool pauses)
{
    struct reading *all = calloc(reading_n, sizeof(*all));
    struct group *buffer = calloc(reading_n, sizeof(*buffer));
    struct history *h = malloc(sizeof(*h));
    int64_t now_ms = 123456789, interval_s = 1;
    struct rng rng;
    size_t n = 0;

    rng_init(&rng, 7);
    history_init(h);
    while (n < reading_n) {
        now_ms += step_ms + (jitter_ms > 0 ? (int64_t)rng_below(&rng, jitter_ms) : 0);
        if (pauses && rng_below(&rng, 500) == 0) {
            now_ms += (int64_t)rng_below(&rng, 3600000);
        }
        if (!history_is_due(h, now_ms)) {
            continue;
        }
        all[n] = (struct reading){.at_ms = now_ms};
        for (size_t v = 0; v < HISTORY_VALUE__MAX; v++) {
            all[n].values[v] = (int64_t)rng_below(&rng, 1001);
        }
        history_add(h, now_ms, WALL_MS + now_ms, all[n].values);
        n++;
        if (n % 97 == 0 || h->interval_s != interval_s || n == reading_n) {
            assert_true(h->interval_s >= interval_s && h->interval_s <= HISTORY_INTERVAL_MAX_S);
            interval_s = h->interval_s;
            check_all(h, all, n, buffer);
        }
    }
    assert_int_equal(interval_s, HISTORY_INTERVAL_MAX_S);
    free(h);
    free(buffer);
    free(all);
}

static void history__a_reading_a_second__samples_are_all_readings_by_interval(void **state)
{
    run(20000, 1000, 0, false);
}

static void history__late_and_early_looks_and_pauses__the_same(void **state)
{
    run(20000, 700, 900, true);
}

static void history__every_other_interval_is_empty__still_bounded(void **state)
{
    struct history h;
    int64_t values[HISTORY_VALUE__MAX] = {5};

    history_init(&h);
    for (int64_t i = 0; i < 5000; i++) { /* two intervals apart: one doubling joins nothing */
        history_add(&h, i * 2000, i * 2000, values);
        assert_true(h.n <= HISTORY_SAMPLES_MAX);
    }
    assert_int_equal(h.interval_s, 16);
}

static void history__a_full_day__reaches_back_a_day(void **state)
{
    struct history h;
    const int64_t values[HISTORY_VALUE__MAX] = {1000, 2, 3, 4, 5}, day_ms = 24 * 3600 * INT64_C(1000);

    history_init(&h);
    for (int64_t ms = 0; ms <= 2 * day_ms; ms += 1000) {
        if (history_is_due(&h, ms)) {
            history_add(&h, ms, ms, values);
        }
    }
    assert_int_equal(h.n, HISTORY_SAMPLES_MAX);
    assert_true(h.samples[0].wall_ms <= day_ms);
    assert_int_equal(history_mean(&h.samples[0], HISTORY_COMPUTE_PERMILLE), 1000);
    assert_int_equal(history_mean(&h.samples[h.n - 1], HISTORY_BOUND), 5);
    assert_true(sizeof(h) < 48 << 10);
}

static void mean__rounded_to_the_nearest(void **state)
{
    struct history h;

    history_init(&h);
    history_add(&h, 0, 0, (const int64_t[HISTORY_VALUE__MAX]){1, 1, 0});
    history_add(&h, 300, 0, (const int64_t[HISTORY_VALUE__MAX]){2, 1, 0});
    history_add(&h, 600, 0, (const int64_t[HISTORY_VALUE__MAX]){2, 1, 1});
    assert_int_equal(h.n, 1);
    assert_int_equal(history_mean(&h.samples[0], HISTORY_COMPUTE_PERMILLE), 2);
    assert_int_equal(history_mean(&h.samples[0], HISTORY_MEMORY_PERMILLE), 1);
    assert_int_equal(history_mean(&h.samples[0], HISTORY_FRAGMENTATION_PERMILLE), 0);
}

static void is_due__as_often_as_intervals_but_every_eight_seconds_at_least(void **state)
{
    struct history h;

    history_init(&h);
    assert_true(history_is_due(&h, 0));
    history_add(&h, 5000, 0, (const int64_t[HISTORY_VALUE__MAX]){0});
    assert_false(history_is_due(&h, 5999));
    assert_true(history_is_due(&h, 6000));
    h.interval_s = 4;
    assert_false(history_is_due(&h, 8999));
    assert_true(history_is_due(&h, 9000));
    h.interval_s = HISTORY_INTERVAL_MAX_S;
    assert_false(history_is_due(&h, 12999));
    assert_true(history_is_due(&h, 13000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history__a_reading_a_second__samples_are_all_readings_by_interval),
        cmocka_unit_test(history__late_and_early_looks_and_pauses__the_same),
        cmocka_unit_test(history__every_other_interval_is_empty__still_bounded),
        cmocka_unit_test(history__a_full_day__reaches_back_a_day),
        cmocka_unit_test(mean__rounded_to_the_nearest),
        cmocka_unit_test(is_due__as_often_as_intervals_but_every_eight_seconds_at_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
