/* Records that are believed before they are verified, and what becomes of them. */
#include "base/bug.h"
#include "core/dialects/dialect.h"
#include "extender/record.h"
#include "extender/support/await.h"
#include "extender/support/fake_time.h"
#include "extender/support/tested_store.h"
#include "extender/support/warnings.h"
#include "extender/verifier.h"
#include "extender/warn_limit.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define POLL_US 2000

static struct signing *signing;
static struct ingest in;

static int setup(void **state)
{
    warnings_reset();
    fake_time_set(1000 * NS_PER_S); /* and it stays so: nothing is waited for */
    store_open(clock_system());
    assert_int_equal(signing_new_ephemeral(&warnings_log, &signing, NULL), 0);
    in = (struct ingest){.store = store, .policy = policy_defaults(), .log = &warnings_log, .signing = signing};
    ingest_two_gpus(&in, STR("n1"));
    ingest_two_gpus(&in, STR("n2"));
    return 0;
}

static int teardown(void **state)
{
    store_check_and_free();
    signing_free(signing);
    return 0;
}

/* What is to be seen of a bound pod. */
struct seen {
    const char *uid, *node;
    const char *signed_for;  /* the pod that its record, for device 0, was signed for; NULL: it has none */
    int32_t milli;           /* of the record */
    bool asks_by_annotation; /* for the 300 milli; else in its limits */
};

/* The fact is in the arena, with all that it points to. */
static struct ingest_fact *read_pod(const struct seen *s)
{
    const struct assigned_device device = {STR("GPU-0"), 0, s->milli, 24576};
    const struct assigned_container assigned = {.name = STR("c"), .devices = &device, .device_n = 1};
    struct assignment as = {.id = STR("x"), .containers = &assigned, .container_n = 1};
    const struct kv limit = {STR("fgpu.io/gpu-milli"), STR("300")}, text = {STR("fgpu.io/gpu-fraction"), STR("0.3")};
    struct container *c = ARENA_NEW(&arena, struct container);
    struct ingest_fact *f = ARENA_NEW(&arena, struct ingest_fact);
    struct kv *annotations = ARENA_ARRAY(&arena, 2, struct kv);
    struct pod p = {.namespace_ = STR("d"),
                    .name = arena_str(&arena, str_of(s->uid)),
                    .uid = arena_str(&arena, str_of(s->uid)),
                    .node_name = arena_str(&arena, str_of(s->node)),
                    .containers = c,
                    .container_n = 1};
    size_t n = 0;

    assert_true(c != NULL && f != NULL && annotations != NULL);
    *c =
        (struct container){.name = STR("c"), .limits = {s->asks_by_annotation ? NULL : &limit, !s->asks_by_annotation}};
    if (s->asks_by_annotation) {
        annotations[n++] = text;
    }
    if (s->signed_for != NULL) {
        struct kv_list record;

        assert_int_equal(record_sign(signing, &as, str_of(s->signed_for), p.node_name, &arena, NULL), 0);
        assert_int_equal(dialect_answer(&as, &arena, &record, NULL), 0);
        annotations[n++] = (struct kv){STR(ASSIGNMENT_KEY), *kv_find(record, STR(ASSIGNMENT_KEY))};
    }
    p.annotations = (struct kv_list){annotations, n};
    assert_int_equal(ingest_read(&in, &arena, &(struct kube_object){.pod = &p}, true, f, NULL), 0);
    return f;
}

static uint64_t refuted_so_far(void)
{
    struct signing_stats stats;

    signing_stats(signing, &stats);
    return stats.refuted_n;
}

static void see(const struct seen *s)
{
    struct ingest_fact *f = read_pod(s);

    assert_int_equal(store_apply(store, &f->op, NULL), 0);
    signing_wake(signing);
}

/* A bound pod that asks for 300 milli, with a record for device 0 that was signed for pod `signed_for`. */
static void observe(const char *uid, const char *node, const char *signed_for)
{
    see(&(struct seen){uid, node, signed_for, 300, false});
}

static void verify__record_that_holds__charged_as_it_says(void **state)
{
    observe("a", "n1", "a");
    assert_int_equal(store_unverified_n(store), 1);
    assert_true(store_has_unverified(store));
    assert_int_equal(milli_charged(), 300); /* provisionally */
    assert_true(verify_records(&in, STR_NULL));
    assert_int_equal(refuted_so_far(), 0);
    assert_int_equal(store_unverified_n(store), 0);
    assert_int_equal(milli_charged(), 300);
    observe("a", "n1", "a"); /* the same again, as every event of the watch brings it */
    assert_int_equal(store_unverified_n(store), 0);
    assert_int_equal(warnings(), 0);
}

static void verify__record_of_another_pod__counts_everywhere_and_is_told_once(void **state)
{
    observe("a", "n1", "b");
    assert_int_equal(milli_charged(), 300);
    assert_true(verify_records(&in, STR_NULL));
    assert_int_equal(refuted_so_far(), 1);
    assert_int_equal(milli_charged(), 600);
    assert_int_equal(warnings(), 1);
}

/* Whose they are is needed where one is refuted. */
static void unverified__listed__with_the_name_of_the_pod(void **state)
{
    struct store_unverified found[3];
    struct arena small;

    observe("a", "n1", "a");
    observe("b", "n2", "b");
    assert_int_equal(store_unverified(store, STR_NULL, &arena, found, 3), 2);
    assert_int_equal(store_unverified(store, STR_NULL, &arena, found, 1), 1);
    assert_int_equal(store_unverified(store, STR("n2"), &arena, found, 3), 1);
    assert_true(str_eq_cstr(found[0].uid, "b") && str_eq_cstr(found[0].name, "b"));
    assert_true(str_eq_cstr(found[0].namespace_, "d"));
    assert_true(found[0].proof.n > 0);
    arena_init(&small, found[0].proof.n + 40); /* the next one is cut, and left to the next time */
    assert_in_range(store_unverified(store, STR_NULL, &small, found, 3), 0, 1);
    arena_fini(&small);
}

static void verify__one_node__leaves_the_others(void **state)
{
    observe("a", "n1", "a");
    observe("b", "n2", "b");
    assert_true(verify_records(&in, STR("n2")));
    assert_int_equal(store_unverified_n(store), 1);
    assert_true(verify_records(&in, STR("n1")));
    assert_int_equal(store_unverified_n(store), 0);
}

static void verify__more_than_a_batch__all_of_them(void **state)
{
    for (int i = 0; i < 200; i++) {
        char uid[16];

        snprintf(uid, sizeof(uid), "p%d", i);
        observe(uid, "n1", i % 10 == 0 ? "forged" : uid);
    }
    assert_int_equal(store_unverified_n(store), 200);
    assert_true(verify_records(&in, STR_NULL));
    assert_int_equal(refuted_so_far(), 20);
    assert_int_equal(store_unverified_n(store), 0);
}

static void end_lists(void)
{
    apply_bracket(LEDGER_PODS_END);
    apply_bracket(LEDGER_NODES_END);
}

static enum store_reserve_result reserve(const char *uid, const char *node)
{
    struct store_reservation r = {0};
    const struct rules *rules;
    enum store_reserve_result result;

    assert_int_equal(rules_new(&in, 1, NULL, NULL, &rules, NULL), 0);
    result = store_reserve(store, &arena, str_of(uid), STR("d"), str_of(uid), str_of(node), STR("decision"),
                           &rules->placement.plans, NULL, &r, NULL);
    rules_put(rules);
    return result;
}

/* A record that comes after the node's were verified, and is refuted by the thread before its bind looks again: the
 * devices were chosen as if it held, and nobody would know. */
static void reserve__record_that_came_since_the_node_was_verified__waits_for_its_verdict(void **state)
{
    const struct kv limit = {STR("fgpu.io/gpu-milli"), STR("1000")};
    const struct container c = {.name = STR("c"), .limits = {&limit, 1}};
    const struct pod whole = {
        .namespace_ = STR("d"), .name = STR("w"), .uid = STR("w"), .containers = &c, .container_n = 1};

    observe("other", "n2", "forged"); /* waits, on another node */
    assert_int_equal(ingest_pod(&in, &arena, &whole, NULL), 0);
    end_lists();
    assert_true(verify_records(&in, STR("n1")));
    observe("a", "n1", "forged");
    assert_int_equal(reserve("w", "n1"), STORE_UNVERIFIED);
    assert_true(verify_records(&in, STR("n1")));
    assert_int_equal(reserve("w", "n1"), STORE_NO_FIT);
}

/* ---- records that are written again and again ---- */

static void count_overcommit(void *ctx, const struct ledger_overcommit *o)
{
    unsigned *n = ctx;

    (void)o;
    ++*n;
}

/* Every edit claims all of a GPU that another pod is on, with a signature of its own; in between the record is taken
 * off. */
static void edit_for_long(const char *uid, bool asks_by_annotation)
{
    enum { EDITS = 100 };
    char signed_for[16];

    for (int i = 0; i < EDITS; i++) {
        snprintf(signed_for, sizeof(signed_for), "f%d", i);
        see(&(struct seen){uid, "n1", signed_for, 1000, asks_by_annotation});
        assert_true(verify_records(&in, STR_NULL));
        see(&(struct seen){uid, "n1", NULL, 0, asks_by_annotation});
    }
}

static void record__rewritten_a_hundred_times__closes_a_gpu_once_and_warns_twice(void **state)
{
    struct warn_limit *limit = warn_limit_new(clock_system());
    unsigned overcommit_n = 0;

    in.warnings = limit;
    store_watch_overcommit(store, count_overcommit, &overcommit_n);
    observe("other", "n1", "other");
    assert_true(verify_records(&in, STR_NULL));
    edit_for_long("a", false);
    assert_int_equal(overcommit_n, 2); /* begins and ends */
    assert_int_equal(milli_charged(), 300 + 2 * 300);
    assert_int_equal(warnings(), 2);                 /* that one does not hold, and that it is ignored */
    see(&(struct seen){"a", "n1", "a", 300, false}); /* the one that fgpu wrote is put back */
    assert_int_equal(milli_charged(), 300 + 300);
    edit_for_long("a", false);
    assert_int_equal(milli_charged(), 300 + 300);
    assert_int_equal(overcommit_n, 2);
    assert_int_equal(warnings(), 2);
    store_watch_overcommit(store, NULL, NULL);
    warn_limit_free(limit);
}

/* Its text is no request (design.md 3.1.8), so nothing is left of it when its record is refuted, and nothing would
 * remember that. */
static void record__of_a_pod_whose_annotations_ask_too_late__charges_nothing_not_even_for_a_moment(void **state)
{
    const struct seen forged = {"a", "n1", "b", 1000, true}, own = {"a", "n1", "a", 300, true};
    struct ledger *scratch = store_audit_scratch(store);
    unsigned overcommit_n = 0;
    uint64_t touched;

    store_watch_overcommit(store, count_overcommit, &overcommit_n);
    observe("other", "n1", "other");
    assert_true(verify_records(&in, STR_NULL));
    end_lists();
    edit_for_long("a", true);
    assert_int_equal(milli_charged(), 300);
    assert_int_equal(overcommit_n, 0);
    see(&forged);
    assert_int_equal(milli_charged(), 300);
    /* An audit would have missed it each time. */
    assert_int_equal(store_drift(store, scratch, &read_pod(&forged)->op, &touched), DRIFT_NONE);
    see(&own);
    assert_int_equal(milli_charged(), 600);
    store_watch_overcommit(store, NULL, NULL);
    ledger_free(scratch);
}

/* An event that was lost: the audit has to see that this one holds. */
static void audit__record_that_holds_after_one_that_was_refuted__is_a_drift_and_repaired(void **state)
{
    const struct seen own = {"a", "n1", "a", 300, false};
    struct ledger *scratch = store_audit_scratch(store);
    enum ledger_drift drift;
    uint64_t touched;

    observe("a", "n1", "b");
    assert_true(verify_records(&in, STR_NULL));
    end_lists();
    assert_int_equal(milli_charged(), 600);
    assert_int_equal(store_drift(store, scratch, &read_pod(&own)->op, &touched), DRIFT_POD_STATE);
    assert_int_equal(store_repair(store, scratch, &read_pod(&own)->op, touched, &drift, NULL), 0);
    assert_int_equal(milli_charged(), 300);
    ledger_free(scratch);
}

static void no_keys_changed(void *ctx)
{
    (void)ctx;
    BUG("nobody changed a key");
}

static void verifier__records_that_come_meanwhile__are_verified_by_its_thread(void **state)
{
    const struct rules *rules;
    struct policy_set *policies;
    struct verifier *v;

    assert_int_equal(rules_new(&in, 1, NULL, NULL, &rules, NULL), 0);
    policies = policy_set_new(rules);
    assert_int_equal(verifier_start(&(struct verifier_options){policies, signing, no_keys_changed, NULL}, &v, NULL), 0);
    for (int i = 0; i < 100; i++) {
        char uid[16];

        snprintf(uid, sizeof(uid), "p%d", i);
        observe(uid, "n1", i == 50 ? "forged" : uid);
    }
    for (int ms = 0; store_unverified_n(store) > 0; ms += POLL_US / 1000) {
        assert_true(ms < PATIENCE_MS);
        usleep(POLL_US);
    }
    verifier_stop(v);
    assert_int_equal(milli_charged(), 99 * 300 + 2 * 300);
    policy_set_free(policies);
}

static bool all_are_verified(const void *nothing)
{
    return store_unverified_n(store) == 0;
}

/* Of what is there already nobody tells it any more, and its time does not pass: batch after batch at once. */
static void verifier__more_than_a_batch_waits__verified_without_a_pause(void **state)
{
    const struct rules *rules;
    struct policy_set *policies;
    struct verifier *v;

    for (int i = 0; i < 200; i++) {
        char uid[16];

        snprintf(uid, sizeof(uid), "p%d", i);
        observe(uid, "n1", uid);
    }
    (void)signing_wait(signing, 0); /* nobody has called */
    assert_int_equal(rules_new(&in, 1, NULL, NULL, &rules, NULL), 0);
    policies = policy_set_new(rules);
    assert_int_equal(verifier_start(&(struct verifier_options){policies, signing, no_keys_changed, NULL}, &v, NULL), 0);
    await(all_are_verified, NULL, "verdict on each record");
    verifier_stop(v);
    policy_set_free(policies);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(verify__record_that_holds__charged_as_it_says),
        T(verify__record_of_another_pod__counts_everywhere_and_is_told_once),
        T(unverified__listed__with_the_name_of_the_pod),
        T(verify__one_node__leaves_the_others),
        T(verify__more_than_a_batch__all_of_them),
        T(reserve__record_that_came_since_the_node_was_verified__waits_for_its_verdict),
        T(record__rewritten_a_hundred_times__closes_a_gpu_once_and_warns_twice),
        T(record__of_a_pod_whose_annotations_ask_too_late__charges_nothing_not_even_for_a_moment),
        T(audit__record_that_holds_after_one_that_was_refuted__is_a_drift_and_repaired),
        T(verifier__more_than_a_batch_waits__verified_without_a_pause),
        T(verifier__records_that_come_meanwhile__are_verified_by_its_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
