/* A GPU that is not there any more takes no pod away from one that is: whose device is where follows from the node and
 * the pod's own record, whatever others say. Found by random ops (test/fuzz/corpus/ledger_ops/regression-*). */
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

static int setup(void **state)
{
    fixture_init(&fx);
    fixture_node(&fx, "n", 2, 80 * GIB);
    return 0;
}

static void placed(const char *uid, const struct demand *d)
{
    assert_int_equal(fixture_pod(&fx, uid, d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, uid, "n"), 0);
}

/* A signed record of 300 milli and 24 GiB of one GPU. */
static void signed_on(const char *uid, const char *uuid, int32_t index)
{
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF(uid, uuid, index, 300, 24 * GIB);
    struct ledger_op op = fixture_observation(uid, &d, "n", &record);

    op.pod.record_trust = RECORD_VERIFIED;
    fixture_apply(&fx, &op);
}

/* The reservation is of GPU-n-0 at index 0. Without UUIDs its index is what joins it to the node. A record that knows
 * the same GPU by an index that is gone made a lost device of it, onto which the reservation moved; index 0 was free,
 * and was given away again. */
static void same_gpu_lost_under_another_index__what_is_held_by_index_stays_held(void **state)
{
    struct demand whole = WHOLE_GPUS(1);

    placed("a", &whole);
    placed("b", &whole);
    fixture_node_indexes(&fx, "n", 2, 80 * GIB);
    signed_on("c", "GPU-n-0", 7);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 3);
    assert_int_equal(fixture_milli_free(&fx, "n", 0), 0);
    assert_int_equal(fixture_milli_free(&fx, "n", 1), 0);
    assert_int_equal(fixture_pod(&fx, "d", &whole, NULL, NULL), 0);
    assert_int_not_equal(fixture_reserve(&fx, "d", "n"), 0);
    fixture_node(&fx, "n", 2, 80 * GIB); /* UUIDs again: now both are known to be on the same */
    assert_int_equal(fixture_milli_free(&fx, "n", 0), -300);
    assert_int_equal(fixture_milli_free(&fx, "n", 1), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "c");
}

/* The same of two signed records, in both orders: as a restart would find it. */
static void two_records_of_one_gpu_under_two_indexes__order_makes_no_difference(void **state)
{
    fixture_node_indexes(&fx, "n", 2, 80 * GIB);
    for (int first = 0; first < 2; first++) {
        signed_on(first == 0 ? "a" : "b", "GPU-x", first == 0 ? 1 : 7);
        signed_on(first == 0 ? "b" : "a", "GPU-x", first == 0 ? 7 : 1);
        assert_int_equal(fixture_milli_free(&fx, "n", 0), 1000);
        assert_int_equal(fixture_milli_free(&fx, "n", 1), 700);
        assert_int_equal(fixture_state(&fx, "n")->devices[2].milli_charged, 300);
        fixture_name_op(&fx, LEDGER_POD_GONE, "a");
        fixture_name_op(&fx, LEDGER_POD_GONE, "b");
    }
}

/* Both are lost. The device of the reservation has the size that it had when it was given away; the other is as large
 * as the record says, and no room for a reservation. */
static void reservation_on_a_lost_device__stays_there_whatever_records_say_of_its_gpu(void **state)
{
    struct demand most = SHARE_AND_MEMORY_OF(900, 60 * GIB);

    placed("a", &most);
    fixture_node_indexes(&fx, "n", 2, 80 * GIB);
    fixture_node_indexes(&fx, "n", 0, 0);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 20 * GIB);
    signed_on("c", "GPU-n-0", 7);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 2);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 20 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 1), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "c");
    assert_int_equal(fixture_state(&fx, "n")->device_n, 1);
}

/* F16. What the pod was charged while the GPUs had no UUIDs is remembered by their index. That is a floor on the GPU
 * that has the index, not on a lost one besides, which a record says to have had it. */
static void floor_of_an_index__with_a_lost_gpu_of_that_index__counts_once(void **state)
{
    const struct demand d = ANNOTATED_SHARE_OF(500);

    fixture_node_indexes(&fx, "n", 2, 80 * GIB);
    assert_int_equal(fixture_pod(&fx, "a", &d, NULL, NULL), 0);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n", NULL), 0);
    assert_int_equal(fixture_mem_free(&fx, "n", 1), 40 * GIB);
    fixture_node(&fx, "n", 2, 40 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 1), 0);
    signed_on("c", "GPU-gone", 1); /* of 24 GiB, for this record is all that is known of it */
    assert_int_equal(fixture_state(&fx, "n")->device_n, 3);
    assert_int_equal(fixture_state(&fx, "n")->devices[2].mem_charged_mib, 24 * GIB + 12 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 1), 0);
}

/* One GPU is there. */
static void describe(const char *uuid, int32_t index, int64_t mem_mib)
{
    struct device device = {
        .uuid = str_of(uuid), .index = index, .model = STR("A100"), .mem_mib = mem_mib, .slot_n = 16, .healthy = true};
    struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};
    struct ledger_op op = fixture_description("n", &inventory);

    fixture_apply(&fx, &op);
}

/* Its GPU got another index, and then the UUIDs went: the reservation counts wherever it may be, and no record of
 * another pod says more of it. */
static void reservation_whose_gpu_nobody_finds__counts_on_what_is_there_whatever_records_say_of_its_gpu(void **state)
{
    struct demand most = SHARE_AND_MEMORY_OF(900, 60 * GIB);

    placed("a", &most);
    describe("GPU-n-0", 1, 80 * GIB);
    describe("", 1, 80 * GIB);
    assert_int_equal(fixture_milli_free(&fx, "n", 0), 100);
    signed_on("c", "GPU-n-0", 7);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 2);
    assert_int_equal(fixture_milli_free(&fx, "n", 0), 100);
    fixture_name_op(&fx, LEDGER_POD_GONE, "c");
    assert_int_equal(fixture_state(&fx, "n")->device_n, 1);
    assert_int_equal(fixture_milli_free(&fx, "n", 0), 100);
}

/* Its GPUs were swapped for smaller ones while nobody could tell them apart: that stays the cause when one of them is
 * known again, and lost. */
static void capacity_went_while_nobody_knew_which_gpu_it_is__still_the_cause_when_that_is_lost(void **state)
{
    struct gpu_request w;
    struct demand two = fixture_both(&w, 500, 40 * GIB);

    w.count = 2;
    placed("a", &two);
    fixture_node_indexes(&fx, "n", 2, 20 * GIB);
    describe("GPU-n-0", 1, 20 * GIB); /* the other is nowhere: on any */
    describe("GPU-n-0", 0, 20 * GIB);
    describe("", 1, 20 * GIB);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 2);
    assert_true(fx.snapshot.nodes[0].devices[1].lost);
    assert_int_equal(fixture_mem_free(&fx, "n", 1), -20 * GIB);
}

/* Its GPU is smaller than it was, then lost, while the pod is on another of that index: when it is known again that it
 * was never on that one, the size of its own is still the cause. */
static void capacity_of_a_lost_gpu_went_before_its_pod_comes_back__still_the_cause(void **state)
{
    struct demand half = SHARE_AND_MEMORY_OF(500, 40 * GIB);

    placed("a", &half);
    describe("GPU-n-0", 1, 30 * GIB);
    signed_on("c", "GPU-n-0", 7);
    describe("", 0, 80 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 40 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 1), 6 * GIB);
    describe("GPU-x", 0, 80 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 80 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 1), -34 * GIB);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, ledger_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(same_gpu_lost_under_another_index__what_is_held_by_index_stays_held),
        TEST(floor_of_an_index__with_a_lost_gpu_of_that_index__counts_once),
        TEST(two_records_of_one_gpu_under_two_indexes__order_makes_no_difference),
        TEST(reservation_on_a_lost_device__stays_there_whatever_records_say_of_its_gpu),
        TEST(reservation_whose_gpu_nobody_finds__counts_on_what_is_there_whatever_records_say_of_its_gpu),
        TEST(capacity_went_while_nobody_knew_which_gpu_it_is__still_the_cause_when_that_is_lost),
        TEST(capacity_of_a_lost_gpu_went_before_its_pod_comes_back__still_the_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
