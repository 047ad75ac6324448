/* rsp: its prices by numbers worked out apart, and what it prefers. */
#include "core/forecast/internal.h"
#include "core/ledger/ledger.h"
#include "core/placement/pack.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

struct scene {
    struct ledger_fixture f;
    struct forecast *o;
    struct demand_histogram *expected;
};

static void scene_init(struct scene *s)
{
    fixture_init(&s->f);
    s->o = forecast_new();
    s->expected = demand_histogram_new();
}

static void scene_fini(struct scene *s)
{
    forecast_free(s->o);
    demand_histogram_free(s->expected);
    fixture_fini(&s->f);
}

static void expect(struct scene *s, const struct demand *d, int times)
{
    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(s->expected, d);
    }
    demand_histogram_settle(s->expected);
    forecast_give_demand_histogram(s->o, s->expected);
}

/* The best node, and the scores of all by name order of `names`. */
static struct str best(struct scene *s, const struct demand *d, const char *const *names, size_t n, int64_t *scores)
{
    struct pack_params p = *fixture_params("rsp");
    struct pack_result results[8];
    struct pack_key best;
    struct str asked[8];
    struct ledger_view v;
    struct arena a;

    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < n; i++) {
        asked[i] = str_of(names[i]);
    }
    while (!forecast_follow(s->o, ledger_cluster_view(s->f.l), p.node_strategy)) {
    }
    p.forecast = s->o;
    assert_int_equal(ledger_view(s->f.l, &a, VIEW_POD("me", d), &v, NULL), 0);
    fixture_pack(&v, &p, NULL, 0, asked, n, results);
    for (size_t i = 0; i < n; i++) {
        scores[i] = results[i].score;
    }
    arena_fini(&a);
    return pack_rank(results, n, 1, &best) > 0 ? results[0].name : STR_NULL;
}

static void close_to(double got, double want)
{
    assert_true(got - want < 1e-9 && want - got < 1e-9);
}

static void price__demand_and_supply__is_the_normal_tail(void **state)
{
    /* 1/2 erfc(-z / sqrt 2) of z worked out by hand */
    close_to(forecast_scarcity(1000, 1500, 1000, 0), 0.5);                 /* z = 0 */
    close_to(forecast_scarcity(4000, 6500, 1000, 0), 0.15865525393145707); /* z = -1 */
    close_to(forecast_scarcity(4000, 2500, 1000, 0), 0.8413447460685429);  /* z = 1 */
    close_to(forecast_scarcity(0, 500, 1000, 0), 0.5);                     /* the deviation does not vanish */
    assert_true(forecast_scarcity(0, 8000, 1000, 0) < 1e-9);
}

static void price__learned_from_few_pods__is_less_sure(void **state)
{
    assert_true(forecast_scarcity(4000, 9000, 1000, 4) > forecast_scarcity(4000, 9000, 1000, 400));
    assert_true(forecast_scarcity(4000, 9000, 1000, 400) > forecast_scarcity(4000, 9000, 1000, 0));
    assert_true(forecast_scarcity(9000, 4000, 1000, 4) < forecast_scarcity(9000, 4000, 1000, 0));
}

static void rsp__whole_machines_are_wanted__leaves_the_last_one_alone(void **state)
{
    static const char *const names[] = {"full", "part"};
    struct demand gang = WHOLE_GPUS(8), share = SHARE_OF(500), two = SHARE_OF(500);
    struct scene s;
    int64_t scores[2];

    scene_init(&s);
    fixture_node(&s.f, "full", 8, 1024);
    fixture_node(&s.f, "part", 8, 1024);
    expect(&s, &gang, 50);
    expect(&s, &share, 50);
    fixture_pod(&s.f, "p", &two, NULL, NULL);
    assert_int_equal(fixture_reserve(&s.f, "p", "part"), 0);
    assert_true(str_eq_cstr(best(&s, &share, names, 2, scores), "part"));
    assert_true(scores[1] > scores[0] + 1000 * FORECAST_MILLI);
    scene_fini(&s);
}

static void rsp__pods_of_one_size__takes_the_hole_of_that_size(void **state)
{
    static const char *const names[] = {"a", "b"};
    struct gpu_request held;
    struct demand small = SHARE_OF(300), large = SHARE_OF(700), use;
    struct scene s;
    int64_t scores[2];

    scene_init(&s);
    fixture_node(&s.f, "a", 1, 1024);
    fixture_node(&s.f, "b", 1, 1024);
    expect(&s, &small, 50);
    expect(&s, &large, 50);
    use = fixture_share(&held, 300); /* leaves 700 on a, 600 on b */
    fixture_pod(&s.f, "p", &use, NULL, NULL);
    assert_int_equal(fixture_reserve(&s.f, "p", "a"), 0);
    held.milli = 400;
    fixture_pod(&s.f, "q", &use, NULL, NULL);
    assert_int_equal(fixture_reserve(&s.f, "q", "b"), 0);
    assert_true(str_eq_cstr(best(&s, &small, names, 2, scores), "b"));
    assert_true(str_eq_cstr(best(&s, &large, names, 2, scores), "a"));
    scene_fini(&s);
}

static void rsp__equal_nodes__are_value_the_same_in_any_order(void **state)
{
    static const char *const names[] = {"a", "b", "c"}, *const back[] = {"c", "b", "a"};
    struct demand d = SHARE_OF(300);
    struct scene s;
    int64_t scores[3];

    scene_init(&s);
    for (int i = 0; i < 3; i++) {
        fixture_node(&s.f, names[i], 4, 1024);
    }
    expect(&s, &d, 50);
    assert_true(str_eq_cstr(best(&s, &d, names, 3, scores), "a"));
    assert_int_equal(scores[0], scores[1]);
    assert_int_equal(scores[0], scores[2]);
    assert_true(str_eq_cstr(best(&s, &d, back, 3, scores), "a"));
    scene_fini(&s);
}

static void rsp__nothing_expected__still_takes_what_fits(void **state)
{
    static const char *const names[] = {"a"};
    struct demand d = WHOLE_GPUS(2);
    struct scene s;
    int64_t score;

    scene_init(&s);
    fixture_node(&s.f, "a", 2, 1024);
    assert_true(str_eq_cstr(best(&s, &d, names, 1, &score), "a"));
    scene_fini(&s);
}

static void rsp__memory_gone__compute_left_over_is_value_nothing(void **state)
{
    static const char *const names[] = {"big", "tight"};
    struct demand d = SHARE_AND_MEMORY_OF(200, 512), use = SHARE_AND_MEMORY_OF(200, 512);
    struct scene s;
    int64_t scores[2];

    scene_init(&s);
    fixture_node(&s.f, "big", 1, 4096);
    fixture_node(&s.f, "tight", 1, 1024); /* two of them use up its memory: 600 milli are nobody's */
    expect(&s, &d, 50);
    fixture_pod(&s.f, "p", &use, NULL, NULL);
    assert_int_equal(fixture_reserve(&s.f, "p", "tight"), 0);
    best(&s, &d, names, 2, scores);
    /* On big a fifth of what could be filled goes, on tight all that memory left: the same 200 milli. */
    assert_int_equal(scores[0] / (200 * FORECAST_MILLI), -1);
    assert_int_equal(scores[1] / (200 * FORECAST_MILLI), -1);
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(price__demand_and_supply__is_the_normal_tail),
        cmocka_unit_test(price__learned_from_few_pods__is_less_sure),
        cmocka_unit_test(rsp__whole_machines_are_wanted__leaves_the_last_one_alone),
        cmocka_unit_test(rsp__pods_of_one_size__takes_the_hole_of_that_size),
        cmocka_unit_test(rsp__equal_nodes__are_value_the_same_in_any_order),
        cmocka_unit_test(rsp__nothing_expected__still_takes_what_fits),
        cmocka_unit_test(rsp__memory_gone__compute_left_over_is_value_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
