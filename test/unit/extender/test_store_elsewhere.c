/* Which nodes are remembered as tried for a pod, and when they are looked at again. What follows from it:
 * test_elsewhere.c. */
#include "base/compiler.h"
#include "core/placement/plan.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define NODES 3

static struct policy policy;
static struct pack_plans plans;
static struct store_tried tried;
static struct view_pod asking;
static const struct demand half = DEMAND_OF_SHARE(500), much = DEMAND_OF_SHARE(900), little = DEMAND_OF_SHARE(100);
static const char *const names[NODES] = {"n0", "n1", "n2"};

/* n2 alone has room for a half. */
static int setup(void **state)
{
    store_open(clock_system());
    apply_empty_lists();
    for (size_t i = 0; i < NODES; i++) {
        apply_node(names[i], 1, 40000, true);
    }
    apply_pod("on0", "n0", &much);
    apply_pod("on1", "n1", &much);
    policy = *policy_defaults();
    policy.node_strategy = policy.device_strategy = STR("binpack");
    assert_int_equal(pack_plans_init(&plans, &policy, NULL), 0);
    memset(&tried, 0, sizeof(tried));
    asking = (struct view_pod){.uid = STR("asking"), .namespace_ = STR("d"), .demand = &half};
    return 0;
}

static int teardown(void **state)
{
    free(tried.bits);
    store_check_and_free();
    return 0;
}

static size_t fitting(bool all)
{
    size_t n;

    store_tried_follow(store, &tried);
    assert_int_equal(store_fits_elsewhere(store, &asking, &plans, &tried, all, &n, NULL), 0);
    return n;
}

static void expect_tried(unsigned want)
{
    assert_int_equal(tried.bits[0], want);
}

static void full_nodes__once_looked_at__not_again_until_they_gain(void **state)
{
    assert_int_equal(fitting(false), 1);
    expect_tried(3); /* n2 takes it: that is to be found out again */
    assert_int_equal(fitting(true), 1);
    expect_tried(7);
    assert_int_equal(fitting(false), 0);
    apply_pod("on2", "n2", &little); /* loses */
    assert_int_equal(fitting(false), 0);
    expect_tried(7);
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("on1")});
    assert_int_equal(fitting(false), 1);
    expect_tried(5);
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("on2")});
    assert_int_equal(fitting(true), 2);
    expect_tried(7);
}

static void nodes__come_or_go__all_are_forgotten(void **state)
{
    assert_int_equal(fitting(true), 1);
    expect_tried(7);
    apply_node("n3", 1, 40000, true);
    assert_int_equal(fitting(false), 2);
    expect_tried(3);
}

/* Then it is not for the node alone that it does not take the pod: another node's pod may change it. */
static void refused__by_what_is_not_of_the_node__not_remembered(void **state)
{
    static const struct str ours[] = {STR("d")};
    const struct tenant limited = {.name = STR("team"),
                                   .namespaces = ours,
                                   .namespace_n = 1,
                                   .gpu_permille = TENANT_UNLIMITED,
                                   .milli = 2000,
                                   .mem_permille = TENANT_UNLIMITED,
                                   .mem_mib = TENANT_UNLIMITED};
    const struct tenant of_others = {.name = STR("team"),
                                     .namespaces = &(struct str){"e", 1},
                                     .namespace_n = 1,
                                     .gpu_permille = TENANT_UNLIMITED,
                                     .milli = 1000,
                                     .mem_permille = TENANT_UNLIMITED,
                                     .mem_mib = TENANT_UNLIMITED};

    apply((struct ledger_op){.kind = LEDGER_TENANTS, .tenants = {&limited, 1}});
    assert_int_equal(fitting(false), 0); /* 1,800 are held */
    expect_tried(0);
    apply((struct ledger_op){.kind = LEDGER_TENANTS, .tenants = {&of_others, 1}});
    assert_int_equal(fitting(false), 1);
    expect_tried(3);
}

static void refused__while_others_are_nominated__not_remembered(void **state)
{
    struct ledger_op op = {.kind = LEDGER_POD_OBSERVED,
                           .pod = {.uid = STR("nominated"),
                                   .namespace_ = STR("d"),
                                   .name = STR("nominated"),
                                   .nominated_node = STR("n2"),
                                   .priority = 10,
                                   .demand = &much}};

    apply(op);
    assert_int_equal(fitting(false), 0);
    expect_tried(0);
    op.pod.nominated_node = STR_NULL;
    apply(op);
    assert_int_equal(fitting(false), 1);
    expect_tried(3);
}

static void pods__kept_away_from_others__not_remembered(void **state)
{
    static const uint64_t hash = 7;
    struct demand isolated = half;

    isolated.isolate = &hash;
    isolated.isolate_n = 1;
    asking.demand = &isolated;
    assert_int_equal(fitting(false), 1);
    expect_tried(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(full_nodes__once_looked_at__not_again_until_they_gain),
        TEST(nodes__come_or_go__all_are_forgotten),
        TEST(refused__by_what_is_not_of_the_node__not_remembered),
        TEST(refused__while_others_are_nominated__not_remembered),
        TEST(pods__kept_away_from_others__not_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
