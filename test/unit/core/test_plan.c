/* Rules of packing: which plan holds for a pod and a node, and several criteria as one score. */
#include "core/placement/pack.h"
#include "core/placement/plan.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "core/request/demand.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static const struct str online[] = {{"serving-*", 9}, {"api", 3}};
static const struct str batch[] = {{"batch", 5}};
static const struct kv tier[] = {{{"tier", 4}, {"gold", 4}}, {{"app", 3}, {"x", 1}}};
static const struct kv pool[] = {{{"pool", 4}, {"a100", 4}}};

/* 0: pods of online namespaces on pool a100; 1: pods of tier gold, everywhere; 2: pods of batch on pool a100; 3: all
 * pods on pool a100. */
static const struct packing_rule rules[] = {
    {.namespaces = online, .namespace_n = 2, .node_selector = {pool, 1}, .node_strategy = {"spread", 6}},
    {.pod_selector = {tier, 2}, .device_strategy = {"spread", 6}},
    {.namespaces = batch, .namespace_n = 1, .node_selector = {pool, 1}, .node_strategy = {"binpack", 7}},
    {.node_selector = {pool, 1}, .node_strategy = {"binpack", 7}, .device_strategy = {"binpack", 7}},
};

static struct pack_plans plans;

static struct policy policy_with_rules(void)
{
    struct policy p = *policy_defaults();

    p.rules = rules;
    p.rule_n = ARRAY_LEN(rules);
    return p;
}

static int setup(void **state)
{
    struct policy p = policy_with_rules();

    return pack_plans_init(&plans, &p, NULL);
}

/* "0 3 -": the steps by rule, '-' for the rest. */
static void expect_resolved_plan(const char *namespace_, bool gold, const char *want)
{
    const uint64_t labels[] = {label_pair_hash(STR("app"), STR("x")), label_pair_hash(STR("z"), STR("z")),
                               label_pair_hash(STR("tier"), STR("gold"))};
    struct resolved_plan a;
    char got[64] = "";

    resolved_plan_make(&a, &plans, str_of(namespace_), labels, gold ? 3 : 2);
    for (size_t i = 0; i < a.n; i++) {
        char word[4] = "-";

        for (size_t k = 0; k < plans.rule_n; k++) {
            word[0] = a.steps[i].plan == &plans.rules[k].plan ? (char)('0' + k) : word[0];
        }
        strcat(got, i > 0 ? " " : "");
        strcat(got, word);
        assert_true((a.steps[i].node_bit == 0) == (i + 1 == a.n));
    }
    assert_string_equal(got, want);
}

static void resolved_plan__first_rules_that_name_the_pod__up_to_one_for_all_nodes(void **state)
{
    expect_resolved_plan("other", false, "3 -");
    expect_resolved_plan("api", false, "0 3 -");
    expect_resolved_plan("serving-eu", false, "0 3 -");
    expect_resolved_plan("serving", false, "3 -");
    expect_resolved_plan("api", true, "0 1");
    expect_resolved_plan("other", true, "1");
    expect_resolved_plan("batch", false, "2 3 -");
}

static void resolved_plan__node__the_first_step_that_selects_it(void **state)
{
    struct policy p = policy_with_rules();
    const struct kv labels[] = {{STR("x"), STR("y")}, {STR("pool"), STR("a100")}};
    uint64_t on_pool = plan_node_rules(&p, (struct kv_list){labels, 2});
    struct resolved_plan a;

    assert_int_equal(plan_node_rules(&p, (struct kv_list){labels, 1}), 0);
    assert_int_equal(on_pool, 1 | 1 << 2 | 1 << 3);
    resolved_plan_make(&a, &plans, STR("batch"), NULL, 0);
    assert_int_equal(resolved_plan_step(&a, on_pool), 0);
    assert_int_equal(resolved_plan_step(&a, 1 << 3), 1);
    assert_int_equal(resolved_plan_step(&a, 1), 2); /* rule 0 is about others */
    assert_int_equal(resolved_plan_step(&a, 0), 2);
    p.rule_n = 3; /* the last one is no rule any more */
    assert_int_equal(plan_node_rules(&p, (struct kv_list){labels, 2}), 1 | 1 << 2);
}

/* As names in the order in which they are met. */
static void expect_strategies(const char *namespace_, bool gold, const char *want)
{
    const uint64_t labels[] = {label_pair_hash(STR("tier"), STR("gold")), label_pair_hash(STR("app"), STR("x"))};
    const struct strategy *all[RESOLVED_PLAN_STRATEGIES_MAX];
    struct resolved_plan a;
    char got[128] = "";
    size_t n;

    resolved_plan_make(&a, &plans, str_of(namespace_), labels, gold ? 2 : 0);
    n = resolved_plan_strategies(&a, all);
    for (size_t i = 0; i < n; i++) {
        strcat(got, i > 0 ? " " : "");
        strcat(got, all[i]->name);
    }
    assert_string_equal(got, want);
}

static void resolved_plan__strategies__of_all_steps_each_once(void **state)
{
    struct policy p = policy_with_rules();

    p.node_criteria = (struct criteria){.names = {STR("dot-product"), STR("best-fit")}, .n = 2};
    p.node_strategy = STR("dot-product");
    p.device_strategy = STR("tight-fit");
    assert_int_equal(pack_plans_init(&plans, &p, NULL), 0);
    expect_strategies("api", false, "tight-fit spread binpack dot-product best-fit");
    expect_strategies("api", true, "tight-fit spread dot-product best-fit");
    expect_strategies("other", true, "spread dot-product best-fit");
}

static void plans__what_a_rule_leaves_out__as_in_the_section(void **state)
{
    struct policy p = policy_with_rules();

    p.node_criteria = (struct criteria){.names = {STR("spread"), STR("tight-fit")}, .n = 2};
    p.node_strategy = STR("spread");
    assert_int_equal(pack_plans_init(&plans, &p, NULL), 0);
    assert_int_equal(plans.rest.criterion_n, 2);
    assert_int_equal(plans.rules[1].plan.criterion_n, 2); /* gives the device strategy only */
    assert_string_equal(plans.rules[1].plan.params.device_strategy->name, "spread");
    assert_string_equal(plans.rules[1].plan.criteria[1]->name, "tight-fit");
    assert_int_equal(plans.rules[0].plan.criterion_n, 1);
    assert_string_equal(plans.rules[0].plan.params.node_strategy->name, "spread");
    assert_string_equal(plans.rules[0].plan.params.device_strategy->name, "rsp");
}

static void plans__unknown_strategy__named(void **state)
{
    struct policy p = *policy_defaults();
    struct packing_rule rule = {.device_strategy = STR("tightfit")};
    struct err err;

    p.rules = &rule;
    p.rule_n = 1;
    assert_int_equal(pack_plans_init(&plans, &p, &err), -ERR_INVALID);
    assert_non_null(strstr(err.msg, "\"tightfit\""));
}

/* ---- criteria ---- */

static int by_at(const void *a, const void *b)
{
    const struct plan_scores *x = a, *y = b;

    return x->at < y->at ? -1 : 1;
}

static void expect_combined(const struct pack_plan *plan, struct plan_scores *rows, size_t n, const int64_t *want)
{
    struct pack_plan judging = *plan;
    struct pack_result spare[8];

    assert_true(n <= ARRAY_LEN(spare));
    for (size_t c = 0; c < plan->criterion_n; c++) {
        judging.criteria[c] = strategies[0]; /* scores are given here */
    }
    for (size_t i = 0; i < n; i++) {
        rows[i].at = (uint32_t)i;
    }
    plan_judge(&judging, rows, n, spare);
    qsort(rows, n, sizeof(*rows), by_at);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].combined, want[i]);
    }
}

static void chain__equals_of_the_first__decided_by_the_next(void **state)
{
    const struct pack_plan plan = {.criterion_n = 3};
    struct plan_scores rows[] = {{.by = {5, 1, 9}},        {.by = {7, -4, 0}}, {.by = {5, 2, -9}},
                                 {.by = {5, 1, 8}},        {.by = {7, -4, 0}}, {.by = {INT64_MIN, INT64_MAX, 0}},
                                 {.by = {INT64_MAX, 0, 0}}};
    const int64_t want[] = {-3, -1, -2, -4, -1, -5, 0};

    expect_combined(&plan, rows, ARRAY_LEN(rows), want);
    expect_combined(&plan, rows, 0, NULL);
}

static void weights__each_spread_over_a_thousand__added_up(void **state)
{
    const struct pack_plan plan = {.criterion_n = 2, .weights_milli = {700, 300}};
    struct plan_scores rows[] = {{.by = {INT64_MIN, 20}}, {.by = {INT64_MAX, 10}}, {.by = {0, 15}}};
    struct plan_scores alike[] = {{.by = {5, 3}}, {.by = {5, 2}}};
    const int64_t want[] = {300000, 700000, 700 * 500 + 300 * 500};
    const int64_t want_alike[] = {300000, 0};

    expect_combined(&plan, rows, 3, want);
    for (size_t i = 0; i < 3; i++) { /* what each criterion adds is known afterwards */
        assert_int_equal(rows[i].by[0] + rows[i].by[1], want[i]);
    }
    assert_int_equal(rows[2].by[0], 700 * 500);
    expect_combined(&plan, alike, 2, want_alike); /* equal to the first criterion: it says nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(resolved_plan__first_rules_that_name_the_pod__up_to_one_for_all_nodes, setup),
        cmocka_unit_test_setup(resolved_plan__node__the_first_step_that_selects_it, setup),
        cmocka_unit_test(resolved_plan__strategies__of_all_steps_each_once),
        cmocka_unit_test(plans__what_a_rule_leaves_out__as_in_the_section),
        cmocka_unit_test(plans__unknown_strategy__named),
        cmocka_unit_test(chain__equals_of_the_first__decided_by_the_next),
        cmocka_unit_test(weights__each_spread_over_a_thousand__added_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
