/* MIG instances that a device plugin hands out: counted by profile, healthy ones first, pods in the order of their
 * UIDs, and what is more than there are is on the last one. */
#include "core/support/tested_ledger.h"
#include "model/mig.h"
#include "support/cmocka.h"

#define SMALL MIG_PROFILE(1, 5)
#define LARGE MIG_PROFILE(2, 10)

/* Node "n" with such instances, by index. */
static void node(const uint16_t *profiles, const bool *healthy, size_t n)
{
    struct device devices[8];
    const struct inventory inventory = {.source = INVENTORY_RESOURCES, .devices = devices, .device_n = n};
    const struct ledger_op op = fixture_description("n", &inventory);

    for (size_t i = 0; i < n; i++) {
        devices[i] = (struct device){.index = (int32_t)i,
                                     .minor = -1,
                                     .mem_mib = 5 * GIB,
                                     .slot_n = 1,
                                     .numa = -1,
                                     .healthy = healthy == NULL || healthy[i],
                                     .profile = profiles[i],
                                     .gpu_index = -1,
                                     .start = -1,
                                     .counted = true};
    }
    fixture_apply(&fx, &op);
}

/* Bound past fgpu with two containers, which ask for so many instances of the profiles; 0: for none. */
static void bind_pod(const char *uid, uint16_t first, uint16_t first_n, uint16_t second, uint16_t second_n)
{
    struct gpu_request w[2] = {{.container = STR("a"),
                                .count = first_n,
                                .kind = GPU_REQUEST_WHOLE,
                                .milli = 1000,
                                .phases = 1,
                                .profile = first},
                               {.container = STR("b"),
                                .position = 1,
                                .count = second_n,
                                .kind = GPU_REQUEST_WHOLE,
                                .milli = 1000,
                                .phases = 1,
                                .profile = second}};
    const struct demand d = {.dialect = "native", .gpu_request_n = second_n > 0 ? 2 : 1, .gpu_requests = w};
    const struct ledger_op op = fixture_observation(uid, &d, "n", NULL);

    fixture_apply(&fx, &op);
}

/* How many places of each instance are taken: "1 0 2". */
static void expect_taken(const int *want, size_t n)
{
    const struct snapshot_node *s = fixture_state(&fx, "n");

    assert_int_equal(s->device_n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(s->devices[i].slot_charged, want[i]);
        assert_int_equal(s->devices[i].overcommitted, want[i] > 1);
    }
}

#define NODE(...)                                                                                                      \
    node((const uint16_t[]){__VA_ARGS__}, NULL, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))
#define EXPECT_TAKEN(...) expect_taken((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void counted__profile_that_the_node_does_not_have__on_no_instance(void **state)
{
    NODE(SMALL, SMALL);
    bind_pod("p", LARGE, 2, 0, 0);
    EXPECT_TAKEN(0, 0);
    bind_pod("q", LARGE, 1, SMALL, 1);
    EXPECT_TAKEN(1, 0);
}

static void counted__more_than_there_are__on_the_last_one(void **state)
{
    NODE(SMALL, SMALL, LARGE);
    bind_pod("p", SMALL, 4, 0, 0);
    EXPECT_TAKEN(1, 3, 0);
    bind_pod("q", SMALL, 1, 0, 0);
    EXPECT_TAKEN(1, 4, 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "p");
    EXPECT_TAKEN(1, 0, 0);
}

static void counted__containers_of_a_pod__together_and_each_profile_by_itself(void **state)
{
    NODE(SMALL, LARGE, SMALL, LARGE, SMALL);
    bind_pod("p", SMALL, 1, SMALL, 2);
    EXPECT_TAKEN(1, 0, 1, 0, 1);
    fixture_name_op(&fx, LEDGER_POD_GONE, "p");
    bind_pod("p", SMALL, 1, LARGE, 2);
    EXPECT_TAKEN(1, 1, 0, 1, 0);
}

static void counted__one_that_is_ill__taken_last(void **state)
{
    static const uint16_t profiles[] = {SMALL, SMALL, SMALL, SMALL};
    static const bool healthy[] = {false, true, false, true};

    node(profiles, healthy, 4);
    bind_pod("p", SMALL, 1, 0, 0);
    EXPECT_TAKEN(0, 1, 0, 0);
    bind_pod("q", SMALL, 1, 0, 0);
    EXPECT_TAKEN(0, 1, 0, 1);
    bind_pod("r", SMALL, 1, 0, 0);
    assert_int_equal(fixture_state(&fx, "n")->devices[1].slot_charged, 1);
    assert_int_equal(fixture_state(&fx, "n")->devices[3].slot_charged, 1);
    assert_int_equal(
        fixture_state(&fx, "n")->devices[0].slot_charged + fixture_state(&fx, "n")->devices[2].slot_charged, 1);
}

static void counted__pods_in_any_order__the_first_uid_is_on_the_first_instance(void **state)
{
    static const char *const orders[][3] = {{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}};

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        const struct snapshot_node *n;

        NODE(SMALL, SMALL, SMALL);
        for (size_t k = 0; k < 3; k++) {
            bind_pod(orders[i][k], SMALL, 1, 0, 0);
        }
        n = fixture_state(&fx, "n");
        for (size_t k = 0; k < 3; k++) {
            const struct snapshot_pod *p = &fx.snapshot.pods[n->devices[k].allocations[0].pod];

            assert_int_equal(n->devices[k].allocation_n, 1);
            assert_int_equal(p->uid.p[0], "abc"[k]);
        }
        for (size_t k = 0; k < 3; k++) {
            fixture_name_op(&fx, LEDGER_POD_GONE, orders[i][k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_LEDGER_TEST(counted__profile_that_the_node_does_not_have__on_no_instance),
        EMPTY_LEDGER_TEST(counted__more_than_there_are__on_the_last_one),
        EMPTY_LEDGER_TEST(counted__containers_of_a_pod__together_and_each_profile_by_itself),
        EMPTY_LEDGER_TEST(counted__one_that_is_ill__taken_last),
        EMPTY_LEDGER_TEST(counted__pods_in_any_order__the_first_uid_is_on_the_first_instance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
