/* Which rules hold for whom while they change. */
#include "base/bug.h"
#include "extender/feed.h"
#include "extender/support/tested_store.h"
#include "extender/policy_set.h"
#include "support/cmocka.h"

static struct policy_set *policies;
static unsigned released[8];

static void count_release(void *owner)
{
    released[(uintptr_t)owner]++;
}

static const struct rules *rules(uint64_t generation)
{
    const struct ingest facts = {.store = store, .policy = policy_defaults()};
    const struct rules *r;

    assert_int_equal(rules_new(&facts, generation, count_release, (void *)(uintptr_t)generation, &r, NULL), 0);
    return r;
}

static uint64_t current(void)
{
    const struct rules *r = policy_set_take(policies);
    uint64_t generation = r->generation;

    rules_put(r);
    return generation;
}

static uint64_t newest(void)
{
    const struct rules *r = policy_set_take_newest(policies);
    uint64_t generation = r->generation;

    rules_put(r);
    return generation;
}

static int setup(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(released); i++) {
        released[i] = 0;
    }
    store_open(clock_system());
    policies = policy_set_new(rules(1));
    return 0;
}

static int teardown(void **state)
{
    policy_set_free(policies);
    for (size_t i = 0; i < ARRAY_LEN(released); i++) {
        assert_true(released[i] <= 1);
    }
    assert_int_equal(released[1], 1);
    store_check_and_free();
    return 0;
}

static void publish__somebody_still_goes_by_the_old__released_when_done(void **state)
{
    const struct rules *old = policy_set_take(policies);

    policy_set_publish(policies, rules(2));
    assert_int_equal(current(), 2);
    assert_int_equal(newest(), 2);
    assert_int_equal(released[1], 0);
    assert_int_equal(old->generation, 1);
    rules_put(old);
    assert_int_equal(released[1], 1);
}

static void announce__current_only_after_both_lists(void **state)
{
    const struct rules *by;

    policy_set_announce(policies, rules(2));
    assert_true(policy_set_is_waiting(policies));
    assert_int_equal(store_transition(store), 1);
    assert_int_equal(current(), 1);
    assert_int_equal(newest(), 2);
    by = policy_set_take_newest(policies);
    assert_int_equal(policy_set_listed(policies, KUBE_PODS, by), POLICY_SET_PARTIAL);
    assert_int_equal(policy_set_listed(policies, KUBE_PODS, by), POLICY_SET_PARTIAL); /* the same twice */
    assert_int_equal(current(), 1);
    assert_int_equal(store_transition(store), 1);
    assert_int_equal(policy_set_listed(policies, KUBE_NODES, by), POLICY_SET_CURRENT);
    assert_int_equal(store_transition(store), 0);
    assert_int_equal(current(), 2);
    assert_false(policy_set_is_waiting(policies));
    assert_int_equal(policy_set_listed(policies, KUBE_NODES, by), POLICY_SET_IDLE);
    rules_put(by);
}

static void announce__list_read_by_older_rules__does_not_count(void **state)
{
    const struct rules *first = policy_set_take_newest(policies), *second;

    policy_set_announce(policies, rules(2));
    assert_int_equal(policy_set_listed(policies, KUBE_PODS, first), POLICY_SET_STALE);
    second = policy_set_take_newest(policies);
    assert_int_equal(policy_set_listed(policies, KUBE_PODS, second), POLICY_SET_PARTIAL);
    policy_set_announce(policies, rules(3)); /* what was listed for 2 says nothing about 3 */
    assert_int_equal(store_transition(store), 2);
    assert_int_equal(policy_set_listed(policies, KUBE_NODES, second), POLICY_SET_STALE);
    assert_int_equal(store_transition(store), 2);
    assert_int_equal(released[2], 0);
    rules_put(second);
    assert_int_equal(released[2], 1);
    second = policy_set_take_newest(policies);
    assert_int_equal(policy_set_listed(policies, KUBE_NODES, second), POLICY_SET_PARTIAL);
    assert_int_equal(current(), 1);
    assert_int_equal(policy_set_listed(policies, KUBE_PODS, second), POLICY_SET_CURRENT);
    assert_int_equal(current(), 3);
    rules_put(first);
    rules_put(second);
}

static void publish__while_one_waits__it_is_forgotten(void **state)
{
    policy_set_announce(policies, rules(2));
    policy_set_publish(policies, rules(3));
    assert_false(policy_set_is_waiting(policies));
    assert_int_equal(store_transition(store), 0);
    assert_int_equal(released[2], 1);
    assert_int_equal(newest(), 3);
}

static void rules__unknown_strategy__nothing_taken_over(void **state)
{
    struct policy p = *policy_defaults();
    const struct ingest facts = {.store = store, .policy = &p};
    const struct rules *r = NULL;

    p.node_strategy = STR("tightest");
    assert_int_equal(rules_new(&facts, 5, count_release, (void *)5, &r, NULL), -ERR_INVALID);
    assert_null(r);
    assert_int_equal(released[5], 0);
}

static uint64_t listed_by;

static void note_rules(void *ctx, enum kube_resource resource, const struct rules *by)
{
    (void)ctx;
    (void)resource;
    listed_by = by->generation;
}

/* A list is read by one set of rules from its first object to its last. */
static void feed__announced_during_a_list__taken_with_the_next_one(void **state)
{
    struct feed feed;
    struct reflector_handler handler;

    feed_init(&feed, policies, KUBE_PODS);
    feed.listed = note_rules;
    handler = feed_handler(&feed);
    handler.list_begin(&feed);
    policy_set_announce(policies, rules(2));
    handler.list_end(&feed, true, STR("5"));
    assert_int_equal(listed_by, 1);
    handler.list_begin(&feed);
    listed_by = 0;
    handler.list_end(&feed, false, STR_NULL); /* not complete: says nothing */
    assert_int_equal(listed_by, 0);
    handler.list_begin(&feed);
    handler.list_end(&feed, true, STR("6"));
    assert_int_equal(listed_by, 2);
    feed_fini(&feed);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(publish__somebody_still_goes_by_the_old__released_when_done),
        T(announce__current_only_after_both_lists),
        T(announce__list_read_by_older_rules__does_not_count),
        T(publish__while_one_waits__it_is_forgotten),
        T(rules__unknown_strategy__nothing_taken_over),
        T(feed__announced_during_a_list__taken_with_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
