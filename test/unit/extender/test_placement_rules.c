/* filter and bind by rules, on a real store of more nodes than one section takes. */
#include "base/compiler.h"
#include "base/rng.h"
#include "extender/placement.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES (STORE_PACK_SECTION + 44)

static struct ingest ingest;
static struct policy policy;
static struct placement_context context;
static char name_text[NODES][8];
static struct str names[NODES];

static const struct kv pools[] = {{{"pool", 4}, {"a", 1}}, {{"pool", 4}, {"b", 1}}, {{"pool", 4}, {"c", 1}}};

/* Node i is in pool i mod 3 and has two GPUs. */
static void add_node(size_t i)
{
    char text[256];
    struct kv gpus = {STR("fgpu.io/gpus"), STR_NULL};
    struct node n = {.name = names[i], .uid = names[i], .labels = {&pools[i % 3], 1}, .annotations = {&gpus, 1}};

    snprintf(text, sizeof(text),
             "{\"v\":1,\"gpus\":[{\"uuid\":\"%s-0\",\"index\":0,\"memMib\":80000},"
             "{\"uuid\":\"%s-1\",\"index\":1,\"memMib\":80000}]}",
             name_text[i], name_text[i]);
    gpus.value = str_of(text);
    assert_int_equal(ingest_node(&ingest, &arena, &n, NULL), 0);
}

/* A policy with these rules; nodes are read by it. */
static void use(const struct packing_rule *rules, size_t rule_n)
{
    policy.rules = rules;
    policy.rule_n = rule_n;
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    for (size_t i = 0; i < NODES; i++) {
        add_node(i);
    }
}

static int setup(void **state)
{
    store_open(clock_system());
    policy = *policy_defaults();
    policy.candidates = 0;
    policy.node_strategy = policy.device_strategy = STR("tight-fit");
    policy.tentative_ms = 0;
    ingest = (struct ingest){store, &policy, NULL, NULL};
    for (size_t i = 0; i < NODES; i++) {
        snprintf(name_text[i], sizeof(name_text[i]), "n%03zu", i);
        names[i] = str_of(name_text[i]);
    }
    apply_empty_lists();
    use(NULL, 0);
    return 0;
}

struct test_pod {
    struct kv limit, label;
    char amount[16];
    struct container container;
    struct pod pod;
};

static struct pod *make_pod(struct test_pod *p, const char *uid, const char *namespace_, const char *tier, int milli)
{
    snprintf(p->amount, sizeof(p->amount), "%d", milli);
    p->limit = (struct kv){STR("fgpu.io/gpu-milli"), str_of(p->amount)};
    p->label = (struct kv){STR("tier"), str_of(tier)};
    p->container = (struct container){.name = STR("c"), .limits = {&p->limit, 1}};
    p->pod = (struct pod){.namespace_ = str_of(namespace_),
                          .name = str_of(uid),
                          .uid = str_of(uid),
                          .labels = {&p->label, tier != NULL},
                          .containers = &p->container,
                          .container_n = 1};
    return &p->pod;
}

static struct filter_result filter(const struct pod *pod)
{
    struct filter_result r;

    assert_int_equal(placement_filter(&context, &arena, pod, names, NODES, &r, NULL), 0);
    return r;
}

/* Binds; returns the index of its GPU. */
static int bind(const struct pod *pod, struct str node)
{
    struct store_reservation r;

    assert_int_equal(ingest_pod(&ingest, &arena, pod, NULL), 0);
    assert_int_equal(store_reserve(store, &arena, pod->uid, pod->namespace_, pod->name, node, STR("d"), &context.plans,
                                   NULL, &r, NULL),
                     STORE_RESERVED);
    return r.assignment.containers[0].devices[0].index;
}

static void occupy(size_t node, int milli)
{
    static unsigned serial;
    struct test_pod p;
    char uid[16];

    snprintf(uid, sizeof(uid), "o%u", serial++);
    (void)bind(make_pod(&p, uid, "filler", NULL, milli), names[node]);
}

/* ---- rules ---- */

static const struct str team[] = {{"team-*", 6}};

static void rule__of_a_namespace__its_pods_only(void **state)
{
    const struct packing_rule rule = {
        .namespaces = team, .namespace_n = 1, .node_strategy = STR("spread"), .device_strategy = STR("spread")};
    struct test_pod p;

    use(&rule, 1);
    for (size_t i = 0; i < NODES; i++) {
        occupy(i, i == 7 ? 100 : i == 9 ? 600 : 200);
    }
    assert_true(str_eq(filter(make_pod(&p, "a", "team-x", NULL, 100)).results[0].name, names[7]));
    assert_true(str_eq(filter(make_pod(&p, "a", "other", NULL, 100)).results[0].name, names[9]));
    /* bind chooses by the rule, too */
    assert_int_equal(bind(make_pod(&p, "b", "team-x", NULL, 100), names[0]), 1);
    assert_int_equal(bind(make_pod(&p, "c", "other", NULL, 100), names[2]), 0);
}

static void rule__of_a_pool__its_nodes_before_all_others_in_the_order_of_the_rules(void **state)
{
    const struct packing_rule rules[] = {
        {.node_selector = {&pools[2], 1}, .node_strategy = STR("spread"), .device_strategy = STR("spread")},
        {.node_selector = {&pools[0], 1}, .node_strategy = STR("binpack")},
    };
    struct test_pod p;
    struct filter_result f;

    use(rules, 2);
    occupy(0, 900); /* pool a: the fullest, though it does not fit */
    occupy(3, 300); /* pool a */
    occupy(2, 300); /* pool c */
    occupy(1, 700); /* pool b, by the section's tight-fit the best of all */
    f = filter(make_pod(&p, "x", "any", NULL, 300));
    assert_int_equal(f.fit_n, NODES);
    for (size_t i = 0; i < f.fit_n; i++) {
        size_t node = (size_t)(f.results[i].name.p[1] - '0') * 100 + (size_t)(f.results[i].name.p[2] - '0') * 10 +
                      (size_t)(f.results[i].name.p[3] - '0');

        assert_int_equal(node % 3, i < 100 ? 2 : i < 200 ? 0 : 1);
        if (i == 99) {
            assert_int_equal(node, 2); /* of the emptiest first, the only used one is last */
        } else if (i == 100) {
            assert_int_equal(node, 0); /* its other GPU is empty */
        } else if (i == 200) {
            assert_int_equal(node, 1);
        }
    }
    assert_int_equal(bind(make_pod(&p, "s", "any", NULL, 100), names[2]), 1); /* spread */
    assert_int_equal(bind(make_pod(&p, "t", "any", NULL, 100), names[3]), 0); /* the section's */
}

/* ---- criteria ---- */

static void chain__equal_to_the_first__the_second_decides(void **state)
{
    struct test_pod p;

    policy.node_strategy = STR("binpack");
    policy.node_criteria = (struct criteria){.names = {STR("binpack"), STR("tight-fit")}, .n = 2};
    policy.device_strategy = STR("spread");
    use(NULL, 0);
    occupy(5, 600);
    occupy(8, 300);
    occupy(8, 300); /* on the other GPU: as much in all */
    policy.device_strategy = STR("tight-fit");
    use(NULL, 0);
    assert_true(str_eq(filter(make_pod(&p, "a", "d", NULL, 400)).results[0].name, names[5]));
    assert_true(str_eq(filter(make_pod(&p, "a", "d", NULL, 700)).results[0].name, names[8]));
    policy.node_criteria.names[1] = STR("spread");
    use(NULL, 0);
    assert_true(str_eq(filter(make_pod(&p, "a", "d", NULL, 700)).results[0].name, names[5])); /* equal: by name */
}

static void weights__more_for_the_one__its_favourite_first(void **state)
{
    struct test_pod p;

    for (int spread_first = 0; spread_first < 2; spread_first++) {
        policy.node_strategy = STR("binpack");
        policy.node_criteria = (struct criteria){
            .names = {STR("binpack"), STR("spread")}, .weights_milli = {spread_first ? 400 : 600, 500}, .n = 2};
        use(NULL, 0);
        if (!spread_first) {
            for (size_t i = 0; i < NODES; i++) {
                occupy(i, i == 17 ? 50 : i == 31 ? 700 : 300);
            }
        }
        assert_true(str_eq(filter(make_pod(&p, "a", "d", NULL, 100)).results[0].name, names[spread_first ? 17 : 31]));
    }
}

/* ---- any rules ---- */

static struct str draw_strategy(struct rng *r)
{
    static const char *const all[] = {"binpack", "spread", "tight-fit", "best-fit", "fgd", "rsp", ""};

    return str_of(all[rng_below(r, ARRAY_LEN(all))]);
}

static struct packing_rule draw_rule(struct rng *r)
{
    static const struct kv tier = {{"tier", 4}, {"gold", 4}};
    struct packing_rule rule = {.node_strategy = draw_strategy(r), .device_strategy = draw_strategy(r)};

    if (rng_below(r, 2) == 0) {
        rule.namespaces = team;
        rule.namespace_n = 1;
    }
    if (rng_below(r, 3) == 0) {
        rule.pod_selector = (struct kv_list){&tier, 1};
    }
    if (rng_below(r, 2) == 0) {
        rule.node_selector = (struct kv_list){&pools[rng_below(r, 3)], 1};
    }
    if (rule.node_strategy.n > 0 && rng_below(r, 2) == 0) {
        rule.node_criteria = (struct criteria){.names = {rule.node_strategy, STR("fgd")}, .n = 1};
        rule.node_criteria.names[1] = str_eq(rule.node_strategy, STR("spread")) ? STR("binpack") : STR("spread");
        rule.node_criteria.n = 2;
        for (size_t i = 0; i < 2 && rng_below(r, 2) == 0; i++) {
            rule.node_criteria.weights_milli[0] = 300;
            rule.node_criteria.weights_milli[1] = 700;
        }
    }
    return rule;
}

/* Rules prefer, they never decide what fits: the same nodes fit as without them, each is answered once, and the same
 * question has the same answer. */
static void random__any_rules__the_same_nodes_fit(void **state)
{
    struct packing_rule rules[5];
    struct rng r;

    rng_init(&r, 18);
    for (size_t i = 0; i < NODES; i++) {
        occupy(i, 50 + 10 * (int)rng_below(&r, 90));
        if (rng_below(&r, 2) == 0) {
            occupy(i, 50);
        }
    }
    for (int round = 0; round < 40; round++) {
        struct test_pod p;
        const struct pod *pod = make_pod(&p, "q", rng_below(&r, 2) == 0 ? "team-a" : "other",
                                         rng_below(&r, 2) == 0 ? "gold" : "iron", 100 + 50 * (int)rng_below(&r, 18));
        struct filter_result plain, ruled, again;
        bool fits[NODES] = {false};

        use(NULL, 0);
        plain = filter(pod);
        for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
            rules[i] = draw_rule(&r);
        }
        use(rules, 1 + rng_below(&r, ARRAY_LEN(rules)));
        ruled = filter(pod);
        again = filter(pod);
        assert_int_equal(ruled.result_n, NODES);
        assert_int_equal(ruled.fit_n, plain.fit_n);
        for (size_t i = 0; i < plain.fit_n; i++) {
            fits[(size_t)atoi(plain.results[i].name.p + 1)] = true;
        }
        for (size_t i = 0; i < ruled.fit_n; i++) {
            size_t node = (size_t)atoi(ruled.results[i].name.p + 1);

            assert_true(fits[node]);
            fits[node] = false;
            assert_true(str_eq(ruled.results[i].name, again.results[i].name));
            assert_true(i == 0 || ruled.results[i - 1].group <= ruled.results[i].group);
        }
        arena_reset(&arena);
    }
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rule__of_a_namespace__its_pods_only),
        TEST(rule__of_a_pool__its_nodes_before_all_others_in_the_order_of_the_rules),
        TEST(chain__equal_to_the_first__the_second_decides),
        TEST(weights__more_for_the_one__its_favourite_first),
        TEST(random__any_rules__the_same_nodes_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
