/* What kube-scheduler's own filters say of a node, in cases that a person can read; against upstream's code on random
 * ones: test/planmatch. */
#include "core/plan/node_facts.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct node_facts_table *facts;

static int setup(void **state)
{
    facts = node_facts_table_new();
    return 0;
}

static int teardown(void **state)
{
    node_facts_table_free(facts);
    return 0;
}

static const struct kv labels[] = {
    {STR("zone"), STR("a")}, {STR("cores"), STR("64")}, {STR("arch"), STR("")}, {STR("a.b/pool"), STR("train")}};

static const struct node_facts *node(bool cordoned, const struct taint *taints, size_t taint_n)
{
    const struct kv allocatable[] = {{STR("pods"), STR("110")}};
    const struct node n = {.name = STR("n1"),
                           .labels = {labels, ARRAY_LEN(labels)},
                           .allocatable = {allocatable, 1},
                           .unschedulable = cordoned,
                           .taints = taints,
                           .taint_n = taint_n};

    assert_true(node_facts_put(facts, &n));
    return node_facts_find(facts, STR("n1"));
}

#define REQUIRE(key_, op, ...)                                                                                         \
    &(struct node_requirement)                                                                                         \
    {                                                                                                                  \
        .key = STR(key_), .operator_ = (op), .values = (const struct str[]){__VA_ARGS__},                              \
        .value_n = sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)                                      \
    }
#define REQUIRE_NOTHING(key_, op)                                                                                      \
    &(struct node_requirement)                                                                                         \
    {                                                                                                                  \
        .key = STR(key_), .operator_ = (op)                                                                            \
    }

static bool takes(struct node_term *terms, size_t n)
{
    const struct waiting_pod p = {.requires_nodes = true, .node_terms = terms, .node_term_n = n};

    return node_takes(&p, node(false, NULL, 0));
}

static void node_takes__one_requirement__as_nodeaffinity(void **state)
{
    const struct {
        const char *name;
        const struct node_requirement *q;
        bool want;
    } rows[] = {
        {"in", REQUIRE("zone", REQUIREMENT_IN, STR("b"), STR("a")), true},
        {"not in these", REQUIRE("zone", REQUIREMENT_IN, STR("b")), false},
        {"no such label", REQUIRE("rack", REQUIREMENT_IN, STR("a")), false},
        {"no such label is not in", REQUIRE("rack", REQUIREMENT_NOT_IN, STR("a")), true},
        {"not in", REQUIRE("zone", REQUIREMENT_NOT_IN, STR("a")), false},
        {"empty value", REQUIRE("arch", REQUIREMENT_IN, STR("")), true},
        {"exists", REQUIRE_NOTHING("arch", REQUIREMENT_EXISTS), true},
        {"does not exist", REQUIRE_NOTHING("zone", REQUIREMENT_DOES_NOT_EXIST), false},
        {"does not, indeed", REQUIRE_NOTHING("rack", REQUIREMENT_DOES_NOT_EXIST), true},
        {"prefixed", REQUIRE("a.b/pool", REQUIREMENT_IN, STR("train")), true},
        {"more", REQUIRE("cores", REQUIREMENT_GREATER, STR("63")), true},
        {"not more", REQUIRE("cores", REQUIREMENT_GREATER, STR("64")), false},
        {"less", REQUIRE("cores", REQUIREMENT_LESS, STR("065")), true},
        {"no number", REQUIRE("zone", REQUIREMENT_LESS, STR("65")), false},
        {"two numbers", REQUIRE("cores", REQUIREMENT_LESS, STR("65"), STR("65")), false},
        /* what upstream refuses matches nothing, whatever it would mean */
        {"in nothing", REQUIRE_NOTHING("zone", REQUIREMENT_IN), false},
        {"not in nothing", REQUIRE_NOTHING("zone", REQUIREMENT_NOT_IN), false},
        {"exists with a value", REQUIRE("zone", REQUIREMENT_EXISTS, STR("a")), false},
        {"a value that is none", REQUIRE("zone", REQUIREMENT_NOT_IN, STR("b c")), false},
        {"a key that is none", REQUIRE_NOTHING("a key", REQUIREMENT_DOES_NOT_EXIST), false},
        {"a word that nobody knows", REQUIRE("zone", REQUIREMENT_UNKNOWN, STR("a")), false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct node_term t = {.expressions = rows[i].q, .expression_n = 1};

        if (takes(&t, 1) != rows[i].want) {
            fail_msg("%s: not %d", rows[i].name, rows[i].want);
        }
    }
}

static void node_takes__terms__one_is_enough_and_an_empty_one_is_none(void **state)
{
    struct node_term terms[] = {
        {.expressions = REQUIRE("zone", REQUIREMENT_IN, STR("b")), .expression_n = 1},
        {.expression_n = 0},
        {.fields = REQUIRE("metadata.name", REQUIREMENT_IN, STR("n1")), .field_n = 1},
        {.fields = REQUIRE("metadata.name", REQUIREMENT_IN, STR("n1"), STR("n2")), .field_n = 1},
        {.fields = REQUIRE("metadata.name", REQUIREMENT_NOT_IN, STR("n1")), .field_n = 1},
        {.fields = REQUIRE_NOTHING("metadata.name", REQUIREMENT_EXISTS), .field_n = 1},
        {.fields = REQUIRE("metadata.name", REQUIREMENT_IN, STR("n1")),
         .field_n = 1,
         .expressions = REQUIRE("zone", REQUIREMENT_IN, STR("b")),
         .expression_n = 1},
    };
    const struct kv selector[] = {{STR("zone"), STR("a")}, {STR("arch"), STR("")}};
    struct waiting_pod p = {.node_selector = {selector, 2}};

    assert_false(takes(NULL, 0));
    assert_false(takes(terms, 2));
    assert_true(takes(terms, 3));
    for (size_t i = 3; i < ARRAY_LEN(terms); i++) {
        assert_false(takes(&terms[i], 1));
    }
    assert_true(node_takes(&p, node(false, NULL, 0)));
    p.requires_nodes = true; /* both must hold */
    assert_false(node_takes(&p, node(false, NULL, 0)));
    p.node_terms = &terms[2];
    p.node_term_n = 1;
    assert_true(node_takes(&p, node(false, NULL, 0)));
    p.node_selector = (struct kv_list){&(const struct kv){STR("zone"), STR("b")}, 1};
    assert_false(node_takes(&p, node(false, NULL, 0)));
    p.node_selector = (struct kv_list){&(const struct kv){STR("rack"), STR("")}, 1};
    assert_false(node_takes(&p, node(false, NULL, 0)));
}

static void node_takes__cordon_and_taints__want_a_toleration(void **state)
{
    const struct taint prefer = {.key = STR("soft"), .effect = TAINT_OTHER};
    const struct taint gpu = {.key = STR("gpu"), .value = STR("x"), .effect = TAINT_NO_SCHEDULE};
    const struct toleration all = {.operator_ = TOLERATION_EXISTS};
    const struct waiting_pod none = {.toleration_n = 0}, any = {.tolerations = &all, .toleration_n = 1};

    assert_true(node_takes(&none, node(false, &prefer, 1)));
    assert_false(node_takes(&none, node(false, &gpu, 1)));
    assert_true(node_takes(&any, node(false, &gpu, 1)));
    assert_false(node_takes(&none, node(true, NULL, 0)));
    assert_true(node_takes(&any, node(true, NULL, 0)));
}

static void host_room__each_dimension__at_its_end(void **state)
{
    const struct node_facts *n = node(false, NULL, 0);
    struct host_state h = {4000, 1000, 8192, 512};

    assert_true(host_room(n, &h, 109, (struct host_request){1000, 512}));
    assert_false(host_room(n, &h, 110, (struct host_request){0, 0}));
    assert_false(host_room(n, &h, 0, (struct host_request){1001, 0}));
    assert_false(host_room(n, &h, 0, (struct host_request){0, 513}));
    h.cpu_free_milli = -5;
    assert_false(host_room(n, &h, 0, (struct host_request){1, 0}));
    assert_true(host_room(n, &h, 0, (struct host_request){0, 512})); /* nobody who asks for none is asked */
    h.mem_cap_mib = 0;
    assert_false(host_room(n, &h, 0, (struct host_request){0, 0}));
}

static void node_facts__table__keeps_copies_and_counts_changes(void **state)
{
    char text[] = "zone-a", name[32] = "node-000";
    struct kv label = {STR("zone"), {text, 6}}, pods = {STR("pods"), STR("110")};
    struct node n = {.name = {name, 8}, .labels = {&label, 1}, .allocatable = {&pods, 1}};
    static char large[NODE_FACTS_BYTES_MAX];
    uint64_t version;

    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "node-%03d", i);
        assert_true(node_facts_put(facts, &n));
    }
    text[5] = 'x'; /* was borrowed */
    assert_true(str_eq_cstr(node_facts_find(facts, STR("node-007"))->labels.items[0].value, "zone-a"));
    assert_int_equal(node_facts_find(facts, STR("node-007"))->pods_max, 110);
    assert_int_equal(node_facts_count(facts), 300);
    for (int i = 0; i < 300; i += 2) {
        snprintf(name, sizeof(name), "node-%03d", i);
        node_facts_remove(facts, n.name);
        node_facts_remove(facts, n.name);
    }
    assert_int_equal(node_facts_count(facts), 150);
    assert_null(node_facts_find(facts, STR("node-008")));
    text[5] = 'a';
    snprintf(name, sizeof(name), "node-001");
    version = node_facts_version(facts);
    assert_true(node_facts_put(facts, &n));
    assert_int_equal(node_facts_version(facts), version); /* nothing new */
    pods.value = STR("1k");
    assert_true(node_facts_put(facts, &n));
    assert_int_equal(node_facts_find(facts, n.name)->pods_max, 1000);
    assert_true(node_facts_version(facts) > version);
    pods.value = STR("many");
    assert_true(node_facts_put(facts, &n));
    assert_int_equal(node_facts_find(facts, n.name)->pods_max, 0);
    memset(large, 'x', sizeof(large));
    label.value = (struct str){large, sizeof(large)};
    assert_false(node_facts_put(facts, &n)); /* it is not known any more */
    assert_null(node_facts_find(facts, n.name));
    node_facts_clear(facts);
    assert_int_equal(node_facts_count(facts), 0);
    assert_null(node_facts_find(facts, STR("node-003")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(node_takes__one_requirement__as_nodeaffinity, setup, teardown),
        cmocka_unit_test_setup_teardown(node_takes__terms__one_is_enough_and_an_empty_one_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(node_takes__cordon_and_taints__want_a_toleration, setup, teardown),
        cmocka_unit_test_setup_teardown(host_room__each_dimension__at_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(node_facts__table__keeps_copies_and_counts_changes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
