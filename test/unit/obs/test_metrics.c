#include "base/compiler.h"
#include "obs/metrics.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CALLS, OPEN, DEPTH, LATENCY, UPTIME, UNUSED, METRIC_N };

static const char *const VERBS[] = {"filter", "bind", NULL};

static const struct metric_def DEFS[METRIC_N] = {
    [CALLS] = {.name = "t_calls_total",
               .help = "Calls.",
               .type = METRIC_COUNTER,
               .labels = {{"verb", VERBS}, {"code", NULL}},
               .series_max = 3},
    [OPEN] = {.name = "t_open", .help = "A \\ and\na newline.", .type = METRIC_GAUGE, .labels = {{"verb", VERBS}}},
    [DEPTH] = {.name = "t_depth", .help = "Depth.", .type = METRIC_GAUGE},
    [LATENCY] = {.name = "t_latency_seconds",
                 .help = "Latency.",
                 .type = METRIC_HISTOGRAM,
                 .unit = METRIC_UNIT_NS,
                 .bucket_first = 10000,
                 .bucket_n = 4},
    [UPTIME] = {.name = "t_up_seconds", .help = "Up.", .type = METRIC_GAUGE, .unit = METRIC_UNIT_MS},
    [UNUSED] = {.name = "t_unused_total",
                .help = "Never counted.",
                .type = METRIC_COUNTER,
                .labels = {{"x", NULL}},
                .series_max = 2},
};

static void expect_text(struct metrics *m, const char *expected)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    metrics_render(m, &out);
    assert_false(out.overflowed);
    assert_string_equal(out.p, expected);
    strbuf_fini(&out);
}

static void metrics__exposition__exact_text(void **state)
{
    struct metrics *m = metrics_new(DEFS, METRIC_N);
    metric_add(METRIC(m, CALLS, "bind", "a\"b\\c\nd"), 3);
    metric_inc(METRIC(m, CALLS, "bind", "a\"b\\c\nd"));
    metric_set(METRIC(m, OPEN, "filter"), -7);
    metric_set(METRIC(m, DEPTH), INT64_MIN);
    metric_set(METRIC(m, UPTIME), 1500);
    struct metric *latency = METRIC(m, LATENCY);
    const int64_t values[] = {-5, 0, 10000, 10001, 20000, 20001, 80000, 80001, 5000000000};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        metric_observe(latency, values[i]);
    }
    assert_int_equal(metric_value(latency), 9);
    expect_text(m, "# HELP t_calls_total Calls.\n"
                   "# TYPE t_calls_total counter\n"
                   "t_calls_total{verb=\"bind\",code=\"a\\\"b\\\\c\\nd\"} 4\n"
                   "# HELP t_open A \\\\ and\\na newline.\n"
                   "# TYPE t_open gauge\n"
                   "t_open{verb=\"filter\"} -7\n"
                   "t_open{verb=\"bind\"} 0\n"
                   "# HELP t_depth Depth.\n"
                   "# TYPE t_depth gauge\n"
                   "t_depth -9223372036854775808\n"
                   "# HELP t_latency_seconds Latency.\n"
                   "# TYPE t_latency_seconds histogram\n"
                   "t_latency_seconds_bucket{le=\"0.00001\"} 3\n"
                   "t_latency_seconds_bucket{le=\"0.00002\"} 5\n"
                   "t_latency_seconds_bucket{le=\"0.00004\"} 6\n"
                   "t_latency_seconds_bucket{le=\"0.00008\"} 7\n"
                   "t_latency_seconds_bucket{le=\"+Inf\"} 9\n"
                   "t_latency_seconds_sum 5.000220003\n"
                   "t_latency_seconds_count 9\n"
                   "# HELP t_up_seconds Up.\n"
                   "# TYPE t_up_seconds gauge\n"
                   "t_up_seconds 1.5\n");
    metrics_free(m);
    metrics_free(NULL);
}

static void metrics__bucket_bounds__every_power_belongs_to_its_bucket(void **state)
{
    static const struct metric_def def[] = {{.name = "b_seconds",
                                             .help = "B.",
                                             .type = METRIC_HISTOGRAM,
                                             .unit = METRIC_UNIT_NS,
                                             .bucket_first = 10000,
                                             .bucket_n = 20}};
    for (uint32_t k = 0; k < 20; k++) {
        struct metrics *m = metrics_new(def, 1);
        metric_observe(METRIC(m, 0), (int64_t)10000 << k);       /* inside: bounds are inclusive */
        metric_observe(METRIC(m, 0), ((int64_t)10000 << k) + 1); /* outside */
        struct strbuf out;
        strbuf_init(&out, 1 << 20);
        metrics_render(m, &out);
        unsigned with_0 = 0, with_1 = 0, with_2 = 0;
        for (const char *p = out.p; (p = strstr(p, "_bucket{")) != NULL; p++) {
            const char n = strchr(p, '}')[2];
            with_0 += n == '0';
            with_1 += n == '1';
            with_2 += n == '2';
        }
        assert_int_equal(with_0, k);
        assert_int_equal(with_1, 1);
        assert_int_equal(with_2, 20 - k); /* the bounds above, and +Inf */
        strbuf_fini(&out);
        metrics_free(m);
    }
}

static void metrics__too_many_or_unknown_values__counted_as_other(void **state)
{
    struct metrics *m = metrics_new(DEFS, METRIC_N);
    for (int code = 0; code < 1000; code++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", code);
        metric_inc(METRIC(m, CALLS, "filter", text));
    }
    metric_inc(METRIC(m, CALLS, "no such verb", "200"));
    metric_inc(METRIC(m, CALLS, "filter", "1")); /* known ones still count for themselves */
    assert_int_equal(metric_value(METRIC(m, CALLS, "filter", "1")), 2);
    assert_int_equal(metric_value(METRIC(m, CALLS, "filter", "999")), 998);
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    metrics_render(m, &out);
    assert_non_null(strstr(out.p, "t_calls_total{verb=\"filter\",code=\"2\"} 1\n"
                                  "t_calls_total{verb=\"other\",code=\"other\"} 998\n# HELP"));
    assert_null(strstr(out.p, "no such verb"));
    strbuf_fini(&out);
    metrics_free(m);
}

static void collect_depth(void *ctx, struct metrics *m)
{
    int *calls = ctx;
    metric_set(METRIC(m, DEPTH), ++*calls);
}

static void metrics__collector__runs_at_every_rendering(void **state)
{
    struct metrics *m = metrics_new(DEFS, METRIC_N);
    int calls = 0;
    metrics_add_collector(m, collect_depth, &calls);
    for (int i = 1; i <= 3; i++) {
        struct strbuf out;
        char line[32];
        strbuf_init(&out, 1 << 20);
        metrics_render(m, &out);
        snprintf(line, sizeof(line), "\nt_depth %d\n", i);
        assert_non_null(strstr(out.p, line));
        strbuf_fini(&out);
    }
    metrics_free(m);
}

enum { THREADS = 4, ROUNDS = 5000 };

static void *hammer(void *arg)
{
    struct metrics *m = arg;
    static const char *const codes[] = {"200", "404", "500", "503", "504"};
    for (int i = 0; i < ROUNDS; i++) {
        metric_inc(METRIC(m, CALLS, "filter", codes[i % 5]));
        metric_observe(METRIC(m, LATENCY), i);
        if (i % 1000 == 0) {
            struct strbuf out;
            strbuf_init(&out, 1 << 20);
            metrics_render(m, &out);
            strbuf_fini(&out);
        }
    }
    return NULL;
}

static void metrics__several_threads__nothing_is_lost(void **state)
{
    struct metrics *m = metrics_new(DEFS, METRIC_N);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, m), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    int64_t sum = metric_value(METRIC(m, CALLS, "nonsense", "x")); /* the "other" series */
    static const char *const codes[] = {"200", "404", "500", "503", "504"};
    unsigned own = 0;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct metric *s = METRIC(m, CALLS, "filter", codes[i]);
        if (s != METRIC(m, CALLS, "nonsense", "x")) {
            sum += metric_value(s);
            own++;
        }
    }
    assert_int_equal(own, 3); /* series_max, whoever came first */
    assert_int_equal(sum, THREADS * ROUNDS);
    assert_int_equal(metric_value(METRIC(m, LATENCY)), THREADS * ROUNDS);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics__exposition__exact_text),
        cmocka_unit_test(metrics__bucket_bounds__every_power_belongs_to_its_bucket),
        cmocka_unit_test(metrics__too_many_or_unknown_values__counted_as_other),
        cmocka_unit_test(metrics__collector__runs_at_every_rendering),
        cmocka_unit_test(metrics__several_threads__nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
