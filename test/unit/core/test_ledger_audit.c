/* One situation per way in which a ledger can be wrong, and those in which it only looks wrong. */
#include "core/ledger/audit.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <string.h>

static struct ledger *scratch;
static uint64_t touched;

static int setup(void **state)
{
    fixture_init(&fx);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    fixture_node(&fx, "n2", 2, 80 * GIB);
    scratch = ledger_audit_scratch(fx.l);
    return 0;
}

static int teardown(void **state)
{
    assert_null(ledger_check(scratch));
    ledger_free(scratch);
    fixture_fini(&fx);
    return 0;
}

static enum ledger_drift drift_of(const struct ledger_op *op)
{
    uint64_t before = ledger_generation(fx.l);
    enum ledger_drift d = ledger_drift(fx.l, scratch, op, &touched);

    assert_int_equal(ledger_generation(fx.l), before);
    assert_null(ledger_check(fx.l));
    return d;
}

/* Found with this cause; after the repair there is nothing left to find. */
static void finds_and_repairs(const struct ledger_op *op, enum ledger_drift want)
{
    enum ledger_drift d = drift_of(op);

    assert_string_equal(ledger_drift_name(d), ledger_drift_name(want));
    assert_int_equal(ledger_repair(fx.l, op, d, NULL), 0);
    assert_null(ledger_check(fx.l));
    assert_int_equal(drift_of(op), DRIFT_NONE);
}

/* ---- pods ---- */

static void pod__unknown_to_the_ledger__missing(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, "n1", NULL);

    finds_and_repairs(&op, DRIFT_POD_MISSING);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void pod__without_gpus__is_nothing_to_miss(void **state)
{
    const struct demand nothing = {.dialect = ""};
    struct ledger_op op = fixture_observation("a", &nothing, "n1", NULL);

    assert_int_equal(drift_of(&op), DRIFT_NONE);
    assert_int_equal(touched, 0);
}

static void pod__deleted__gone(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = {.kind = LEDGER_POD_GONE, .name = STR("a")};

    assert_int_equal(drift_of(&op), DRIFT_NONE);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    finds_and_repairs(&op, DRIFT_POD_GONE);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
}

static void pod__bound_to_another_node__moves(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, "n2", NULL);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    finds_and_repairs(&op, DRIFT_POD_NODE);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n2", 0), 700);
}

static void pod__binding_not_seen__state(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, "n1", NULL);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    finds_and_repairs(&op, DRIFT_POD_STATE);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
}

static void pod__confirmed_but_its_event_lost__state(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record;
    struct ledger_op op = fixture_observation("a", &d, "n1", &record);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(ledger_assignment(fx.l, STR("a"), &fx.arena, &record, NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    finds_and_repairs(&op, DRIFT_POD_STATE);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
}

static void pod__no_longer_bound__charge_is_given_back(void **state)
{
    static const enum ledger_pod_state states[] = {LEDGER_CONFIRMED, LEDGER_BOUND, LEDGER_FOREIGN};
    struct demand d = SHARE_OF(300);

    for (size_t i = 0; i < 3; i++) {
        struct ledger_op unbound = fixture_observation("a", &d, NULL, NULL);

        fixture_pod(&fx, "a", &d, NULL, NULL);
        if (states[i] == LEDGER_FOREIGN) {
            fixture_pod(&fx, "a", &d, "n1", NULL);
        } else {
            struct assignment record;

            assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
            assert_int_equal(ledger_assignment(fx.l, STR("a"), &fx.arena, &record, NULL), 0);
            assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
            if (states[i] == LEDGER_BOUND) {
                fixture_pod(&fx, "a", &d, "n1", &record);
            }
        }
        assert_int_equal(fixture_pod_state(&fx, "a"), states[i]);
        finds_and_repairs(&unbound, DRIFT_POD_UNBOUND);
        assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_PENDING);
        assert_int_equal(fixture_milli_free(&fx, "n1", 0) + fixture_milli_free(&fx, "n1", 1), 2000);
        assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    }
}

/* The scratch is made once a run, without a lock: what changes meanwhile is asked of the ledger each time. */
static void pod__annotations_ceased_to_count_since_the_run_began__is_not_missing(void **state)
{
    struct ledger_op begin = {.kind = LEDGER_PODS_BEGIN, .list = {.reread = true}};
    struct demand d = ANNOTATED_SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, "n1", NULL);

    assert_int_equal(ledger_apply(fx.l, &begin, NULL), 0);
    ledger_free(scratch);
    scratch = ledger_audit_scratch(fx.l);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0); /* a tenant's text, and nothing else */
    assert_int_equal(drift_of(&op), DRIFT_NONE);
}

static void pod__in_mid_bind__is_never_drift(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op unbound = fixture_observation("a", &d, NULL, NULL),
                     bound = fixture_observation("a", &d, "n2", NULL),
                     gone = {.kind = LEDGER_POD_GONE, .name = STR("a")};

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(drift_of(&unbound), DRIFT_NONE);
    assert_int_equal(drift_of(&bound), DRIFT_NONE);
    assert_int_equal(drift_of(&gone), DRIFT_NONE);
}

static void pod__record_appeared__state_and_devices(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF("x", "GPU-n1-1", 1, 300, 24 * GIB);
    struct ledger_op op = fixture_observation("a", &d, "n1", &record);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    finds_and_repairs(&op, DRIFT_POD_STATE);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

static void pod__record_edited_unseen__assignment_and_known_devices_stay(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF("x", "GPU-n1-1", 1, 300, 24 * GIB);
    struct assignment forged = RECORD_OF("x", "GPU-n1-0", 0, 300, 24 * GIB);
    struct ledger_op op = fixture_observation("a", &d, "n1", &forged);

    fixture_pod(&fx, "a", &d, "n1", &record);
    finds_and_repairs(&op, DRIFT_POD_ASSIGNMENT);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

static void pod__request_raised_unseen__demand_and_larger_charge(void **state)
{
    struct demand small = ANNOTATED_SHARE_OF(300), large = ANNOTATED_SHARE_OF(500), tiny = ANNOTATED_SHARE_OF(100);
    struct assignment record = RECORD_OF("x", "GPU-n1-0", 0, 300, 24 * GIB);
    struct ledger_op raised = fixture_observation("a", &large, "n1", &record),
                     lowered = fixture_observation("a", &tiny, "n1", &record);

    fixture_pod(&fx, "a", &small, "n1", &record);
    finds_and_repairs(&raised, DRIFT_POD_DEMAND);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
    assert_int_equal(drift_of(&lowered), DRIFT_POD_DEMAND);
    assert_int_equal(ledger_repair(fx.l, &lowered, DRIFT_POD_DEMAND, NULL), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500); /* a charge never falls */
}

static void pod__asks_for_nothing_any_more__demand(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(300);
    const struct demand nothing = {.dialect = ""};
    struct ledger_op op = fixture_observation("a", &nothing, NULL, NULL);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    finds_and_repairs(&op, DRIFT_POD_DEMAND);
}

static void pod__marks_changed__details(void **state)
{
    static const uint64_t labels[] = {7, 8};
    struct demand d = SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, "n1", NULL);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(drift_of(&op), DRIFT_NONE);
    op.pod.deleting = true;
    finds_and_repairs(&op, DRIFT_POD_DETAILS);
    op.pod.priority = 3;
    finds_and_repairs(&op, DRIFT_POD_DETAILS);
    op.pod.annotation_bytes = 100;
    finds_and_repairs(&op, DRIFT_POD_DETAILS);
    op.pod.label_hashes = labels;
    op.pod.label_n = 2;
    finds_and_repairs(&op, DRIFT_POD_DETAILS);
    op.pod.label_n = 1;
    finds_and_repairs(&op, DRIFT_POD_DETAILS);
}

/* ---- nodes ---- */

static struct device devices[2];
static struct inventory inventory;

/* As fixture_node describes n1. */
static struct ledger_op described(const char *name)
{
    static char uuids[2][32];

    inventory = (struct inventory){.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 2};
    for (int i = 0; i < 2; i++) {
        memcpy(uuids[i], "GPU-n1-0", 9);
        uuids[i][7] = (char)('0' + i);
        devices[i] = (struct device){.uuid = str_of(uuids[i]),
                                     .index = i,
                                     .minor = i,
                                     .model = STR("A100"),
                                     .mem_mib = 80 * GIB,
                                     .slot_n = 16,
                                     .numa = -1,
                                     .healthy = true};
    }
    return fixture_description(name, &inventory);
}

static void node__unknown_or_known_through_pods_only__missing(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = described("n8"), other = described("n9");

    finds_and_repairs(&op, DRIFT_NODE_MISSING);
    fixture_pod(&fx, "a", &d, "n9", NULL);
    finds_and_repairs(&other, DRIFT_NODE_MISSING);
    assert_int_equal(fixture_milli_free(&fx, "n9", 1), 700);
}

static void node__deleted__gone_and_its_pods_stay(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = {.kind = LEDGER_NODE_GONE, .name = STR("n1")};

    fixture_pod(&fx, "a", &d, "n1", NULL);
    finds_and_repairs(&op, DRIFT_NODE_GONE);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    op.name = STR("never seen");
    assert_int_equal(drift_of(&op), DRIFT_NONE);
}

static void node__described_as_known__no_drift(void **state)
{
    struct ledger_op op = described("n1");

    assert_int_equal(drift_of(&op), DRIFT_NONE);
    assert_true(touched > 0);
}

static void node__any_number_of_a_device_differs__inventory(void **state)
{
    struct ledger_op op = described("n1");

    devices[1].healthy = false;
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    devices[1].mem_mib = 40 * GIB;
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    devices[0].slot_n = 8;
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    devices[0].model = STR("H100");
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    devices[0].uuid = STR("GPU-new");
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    devices[0].index = 5;
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    inventory.plugin_managed_n = 2;
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    inventory.device_n = 1;
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
}

static void node__device_lost_but_held__no_drift(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF("x", "GPU-n1-1", 1, 300, 24 * GIB);
    struct ledger_op op = described("n1");

    fixture_pod(&fx, "a", &d, "n1", &record);
    inventory.device_n = 1;
    finds_and_repairs(&op, DRIFT_NODE_INVENTORY);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 2); /* the lost one is shown */
}

/* Whether the later pod finds the lost device depends on the order, and neither is an alarm. */
static void node__lost_device_named_again__no_drift_in_either_order(void **state)
{
    static const bool holder_leaves_first[] = {false, true};
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF("x", "GPU-n1-1", 1, 300, 24 * GIB);
    struct ledger_op op = described("n1"), later = fixture_observation("b", &d, "n1", &record);

    for (size_t i = 0; i < 2; i++) {
        inventory.device_n = 2;
        assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
        fixture_pod(&fx, "a", &d, "n1", &record);
        inventory.device_n = 1;
        assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
        if (holder_leaves_first[i]) {
            fixture_name_op(&fx, LEDGER_POD_GONE, "a");
        }
        finds_and_repairs(&later, DRIFT_POD_MISSING);
        fixture_name_op(&fx, LEDGER_POD_GONE, "a");
        assert_int_equal(fixture_state(&fx, "n1")->device_n, holder_leaves_first[i] ? 1 : 2);
        assert_int_equal(drift_of(&later), DRIFT_NONE);
        assert_int_equal(drift_of(&op), DRIFT_NONE);
        fixture_name_op(&fx, LEDGER_POD_GONE, "b");
    }
}

static void node__other_facts_differ__details(void **state)
{
    struct ledger_op op = described("n1");

    op.node.schedulable = false;
    finds_and_repairs(&op, DRIFT_NODE_DETAILS);
    op.node.uid = STR("another");
    finds_and_repairs(&op, DRIFT_NODE_DETAILS);
    op.node.note = "a note";
    finds_and_repairs(&op, DRIFT_NODE_DETAILS);
    inventory.source = INVENTORY_GFD;
    finds_and_repairs(&op, DRIFT_NODE_DETAILS);
}

/* ---- touched, and what the ledger holds ---- */

static void touched__every_op_about_the_pod__moves_it(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, NULL, NULL);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    (void)drift_of(&op);
    assert_int_equal(touched, ledger_generation(fx.l));
    fixture_pod(&fx, "b", &d, "n1", NULL);
    (void)drift_of(&op);
    assert_int_equal(touched, ledger_generation(fx.l) - 1);
    assert_int_equal(fixture_reserve(&fx, "a", "n2"), 0);
    (void)drift_of(&op);
    assert_int_equal(touched, ledger_generation(fx.l));
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    (void)drift_of(&op);
    assert_int_equal(touched, ledger_generation(fx.l));
    fixture_pod(&fx, "a", &d, NULL, NULL);
    (void)drift_of(&op);
    assert_int_equal(touched, ledger_generation(fx.l));
}

static void count_entry(void *ctx, const struct ledger_audit_entry *e)
{
    unsigned *n = ctx;

    assert_true(e->id.n > 0);
    ++*n;
}

static void entries__in_slices__each_once_without_reservations(void **state)
{
    struct demand d = SHARE_OF(100);
    unsigned pods = 0, nodes = 0;
    uint32_t at = 0;

    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "b", &d, "n1", NULL);
    fixture_pod(&fx, "c", &d, "unknown-node", NULL);
    fixture_pod(&fx, "r", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "r", "n2"), 0);
    while (ledger_audit_pods(fx.l, &at, 1, count_entry, &pods)) {
    }
    assert_int_equal(pods, 3);
    assert_false(ledger_audit_pods(fx.l, &at, 1, count_entry, &pods));
    at = 0;
    assert_true(ledger_audit_nodes(fx.l, &at, 2, count_entry, &nodes));
    assert_int_equal(at, 2);
    assert_false(ledger_audit_nodes(fx.l, &at, 2, count_entry, &nodes));
    assert_int_equal(nodes, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pod__unknown_to_the_ledger__missing),
        TEST(pod__without_gpus__is_nothing_to_miss),
        TEST(pod__deleted__gone),
        TEST(pod__bound_to_another_node__moves),
        TEST(pod__binding_not_seen__state),
        TEST(pod__confirmed_but_its_event_lost__state),
        TEST(pod__no_longer_bound__charge_is_given_back),
        TEST(pod__annotations_ceased_to_count_since_the_run_began__is_not_missing),
        TEST(pod__in_mid_bind__is_never_drift),
        TEST(pod__record_appeared__state_and_devices),
        TEST(pod__record_edited_unseen__assignment_and_known_devices_stay),
        TEST(pod__request_raised_unseen__demand_and_larger_charge),
        TEST(pod__asks_for_nothing_any_more__demand),
        TEST(pod__marks_changed__details),
        TEST(node__unknown_or_known_through_pods_only__missing),
        TEST(node__deleted__gone_and_its_pods_stay),
        TEST(node__described_as_known__no_drift),
        TEST(node__any_number_of_a_device_differs__inventory),
        TEST(node__device_lost_but_held__no_drift),
        TEST(node__lost_device_named_again__no_drift_in_either_order),
        TEST(node__other_facts_differ__details),
        TEST(touched__every_op_about_the_pod__moves_it),
        TEST(entries__in_slices__each_once_without_reservations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
