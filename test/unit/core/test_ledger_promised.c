/* What a Binding that is on its way takes: its record was written by the node of then, and lands as it was written,
 * whatever becomes of the node meanwhile. */
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

static void reserved(const char *uid, int32_t milli)
{
    struct demand d = SHARE_OF(milli);

    assert_int_equal(fixture_pod(&fx, uid, &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, uid, "n"), 0);
}

static void F155_promised__gpu_shrinks_before_its_record_is_seen__the_record_counts(void **state)
{
    struct demand too_much = SHARE_AND_MEMORY_OF(500, 24 * GIB), fits = SHARE_AND_MEMORY_OF(500, 16 * GIB);

    fixture_node(&fx, "n", 1, 80 * GIB);
    reserved("unknown", 300);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 56 * GIB);
    fixture_node(&fx, "n", 1, 40 * GIB); /* 300 milli of it are 12 GiB */
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 16 * GIB);
    assert_int_equal(fixture_pod(&fx, "next", &too_much, NULL, NULL), 0);
    assert_true(fixture_reserve(&fx, "next", "n") > 0);
    assert_int_equal(fixture_pod(&fx, "small", &fits, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "small", "n"), 0);
}

static void promised__gpu_grows__its_share_grows_until_the_record_is_seen(void **state)
{
    fixture_node(&fx, "n", 1, 40 * GIB);
    reserved("a", 500);
    fixture_node(&fx, "n", 1, 80 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 40 * GIB);
}

static void promised__confirmed__the_record_counts(void **state)
{
    fixture_node(&fx, "n", 1, 80 * GIB);
    reserved("a", 500);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    fixture_node(&fx, "n", 1, 60 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 20 * GIB);
}

static void promised__refused__nothing_stays(void **state)
{
    fixture_node(&fx, "n", 1, 80 * GIB);
    reserved("a", 500);
    fixture_node(&fx, "n", 1, 60 * GIB);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 60 * GIB);
    reserved("a", 500);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 30 * GIB);
}

/* As after a restart: a record that nobody signed says which GPU, and the request how much of it. */
static void promised__seen_without_signature__its_request_counts_from_then_on(void **state)
{
    struct demand d = SHARE_OF(500);
    struct assignment as = RECORD_OF("a", "GPU-n-0", 0, 500, 40 * GIB);

    fixture_node(&fx, "n", 1, 80 * GIB);
    reserved("a", 500);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    fixture_node(&fx, "n", 1, 60 * GIB);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n", &as), 0);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_mem_free(&fx, "n", 0), 30 * GIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_LEDGER_TEST(F155_promised__gpu_shrinks_before_its_record_is_seen__the_record_counts),
        EMPTY_LEDGER_TEST(promised__gpu_grows__its_share_grows_until_the_record_is_seen),
        EMPTY_LEDGER_TEST(promised__confirmed__the_record_counts),
        EMPTY_LEDGER_TEST(promised__refused__nothing_stays),
        EMPTY_LEDGER_TEST(promised__seen_without_signature__its_request_counts_from_then_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
