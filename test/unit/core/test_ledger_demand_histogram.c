/* What the ledger counts into the demand histogram. */
#include "core/request/demand_histogram.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>

static void cpu_only_in(struct ledger_fixture *in, const char *uid, const char *node, int32_t cpu_milli)
{
    const struct demand d = {.dialect = "", .host = {cpu_milli, 0}};

    assert_int_equal(fixture_pod(in, uid, &d, node, NULL), 0);
}

static void cpu_only(const char *uid, const char *node)
{
    cpu_only_in(&fx, uid, node, 100);
}

static void assert_demand_histogram(uint64_t arrived, uint64_t departed)
{
    assert_int_equal(demand_histogram_arrived_n(ledger_demand_histogram(fx.l)), arrived);
    assert_int_equal(demand_histogram_departed_n(ledger_demand_histogram(fx.l)), departed);
}

static void demand_histogram_of_ledger__a_pod_with_gpus__arrives_and_departs_once(void **state)
{
    const struct demand d = SHARE_OF(300);

    fixture_node(&fx, "n1", 2, 1024);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    }
    assert_demand_histogram(1, 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n1", NULL), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n1", NULL), 0);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_demand_histogram(1, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_demand_histogram(1, 1);
}

static void demand_histogram_of_ledger__a_pod_that_held_nothing__does_not_depart(void **state)
{
    const struct demand d = SHARE_OF(300);

    fixture_node(&fx, "n1", 2, 1024);
    assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_demand_histogram(1, 0);
    /* Gone while its Binding was on its way, which then fails. */
    assert_int_equal(fixture_pod(&fx, "b", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "b", "n1"), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "b"), 0);
    assert_demand_histogram(2, 0);
    /* The same with a Binding that was accepted. */
    assert_int_equal(fixture_pod(&fx, "c", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "c", "n1"), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "c"), 0);
    assert_demand_histogram(3, 1);
}

static void demand_histogram_of_ledger__a_defect__counts_once_it_is_mended(void **state)
{
    const struct demand d = SHARE_OF(300);
    const struct demand bad = {.defect = DEMAND_FRACTION, .dialect = "native"};

    assert_int_equal(fixture_pod(&fx, "a", &bad, "", NULL), 0);
    assert_demand_histogram(0, 0);
    assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    assert_int_equal(fixture_pod(&fx, "a", &bad, "", NULL), 0);
    assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    assert_demand_histogram(1, 0);
}

static void demand_histogram_of_ledger__pods_without_gpus__count_beside_gpus_only(void **state)
{
    fixture_node(&fx, "gpus", 2, 1024);
    fixture_node_plugin_managed(&fx, "plugin", 0, 0, 2);
    fixture_node(&fx, "cpu", 0, 0);
    cpu_only("pending", "");
    assert_demand_histogram(0, 0);
    cpu_only("a", "gpus");
    cpu_only("b", "plugin");
    cpu_only("c", "cpu");
    cpu_only("d", "unknown");
    cpu_only("a", "gpus");
    assert_demand_histogram(2, 0);
    cpu_only_in(&fx, "a", "gpus", 900); /* resized */
    assert_demand_histogram(2, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "c"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "d"), 0);
    assert_demand_histogram(2, 1);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_demand_histogram(2, 2);
}

/* A machine joins, its daemons are bound, and only then its plugin reports GPUs. */
static void demand_histogram_of_ledger__a_node_that_turns_out_to_have_gpus__its_pods_count(void **state)
{
    fixture_node(&fx, "n1", 0, 0);
    fixture_node(&fx, "n2", 0, 0);
    cpu_only("a", "n1");
    cpu_only("b", "n1");
    cpu_only("c", "n2");
    assert_demand_histogram(0, 0);
    fixture_node(&fx, "n1", 2, 1024);
    assert_demand_histogram(2, 0);
    fixture_node(&fx, "n1", 0, 0);
    fixture_node(&fx, "n1", 2, 1024);
    assert_demand_histogram(2, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_NODE_GONE, "n1"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_demand_histogram(2, 1);
}

/* Whether a pod is kept in full may change; it counts once. */
static void demand_histogram_of_ledger__a_pod_that_comes_to_ask_for_gpus__counts_once(void **state)
{
    const struct demand d = SHARE_OF(300);

    fixture_node(&fx, "n1", 2, 1024);
    cpu_only("a", "n1");
    assert_int_equal(fixture_pod(&fx, "a", &d, "n1", NULL), 0);
    assert_demand_histogram(1, 0);
    assert_int_equal(fixture_pod(&fx, "b", &d, "", NULL), 0);
    cpu_only("b", "n1"); /* asks for nothing any more when it is bound */
    assert_demand_histogram(2, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "b"), 0);
    assert_demand_histogram(2, 2);
}

/* 300 pods, a third of them with GPUs, on nodes with and without, listed in some order. */
static void list(struct ledger_fixture *in, unsigned stride, bool nodes_first)
{
    const struct demand d = SHARE_OF(300);
    const struct ledger_limits limits = {
        .hash_key = {stride, 9}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};

    ledger_free(in->l);
    in->l = ledger_new(&limits);
    for (int turn = 0; turn < 2; turn++) {
        if ((turn == 0) == nodes_first) {
            fixture_bracket(in, LEDGER_NODES_BEGIN);
            fixture_node(in, "n0", 4, 1024);
            fixture_node(in, "n1", 0, 0);
            fixture_bracket(in, LEDGER_NODES_END);
            continue;
        }
        fixture_bracket(in, LEDGER_PODS_BEGIN);
        for (unsigned k = 0; k < 300; k++) {
            unsigned i = k * stride % 300;
            char uid[16];

            snprintf(uid, sizeof(uid), "u%u", i);
            if (i % 3 == 0) {
                assert_int_equal(fixture_pod(in, uid, &d, "n0", NULL), 0);
            } else {
                cpu_only_in(in, uid, i % 2 == 0 ? "n0" : "n1", (int32_t)i % 7);
            }
        }
        fixture_bracket(in, LEDGER_PODS_END);
    }
}

static void demand_histogram_of_ledger__order_of_the_lists__does_not_matter(void **state)
{
    uint64_t weights[2][8] = {{0}};

    for (unsigned k = 0; k < 4; k++) {
        struct demand_histogram *m;

        list(&fx, k % 2 == 0 ? 1 : 77, k < 2);
        assert_demand_histogram(200, 0);
        m = (struct demand_histogram *)(uintptr_t)ledger_demand_histogram(fx.l);
        demand_histogram_settle(m);
        for (size_t i = 0; i < demand_histogram_shape_n(m); i++) {
            const struct demand_histogram_shape *s = demand_histogram_shape(m, i);

            weights[k > 0][s->count > 0 ? 7 : s->host.cpu_milli] = s->weight;
        }
        for (size_t i = 0; i < 8 && k > 0; i++) {
            assert_int_equal(weights[1][i], weights[0][i]);
        }
    }
}

/* Who came before its node was known waits for the end of both lists, whichever ends first. */
static void demand_histogram_of_ledger__first_lists__who_came_before_its_node_waits_for_both(void **state)
{
    for (int nodes_first = 0; nodes_first < 2; nodes_first++) {
        ledger_free(fx.l);
        fx.l = ledger_new(&(struct ledger_limits){.overcommit_milli = 1000, .overcommit_mem_milli = 1000});
        fixture_bracket(&fx, LEDGER_NODES_BEGIN);
        fixture_bracket(&fx, LEDGER_PODS_BEGIN);
        cpu_only("before its node", "n1");
        fixture_node(&fx, "n1", 2, 1024);
        fixture_node(&fx, "plain", 0, 0);
        cpu_only("after its node", "n1");
        cpu_only("beside no GPU", "plain");
        assert_demand_histogram(1, 0);
        fixture_bracket(&fx, nodes_first ? LEDGER_NODES_END : LEDGER_PODS_END);
        assert_demand_histogram(1, 0);
        assert_null(ledger_check(fx.l));
        fixture_bracket(&fx, nodes_first ? LEDGER_PODS_END : LEDGER_NODES_END);
        assert_demand_histogram(2, 0);
        assert_null(ledger_check(fx.l));
    }
}

int main(void)
{
#define TEST(name) EMPTY_LEDGER_TEST(name)
    const struct CMUnitTest tests[] = {
        TEST(demand_histogram_of_ledger__a_pod_with_gpus__arrives_and_departs_once),
        TEST(demand_histogram_of_ledger__a_pod_that_held_nothing__does_not_depart),
        TEST(demand_histogram_of_ledger__a_defect__counts_once_it_is_mended),
        TEST(demand_histogram_of_ledger__pods_without_gpus__count_beside_gpus_only),
        TEST(demand_histogram_of_ledger__a_node_that_turns_out_to_have_gpus__its_pods_count),
        TEST(demand_histogram_of_ledger__a_pod_that_comes_to_ask_for_gpus__counts_once),
        TEST(demand_histogram_of_ledger__first_lists__who_came_before_its_node_waits_for_both),
        TEST(demand_histogram_of_ledger__order_of_the_lists__does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
