/* The last fence: no container is admitted past what a device has. */
#include "node/fence.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"

#include "base/bug.h"

#include <stdlib.h>

struct fenced {
    struct node_fixture node;
    struct fence *fence;
};

static int set_up(void **state)
{
    struct fenced *t = xcalloc(1, sizeof(*t));

    node_fixture_init(&t->node);
    t->fence = fence_new();
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct fenced *t = *state;

    fence_free(t->fence);
    node_fixture_fini(&t->node);
    free(t);
    return 0;
}

/* Instance `id` of container `name` of pod team/`pod`. */
static struct fence_container container(const char *pod, const char *name, const char *id,
                                        const struct assigned_device *devices, size_t n)
{
    return (struct fence_container){.id = str_of(id),
                                    .sandbox_id = str_of(pod),
                                    .pod_uid = str_of(pod),
                                    .namespace_ = STR("team"),
                                    .pod = str_of(pod),
                                    .name = str_of(name),
                                    .devices = devices,
                                    .device_n = n};
}

static void admit(struct fenced *t, const char *pod, const char *name, const char *id,
                  const struct assigned_device *devices, size_t n)
{
    const struct fence_container c = container(pod, name, id, devices, n);
    struct str why;

    if (!fence_admit(t->fence, &t->node.rules.node, &c, &t->node.arena, &why)) {
        fail_msg("%s: %.*s", id, STR_ARG(why));
    }
    assert_true(fence_has(t->fence, c.id));
}

static void refuse(struct fenced *t, const char *pod, const char *name, const char *id,
                   const struct assigned_device *devices, size_t n, const char *says)
{
    const struct fence_container c = container(pod, name, id, devices, n);
    struct str why;

    if (fence_admit(t->fence, &t->node.rules.node, &c, &t->node.arena, &why)) {
        fail_msg("%s was admitted", id);
    }
    assert_says(why, says);
    assert_false(fence_has(t->fence, c.id));
}

static void add(struct fenced *t, const char *pod, const char *name, const char *id,
                const struct assigned_device *devices, size_t n)
{
    const struct fence_container c = container(pod, name, id, devices, n);

    fence_add(t->fence, &c);
}

static void holds(const struct fenced *t, int device, int64_t milli, int64_t mem_mib, int32_t sharers)
{
    const struct fence_use u = fence_use_of(t->fence, &t->node.rules.node, &t->node.devices[device]);

    assert_int_equal(u.milli, milli);
    assert_int_equal(u.mem_mib, mem_mib);
    assert_int_equal(u.sharers, sharers);
}

#define SHARE(i, milli, mem_mib) ONE_OF(share_of(&t->node, i, milli, mem_mib))
#define WHOLE(i) ONE_OF(whole_of(&t->node, i))

static void fence__shares_that_fill_a_device__fit_and_one_more_does_not(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "main", "1", SHARE(0, 600, 100));
    admit(t, "b", "main", "2", SHARE(0, 400, 900));
    refuse(t, "c", "main", "3", SHARE(0, 1, 0),
           "container main of pod team/c finds no room beside container main of pod team/");
    refuse(t, "c", "main", "3", SHARE(0, 0, 1), " and 1 more");
    holds(t, 0, 1000, 1000, 2);
    holds(t, 1, 0, 0, 0);
    admit(t, "c", "main", "3", SHARE(1, 1000, 1000));
}

static void fence__refusal__names_both_pods_and_the_numbers(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "train", "1", SHARE(0, 700, 400));
    refuse(
        t, "b", "serve", "2", SHARE(0, 500, 300),
        "container serve of pod team/b finds no room beside container train of pod team/a: it wants 500 milli and 300 "
        "MiB of GPU GPU-a, where 700 of 1000 milli, 400 of 1000 MiB, 1 of 4 places are taken; it is tried again");
}

static void fence__after_a_container_has_ended__there_is_room_again(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "main", "1", SHARE(0, 700, 400));
    refuse(t, "b", "main", "2", SHARE(0, 500, 300), "no room");
    fence_drop(t->fence, STR("1"));
    fence_drop(t->fence, STR("1")); /* stopped, then removed */
    admit(t, "b", "main", "2", SHARE(0, 500, 300));
    holds(t, 0, 500, 300, 1);
}

/* As the extender charges the containers of one phase (core/ledger/granted). */
static void fence__containers_of_one_pod__add_up(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "main", "1", SHARE(0, 300, 100));
    admit(t, "a", "side", "2", SHARE(0, 300, 100));
    holds(t, 0, 600, 200, 2);
    refuse(t, "a", "more", "3", SHARE(0, 500, 0), "container more of pod team/a");
}

/* kubelet may create the next instance before the runtime tells that the last one has ended. */
static void fence__container_that_is_restarted__counts_once(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "main", "1", SHARE(0, 800, 800));
    admit(t, "a", "main", "2", SHARE(0, 800, 800));
    holds(t, 0, 800, 800, 1);
    refuse(t, "b", "main", "3", SHARE(0, 300, 100), "no room");
    fence_drop(t->fence, STR("1")); /* late */
    holds(t, 0, 800, 800, 1);
    refuse(t, "b", "main", "3", SHARE(0, 300, 100), "no room");
    fence_drop(t->fence, STR("2"));
    holds(t, 0, 0, 0, 0);
}

static void fence__pod_that_came_again_under_its_name__is_another(void **state)
{
    struct fenced *t = *state;
    const struct fence_container again = {.id = STR("2"),
                                          .pod_uid = STR("another uid"),
                                          .namespace_ = STR("team"),
                                          .pod = STR("a"),
                                          .name = STR("main"),
                                          .devices = (struct assigned_device[]){share_of(&t->node, 0, 800, 800)},
                                          .device_n = 1};
    struct str why;

    admit(t, "a", "main", "1", SHARE(0, 800, 800));
    assert_false(fence_admit(t->fence, &t->node.rules.node, &again, &t->node.arena, &why));
}

static void fence__whole_device__is_nobody_elses(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "main", "1", SHARE(0, 0, 0));
    refuse(t, "b", "main", "2", WHOLE(0), "wants it alone of GPU GPU-a");
    fence_drop(t->fence, STR("1"));
    admit(t, "b", "main", "2", WHOLE(0));
    refuse(t, "a", "main", "1", SHARE(0, 0, 0), "taken by somebody who has it alone");
    refuse(t, "c", "main", "3", WHOLE(0), "no room");
    admit(t, "b", "main", "4", WHOLE(0)); /* itself again */
}

/* Its amounts are those of the day on which it was given, and the device may have become smaller since. */
static void fence__whole_device_that_was_larger__is_still_had_whole(void **state)
{
    struct fenced *t = *state;
    struct assigned_device d = whole_of(&t->node, 0);

    d.mem_mib = 5000;
    admit(t, "a", "main", "1", ONE_OF(d));
    assert_false(fence_is_over(t->fence, &t->node.rules.node, &t->node.devices[0]));
}

static void fence__share_larger_than_its_device__is_refused_although_nobody_is_there(void **state)
{
    struct fenced *t = *state;

    refuse(t, "a", "main", "1", SHARE(0, 100, 1001), "which has 1000 milli and 1000 MiB; delete the pod");
}

static void fence__mig_instance__has_one_container(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "main", "1", SHARE(3, 100, 100));
    refuse(t, "b", "main", "2", SHARE(3, 100, 100), "GPU MIG-d");
    fence_drop(t->fence, STR("1"));
    admit(t, "b", "main", "2", SHARE(3, 142, 5000)); /* alone: its amounts say nothing */
}

static void fence__places__are_one_for_each_container(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "1", "1", SHARE(0, 0, 0));
    admit(t, "a", "2", "2", SHARE(0, 0, 0));
    admit(t, "b", "1", "3", SHARE(0, 0, 0));
    admit(t, "c", "1", "4", SHARE(0, 0, 0));
    refuse(t, "d", "1", "5", SHARE(0, 0, 0), "4 of 4 places");
    t->node.devices[0].slot_n = INT32_MAX; /* nobody knows how many */
    admit(t, "d", "1", "5", SHARE(0, 0, 0));
    refuse(t, "e", "1", "6", SHARE(0, 1001, 0), "0 of 1000 MiB are taken");
}

static void fence__factors_of_the_node__make_gpus_larger_and_instances_not(void **state)
{
    struct fenced *t = *state;

    t->node.rules.node.overcommit_milli = 1500;
    t->node.rules.node.overcommit_mem_milli = 1200;
    admit(t, "a", "main", "1", SHARE(0, 1000, 1000));
    admit(t, "b", "main", "2", SHARE(0, 500, 200));
    refuse(t, "c", "main", "3", SHARE(0, 1, 0), "1500 of 1500 milli, 1200 of 1200 MiB");
    admit(t, "c", "main", "3", SHARE(3, 100, 100));
    refuse(t, "d", "main", "4", SHARE(3, 100, 100), "100 of 1000 milli, 100 of 1000 MiB");
}

static void fence__second_device_without_room__takes_nothing_of_the_first(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "main", "1", WHOLE(1));
    refuse(t, "b", "main", "2", TWO_OF(share_of(&t->node, 0, 500, 500), share_of(&t->node, 1, 500, 500)), "GPU-b");
    holds(t, 0, 0, 0, 0);
}

static void fence__device_that_the_node_does_not_have__is_refused(void **state)
{
    struct fenced *t = *state;
    struct assigned_device d = share_of(&t->node, 0, 1, 1);

    d.uuid = STR("GPU-z");
    refuse(t, "a", "main", "1", ONE_OF(d),
           "GPU GPU-z, which container main of pod team/a was given, is not on node n1");
}

/* A device is one, whether a record has its UUID or its index. */
static void fence__records_by_uuid_and_by_index__meet_on_the_device(void **state)
{
    struct fenced *t = *state;
    struct assigned_device by_index = share_of(&t->node, 0, 600, 0);

    by_index.uuid = STR_NULL;
    admit(t, "a", "main", "1", ONE_OF(by_index));
    holds(t, 0, 600, 0, 1);
    holds(t, 1, 0, 0, 0);
    refuse(t, "b", "main", "2", SHARE(0, 500, 0), "no room");
}

static void fence__device_named_twice_by_one_container__is_charged_for_both(void **state)
{
    struct fenced *t = *state;
    struct assigned_device by_index = share_of(&t->node, 0, 600, 0);

    by_index.uuid = STR_NULL;
    refuse(t, "a", "main", "1", TWO_OF(share_of(&t->node, 0, 600, 0), by_index), "wants 1200 milli");
}

static void fence__removed_sandbox__frees_what_its_containers_had(void **state)
{
    struct fenced *t = *state;

    admit(t, "a", "1", "1", SHARE(0, 300, 0));
    admit(t, "b", "1", "2", SHARE(0, 300, 0));
    admit(t, "a", "2", "3", SHARE(0, 300, 0));
    fence_drop_sandbox(t->fence, STR("a"));
    holds(t, 0, 300, 0, 1);
    assert_int_equal(fence_container_n(t->fence), 1);
    assert_true(fence_has(t->fence, STR("2")));
}

/* What runs is a fact; such a device admits nobody until it is less. */
static void fence__facts_past_the_capacity__stay_and_close_the_device(void **state)
{
    struct fenced *t = *state;
    const struct device *d = &t->node.devices[0];

    add(t, "a", "main", "1", SHARE(0, 700, 0));
    assert_false(fence_is_over(t->fence, &t->node.rules.node, d));
    add(t, "b", "main", "2", SHARE(0, 700, 0));
    assert_true(fence_is_over(t->fence, &t->node.rules.node, d));
    refuse(t, "c", "main", "3", SHARE(0, 0, 0), "1400 of 1000 milli");
    refuse(t, "a", "main", "4", SHARE(0, 700, 0),
           "container main of pod team/a finds no room beside container main of pod team/b");
    fence_drop(t->fence, STR("2"));
    assert_false(fence_is_over(t->fence, &t->node.rules.node, d));
    admit(t, "c", "main", "3", SHARE(0, 300, 0));
    add(t, "d", "main", "5", WHOLE(0));
    assert_true(fence_is_over(t->fence, &t->node.rules.node, d));
}

/* The same fact twice is one. */
static void fence__pods_on_a_device__are_told_once_each(void **state)
{
    struct fenced *t = *state;
    struct fence_pod pods[8];
    size_t n;

    add(t, "first", "main", "c1", ONE_OF(share_of(&t->node, 0, 100, 100)));
    add(t, "first", "side", "c2", ONE_OF(share_of(&t->node, 0, 100, 100)));
    add(t, "second", "main", "c3", TWO_OF(share_of(&t->node, 1, 100, 100), share_of(&t->node, 0, 100, 100)));
    add(t, "third", "main", "c4", ONE_OF(share_of(&t->node, 1, 100, 100)));
    n = fence_pods_on(t->fence, &t->node.devices[0], pods, ARRAY_LEN(pods));
    assert_int_equal(n, 2);
    assert_true(str_eq(pods[0].name, STR("first")));
    assert_true(str_eq(pods[1].name, STR("second")));
    assert_int_equal(fence_pods_on(t->fence, &t->node.devices[0], pods, 1), 1);
    assert_int_equal(fence_pods_on(t->fence, &t->node.devices[2], pods, ARRAY_LEN(pods)), 0);
}

static void fence__container_that_is_told_of_twice__counts_once(void **state)
{
    struct fenced *t = *state;

    add(t, "a", "main", "1", SHARE(0, 700, 0));
    add(t, "a", "main", "1", SHARE(0, 700, 0));
    assert_int_equal(fence_container_n(t->fence), 1);
    holds(t, 0, 700, 0, 1);
}

static void fence__arena_that_is_full__still_refuses_with_a_sentence(void **state)
{
    struct fenced *t = *state;
    const struct fence_container c = container("b", "main", "2", SHARE(0, 500, 0));
    struct arena none;
    struct str why = STR_NULL;

    admit(t, "a", "main", "1", SHARE(0, 700, 0));
    arena_init(&none, 0);
    assert_false(fence_admit(t->fence, &t->node.rules.node, &c, &none, &why));
    assert_says(why, "no memory");
    arena_fini(&none);
}

int main(void)
{
#define FENCED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FENCED(fence__shares_that_fill_a_device__fit_and_one_more_does_not),
        FENCED(fence__refusal__names_both_pods_and_the_numbers),
        FENCED(fence__after_a_container_has_ended__there_is_room_again),
        FENCED(fence__containers_of_one_pod__add_up),
        FENCED(fence__container_that_is_restarted__counts_once),
        FENCED(fence__pod_that_came_again_under_its_name__is_another),
        FENCED(fence__whole_device__is_nobody_elses),
        FENCED(fence__whole_device_that_was_larger__is_still_had_whole),
        FENCED(fence__share_larger_than_its_device__is_refused_although_nobody_is_there),
        FENCED(fence__mig_instance__has_one_container),
        FENCED(fence__places__are_one_for_each_container),
        FENCED(fence__factors_of_the_node__make_gpus_larger_and_instances_not),
        FENCED(fence__second_device_without_room__takes_nothing_of_the_first),
        FENCED(fence__device_that_the_node_does_not_have__is_refused),
        FENCED(fence__records_by_uuid_and_by_index__meet_on_the_device),
        FENCED(fence__device_named_twice_by_one_container__is_charged_for_both),
        FENCED(fence__removed_sandbox__frees_what_its_containers_had),
        FENCED(fence__facts_past_the_capacity__stay_and_close_the_device),
        FENCED(fence__container_that_is_told_of_twice__counts_once),
        FENCED(fence__pods_on_a_device__are_told_once_each),
        FENCED(fence__arena_that_is_full__still_refuses_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
