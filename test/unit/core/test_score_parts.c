/* The parts of a score add up to it, whatever the node, the pod, what is expected and what it costs. */
#include "base/rng.h"
#include "core/forecast/forecast.h"
#include "core/ledger/ledger.h"
#include "core/placement/pack.h"
#include "core/request/demand_histogram.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <stdio.h>

enum { NODES = 24, DEMANDS = 9, ROUNDS = 60 };

struct scene {
    struct ledger_fixture f;
    struct forecast *o;
    struct demand_histogram *expected;
    struct rng rng;
    char names[NODES][16];
    struct demand demands[DEMANDS];
    struct gpu_request requests[DEMANDS];
    uint64_t prices_made;
};

static unsigned below(struct scene *s, unsigned n)
{
    return (unsigned)rng_below(&s->rng, n);
}

/* Shares, memory that only large GPUs have, several whole GPUs, and cores alone. */
static void make_demands(struct scene *s)
{
    static const struct {
        int32_t milli, mem_mib;
        uint16_t count;
        int32_t cpu_milli;
    } kinds[DEMANDS] = {{100, 0, 0, 0},        {300, 0, 0, 2000},    {700, 0, 0, 1000},
                        {550, 60 * GIB, 0, 0}, {400, 8 * GIB, 0, 0}, {0, 0, 1, 4000},
                        {0, 0, 2, 16000},      {0, 0, 8, 32000},     {0, 0, 0, 6000}};

    for (size_t i = 0; i < DEMANDS; i++) {
        struct gpu_request *w = &s->requests[i];

        s->demands[i] = kinds[i].count > 0     ? fixture_whole(w, kinds[i].count)
                        : kinds[i].mem_mib > 0 ? fixture_both(w, kinds[i].milli, kinds[i].mem_mib)
                        : kinds[i].milli > 0   ? fixture_share(w, kinds[i].milli)
                                               : (struct demand){.dialect = "native"};
        s->demands[i].host.cpu_milli = kinds[i].cpu_milli;
    }
}

static void begin(struct scene *s, uint64_t seed)
{
    static const int gpus[] = {1, 2, 4, 8};

    *s = (struct scene){.prices_made = UINT64_C(1) << 40};
    rng_init(&s->rng, seed);
    fixture_init(&s->f);
    s->o = forecast_new();
    s->expected = demand_histogram_new();
    make_demands(s);
    for (int i = 0; i < NODES; i++) {
        snprintf(s->names[i], sizeof(s->names[i]), "n%d", i);
        s->f.host = (struct host_capacity){below(s, 4) == 0 ? 0 : (int32_t)(8000 + 8000 * below(s, 8)), 0};
        fixture_node(&s->f, s->names[i], gpus[i % 4], i % 3 == 0 ? 80 * GIB : 24 * GIB);
    }
    for (int i = 0; i < 3 * NODES; i++) {
        const struct demand *d = &s->demands[below(s, DEMANDS - 1)];
        char uid[16];

        snprintf(uid, sizeof(uid), "p%d", i);
        assert_int_equal(fixture_pod(&s->f, uid, d, NULL, NULL), 0);
        (void)fixture_reserve(&s->f, uid, s->names[below(s, NODES)]); /* where there is room */
    }
    for (size_t i = 0; i < DEMANDS; i++) {
        for (unsigned k = 0; k < 20 + below(s, 40); k++) {
            demand_histogram_arrived(s->expected, &s->demands[i]);
        }
    }
    demand_histogram_settle(s->expected);
    forecast_give_demand_histogram(s->o, s->expected);
}

static void end(struct scene *s)
{
    forecast_free(s->o);
    demand_histogram_free(s->expected);
    fixture_fini(&s->f);
}

/* Others than the forecast's own, which would leave most terms at 0. */
static struct forecast_prices random_prices(struct scene *s)
{
    struct forecast_prices p = *forecast_prices(s->o);

    p.version = ++s->prices_made;
    p.scarce_cpu = (int32_t)below(s, 3) * 8; /* the ends, too */
    p.churn = (int32_t)below(s, FORECAST_SIXTEENTHS + 1);
    p.places = (int32_t)below(s, FORECAST_SIXTEENTHS + 1);
    p.gangs = (int32_t)below(s, FORECAST_SIXTEENTHS + 1);
    for (uint32_t i = 0; i < p.n; i++) {
        p.price[i] = (int32_t)below(s, 2) * FORECAST_MILLI * (int32_t)below(s, 17) / FORECAST_SIXTEENTHS;
    }
    return p;
}

static int64_t sum(const struct score_part *parts, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++) {
        assert_true(parts[i].value != 0);
        all += parts[i].value;
    }
    return all;
}

/* Every node, one demand: how often each kind of part was there is counted. */
static unsigned add_up(struct scene *s, const char *strategy, const struct demand *d,
                       const struct forecast_prices *prices, unsigned seen[SCORE_PART__MAX])
{
    struct pack_params p = *fixture_params(strategy);
    struct ledger_view v;
    unsigned fit_n = 0;

    p.forecast = s->o;
    p.prices = prices;
    arena_reset(&s->f.arena);
    assert_int_equal(ledger_view(s->f.l, &s->f.arena, VIEW_POD("me", d), &v, NULL), 0);
    for (int i = 0; i < NODES; i++) {
        const struct node_state *n = ledger_view_find(&v, str_of(s->names[i]));
        struct device_state buffer[DEVICES_PER_NODE_MAX];
        const struct device_state *devices = ledger_view_devices(&v, n, buffer);
        struct score_part parts[SCORE_PARTS_MAX];
        struct placement at;
        int64_t score;
        size_t part_n;

        if (choice_make(&p, n, devices, v.allowed_models, d, &at, &score) != VERDICT_FITS) {
            continue;
        }
        fit_n++;
        part_n = choice_parts(&p, n, devices, d, &at, parts);
        assert_true(part_n <= SCORE_PARTS_MAX);
        assert_int_equal(sum(parts, part_n), score);
        for (size_t k = 0; k < part_n; k++) {
            seen[parts[k].kind]++;
        }
    }
    return fit_n;
}

static void parts__random_nodes_pods_and_prices__add_up_to_the_score(void **state)
{
    unsigned seen[SCORE_PART__MAX] = {0}, fit_n = 0;

    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s;

        begin(&s, seed);
        while (!forecast_follow(s.o, ledger_cluster_view(s.f.l), strategy_find(STR("rsp")))) {
        }
        for (int round = 0; round < ROUNDS; round++) {
            struct forecast_prices prices = random_prices(&s);

            fit_n += add_up(&s, "rsp", &s.demands[below(&s, DEMANDS - 1)], &prices, seen);
        }
        for (size_t i = 0; i < DEMANDS - 1; i++) {
            add_up(&s, "rsp", &s.demands[i], NULL, seen); /* those of the forecast */
            add_up(&s, "binpack", &s.demands[i], NULL, seen);
            add_up(&s, "spread", &s.demands[i], NULL, seen);
            add_up(&s, "tight-fit", &s.demands[i], NULL, seen);
        }
        end(&s);
    }
    assert_true(fit_n > 1000);
    for (int k = 0; k < SCORE_PART__MAX; k++) {
        if (k != SCORE_PART_GOODS && k != SCORE_PART_CRITERION && k != SCORE_PART_USED_UNITS && seen[k] == 0) {
            fail_msg("no score had a part \"%s\"", score_part_name((enum score_part_kind)k));
        }
    }
}

/* Half of the GPUs of a node's plugin are taken: no device knows of it. */
static void parts__gpus_of_a_plugin__add_up(void **state)
{
    static const char *const names[] = {"binpack", "spread", "tight-fit"};
    struct demand d = {.dialect = "native", .plugin_managed_n = 2};
    struct ledger_fixture f;
    struct ledger_view v;

    fixture_init(&f);
    fixture_node_plugin_managed(&f, "n", 4, 80 * GIB, 4);
    assert_int_equal(ledger_view(f.l, &f.arena, VIEW_POD("me", &d), &v, NULL), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct pack_params *p = fixture_params(names[i]);
        struct device_state buffer[DEVICES_PER_NODE_MAX];
        const struct device_state *devices = ledger_view_devices(&v, &v.nodes[0], buffer);
        struct score_part parts[SCORE_PARTS_MAX];
        struct placement at;
        int64_t score;

        assert_int_equal(choice_make(p, &v.nodes[0], devices, NULL, &d, &at, &score), VERDICT_FITS);
        assert_int_equal(choice_parts(p, &v.nodes[0], devices, &d, &at, parts), 1);
        assert_int_equal(parts[0].value, score);
        assert_int_equal(parts[0].kind, i < 2 ? SCORE_PART_USED_UNITS : SCORE_PART_EMPTY);
    }
    fixture_fini(&f);
}

static void parts__strategy_that_does_not_say__are_none(void **state)
{
    struct demand d = SHARE_OF(100);
    struct ledger_fixture f;
    struct ledger_view v;
    struct score_part parts[SCORE_PARTS_MAX];
    const struct pack_params *p;
    struct placement at;

    fixture_init(&f);
    fixture_node(&f, "n", 1, 0);
    assert_int_equal(ledger_view(f.l, &f.arena, VIEW_POD("me", &d), &v, NULL), 0);
    p = fixture_params("gpu-packing");
    assert_int_equal(choice_make(p, &v.nodes[0], v.devices, NULL, &d, &at, NULL), VERDICT_FITS);
    assert_int_equal(choice_parts(p, &v.nodes[0], v.devices, &d, &at, parts), 0);
    p = fixture_params("rsp"); /* nothing is known */
    assert_int_equal(choice_parts(p, &v.nodes[0], v.devices, &d, &at, parts), 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts__random_nodes_pods_and_prices__add_up_to_the_score),
        cmocka_unit_test(parts__gpus_of_a_plugin__add_up),
        cmocka_unit_test(parts__strategy_that_does_not_say__are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
