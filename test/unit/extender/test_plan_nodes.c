/* Nodes for the pods of a plan, by the store and the policy as they are: what is known of nodes, and the strategies of
 * rules. The search itself: test/unit/core/test_plan_head.c. */
#include "extender/plan_nodes.h"

#include "core/plan/waiting_pod.h"
#include "extender/policy_set.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdio.h>

static struct clock_manual now;
static struct policy policy;
static struct policy_set *policies;
static struct plan_nodes *nodes;
static struct waiting_pod *waiting;

static const struct demand share = DEMAND_OF_SHARE(600), third = DEMAND_OF_SHARE(300);

static int setup(void **state)
{
    clock_manual_init(&now, 1000 * NS_PER_S, 5000);
    store_open(&now.clock);
    apply_empty_lists();
    policy = *policy_defaults();
    nodes = plan_nodes_new();
    return 0;
}

static int teardown(void **state)
{
    waiting_pod_free(waiting);
    waiting = NULL;
    plan_nodes_free(nodes);
    policy_set_free(policies);
    policies = NULL;
    store_check_and_free();
    return 0;
}

static void use(const char *strategy)
{
    policy.node_strategy = policy.device_strategy = str_of(strategy);
    policies = policy_set_new(rules_of(&policy, 1));
}

/* kube-scheduler's facts of a node. */
static void observe(const char *name)
{
    const struct kv allocatable[] = {{STR("pods"), STR("110")}};
    const struct node n = {.name = str_of(name), .allocatable = {allocatable, 1}};

    plan_nodes_observed(nodes, &n);
}

static void add_node(const char *name)
{
    struct device devices[2];
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 2};

    for (int i = 0; i < 2; i++) {
        devices[i] = (struct device){.index = i, .model = STR("A100"), .mem_mib = 80000, .slot_n = 16, .healthy = true};
    }
    apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                             .node = {.name = str_of(name),
                                      .schedulable = true,
                                      .host = {.cpu_milli = 4000, .mem_mib = 8192},
                                      .inventory = &inventory}});
    observe(name);
}

/* Where the pod d/w goes; "": nowhere now. */
static const char *chosen(void)
{
    static char name[64];
    const struct container c = {.name = STR("c")};
    const struct pod pod = {
        .uid = STR("w"), .namespace_ = STR("d"), .name = STR("w"), .containers = &c, .container_n = 1};
    struct planner_choice ret[2] = {{.pod = NULL}};
    struct planner_question q = {.pod_n = 1, .max = 1, .arena = &arena, .ret = ret};
    size_t n;

    waiting_pod_free(waiting);
    apply_pod("w", NULL, &share);
    waiting = waiting_pod_new(&policy, &pod, &share, NULL, 0);
    q.pods = (const struct waiting_pod *const *)&waiting;
    n = plan_nodes_choose(nodes, policies, &q);
    assert_true(n <= 1);
    assert_int_equal(q.differ_n, 0);
    if (n == 0) {
        return "";
    }
    assert_int_equal(q.looked_n, 1);
    assert_ptr_equal(ret[0].pod, waiting);
    snprintf(name, sizeof(name), "%.*s", STR_ARG(ret[0].node_name));
    return name;
}

/* Again and again there are more than there was room for: the store is not held while memory is found. */
static void choose__nodes_come__all_are_looked_at(void **state)
{
    char name[16];

    use("binpack");
    assert_string_equal(chosen(), "");
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        add_node(name);
        assert_string_not_equal(chosen(), "");
    }
    apply_pod("a", name, &third);
    assert_string_equal(chosen(), name); /* the last one is the fullest now */
}

static void choose__what_is_not_known_of_a_node__not_there(void **state)
{
    use("binpack");
    add_node("n1");
    assert_string_equal(chosen(), "n1");
    plan_nodes_gone(nodes, STR("n1"));
    assert_string_equal(chosen(), "");
    observe("n1");
    assert_string_equal(chosen(), "n1");
    plan_nodes_list_begin(nodes);
    assert_string_equal(chosen(), "");
    observe("n1");
    assert_string_equal(chosen(), "n1");
}

/* A nominated pod is tried there first, and bind would refuse it (decision 0112). */
static void choose__node_in_doubt__nobody_is_nominated_there(void **state)
{
    use("binpack");
    add_node("n1");
    store_doubt(store, STR("n1"), true);
    assert_string_equal(chosen(), "");
    store_doubt(store, STR("n1"), false);
    assert_string_equal(chosen(), "n1");
}

/* Whoever reads nodes tells it, where planning is on. */
static void ingest__reads_nodes__known_while_planning_is_on(void **state)
{
    const struct kv annotation = {STR("fgpu.io/gpus"), STR(TWO_GPUS)};
    const struct kv allocatable[] = {{STR("pods"), STR("110")}, {STR("cpu"), STR("4")}, {STR("memory"), STR("8Gi")}};
    const struct node n = {
        .name = STR("n1"), .uid = STR("n1"), .allocatable = {allocatable, 3}, .annotations = {&annotation, 1}};
    struct policy on = policy;
    struct ingest by = {.store = store, .policy = &policy, .plan_nodes = nodes};

    use("binpack");
    on.plan_ahead = true;
    assert_int_equal(ingest_node(&by, &arena, &n, NULL), 0);
    assert_string_equal(chosen(), "");
    by.policy = &on;
    assert_int_equal(ingest_node(&by, &arena, &n, NULL), 0);
    assert_string_equal(chosen(), "n1");
    assert_int_equal(ingest_gone(&by, &(struct kube_object){.node = &n}, NULL), 0);
    assert_int_equal(ingest_node(&(struct ingest){.store = store, .policy = &on}, &arena, &n, NULL), 0);
    assert_string_equal(chosen(), ""); /* the ledger knows it, and nobody what kube-scheduler asks of it */
}

static void choose__store_is_not_ready__nobody(void **state)
{
    use("binpack");
    add_node("n1");
    store_close(store, "the end");
    assert_string_equal(chosen(), "");
}

/* The rule looks ahead and the rest does not: what the rule's strategy looks at must be followed all the same. Of two
 * nodes the one is taken on which less is lost for the demand that there was. */
static void choose__a_strategy_of_a_rule_looks_ahead__as_filter_would_decide(void **state)
{
    static const struct str ours[] = {STR("d")};
    const struct packing_rule rule = {
        .namespaces = ours, .namespace_n = 1, .node_strategy = STR("fgd"), .device_strategy = STR("fgd")};

    policy.rules = &rule;
    policy.rule_n = 1;
    use("spread");
    for (int i = 0; i < 3; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        add_node(name);
    }
    apply_pod("a", "n1", &third);
    assert_string_equal(chosen(), "n1");
}

/* Two pods that differ by nothing but their namespace, for which there are two rules: each goes by its own. */
static void choose__pods_of_two_rules__each_by_its_own(void **state)
{
    static const struct str first[] = {STR("d")}, second[] = {STR("e")};
    const struct packing_rule rules[] = {
        {.namespaces = first, .namespace_n = 1, .node_strategy = STR("binpack"), .device_strategy = STR("binpack")},
        {.namespaces = second, .namespace_n = 1, .node_strategy = STR("spread"), .device_strategy = STR("spread")}};
    const struct container c = {.name = STR("c")};
    struct pod pod = {.containers = &c, .container_n = 1};
    struct waiting_pod *pods[2];
    struct planner_choice ret[2] = {{.pod = NULL}};
    struct planner_question q = {.pod_n = 2, .max = 2, .arena = &arena, .ret = ret};

    policy.rules = rules;
    policy.rule_n = 2;
    use("binpack");
    add_node("n0");
    add_node("n1");
    apply_pod("a", "n1", &third);
    for (size_t i = 0; i < 2; i++) {
        pod.uid = pod.name = i == 0 ? STR("x") : STR("y");
        pod.namespace_ = i == 0 ? first[0] : second[0];
        apply((struct ledger_op){
            .kind = LEDGER_POD_OBSERVED,
            .pod = {.uid = pod.uid, .namespace_ = pod.namespace_, .name = pod.name, .demand = &third}});
        pods[i] = waiting_pod_new(&policy, &pod, &third, NULL, 0);
    }
    q.pods = (const struct waiting_pod *const *)pods;
    assert_int_equal(plan_nodes_choose(nodes, policies, &q), 2);
    assert_true(str_eq_cstr(ret[0].node_name, "n1")); /* the fuller one */
    assert_true(str_eq_cstr(ret[1].node_name, "n0"));
    waiting_pod_free(pods[0]);
    waiting_pod_free(pods[1]);
}

static void nothing_is_planned__facts_are_dropped(void **state)
{
    const struct node n = {.name = STR("n1")};

    plan_nodes_observed(NULL, &n);
    plan_nodes_gone(NULL, STR("n1"));
    plan_nodes_list_begin(NULL);
    plan_nodes_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(choose__nodes_come__all_are_looked_at),
        TEST(choose__what_is_not_known_of_a_node__not_there),
        TEST(choose__node_in_doubt__nobody_is_nominated_there),
        TEST(ingest__reads_nodes__known_while_planning_is_on),
        TEST(choose__store_is_not_ready__nobody),
        TEST(choose__a_strategy_of_a_rule_looks_ahead__as_filter_would_decide),
        TEST(choose__pods_of_two_rules__each_by_its_own),
        cmocka_unit_test(nothing_is_planned__facts_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
