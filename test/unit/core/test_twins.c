/* Nodes with the same numbers are found, and no others; and answers are those of a search node by node. */
#include "base/rng.h"
#include "core/placement/pack.h"
#include "core/placement/twins.h"
#include "core/support/ledger_fixture.h"
#include "core/support/random_demand.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, DEVICES = 4 };

static struct node_state rows[NODES];
static struct device_state devices[NODES * DEVICES];
static struct ledger_view view;
static struct twins *twins;
static uint64_t decision, version;

/* As the ledger does with every change of a node's numbers. */
static void changed(uint32_t node)
{
    rows[node].version = ++version;
}

/* All alike but in what is a name. */
static int set_up(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NODES; i++) {
        memset(&rows[i], 0xa5 + (int)i, sizeof(rows[i])); /* between members, too */
        rows[i] = (struct node_state){.name_order = i,
                                      .first_device = i * DEVICES,
                                      .device_n = DEVICES,
                                      .flags = NODE_DESCRIBED,
                                      .version = i + 1,
                                      .host = {1000, 500, 2000, 1500}};
        for (size_t k = 0; k < DEVICES; k++) {
            struct device_state *d = &devices[i * DEVICES + k];

            memset(d, 0x5a + (int)i, sizeof(*d));
            *d = (struct device_state){.mem_free_mib = 100,
                                       .mem_cap_mib = 200,
                                       .milli_free = (int32_t)(100 * k),
                                       .milli_cap = 1000,
                                       .flags = DEVICE_HEALTHY};
        }
    }
    version = NODES;
    view = (struct ledger_view){.nodes = rows, .node_n = NODES, .devices = devices};
    twins = twins_new();
    decision = twins_begin(twins);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    twins_free(twins);
    return 0;
}

static bool is_known(uint32_t node)
{
    bool known;

    assert_non_null(twins_at(twins, decision, &view, node, &known));
    return known;
}

static void equal_numbers__are_found(void **state)
{
    (void)state;
    assert_false(is_known(0));
    assert_true(is_known(0));
    assert_true(is_known(1));
    assert_true(is_known(2));
}

/* Each byte of a number, so that none is left out of the comparison. */
static void any_other_number_of_a_device__is_another_state(void **state)
{
    const size_t bytes = offsetof(struct device_state, memory_only) + 1;

    (void)state;
    for (size_t k = 0; k < DEVICES; k++) {
        for (size_t at = 0; at < bytes; at++) {
            unsigned char *byte = (unsigned char *)&devices[DEVICES + k] + at;

            decision = twins_begin(twins);
            assert_false(is_known(0));
            *byte ^= 0x10;
            changed(1);
            assert_false(is_known(1));
            *byte ^= 0x10;
            changed(1);
            assert_true(is_known(1));
        }
    }
}

static void any_other_number_of_the_row__is_another_state(void **state)
{
#define OTHER(member)                                                                                                  \
    do {                                                                                                               \
        decision = twins_begin(twins);                                                                                 \
        assert_false(is_known(0));                                                                                     \
        rows[1].member ^= 1;                                                                                           \
        changed(1);                                                                                                    \
        assert_false(is_known(1));                                                                                     \
        rows[1].member ^= 1;                                                                                           \
        changed(1);                                                                                                    \
        assert_true(is_known(1));                                                                                      \
    } while (0)

    (void)state;
    OTHER(device_n);
    OTHER(flags);
    OTHER(pod_classes);
    OTHER(hand_off);
    OTHER(group_taken);
    OTHER(not_covered);
    OTHER(plugin_managed_cap);
    OTHER(plugin_managed_used);
    OTHER(plugin_managed_per_gpu);
    OTHER(plugin_managed_names);
    OTHER(share_pod_n);
    OTHER(host.cpu_cap_milli);
    OTHER(host.cpu_free_milli);
    OTHER(host.mem_cap_mib);
    OTHER(host.mem_free_mib);
#undef OTHER
}

static void another_decision__finds_nothing(void **state)
{
    (void)state;
    assert_false(is_known(0));
    decision = twins_begin(twins);
    assert_false(is_known(1));
    assert_true(is_known(0));
}

/* Another section of the decision: those that have not changed keep what was found. */
static void node_that_has_changed_since__leaves_the_others(void **state)
{
    (void)state;
    assert_false(is_known(0));
    assert_true(is_known(1));
    rows[0].share_pod_n = 7;
    changed(0);
    assert_true(is_known(1));
    assert_false(is_known(0));
    assert_true(is_known(2));
}

/* There is nobody left to be compared with, so it is another class, although the numbers are those of the first. */
static void all_that_were_alike_have_changed__the_next_is_judged(void **state)
{
    (void)state;
    assert_false(is_known(0));
    rows[0].share_pod_n = 7;
    changed(0);
    assert_false(is_known(1));
    assert_false(is_known(0));
    assert_true(is_known(2));
}

/* The place of a node that is gone is no node. */
static void fewer_nodes__none_is_compared_with_one_that_is_gone(void **state)
{
    (void)state;
    assert_false(is_known(2));
    view.node_n = 2;
    assert_false(is_known(1));
    assert_true(is_known(0));
}

/* More different nodes than there are classes: the rest has no place, and gets one when others leave theirs. */
static void too_many_states__the_rest_has_none(void **state)
{
    enum { N = TWINS_CLASSES_MAX + 2 };
    struct node_state *many = calloc(N, sizeof(*many));
    bool known;

    (void)state;
    assert_non_null(many);
    for (uint32_t i = 0; i < N; i++) {
        many[i] = (struct node_state){.share_pod_n = (int32_t)i, .version = ++version};
    }
    view.nodes = many;
    view.node_n = N;
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(twins_at(twins, decision, &view, i, &known) != NULL, i < TWINS_CLASSES_MAX);
        assert_false(known);
    }
    many[5].share_pod_n = 4;
    many[5].version = ++version;
    assert_true(is_known(5));
    assert_true(is_known(4));
    many[N - 1].version = ++version;
    assert_false(is_known(N - 1));
    assert_true(is_known(N - 1));
    assert_null(twins_at(twins, decision, &view, N - 2, &known));
    free(many);
}

/* ---- a cluster of machines that come in series ---- */

enum { SEEDS = 3, STEPS = 60, MACHINES = 24, SERIES = 3, NAME_BYTES = 16 };

struct cluster {
    struct rng rng;
    struct ledger_fixture f;
    struct forecast *forecast;
    struct score_cache *scores;
    struct twins *twins;
    char texts[MACHINES][NAME_BYTES];
    struct str names[MACHINES];
    unsigned pod_n, twin_n;
};

static void cluster_init(struct cluster *c, uint64_t seed)
{
    memset(c, 0, sizeof(*c));
    rng_init(&c->rng, seed);
    fixture_init(&c->f);
    c->f.host = (struct host_capacity){32000, 256 * (int64_t)GIB};
    c->forecast = forecast_new();
    c->scores = score_cache_new();
    c->twins = twins_new();
    for (unsigned i = 0; i < MACHINES; i++) {
        snprintf(c->texts[i], NAME_BYTES, "n-%02u", i);
        c->names[i] = str_of(c->texts[i]);
        fixture_node(&c->f, c->texts[i], i % SERIES == 0 ? 1 : 2, i % SERIES == 1 ? 80 * GIB : 40 * GIB);
    }
}

static void cluster_fini(struct cluster *c)
{
    forecast_free(c->forecast);
    score_cache_free(c->scores);
    twins_free(c->twins);
    fixture_fini(&c->f);
}

/* Sizes are few, so that nodes become alike again and again. */
static struct demand draw(struct cluster *c, struct gpu_request *w)
{
    switch (rng_below(&c->rng, 4)) {
    case 0:
        return fixture_share(w, (int32_t)(250 * (1 + rng_below(&c->rng, 3))));
    case 1:
        return fixture_both(w, 250, 10 * GIB);
    case 2:
        return fixture_memory(w, 20 * GIB);
    default:
        return fixture_whole(w, (uint16_t)(1 + rng_below(&c->rng, 2)));
    }
}

static void pod_comes(struct cluster *c)
{
    struct gpu_request w = {.count = 0};
    struct demand d = draw(c, &w);
    char uid[NAME_BYTES];

    snprintf(uid, sizeof(uid), "p-%u", c->pod_n++);
    assert_int_equal(fixture_pod(&c->f, uid, &d, NULL, NULL), 0);
    (void)fixture_reserve(&c->f, uid, c->texts[rng_below(&c->rng, MACHINES)]); /* where there is room */
}

static void pod_goes(struct cluster *c)
{
    char uid[NAME_BYTES];

    snprintf(uid, sizeof(uid), "p-%u", (unsigned)rng_below(&c->rng, c->pod_n));
    assert_int_equal(fixture_name_op(&c->f, LEDGER_POD_GONE, uid), 0);
}

static void follow(struct cluster *c, const struct pack_params *p)
{
    while (!forecast_follow(c->forecast, ledger_cluster_view(c->f.l), p->node_strategy) ||
           !forecast_follow(c->forecast, ledger_cluster_view(c->f.l), p->device_strategy)) {
    }
}

static void answers_are_same(struct cluster *c, const struct strategy *node, const struct strategy *device)
{
    struct pack_params p = {.node_strategy = node, .device_strategy = device, .forecast = c->forecast};
    struct pack_result expected[MACHINES], got[MACHINES];
    struct gpu_request w = {.count = 0};
    struct demand d = draw(c, &w);
    struct ledger_view v;
    struct pack_query q;

    follow(c, &p);
    p.prices = forecast_prices(c->forecast);
    arena_reset(&c->f.arena);
    assert_int_equal(ledger_view(c->f.l, &c->f.arena, VIEW_POD("question", &d), &v, NULL), 0);
    fixture_pack(&v, &p, NULL, 0, c->names, MACHINES, expected);
    pack_query_init(&q, &v, &p, NULL, 0);
    q.known = score_cache_find(c->scores, &d, &p, v.node_n); /* what is copied is remembered, and priced anew */
    q.twins = c->twins;
    q.decision = twins_begin(c->twins);
    assert_int_equal(pack_some(&v, &q, c->names, MACHINES, got), MACHINES);
    if (node->normalise != NULL) {
        node->normalise(got, MACHINES);
    }
    for (size_t i = 0; i < MACHINES; i++) {
        bool known;

        assert_int_equal(got[i].verdict, expected[i].verdict);
        assert_true(got[i].verdict != VERDICT_FITS || got[i].score == expected[i].score);
        (void)twins_at(c->twins, q.decision, &v, (uint32_t)i, &known);
        c->twin_n += known;
    }
}

static void random_series__answers_are_those_of_each_node(void **state)
{
    const struct seeds seeds = seeds_of_test(1, SEEDS);
    struct cluster c;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        cluster_init(&c, seed);
        for (unsigned step = 0; step < STEPS; step++) {
            pod_comes(&c);
            if (rng_below(&c.rng, 3) == 0) {
                pod_goes(&c);
            }
            for (size_t i = 0; i < strategy_count(); i++) {
                answers_are_same(&c, strategies[i], strategies[(i + (step % 4 == 0)) % strategy_count()]);
            }
        }
        assert_true(c.twin_n > MACHINES * STEPS);
        cluster_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_series__answers_are_those_of_each_node),
        cmocka_unit_test_setup_teardown(equal_numbers__are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_other_number_of_a_device__is_another_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_other_number_of_the_row__is_another_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_decision__finds_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(node_that_has_changed_since__leaves_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_that_were_alike_have_changed__the_next_is_judged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fewer_nodes__none_is_compared_with_one_that_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_states__the_rest_has_none, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
