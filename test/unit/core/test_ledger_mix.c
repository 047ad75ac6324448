/* What the ledger counts into the mix. */
#include "core/request/mix.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>

static void light_in(struct ledger_fixture *in, const char *uid, const char *node,
                     int32_t cpu_milli)
{
    const struct demand d = {.dialect = "", .host = {cpu_milli, 0}};

    assert_int_equal(fixture_pod(in, uid, &d, node, NULL), 0);
}

static void light(const char *uid, const char *node)
{
    light_in(&fx, uid, node, 100);
}

static void assert_mix(uint64_t arrived, uint64_t departed)
{
    assert_int_equal(mix_arrived_n(ledger_mix(fx.l)), arrived);
    assert_int_equal(mix_departed_n(ledger_mix(fx.l)), departed);
}

static void mix_of_ledger__a_pod_with_gpus__arrives_and_departs_once(void **state)
{
    const struct demand d = SHARE_OF(300);

    (void)state;
    fixture_node(&fx, "n1", 2, 1024);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    }
    assert_mix(1, 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n1", NULL), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n1", NULL), 0);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_mix(1, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_mix(1, 1);
}

static void mix_of_ledger__a_pod_that_held_nothing__does_not_depart(void **state)
{
    const struct demand d = SHARE_OF(300);

    (void)state;
    fixture_node(&fx, "n1", 2, 1024);
    assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_mix(1, 0);
    /* Gone while its Binding was on its way, which then fails. */
    assert_int_equal(fixture_pod(&fx, "b", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "b", "n1"), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "b"), 0);
    assert_mix(2, 0);
    /* The same with a Binding that was accepted. */
    assert_int_equal(fixture_pod(&fx, "c", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "c", "n1"), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "c"), 0);
    assert_mix(3, 1);
}

static void mix_of_ledger__a_defect__counts_once_it_is_mended(void **state)
{
    const struct demand d = SHARE_OF(300);
    const struct demand bad = {.defect = DEMAND_FRACTION, .dialect = "native"};

    (void)state;
    assert_int_equal(fixture_pod(&fx, "a", &bad, "", NULL), 0);
    assert_mix(0, 0);
    assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    assert_int_equal(fixture_pod(&fx, "a", &bad, "", NULL), 0);
    assert_int_equal(fixture_pod(&fx, "a", &d, "", NULL), 0);
    assert_mix(1, 0);
}

static void mix_of_ledger__pods_without_gpus__count_beside_gpus_only(void **state)
{
    (void)state;
    fixture_node(&fx, "gpus", 2, 1024);
    fixture_node_unsteered(&fx, "plugin", 0, 0, 2);
    fixture_node(&fx, "cpu", 0, 0);
    light("pending", "");
    assert_mix(0, 0);
    light("a", "gpus");
    light("b", "plugin");
    light("c", "cpu");
    light("d", "unknown");
    light("a", "gpus");
    assert_mix(2, 0);
    light_in(&fx, "a", "gpus", 900); /* resized */
    assert_mix(2, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "c"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "d"), 0);
    assert_mix(2, 1);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_mix(2, 2);
}

/* A machine joins, its daemons are bound, and only then its plugin reports GPUs. */
static void mix_of_ledger__a_node_that_turns_out_to_have_gpus__its_pods_count(void **state)
{
    (void)state;
    fixture_node(&fx, "n1", 0, 0);
    fixture_node(&fx, "n2", 0, 0);
    light("a", "n1");
    light("b", "n1");
    light("c", "n2");
    assert_mix(0, 0);
    fixture_node(&fx, "n1", 2, 1024);
    assert_mix(2, 0);
    fixture_node(&fx, "n1", 0, 0);
    fixture_node(&fx, "n1", 2, 1024);
    assert_mix(2, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_NODE_GONE, "n1"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_mix(2, 1);
}

/* Whether a pod is kept in full may change; it counts once. */
static void mix_of_ledger__a_pod_that_comes_to_ask_for_gpus__counts_once(void **state)
{
    const struct demand d = SHARE_OF(300);

    (void)state;
    fixture_node(&fx, "n1", 2, 1024);
    light("a", "n1");
    assert_int_equal(fixture_pod(&fx, "a", &d, "n1", NULL), 0);
    assert_mix(1, 0);
    assert_int_equal(fixture_pod(&fx, "b", &d, "", NULL), 0);
    light("b", "n1"); /* asks for nothing any more when it is bound */
    assert_mix(2, 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "b"), 0);
    assert_mix(2, 2);
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
                light_in(in, uid, i % 2 == 0 ? "n0" : "n1", (int32_t)i % 7);
            }
        }
        fixture_bracket(in, LEDGER_PODS_END);
    }
}

static void mix_of_ledger__order_of_the_lists__does_not_matter(void **state)
{
    uint64_t weights[2][8] = {{0}};

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        struct mix *m;

        list(&fx, k % 2 == 0 ? 1 : 77, k < 2);
        assert_mix(200, 0);
        m = (struct mix *)(uintptr_t)ledger_mix(fx.l);
        mix_settle(m);
        for (size_t i = 0; i < mix_shape_n(m); i++) {
            const struct mix_shape *s = mix_shape(m, i);

            weights[k > 0][s->count > 0 ? 7 : s->host.cpu_milli] = s->weight;
        }
        for (size_t i = 0; i < 8 && k > 0; i++) {
            assert_int_equal(weights[1][i], weights[0][i]);
        }
    }
}

int main(void)
{
#define TEST(name) EMPTY_LEDGER_TEST(name)
    const struct CMUnitTest tests[] = {
        TEST(mix_of_ledger__a_pod_with_gpus__arrives_and_departs_once),
        TEST(mix_of_ledger__a_pod_that_held_nothing__does_not_depart),
        TEST(mix_of_ledger__a_defect__counts_once_it_is_mended),
        TEST(mix_of_ledger__pods_without_gpus__count_beside_gpus_only),
        TEST(mix_of_ledger__a_node_that_turns_out_to_have_gpus__its_pods_count),
        TEST(mix_of_ledger__a_pod_that_comes_to_ask_for_gpus__counts_once),
        TEST(mix_of_ledger__order_of_the_lists__does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
