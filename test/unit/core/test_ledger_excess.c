/* Over-committed devices have causes that are recorded, and that end. What is on a device beside it excuses nothing: a
 * fault of fgpu is found whoever else is there (issue: the audit excused the worst case). */
#include "core/ledger/change.h"
#include "core/ledger/excess.h"
#include "core/ledger/numbers.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static void teardown_broken(void)
{
    ledger_free(fx.l);
    arena_fini(&fx.arena);
}

/* ---- what is handed out ---- */

/* Over-committed devices by cause: of the most frequent one, and which there are (*ret_causes). */
static uint64_t excesses(unsigned *ret_causes)
{
    uint64_t counts[EXCESS_CAUSE_N] = {0}, most = 0;
    uint32_t at = 0;

    for (uint32_t slots = 1; ledger_excess_causes(fx.l, &at, 1, counts); slots++) {
        assert_int_equal(at, slots); /* no more than it was told to */
    }
    *ret_causes = 0;
    for (unsigned i = 0; i < EXCESS_CAUSE_N; i++) {
        *ret_causes |= counts[i] > 0 ? 1U << i : 0;
        most = counts[i] > most ? counts[i] : most;
    }
    return most;
}

static void expect_nothing(void)
{
    unsigned causes;

    assert_int_equal(excesses(&causes), 0);
    assert_int_equal(causes, 0);
}

static void expect_excess(const char *uuid, unsigned causes)
{
    const struct snapshot_node *n = fixture_state(&fx, "n1");
    unsigned got;

    assert_int_equal(excesses(&got), 1);
    assert_int_equal(got, causes);
    for (size_t i = 0; i < n->device_n; i++) {
        assert_int_equal(n->devices[i].overcommitted, str_eq_cstr(n->devices[i].uuid, uuid));
    }
}

static void recorded(const char *uid, const struct demand *d, int32_t index)
{
    char uuid[24];
    struct assignment as;

    snprintf(uuid, sizeof(uuid), "GPU-n1-%d", index);
    as = RECORD_OF(uid, uuid, index, d->gpu_requests[0].milli, d->gpu_requests[0].milli * 80 * GIB / 1000);
    assert_int_equal(fixture_pod(&fx, uid, d, "n1", &as), 0);
}

static void placed(const char *uid, const struct demand *d)
{
    assert_int_equal(fixture_pod(&fx, uid, d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, uid, "n1"), 0);
}

/* ---- whose fault ---- */

static void nothing_over__nothing_handed_out(void **state)
{
    struct demand half = SHARE_OF(500);

    placed("a", &half);
    recorded("b", &half, 0);
    expect_nothing();
}

/* After a restart every pod is adopted from its record. Two of them on one device are no fault of this process, which
 * so is not stopped; but it is not silent. */
static void restart__two_recorded_on_one_device__no_broken_invariant_and_never_unseen(void **state)
{
    struct demand large = SHARE_OF(700);

    recorded("a", &large, 0);
    recorded("b", &large, 0);
    assert_null(ledger_check(fx.l));
    expect_excess("GPU-n1-0", EXCESS_RECORDED);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), -400);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    expect_nothing();
}

static void another_process_on_a_device_granted_here__its_pod_is_the_cause(void **state)
{
    struct demand large = SHARE_OF(700);

    placed("a", &large);
    recorded("b", &large, 0);
    assert_null(ledger_check(fx.l));
    expect_excess("GPU-n1-0", EXCESS_RECORDED);
}

static void without_a_record__unproven_until_its_devices_are_known(void **state)
{
    struct demand large = SHARE_OF(700);

    placed("a", &large);
    assert_int_equal(fixture_pod(&fx, "b", &large, "n1", NULL), 0);
    expect_excess("GPU-n1-0", EXCESS_UNPROVEN);
    recorded("b", &large, 1);
    expect_nothing();
}

static void request_that_grew__raised(void **state)
{
    struct demand half = ANNOTATED_SHARE_OF(500), larger = ANNOTATED_SHARE_OF(900);
    struct assignment as = RECORD_OF("b", "GPU-n1-0", 0, 500, 40 * GIB);

    placed("a", &half);
    placed("b", &half);
    assert_int_equal(fixture_pod(&fx, "b", &larger, "n1", &as), 0);
    assert_null(ledger_check(fx.l));
    expect_excess("GPU-n1-0", EXCESS_RAISED);
}

/* ---- capacity ---- */

static void capacity_went__a_cause_until_it_is_back(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(500, 40 * GIB);

    placed("a", &d);
    placed("b", &d);
    fixture_node(&fx, "n1", 2, 60 * GIB);
    assert_null(ledger_check(fx.l));
    expect_excess("GPU-n1-0", EXCESS_CAPACITY);
    fixture_node(&fx, "n1", 2, 60 * GIB);
    expect_excess("GPU-n1-0", EXCESS_CAPACITY);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    expect_nothing();
    assert_null(ledger_check(fx.l));
}

/* Nothing was granted here, so the description alone says that capacity went; the same one again says nothing else. */
static void capacity_went_under_recorded_pods__a_cause_while_it_stays_away(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(500, 40 * GIB);

    recorded("a", &d, 0);
    recorded("b", &d, 0);
    expect_nothing();
    for (int i = 0; i < 3; i++) {
        fixture_node(&fx, "n1", 2, 60 * GIB);
        expect_excess("GPU-n1-0", EXCESS_CAPACITY | EXCESS_RECORDED);
    }
    fixture_node(&fx, "n1", 2, 80 * GIB);
    expect_nothing();
    assert_null(ledger_check(fx.l));
}

/* A share of the memory falls with it; then another configuration reads an amount, less than what the pod was granted.
 */
static void capacity_went_while_all_fitted_and_a_request_is_read_anew__capacity_is_the_cause(void **state)
{
    struct demand half = SHARE_OF(500), amount = SHARE_AND_MEMORY_OF(500, 30 * GIB);
    struct assignment as = RECORD_OF("b", "GPU-n1-0", 0, 500, 40 * GIB);

    placed("b", &half);
    assert_int_equal(fixture_pod(&fx, "b", &half, "n1", &as), 0); /* not signed: its request says how much */
    fixture_node(&fx, "n1", 2, 20 * GIB);
    expect_nothing();
    assert_int_equal(fixture_pod(&fx, "b", &amount, "n1", &as), 0);
    assert_null(ledger_check(fx.l));
    expect_excess("GPU-n1-0", EXCESS_CAPACITY);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    expect_nothing();
    assert_null(ledger_check(fx.l));
}

static void capacity_is_back_while_another_pod_is_too_much__that_pod_alone_is_the_cause(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(400, 40 * GIB), other = SHARE_OF(200);

    placed("a", &d);
    placed("b", &d);
    recorded("c", &other, 0);
    fixture_node(&fx, "n1", 2, 60 * GIB);
    expect_excess("GPU-n1-0", EXCESS_CAPACITY | EXCESS_RECORDED);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    expect_excess("GPU-n1-0", EXCESS_RECORDED);
}

static void capacity_of_one_device_went__no_excuse_for_another(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(500, 40 * GIB);

    placed("a", &d);
    placed("b", &d);
    fixture_node(&fx, "n1", 2, 60 * GIB);
    assert_true(fx.l->nodes[0].devices[0].shrunk);
    assert_false(fx.l->nodes[0].devices[1].shrunk);
}

/* ---- faults ---- */

/* As a fault would: the second pod is on the device of the first, and nothing explains it. */
static void put_on_the_device_of(const char *uid, const char *first)
{
    struct pod_entry *p = &fx.l->pods[ledger_pod_lookup(fx.l, str_of(uid))];
    const struct pod_entry *q = &fx.l->pods[ledger_pod_lookup(fx.l, str_of(first))];

    p->refs[0] = p->first_grants[0].ref = q->refs[0];
    ledger_recompute(fx.l, 0);
    fx.l->before_n = 0; /* no op */
    ledger_overcommit_follow(fx.l, 0);
}

static void given_twice_here__broken(void **state)
{
    struct demand large = SHARE_OF(700);

    two_gpus_setup(state);
    placed("a", &large);
    placed("b", &large);
    assert_null(ledger_check(fx.l));
    put_on_the_device_of("b", "a");
    assert_string_equal(ledger_check(fx.l), "a device is over-committed by pods that fgpu placed");
    teardown_broken();
}

static void given_twice_here_beside_another_pod__broken_all_the_same(void **state)
{
    struct demand large = SHARE_OF(700), tiny = SHARE_OF(10);

    two_gpus_setup(state);
    placed("a", &large);
    placed("b", &large);
    assert_int_equal(fixture_pod(&fx, "c", &tiny, "n1", NULL), 0);
    recorded("d", &tiny, 0);
    put_on_the_device_of("b", "a");
    assert_string_equal(ledger_check(fx.l), "a device is over-committed by pods that fgpu placed");
    teardown_broken();
}

static void given_twice_here_after_capacity_had_gone_and_come_back__broken_all_the_same(void **state)
{
    struct demand large = SHARE_AND_MEMORY_OF(700, 60 * GIB);

    two_gpus_setup(state);
    placed("a", &large);
    placed("b", &large);
    fixture_node(&fx, "n1", 2, 40 * GIB);
    assert_null(ledger_check(fx.l));
    fixture_node(&fx, "n1", 2, 80 * GIB);
    put_on_the_device_of("b", "a");
    assert_string_equal(ledger_check(fx.l), "a device is over-committed by pods that fgpu placed");
    teardown_broken();
}

static void reservation_beyond_what_is_free__broken_whoever_else_is_there(void **state)
{
    struct demand large = SHARE_OF(700), rest = SHARE_OF(300), more = SHARE_OF(400);
    unsigned causes;

    fixture_init(&fx);
    fixture_node(&fx, "n1", 1, 80 * GIB);
    recorded("a", &large, 0);
    placed("b", &rest);
    /* as if the reservation had been of more than there was */
    ledger_change_begin(fx.l, 0);
    ledger_pod_set_demand(fx.l, &fx.l->pods[ledger_pod_lookup(fx.l, STR("b"))], &more);
    ledger_recompute(fx.l, 0);
    ledger_change_follow(fx.l, LEDGER_RESERVE);
    ledger_overcommit_follow(fx.l, 0);
    assert_string_equal(ledger_check(fx.l), "a reservation took more of a device than was free");
    assert_int_equal(excesses(&causes), 1);
    assert_true((causes & EXCESS_RESERVED) != 0);
    teardown_broken();
}

static void names_of_causes(void **state)
{
    assert_string_equal(excess_cause_name(EXCESS_CAPACITY), "capacity");
    assert_string_equal(excess_cause_name(EXCESS_UNPROVEN), "unproven");
    assert_string_equal(excess_cause_name(EXCESS_RAISED), "raised");
    assert_string_equal(excess_cause_name(EXCESS_RECORDED), "recorded");
    assert_string_equal(excess_cause_name(EXCESS_RESERVED), "reserved");
}

#define TEST(f) TWO_GPUS_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_over__nothing_handed_out),
        TEST(restart__two_recorded_on_one_device__no_broken_invariant_and_never_unseen),
        TEST(another_process_on_a_device_granted_here__its_pod_is_the_cause),
        TEST(without_a_record__unproven_until_its_devices_are_known),
        TEST(request_that_grew__raised),
        TEST(capacity_went__a_cause_until_it_is_back),
        TEST(capacity_went_under_recorded_pods__a_cause_while_it_stays_away),
        TEST(capacity_went_while_all_fitted_and_a_request_is_read_anew__capacity_is_the_cause),
        TEST(capacity_is_back_while_another_pod_is_too_much__that_pod_alone_is_the_cause),
        TEST(capacity_of_one_device_went__no_excuse_for_another),
        cmocka_unit_test(given_twice_here__broken),
        cmocka_unit_test(given_twice_here_beside_another_pod__broken_all_the_same),
        cmocka_unit_test(given_twice_here_after_capacity_had_gone_and_come_back__broken_all_the_same),
        cmocka_unit_test(reservation_beyond_what_is_free__broken_whoever_else_is_there),
        cmocka_unit_test(names_of_causes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
