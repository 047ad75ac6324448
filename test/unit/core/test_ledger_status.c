/* What stands out about a pod or a node, before and after ops. */
#include "core/ledger/status.h"

#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

static struct ledger_pod_status of_pod(const char *uid)
{
    const struct ledger_op op = {.kind = LEDGER_POD_OBSERVED, .pod = {.uid = str_of(uid)}};
    struct ledger_status s;

    ledger_status(fx.l, &op, &s);
    assert_false(s.node.known);
    return s.pod;
}

static struct ledger_node_status of_node(const char *name)
{
    const struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED, .node = {.name = str_of(name)}};
    struct ledger_status s;

    ledger_status(fx.l, &op, &s);
    assert_false(s.pod.known);
    return s.node;
}

static void describe(struct device *devices, size_t n, const char *note)
{
    const struct inventory inv = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = n};
    struct ledger_op op = fixture_description("n1", &inv);

    op.node.schedulable = false;
    op.node.note = note;
    fixture_apply(&fx, &op);
}

static void status__of_nothing_known__is_zero(void **state)
{
    const struct ledger_op other = {.kind = LEDGER_PODS_BEGIN};
    struct ledger_status s;

    assert_false(of_pod("a").known);
    assert_false(of_node("n2").known);
    ledger_status(fx.l, &other, &s);
    assert_false(s.pod.known || s.node.known);
}

static void status__of_a_pod__follows_its_life(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_true(of_pod("a").known && of_pod("a").state == LEDGER_PENDING);
    assert_false(of_pod("a").decided_here || of_pod("a").devices_known);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_true(of_pod("a").decided_here && of_pod("a").devices_known);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    fixture_pod(&fx, "a", &d, "n1", NULL); /* its record was removed */
    assert_int_equal(of_pod("a").state, LEDGER_BOUND);
    assert_true(of_pod("a").decided_here);
    assert_non_null(of_pod("a").conflict);
}

static void status__of_a_pod_bound_by_others__is_not_decided_here(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 300, 24 * GIB);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_true(of_pod("a").state == LEDGER_FOREIGN && of_pod("a").conflict != NULL);
    fixture_pod(&fx, "b", &d, "n1", &as);
    assert_true(of_pod("b").state == LEDGER_BOUND && of_pod("b").devices_known);
    assert_false(of_pod("b").decided_here);
    assert_null(of_pod("b").conflict);
}

static void status__of_a_pod_that_claims_a_record__until_it_does_not(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, NULL, NULL);

    op.pod.claims_record = true;
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
    assert_true(of_pod("a").claims_record);
    op.pod.claims_record = false;
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
    assert_false(of_pod("a").claims_record);
}

static void status__of_a_pod_with_a_defect__says_which(void **state)
{
    struct demand d = {.defect = DEMAND_COUNT, .dialect = ""};

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(of_pod("a").defect, DEMAND_COUNT);
}

static void status__of_a_node__counts_lost_and_unhealthy_devices(void **state)
{
    struct device devices[] = {{.uuid = STR("GPU-n1-0"), .index = 0, .mem_mib = 80 * GIB, .slot_n = 16},
                               {.uuid = STR("GPU-n1-1"), .index = 1, .mem_mib = 80 * GIB, .slot_n = 16}};
    struct demand d = WHOLE_GPUS(2);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_true(of_node("n1").known && of_node("n1").unhealthy_n == 0 && of_node("n1").lost_n == 0);
    describe(devices, 2, "a note");
    assert_int_equal(of_node("n1").unhealthy_n, 2);
    assert_string_equal(of_node("n1").note, "a note");
    describe(devices, 1, NULL);
    assert_int_equal(of_node("n1").lost_n, 1);
    assert_int_equal(of_node("n1").unhealthy_n, 1);
    assert_null(of_node("n1").note);
}

int main(void)
{
#define TEST(name) TWO_GPUS_TEST(name)
    const struct CMUnitTest tests[] = {
        TEST(status__of_nothing_known__is_zero),
        TEST(status__of_a_pod__follows_its_life),
        TEST(status__of_a_pod_bound_by_others__is_not_decided_here),
        TEST(status__of_a_pod_that_claims_a_record__until_it_does_not),
        TEST(status__of_a_pod_with_a_defect__says_which),
        TEST(status__of_a_node__counts_lost_and_unhealthy_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
