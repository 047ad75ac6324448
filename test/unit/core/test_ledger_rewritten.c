/* Records of a pod that are written again and again: only the first is believed before its signature was verified, so
 * that nobody closes a GPU, or fills a log, by editing an annotation. */
#include "core/ledger/audit.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>

static const struct demand nothing = {.dialect = ""};

static struct ledger_op observation(const char *uid, const struct demand *d, const struct assignment *record,
                                    enum record_trust trust, const char *proof)
{
    struct ledger_op op = fixture_observation(uid, d, "n1", record);

    op.pod.record_trust = trust;
    op.pod.proof = str_of(proof);
    return op;
}

static void observe(const char *uid, const struct demand *d, const struct assignment *record, enum record_trust trust,
                    const char *proof)
{
    const struct ledger_op op = observation(uid, d, record, trust, proof);

    fixture_apply(&fx, &op);
}

static bool must_verify(const char *uid, const struct demand *d, const struct assignment *record, const char *proof)
{
    const struct ledger_op op = observation(uid, d, record, RECORD_PROVISIONAL, proof);

    return ledger_must_verify(fx.l, &op.pod);
}

static const char *conflict_of(const char *uid)
{
    const struct snapshot_pod *pod;

    fixture_state(&fx, "n1");
    pod = fixture_pod_in(&fx.snapshot, str_of(uid));
    assert_non_null(pod);
    return pod->conflict_text;
}

static size_t overcommits_told(void)
{
    struct ledger_overcommit told[16];
    size_t n = ledger_take_overcommits(fx.l, told, 16);

    ledger_drop_overcommits(told, n);
    return n;
}

static void expect_closed_for_nobody(int32_t free0, int32_t free1)
{
    assert_int_equal(overcommits_told(), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), free0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), free1);
}

static void record_edited_after_one_was_refused__charges_nothing_more_and_closes_no_gpu(void **state)
{
    enum { EDITS = 100 };
    struct demand d = SHARE_OF(100), of_b = SHARE_OF(800);
    struct assignment forged = RECORD_OF("a", "GPU-n1-1", 1, 1000, GIB);
    struct assignment good = RECORD_OF("b", "GPU-n1-1", 1, 800, GIB);
    struct ledger_unverified left;
    struct arena a;
    char proof[16];

    arena_init(&a, 1 << 20);
    observe("b", &of_b, &good, RECORD_VERIFIED, "");
    observe("a", &d, &forged, RECORD_PROVISIONAL, "first");
    assert_int_equal(overcommits_told(), 1); /* believed once, for a moment */
    fixture_judge(&fx, "a", "first", false);
    assert_int_equal(overcommits_told(), 1);
    expect_closed_for_nobody(900, 100);
    for (int i = 0; i < EDITS; i++) {
        snprintf(proof, sizeof(proof), "p%d", i);
        observe("a", &d, &forged, RECORD_PROVISIONAL, proof);
        expect_closed_for_nobody(900, 100);
        fixture_judge(&fx, "a", proof, false);
        observe("a", &d, NULL, RECORD_UNSIGNED, ""); /* taken off and put on again */
        expect_closed_for_nobody(900, 100);
    }
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &a, &left, 1), 0);
    assert_string_equal(conflict_of("a"), "the signature of its record is not valid");
    arena_fini(&a);
}

static void record_that_holds_comes_after_one_that_was_refused__granted_and_room_is_told(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment forged = RECORD_OF("a", "GPU-n1-1", 1, 1000, GIB);
    struct assignment good = RECORD_OF("a", "GPU-n1-1", 1, 300, 24 * GIB);
    uint64_t capacity;

    observe("a", &d, &forged, RECORD_PROVISIONAL, "forged");
    fixture_judge(&fx, "a", "forged", false);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    capacity = ledger_capacity_generation(fx.l);
    assert_true(must_verify("a", &d, &good, "good"));
    observe("a", &d, &good, RECORD_VERIFIED, "");
    assert_true(ledger_capacity_generation(fx.l) > capacity);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
    assert_null(conflict_of("a"));
    /* What was granted does not depend on the annotation any more. */
    assert_false(must_verify("a", &d, &forged, "forged"));
    observe("a", &d, &forged, RECORD_PROVISIONAL, "forged");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

/* The devices were chosen here and stay; what is shown ends when the record that was written is back. */
static void own_record_is_spoilt_and_put_back__conflict_ends_and_edits_change_nothing(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment forged = RECORD_OF("a", "GPU-n1-1", 1, 1000, GIB), own;
    struct arena a;

    arena_init(&a, 1 << 20);
    assert_int_equal(fixture_pod(&fx, "a", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(ledger_assignment(fx.l, STR("a"), &a, &own, NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    observe("a", &d, &own, RECORD_PROVISIONAL, "another signature");
    fixture_judge(&fx, "a", "another signature", false);
    observe("a", &d, &forged, RECORD_PROVISIONAL, "forged");
    assert_string_equal(conflict_of("a"), "the signature of its record is not valid");
    assert_true(must_verify("a", &d, &own, "own"));
    observe("a", &d, &own, RECORD_VERIFIED, "");
    assert_null(conflict_of("a"));
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
    arena_fini(&a);
}

/* What a Binding has to overwrite is another than when it was prepared: it is not as it was reserved. */
static void leftovers_change_under_a_reservation__it_is_said(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op op = fixture_observation("a", &d, NULL, NULL);
    struct ledger_pod pod;

    op.pod.leftovers = STR("old");
    fixture_apply(&fx, &op);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_apply(&fx, &op);
    assert_true(ledger_find_pod(fx.l, STR("a"), &pod));
    assert_true(pod.as_reserved);
    assert_true(str_eq_cstr(pod.leftovers, "old"));
    op.pod.leftovers = STR("new");
    fixture_apply(&fx, &op);
    assert_true(ledger_find_pod(fx.l, STR("a"), &pod));
    assert_false(pod.as_reserved);
    assert_true(str_eq_cstr(pod.leftovers, "new"));
    op.pod.leftovers = STR_NULL;
    fixture_apply(&fx, &op);
    assert_true(ledger_find_pod(fx.l, STR("a"), &pod));
    assert_int_equal(pod.leftovers.n, 0);
}

/* Another request, although it is back to what it was by the time of the Binding. */
static void request_changes_under_a_reservation__it_is_said(void **state)
{
    struct demand d = SHARE_OF(300), other = SHARE_OF(400);
    struct ledger_op op = fixture_observation("a", &d, NULL, NULL);
    struct ledger_pod pod;

    fixture_apply(&fx, &op);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_apply(&fx, &op);
    assert_true(ledger_find_pod(fx.l, STR("a"), &pod) && pod.as_reserved);
    op.pod.demand = &other;
    fixture_apply(&fx, &op);
    assert_true(ledger_find_pod(fx.l, STR("a"), &pod) && !pod.as_reserved);
    op.pod.demand = &d;
    fixture_apply(&fx, &op);
    assert_true(ledger_find_pod(fx.l, STR("a"), &pod) && !pod.as_reserved);
}

/* The audit compares with a copy, which must be as refused as the pod is. */
static void own_record_is_spoilt__audit_finds_nothing_missed(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger *scratch = ledger_audit_scratch(fx.l);
    struct ledger_op op;
    struct assignment own;
    uint64_t touched;

    assert_int_equal(fixture_pod(&fx, "a", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(ledger_assignment(fx.l, STR("a"), &fx.arena, &own, NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    op = observation("a", &d, &own, RECORD_PROVISIONAL, "proof");
    fixture_apply(&fx, &op);
    assert_int_equal(ledger_drift(fx.l, scratch, &op, &touched), DRIFT_NONE);
    fixture_judge(&fx, "a", "proof", false);
    assert_int_equal(ledger_drift(fx.l, scratch, &op, &touched), DRIFT_NONE);
    ledger_free(scratch);
}

static void which_records_are_verified_before_they_count__all_but_the_first_of_a_pod_that_asks(void **state)
{
    struct demand asks = SHARE_OF(300), text = ANNOTATED_SHARE_OF(300);
    struct assignment record = RECORD_OF("a", "GPU-n1-1", 1, 300, GIB);

    fixture_apply(&fx, &(struct ledger_op){.kind = LEDGER_PODS_BEGIN, .list = {.reread = true}});
    assert_false(must_verify("text", &text, &record, "p")); /* as in a first list: it asks */
    fixture_apply(&fx, &(struct ledger_op){.kind = LEDGER_PODS_END});
    assert_true(must_verify("text", &text, &record, "p"));
    assert_true(must_verify("none", &nothing, &record, "p"));
    assert_false(must_verify("asks", &asks, &record, "p"));
    observe("asks", &asks, &record, RECORD_PROVISIONAL, "p");
    assert_false(must_verify("asks", &asks, &record, "p")); /* it waits for its verdict, and comes again */
    assert_true(must_verify("asks", &asks, &record, "q"));
    fixture_judge(&fx, "asks", "p", false);
    assert_false(must_verify("asks", &asks, &record, "p")); /* the verdict is known */
    assert_true(must_verify("asks", &asks, &record, "q"));
    fixture_pod(&fx, "pending", &text, NULL, NULL);
    assert_false(must_verify("pending", &text, &record, "p"));
}

#define TEST(f) TWO_GPUS_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(record_edited_after_one_was_refused__charges_nothing_more_and_closes_no_gpu),
        TEST(record_that_holds_comes_after_one_that_was_refused__granted_and_room_is_told),
        TEST(own_record_is_spoilt_and_put_back__conflict_ends_and_edits_change_nothing),
        TEST(request_changes_under_a_reservation__it_is_said),
        TEST(leftovers_change_under_a_reservation__it_is_said),
        TEST(own_record_is_spoilt__audit_finds_nothing_missed),
        TEST(which_records_are_verified_before_they_count__all_but_the_first_of_a_pod_that_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
