/* When kube-scheduler is woken, and when not. No duration is asserted. */
#include "extender/requeue_trigger.h"
#include "extender/support/tested_store.h"
#include "extender/support/warnings.h"

#include "extender/policy_set.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <unistd.h>

static struct clock_manual now;
static struct requeue_trigger *requeue_trigger;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sent_n, answered_n;
static enum wake_result next_result;

static const struct demand demand = DEMAND_OF_SHARE(300);

static void send(void *ctx, struct requeue_trigger *w)
{
    enum wake_result result;

    (void)ctx;
    pthread_mutex_lock(&lock);
    sent_n++;
    result = next_result;
    pthread_mutex_unlock(&lock);
    requeue_trigger_sent(w, result, "test");
    pthread_mutex_lock(&lock);
    answered_n++;
    pthread_mutex_unlock(&lock);
}

static void answer_with(enum wake_result result)
{
    pthread_mutex_lock(&lock);
    next_result = result;
    pthread_mutex_unlock(&lock);
}

static int sent(void)
{
    int n;

    pthread_mutex_lock(&lock);
    n = answered_n;
    pthread_mutex_unlock(&lock);
    return n;
}

/* Ends by the time-out of the test program when it never comes. */
static void wait_sent(int n)
{
    while (sent() < n) {
        usleep(500);
    }
}

/* Long enough for a thread that has something to do; a late one makes the test pass wrongly, never fail. */
static void assert_stays(int n)
{
    usleep(30000);
    assert_int_equal(sent(), n);
}

static void pod_gone(const char *uid)
{
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = str_of(uid)});
}

static void pod_runs(const char *uid)
{
    apply_pod(uid, "n1", &demand);
}

static void node(int gpus)
{
    struct device devices[4];
    struct inventory inventory = {.devices = devices, .device_n = (size_t)gpus};
    struct ledger_op o = {.kind = LEDGER_NODE_DESCRIBED,
                          .node = {.name = STR("n1"), .uid = STR("u1"), .schedulable = true, .inventory = &inventory}};

    for (int i = 0; i < gpus; i++) {
        devices[i] =
            (struct device){.index = i, .minor = -1, .mem_mib = 1000, .slot_n = 16, .numa = -1, .healthy = true};
    }
    apply(o);
}

static int setup(void **state)
{
    clock_manual_init(&now, 1000000000, 5000);
    store_open(&now.clock);
    sent_n = answered_n = 0;
    next_result = WAKE_DONE;
    node(1);
    warnings_reset();
    return requeue_trigger_new(store, &now.clock, &warnings_log, send, NULL, &requeue_trigger, NULL);
}

static int teardown(void **state)
{
    requeue_trigger_stop(requeue_trigger);
    requeue_trigger_free(requeue_trigger);
    store_check_and_free();
    return 0;
}

static void refused(void)
{
    requeue_trigger_refused(requeue_trigger, store_generation(store));
}

static void wake__room_but_nobody_was_refused__is_silent(void **state)
{
    pod_runs("a");
    pod_gone("a");
    assert_stays(0);
}

static void wake__refused_and_then_a_charge_ends__wakes(void **state)
{
    pod_runs("a");
    refused();
    assert_stays(0);
    pod_gone("a");
    wait_sent(1);
}

/* Who was refused by a process that has ended waits for its room, too. */
static void wake__first_room_after_a_predecessor__wakes_once(void **state)
{
    apply_empty_lists();
    store_hold_off(store, INT64_MAX);
    requeue_trigger_follows(requeue_trigger);
    node(2);
    assert_stays(0); /* who is woken now is answered with an error */
    store_hold_off(store, INT64_MIN);
    wait_sent(1);
    node(3);
    assert_stays(1);
}

static void wake__room_appeared_while_the_refusal_was_computed__wakes(void **state)
{
    uint64_t seen;

    pod_runs("a");
    seen = store_generation(store);
    pod_gone("a");
    requeue_trigger_refused(requeue_trigger, seen);
    wait_sent(1);
}

static void wake__refused_and_then_nothing_but_repeated_facts__is_silent(void **state)
{
    pod_runs("a");
    refused();
    pod_runs("a");
    node(1);
    pod_gone("nobody");
    assert_stays(0);
}

static void wake__refused_and_then_a_node_grows__wakes(void **state)
{
    refused();
    node(2);
    wait_sent(1);
}

static void wake__again_only_after_another_refusal(void **state)
{
    pod_runs("a");
    refused();
    pod_gone("a");
    wait_sent(1);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_PAUSE_MS);
    pod_runs("b");
    pod_gone("b");
    assert_stays(1);
    pod_runs("c");
    refused();
    pod_gone("c");
    wait_sent(2);
}

static void wake__within_the_pause__waits_for_its_end(void **state)
{
    pod_runs("a");
    refused();
    pod_gone("a");
    wait_sent(1);
    pod_runs("b");
    refused();
    pod_gone("b");
    assert_stays(1);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_PAUSE_MS);
    wait_sent(2);
}

static void wake__failed__is_repeated_with_growing_pauses(void **state)
{
    answer_with(WAKE_FAILED);
    pod_runs("a");
    refused();
    pod_gone("a");
    wait_sent(1);
    clock_manual_advance_ms(&now, 2 * REQUEUE_TRIGGER_PAUSE_MS - 1);
    assert_stays(1);
    clock_manual_advance_ms(&now, 1);
    wait_sent(2);
    assert_int_equal(infos(), 0);
    answer_with(WAKE_DONE);
    clock_manual_advance_ms(&now, 4 * REQUEUE_TRIGGER_PAUSE_MS);
    wait_sent(3);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS);
    assert_stays(3);
    assert_int_equal(warnings(), 1); /* until it works again, */
    assert_int_equal(infos(), 1);    /* which is said once, too */
    pod_runs("b");
    refused();
    pod_gone("b");
    wait_sent(4);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS);
    assert_stays(4);
    assert_int_equal(warnings() + infos(), 2);
}

static void wake__impossible__is_tried_once_a_minute(void **state)
{
    answer_with(WAKE_IMPOSSIBLE);
    pod_runs("a");
    refused();
    pod_gone("a");
    wait_sent(1);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_FAILED_PAUSE_MAX_MS - 1);
    assert_stays(1);
    clock_manual_advance_ms(&now, 1);
    wait_sent(2);
}

/* ---- room that no charge shows (issue: missing wake-ups) ---- */

/* A reservation elsewhere ends the nomination for which a node was kept. */
static void wake__refused_for_a_nomination_and_the_pod_is_reserved_elsewhere__wakes(void **state)
{
    struct device device = {.index = 0, .minor = -1, .mem_mib = 1000, .slot_n = 16, .numa = -1, .healthy = true};
    struct inventory inventory = {.devices = &device, .device_n = 1};
    struct ledger_op second = {
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = STR("n2"), .uid = STR("u2"), .schedulable = true, .inventory = &inventory}};
    struct ledger_op nominated = {
        .kind = LEDGER_POD_OBSERVED,
        .pod = {
            .uid = STR("a"), .namespace_ = STR("d"), .name = STR("a"), .nominated_node = STR("n1"), .demand = &demand}};
    struct store_reservation got;
    struct pack_plans plans;
    struct arena a;

    arena_init(&a, 1 << 20);
    assert_int_equal(pack_plans_init(&plans, policy_defaults(), NULL), 0);
    apply_empty_lists();
    apply(second);
    apply(nominated);
    refused();
    assert_int_equal(
        store_reserve(store, &a, STR("a"), STR("d"), STR("a"), STR("n2"), STR("x"), &plans, NULL, &got, NULL),
        STORE_RESERVED);
    wait_sent(1);
    arena_fini(&a);
}

/* The other policy was current, and said to make room, before the refusal by the old one was known. */
static void wake__refused_by_rules_that_hold_no_longer__wakes(void **state)
{
    struct policy_set *policies = policy_set_new(rules_of(policy_defaults(), 1));

    policy_set_publish(policies, rules_of(policy_defaults(), 2));
    requeue_trigger_capacity(requeue_trigger);
    requeue_trigger_refused_by(requeue_trigger, store_generation(store), policies, 2);
    assert_stays(0);
    requeue_trigger_refused_by(requeue_trigger, store_generation(store), policies, 1);
    wait_sent(1);
    policy_set_free(policies);
}

/* What a reload does to the ledger, or a window that opens: each makes room by itself. */
static void wake__malformed__by_other_rules_alone(void **state)
{
    struct policy_set *policies = policy_set_new(rules_of(policy_defaults(), 2));

    requeue_trigger_malformed(requeue_trigger, policies, 2);
    node(4); /* room is no help to it */
    assert_stays(0);
    requeue_trigger_capacity(requeue_trigger);
    wait_sent(1);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_PAUSE_MS);
    requeue_trigger_malformed(requeue_trigger, policies, 1); /* judged by rules that hold no longer */
    wait_sent(2);
    policy_set_free(policies);
}

static void wake__refused_and_then_another_policy_is_told_to_the_ledger__wakes(void **state)
{
    struct tenant tenant = {.name = STR("t"), .milli = 100, .gpu_permille = -1, .mem_permille = -1, .mem_mib = -1};
    struct ledger_op tenants = {.kind = LEDGER_TENANTS, .tenants = {&tenant, 1}};

    refused();
    apply(tenants);
    wait_sent(1);
}

/* ---- a node that was not asked about (extender/elsewhere.h) ---- */

static void elsewhere(int64_t delay_ms, bool twice)
{
    requeue_trigger_elsewhere(requeue_trigger, delay_ms, twice, 1);
}

static int64_t due_in_ms(void)
{
    int64_t at_ns = requeue_trigger_due_ns(requeue_trigger);

    return at_ns == INT64_MAX ? -1 : (at_ns - clock_mono_ns(&now.clock)) / NS_PER_MS;
}

static void elsewhere__wakes_at_once_and_soon_again(void **state)
{
    elsewhere(0, false);
    wait_sent(1);
    elsewhere(0, false);
    assert_int_equal(due_in_ms(), REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
    wait_sent(2);
    assert_int_equal(due_in_ms(), -1);
}

static void elsewhere__pauses_grow_and_shrink_again(void **state)
{
    int64_t before = 0;

    for (int i = 0; i < 60; i++) {
        int64_t pause;

        elsewhere(0, false);
        pause = due_in_ms();
        assert_in_range(pause < 0 ? 0 : pause, 0, REQUEUE_TRIGGER_PAUSE_MS);
        clock_manual_advance_ms(&now, pause < 0 ? 0 : pause);
        wait_sent(i + 1);
        before = pause > before ? pause : before;
    }
    assert_int_equal(before, REQUEUE_TRIGGER_PAUSE_MS);
    clock_manual_advance_ms(&now, 100 * REQUEUE_TRIGGER_PAUSE_MS);
    elsewhere(0, false);
    wait_sent(61);
    elsewhere(0, false);
    assert_int_equal(due_in_ms(), REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
}

static void elsewhere__many_who_ask__are_one(void **state)
{
    elsewhere(500, false);
    elsewhere(700, false);
    elsewhere(300, false);
    assert_int_equal(due_in_ms(), 300);
    clock_manual_advance_ms(&now, 1000);
    wait_sent(1);
    assert_int_equal(due_in_ms(), -1);
}

/* Whatever it is sent for, it wakes everybody. */
static void elsewhere__room_appears_first__one_is_for_both(void **state)
{
    pod_runs("a");
    refused();
    elsewhere(500, false);
    pod_gone("a");
    wait_sent(1);
    assert_int_equal(due_in_ms(), -1);
}

static void elsewhere__twice__the_second_follows_without_a_pause(void **state)
{
    elsewhere(0, true);
    wait_sent(2);
    assert_int_equal(due_in_ms(), -1);
}

/* Who asked for it waits for it, and asks no second time. */
static void elsewhere__failed__is_repeated_soon_and_then_more_seldom(void **state)
{
    answer_with(WAKE_FAILED);
    elsewhere(0, false);
    for (int i = 0; i < 3; i++) {
        wait_sent(i + 1);
        assert_int_equal(due_in_ms(), REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS << i);
        answer_with(i < 2 ? WAKE_FAILED : WAKE_DONE);
        clock_manual_advance_ms(&now, REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS << i);
    }
    wait_sent(4);
    assert_int_equal(due_in_ms(), -1);
    answer_with(WAKE_FAILED);
    clock_manual_advance_ms(&now, REQUEUE_TRIGGER_PAUSE_MS);
    elsewhere(0, false);
    wait_sent(5);
    assert_int_equal(due_in_ms(), REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS);
}

/* The one that failed was sent for room, but for this wish, too. */
static void elsewhere__failed_with_one_for_room__is_repeated_soon(void **state)
{
    answer_with(WAKE_FAILED);
    pod_runs("a");
    refused();
    elsewhere(500, false);
    pod_gone("a");
    wait_sent(1);
    assert_int_equal(due_in_ms(), REQUEUE_TRIGGER_ELSEWHERE_FAILED_MS);
}

/* Twice through a cluster of ten samples. */
static void elsewhere__a_search_of_many_samples__is_quick_to_its_end(void **state)
{
    for (int i = 0; i < 20; i++) {
        requeue_trigger_elsewhere(requeue_trigger, 0, false, 10);
        assert_in_range(due_in_ms() + 1, 0, REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS + 1);
        clock_manual_advance_ms(&now, REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
        wait_sent(i + 1);
    }
    for (int i = 20; i < 30; i++) {
        requeue_trigger_elsewhere(requeue_trigger, 0, false, 10);
        clock_manual_advance_ms(&now, 2 * REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
        wait_sent(i + 1);
    }
    requeue_trigger_elsewhere(requeue_trigger, 0, false, 10);
    assert_int_equal(due_in_ms(), 2 * REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(wake__room_but_nobody_was_refused__is_silent),
        T(wake__refused_and_then_a_charge_ends__wakes),
        T(wake__first_room_after_a_predecessor__wakes_once),
        T(wake__room_appeared_while_the_refusal_was_computed__wakes),
        T(wake__refused_and_then_nothing_but_repeated_facts__is_silent),
        T(wake__refused_and_then_a_node_grows__wakes),
        T(wake__again_only_after_another_refusal),
        T(wake__within_the_pause__waits_for_its_end),
        T(wake__failed__is_repeated_with_growing_pauses),
        T(wake__impossible__is_tried_once_a_minute),
        T(wake__refused_for_a_nomination_and_the_pod_is_reserved_elsewhere__wakes),
        T(wake__refused_by_rules_that_hold_no_longer__wakes),
        T(wake__malformed__by_other_rules_alone),
        T(wake__refused_and_then_another_policy_is_told_to_the_ledger__wakes),
        T(elsewhere__wakes_at_once_and_soon_again),
        T(elsewhere__pauses_grow_and_shrink_again),
        T(elsewhere__many_who_ask__are_one),
        T(elsewhere__room_appears_first__one_is_for_both),
        T(elsewhere__twice__the_second_follows_without_a_pause),
        T(elsewhere__failed__is_repeated_soon_and_then_more_seldom),
        T(elsewhere__failed_with_one_for_room__is_repeated_soon),
        T(elsewhere__a_search_of_many_samples__is_quick_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
