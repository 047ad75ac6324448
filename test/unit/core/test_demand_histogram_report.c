/* What is told of a demand histogram and of what is scarce. */
#include "core/forecast/forecast.h"
#include "core/ledger/ledger.h"
#include "core/report/demand_histogram.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <string.h>

static struct demand_histogram *demand_histogram;
static struct demand_histogram_report report;

static int setup(void **state)
{
    demand_histogram = demand_histogram_new();
    return 0;
}

static int teardown(void **state)
{
    demand_histogram_free(demand_histogram);
    return 0;
}

static void arrive(uint16_t count, int32_t milli, int32_t cpu, int times)
{
    struct gpu_request w = {.count = count, .kind = GPU_REQUEST_MILLI, .milli = milli, .phases = 1};
    const struct demand d = {.host = {cpu, 512}, .gpu_request_n = count > 0, .gpu_requests = &w};

    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(demand_histogram, &d);
    }
}

static void take(void)
{
    memset(&report, 0xff, sizeof(report)); /* what it leaves out would be seen */
    demand_histogram_report_take(demand_histogram, &report);
}

static void report__nothing_has_come__is_empty(void **state)
{
    take();
    assert_true(report.arrived_n == 0 && report.departed_n == 0 && report.churn == 0);
    assert_true(report.weight == 0 && report.shape_n == 0 && report.top_n == 0);
}

static void report__some_shapes__most_frequent_first_then_larger(void **state)
{
    const struct demand gone = {.dialect = ""};

    arrive(1, 300, 1000, 2);
    arrive(0, 0, 4000, 5);
    arrive(2, 500, 1000, 2);
    arrive(1, 700, 1000, 2);
    demand_histogram_departed(demand_histogram, &gone);
    demand_histogram_settle(demand_histogram);
    take();
    assert_int_equal(report.arrived_n, 11);
    assert_int_equal(report.departed_n, 1);
    assert_int_equal(report.churn, demand_histogram_churn(demand_histogram));
    assert_int_equal(report.weight, 11 * DEMAND_HISTOGRAM_POD);
    assert_int_equal(report.shape_n, 4);
    assert_int_equal(report.top_n, 4);
    assert_true(report.top[0].count == 0 && report.top[0].weight == 5 * DEMAND_HISTOGRAM_POD);
    assert_int_equal(report.top[0].host.cpu_milli, 4000);
    assert_int_equal(report.top[0].host.mem_mib, 512);
    assert_true(report.top[1].count == 2 && report.top[1].milli == 500);
    assert_true(report.top[2].count == 1 && report.top[2].milli == 700);
    assert_true(report.top[3].count == 1 && report.top[3].milli == 300 && report.top[3].kind == GPU_REQUEST_MILLI);
    assert_string_equal(report.top[3].models, "");
    assert_false(report.top[3].models_cut);
}

static void report__not_settled_yet__is_not_told(void **state)
{
    arrive(1, 300, 0, DEMAND_HISTOGRAM_SETTLE_MIN + 200);
    arrive(1, 900, 0, 1);
    take();
    assert_int_equal(report.arrived_n, DEMAND_HISTOGRAM_SETTLE_MIN + 201);
    assert_int_equal(report.shape_n, 1); /* decisions do not go by the other one either */
    assert_int_equal(report.top_n, 1);
    assert_int_equal(report.top[0].milli, 300);
}

static void report__many_shapes__the_most_frequent_and_the_weight_of_all(void **state)
{
    for (int i = 1; i <= 100; i++) { /* frequencies in no order */
        arrive(1, i, 0, 1 + i * 37 % 101);
    }
    demand_histogram_settle(demand_histogram);
    take();
    assert_int_equal(report.shape_n, 100);
    assert_int_equal(report.top_n, DEMAND_HISTOGRAM_REPORT_SHAPES_MAX);
    assert_int_equal(report.weight, DEMAND_HISTOGRAM_POD * (100 + 100 * 101 / 2)); /* i * 37 % 101 are 1 to 100 */
    for (size_t i = 0; i < report.top_n; i++) {
        assert_int_equal(report.top[i].weight, DEMAND_HISTOGRAM_POD * (101 - i));
    }
}

static void report__the_same_pods_in_another_order__is_the_same(void **state)
{
    struct demand_histogram_report first;

    for (int i = 0; i < 50; i++) {
        arrive((uint16_t)(1 + i % 3), 20 + i, i * 100, 3);
    }
    demand_histogram_settle(demand_histogram);
    take();
    first = report;
    demand_histogram_free(demand_histogram);
    demand_histogram = demand_histogram_new();
    for (int i = 49; i >= 0; i--) {
        arrive((uint16_t)(1 + i % 3), 20 + i, i * 100, 3);
    }
    demand_histogram_settle(demand_histogram);
    take();
    assert_int_equal(first.top_n, report.top_n);
    for (size_t i = 0; i < report.top_n; i++) {
        assert_int_equal(first.top[i].milli, report.top[i].milli);
        assert_int_equal(first.top[i].count, report.top[i].count);
    }
}

/* Of equally frequent shapes the larger one first, by one thing after the other; whichever came first. */
static void report__equally_frequent__in_one_order(void **state)
{
    static const struct device_pattern models[][2] = {{{.text = {"A100", 4}}},
                                                      {{.text = {"T4", 2}, .exclude = true}},
                                                      {{.text = {"T4", 2}}},
                                                      {{.text = {"A", 1}}, {{"B", 1}}}};
    static const struct {
        struct gpu_request w;
        struct host_request host;
        size_t models, model_n; /* which of them */
    } shapes[] = {
        {{.count = 2, .kind = GPU_REQUEST_MILLI, .milli = 100}, {1000, 512}},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 300}, {1000, 512}},
        {{.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 200, .mem_mib = 900}, {1000, 512}},
        {{.count = 1, .kind = GPU_REQUEST_BOTH, .milli = 200, .mem_mib = 800}, {1000, 512}},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 200}, {2000, 100}},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 200}, {1000, 512}, 3, 2},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 200}, {1000, 512}, 0, 1},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 200}, {1000, 512}, 1, 1},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 200}, {1000, 512}, 2, 1},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 200}, {1000, 512}},
        {{.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 100}, {1000, 512}},
    };
    static const char *const words[] = {"", "", "", "", "", "A,B", "A100", "!T4", "T4", "", ""};
    enum { N = sizeof(shapes) / sizeof(shapes[0]) };

    for (int from_behind = 0; from_behind < 2; from_behind++) {
        demand_histogram_free(demand_histogram);
        demand_histogram = demand_histogram_new();
        for (size_t i = 0; i < N; i++) {
            const size_t at = from_behind ? N - 1 - i : i;
            struct gpu_request w = shapes[at].w;
            const struct demand d = {.host = shapes[at].host,
                                     .gpu_request_n = 1,
                                     .gpu_requests = &w,
                                     .model_n = shapes[at].model_n,
                                     .models = models[shapes[at].models]};

            w.phases = 1;
            demand_histogram_arrived(demand_histogram, &d);
            demand_histogram_arrived(demand_histogram, &d);
        }
        demand_histogram_settle(demand_histogram);
        take();
        assert_int_equal(report.top_n, N);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(report.top[i].count, shapes[i].w.count);
            assert_int_equal(report.top[i].milli, shapes[i].w.milli);
            assert_int_equal(report.top[i].mem_mib, shapes[i].w.mem_mib);
            assert_int_equal(report.top[i].host.cpu_milli, shapes[i].host.cpu_milli);
            assert_string_equal(report.top[i].models, words[i]);
        }
    }
}

static void report__models__as_the_annotation_says_them(void **state)
{
    char long_name[DEMAND_HISTOGRAM_REPORT_MODELS_BYTES];
    struct device_pattern patterns[3] = {
        {.text = STR("A100*")}, {.text = STR("T4"), .exclude = true}, {.text = {long_name, 100}}};
    struct gpu_request w = {.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 100, .phases = 1};
    struct demand d = {.gpu_request_n = 1, .gpu_requests = &w, .model_n = 2, .models = patterns};
    char exact[DEMAND_HISTOGRAM_REPORT_MODELS_BYTES];

    memset(long_name, 'x', sizeof(long_name));
    demand_histogram_arrived(demand_histogram, &d);
    demand_histogram_settle(demand_histogram);
    take();
    assert_string_equal(report.top[0].models, "A100*,!T4");
    assert_false(report.top[0].models_cut);

    patterns[2].text.n = sizeof(long_name) - 1 - strlen("A100*,!T4,"); /* just fits */
    d.model_n = 3;
    for (int i = 0; i < 2; i++) {
        demand_histogram_arrived(demand_histogram, &d);
    }
    demand_histogram_settle(demand_histogram);
    take();
    assert_int_equal(strlen(report.top[0].models), sizeof(exact) - 1);
    assert_false(report.top[0].models_cut);

    patterns[2].text.n++;
    for (int i = 0; i < 3; i++) {
        demand_histogram_arrived(demand_histogram, &d);
    }
    demand_histogram_settle(demand_histogram);
    take();
    assert_string_equal(report.top[0].models, "A100*,!T4");
    assert_true(report.top[0].models_cut);
}

/* ---- what is scarce ---- */

static void prices__before_anybody_looked_ahead__are_not_known(void **state)
{
    struct forecast *o = forecast_new();
    struct forecast_report r;

    forecast_report(o, &r);
    assert_false(r.known);
    forecast_free(o);
}

static struct forecast_scarce scarce(const struct forecast_report *r, enum forecast_good good, int count, int milli)
{
    for (size_t i = 0; i < r->scarce_n; i++) {
        if (r->scarce[i].good == good && r->scarce[i].count == count && r->scarce[i].milli == milli) {
            return r->scarce[i];
        }
    }
    fail_msg("no such good: %d x %d milli", count, milli);
    return (struct forecast_scarce){.count = 0};
}

/* Two machines of eight GPUs and one of two; pods for eight GPUs make nearly all. */
static void prices__whole_machines_are_wanted__have_a_price(void **state)
{
    struct ledger_fixture f;
    struct forecast *o = forecast_new();
    const struct strategy *rsp = strategy_find(STR("rsp"));
    struct forecast_report r = {.scarce_n = 0};
    const struct demand gang = WHOLE_GPUS(8), share = SHARE_OF(600);
    struct forecast_scarce places, sized;

    fixture_init(&f);
    fixture_node(&f, "a", 8, 1024);
    fixture_node(&f, "b", 8, 1024);
    fixture_node(&f, "c", 2, 1024);
    for (int i = 0; i < 90; i++) {
        demand_histogram_arrived(demand_histogram, &gang);
        demand_histogram_arrived(demand_histogram, &share);
        demand_histogram_arrived(demand_histogram, &share);
    }
    demand_histogram_settle(demand_histogram);
    forecast_give_demand_histogram(o, demand_histogram);
    while (!forecast_follow(o, ledger_cluster_view(f.l), rsp)) {
    }
    forecast_report(o, &r);
    assert_true(r.known);
    assert_int_equal(r.scarce_n, forecast_prices(o)->n);
    /* Two kinds of machines have priors at most: 4 of 8 GPUs, against 90 * (8 + 1.2) GPUs, and
     * never above 3 %. */
    assert_true(r.prior_permille > 0 && r.prior_permille <= 30);
    assert_true(r.churn == 0 && r.scarce_cpu == 0);
    for (size_t i = 0; i < r.scarce_n; i++) {
        assert_true(r.scarce[i].price_permille >= 0 && r.scarce[i].price_permille <= 1000);
    }
    places = scarce(&r, FORECAST_PLACES, 8, 1000);
    assert_int_equal(places.node_n, 2);
    assert_int_equal(places.supply_milli, 16000);
    assert_in_range(places.share_permille, 860, 880); /* 8 / (8 + 1.2) = 0.87, and some that nobody has seen */
    assert_true(places.price_permille > 0);
    sized = scarce(&r, FORECAST_SIZE, 0, 600);
    assert_int_equal(sized.node_n, 3);
    assert_int_equal(sized.share_permille, 1000); /* a whole GPU is at least 600 milli, too */
    forecast_free(o);
    fixture_fini(&f);
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(report__nothing_has_come__is_empty),
        TEST(report__some_shapes__most_frequent_first_then_larger),
        TEST(report__not_settled_yet__is_not_told),
        TEST(report__many_shapes__the_most_frequent_and_the_weight_of_all),
        TEST(report__the_same_pods_in_another_order__is_the_same),
        TEST(report__equally_frequent__in_one_order),
        TEST(report__models__as_the_annotation_says_them),
        TEST(prices__before_anybody_looked_ahead__are_not_known),
        TEST(prices__whole_machines_are_wanted__have_a_price),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
