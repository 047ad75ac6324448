/* What the ledger hears of ResourceSlices, as they come through the reflector's callbacks. */
#include "base/compiler.h"
#include "extender/slices.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <string.h>

static const struct str drivers[] = {STR("gpu.nvidia.com")};
static struct slices *slices;
static struct reflector_handler handler;

static void describe(struct str node)
{
    static const struct device gpu = {.uuid = STR("GPU-0"), .mem_mib = 16384, .slot_n = 16, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &gpu, .device_n = 1};
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED,
                           .node = {.name = node, .uid = node, .schedulable = true, .inventory = &inventory}};

    assert_int_equal(store_apply(store, &op, NULL), 0);
}

static int setup(void **state)
{
    store_open(clock_system());
    slices = slices_new(store, NULL, drivers, ARRAY_LEN(drivers), (struct hash_key){3, 4});
    handler = slices_handler(slices);
    apply_bracket(LEDGER_NODES_BEGIN);
    describe(STR("a"));
    describe(STR("b"));
    apply_bracket(LEDGER_NODES_END);
    apply_bracket(LEDGER_PODS_BEGIN);
    apply_bracket(LEDGER_PODS_END);
    return 0;
}

static int teardown(void **state)
{
    slices_free(slices);
    store_check_and_free();
    return 0;
}

/* Of the driver for GPUs; "" is for any node, "a b" for two. */
static void seen(const char *name, const char *driver, const char *nodes, bool gone)
{
    struct str rest = str_of(nodes), list[4], word;
    struct resource_slice slice = {.name = str_of(name), .driver = str_of(driver), .nodes = list};
    const struct kube_object o = {.resource = KUBE_SLICES_V1, .slice = &slice};

    while (rest.n > 0 && str_split(&rest, ' ', &word)) {
        list[slice.node_n++] = word;
    }
    slice.anywhere = slice.node_n == 0;
    (gone ? handler.deleted : handler.object)(handler.ctx, &o);
}

static void gpus(const char *name, const char *nodes)
{
    seen(name, "gpu.nvidia.com", nodes, false);
}

static void list_ends(bool complete)
{
    handler.list_end(handler.ctx, complete, STR("7"));
}

static bool is_closed(const char *node)
{
    struct snapshot s;

    assert_int_equal(store_snapshot(store, &arena, str_of(node), STR_NULL, &s, NULL), 0);
    assert_int_equal(s.node_n, 1);
    return s.nodes[0].elsewhere;
}

#define assert_closed(a_, b_)                                                                                          \
    do {                                                                                                               \
        assert_int_equal(is_closed("a"), a_);                                                                          \
        assert_int_equal(is_closed("b"), b_);                                                                          \
        assert_null(store_check(store));                                                                               \
    } while (0)

static void assert_status(enum slices_state state, uint32_t node_n)
{
    struct slices_status s;

    slices_status(slices, &s);
    assert_int_equal(s.state, state);
    assert_int_equal(s.node_n, node_n);
    assert_int_equal(s.note != NULL, state == SLICES_FORBIDDEN);
}

static void slices__until_listed__store_is_not_ready(void **state)
{
    assert_string_equal(store_not_ready(store),
                        "fgpu is not ready: it is still reading ResourceSlices from the API server");
    handler.list_begin(handler.ctx);
    list_ends(false);
    assert_non_null(store_not_ready(store));
    assert_status(SLICES_READING, 0);
    handler.list_begin(handler.ctx);
    gpus("s", "a");
    assert_non_null(store_not_ready(store));
    list_ends(true);
    assert_null(store_not_ready(store));
    assert_status(SLICES_SERVED, 1);
    assert_closed(true, false);
}

static void slices__several_of_a_node__closed_until_the_last_goes(void **state)
{
    gpus("s", "a");
    gpus("t", "a b a");
    assert_closed(true, true);
    gpus("s", "a"); /* again */
    seen("s", "gpu.nvidia.com", "a", true);
    assert_closed(true, true);
    gpus("t", "b");
    assert_closed(false, true);
    seen("t", "gpu.nvidia.com", "b", true);
    seen("t", "gpu.nvidia.com", "b", true);
    assert_closed(false, false);
    assert_status(SLICES_READING, 0);
}

static void slices__other_drivers__mean_nothing(void **state)
{
    seen("s", "compute-domain.nvidia.com", "a", false);
    seen("t", "net.example.com", "", false);
    assert_closed(false, false);
    seen("u", "", "b", false); /* could not be read */
    assert_closed(false, true);
}

static void slices__of_any_node__close_all(void **state)
{
    gpus("s", "");
    gpus("t", "");
    assert_closed(true, true);
    seen("s", "gpu.nvidia.com", "", true);
    assert_closed(true, true);
    gpus("t", "a");
    assert_closed(true, false);
}

static void slices__a_complete_list__forgets_what_is_not_in_it(void **state)
{
    gpus("s", "a");
    gpus("t", "b");
    handler.list_begin(handler.ctx);
    gpus("t", "b");
    list_ends(false);
    assert_closed(true, true); /* it was not complete */
    handler.list_begin(handler.ctx);
    gpus("t", "b");
    list_ends(true);
    assert_closed(false, true);
}

/* What cannot be read counts for the most that it could be, until it is gone. */
static void slices__unusable__counts_until_it_is_gone(void **state)
{
    struct str nodes[] = {STR("b")};
    const struct resource_slice slice = {.name = STR("s"), .nodes = nodes, .node_n = 1},
                                anywhere = {.name = STR("t"), .anywhere = true};
    const struct kube_object o = {.resource = KUBE_SLICES_V1, .slice = &slice},
                             p = {.resource = KUBE_SLICES_V1, .slice = &anywhere};
    const struct err why = {.code = ERR_PARSE, .msg = "of the test"};

    handler.unusable(handler.ctx, &o, false, &why);
    assert_closed(false, true);
    assert_status(SLICES_READING, 1);
    handler.unusable(handler.ctx, &p, false, &why);
    assert_closed(true, true);
    handler.unusable(handler.ctx, &p, true, &why);
    assert_closed(false, true);
    handler.unusable(handler.ctx, &o, true, &why);
    assert_closed(false, false);
    assert_status(SLICES_READING, 0);
}

static unsigned grew_n;

static void grew(void *ctx)
{
    grew_n++;
}

/* A node that is in the slice before and after is closed all the time: nobody is woken for it. */
static void slices__written_again__no_room_in_between(void **state)
{
    gpus("s", "a b");
    store_watch_capacity(store, grew, NULL);
    grew_n = 0;
    gpus("s", "a b");
    gpus("s", "b a a");
    assert_int_equal(grew_n, 0);
    gpus("s", "a");
    assert_int_equal(grew_n, 1);
    store_watch_capacity(store, NULL, NULL);
    assert_closed(true, false);
}

/* Another driver's by now. */
static void slices__its_driver_changes__lets_its_nodes_go(void **state)
{
    gpus("s", "a");
    seen("s", "net.example.com", "a", false);
    assert_closed(false, false);
    assert_status(SLICES_READING, 0);
    seen("s", "net.example.com", "a", true);
    assert_closed(false, false);
}

/* A node that cannot be counted could be given away: nothing is any more. */
static void slices__of_more_nodes_than_there_is_room_for__everything_is_closed(void **state)
{
    const struct ledger_limits two = {{1, 2}, 1000, 1000, .nodes_max = 2};

    teardown(state);
    store = store_new(&two, clock_system());
    arena_init(&arena, 64 << 20);
    slices = slices_new(store, NULL, drivers, ARRAY_LEN(drivers), (struct hash_key){3, 4});
    handler = slices_handler(slices);
    gpus("s", "a b");
    assert_null(store_closed(store));
    gpus("t", "b c");
    assert_non_null(store_closed(store));
    assert_false(store_is_ready(store));
}

static void slices__states_by_name(void **state)
{
    struct slices_status off = {.state = SLICES_SERVED};

    assert_string_equal(slices_state_name(SLICES_OFF), "off");
    assert_string_equal(slices_state_name(SLICES_FORBIDDEN), "forbidden");
    slices_status(NULL, &off);
    assert_true(off.state == SLICES_OFF && off.node_n == 0 && off.note == NULL);
}

static void slices__refused__none_with_404_and_as_they_were_with_403(void **state)
{
    gpus("s", "a");
    handler.refused(handler.ctx, 403);
    assert_null(store_not_ready(store));
    assert_status(SLICES_FORBIDDEN, 1);
    assert_closed(true, false);
    handler.refused(handler.ctx, 404);
    assert_status(SLICES_ABSENT, 0);
    assert_closed(false, false);
}

static void slices__many_that_come_and_go__none_is_left(void **state)
{
    char name[16] = "s00", node[16] = "n00";

    for (int i = 0; i < 2000; i++) {
        name[1] = node[1] = (char)('0' + i % 7);
        name[2] = node[2] = (char)('0' + i % 10);
        seen(name, "gpu.nvidia.com", node, i % 3 == 0);
    }
    handler.refused(handler.ctx, 404);
    assert_status(SLICES_ABSENT, 0);
    assert_null(store_check(store));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(slices__until_listed__store_is_not_ready),
        T(slices__several_of_a_node__closed_until_the_last_goes),
        T(slices__other_drivers__mean_nothing),
        T(slices__of_any_node__close_all),
        T(slices__a_complete_list__forgets_what_is_not_in_it),
        T(slices__refused__none_with_404_and_as_they_were_with_403),
        T(slices__unusable__counts_until_it_is_gone),
        T(slices__written_again__no_room_in_between),
        T(slices__its_driver_changes__lets_its_nodes_go),
        T(slices__of_more_nodes_than_there_is_room_for__everything_is_closed),
        T(slices__states_by_name),
        T(slices__many_that_come_and_go__none_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
