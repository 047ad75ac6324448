/* What is read off the ledger for the history, and when. */
#include "extender/history_keeper.h"

#include "extender/support/tested_store.h"
#include "support/cmocka.h"

static struct clock_manual now;
static struct policy_set *policies;
static struct capacity_reporter *capacity;
static struct history_keeper *keeper;
static struct history kept;

static int setup(void **state)
{
    clock_manual_init(&now, 1000000000, 1795161600123);
    store_open(&now.clock);
    policies = policy_set_new(rules_of(policy_defaults(), 1));
    capacity = capacity_reporter_new(store, policies, &now.clock);
    keeper = history_keeper_new(store, capacity, &now.clock);
    return 0;
}

static int teardown(void **state)
{
    history_keeper_free(keeper);
    capacity_reporter_free(capacity);
    policy_set_free(policies);
    store_check_and_free();
    return 0;
}

static const struct history *after_a_second(void)
{
    clock_manual_advance_ms(&now, 1000);
    history_keeper_tick(keeper);
    history_keeper_read(keeper, &kept);
    return &kept;
}

static int64_t last(enum history_value v)
{
    return history_mean(&kept.samples[kept.n - 1], v);
}

static void tick__cluster_not_read__no_sample(void **state)
{
    for (int i = 0; i < 5; i++) {
        assert_int_equal(after_a_second()->n, 0);
    }
    apply_bracket(LEDGER_NODES_BEGIN);
    assert_int_equal(after_a_second()->n, 0);
    apply_bracket(LEDGER_NODES_END);
    apply_bracket(LEDGER_PODS_BEGIN);
    apply_bracket(LEDGER_PODS_END);
    assert_int_equal(after_a_second()->n, 1);
}

static void tick__no_gpus__zeroes(void **state)
{
    apply_empty_lists();
    assert_int_equal(after_a_second()->n, 1);
    for (size_t i = 0; i < HISTORY_VALUE__MAX; i++) {
        assert_int_equal(last((enum history_value)i), 0);
    }
}

static void tick__twice_in_a_second__one_reading(void **state)
{
    apply_empty_lists();
    assert_int_equal(after_a_second()->n, 1);
    clock_manual_advance_ms(&now, 999);
    history_keeper_tick(keeper);
    history_keeper_read(keeper, &kept);
    assert_int_equal(kept.samples[0].reading_n, 1);
    assert_int_equal(kept.n, 1);
}

static void tick__pods_wait_and_run__numbers_of_the_totals(void **state)
{
    const struct demand share = DEMAND_OF_SHARE(300);
    struct assigned_device dev = {.index = 0, .milli = 500, .mem_mib = 2500};
    struct assigned_container c = {.name = STR("main"), .devices = &dev, .device_n = 1};
    struct assignment as = {STR("d"), &c, 1};
    struct gpu_request w = {.container = STR("main"), .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 500, .phases = 1};
    struct demand half = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};

    apply_empty_lists();
    apply_node("n1", 2, 10000, true);
    apply_pod("waits", NULL, &share);
    apply_pod("waits-too", NULL, &share);
    after_a_second();
    assert_int_equal(last(HISTORY_COMPUTE_PERMILLE), 0);
    assert_int_equal(last(HISTORY_PENDING), 2);
    assert_int_equal(last(HISTORY_BOUND), 0);
    apply((struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                             .pod = {.uid = STR("runs"),
                                     .namespace_ = STR("ns"),
                                     .name = STR("runs"),
                                     .node_name = STR("n1"),
                                     .demand = &half,
                                     .assignment = &as}});
    apply_pod("foreign", "n1", &share); /* bound, and nobody knows to which GPU: charged on both */
    assert_int_equal(after_a_second()->n, 2);
    assert_int_equal(last(HISTORY_COMPUTE_PERMILLE), (500 + 2 * 300) / 2);
    assert_true(last(HISTORY_MEMORY_PERMILLE) > 0);
    assert_int_equal(last(HISTORY_PENDING), 2);
    assert_int_equal(last(HISTORY_BOUND), 2);
    assert_int_equal(kept.samples[1].wall_ms, 1795161600123 + 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tick__cluster_not_read__no_sample, setup, teardown),
        cmocka_unit_test_setup_teardown(tick__no_gpus__zeroes, setup, teardown),
        cmocka_unit_test_setup_teardown(tick__twice_in_a_second__one_reading, setup, teardown),
        cmocka_unit_test_setup_teardown(tick__pods_wait_and_run__numbers_of_the_totals, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
