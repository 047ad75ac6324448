/* Tables of stays, and replays of them. */
#include "sim/replay.h"

#include "core/fit/strategy.h"
#include "sim/support/tested_trace.h"
#include "support/cmocka.h"

#include <math.h>
#include <string.h>

#define HEADER "arrive_ms,depart_ms,pod_row\n"
#define SHOWN_MAX 16

static int setup(void **state)
{
    static struct tested_trace t;

    tested_trace_init(&t);
    tested_trace_fill(&t);
    *state = &t;
    return 0;
}

static int teardown(void **state)
{
    tested_trace_fini(*state);
    return 0;
}

static void stays__two_lines__read_with_rows_and_ranks(void **state)
{
    struct tested_trace *t = *state;

    assert_int_equal(tested_trace_stays(t, HEADER "0,50,1\n7,,3\n"), 0);
    assert_int_equal(t->arrivals.pod_n, 2);
    assert_int_equal(t->arrivals.pods[0], 1);
    assert_int_equal(t->arrivals.stays[0].arrive_ms, 0);
    assert_int_equal(t->arrivals.stays[0].depart_ms, 50);
    assert_int_equal(t->arrivals.pods[1], 3);
    assert_true(t->arrivals.stays[1].depart_ms == STAY_FOR_EVER);
    assert_int_equal(t->arrivals.node_rank[0], 0);
    assert_int_equal(t->arrivals.node_rank[1], 1);
}

static void stays__wrong__named_with_the_line(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"arrive_ms,pod_row\n", "stays.csv:1: no column \"depart_ms\""},
        {HEADER, "stays.csv: nobody arrives"},
        {HEADER "0,9,4\n", "stays.csv:2: column pod_row: \"4\" is not a whole number from 0 to 3"},
        {HEADER "5,9,0\n4,9,0\n", "stays.csv:3: arrives before the line above it"},
        {HEADER "5,5,0\n", "stays.csv:2: depart_ms must be later than arrive_ms"},
        {HEADER "x,5,0\n", "stays.csv:2: column arrive_ms: \"x\" is not a whole number"},
    };
    struct tested_trace *t = *state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_true(tested_trace_stays(t, wrong[i].text) < 0);
        if (strstr(t->err.msg, wrong[i].says) == NULL) {
            fail_msg("\"%s\" lacks \"%s\"", t->err.msg, wrong[i].says);
        }
    }
}

static struct replay_result replay(struct tested_trace *t, const char *stays, int64_t warm_up_ms,
                                   struct testbed_place places[SHOWN_MAX])
{
    struct replay_result ret;
    struct replay_job job = {.mode = REPLAY_TIMED,
                             .trace = &t->trace,
                             .strategy = strategy_find(STR("binpack")),
                             .arrivals = &t->arrivals,
                             .mix = TESTBED_MIX_LEARNED,
                             .warm_up_ms = warm_up_ms,
                             .places = places};

    if (tested_trace_stays(t, stays) != 0) {
        fail_msg("%s", t->err.msg);
    }
    assert_true(t->arrivals.pod_n <= SHOWN_MAX);
    replay_job_run(&job, &ret);
    return ret;
}

static long hundredths(double percent)
{
    return lround(percent * 100);
}

static void timed__full_then_one_ends__its_gpu_is_free_at_that_moment(void **state)
{
    struct testbed_place at[SHOWN_MAX];
    struct replay_result r = replay(*state, HEADER "0,10,1\n1,,1\n9,,1\n10,,1\n20,,1\n", 0, at);

    assert_int_equal(at[0].node, 0);
    assert_int_equal(at[0].devices, 1);
    assert_int_equal(at[1].node, 1);
    assert_int_equal(at[2].node, TESTBED_NOWHERE);
    assert_int_equal(at[3].node, 0);
    assert_int_equal(at[4].node, TESTBED_NOWHERE);
    assert_int_equal(r.decision_n, 5);
    assert_int_equal(r.classes[TRACE_WHOLE].arrived_n, 5);
    assert_int_equal(r.classes[TRACE_WHOLE].refused_n, 2);
    assert_int_equal(hundredths(r.refused_pct), 4000);
}

static void timed__warm_up__neither_counted_nor_measured(void **state)
{
    /* From 100 to 200 ms: a whole GPU all the time, half of the other one half of the time. */
    struct replay_result r = replay(*state, HEADER "0,,1\n0,,1\n0,,1\n50,,1\n100,150,0\n200,,1\n", 100, NULL);

    assert_int_equal(r.classes[TRACE_WHOLE].arrived_n, 1);
    assert_int_equal(r.classes[TRACE_SHARED].arrived_n, 1);
    assert_int_equal(r.classes[TRACE_SHARED].refused_n, 1);
    assert_int_equal(hundredths(r.allocation_pct), 10000);
    r = replay(*state, HEADER "0,,1\n100,150,0\n200,,1\n", 100, NULL);
    assert_int_equal(r.classes[TRACE_WHOLE].refused_n, 0);
    assert_int_equal(hundredths(r.allocation_pct), 5000 + 1250);
}

static void timed__memory__binds_beside_compute(void **state)
{
    struct testbed_place at[SHOWN_MAX];

    /* Half of the compute with 20 of 24 GiB, twice; then 10 GiB fit nowhere, though half of the compute is free. */
    replay(*state, HEADER "0,,3\n1,,3\n2,,2\n", 0, at);
    assert_int_equal(at[0].node, 0);
    assert_int_equal(at[1].node, 1);
    assert_int_equal(at[2].node, TESTBED_NOWHERE);
    /* 10 GiB twice are 20 of 24, so half a GPU, which means half of the memory, goes elsewhere. */
    replay(*state, HEADER "0,,2\n1,,2\n2,,0\n", 0, at);
    assert_int_equal(at[0].node, at[1].node);
    assert_int_not_equal(at[2].node, at[0].node);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stays__two_lines__read_with_rows_and_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(stays__wrong__named_with_the_line, setup, teardown),
        cmocka_unit_test_setup_teardown(timed__full_then_one_ends__its_gpu_is_free_at_that_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(timed__warm_up__neither_counted_nor_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(timed__memory__binds_beside_compute, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
