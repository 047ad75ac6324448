/* Pods that are seen bound where they were reserved, with a record that says something else and that nobody signed,
 * while the Binding's reply is on its way. It may have landed before the edit (defect F81). Found by
 * test_ledger_overcommit.c with seed 2092. */
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

/* Our Binding may have landed before the edit: the device that was reserved is not free. */
static void rule1__bound_as_reserved_with_an_edited_record__reserved_device_stays_charged(void **state)
{
    struct demand d = SHARE_OF(700), large = SHARE_OF(900);
    struct assignment edited = RECORD_OF("other", "GPU-n1-1", 1, 700, 56 * GIB);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
    fixture_pod(&fx, "a", &d, "n1", &edited);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 300);
    assert_true(fx.snapshot.pods[0].conflict);
    assert_int_equal(fx.snapshot.nodes[0].devices[0].raised_n, 1); /* that is where /state shows it */
    fixture_name_op(&fx, LEDGER_CONFIRM, "a");
    fixture_pod(&fx, "b", &large, NULL, NULL);
    assert_int_not_equal(fixture_reserve(&fx, "b", "n1"), 0);
    /* the same again, another record, none: a text that nobody signed frees nothing */
    fixture_pod(&fx, "a", &d, "n1", &edited);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_reserve(&fx, "b", "n1"), 0);
}

/* The record is taken away first, and put back with another device later. */
static void rule1__bound_as_reserved_without_record__a_later_record_frees_nothing(void **state)
{
    struct demand whole = WHOLE_GPUS(1);
    struct assignment edited = RECORD_OF("other", "GPU-n1-1", 1, 1000, 80 * GIB);

    fixture_pod(&fx, "a", &whole, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &whole, "n1", NULL);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    fixture_pod(&fx, "a", &whole, "n1", &edited);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 0);
}

/* A signature proves where it is. */
static void bound_as_reserved_with_an_edited_record__then_a_signed_one__that_alone_counts(void **state)
{
    struct demand d = SHARE_OF(700);
    struct assignment edited = RECORD_OF("other", "GPU-n1-1", 1, 700, 56 * GIB);
    struct assignment ours = RECORD_OF("x", "GPU-n1-0", 0, 700, 56 * GIB);
    struct ledger_op op = fixture_observation("a", &d, "n1", &ours);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    fixture_pod(&fx, "a", &d, "n1", &edited);
    fixture_pod(&fx, "b", &d, NULL, NULL);
    assert_int_not_equal(fixture_reserve(&fx, "b", "n1"), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    op.pod.record_trust = RECORD_VERIFIED;
    fixture_apply(&fx, &op);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
}

/* Where it runs cannot be edited: on another node it was bound by somebody else, and our Binding is refused. */
static void bound_elsewhere_than_reserved__reserved_device_is_free(void **state)
{
    struct demand d = SHARE_OF(700);
    struct assignment as = RECORD_OF("other", "GPU-n2-0", 0, 700, 56 * GIB);

    fixture_node(&fx, "n2", 2, 80 * GIB);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, "n2", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n2", 0), 300);
    assert_int_equal(fixture_milli_free(&fx, "n2", 1), 1000);
}

/* The API server refused our only Binding: now it is proven that somebody else bound it there. */
static void bound_as_reserved_by_somebody_else__our_binding_is_refused__only_the_record_counts(void **state)
{
    struct demand d = SHARE_OF(700);
    struct assignment as = RECORD_OF("other", "GPU-n1-1", 1, 700, 56 * GIB);
    uint64_t capacity;

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
    capacity = ledger_capacity_generation(fx.l);
    fixture_pod(&fx, "a", &d, "n1", &as);
    (void)fixture_state(&fx, "n1");
    assert_true(fx.snapshot.pods[0].conflict);
    fixture_name_op(&fx, LEDGER_RELEASE, "a");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 300);
    assert_false(fx.snapshot.pods[0].conflict);
    assert_true(ledger_capacity_generation(fx.l) > capacity);
}

/* The GPU breaks and comes back under the pod: it is still the one that was given away. */
static void rule1__reserved_device_leaves_and_returns__still_charged(void **state)
{
    struct demand d = SHARE_OF(700);
    struct assignment edited = RECORD_OF("other", "GPU-n1-0", 0, 700, 56 * GIB);

    fixture_pod(&fx, "x", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "x", "n1"), 0);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0); /* the other GPU */
    fixture_name_op(&fx, LEDGER_POD_GONE, "x");
    fixture_pod(&fx, "a", &d, "n1", &edited);
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 300);
}

/* Who was given a GPU alone has all of it, also when it turns out to be larger. */
static void rule1__whole_device_grows_under_it__nothing_of_it_is_free(void **state)
{
    struct demand whole = WHOLE_GPUS(1);
    struct assignment edited = RECORD_OF("other", "GPU-n1-1", 1, 1000, 80 * GIB);

    fixture_pod(&fx, "a", &whole, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &whole, "n1", &edited);
    fixture_node(&fx, "n1", 2, 96 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n1", 0), 0);
    assert_int_equal(fixture_mem_free(&fx, "n1", 1), 0);
}

#define T(f) TWO_GPUS_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(rule1__bound_as_reserved_with_an_edited_record__reserved_device_stays_charged),
        T(rule1__bound_as_reserved_without_record__a_later_record_frees_nothing),
        T(bound_as_reserved_with_an_edited_record__then_a_signed_one__that_alone_counts),
        T(bound_elsewhere_than_reserved__reserved_device_is_free),
        T(bound_as_reserved_by_somebody_else__our_binding_is_refused__only_the_record_counts),
        T(rule1__whole_device_grows_under_it__nothing_of_it_is_free),
        T(rule1__reserved_device_leaves_and_returns__still_charged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
