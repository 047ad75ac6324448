/* defects.md H2 and H8: a GPU given twice, and a pod that somebody else decided about, are incidents by
 * themselves, whoever made them; each begins once and ends with its cause. */
#include "core/ledger/device_table.h"
#include "core/ledger/incidents.h"
#include "core/ledger/state.h"
#include "core/support/tested_ledger.h"
#include "core/support/simulation.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS 500 /* others: support/seeds.h */
#define STEPS 250

static struct incident *list; /* of the last list() or news() */

static int teardown(void **state)
{
    incidents_free(list);
    list = NULL;
    fixture_fini(&fx);
    return 0;
}

static size_t count_of(struct incident *of)
{
    size_t n = 0;

    incidents_free(list);
    list = of;
    for (; of != NULL; of = of->next) {
        n++;
    }
    return n;
}

static size_t status(void)
{
    return count_of(ledger_incidents(fx.l, 100));
}

static size_t news(void)
{
    return count_of(ledger_take_incidents(fx.l));
}

/* The pod is seen bound to n1 with a record of `id` for `milli` of GPU `gpu`; `deciding`: we decide already. */
static void seen_bound(const char *uid, const char *id, int gpu, int32_t milli, int64_t created_ms, bool deciding)
{
    struct demand d = SHARE_OF(milli);
    struct assignment as =
        RECORD_OF(id, gpu == 0 ? "GPU-n1-0" : "GPU-n1-1", gpu, milli, (int64_t)milli * 80 * GIB / 1000);
    struct ledger_op op = fixture_observation(uid, &d, "n1", &as);

    op.at_ms = 7000;
    op.deciding = deciding;
    op.pod.created_ms = created_ms;
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
}

static void seen_pending(const char *uid, int32_t milli)
{
    struct demand d = SHARE_OF(milli);

    assert_int_equal(fixture_pod(&fx, uid, &d, NULL, NULL), 0);
}

static void expect_pods(const struct incident *in, const char *older, const char *younger)
{
    assert_int_equal(in->pod_n, 2);
    assert_true(str_eq_cstr(in->pods[0].name, older));
    assert_true(str_eq_cstr(in->pods[1].name, younger));
}

/* Item 2: we gave the GPU to another pod; then the write of a predecessor lands. */
static void late_write_of_a_predecessor__closed_and_both_pods_named_the_younger_last(void **state)
{
    struct demand tiny = SHARE_OF(1);
    struct placement at;

    seen_pending("late", 700);
    seen_pending("ours", 700);
    assert_int_equal(fixture_reserve(&fx, "ours", "n1"), 0);
    fixture_name_op(&fx, LEDGER_CONFIRM, "ours");
    seen_bound("ours", "ours", 0, 700, 2000, true);
    assert_int_equal(status() + news(), 0);

    seen_bound("late", "of the predecessor", 0, 700, 3000, true);
    assert_int_equal(status(), 2);
    assert_int_equal(list->kind, INCIDENT_DOUBLE_BOOKING);
    assert_int_equal(list->since_ms, 7000);
    assert_true(str_eq_cstr(list->node_name, "n1") && str_eq_cstr(list->uuid, "GPU-n1-0"));
    expect_pods(list, "ours", "late");
    assert_true(list->pods[0].decided_here && !list->pods[1].decided_here);
    assert_int_equal(list->next->kind, INCIDENT_FOREIGN_DECISION);
    assert_int_equal(list->next->pod_n, 1);
    assert_true(str_eq_cstr(list->next->pods[0].decision_id, "of the predecessor"));
    assert_int_equal(news(), 2);
    assert_int_equal(list->kind, INCIDENT_FOREIGN_DECISION);
    assert_int_equal(list->next->kind, INCIDENT_DOUBLE_BOOKING);
    assert_false(list->next->ends);
    assert_true(list->next->pods[0].joined && list->next->pods[1].joined);
    /* closed: only the other GPU takes somebody */
    assert_int_equal(ledger_place(fx.l, STR("n1"), STR("default"), &tiny, NULL, 0, fixture_params("tight-fit"), &at),
                     VERDICT_FITS);
    assert_int_equal(at.gpu_request_devices[0], 2);
    assert_null(ledger_check(fx.l));

    fixture_name_op(&fx, LEDGER_POD_GONE, "late");
    assert_int_equal(status(), 0);
    assert_int_equal(news(), 1);
    assert_true(list->ends && list->pod_n == 0);
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_DOUBLE_BOOKING).begun_n, 1);
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_FOREIGN_DECISION).begun_n, 1);
}

/* Item 8b, as after a restart: nobody of this process decided anything, pods first, then nodes. */
static void two_sets_of_recorded_devices_after_a_restart__an_incident_in_any_order(void **state)
{
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n1");
    seen_bound("a", "x", 0, 600, 0, false);
    seen_bound("b", "y", 0, 600, 0, false);
    assert_int_equal(status(), 0); /* nobody knows the GPU */
    fixture_node(&fx, "n1", 2, 80 * GIB);
    assert_int_equal(status(), 1);
    expect_pods(list, "a", "b"); /* of one age: by UID, as every process does */
    seen_bound("c", "z", 1, 600, 5, false);
    seen_bound("d", "z", 1, 600, 4, false);
    assert_int_equal(status(), 2);
    expect_pods(list->next, "d", "c");
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_FOREIGN_DECISION).begun_n, 0);
    assert_null(ledger_check(fx.l));
}

static bool deciding; /* what others do from now on is an incident */

static void seen_with_unverified_record(const char *uid, int gpu, int32_t milli)
{
    struct demand d = SHARE_OF(milli);
    struct assignment as = RECORD_OF(uid, gpu == 0 ? "GPU-n1-0" : "GPU-n1-1", gpu, milli, GIB);
    struct ledger_op op = fixture_observation(uid, &d, "n1", &as);

    op.at_ms = 7000;
    op.deciding = deciding;
    op.pod.record_trust = RECORD_PROVISIONAL;
    op.pod.proof = str_of(uid);
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
}

/* An incident names a pod to be deleted: anybody's text must not. */
static void record_that_nobody_has_verified__no_incident_until_it_is(void **state)
{
    seen_bound("a", "a", 0, 700, 0, false);
    seen_with_unverified_record("forged", 0, 700);
    assert_int_equal(status() + news(), 0);
    fixture_judge(&fx, "forged", "forged", false);
    assert_int_equal(status() + news(), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "forged");
    seen_with_unverified_record("late", 0, 700);
    assert_int_equal(status() + news(), 0);
    fixture_judge(&fx, "late", "late", true);
    assert_int_equal(status(), 1);
    assert_int_equal(news(), 1);
    assert_int_equal(list->pod_n, 2);
    fixture_name_op(&fx, LEDGER_POD_GONE, "late");
    assert_int_equal(status(), 0);
}

static void repeated_observations_and_lists__told_once(void **state)
{
    seen_bound("a", "x", 0, 600, 1, true);
    seen_bound("b", "y", 0, 600, 2, true);
    assert_int_equal(news(), 1);
    for (int i = 0; i < 3; i++) {
        fixture_bracket(&fx, LEDGER_PODS_BEGIN);
        seen_bound("a", "x", 0, 600, 1, true);
        seen_bound("b", "y", 0, 600, 2, true);
        fixture_bracket(&fx, LEDGER_PODS_END);
        fixture_node(&fx, "n1", 2, 80 * GIB);
    }
    assert_int_equal(news(), 0);
    assert_int_equal(status(), 1);
    assert_int_equal(list->since_ms, 7000);
    seen_bound("c", "z", 0, 100, 3, true); /* joins: told to it */
    assert_int_equal(news(), 1);
    assert_int_equal(list->pod_n, 3);
    assert_true(list->pods[2].joined && !list->pods[0].joined && !list->pods[1].joined);
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_DOUBLE_BOOKING).begun_n, 1);
    fixture_name_op(&fx, LEDGER_POD_GONE, "c");
    assert_int_equal(news(), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(news(), 1);
    seen_bound("a", "x", 0, 600, 1, true); /* again: a new one */
    assert_int_equal(news(), 1);
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_DOUBLE_BOOKING).begun_n, 2);
}

static void capacity_that_shrinks__over_committed_but_given_once__until_another_pod_comes(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(300, 30 * GIB);

    for (int i = 0; i < 2; i++) {
        const char *const names[] = {"a", "b"};

        assert_int_equal(fixture_pod(&fx, names[i], &d, NULL, NULL), 0);
        assert_int_equal(fixture_reserve(&fx, names[i], "n1"), 0);
    }
    fixture_node(&fx, "n1", 2, 40 * GIB);
    assert_true(fixture_state(&fx, "n1")->devices[0].overcommitted);
    assert_int_equal(status() + news(), 0);
    seen_bound("late", "of another", 0, 100, 1, true);
    assert_int_equal(status(), 1);
    assert_int_equal(list->pod_n, 3);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    assert_int_equal(status(), 0);
}

static void pods_that_nobody_knows_the_devices_of__over_committed_but_no_incident(void **state)
{
    struct demand d = SHARE_OF(600);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    fixture_pod(&fx, "b", &d, "n1", NULL);
    seen_bound("c", "x", 0, 600, 1, false);
    assert_true(fixture_state(&fx, "n1")->devices[0].overcommitted);
    assert_int_equal(status() + news(), 0);
    seen_bound("b", "y", 0, 600, 2, false); /* its devices become known */
    assert_int_equal(status(), 1);
    expect_pods(list, "c", "b");
}

static void one_pod_that_is_too_large_by_itself__over_committed_but_given_once(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(500, 100 * GIB);
    struct assignment as = RECORD_OF("x", "GPU-n1-0", 0, 500, 100 * GIB);

    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_true(fixture_state(&fx, "n1")->devices[0].overcommitted);
    assert_int_equal(status() + news(), 0);
}

/* Item 8a. */
static void foreign_decision__only_for_what_was_pending_here_and_only_while_we_decide(void **state)
{
    struct demand d = SHARE_OF(100);

    seen_bound("unknown", "x", 0, 100, 1, true); /* never seen pending */
    seen_pending("early", 100);
    seen_bound("early", "x", 0, 100, 1, false); /* while we wait for earlier Bindings */
    seen_pending("past us", 100);
    fixture_pod(&fx, "past us", &d, "n1", NULL); /* nobody's decision: foreign, not this */
    seen_pending("ours", 100);
    assert_int_equal(fixture_reserve(&fx, "ours", "n1"), 0);
    seen_bound("ours", "ours", 0, 100, 1, true);
    assert_int_equal(status(), 0);

    seen_pending("pending", 100);
    seen_bound("pending", "x", 1, 100, 1, true);
    seen_pending("reserved", 100);
    assert_int_equal(fixture_reserve(&fx, "reserved", "n1"), 0);
    seen_bound("reserved", "x", 1, 100, 1, true); /* by another decision than ours */
    assert_int_equal(status(), 2);
    assert_int_equal(list->kind, INCIDENT_FOREIGN_DECISION);
    assert_true(str_eq_cstr(list->node_name, "n1"));
    assert_int_equal(list->since_ms, 7000);
    seen_bound("pending", "x", 1, 100, 1, true);
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_FOREIGN_DECISION).begun_n, 2);
    assert_int_equal(news(), 2);
    fixture_name_op(&fx, LEDGER_POD_GONE, "pending");
    fixture_name_op(&fx, LEDGER_POD_GONE, "reserved");
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_FOREIGN_DECISION).now_n, 0);
}

/* By a record that nobody has verified yet: told once it is, and once for all, although the pod turns up elsewhere. */
static void foreign_decision__record_to_be_verified__told_when_it_is_and_once(void **state)
{
    struct demand d = SHARE_OF(100);
    const struct assignment elsewhere = RECORD_OF("x", "GPU-n2-0", 0, 100, GIB);
    struct ledger_op op = fixture_observation("pending", &d, "n2", &elsewhere);

    fixture_node(&fx, "n2", 1, 80 * GIB);
    seen_pending("forged", 100);
    seen_pending("pending", 100);
    deciding = true;
    seen_with_unverified_record("forged", 0, 100);
    seen_with_unverified_record("pending", 0, 100);
    assert_int_equal(status() + news(), 0);
    fixture_judge(&fx, "forged", "forged", false);
    fixture_judge(&fx, "pending", "pending", true);
    assert_int_equal(status(), 1);
    assert_int_equal(news(), 1);
    assert_int_equal(list->kind, INCIDENT_FOREIGN_DECISION);
    assert_true(str_eq_cstr(list->pods[0].name, "pending"));
    op.deciding = true;
    op.pod.record_trust = RECORD_PROVISIONAL;
    op.pod.proof = STR("second");
    fixture_apply(&fx, &op);
    fixture_judge(&fx, "pending", "second", true);
    assert_int_equal(ledger_incident_count(fx.l, INCIDENT_FOREIGN_DECISION).begun_n, 1);
    assert_int_equal(status(), 1);
    fixture_name_op(&fx, LEDGER_POD_GONE, "pending");
    assert_int_equal(status(), 0);
    deciding = false;
}

/* What bind must never let happen; if it does, nobody may miss it. */
static void own_decision_given_up_and_landed_all_the_same__an_incident(void **state)
{
    seen_pending("a", 100);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_name_op(&fx, LEDGER_RELEASE, "a");
    seen_bound("a", "a", 0, 100, 1, true);
    assert_int_equal(status(), 1);
    assert_int_equal(list->kind, INCIDENT_FOREIGN_DECISION);
}

static void limits__named_and_news(void **state)
{
    char uid[] = "pod-a";

    seen_bound("a", "x", 0, 600, 1, true);
    seen_bound("b", "x", 0, 600, 1, true);
    seen_bound("c", "x", 1, 600, 1, true);
    seen_bound("d", "x", 1, 600, 1, true);
    assert_int_equal(count_of(ledger_incidents(fx.l, 1)), 1);
    assert_int_equal(count_of(ledger_incidents(fx.l, 0)), 0);
    for (int i = 0; i < 1200; i++) { /* what nobody takes is dropped, and what comes later is told again */
        fixture_name_op(&fx, LEDGER_POD_GONE, "b");
        seen_bound("b", "x", 0, 600, 1, true);
    }
    assert_int_equal(news(), 1024);
    seen_bound(uid, "x", 0, 600, 1, true);
    assert_int_equal(news(), 1);
}

/* ---- random clusters ---- */

static unsigned begun;

/* Sums the charges of pods whose devices are known by itself, and knows no history: a flag without an excess is wrong
 * always, an excess without a flag is wrong if the device never fitted. */
static void watch_over(struct simulation *s)
{
    uint64_t booked_n = 0;

    incidents_free(ledger_take_incidents(s->l));
    for (uint32_t i = 0; i < s->l->node_n; i++) {
        const struct node_entry *n = &s->l->nodes[i];

        for (uint32_t j = 0; n->used && j < n->device_n; j++) {
            const struct device_state *d = &s->l->states[s->l->rows[i].first_device + j];
            int64_t milli = 0, mem_mib = 0, slots = 0;

            for (uint32_t k = 0; k < n->pod_n; k++) {
                const struct pod_entry *p = &s->l->pods[n->pods[k]];
                bool names = false;

                for (size_t r = 0; r < p->ref_n; r++) {
                    names = names || ledger_device_find(n, p, p->refs[r]) == j;
                }
                for (size_t c = 0; c < p->charge_n && names; c++) {
                    if (p->charges[c].ordinal == j) {
                        milli += p->charges[c].charge.milli;
                        mem_mib += p->charges[c].charge.mem_mib;
                        slots += p->charges[c].charge.slots;
                    }
                }
            }
            if (n->devices[j].booked && !n->devices[j].overcommitted) {
                simulation_fail(s, "double-booked and open", s->l->names[i]);
            }
            if (n->devices[j].booked && n->devices[j].profile == 0 && milli <= d->milli_cap &&
                mem_mib <= d->mem_cap_mib && slots <= d->slot_cap) {
                simulation_fail(s, "double-booked within its capacity", s->l->names[i]);
            }
            booked_n += n->devices[j].booked;
        }
    }
    if (booked_n != ledger_incident_count(s->l, INCIDENT_DOUBLE_BOOKING).now_n ||
        booked_n != count_of(ledger_incidents(s->l, SIZE_MAX))) {
        simulation_fail(s, "another number of double bookings than there is", STR_NULL);
    }
}

static void random__any_scenario__bookings_counted_right_and_never_open(void **state)
{
    const struct seeds seeds = seeds_of_test(1, SEEDS);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);

        s->after = watch_over;
        for (unsigned i = 0; i < STEPS; i++) {
            simulation_step(s);
        }
        simulation_settle(s, true);
        begun += (unsigned)ledger_incident_count(s->l, INCIDENT_DOUBLE_BOOKING).begun_n;
        simulation_free(s);
    }
    assert_true(seeds.n < SEEDS || begun > seeds.n / 3);
    incidents_free(list);
    list = NULL;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, two_gpus_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(late_write_of_a_predecessor__closed_and_both_pods_named_the_younger_last),
        TEST(two_sets_of_recorded_devices_after_a_restart__an_incident_in_any_order),
        TEST(record_that_nobody_has_verified__no_incident_until_it_is),
        TEST(repeated_observations_and_lists__told_once),
        TEST(capacity_that_shrinks__over_committed_but_given_once__until_another_pod_comes),
        TEST(pods_that_nobody_knows_the_devices_of__over_committed_but_no_incident),
        TEST(one_pod_that_is_too_large_by_itself__over_committed_but_given_once),
        TEST(foreign_decision__only_for_what_was_pending_here_and_only_while_we_decide),
        TEST(foreign_decision__record_to_be_verified__told_when_it_is_and_once),
        TEST(own_decision_given_up_and_landed_all_the_same__an_incident),
        TEST(limits__named_and_news),
        cmocka_unit_test(random__any_scenario__bookings_counted_right_and_never_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
