/* The demand histogram: counting, forgetting, settling, churn. */
#include "core/request/demand_histogram.h"
#include "support/cmocka.h"

static struct demand pod(struct gpu_request *w, int32_t cpu, uint16_t count, int32_t milli)
{
    *w = (struct gpu_request){.count = count, .kind = GPU_REQUEST_MILLI, .milli = milli, .phases = 1};
    return (struct demand){.host = {cpu, 1024}, .gpu_request_n = count > 0, .gpu_requests = w};
}

static void arrive(struct demand_histogram *m, int32_t cpu, uint16_t count, int32_t milli, int times)
{
    struct gpu_request w;
    struct demand d = pod(&w, cpu, count, milli);

    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(m, &d);
    }
}

/* Settled pods of this kind, in DEMAND_HISTOGRAM_POD. */
static uint64_t weight(struct demand_histogram *m, int32_t cpu, uint16_t count, int32_t milli)
{
    for (size_t i = 0; i < demand_histogram_shape_n(m); i++) {
        const struct demand_histogram_shape *s = demand_histogram_shape(m, i);

        if (s->host.cpu_milli == cpu && s->count == count && s->milli == milli) {
            return s->weight;
        }
    }
    return 0;
}

static void demand_histogram__equal_pods__count_as_one_shape(void **state)
{
    struct demand_histogram *m = demand_histogram_new();

    assert_int_equal(demand_histogram_version(m), 0);
    arrive(m, 1000, 1, 300, 3);
    arrive(m, 1000, 1, 301, 2);
    arrive(m, 1000, 0, 0, 1);
    demand_histogram_settle(m);
    assert_int_equal(demand_histogram_shape_n(m), 3);
    assert_int_equal(demand_histogram_arrived_n(m), 6);
    assert_int_equal(weight(m, 1000, 1, 300), 3 * DEMAND_HISTOGRAM_POD);
    assert_int_equal(weight(m, 1000, 0, 0), DEMAND_HISTOGRAM_POD);
    demand_histogram_free(m);
}

static void demand_histogram__models__are_part_of_the_shape_and_copied(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    char text[] = "T4";
    struct device_pattern pattern = {.text = {text, 2}};
    struct gpu_request w;
    struct demand d = pod(&w, 1000, 1, 300);

    demand_histogram_arrived(m, &d);
    d.models = &pattern;
    d.model_n = 1;
    demand_histogram_arrived(m, &d);
    pattern.exclude = true;
    demand_histogram_arrived(m, &d);
    text[0] = 'X';
    assert_int_equal(demand_histogram_shape_n(m), 3);
    assert_true(str_eq_cstr(demand_histogram_shape(m, 1)->models[0].text, "T4"));
    assert_false(demand_histogram_shape(m, 1)->models[0].exclude);
    assert_true(demand_histogram_shape(m, 2)->models[0].exclude);
    demand_histogram_free(m);
}

static void demand_histogram__defective_pods__do_not_count(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    struct demand d = {.defect = DEMAND_COUNT};

    demand_histogram_arrived(m, &d);
    demand_histogram_departed(m, &d);
    assert_int_equal(demand_histogram_shape_n(m), 0);
    assert_int_equal(demand_histogram_arrived_n(m) + demand_histogram_departed_n(m), 0);
    demand_histogram_free(m);
}

static void demand_histogram__several_containers__are_summed_on_few_devices(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    struct gpu_request w[3] = {
        {.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 700, .mem_mib = 1000, .phases = 1},
        {.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 500, .mem_mib = 3000, .phases = 1},
        {.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 900, .mem_mib = 100, .phases = 2}, /* alone, before them */
    };
    struct demand d = {.gpu_request_n = 3, .gpu_requests = w};

    demand_histogram_arrived(m, &d);
    assert_int_equal(demand_histogram_shape(m, 0)->count, 2);
    assert_int_equal(demand_histogram_shape(m, 0)->milli, 600);
    assert_int_equal(demand_histogram_shape(m, 0)->mem_mib, 2000);
    demand_histogram_free(m);
}

/* Whole GPUs before all; else what the first container asks in. */
static void demand_histogram__several_containers__kind_of_their_sum(void **state)
{
    const enum gpu_request_kind M = GPU_REQUEST_MILLI, R = GPU_REQUEST_MEMORY, B = GPU_REQUEST_BOTH,
                                W = GPU_REQUEST_WHOLE;
    const enum gpu_request_kind rows[][3] = {
        {M, M, M}, {R, R, R}, {B, B, B}, {W, W, W}, {M, R, M}, {R, M, R}, {B, M, M}, {M, W, W}, {W, R, W}, {R, B, R},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct demand_histogram *m = demand_histogram_new();
        const struct gpu_request w[2] = {
            {.count = 1, .kind = rows[i][0], .milli = 100, .mem_mib = 1000, .phases = 1},
            {.count = 1, .kind = rows[i][1], .milli = 100, .mem_mib = 1000, .phases = 1},
        };
        const struct demand d = {.gpu_request_n = 2, .gpu_requests = w};

        demand_histogram_arrived(m, &d);
        assert_int_equal(demand_histogram_shape(m, 0)->kind, rows[i][2]);
        demand_histogram_free(m);
    }
}

static void demand_histogram__plugin_gpus__are_whole_and_marked(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    struct demand d = {.plugin_managed_n = 4};

    demand_histogram_arrived(m, &d);
    assert_true(demand_histogram_shape(m, 0)->plugin_managed);
    assert_int_equal(demand_histogram_shape(m, 0)->count, 4);
    assert_int_equal(demand_histogram_shape(m, 0)->milli, 1000);
    demand_histogram_free(m);
}

static void demand_histogram__between_settlements__readers_see_the_same(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    uint64_t version;

    arrive(m, 1000, 1, 300, 32);
    arrive(m, 1000, 1, 301, 32); /* at 64 */
    version = demand_histogram_version(m);
    assert_int_equal(weight(m, 1000, 1, 301), 32 * DEMAND_HISTOGRAM_POD);
    arrive(m, 1000, 1, 301, DEMAND_HISTOGRAM_SETTLE_MIN - 1);
    assert_int_equal(demand_histogram_version(m), version);
    assert_int_equal(weight(m, 1000, 1, 301), 32 * DEMAND_HISTOGRAM_POD);
    arrive(m, 1000, 1, 301, 1);
    assert_int_equal(demand_histogram_version(m), version + 1);
    assert_int_equal(weight(m, 1000, 1, 301), 64 * DEMAND_HISTOGRAM_POD);
    demand_histogram_free(m);
}

static void demand_histogram__more_of_the_same__is_not_settled_again(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    uint64_t version;

    for (int i = 0; i < 500; i++) {
        arrive(m, 1000, 1, 300, 1);
        arrive(m, 1000, 1, 301, 1);
    }
    demand_histogram_settle(m);
    version = demand_histogram_version(m);
    for (int i = 0; i < 1400; i++) {
        arrive(m, 1000, 1, 300, 1);
        arrive(m, 1000, 1, 301, 1);
    }
    assert_int_equal(demand_histogram_version(m), version);
    arrive(m, 1000, 1, 300, 1400); /* from 50 % to 68 % */
    assert_in_range(demand_histogram_version(m) - version, 3, 7);
    demand_histogram_free(m);
}

static void demand_histogram__many_times_as_many_of_the_same__is_better_known(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    uint64_t settled;

    arrive(m, 1000, 1, 300, 1);
    for (int i = 1; i < 4000; i++) {
        arrive(m, 1000, 1, 300, 1);
        settled = weight(m, 1000, 1, 300) / DEMAND_HISTOGRAM_POD;
        assert_true(settled * DEMAND_HISTOGRAM_GROWN + DEMAND_HISTOGRAM_SETTLE_MIN + (uint64_t)i / 20 > (uint64_t)i);
    }
    assert_in_range(demand_histogram_version(m), 4, 8);
    demand_histogram_free(m);
}

static void demand_histogram__new_shape_for_several_devices__is_settled_at_the_next_step(void **state)
{
    struct demand_histogram *m = demand_histogram_new();

    arrive(m, 1000, 1, 300, 1000);
    arrive(m, 1000, 8, 1000, 1);
    arrive(m, 1000, 1, 300, 60);
    assert_int_equal(weight(m, 1000, 8, 1000), DEMAND_HISTOGRAM_POD);
    demand_histogram_free(m);
}

static void demand_histogram__too_many_shapes__forgets_the_rare_but_not_those_for_several_devices(void **state)
{
    struct demand_histogram *m = demand_histogram_new();

    arrive(m, 7, 8, 1000, 1); /* once only, long ago */
    for (int i = 0; i < 3 * DEMAND_HISTOGRAM_SHAPES_MAX; i++) {
        arrive(m, 1000 + i, 1, 300, 1);
        arrive(m, 99, 1, 500, 1);
    }
    demand_histogram_settle(m);
    assert_in_range(demand_histogram_shape_n(m), DEMAND_HISTOGRAM_SHAPES_MAX / 2, DEMAND_HISTOGRAM_SHAPES_MAX);
    assert_int_equal(weight(m, 7, 8, 1000), DEMAND_HISTOGRAM_POD);
    assert_int_equal(weight(m, 99, 1, 500), 3 * DEMAND_HISTOGRAM_SHAPES_MAX * DEMAND_HISTOGRAM_POD);
    assert_int_equal(weight(m, 1000, 1, 300), 0);
    assert_int_equal(weight(m, 1000 + 3 * DEMAND_HISTOGRAM_SHAPES_MAX - 1, 1, 300), DEMAND_HISTOGRAM_POD);
    demand_histogram_free(m);
}

static void demand_histogram__other_pods_for_long__replace_what_was(void **state)
{
    struct demand_histogram *m = demand_histogram_new();

    arrive(m, 1, 1, 100, 1000);
    arrive(m, 2, 8, 1000, 1000);
    arrive(m, 3, 1, 300, 20 * DEMAND_HISTOGRAM_PODS_MAX);
    demand_histogram_settle(m);
    assert_int_equal(weight(m, 1, 1, 100), 0);
    assert_in_range(weight(m, 2, 8, 1000), 1, DEMAND_HISTOGRAM_POD);
    assert_in_range(weight(m, 3, 1, 300),
                    (uint64_t)DEMAND_HISTOGRAM_PODS_MAX / 2 * DEMAND_HISTOGRAM_POD - DEMAND_HISTOGRAM_POD,
                    (uint64_t)DEMAND_HISTOGRAM_PODS_MAX * DEMAND_HISTOGRAM_POD);
    demand_histogram_free(m);
}

/* ---- the numbers themselves: another one learns otherwise, and replicas of two versions would disagree ---- */

static void demand_histogram__every_pod_is_news__is_looked_at_in_steps(void **state)
{
    static const uint64_t steps[] = {1, 2, 4, 8, 16, 32};
    struct demand_histogram *m = demand_histogram_new();
    uint64_t next = 0, at = 0;

    for (uint64_t i = 1; i <= 900; i++) {
        uint64_t version = demand_histogram_version(m);

        arrive(m, (int32_t)i, 2, 1000, 1); /* a new shape for several devices */
        if (demand_histogram_version(m) != version) {
            at = at < 32 ? steps[next++] : at + (at / 20 > 32 ? at / 20 : 32);
            assert_int_equal(i, at);
        }
    }
    assert_int_equal(at, 897); /* 32, 64 .. 672, 705, 740, 777, 815, 855, 897 */
    demand_histogram_free(m);
}

static void demand_histogram__so_many_are_others__is_settled(void **state)
{
    for (int others = 8; others <= 12; others++) {
        struct demand_histogram *m = demand_histogram_new();
        uint64_t version;

        arrive(m, 1000, 1, 300, 320 - others); /* settled at 256 */
        version = demand_histogram_version(m);
        arrive(m, 1000, 1, 301, others); /* looked at with 320, of which 10 are a part of 32 */
        assert_int_equal(demand_histogram_version(m) - version, others >= 10);
        demand_histogram_free(m);
    }
}

static void demand_histogram__four_times_as_many__is_settled(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    uint64_t last = 0;

    for (uint64_t i = 1; i <= 512; i++) {
        uint64_t version = demand_histogram_version(m);

        arrive(m, 1000, 1, 300, 1);
        if (demand_histogram_version(m) != version) {
            assert_int_equal(i, last == 0 ? 1 : 4 * last); /* 1, 4, 16, 64, 256: all of them are steps */
            last = i;
        }
    }
    assert_int_equal(last, 256);
    demand_histogram_free(m);
}

static void demand_histogram__1024_shapes__are_kept_and_one_more_leaves_half(void **state)
{
    struct demand_histogram *m = demand_histogram_new();

    for (int i = 0; i < 1024; i++) {
        arrive(m, 1000 + i, 1, 300, 1);
    }
    assert_int_equal(demand_histogram_shape_n(m), 1024);
    arrive(m, 1, 1, 300, 1);
    assert_int_equal(demand_histogram_shape_n(m), 513);
    demand_histogram_free(m);
}

/* The half that goes are all of the rare, and then some of those that are as frequent as the middle one. */
static void demand_histogram__fewer_than_half_are_rare__others_make_up_for_it(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    unsigned rare_n = 0;

    for (int i = 0; i < 1024; i++) {
        arrive(m, 1000 + i, 1, 300, i % 5 < 2 ? 1 : 3);
    }
    arrive(m, 1, 1, 300, 1);
    demand_histogram_settle(m);
    assert_int_equal(demand_histogram_shape_n(m), 513);
    for (int i = 0; i < 1024; i++) {
        rare_n += weight(m, 1000 + i, 1, 300) == DEMAND_HISTOGRAM_POD;
    }
    assert_int_equal(rare_n, 0);
    demand_histogram_free(m);
}

static void demand_histogram__32768_pods__are_halved(void **state)
{
    struct demand_histogram *m = demand_histogram_new();

    arrive(m, 1000, 1, 300, 32767);
    demand_histogram_settle(m);
    assert_int_equal(weight(m, 1000, 1, 300), 32767 * 1024);
    arrive(m, 1000, 1, 300, 1);
    demand_histogram_settle(m);
    assert_int_equal(weight(m, 1000, 1, 300), 16384 * 1024);
    demand_histogram_free(m);
}

static void demand_histogram__halved_for_the_fifth_time__a_single_pod_is_forgotten(void **state)
{
    struct demand_histogram *m = demand_histogram_new();

    arrive(m, 1, 1, 100, 1);
    arrive(m, 2, 8, 1000, 1);
    arrive(m, 3, 1, 300, 32766); /* halved */
    for (uint64_t left = 512; left >= 64; left /= 2) {
        demand_histogram_settle(m);
        assert_int_equal(weight(m, 1, 1, 100), left);
        assert_int_equal(weight(m, 2, 8, 1000), left);
        arrive(m, 3, 1, 300, 16385);
    }
    demand_histogram_settle(m);
    assert_int_equal(weight(m, 1, 1, 100), 0);
    assert_int_equal(weight(m, 2, 8, 1000), 64);
    demand_histogram_free(m);
}

/* The share of departures x after n of them is 1 - (1023/1024)^n, and chi is 2x rounded to sixteenths. */
static void churn__pods_leave__moves_over_1024_events(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    struct gpu_request w;
    struct demand d = pod(&w, 1000, 1, 300);
    int n = 0;

    for (; demand_histogram_churn(m) == 0; n++) {
        demand_histogram_departed(m, &d);
    }
    assert_int_equal(n, 17);
    for (; demand_histogram_churn(m) < 16; n++) {
        demand_histogram_departed(m, &d);
    }
    assert_int_equal(n, 678); /* x from 31/64 on */
    for (; n < 4000; n++) {
        demand_histogram_departed(m, &d);
    }
    assert_int_equal(demand_histogram_churn(m), 16);
    demand_histogram_free(m);
}

static void churn__nobody_leaves__is_none_and_in_balance__is_all(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    struct gpu_request w;
    struct demand d = pod(&w, 1000, 1, 300);

    arrive(m, 1000, 1, 300, 5000);
    assert_int_equal(demand_histogram_churn(m), 0);
    for (int i = 0; i < 10000; i++) {
        demand_histogram_arrived(m, &d);
        demand_histogram_departed(m, &d);
    }
    assert_int_equal(demand_histogram_churn(m), 16);
    for (int i = 0; i < 10000; i++) {
        arrive(m, 1000, 1, 300, 3);
        demand_histogram_departed(m, &d);
    }
    assert_int_equal(demand_histogram_churn(m), 8);
    demand_histogram_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demand_histogram__equal_pods__count_as_one_shape),
        cmocka_unit_test(demand_histogram__models__are_part_of_the_shape_and_copied),
        cmocka_unit_test(demand_histogram__defective_pods__do_not_count),
        cmocka_unit_test(demand_histogram__several_containers__are_summed_on_few_devices),
        cmocka_unit_test(demand_histogram__several_containers__kind_of_their_sum),
        cmocka_unit_test(demand_histogram__plugin_gpus__are_whole_and_marked),
        cmocka_unit_test(demand_histogram__between_settlements__readers_see_the_same),
        cmocka_unit_test(demand_histogram__more_of_the_same__is_not_settled_again),
        cmocka_unit_test(demand_histogram__many_times_as_many_of_the_same__is_better_known),
        cmocka_unit_test(demand_histogram__new_shape_for_several_devices__is_settled_at_the_next_step),
        cmocka_unit_test(demand_histogram__too_many_shapes__forgets_the_rare_but_not_those_for_several_devices),
        cmocka_unit_test(demand_histogram__other_pods_for_long__replace_what_was),
        cmocka_unit_test(demand_histogram__every_pod_is_news__is_looked_at_in_steps),
        cmocka_unit_test(demand_histogram__so_many_are_others__is_settled),
        cmocka_unit_test(demand_histogram__four_times_as_many__is_settled),
        cmocka_unit_test(demand_histogram__1024_shapes__are_kept_and_one_more_leaves_half),
        cmocka_unit_test(demand_histogram__fewer_than_half_are_rare__others_make_up_for_it),
        cmocka_unit_test(demand_histogram__32768_pods__are_halved),
        cmocka_unit_test(demand_histogram__halved_for_the_fifth_time__a_single_pod_is_forgotten),
        cmocka_unit_test(churn__pods_leave__moves_over_1024_events),
        cmocka_unit_test(churn__nobody_leaves__is_none_and_in_balance__is_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
