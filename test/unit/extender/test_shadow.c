/* Strategies in the shadow: what is counted, and that equal strategies never differ. */
#include "extender/shadow.h"
#include "extender/support/tested_store.h"

#include "base/rng.h"
#include "core/dialects/dialect.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define NODES 12
#define PODS 150

static struct shadow *shadow;
static struct policy policy;
static struct placement_context context;
static struct str names[NODES];
static char texts[NODES][16];

/* In use on both levels, and in the shadow on both. */
static void strategies_are(const char *live, const char *others)
{
    policy = *policy_defaults();
    policy.node_strategy = policy.device_strategy = str_of(live);
    policy.shadow_node_strategy = policy.shadow_device_strategy = str_of(others);
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
}

static int setup(void **state)
{
    store_open(clock_system());
    apply_empty_lists();
    for (int i = 0; i < NODES; i++) {
        snprintf(texts[i], sizeof(texts[i]), "n%d", i);
        names[i] = str_of(texts[i]);
        apply_node(texts[i], 1 + i % 4, 40000, true);
    }
    assert_int_equal(shadow_new(store, &shadow, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    shadow_free(shadow);
    store_check_and_free();
    return 0;
}

struct request {
    char uid[16], milli[8];
    struct kv limit;
    struct container container;
    struct pod pod;
};

static void request(struct request *r, unsigned number, unsigned milli)
{
    snprintf(r->uid, sizeof(r->uid), "u%u", number);
    snprintf(r->milli, sizeof(r->milli), "%u", milli);
    r->limit = (struct kv){STR("fgpu.io/gpu-milli"), str_of(r->milli)};
    r->container = (struct container){.name = STR("main"), .limits = {&r->limit, 1}};
    r->pod = (struct pod){.namespace_ = STR("ns"),
                          .name = str_of(r->uid),
                          .uid = str_of(r->uid),
                          .containers = &r->container,
                          .container_n = 1};
}

static void observe(const struct request *r)
{
    struct demand d;

    assert_true(dialect_demand(&policy, &r->pod, &arena, &d));
    apply((struct ledger_op){
        .kind = LEDGER_POD_OBSERVED,
        .pod = {.uid = r->pod.uid, .namespace_ = r->pod.namespace_, .name = r->pod.name, .demand = &d}});
}

/* As the verb does; returns where it goes. */
static struct str decide(const struct request *r)
{
    struct filter_result f;

    assert_int_equal(placement_filter(&context, &arena, &r->pod, names, NODES, &f, NULL), 0);
    if (f.outcome != FILTER_SOME_FIT) {
        return STR_NULL;
    }
    shadow_offer(shadow, &context, &f.pod, names, NODES);
    return f.results[0].name;
}

static void bind(const struct request *r, struct str where)
{
    struct store_reservation out = {0};

    assert_int_equal(store_reserve(store, &arena, r->pod.uid, r->pod.namespace_, r->pod.name, where, STR("d"),
                                   &context.plans, NULL, &out, NULL),
                     STORE_RESERVED);
}

static struct shadow_report play(uint64_t seed)
{
    struct shadow_report report;
    struct rng rng;

    rng_init(&rng, seed);
    for (unsigned i = 0; i < PODS; i++) {
        struct request r;
        struct str where;

        arena_reset(&arena);
        request(&r, i,
                rng_below(&rng, 4) == 0 ? 1000 * (1 + (unsigned)rng_below(&rng, 2))
                                        : 1 + (unsigned)rng_below(&rng, 700));
        observe(&r);
        where = decide(&r);
        if (where.n > 0) {
            bind(&r, where); /* perhaps before it is compared: then its charges do not count */
        }
        shadow_drain(shadow);
    }
    shadow_read(shadow, &report);
    return report;
}

static void offer__no_shadow__nothing_happens(void **state)
{
    struct shadow_report report;

    strategies_are("binpack", POLICY_NO_SHADOW);
    report = play(1);
    assert_false(report.on);
    assert_int_equal(report.decision_n, 0);
}

static void offer__the_same_strategies__never_differ(void **state)
{
    struct shadow_report report;

    strategies_are("binpack", "binpack");
    report = play(2);
    assert_true(report.on && report.decision_n > 20);
    assert_int_equal(report.compared_n, report.decision_n);
    assert_int_equal(report.other_node_n, 0);
    assert_int_equal(report.other_device_n, 0);
    assert_int_equal(report.frag_umilli, 0);
}

static void offer__the_opposite__differs_and_fragments_more(void **state)
{
    struct shadow_report report;

    strategies_are("binpack", "spread");
    report = play(2);
    assert_int_equal(report.compared_n, report.decision_n);
    assert_true(report.other_node_n > report.compared_n / 4);
    assert_true(report.other_node_n + report.other_device_n <= report.compared_n);
    assert_true(report.frag_umilli > 0);
}

/* GPU 0 of n3 has 400 free, its three others 1000. */
static void offer__same_node__other_gpus(void **state)
{
    struct shadow_report report;
    struct request first, second;

    strategies_are("binpack", POLICY_NO_SHADOW);
    for (int i = 0; i < NODES; i++) {
        if (i != 3) {
            apply((struct ledger_op){.kind = LEDGER_NODE_GONE, .name = names[i]});
        }
    }
    request(&first, 1, 600);
    observe(&first);
    bind(&first, names[3]);
    policy.shadow_device_strategy = STR("spread");
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    assert_ptr_equal(context.shadow.rest.criteria[0], context.plans.rest.criteria[0]);
    request(&second, 2, 300);
    observe(&second);
    assert_true(str_eq(decide(&second), names[3]));
    shadow_drain(shadow);
    shadow_read(shadow, &report);
    assert_int_equal(report.compared_n, 1);
    assert_int_equal(report.other_node_n, 0);
    assert_int_equal(report.other_device_n, 1);
}

static void offer__strategies_change__counts_anew(void **state)
{
    struct shadow_report report;
    struct request r;

    strategies_are("binpack", "spread");
    (void)play(3);
    for (unsigned i = 0; i < PODS; i++) {
        char uid[16];

        snprintf(uid, sizeof(uid), "u%u", i);
        apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = str_of(uid)});
    }
    strategies_are("spread", "binpack");
    request(&r, 1000, 100);
    observe(&r);
    (void)decide(&r);
    shadow_drain(shadow);
    shadow_read(shadow, &report);
    assert_int_equal(report.decision_n, 1);
    assert_string_equal(report.shadow.criteria[0]->name, "binpack");
}

static struct shadow_report play_alone(unsigned number, const char *namespace_)
{
    struct shadow_report report;
    struct request r;

    request(&r, number, 100);
    r.pod.namespace_ = str_of(namespace_);
    observe(&r);
    assert_true(decide(&r).n > 0);
    shadow_drain(shadow);
    shadow_read(shadow, &report);
    return report;
}

/* A rule that says everything holds on both sides; what it leaves out is that of the shadow strategies on one. The full
 * node is n3.
 */
static void offer__pods_of_rules__differ_only_where_the_rule_leaves_it_open(void **state)
{
    static const struct str own = {"own", 3}, open = {"open", 4};
    static struct packing_rule rules[2];
    struct shadow_report report;
    struct request first;

    strategies_are("binpack", POLICY_NO_SHADOW);
    request(&first, 1, 600);
    observe(&first);
    bind(&first, names[3]);
    rules[0] = (struct packing_rule){
        .namespaces = &own, .namespace_n = 1, .node_strategy = STR("binpack"), .device_strategy = STR("binpack")};
    rules[1] = (struct packing_rule){.namespaces = &open, .namespace_n = 1, .device_strategy = STR("binpack")};
    policy.rules = rules;
    policy.rule_n = 2;
    policy.shadow_node_strategy = STR("spread");
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    report = play_alone(2, "own");
    assert_int_equal(report.compared_n, 1);
    assert_int_equal(report.ruled_n, 1);
    assert_int_equal(report.other_node_n + report.other_device_n, 0);
    report = play_alone(3, "open");
    assert_int_equal(report.ruled_n, 2);
    assert_int_equal(report.other_node_n, 1);
    report = play_alone(4, "ns");
    assert_int_equal(report.compared_n, 3);
    assert_int_equal(report.ruled_n, 2);
    assert_int_equal(report.other_node_n, 2);
    rules[0].node_strategy = STR("spread"); /* another rule: other numbers */
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    report = play_alone(5, "own");
    assert_int_equal(report.decision_n, 1);
}

/* All equal to the first criterion: the second decides. The shadow strategies take the place of both. */
static void offer__several_criteria__all_of_them_count(void **state)
{
    struct shadow_report report;
    struct request first;

    strategies_are("binpack", POLICY_NO_SHADOW);
    request(&first, 1, 600);
    observe(&first);
    bind(&first, names[3]);
    policy.node_criteria = (struct criteria){{STR("binpack"), STR("spread")}, {400, 600}, 2};
    policy.shadow_node_strategy = STR("spread");
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    report = play_alone(2, "ns");
    assert_int_equal(report.compared_n, 1);
    assert_int_equal(report.other_node_n, 0); /* spread outweighs */
    policy.node_criteria.weights_milli[0] = 900;
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    report = play_alone(3, "ns");
    assert_int_equal(report.live.criterion_n, 2);
    assert_int_equal(report.shadow.criterion_n, 1);
    assert_int_equal(report.decision_n, 1);
    assert_int_equal(report.other_node_n, 1);
}

static void offer__other_pods_labels_decide__not_compared(void **state)
{
    struct shadow_report report;
    struct request r;
    struct kv isolate = {STR("fgpu.io/isolate-from"), STR("app=x")};

    strategies_are("binpack", "spread");
    request(&r, 1, 100);
    r.pod.annotations = (struct kv_list){&isolate, 1};
    observe(&r);
    assert_true(decide(&r).n > 0);
    shadow_drain(shadow);
    shadow_read(shadow, &report);
    assert_int_equal(report.decision_n, 1);
    assert_int_equal(report.compared_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(offer__no_shadow__nothing_happens, setup, teardown),
        cmocka_unit_test_setup_teardown(offer__the_same_strategies__never_differ, setup, teardown),
        cmocka_unit_test_setup_teardown(offer__the_opposite__differs_and_fragments_more, setup, teardown),
        cmocka_unit_test_setup_teardown(offer__same_node__other_gpus, setup, teardown),
        cmocka_unit_test_setup_teardown(offer__strategies_change__counts_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(offer__pods_of_rules__differ_only_where_the_rule_leaves_it_open, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(offer__several_criteria__all_of_them_count, setup, teardown),
        cmocka_unit_test_setup_teardown(offer__other_pods_labels_decide__not_compared, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
