/* How pools of change-over groups are used, and which of their pods are a decision of fgpu. */
#include "core/ledger/pool_use.h"

#include "base/compiler.h"
#include "core/inventory/inventory.h"
#include "support/cmocka.h"
#include "support/ledger_fixture.h"

enum { FIRST = 1, SECOND = 2, BOTH = 3, LAYOUT = 7 };

static struct ledger_fixture f;
static uint64_t layout = LAYOUT; /* by which nodes are read */

static void node(const char *name, uint64_t pools, bool closed)
{
    const struct device device = {
        .uuid = str_of(name), .model = STR("A100"), .mem_mib = 16 * GIB, .slot_n = 16, .numa = -1, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};
    struct ledger_op op = fixture_description(name, &inventory);

    op.node.pools = pools;
    op.node.pools_layout = layout;
    op.node.closed = closed;
    fixture_apply(&f, &op);
}

static void expect(int bit, size_t open_n, size_t pod_n)
{
    struct pool_use use[GATED_POOLS_MAX];

    ledger_pool_use(f.l, LAYOUT, use);
    assert_int_equal(use[bit].open_n, open_n);
    assert_int_equal(use[bit].pod_n, pod_n);
}

/* -1: it is none of those on the nodes. */
static int is_ours(const char *uid, uint64_t pools)
{
    struct pool_pod pods[8];
    const size_t n = ledger_pool_pods(f.l, LAYOUT, pools, pods, ARRAY_LEN(pods));

    for (size_t i = 0; i < n; i++) {
        if (str_eq_cstr(pods[i].uid, uid)) {
            return pods[i].ours;
        }
    }
    return -1;
}

static void use__nodes_and_pods__counted_for_each_of_their_pools(void **state)
{
    const struct demand d = SHARE_OF(100);

    fixture_init(&f);
    node("a", FIRST, false);
    node("b", FIRST, true);
    node("c", BOTH, true);
    node("d", 0, false);
    expect(0, 1, 0);
    expect(1, 0, 0);
    assert_int_equal(fixture_pod(&f, "bound", &d, "c", NULL), 0);
    assert_int_equal(fixture_pod(&f, "elsewhere", &d, "d", NULL), 0);
    assert_int_equal(fixture_pod(&f, "pending", &d, NULL, NULL), 0);
    expect(0, 1, 1);
    expect(1, 0, 1);
    assert_int_equal(fixture_reserve(&f, "pending", "a"), 0);
    expect(0, 1, 2);
    /* a node that is gone takes nothing, but its pods may still run */
    assert_int_equal(fixture_name_op(&f, LEDGER_NODE_GONE, "c"), 0);
    expect(0, 1, 2);
    expect(1, 0, 1);
    assert_int_equal(is_ours("bound", SECOND), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_POD_GONE, "bound"), 0);
    expect(1, 0, 0);
    /* another policy */
    node("a", SECOND, true);
    expect(0, 0, 0);
    expect(1, 0, 1);
    fixture_fini(&f);
}

/* Nobody knows what its bits mean now: the pods of the day could be let go of as those of another group. */
static void use__last_read_by_other_groups__counts_for_all_pools_and_is_not_ours(void **state)
{
    const struct demand d = SHARE_OF(100);
    const struct assignment record = RECORD_OF("id", "a", 0, 100, 1638);
    struct ledger_op op, unreadable;

    fixture_init(&f);
    layout = LAYOUT + 1;
    node("a", FIRST, false);
    layout = LAYOUT;
    node("b", FIRST, true);
    op = fixture_observation("signed", &d, "a", &record);
    op.pod.record_trust = RECORD_PROVISIONAL;
    op.pod.proof = STR("proof");
    fixture_apply(&f, &op);
    fixture_judge(&f, "signed", "proof", true);
    assert_int_equal(fixture_pod(&f, "nowhere", &d, "made-up", NULL), 0); /* of a node that was never read */
    unreadable = fixture_description("a", &(struct inventory){.source = INVENTORY_NONE});
    unreadable.node.unreadable = true;
    fixture_apply(&f, &unreadable);
    for (int bit = 0; bit < 2; bit++) {
        expect(bit, 0, 1);
        assert_int_equal(is_ours("signed", UINT64_C(1) << bit), 0);
    }
    assert_int_equal(is_ours("nowhere", BOTH), -1);
    node("a", SECOND, true);
    expect(0, 0, 0);
    expect(1, 0, 1);
    assert_int_equal(is_ours("signed", SECOND), 1);
    fixture_fini(&f);
}

static void pods__by_who_bound_them__ours_only_beyond_doubt(void **state)
{
    const struct demand d = SHARE_OF(100);
    const struct assignment record = RECORD_OF("id", "a", 0, 100, 1638);
    struct ledger_op op;

    fixture_init(&f);
    node("a", FIRST, false);
    assert_int_equal(fixture_pod(&f, "foreign", &d, "a", NULL), 0);
    assert_int_equal(is_ours("foreign", FIRST), 0);
    assert_int_equal(fixture_pod(&f, "unsigned", &d, "a", &record), 0);
    assert_int_equal(is_ours("unsigned", FIRST), 0);
    op = fixture_observation("signed", &d, "a", &record);
    op.pod.record_trust = RECORD_PROVISIONAL;
    op.pod.proof = STR("proof");
    fixture_apply(&f, &op);
    assert_int_equal(is_ours("signed", FIRST), 0);
    fixture_judge(&f, "signed", "proof", true);
    assert_int_equal(is_ours("signed", FIRST), 1);
    op = fixture_observation("forged", &d, "a", &record);
    op.pod.record_trust = RECORD_PROVISIONAL;
    op.pod.proof = STR("other");
    fixture_apply(&f, &op);
    fixture_judge(&f, "forged", "other", false);
    assert_int_equal(is_ours("forged", FIRST), 0);
    fixture_fini(&f);
    /* by this process: not while its Binding is under way */
    fixture_init(&f);
    node("a", FIRST, false);
    assert_int_equal(fixture_pod(&f, "own", &d, NULL, NULL), 0);
    assert_int_equal(is_ours("own", FIRST), -1);
    assert_int_equal(fixture_reserve(&f, "own", "a"), 0);
    assert_int_equal(is_ours("own", FIRST), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_CONFIRM, "own"), 0);
    assert_int_equal(is_ours("own", FIRST), 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use__nodes_and_pods__counted_for_each_of_their_pools),
        cmocka_unit_test(use__last_read_by_other_groups__counts_for_all_pools_and_is_not_ours),
        cmocka_unit_test(pods__by_who_bound_them__ours_only_beyond_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
