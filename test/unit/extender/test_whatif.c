/* How many pods of a kind would fit now, and what is said of it; on a store with nodes of two GPUs. That the number is
 * what a scheduler gets: test/integration/test_whatif_pods.py. */
#include "extender/whatif.h"

#include "base/compiler.h"
#include "extender/policy_set.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define GIB 1024

static const struct rules *rules;
static struct policy policy;

static int setup(void **state)
{
    store_open(clock_system());
    apply_empty_lists();
    policy = *policy_defaults();
    policy.node_strategy = policy.device_strategy = STR("binpack");
    rules = NULL;
    return 0;
}

static int teardown(void **state)
{
    rules_put(rules);
    store_check_and_free();
    return 0;
}

static char text[2048];

static struct whatif ask_for(const char *resource, const char *amount, uint64_t count)
{
    const struct kv limit = {str_of(resource), str_of(amount)};
    const struct whatif_question q = {.namespace_ = STR("d"), .limits = {&limit, 1}, .count = count};
    struct err err = {.msg = ""};
    struct whatif w;

    rules = rules != NULL ? rules : rules_of(&policy, 1);
    if (whatif_ask(&rules->placement, &arena, &q, 3, &w, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    (void)whatif_sentence(&w, text, sizeof(text));
    return w;
}

static struct whatif ask(const char *milli, uint64_t count)
{
    return ask_for("fgpu.io/gpu-milli", milli, count);
}

static void expect(struct whatif *w, uint64_t fitting, const char *sentence)
{
    assert_string_equal(text, sentence);
    assert_int_equal(w->fitting, fitting);
    whatif_end(w);
    assert_null(w->why);
}

static uint64_t sum_of_next(const struct whatif *w)
{
    uint64_t sum = 0;

    for (size_t v = 0; v < VERDICT__MAX; v++) {
        sum += w->next[v];
    }
    return sum;
}

static void three_nodes(void)
{
    apply_node("n0", 1, 80 * GIB, true);
    apply_node("n1", 2, 80 * GIB, true);
    apply_node("n2", 2, 80 * GIB, false); /* whether it is cordoned is kube-scheduler's affair */
}

static void one__fits__where_and_why(void **state)
{
    struct whatif w;

    three_nodes();
    w = ask("400", 1);
    assert_int_equal(w.outcome, WHATIF_COUNTED);
    assert_false(w.at_least);
    assert_true(str_eq_cstr(w.first, "n0"));
    assert_int_equal(w.device_n, 1);
    assert_int_equal(w.devices[0].index, 0);
    assert_true(str_eq_cstr(w.devices[0].model, "A100"));
    assert_non_null(w.why);
    assert_int_equal(w.why->asked_n, 3);
    assert_int_equal(w.why->fit_n, 3);
    assert_int_equal(sum_of_next(&w), 3);
    expect(&w, 1, "it fits now, on 3 of 3 nodes; the best is n0");
}

/* Two of 400 on each of five GPUs. */
static void several__all_or_some_fit__counted(void **state)
{
    struct whatif w;

    three_nodes();
    w = ask("400", 10);
    assert_int_equal(sum_of_next(&w), 3);
    expect(&w, 10, "all 10 fit now");
    w = ask("400", 11);
    assert_false(w.at_least);
    assert_int_equal(w.next[VERDICT_NO_COMPUTE], 3);
    expect(&w, 10, "10 of 11 fit now; no node has GPUs for one more: 3 too few GPUs with enough free compute");
}

/* Two GPUs: n0 has one, so it neither takes any nor is among those that could take one more. */
static void several__some_nodes_are_too_small__they_stay_what_they_are(void **state)
{
    struct whatif w;

    three_nodes();
    w = ask_for("fgpu.io/gpu-count", "2", 2);
    assert_int_equal(w.next[VERDICT_FITS], 1); /* the one that the last pod was put on was not asked again */
    assert_int_equal(sum_of_next(&w), 3);
    expect(&w, 2, "all 2 fit now");
    w = ask_for("fgpu.io/gpu-count", "2", 3);
    assert_int_equal(w.next[VERDICT_FITS], 0);
    assert_int_equal(sum_of_next(&w), 3);
    whatif_end(&w);
}

static void none__fits__why(void **state)
{
    struct whatif w;

    three_nodes();
    w = ask_for("fgpu.io/gpu-count", "3", 2);
    assert_int_equal(w.first.n, 0);
    assert_null(w.why);
    expect(&w, 0, "0/3 nodes have GPUs for it: 3 fewer GPUs than the pod asks for");
}

static void not_ours_or_invalid__said(void **state)
{
    struct whatif w;

    three_nodes();
    w = ask_for("cpu", "1", 1);
    assert_int_equal(w.outcome, WHATIF_NOT_OURS);
    expect(&w, 0, "it asks for no GPU: none of its limits and annotations is a request for one");
    w = ask("none", 1);
    assert_int_equal(w.outcome, WHATIF_INVALID);
    expect(&w, 0,
           "GPU request is not a valid amount: use a whole number as resource or a quantity like 0.3 or 4Gi as "
           "annotation; it is refused on every node until it is corrected; it says fgpu.io/gpu-milli: none");
}

static void not_read_yet__is_an_error(void **state)
{
    const struct whatif_question q = {.namespace_ = STR("d"), .count = 1};
    struct whatif w;

    store_check_and_free();
    store_open(clock_system());
    rules = rules_of(&policy, 1);
    assert_int_equal(whatif_ask(&rules->placement, &arena, &q, 3, &w, NULL), -ERR_UNAVAILABLE);
}

static void bindings_may_still_land__said(void **state)
{
    struct whatif w;

    three_nodes();
    store_hold_off(store, clock_mono_ns(clock_system()) + 3600 * NS_PER_S);
    w = ask("400", 6);
    expect(&w, 6, "all 6 fit now; fgpu is not ready: it has just started and waits for earlier bindings to finish");
}

/* More nodes than one section has, and nothing of the count stays. */
static void many_nodes__counted_section_by_section(void **state)
{
    struct whatif w;
    char name[16];

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "n%02d", i);
        apply_node(name, 2, 80 * GIB, true);
    }
    for (int i = 0; i < 2; i++) {
        w = ask("400", 200);
        assert_false(w.at_least);
        assert_int_equal(w.next[VERDICT_FITS], 0);
        assert_int_equal(w.fitting, 160);
        whatif_end(&w);
        w = ask("400", 160);
        assert_int_equal(w.next[VERDICT_FITS], 1); /* the last one was not asked again */
        assert_int_equal(w.fitting, 160);
        whatif_end(&w);
    }
    assert_int_equal(milli_charged(), 0);
}

static void tenant__has_a_limit__counted_up_to_it(void **state)
{
    static const struct str ours[] = {STR("d")};
    const struct tenant t = {.name = STR("team"),
                             .namespaces = ours,
                             .namespace_n = 1,
                             .gpu_permille = TENANT_UNLIMITED,
                             .milli = 1300,
                             .mem_permille = TENANT_UNLIMITED,
                             .mem_mib = TENANT_UNLIMITED};
    struct whatif w;

    three_nodes();
    apply((struct ledger_op){.kind = LEDGER_TENANTS, .tenants = {&t, 1}});
    w = ask("400", 10);
    assert_int_equal(w.next[VERDICT_TENANT_LIMIT], 2);
    expect(&w, 3,
           "3 of 10 fit now; no node has GPUs for one more: 2 the tenant of the namespace would pass its GPU limit, 1 "
           "too few GPUs with enough free compute; its tenant team holds 0 of at most 1300 milli");
}

/* Two nodes with parts of one physical GPU: what the second one gives is not certain. */
static void host_group__only_what_is_certain(void **state)
{
    static const char *const names[] = {"n0", "n1"};
    const struct device device = {.index = 0, .model = STR("A100"), .mem_mib = 40 * GIB, .slot_n = 16, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};
    struct whatif w;

    for (size_t i = 0; i < 2; i++) {
        apply((struct ledger_op){
            .kind = LEDGER_NODE_DESCRIBED,
            .node = {
                .name = str_of(names[i]), .schedulable = true, .host_group = STR("host"), .inventory = &inventory}});
    }
    w = ask("400", 10);
    assert_true(w.at_least);
    expect(&w, 2,
           "at least 2 of 10 fit now; not all that is possible was counted: 1 physical GPUs are in use by other nodes "
           "of the host group, 1 too few GPUs with enough free compute");
}

/* Room that went after the nodes were chosen: one that takes none holds nothing back from the others of its host. */
static void host_group__a_node_that_takes_none__leaves_the_others_all(void **state)
{
    static const struct str names[] = {STR("n0"), STR("n1")};
    const struct demand demand = DEMAND_OF_SHARE(400);
    const struct view_pod pod = {.uid = STR(""), .namespace_ = STR("d"), .demand = &demand};
    struct store_repeat_question q = {.pod = &pod, .names = names, .name_n = 2, .max = 10, .work = 1000000};
    struct store_repeat_answer answer;

    rules = rules_of(&policy, 1);
    for (size_t i = 0; i < 2; i++) {
        const struct device device = {
            .index = (int32_t)i, .model = STR("A100"), .mem_mib = 40 * GIB, .slot_n = 16, .healthy = i == 1};
        const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};

        apply((struct ledger_op){
            .kind = LEDGER_NODE_DESCRIBED,
            .node = {.name = names[i], .schedulable = true, .host_group = STR("host"), .inventory = &inventory}});
    }
    q.plans = &rules->placement.plans;
    assert_int_equal(store_repeat(store, &arena, &q, &answer, NULL), 0);
    assert_int_equal(answer.fitting, 2);
    assert_false(answer.at_least);
    assert_int_equal(answer.next[1], VERDICT_NO_COMPUTE);
    assert_int_equal(answer.device_n, 0); /* the first one has none to name */
}

/* Where another pod is nominated one more does no harm; beyond that nobody knows. */
static void nominated_node__gives_one(void **state)
{
    const struct demand half = DEMAND_OF_SHARE(400);
    struct whatif w;

    apply_node("n0", 2, 80 * GIB, true);
    apply((struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                             .pod = {.uid = STR("other"),
                                     .namespace_ = STR("d"),
                                     .name = STR("other"),
                                     .nominated_node = STR("n0"),
                                     .priority = 5,
                                     .demand = &half}});
    w = ask("400", 3);
    assert_true(w.at_least);
    assert_int_equal(w.next[VERDICT_NOMINATED], 1);
    assert_int_equal(w.fitting, 1);
    whatif_end(&w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one__fits__where_and_why),
        TEST(several__all_or_some_fit__counted),
        TEST(several__some_nodes_are_too_small__they_stay_what_they_are),
        TEST(none__fits__why),
        TEST(not_ours_or_invalid__said),
        TEST(not_read_yet__is_an_error),
        TEST(bindings_may_still_land__said),
        TEST(many_nodes__counted_section_by_section),
        TEST(tenant__has_a_limit__counted_up_to_it),
        TEST(nominated_node__gives_one),
        TEST(host_group__only_what_is_certain),
        TEST(host_group__a_node_that_takes_none__leaves_the_others_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
