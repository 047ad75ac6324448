/* What is remembered must be what would be computed: after every op of a random simulation, and by
 * hand. */
#include "core/placement/pack.h"
#include "core/placement/score_cache.h"
#include "core/support/ledger_fixture.h"
#include "core/support/random_demand.h"
#include "core/support/simulation.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdlib.h>

enum { SEEDS = 25, STEPS = 150, DEMANDS = 6 };

static struct score_cache *cache;
static struct forecast *forecast;
static struct random_case cases[DEMANDS];
static unsigned reused, computed, stopped;

static const struct pack_params *both(size_t node_strategy, size_t device_strategy)
{
    static struct pack_params p;

    p = (struct pack_params){.node_strategy = strategies[node_strategy],
                             .device_strategy = strategies[device_strategy]};
    return &p;
}

static void follow(struct forecast *o, const struct ledger *l, const struct pack_params *p)
{
    while (!forecast_follow(o, ledger_cluster_view(l), p->node_strategy) ||
           !forecast_follow(o, ledger_cluster_view(l), p->device_strategy)) {
    }
}

/* `asked` with what is remembered of it and a forecast that has followed the ledger from op to op, and without memory,
 * now and then with a forecast that sees the ledger for the first time. */
static void same_answers(struct simulation *s, const struct demand *d, const struct pack_params *asked)
{
    struct forecast *fresh = s->step % 16 == 0 ? forecast_new() : NULL;
    struct pack_params at_hand = *asked, afresh = *asked, *params = &at_hand;

    struct str names[CLUSTER_MODEL_NODES + 1];
    struct pack_result expected[CLUSTER_MODEL_NODES + 1], got[CLUSTER_MODEL_NODES + 1];
    struct pack_query q;
    struct ledger_view v;
    struct arena a;
    size_t n = 0;

    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < CLUSTER_MODEL_NODES; i++) {
        if (s->w.nodes[i] != NULL) {
            names[n++] = s->w.nodes[i]->name;
        }
    }
    names[n++] = STR("nobody");
    assert_int_equal(ledger_view(s->l, &a, VIEW_POD("me", d), &v, NULL), 0);
    afresh.forecast = fresh != NULL ? fresh : forecast;
    at_hand.forecast = forecast;
    at_hand.prices = forecast_prices(forecast);
    follow(forecast, s->l, asked);
    if (fresh != NULL) {
        follow(fresh, s->l, asked);
    }
    fixture_pack(&v, &afresh, NULL, 0, names, n, expected);
    pack_query_init(&q, &v, params, NULL, 0);
    q.known = score_cache_find(cache, d, params, v.node_n);
    for (uint32_t i = 0; i < v.node_n; i++) {
        unsigned *which = q.known.scores[i].stamp >> 8 == v.nodes[i].version ? &reused : &computed;

        (*which)++;
    }
    q.seen = arena_calloc(&a, v.node_n / 64 + 1, sizeof(*q.seen)); /* no name comes twice */
    assert_non_null(q.seen);
    q.work_max = fresh != NULL; /* then nobody has done its work yet, and it takes several calls */
    for (size_t done = 0; done < n; done += q.done) {
        size_t answered = pack_some(&v, &q, names + done, n - done, got + done);

        assert_int_equal(answered, q.done);
        assert_true(answered > 0);
        stopped += done + q.done < n;
    }
    if (params->node_strategy->normalise != NULL) {
        params->node_strategy->normalise(got, n);
    }
    for (size_t i = 0; i < n; i++) {
        if (got[i].verdict != expected[i].verdict ||
            (got[i].verdict == VERDICT_FITS && got[i].score != expected[i].score)) {
            simulation_fail(s, "remembered something else than is true", names[i]);
        }
    }
    forecast_free(fresh);
    arena_fini(&a);
}

static void after_op(struct simulation *s)
{
    for (unsigned i = 0; i < DEMANDS; i++) {
        size_t all = strategy_count(), node = (s->seed * DEMANDS + i) % all;

        same_answers(s, &cases[i].demand, both(node, i % 2 == 0 ? node : (s->seed + i) / 2 % all));
    }
}

static void random__every_op__remembered_answers_are_those_computed_afresh(void **state)
{
    const struct seeds seeds = seeds_of_test(1, SEEDS);
    struct rng rng;

    rng_init(&rng, 12);
    reused = computed = stopped = 0;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);

        cache = score_cache_new();
        forecast = forecast_new();
        for (unsigned i = 0; i < DEMANDS; i++) {
            random_case_draw(&rng, 3, 4, &cases[i]);
        }
        s->after = after_op;
        for (unsigned i = 0; i < STEPS; i++) {
            simulation_step(s);
        }
        simulation_free(s);
        score_cache_free(cache);
        forecast_free(forecast);
    }
    /* Neither path is idle. */
    assert_true(seeds.n < SEEDS || (reused > computed && computed > 1000 && stopped > 10));
}

/* A node that goes and another that takes its place in the tables must not inherit its scores. */
static void node__replaced_by_another__is_judged_anew(void **state)
{
    struct ledger_fixture fx;
    struct demand d = SHARE_OF(500);
    struct str name;

    fixture_init(&fx);
    cache = score_cache_new();
    for (int i = 0; i < 4; i++) {
        const char *text = i % 2 == 0 ? "full" : "free";
        struct pack_result r;
        struct pack_query q;
        struct ledger_view v;
        struct arena a;

        arena_init(&a, 4096);
        name = str_of(text);
        if (i % 2 == 0) {
            fixture_node_plugin_managed(&fx, text, 1, 1024, 1);
            fixture_pod(&fx, "whole", &(struct demand){.dialect = "native", .plugin_managed_n = 1}, text, NULL);
        } else {
            fixture_node(&fx, text, 1, 1024);
        }
        assert_int_equal(ledger_view(fx.l, &a, VIEW_POD("me", &d), &v, NULL), 0);
        pack_query_init(&q, &v, both(0, 0), NULL, 0);
        q.known = score_cache_find(cache, &d, both(0, 0), v.node_n);
        assert_int_equal(pack_some(&v, &q, &name, 1, &r), 1);
        assert_int_equal(r.verdict == VERDICT_FITS, i % 2 == 1);
        fixture_name_op(&fx, LEDGER_POD_GONE, "whole");
        fixture_name_op(&fx, LEDGER_NODE_GONE, text);
        arena_fini(&a);
    }
    score_cache_free(cache);
    fixture_fini(&fx);
}

static struct score *find(const struct demand *d, size_t node_strategy)
{
    return score_cache_find(cache, d, both(node_strategy, 0), 10).scores;
}

static void find__whatever_decides__is_part_of_the_shape(void **state)
{
    struct device_pattern a100 = {STR("*a100"), false}, not_a100 = {STR("*a100"), true};
    struct gpu_request one = {.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 100, .phases = 1}, w = one;
    const struct demand plain = {.dialect = "native", .gpu_request_n = 1, .gpu_requests = &one};
    struct demand d = plain;
    const struct score *first;

    cache = score_cache_new();
    first = find(&plain, 0);
    assert_non_null(first);
    assert_ptr_equal(find(&d, 0), first);
    d.dialect = "other";
    d.source = DEMAND_FROM_ANNOTATIONS;
    d.qos = QOS_BEST_EFFORT; /* not said */
    w.container = STR("c");
    w.position = 3;
    d.gpu_requests = &w;
    assert_ptr_equal(find(&d, 0), first); /* none of these decides */
    assert_ptr_not_equal(find(&d, 1), first);
    w.milli = 101;
    assert_ptr_not_equal(find(&d, 0), first);
    w = one;
    w.mem_mib = 1;
    assert_ptr_not_equal(find(&d, 0), first);
    w = one;
    w.count = 2;
    assert_ptr_not_equal(find(&d, 0), first);
    w = one;
    w.kind = GPU_REQUEST_BOTH;
    assert_ptr_not_equal(find(&d, 0), first);
    w = one;
    w.phases = 2;
    assert_ptr_not_equal(find(&d, 0), first);
    d = plain;
    d.models = &a100;
    d.model_n = 1;
    assert_ptr_not_equal(find(&d, 0), first);
    first = find(&d, 0);
    d.models = &not_a100;
    assert_ptr_not_equal(find(&d, 0), first);
    d = plain;
    d.uuids = &a100;
    d.uuid_n = 1;
    assert_ptr_not_equal(find(&d, 0), first); /* the same pattern, of another thing */
    assert_ptr_not_equal(find(&d, 0), find(&plain, 0));
    first = find(&d, 0);
    d.uuids = &not_a100;
    assert_ptr_not_equal(find(&d, 0), first);
    d = (struct demand){.dialect = "native", .plugin_managed_n = 1};
    assert_ptr_not_equal(find(&d, 0), first);
    score_cache_free(cache);
}

static void find__more_shapes_than_are_kept__forgets_the_one_used_longest_ago(void **state)
{
    struct gpu_request w = {.count = 1, .kind = GPU_REQUEST_MILLI, .phases = 1};
    const struct demand d = {.dialect = "native", .gpu_request_n = 1, .gpu_requests = &w};

    cache = score_cache_new();
    for (int32_t i = 1; i <= SCORE_CACHE_SHAPES + 1; i++) {
        w.milli = i;
        find(&d, 0)->stamp = 1;
        w.milli = 1;
        find(&d, 0)->stamp = 1; /* in use all the time */
    }
    w.milli = 1;
    assert_int_equal(find(&d, 0)->stamp, 1);
    w.milli = 3;
    assert_int_equal(find(&d, 0)->stamp, 1);
    w.milli = 2;
    assert_int_equal(find(&d, 0)->stamp, 0); /* what another shape left is not taken for this one's */
    score_cache_free(cache);
}

static void find__many_nodes__stays_within_its_bytes(void **state)
{
    struct gpu_request w = {.count = 1, .kind = GPU_REQUEST_MILLI, .phases = 1};
    const struct demand d = {.dialect = "native", .gpu_request_n = 1, .gpu_requests = &w};
    const uint32_t node_n = SCORE_CACHE_BYTES / 3 / sizeof(struct score);

    cache = score_cache_new();
    for (int32_t i = 1; i <= 8; i++) {
        struct score *s;

        w.milli = i;
        s = score_cache_find(cache, &d, both(0, 0), node_n).scores;
        for (uint32_t k = 0; k < node_n; k++) {
            assert_int_equal(s[k].stamp, 0);
        }
        s[node_n - 1].stamp = 7;
        assert_int_equal(score_cache_find(cache, &d, both(0, 0), node_n).scores[node_n - 1].stamp, 7);
    }
    w.milli = 1; /* too many bytes: gone */
    assert_int_equal(score_cache_find(cache, &d, both(0, 0), node_n).scores[node_n - 1].stamp, 0);
    score_cache_free(cache);
}

static void find__shape_too_large__is_not_remembered(void **state)
{
    struct gpu_request w[DEMAND_GPU_REQUESTS_MAX];
    const struct demand d = {.dialect = "native", .gpu_request_n = DEMAND_GPU_REQUESTS_MAX, .gpu_requests = w};

    for (size_t i = 0; i < DEMAND_GPU_REQUESTS_MAX; i++) {
        w[i] = (struct gpu_request){.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 1, .phases = 1};
    }
    cache = score_cache_new();
    assert_null(find(&d, 0));
    score_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__every_op__remembered_answers_are_those_computed_afresh),
        cmocka_unit_test(node__replaced_by_another__is_judged_anew),
        cmocka_unit_test(find__whatever_decides__is_part_of_the_shape),
        cmocka_unit_test(find__more_shapes_than_are_kept__forgets_the_one_used_longest_ago),
        cmocka_unit_test(find__many_nodes__stays_within_its_bytes),
        cmocka_unit_test(find__shape_too_large__is_not_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
