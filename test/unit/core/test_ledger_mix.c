/* What the ledger counts into the mix. */
#include "core/request/mix.h"
#include "core/support/ledger_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct ledger_fixture f;

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_fini(&f);
    return 0;
}

static void light_in(struct ledger_fixture *in, const char *uid, const char *node,
                     int32_t cpu_milli)
{
    const struct demand d = {.dialect = "", .host = {cpu_milli, 0}};

    assert_int_equal(fixture_pod(in, uid, &d, node, NULL), 0);
}

static void light(const char *uid, const char *node)
{
    light_in(&f, uid, node, 100);
}

static void assert_mix(uint64_t arrived, uint64_t departed)
{
    assert_int_equal(mix_arrived_n(ledger_mix(f.l)), arrived);
    assert_int_equal(mix_departed_n(ledger_mix(f.l)), departed);
}

static void mix_of_ledger__a_pod_with_gpus__arrives_and_departs_once(void **state)
{
    struct wish w;
    const struct demand d = fixture_share(&w, 300);

    (void)state;
    fixture_node(&f, "n1", 2, 1024);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fixture_pod(&f, "a", &d, "", NULL), 0);
    }
    assert_mix(1, 0);
    assert_int_equal(fixture_reserve(&f, "a", "n1"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(fixture_reserve(&f, "a", "n1"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_CONFIRM, "a"), 0);
    assert_int_equal(fixture_pod(&f, "a", &d, "n1", NULL), 0);
    fixture_bracket(&f, LEDGER_PODS_BEGIN);
    assert_int_equal(fixture_pod(&f, "a", &d, "n1", NULL), 0);
    fixture_bracket(&f, LEDGER_PODS_END);
    assert_mix(1, 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "a"), 0);
    assert_mix(1, 1);
}

static void mix_of_ledger__a_pod_that_held_nothing__does_not_depart(void **state)
{
    struct wish w;
    const struct demand d = fixture_share(&w, 300);

    (void)state;
    fixture_node(&f, "n1", 2, 1024);
    assert_int_equal(fixture_pod(&f, "a", &d, "", NULL), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "a"), 0);
    assert_mix(1, 0);
    /* Gone while its Binding was on its way, which then fails. */
    assert_int_equal(fixture_pod(&f, "b", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&f, "b", "n1"), 0);
    fixture_bracket(&f, LEDGER_PODS_BEGIN);
    fixture_bracket(&f, LEDGER_PODS_END);
    assert_int_equal(fixture_name_op(&f, LEDGER_RELEASE, "b"), 0);
    assert_mix(2, 0);
    /* The same with a Binding that was accepted. */
    assert_int_equal(fixture_pod(&f, "c", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&f, "c", "n1"), 0);
    fixture_bracket(&f, LEDGER_PODS_BEGIN);
    fixture_bracket(&f, LEDGER_PODS_END);
    assert_int_equal(fixture_name_op(&f, LEDGER_CONFIRM, "c"), 0);
    assert_mix(3, 1);
}

static void mix_of_ledger__a_defect__counts_once_it_is_mended(void **state)
{
    struct wish w;
    const struct demand d = fixture_share(&w, 300);
    const struct demand bad = {.defect = DEMAND_FRACTION, .dialect = "native"};

    (void)state;
    assert_int_equal(fixture_pod(&f, "a", &bad, "", NULL), 0);
    assert_mix(0, 0);
    assert_int_equal(fixture_pod(&f, "a", &d, "", NULL), 0);
    assert_int_equal(fixture_pod(&f, "a", &bad, "", NULL), 0);
    assert_int_equal(fixture_pod(&f, "a", &d, "", NULL), 0);
    assert_mix(1, 0);
}

static void mix_of_ledger__pods_without_gpus__count_beside_gpus_only(void **state)
{
    (void)state;
    fixture_node(&f, "gpus", 2, 1024);
    fixture_node_unsteered(&f, "plugin", 0, 0, 2);
    fixture_node(&f, "cpu", 0, 0);
    light("pending", "");
    assert_mix(0, 0);
    light("a", "gpus");
    light("b", "plugin");
    light("c", "cpu");
    light("d", "unknown");
    light("a", "gpus");
    assert_mix(2, 0);
    light_in(&f, "a", "gpus", 900); /* resized */
    assert_mix(2, 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "c"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "d"), 0);
    assert_mix(2, 1);
    fixture_bracket(&f, LEDGER_PODS_BEGIN);
    fixture_bracket(&f, LEDGER_PODS_END);
    assert_mix(2, 2);
}

/* A machine joins, its daemons are bound, and only then its plugin reports GPUs. */
static void mix_of_ledger__a_node_that_turns_out_to_have_gpus__its_pods_count(void **state)
{
    (void)state;
    fixture_node(&f, "n1", 0, 0);
    fixture_node(&f, "n2", 0, 0);
    light("a", "n1");
    light("b", "n1");
    light("c", "n2");
    assert_mix(0, 0);
    fixture_node(&f, "n1", 2, 1024);
    assert_mix(2, 0);
    fixture_node(&f, "n1", 0, 0);
    fixture_node(&f, "n1", 2, 1024);
    assert_mix(2, 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_NODE_GONE, "n1"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "a"), 0);
    assert_mix(2, 1);
}

/* Whether a pod is kept in full may change; it counts once. */
static void mix_of_ledger__a_pod_that_comes_to_ask_for_gpus__counts_once(void **state)
{
    struct wish w;
    const struct demand d = fixture_share(&w, 300);

    (void)state;
    fixture_node(&f, "n1", 2, 1024);
    light("a", "n1");
    assert_int_equal(fixture_pod(&f, "a", &d, "n1", NULL), 0);
    assert_mix(1, 0);
    assert_int_equal(fixture_pod(&f, "b", &d, "", NULL), 0);
    light("b", "n1"); /* asks for nothing any more when it is bound */
    assert_mix(2, 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "b"), 0);
    assert_mix(2, 2);
}

/* 300 pods, a third of them with GPUs, on nodes with and without, listed in some order. */
static void list(struct ledger_fixture *in, unsigned stride, bool nodes_first)
{
    struct wish w;
    const struct demand d = fixture_share(&w, 300);
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

        list(&f, k % 2 == 0 ? 1 : 77, k < 2);
        assert_mix(200, 0);
        m = (struct mix *)(uintptr_t)ledger_mix(f.l);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
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
