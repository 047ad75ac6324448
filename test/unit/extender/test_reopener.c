/* Nodes that are closed because pods found no room open by themselves, and neither the API server nor the log hears of
 * it more often than is good for them. The ledger has room for one name that nobody has described. */
#include "extender/reopener.h"

#include "base/compiler.h"
#include "core/inventory/inventory.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct clock_manual the_clock;
static struct log the_log;
static struct reopener reopener;
static unsigned lists, warnings;
static bool busy;
static char last[64];

static void write_record(void *ctx, const struct log_record *r)
{
    (void)ctx;
    warnings += r->level == LOG_LEVEL_WARNING;
    for (size_t i = 0; i < r->field_n; i++) {
        if (strcmp(r->fields[i].key, "last") == 0) {
            snprintf(last, sizeof(last), "%.*s", STR_ARG(r->fields[i].s));
        }
    }
}

static bool relist(void *ctx)
{
    (void)ctx;
    lists += !busy;
    return !busy;
}

static void apply(struct ledger_op op)
{
    assert_int_equal(store_apply(reopener.store, &op, NULL), 0);
}

static void pod(const char *uid, const char *node)
{
    const struct demand whole = {.dialect = "native", .plugin_managed_n = 1};

    apply((struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                             .pod = {.uid = str_of(uid),
                                     .namespace_ = STR("evil"),
                                     .name = str_of(uid),
                                     .node_name = str_of(node),
                                     .demand = &whole}});
}

static void node(const char *name)
{
    const struct inventory none = {.source = INVENTORY_NONE};

    apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                             .node = {.name = str_of(name), .schedulable = true, .inventory = &none}});
}

static void list_without_pods(void)
{
    apply((struct ledger_op){.kind = LEDGER_PODS_BEGIN});
    apply((struct ledger_op){.kind = LEDGER_PODS_END});
}

static int setup(void **state)
{
    const struct ledger_limits limits = {
        .hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000, .nodes_max = 3};

    clock_manual_init(&the_clock, INT64_C(1000000000), 0);
    the_log = (struct log){.write = write_record};
    reopener = (struct reopener){
        .store = store_new(&limits, &the_clock.clock), .clock = &the_clock.clock, .log = &the_log, .relist = relist};
    lists = warnings = 0;
    busy = false;
    return 0;
}

static int teardown(void **state)
{
    store_free(reopener.store);
    return 0;
}

static void pass_s(unsigned seconds)
{
    for (; seconds > 0; seconds--) {
        clock_manual_advance_ms(&the_clock, 1000);
        reopener_tick(&reopener);
    }
}

static void close_a_node(void)
{
    pod("one", "made-up-1");
    pod("two", "made-up-2");
    node("real");
}

static void nobody_turned_away__silence(void **state)
{
    pod("one", "made-up-1");
    node("real");
    pass_s(1000);
    assert_int_equal(lists, 0);
    assert_int_equal(warnings, 0);
}

static void turned_away_and_no_node_closed__said_and_nothing_listed(void **state)
{
    node("real");
    pod("one", "made-up-1");
    pod("two", "made-up-2");
    pass_s(1000);
    assert_int_equal(lists, 0);
    assert_int_equal(warnings, 1);
    assert_string_equal(last, "evil/two on made-up-2");
}

static void node_is_closed__listed_at_once_then_ever_more_rarely(void **state)
{
    close_a_node();
    pass_s(1);
    assert_int_equal(lists, 1);
    pass_s(29);
    assert_int_equal(lists, 1);
    pass_s(1);
    assert_int_equal(lists, 2);
    pass_s(59);
    assert_int_equal(lists, 2);
    pass_s(1);
    assert_int_equal(lists, 3);
    pass_s(24 * 3600);
    assert_in_range(lists, 24 * 6, 24 * 6 + 10); /* every ten minutes */
}

static void node_opened_and_another_closed__begins_anew_but_not_within_the_pause(void **state)
{
    close_a_node();
    pass_s(40);
    assert_int_equal(lists, 2);
    list_without_pods();
    pass_s(1);
    pod("one", "made-up-1");
    pod("two", "made-up-2");
    node("other");
    pass_s(40);
    assert_int_equal(lists, 2); /* the last was less than its pause ago */
    pass_s(60);
    assert_int_equal(lists, 4);
}

static void list_on_its_way__asked_for_when_it_is_over(void **state)
{
    busy = true;
    close_a_node();
    pass_s(100);
    assert_int_equal(lists, 0);
    busy = false;
    pass_s(1);
    assert_int_equal(lists, 1);
}

static void pods_turned_away_without_end__said_once_a_minute(void **state)
{
    node("real");
    pod("one", "made-up-1");
    for (unsigned i = 0; i < 300; i++) {
        pod("two", "made-up-2");
        pass_s(1);
    }
    assert_int_equal(warnings, 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_turned_away__silence),
        TEST(turned_away_and_no_node_closed__said_and_nothing_listed),
        TEST(node_is_closed__listed_at_once_then_ever_more_rarely),
        TEST(node_opened_and_another_closed__begins_anew_but_not_within_the_pause),
        TEST(list_on_its_way__asked_for_when_it_is_over),
        TEST(pods_turned_away_without_end__said_once_a_minute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
