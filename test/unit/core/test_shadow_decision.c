/* What a decision would be under another plan, and how two choices differ: the difference of F is that of the cluster
 * after one and after the other, as the ledger has it when they have really been made. */
#include "core/placement/shadow_decision.h"

#include "base/compiler.h"
#include "core/forecast/fragmentation.h"
#include "core/placement/pack.h"
#include "core/request/demand_histogram.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdio.h>

static struct mirror now;
static struct forecast *forecast;
static struct demand_histogram *expected;

static void follow(void)
{
    const struct strategy *fgd = strategy_find(STR("fgd"));

    assert_non_null(fgd);
    demand_histogram_settle(expected);
    forecast_give_demand_histogram(forecast, expected);
    while (!mirror_follow(&now, fx.l)) {
        mirror_grow(&now);
    }
    while (!forecast_follow(forecast, ledger_cluster_view(fx.l), fgd)) {
    }
}

static void expect_pods(struct demand d, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        demand_histogram_arrived(expected, &d);
    }
}

static void observe(const char *uid, struct demand d, const char *node, const struct assignment *record)
{
    const struct ledger_op op = fixture_observation(uid, &d, node, record);

    fixture_apply(&fx, &op);
}

/* Nodes a and b with two GPUs and 16 cores each; 300 of GPU-a-1 are taken. The GPUs of p
 * and q are a plugin's, and one of q is taken. */
static int setup(void **state)
{
    const struct assignment record = RECORD_OF("r", "GPU-a-1", 1, 300, 0);
    struct demand whole = WHOLE_GPUS(2), small = SHARE_OF(400);

    empty_ledger_setup(state);
    mirror_init(&now);
    forecast = forecast_new();
    expected = demand_histogram_new();
    fx.host = (struct host_capacity){.cpu_milli = 16000, .mem_mib = 64 * GIB};
    fixture_node(&fx, "b", 2, 80 * GIB);
    fixture_node(&fx, "a", 2, 80 * GIB);
    fixture_node_plugin_managed(&fx, "p", 2, 0, 2);
    fixture_node_plugin_managed(&fx, "q", 2, 0, 2);
    observe("runs", SHARE_OF(300), "a", &record);
    observe("runs too", (struct demand){.dialect = "native", .plugin_managed_n = 1}, "q", NULL);
    whole.host.cpu_milli = 12000;
    expect_pods(whole, 3);
    expect_pods(small, 2);
    expect_pods((struct demand){.dialect = "native", .plugin_managed_n = 2, .plugin_managed_most = 2}, 2);
    follow();
    return 0;
}

static int teardown(void **state)
{
    forecast_free(forecast);
    demand_histogram_free(expected);
    mirror_fini(&now);
    return ledger_teardown(state);
}

static uint32_t node_of(const char *name)
{
    uint32_t i = 0;

    while (!str_eq_cstr(now.names[i], name)) {
        i++;
    }
    return i;
}

/* ---- choosing ---- */

struct question {
    const char *node_strategy;
    const char *nodes[3]; /* NULL: no more */
    const struct holding *residual;
    const struct packing_rule *rule; /* of the node "b" */
    size_t room;                     /* bytes to think in */
};

/* The name of the node, or "nowhere". */
static const char *chosen(const struct question *q, const struct demand *d)
{
    static char name[8];
    struct policy policy = *policy_defaults();
    struct shadow_decision t = {.mirror = &now, .demand = d, .tenant_residual = q->residual};
    struct resolved_plan resolved;
    struct pack_plans plans;
    struct shadow_choice c;
    struct ledger_view v;
    struct arena a;
    uint32_t nodes[3];

    policy.node_strategy = str_of(q->node_strategy);
    policy.rules = q->rule;
    policy.rule_n = q->rule != NULL;
    assert_int_equal(pack_plans_init(&plans, &policy, NULL), 0);
    resolved_plan_make(&resolved, &plans, STR("default"), NULL, 0);
    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("asks", d), &v, NULL), 0);
    t.allowed_models = v.allowed_models;
    for (t.node_n = 0; t.node_n < ARRAY_LEN(nodes) && q->nodes[t.node_n] != NULL; t.node_n++) {
        nodes[t.node_n] = node_of(q->nodes[t.node_n]);
    }
    t.nodes = nodes;
    arena_init(&a, q->room > 0 ? q->room : 1 << 16);
    c = shadow_choose(&t, &resolved, forecast, &a);
    assert_int_equal(a.overflowed, q->room > 0);
    if (c.fits) {
        snprintf(name, sizeof(name), "%.*s", STR_ARG(now.names[c.node]));
    }
    arena_fini(&a);
    return c.fits ? name : "nowhere";
}

static void choose__best_score__else_the_first_name_in_whatever_order_they_are_asked(void **state)
{
    const struct demand d = SHARE_OF(700);
    const struct question tight = {.node_strategy = "tight-fit", .nodes = {"b", "a"}},
                          spread = {.node_strategy = "spread", .nodes = {"b", "a"}},
                          alone = {.node_strategy = "tight-fit", .nodes = {"b"}},
                          nobody = {.node_strategy = "tight-fit"},
                          unfit = {.node_strategy = "tight-fit", .nodes = {"a", "b"}};
    const struct demand equal = WHOLE_GPUS(1), many = WHOLE_GPUS(3);

    assert_string_equal(chosen(&tight, &d), "a");
    assert_string_equal(chosen(&spread, &d), "b");
    assert_string_equal(chosen(&alone, &d), "b");
    assert_string_equal(chosen(&nobody, &d), "nowhere");
    assert_string_equal(chosen(&unfit, &many), "nowhere");
    fixture_name_op(&fx, LEDGER_POD_GONE, "runs");
    follow();
    assert_string_equal(chosen(&tight, &equal), "a");
    assert_string_equal(chosen(&spread, &equal), "a");
}

static void choose__more_than_the_tenant_may_still_take__nowhere(void **state)
{
    const struct demand d = SHARE_OF(700);
    const struct holding enough = {700, INT64_MAX}, short_of_milli = {699, INT64_MAX};
    const struct question fits = {.node_strategy = "spread", .nodes = {"a", "b"}, .residual = &enough},
                          passes = {.node_strategy = "spread", .nodes = {"a", "b"}, .residual = &short_of_milli};

    assert_string_equal(chosen(&fits, &d), "b");
    assert_string_equal(chosen(&passes, &d), "nowhere");
}

static void choose__node_of_an_earlier_rule__before_any_score(void **state)
{
    static const struct kv pool[] = {{{"pool", 4}, {"mine", 4}}};
    const struct packing_rule rule = {.node_selector = {pool, 1}, .node_strategy = STR("spread")};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION,
                                        .devices = &(struct device){.uuid = STR("GPU-c"),
                                                                    .model = STR("A100"),
                                                                    .mem_mib = 80 * GIB,
                                                                    .slot_n = 16,
                                                                    .numa = -1,
                                                                    .healthy = true},
                                        .device_n = 1};
    struct ledger_op op = fixture_description("c", &inventory);
    const struct demand small = SHARE_OF(700), two = WHOLE_GPUS(2);
    const struct question q = {.node_strategy = "tight-fit", .nodes = {"a", "b", "c"}, .rule = &rule};

    op.node.rules = 1;
    op.node.host = fx.host;
    fixture_apply(&fx, &op);
    follow();
    assert_string_equal(chosen(&q, &small), "c");
    assert_string_equal(chosen(&q, &two), "b"); /* it does not fit there */
}

static void choose__no_room_to_think__nowhere_and_said(void **state)
{
    const struct demand d = SHARE_OF(100);

    for (size_t room = 1; room <= 2; room++) { /* for none of two tables, for the first alone */
        const struct question q = {.node_strategy = "spread",
                                   .nodes = {"a", "b"},
                                   .room = room == 1 ? 16 : 3 * sizeof(struct plan_scores) + 16};

        assert_string_equal(chosen(&q, &d), "nowhere");
    }
}

/* ---- comparing ---- */

static double cluster_f(void)
{
    double f = 0;

    for (uint32_t i = 0; i < now.node_n; i++) {
        const struct fragmentation_node n = fragmentation_node_of(&now.nodes[i], mirror_devices(&now, i));

        f += fragmentation_milli(&n, forecast_typical(forecast), forecast_typical_n(forecast));
    }
    return f;
}

/* F of the cluster once the ledger has made this choice, which is taken back. */
static double f_after(const struct shadow_choice *c, const struct demand *d)
{
    const struct ledger_op reserve = {
        .kind = LEDGER_RESERVE,
        .reserve = {.uid = STR("asks"), .node_name = now.names[c->node], .decision_id = STR("d"), .placement = &c->at}};
    double f;

    observe("asks", *d, NULL, NULL);
    fixture_apply(&fx, &reserve);
    follow();
    f = cluster_f();
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "asks"), 0);
    follow();
    return f;
}

static struct shadow_choice on(const char *node, uint64_t devices)
{
    return (struct shadow_choice){.fits = true, .node = node_of(node), .at = {.gpu_request_devices = {devices}}};
}

static void compare__choices__differ_as_the_cluster_would(void **state)
{
    struct demand share = SHARE_OF(400), whole = WHOLE_GPUS(1), two = WHOLE_GPUS(2),
                  plugin = {.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1};
    const struct {
        const struct demand *demand;
        struct shadow_choice a, b;
        bool node, devices;
    } rows[] = {
        {&share, on("a", 1), on("a", 1), false, false},
        {&share, on("a", 1), on("a", 2), false, true},
        {&share, on("a", 2), on("a", 1), false, true},
        {&share, on("b", 1), on("b", 2), false, false}, /* GPUs that are alike */
        {&share, on("a", 1), on("b", 1), true, false},
        {&share, on("b", 2), on("a", 2), true, false},
        {&whole, on("a", 1), on("b", 1), true, false},
        {&two, on("b", 3), on("b", 3), false, false},
        {&plugin, on("p", 0), on("q", 0), true, false},
        {&plugin, on("q", 0), on("p", 0), true, false},
    };

    size_t differs_n = 0;

    share.host.cpu_milli = whole.host.cpu_milli = 5000; /* then no pod of 12 cores runs there any more */
    plugin.host.cpu_milli = 1000;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct shadow_decision t = {.mirror = &now, .demand = rows[i].demand};
        struct shadow_difference d = shadow_compare(&t, forecast, &rows[i].a, &rows[i].b);
        const double want = f_after(&rows[i].b, rows[i].demand) - f_after(&rows[i].a, rows[i].demand);

        assert_int_equal(d.node, rows[i].node);
        assert_int_equal(d.devices, rows[i].devices);
        if (fabs(d.frag_milli - want) > 1e-6) {
            fail_msg("row %zu: %.6f is not %.6f", i, d.frag_milli, want);
        }
        differs_n += fabs(want) > 1;
    }
    assert_true(differs_n >= 6);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(choose__best_score__else_the_first_name_in_whatever_order_they_are_asked),
        T(choose__more_than_the_tenant_may_still_take__nowhere),
        T(choose__node_of_an_earlier_rule__before_any_score),
        T(choose__no_room_to_think__nowhere_and_said),
        T(compare__choices__differ_as_the_cluster_would),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
