/* What is learned of the scheduler's speed, step by step; what follows from it: test_planner.c. */
#include "extender/planner_internal.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#define MS(ms_) ((int64_t)(ms_)*NS_PER_MS)
#define NOW_MS 1000000

static struct clock_manual now;
static struct planner *planner;
static struct planned_pod pod;

static int setup(void **state)
{
    clock_manual_init(&now, MS(NOW_MS), 0);
    planner = planner_new(&(struct planner_options){.clock = &now.clock});
    pod = (struct planned_pod){.nominated = NOMINATED_NOT};
    return 0;
}

static int teardown(void **state)
{
    planner_free(planner);
    return 0;
}

/* ---- how far ahead ---- */

static void lead__as_many_as_it_takes_in_the_time_of_a_patch(void **state)
{
    static const struct {
        int64_t patch_ms, settle_ms, gap_ms, idle_ms;
        uint32_t lead;
    } rows[] = {
        {0, 10, 10, 0, PLANNER_LEAD_MIN}, /* nothing is known */
        {200, 10, 0, 0, PLANNER_LEAD_MIN},
        {200, 10, 10, 0, 1 + 21},
        {200, 19, 10, 0, 1 + 21},
        {200, 20, 10, 0, 1 + 22},
        {200, 10, 10, 10, 1 + 21},
        {200, 10, 10, 50, 1 + 4}, /* it has slowed down */
        {200, 10, 10, 53, PLANNER_LEAD_MIN},
        {200, 10, 10, 900, PLANNER_LEAD_MIN},
        {61, 0, 1, 0, 62},
        {62, 0, 1, 0, 63},
        {63, 0, 1, 0, PLANNER_LEAD_MAX},
        {64, 0, 1, 0, PLANNER_LEAD_MAX},
        {900, 0, 1, 0, PLANNER_LEAD_MAX},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        planner->patch_ns = MS(rows[i].patch_ms);
        planner->settle_ns = MS(rows[i].settle_ms);
        planner->ask_gap_ns = MS(rows[i].gap_ms);
        planner->asked_ns = MS(NOW_MS - rows[i].idle_ms);
        if (planner_lead(planner, MS(NOW_MS)) != rows[i].lead) {
            fail_msg("row %zu: %u", i, planner_lead(planner, MS(NOW_MS)));
        }
    }
}

/* ---- what is observed ---- */

static void ask_at(int64_t ms, size_t name_n, bool some_fit)
{
    planner_note_ask(planner, &pod, &(struct planner_ask){.name_n = name_n, .some_fit = some_fit}, MS(ms));
}

/* Between two questions: about one node and about many are told apart, and a pause for want of pods is none. */
static void gaps__smoothed_each_by_itself(void **state)
{
    ask_at(1000, 5, true);
    assert_true(planner->alone_ns == 0 && planner->among_ns == 0); /* the first one is behind nothing */
    ask_at(1080, 5, true);
    assert_true(planner->alone_ns == 0 && planner->among_ns == MS(80));
    ask_at(1096, 1, true);
    assert_true(planner->alone_ns == MS(16) && planner->among_ns == MS(80));
    ask_at(1096, 1, true); /* at once: says nothing */
    assert_int_equal(planner->alone_ns, MS(16));
    ask_at(1104, 1, false);
    assert_int_equal(planner->alone_ns, MS(15)); /* an eighth of the difference */
    ask_at(1104 + 160, 0, false);
    assert_int_equal(planner->among_ns, MS(90));
    ask_at(1264 + 250, 1, true);
    assert_int_equal(planner->alone_ns, MS(15)); /* it waited for pods */
    ask_at(1514 + 249, 2, true);
    assert_int_equal(planner->among_ns, MS(90) + MS(159) / 8);
    assert_int_equal(planner->answered_ns, MS(1763));
}

/* Of pods that fit alone: those that do not go to the end of its queue. A pause counts for a second at most. */
static void gap_between_pods__that_fit(void **state)
{
    planner->asked_ns = MS(1000);
    ask_at(1080, 5, true);
    assert_true(planner->ask_gap_ns == MS(80) && planner->asked_ns == MS(1080));
    ask_at(1100, 5, false);
    assert_true(planner->ask_gap_ns == MS(80) && planner->asked_ns == MS(1080));
    ask_at(1240, 5, true);
    assert_int_equal(planner->ask_gap_ns, MS(90));
    ask_at(9000, 5, true);
    assert_int_equal(planner->ask_gap_ns, MS(90) + MS(910) / 8);
}

/* It was nominated, and the scheduler asked about all nodes: it learned of it too late. */
static void settle__grows_where_the_scheduler_knew_too_late(void **state)
{
    const int64_t first_ns = planner->settle_ns;

    assert_int_equal(first_ns, MS(PLANNER_SETTLE_MS));
    ask_at(1000, 5, true);
    assert_int_equal(planner->settle_ns, first_ns); /* it was not nominated */
    pod.nominated = NOMINATED_OURS;
    pod.busy = true;
    ask_at(1000, 5, true);
    assert_int_equal(planner->settle_ns, first_ns); /* or is not yet */
    pod.busy = false;
    ask_at(1000, 5, false);
    assert_int_equal(planner->settle_ns, first_ns + MS(8));
    ask_at(1000, 1, false); /* refused there: it asks about all of them next, and knows why */
    assert_true(pod.refused_alone);
    assert_int_equal(planner->settle_ns, first_ns + MS(8));
    ask_at(1000, 5, true);
    assert_int_equal(planner->settle_ns, first_ns + MS(8));
    ask_at(1000, 1, true);
    assert_false(pod.refused_alone);
    assert_int_equal(planner->settle_ns, (first_ns + MS(8)) - (first_ns + MS(8)) / 64);
    for (int i = 0; i < 40; i++) {
        ask_at(1000, 5, true);
    }
    assert_int_equal(planner->settle_ns, MS(PLANNER_SETTLE_MAX_MS));
}

/* ---- what nominations lead to ---- */

static void hit__seldom__rests_ever_longer(void **state)
{
    static const int64_t pauses_ms[] = {5000, 10000, 20000, 40000, 60000, 60000};
    int64_t ms = 1000;

    planner_note_hit(planner, false, MS(ms));
    assert_int_equal(planner->hits_permille, 1000 - 62);
    planner_note_hit(planner, true, MS(ms));
    assert_int_equal(planner->hits_permille, 938 + 3);
    for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        planner->hits_permille = 320;
        planner_note_hit(planner, false, MS(ms));
        assert_int_equal(planner->hits_permille, 300); /* enough */
        assert_true(planner->poor_until_ns <= MS(ms));
        planner_note_hit(planner, false, MS(ms));
        assert_int_equal(planner->poor_until_ns, MS(ms + pauses_ms[i]));
        assert_int_equal(planner->hits_permille, 450);
        planner_note_hit(planner, true, MS(ms + pauses_ms[i]) - 1); /* of nominations from before */
        assert_int_equal(planner->hits_permille, 450);
        ms += pauses_ms[i];
        planner_note_hit(planner, true, MS(ms));
        assert_int_equal(planner->hits_permille, 450 + 34);
    }
    planner->hits_permille = 640;
    planner_note_hit(planner, false, MS(ms));
    assert_true(planner->hits_permille == 600 && planner->poor_ms == 60000);
    planner_note_hit(planner, true, MS(ms));
    assert_true(planner->hits_permille == 625 && planner->poor_ms == 0); /* the next rest is a short one */
}

/* ---- pauses ---- */

static void let_wait__a_pod_whose_nominations_come_to_nothing__ever_longer(void **state)
{
    static const int64_t pauses_ms[] = {10000, 20000, 40000, 80000, 160000, 300000};

    for (size_t i = 0; i < 30; i++) {
        planner_let_wait(&pod, MS(1000));
        assert_int_equal(pod.not_before_ns, MS(1000 + (i < ARRAY_LEN(pauses_ms) ? pauses_ms[i] : 300000)));
    }
}

/* One trouble is told by several patches, and counts once. */
static void pause__of_all__ever_longer_and_at_least_as_asked(void **state)
{
    static const int64_t pauses_ms[] = {5000, 10000, 20000, 40000, 60000, 60000};
    int64_t ms = 1000;

    for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        planner_pause(planner, MS(ms), pauses_ms[i] - 1);
        assert_int_equal(planner->not_before_ns, MS(ms + pauses_ms[i]));
        planner_pause(planner, MS(ms + pauses_ms[i]) - 1, 500000);
        assert_int_equal(planner->not_before_ns, MS(ms + pauses_ms[i]));
        ms += pauses_ms[i];
    }
    planner_pause(planner, MS(ms), 60001);
    assert_int_equal(planner->not_before_ns, MS(ms + 60001));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(lead__as_many_as_it_takes_in_the_time_of_a_patch),
        T(gaps__smoothed_each_by_itself),
        T(gap_between_pods__that_fit),
        T(settle__grows_where_the_scheduler_knew_too_late),
        T(hit__seldom__rests_ever_longer),
        T(let_wait__a_pod_whose_nominations_come_to_nothing__ever_longer),
        T(pause__of_all__ever_longer_and_at_least_as_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
