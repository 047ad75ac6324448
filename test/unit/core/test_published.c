/* The published strategies, by numbers worked out by hand from their formulas, and the measure of
 * fgd. */
#include "core/forecast/fragmentation.h"
#include "core/forecast/forecast.h"
#include "core/placement/pack.h"
#include "core/request/demand_histogram.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdio.h>

/* A node of four GPUs and 16 cores; pods that hold parts of it are bound first. */
struct scene {
    struct ledger_fixture f;
    struct forecast *forecast;
    struct demand_histogram *demand_histogram;
    int pod_n;
};

static void begin(struct scene *s)
{
    *s = (struct scene){.forecast = forecast_new(), .demand_histogram = demand_histogram_new()};
    fixture_init(&s->f);
    s->f.host = (struct host_capacity){16000, 65536};
    fixture_node(&s->f, "a", 4, 0);
}

static void end(struct scene *s)
{
    fixture_fini(&s->f);
    forecast_free(s->forecast);
    demand_histogram_free(s->demand_histogram);
}

static struct demand asks(struct gpu_request *w, int32_t cpu_milli, int32_t milli, uint16_t gpu_n)
{
    struct demand d = milli < 1000 ? fixture_share(w, milli) : fixture_whole(w, gpu_n);

    if (gpu_n == 0) {
        d = (struct demand){.dialect = ""};
    }
    d.host.cpu_milli = cpu_milli;
    return d;
}

static struct pack_params params_of(const struct scene *s, const char *name)
{
    const struct strategy *t = strategy_find(str_of(name));

    assert_non_null(t);
    return (struct pack_params){.node_strategy = t, .device_strategy = t, .forecast = s->forecast};
}

/* The pod takes its place on the node as the strategy decides. */
static void bind(struct scene *s, const char *strategy, const struct demand *d)
{
    struct pack_params p = params_of(s, strategy);
    struct placement at;
    char uid[16];
    struct ledger_op op = {.kind = LEDGER_RESERVE};

    snprintf(uid, sizeof(uid), "p%d", s->pod_n++);
    assert_int_equal(fixture_pod(&s->f, uid, d, NULL, NULL), 0);
    assert_int_equal(ledger_place_pod(s->f.l, STR("a"), str_of(uid), &p, &at), VERDICT_FITS);
    op.reserve =
        (struct ledger_reserve){.uid = str_of(uid), .node_name = STR("a"), .decision_id = STR("d"), .placement = &at};
    assert_int_equal(ledger_apply(s->f.l, &op, NULL), 0);
}

static void expect(struct scene *s, const struct demand *d, int times)
{
    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(s->demand_histogram, d);
    }
}

static void follow(struct scene *s, const char *strategy)
{
    demand_histogram_settle(s->demand_histogram);
    forecast_give_demand_histogram(s->forecast, s->demand_histogram);
    while (!forecast_follow(s->forecast, ledger_cluster_view(s->f.l), strategy_find(str_of(strategy)))) {
    }
}

/* The score, and the devices in *ret (NULL: not wanted). */
static int64_t score_of(struct scene *s, const char *strategy, const struct demand *d, uint64_t *ret)
{
    struct pack_params p = params_of(s, strategy);
    struct placement at = {{0}};
    struct ledger_view v;
    int64_t score = INT64_MIN;

    arena_reset(&s->f.arena);
    assert_int_equal(ledger_view(s->f.l, &s->f.arena, VIEW_POD("asks", d), &v, NULL), 0);
    assert_int_equal(pack_node(&v, ledger_view_find(&v, STR("a")), &p, &score, &at), VERDICT_FITS);
    if (ret != NULL) {
        *ret = at.gpu_request_devices[0];
    }
    return score;
}

/* ---- formulas ---- */

static void best_fit__parts_and_whole_gpus__what_is_left_over_counts(void **state)
{
    struct gpu_request w;
    struct scene s;
    struct demand d = asks(&w, 4000, 500, 1);

    begin(&s);
    /* 12 cores and 3.5 GPUs are left: 100 (1 - (12/128 + 3.5/8) / 2) = 73.4 */
    assert_int_equal(score_of(&s, "best-fit", &d, NULL), 73);
    d = asks(&w, 16000, 1000, 4); /* nothing is left */
    assert_int_equal(score_of(&s, "best-fit", &d, NULL), 100);
    d = asks(&w, 1000, 0, 0); /* wants no GPU: 15 cores and 4 GPUs: 69.1 */
    assert_int_equal(score_of(&s, "best-fit", &d, NULL), 69);
    end(&s);
}

static void best_fit__all_that_fit__are_rescaled_to_a_hundred(void **state)
{
    struct pack_result r[] = {{.verdict = VERDICT_FITS, .score = 40},
                              {.verdict = VERDICT_NO_GPU, .score = 0},
                              {.verdict = VERDICT_FITS, .score = 43},
                              {.verdict = VERDICT_FITS, .score = 47}};
    struct pack_result same[] = {{.verdict = VERDICT_FITS, .score = 7}, {.verdict = VERDICT_FITS, .score = 7}};
    const struct strategy *s = strategy_find(STR("best-fit"));

    s->normalise(r, 4);
    assert_int_equal(r[0].score, 0);
    assert_int_equal(r[1].score, 0);
    assert_int_equal(r[2].score, 42); /* 3 of 7, rounded down */
    assert_int_equal(r[3].score, 100);
    s->normalise(same, 2);
    assert_int_equal(same[0].score, same[1].score);
    s->normalise(NULL, 0);
}

static void dot_product__free_and_asked__small_products_are_preferred(void **state)
{
    struct gpu_request w;
    struct scene s;
    struct demand d = asks(&w, 16000, 1000, 4);

    begin(&s);
    /* 100 (1 - (16/128 x 16/128 + 4/8 x 4/8) / 2) = 86.7 */
    assert_int_equal(score_of(&s, "dot-product", &d, NULL), 86);
    d = asks(&w, 0, 0, 0);
    assert_int_equal(score_of(&s, "dot-product", &d, NULL), 100);
    end(&s);
}

static void gpu_packing__free_opened_and_used__stand_in_this_order(void **state)
{
    struct gpu_request w, x;
    struct scene s;
    struct demand one = asks(&w, 1000, 300, 1), two = asks(&x, 1000, 1000, 2);
    struct demand big = asks(&w, 1000, 800, 1), none = asks(&w, 1000, 0, 0);

    begin(&s);
    one = asks(&w, 1000, 300, 1);
    assert_int_equal(score_of(&s, "gpu-packing", &one, NULL), 33 - 4);
    bind(&s, "gpu-packing", &one);
    assert_int_equal(score_of(&s, "gpu-packing", &one, NULL), 100 - 7); /* 70 % free */
    assert_int_equal(score_of(&s, "gpu-packing", &two, NULL), 50 - 2);
    big = asks(&w, 1000, 800, 1);
    assert_int_equal(score_of(&s, "gpu-packing", &big, NULL), 50 - 1);
    none = asks(&w, 1000, 0, 0);
    assert_int_equal(score_of(&s, "gpu-packing", &none, NULL), 0);
    end(&s);
}

static void gpu_clustering__company__own_kind_is_preferred(void **state)
{
    struct gpu_request w, x;
    struct scene s;
    struct demand shared = asks(&w, 1000, 500, 1), two = asks(&x, 1000, 1000, 2);

    begin(&s);
    assert_int_equal(score_of(&s, "gpu-clustering", &shared, NULL), 12 + 25); /* 25 (8 - 4) / 8, nobody there */
    bind(&s, "gpu-clustering", &shared);
    assert_int_equal(score_of(&s, "gpu-clustering", &shared, NULL), 14 + 75); /* 3.5 GPUs free */
    assert_int_equal(score_of(&s, "gpu-clustering", &two, NULL), 14);         /* others only */
    bind(&s, "gpu-clustering", &two);
    assert_int_equal(score_of(&s, "gpu-clustering", &shared, NULL), 20 + 50); /* 1.5 free, two kinds */
    end(&s);
}

static void published__several_gpus_fit__the_tightest_is_taken(void **state)
{
    static const char *const names[] = {"best-fit", "dot-product", "gpu-packing", "gpu-clustering"};
    struct gpu_request w;
    struct scene s;
    struct demand d = asks(&w, 1000, 600, 1);
    uint64_t devices;

    begin(&s);
    bind(&s, "best-fit", &d);
    d = asks(&w, 1000, 700, 1);
    bind(&s, "best-fit", &d); /* GPU 0 has 400 free, GPU 1 has 300 */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        d = asks(&w, 1000, 300, 1);
        score_of(&s, names[i], &d, &devices);
        assert_int_equal(devices, 1 << 1);
        d = asks(&w, 1000, 1000, 1);
        score_of(&s, names[i], &d, &devices);
        assert_int_equal(devices, 1 << 2);
    }
    end(&s);
}

/* ---- fgd ---- */

static double fragmentation(struct scene *s)
{
    struct ledger_view v;
    struct demand d = {.dialect = ""};
    const struct node_state *n;

    arena_reset(&s->f.arena);
    assert_int_equal(ledger_view(s->f.l, &s->f.arena, VIEW_POD("asks", &d), &v, NULL), 0);
    n = ledger_view_find(&v, STR("a"));
    return fragmentation_milli(
        &(struct fragmentation_node){.devices = &v.devices[n->first_device], .device_n = n->device_n, .host = n->host},
        forecast_typical(s->forecast), forecast_typical_n(s->forecast));
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9) {
        fail_msg("%.12f is not %.12f", a, b);
    }
}

static void fragmentation__each_cause__leaves_what_the_formula_says(void **state)
{
    static const struct device_pattern other[] = {{.text = {"OTHER", 5}}};
    struct gpu_request w, x;
    struct scene s;
    struct demand d = asks(&w, 2000, 600, 1);

    begin(&s);
    bind(&s, "best-fit", &d); /* 400 free on GPU 0, three free GPUs, 14 cores: 3400 idle */
    expect(&s, &d, 1);
    follow(&s, "fgd");
    assert_near(fragmentation(&s), 400); /* too little on GPU 0 */
    d = asks(&x, 2000, 1000, 4);
    expect(&s, &d, 1);
    follow(&s, "fgd");
    assert_near(fragmentation(&s), (400 + 3400) / 2.0); /* no four free GPUs */
    d = asks(&w, 15000, 100, 1);
    expect(&s, &d, 1);
    follow(&s, "fgd");
    assert_near(fragmentation(&s), (400 + 2 * 3400) / 3.0); /* no 15 cores */
    d = asks(&w, 1000, 0, 0);
    expect(&s, &d, 1);
    follow(&s, "fgd");
    assert_near(fragmentation(&s), (400 + 3 * 3400) / 4.0); /* wants no GPU */
    d = asks(&w, 1000, 100, 1);
    d.models = other;
    d.model_n = 1;
    expect(&s, &d, 1);
    follow(&s, "fgd");
    assert_near(fragmentation(&s), (400 + 4 * 3400) / 5.0); /* another model */
    end(&s);
}

static void fgd__two_gpus_fit__the_one_that_leaves_more_is_taken(void **state)
{
    struct gpu_request w;
    struct scene s;
    struct demand d = asks(&w, 1000, 500, 1);
    uint64_t devices;

    begin(&s);
    bind(&s, "best-fit", &d); /* GPU 0: 500 free */
    d = asks(&w, 1000, 1000, 1);
    expect(&s, &d, 1);
    follow(&s, "fgd");
    d = asks(&w, 1000, 500, 1);
    /* Whole GPUs are expected, so the half one is worth nothing: F falls by 500. sigma(0.5) = 0.622
     */
    assert_int_equal(score_of(&s, "fgd", &d, &devices), 62);
    assert_int_equal(devices, 1);
    /* On a free GPU F would grow by 500: sigma(-0.5) = 0.377 */
    d = asks(&w, 1000, 600, 1);
    assert_int_equal(score_of(&s, "fgd", &d, &devices), 40); /* F + 400: 0.401 */
    assert_int_equal(devices, 1 << 1);
    end(&s);
}

static void fgd__nothing_known__is_indifferent(void **state)
{
    struct gpu_request w;
    struct scene s;
    struct demand d = asks(&w, 1000, 500, 1);

    begin(&s);
    assert_int_equal(score_of(&s, "fgd", &d, NULL), 50);
    end(&s);
}

static void gpuless_pod__node_with_pods_of_a_plugin__still_fits(void **state)
{
    struct gpu_request w;
    struct scene s;
    struct demand whole = {.dialect = "native", .plugin_managed_n = 1}, none = asks(&w, 1000, 0, 0);

    begin(&s);
    fixture_node_plugin_managed(&s.f, "a", 4, 0, 4);
    assert_int_equal(fixture_pod(&s.f, "w", &whole, "a", NULL), 0);
    assert_int_equal(score_of(&s, "gpu-packing", &none, NULL), 0);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_fit__parts_and_whole_gpus__what_is_left_over_counts),
        cmocka_unit_test(best_fit__all_that_fit__are_rescaled_to_a_hundred),
        cmocka_unit_test(dot_product__free_and_asked__small_products_are_preferred),
        cmocka_unit_test(gpu_packing__free_opened_and_used__stand_in_this_order),
        cmocka_unit_test(gpu_clustering__company__own_kind_is_preferred),
        cmocka_unit_test(published__several_gpus_fit__the_tightest_is_taken),
        cmocka_unit_test(fragmentation__each_cause__leaves_what_the_formula_says),
        cmocka_unit_test(fgd__two_gpus_fit__the_one_that_leaves_more_is_taken),
        cmocka_unit_test(fgd__nothing_known__is_indifferent),
        cmocka_unit_test(gpuless_pod__node_with_pods_of_a_plugin__still_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
