/* How much room there is: which nodes count, which sizes, and when it is computed again. */
#include "extender/capacity_reporter.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const struct named_size sizes[] = {
    {.name = {"small", 5}, .milli = 250, .mem_mib = 1000},
    {.name = {"pair", 4}, .milli = 500, .count = 2},
};

static struct clock_manual now;
static struct policy_set *policies;
static struct capacity_reporter *capacity_reporter;
static struct policy policy;

/* A pod on GPU 0 of the node. */
static void pod(const char *uid, const char *on, int32_t milli)
{
    struct gpu_request w = {
        .container = STR("main"), .count = 1, .kind = GPU_REQUEST_MILLI, .milli = milli, .phases = 1};
    struct demand d = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};
    struct assigned_device dev = {.index = 0, .milli = milli};
    struct assigned_container c = {.name = STR("main"), .devices = &dev, .device_n = 1};
    struct assignment as = {STR("d"), &c, 1};

    apply((struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                             .pod = {.uid = str_of(uid),
                                     .namespace_ = STR("ns"),
                                     .name = str_of(uid),
                                     .node_name = str_of(on),
                                     .demand = &d,
                                     .assignment = &as}});
}

static int setup(void **state)
{
    policy = *policy_defaults();
    policy.sizes = sizes;
    policy.size_n = 2;
    clock_manual_init(&now, 1000000000, 1795161600123);
    store_open(&now.clock);
    policies = policy_set_new(rules_of(&policy, 1));
    capacity_reporter = capacity_reporter_new(store, policies, &now.clock);
    return 0;
}

static int teardown(void **state)
{
    capacity_reporter_free(capacity_reporter);
    policy_set_free(policies);
    store_check_and_free();
    return 0;
}

static struct capacity_report read_now(void)
{
    struct capacity_report r;

    capacity_reporter_read(capacity_reporter, &r);
    return r;
}

static void read__nothing_listed_yet__not_known(void **state)
{
    assert_false(read_now().known);
    assert_int_equal(read_now().size_n, 0);
}

static void read__sizes_and_holes__of_nodes_that_take_pods(void **state)
{
    static const struct {
        const char *name;
        uint64_t more_n;
    } rows[] = {
        /* GPU 0 of n1 has 700 milli and 7000 MiB left, its three others are empty */
        {"small", 2 + 3 * 4 + 2 * 4},
        {"pair", 3 + 2},
        {"1 GPU", 3 + 2},
        {"2 GPUs", 1 + 1},
        {"4 GPUs", 0},
        {"8 GPUs", 0},
    };
    struct capacity_report r;

    apply_empty_lists();
    apply_node("n1", 4, 10000, true);
    apply_node("n2", 2, 10000, true);
    apply_node("cordoned", 8, 10000, false);
    pod("p", "n1", 300);
    r = read_now();
    assert_true(r.known);
    assert_int_equal(r.generation, store_generation(store));
    assert_int_equal(r.node_n, 2);
    assert_int_equal(r.idle_milli, 5700);
    assert_int_equal(r.largest_milli, 1000);
    assert_int_equal(r.largest_mem_mib, 10000);
    assert_int_equal(r.empty_gpu_n, 3);
    assert_string_equal(r.empty_node, "n1");
    assert_int_equal(r.size_n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(r.sizes[i].name, rows[i].name);
        if (r.sizes[i].more_n != rows[i].more_n) {
            fail_msg("%s: %llu", rows[i].name, (unsigned long long)r.sizes[i].more_n);
        }
    }
}

/* One kind of pod, 600 milli: what is left on a GPU beside one of them is of no use to the next. */
static void read__fragmentation__by_what_has_been_asked_for(void **state)
{
    char uid[16];
    struct capacity_report r;

    apply_empty_lists();
    apply_node("n1", 8, 10000, true);
    assert_int_equal(read_now().typical_n, 0);
    assert_int_equal(capacity_permille(&(struct capacity_report){0}), 0);
    for (int i = 0; i < 64; i++) { /* the demand histogram learns in steps */
        snprintf(uid, sizeof(uid), "p%d", i);
        pod(uid, "n1", 600);
        if (i > 0) {
            apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = str_of(uid)});
        }
    }
    clock_manual_advance_ms(&now, CAPACITY_INTERVAL_MS);
    r = read_now();
    assert_int_equal(r.typical_n, 1);
    assert_int_equal(r.idle_milli, 7400);
    assert_int_equal(r.fragmented_milli, 400);
    assert_int_equal(capacity_permille(&r), 54);
}

static void read__again__computed_when_changed_and_not_too_often(void **state)
{
    struct capacity_report first, r;

    apply_empty_lists();
    apply_node("n1", 2, 10000, true);
    first = read_now();
    apply_node("n2", 2, 10000, true);
    assert_int_equal(read_now().node_n, 1); /* too early */
    assert_int_equal(read_now().generation, first.generation);
    clock_manual_advance_ms(&now, CAPACITY_INTERVAL_MS);
    r = read_now();
    assert_int_equal(r.node_n, 2);
    assert_true(r.generation > first.generation);
    clock_manual_advance_ms(&now, CAPACITY_INTERVAL_MS);
    assert_int_equal(read_now().at_ms, r.at_ms); /* nothing has changed */
    policy.size_n = 1;
    policy_set_publish(policies, rules_of(&policy, 2));
    assert_int_equal(read_now().size_n, 1 + CAPACITY_WHOLE_N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read__nothing_listed_yet__not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(read__sizes_and_holes__of_nodes_that_take_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(read__fragmentation__by_what_has_been_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(read__again__computed_when_changed_and_not_too_often, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
