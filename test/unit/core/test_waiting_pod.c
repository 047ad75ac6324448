/* Which pods may be planned, in which order kube-scheduler takes them, and what is kept of them. */
#include "core/plan/waiting_pod.h"

#include "core/plan/constraints.h"

#include "base/compiler.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct pod plain_pod(void)
{
    static const struct kv limits[] = {{STR("cpu"), STR("1")}, {STR("fgpu.io/gpu-milli"), STR("500")}};
    static const struct kv requests[] = {{STR("cpu"), STR("1")}, {STR("memory"), STR("1Gi")}};
    static const struct container c = {.name = STR("c"), .limits = {limits, 2}, .requests = {requests, 2}};

    return (struct pod){.namespace_ = STR("ns"),
                        .name = STR("p"),
                        .uid = STR("u"),
                        .resource_version = STR("7"),
                        .scheduler_name = STR("fgpu"),
                        .containers = &c,
                        .container_n = 1};
}

static enum plan_obstacle obstacle(const struct pod *pod, const struct demand *d)
{
    return plan_eligible(policy_defaults(), pod, d);
}

static void plan_eligible__each_obstacle__is_named(void **state)
{
    static const struct {
        unsigned bit;
        enum plan_obstacle want;
    } rows[] = {{POD_GATED, PLAN_GATED},     {POD_CONSTRAINTS_ODD, PLAN_ODD},   {POD_POD_AFFINITY, PLAN_POD_AFFINITY},
                {POD_SPREADS, PLAN_SPREADS}, {POD_HOST_PORTS, PLAN_HOST_PORTS}, {POD_CLAIMS, PLAN_CLAIMS},
                {POD_VOLUMES, PLAN_VOLUMES}, {POD_GROUPED, PLAN_GROUPED}};
    struct demand d = SHARE_OF(500), none = {.dialect = ""}, whose = SHARE_OF(500);
    struct pod p = plain_pod();
    uint64_t hash = 1;

    assert_int_equal(obstacle(&p, &d), PLAN_ELIGIBLE);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        p.scheduler_only = rows[i].bit;
        assert_int_equal(obstacle(&p, &d), rows[i].want);
    }
    p = plain_pod();
    assert_int_equal(obstacle(&p, &none), PLAN_NO_GPU);
    whose.defect = DEMAND_COUNT;
    assert_int_equal(obstacle(&p, &whose), PLAN_DEFECT);
    whose = SHARE_OF(500);
    whose.isolate = &hash;
    whose.isolate_n = 1;
    assert_int_equal(obstacle(&p, &whose), PLAN_OTHER_PODS);
    p.node_name = STR("n");
    assert_int_equal(obstacle(&p, &d), PLAN_NOT_WAITING);
    p = plain_pod();
    p.deleting = true;
    assert_int_equal(obstacle(&p, &d), PLAN_NOT_WAITING);
    p = plain_pod();
    p.phase = POD_FAILED;
    assert_int_equal(obstacle(&p, &d), PLAN_NOT_WAITING);
    p = plain_pod();
    p.nominated_node_name = STR("n");
    assert_int_equal(obstacle(&p, &d), PLAN_NOMINATED);
    p.nominated_by_planner = true;
    assert_int_equal(obstacle(&p, &d), PLAN_ELIGIBLE);
    for (enum plan_obstacle o = PLAN_ELIGIBLE; o < PLAN_OBSTACLE__MAX; o++) {
        assert_true(strlen(plan_obstacle_text(o)) > 8 && strlen(plan_obstacle_name(o)) > 2);
    }
}

static void plan_eligible__other_resources__wherever_they_stand(void **state)
{
    static const struct kv disk[] = {{STR("ephemeral-storage"), STR("1Gi")}};
    static const struct kv pages[] = {{STR("hugepages-2Mi"), STR("4Mi")}}, nic[] = {{STR("x.io/nic"), STR("1")}};
    const struct container with_disk = {.requests = {disk, 1}}, with_nic = {.limits = {nic, 1}};
    struct demand d = SHARE_OF(500);
    struct pod p = plain_pod();

    p.containers = &with_disk;
    assert_int_equal(obstacle(&p, &d), PLAN_OTHER_RESOURCES);
    p = plain_pod();
    p.init_containers = &with_nic;
    p.init_container_n = 1;
    assert_int_equal(obstacle(&p, &d), PLAN_OTHER_RESOURCES);
    p = plain_pod();
    p.requests = (struct kv_list){pages, 1};
    assert_int_equal(obstacle(&p, &d), PLAN_OTHER_RESOURCES);
    p = plain_pod();
    p.overhead = (struct kv_list){disk, 1};
    assert_int_equal(obstacle(&p, &d), PLAN_OTHER_RESOURCES);
}

static void waiting_pod__made_of_a_pod__keeps_copies_of_all(void **state)
{
    char text[] = "zone-a value tolerated n1 label";
    struct str zone = {text, 6}, value = {text + 7, 5}, tolerated = {text + 13, 9}, node = {text + 23, 2};
    const struct node_requirement q = {.key = zone, .operator_ = REQUIREMENT_IN, .values = &value, .value_n = 1};
    const struct node_requirement name = {.key = zone, .operator_ = REQUIREMENT_NOT_IN, .values = &node, .value_n = 1};
    const struct node_term term = {.expressions = &q, .expression_n = 1, .fields = &name, .field_n = 1};
    const struct kv selector = {zone, value};
    const struct toleration t = {.key = tolerated, .operator_ = TOLERATION_EXISTS};
    const uint64_t hashes[] = {3, 5};
    struct gpu_request w;
    struct demand d = fixture_share(&w, 500);
    struct pod p = plain_pod();
    struct waiting_pod *one, *other;

    p.requires_nodes = true;
    p.node_terms = &term;
    p.node_term_n = 1;
    p.node_selector = (struct kv_list){&selector, 1};
    p.tolerations = &t;
    p.toleration_n = 1;
    p.nominated_node_name = node;
    p.nominated_by_planner = true;
    p.created_ms = 77;
    p.priority = -3;
    one = waiting_pod_new(policy_defaults(), &p, &d, hashes, 2);
    p.node_term_n = 0;
    other = waiting_pod_new(policy_defaults(), &p, &d, NULL, 0);
    memset(text, '#', sizeof(text) - 1);
    memset(&w, 0, sizeof(w));
    assert_true(str_eq_cstr(one->uid, "u") && str_eq_cstr(one->namespace_, "ns") && str_eq_cstr(one->name, "p"));
    assert_true(str_eq_cstr(one->scheduler_name, "fgpu") && one->version == 7);
    assert_true(str_eq_cstr(one->node_terms[0].expressions[0].key, "zone-a"));
    assert_true(str_eq_cstr(one->node_terms[0].expressions[0].values[0], "value"));
    assert_true(str_eq_cstr(one->node_terms[0].fields[0].values[0], "n1"));
    assert_true(str_eq_cstr(one->node_selector.items[0].value, "value"));
    assert_true(str_eq_cstr(one->tolerations[0].key, "tolerated"));
    assert_true(str_eq_cstr(one->nominated, "n1") && one->nominated_by_us);
    assert_int_equal(one->label_hashes[1], 5);
    assert_int_equal(one->demand->gpu_requests[0].milli, 500);
    assert_int_equal(one->queued_ms, 77);
    assert_int_equal(one->priority, -3);
    assert_int_equal(one->obstacle, PLAN_ELIGIBLE);
    assert_int_not_equal(one->constraints, other->constraints);
    waiting_pod_free(one);
    waiting_pod_free(other);
    waiting_pod_free(NULL);
}

static void waiting_pod_compare__priority_then_time_then_arrival__as_the_queue(void **state)
{
    const struct waiting_pod order[] = {
        {.priority = 10, .queued_ms = 9, .uid = STR("a")},
        {.priority = 0, .queued_ms = 3, .arrival = 8, .uid = STR("z")},
        {.priority = 0, .queued_ms = 4, .arrival = 1, .uid = STR("b")},
        {.priority = 0, .queued_ms = 4, .arrival = 2, .uid = STR("a")},
        {.priority = 0, .queued_ms = 4, .arrival = 2, .uid = STR("b")},
        {.priority = INT32_MIN, .uid = STR("a")},
    };

    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        for (size_t k = 0; k < ARRAY_LEN(order); k++) {
            int c = waiting_pod_compare(&order[i], &order[k]);

            assert_true(i < k ? c < 0 : i > k ? c > 0 : c == 0);
        }
    }
}

/* Pods of one workload have the same constraints; whatever differs makes another. */
static void constraints__equal_only_if_every_word_is(void **state)
{
    static const struct str one[] = {STR("a")}, other[] = {STR("b")}, both[] = {STR("a"), STR("b")};
    static const struct node_requirement in_a = {STR("zone"), REQUIREMENT_IN, one, 1},
                                         in_b = {STR("zone"), REQUIREMENT_IN, other, 1},
                                         in_both = {STR("zone"), REQUIREMENT_IN, both, 2},
                                         not_in_a = {STR("zone"), REQUIREMENT_NOT_IN, one, 1},
                                         arch_a = {STR("arch"), REQUIREMENT_IN, one, 1};
    static const struct node_requirement two[] = {{STR("zone"), REQUIREMENT_IN, one, 1},
                                                  {STR("arch"), REQUIREMENT_IN, one, 1}};
    static const struct node_term terms[] = {{.expressions = &in_a, .expression_n = 1},
                                             {.expressions = &in_b, .expression_n = 1},
                                             {.expressions = &in_both, .expression_n = 1},
                                             {.expressions = &not_in_a, .expression_n = 1},
                                             {.expressions = &arch_a, .expression_n = 1},
                                             {.fields = &in_a, .field_n = 1},
                                             {.expressions = two, .expression_n = 2},
                                             {.expressions = two, .expression_n = 1, .fields = two, .field_n = 1},
                                             {.expressions = &in_a, .expression_n = 1, .fields = &in_b, .field_n = 1}};
    static const struct kv labels[] = {{STR("a"), STR("b")}, {STR("a"), STR("c")}, {STR("d"), STR("b")}};
    struct pod p = plain_pod();
    const struct demand d = SHARE_OF(500);
    struct waiting_pod *all[2 * (ARRAY_LEN(terms) + ARRAY_LEN(labels)) + 4];
    size_t n = 0;

    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
            p = plain_pod();
            p.requires_nodes = true;
            p.node_terms = &terms[i];
            p.node_term_n = 1;
            all[n++] = waiting_pod_new(policy_defaults(), &p, &d, NULL, 0);
        }
        p.node_terms = terms;
        p.node_term_n = 2;
        all[n++] = waiting_pod_new(policy_defaults(), &p, &d, NULL, 0);
        p = plain_pod();
        all[n++] = waiting_pod_new(policy_defaults(), &p, &d, NULL, 0);
        for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
            p.node_selector = (struct kv_list){&labels[i], 1};
            all[n++] = waiting_pod_new(policy_defaults(), &p, &d, NULL, 0);
        }
    }
    assert_int_equal(n, ARRAY_LEN(all));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(constraints_equal(all[i], all[k]), i % (n / 2) == k % (n / 2));
        }
    }
    for (size_t i = 0; i < n; i++) {
        all[i]->constraints = 0; /* where the hashes are equal by chance the words decide */
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(constraints_equal(all[i], all[k]), i % (n / 2) == k % (n / 2));
        }
    }
    for (size_t i = 0; i < n; i++) {
        waiting_pod_free(all[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constraints__equal_only_if_every_word_is),
        cmocka_unit_test(plan_eligible__each_obstacle__is_named),
        cmocka_unit_test(plan_eligible__other_resources__wherever_they_stand),
        cmocka_unit_test(waiting_pod__made_of_a_pod__keeps_copies_of_all),
        cmocka_unit_test(waiting_pod_compare__priority_then_time_then_arrival__as_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
