/* GPUs that another system hands out: by the node's own object, or by ResourceSlices, in whatever order the two come.
 */
#include "base/compiler.h"
#include "core/fit/verdict.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <string.h>

static void slices(const char *node, const char *note)
{
    fixture_apply(&fx, &(struct ledger_op){.kind = LEDGER_SLICES, .slices = {str_of(node), note}});
}

static void describe(const char *node, bool elsewhere)
{
    const struct device gpu = {.uuid = STR("GPU-0"), .mem_mib = 16384, .slot_n = 16, .numa = -1, .healthy = true};
    const struct inventory inventory = {
        .source = INVENTORY_ANNOTATION, .devices = &gpu, .device_n = 1, .plugin_managed_n = 1, .elsewhere = elsewhere};
    struct ledger_op op = fixture_description(node, &inventory);

    op.node.note = elsewhere ? "of another system" : NULL;
    fixture_apply(&fx, &op);
}

static enum verdict place(const char *node, const struct demand *d)
{
    struct placement p;

    return ledger_place(fx.l, str_of(node), STR("default"), d, NULL, 0, fixture_params("binpack"), &p);
}

static enum verdict place_share(const char *node)
{
    const struct demand d = SHARE_OF(100);

    return place(node, &d);
}

static void ledger__item_15_agent_of_another_system__no_shares_and_its_own_pods_as_before(void **state)
{
    const struct demand whole = {.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1};
    uint64_t capacity;

    describe("n", true);
    assert_int_equal(place_share("n"), VERDICT_ELSEWHERE);
    assert_int_equal(place("n", &whole), VERDICT_FITS);
    assert_true(fixture_state(&fx, "n")->elsewhere);
    capacity = ledger_capacity_generation(fx.l);
    describe("n", false);
    assert_int_equal(place_share("n"), VERDICT_FITS);
    assert_true(ledger_capacity_generation(fx.l) > capacity); /* who waits is told */
}

static void ledger__item_15_agent_comes_later__what_runs_stays_charged(void **state)
{
    const struct demand d = SHARE_OF(300);

    describe("n", false);
    assert_int_equal(fixture_pod(&fx, "a", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    describe("n", true);
    assert_int_equal(fixture_milli_free(&fx, "n", 0), 700);
    assert_int_equal(place_share("n"), VERDICT_ELSEWHERE);
}

static void ledger__item_15_resource_slices__close_a_node_seen_or_not(void **state)
{
    uint64_t capacity;

    slices("early", "slices");
    describe("early", false);
    describe("late", false);
    assert_int_equal(place_share("late"), VERDICT_FITS);
    slices("late", "slices");
    slices("late", "slices");
    assert_int_equal(place_share("early"), VERDICT_ELSEWHERE);
    assert_int_equal(place_share("late"), VERDICT_ELSEWHERE);
    assert_string_equal(fixture_state(&fx, "late")->note, "slices");
    describe("late", false); /* another word of the node's own object changes nothing of it */
    assert_int_equal(place_share("late"), VERDICT_ELSEWHERE);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "early");
    describe("early", false); /* nor does the node's coming back */
    assert_int_equal(place_share("early"), VERDICT_ELSEWHERE);
    capacity = ledger_capacity_generation(fx.l);
    slices("late", NULL);
    slices("never", NULL);
    assert_int_equal(place_share("late"), VERDICT_FITS);
    assert_null(fixture_state(&fx, "late")->note);
    assert_true(ledger_capacity_generation(fx.l) > capacity);
}

static void ledger__item_15_resource_slices_of_nobody_knows_which_node__close_all(void **state)
{
    describe("a", false);
    slices("", "anywhere");
    describe("b", false);
    assert_int_equal(place_share("a"), VERDICT_ELSEWHERE);
    assert_int_equal(place_share("b"), VERDICT_ELSEWHERE);
    assert_string_equal(fixture_state(&fx, "b")->note, "anywhere");
    slices("b", "own");
    slices("", NULL);
    assert_int_equal(place_share("a"), VERDICT_FITS);
    assert_int_equal(place_share("b"), VERDICT_ELSEWHERE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_LEDGER_TEST(ledger__item_15_agent_of_another_system__no_shares_and_its_own_pods_as_before),
        EMPTY_LEDGER_TEST(ledger__item_15_agent_comes_later__what_runs_stays_charged),
        EMPTY_LEDGER_TEST(ledger__item_15_resource_slices__close_a_node_seen_or_not),
        EMPTY_LEDGER_TEST(ledger__item_15_resource_slices_of_nobody_knows_which_node__close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
