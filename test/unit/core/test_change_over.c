/* A change-over of a group of three pools, look by look: each step, and what holds it up. */
#include "core/time/change_over.h"

#include "base/compiler.h"
#include "core/time/node_pools.h"
#include "support/cmocka.h"

#include <string.h>

enum { DAY, NIGHT, WEEKEND, POOLS };

static struct change_over c;
static struct change_over_facts f;
static int64_t now_ms;

/* Nobody holds anything, all commands have been run for what is so by day. */
static void begin(int32_t wanted)
{
    now_ms = 1000;
    change_over_init(&c, now_ms);
    f = (struct change_over_facts){.wanted = wanted, .settled = true, .pool_n = POOLS};
    for (int i = 0; i < POOLS; i++) {
        f.pools[i].has_command = true;
        f.pools[i].state = i == DAY ? NODE_POOL_OPEN : NODE_POOL_CLOSED;
        f.pools[i].done = true;
    }
}

static enum change_over_step look(void)
{
    now_ms += 1000;
    change_over_look(&c, &f, now_ms);
    return c.step;
}

/* What the commands do: those that are ordered for another state have not been done for it yet. */
static void obey(void)
{
    for (int i = 0; i < POOLS; i++) {
        const enum node_pool_state state = c.orders[i] == POOL_RUN_OPEN ? NODE_POOL_OPEN : NODE_POOL_CLOSED;

        if (c.orders[i] != POOL_HOLD && f.pools[i].state != state) {
            f.pools[i].state = state;
            f.pools[i].done = false;
        }
    }
}

static bool holds_all(void)
{
    return c.orders[DAY] == POOL_HOLD && c.orders[NIGHT] == POOL_HOLD && c.orders[WEEKEND] == POOL_HOLD;
}

/* To where `pool` is open. */
static void open_it(int32_t pool)
{
    f.wanted = pool;
    for (int i = 0; i < 20 && c.step != CHANGE_OVER_OPEN; i++) {
        (void)look();
        obey();
        for (int k = 0; k < POOLS; k++) {
            f.pools[k].done = true;
        }
    }
    assert_int_equal(c.step, CHANGE_OVER_OPEN);
    assert_int_equal(c.admitted, pool);
}

static void look__from_day_to_night__step_by_step(void **state)
{
    begin(DAY);
    open_it(DAY);
    f.wanted = NIGHT;
    f.pools[DAY].pod_n = 2;
    f.open_n = 4;
    assert_int_equal(look(), CHANGE_OVER_CLOSING);
    assert_int_equal(c.admitted, CHANGE_OVER_NOBODY); /* at once */
    assert_true(holds_all());
    f.settled = false;
    assert_int_equal(look(), CHANGE_OVER_CLOSING);
    f.settled = true;
    assert_int_equal(look(), CHANGE_OVER_CLOSING); /* nodes that take pods */
    f.open_n = 0;
    assert_int_equal(look(), CHANGE_OVER_WAITING);
    assert_int_equal(c.since_ms, now_ms);
    assert_true(holds_all());
    f.pools[DAY].pod_n = 1;
    assert_int_equal(look(), CHANGE_OVER_WAITING);
    assert_int_equal(c.since_ms, now_ms - 1000);
    f.pools[DAY].pod_n = 0;
    assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
    assert_int_equal(c.orders[DAY], POOL_RUN_CLOSED);
    assert_int_equal(c.orders[WEEKEND], POOL_RUN_CLOSED);
    assert_int_equal(c.orders[NIGHT], POOL_HOLD);
    obey();
    assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
    f.pools[DAY].done = true;
    assert_int_equal(look(), CHANGE_OVER_OPEN_COMMAND);
    assert_int_equal(c.orders[NIGHT], POOL_RUN_OPEN);
    assert_int_equal(c.admitted, CHANGE_OVER_NOBODY);
    obey();
    assert_int_equal(look(), CHANGE_OVER_OPEN_COMMAND);
    f.pools[NIGHT].done = true;
    assert_int_equal(look(), CHANGE_OVER_OPENING);
    assert_int_equal(c.admitted, NIGHT);
    f.settled = false;
    assert_int_equal(look(), CHANGE_OVER_OPENING);
    f.settled = true;
    f.open_n = 1;
    f.pools[NIGHT].pod_n = 1;
    assert_int_equal(look(), CHANGE_OVER_OPEN);
    f.settled = false; /* another list, some time later */
    assert_int_equal(look(), CHANGE_OVER_OPEN);
    assert_int_equal(c.since_ms, now_ms - 1000);
}

static void look__a_command_fails__nothing_that_follows_is_done(void **state)
{
    begin(NIGHT);
    f.pools[DAY].done = false;
    (void)look();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
        obey(); /* ... and fails */
        assert_int_equal(c.orders[NIGHT], POOL_HOLD);
        assert_int_equal(c.admitted, CHANGE_OVER_NOBODY);
    }
    f.pools[DAY].done = true;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(look(), CHANGE_OVER_OPEN_COMMAND);
        obey();
        assert_int_equal(c.admitted, CHANGE_OVER_NOBODY);
    }
}

static void look__back_before_the_end__only_what_was_done_is_undone(void **state)
{
    /* while pods are waited for: nothing was run, and nothing is */
    begin(DAY);
    open_it(DAY);
    f.wanted = NIGHT;
    f.pools[DAY].pod_n = 1;
    (void)look();
    assert_int_equal(look(), CHANGE_OVER_WAITING);
    f.wanted = DAY;
    assert_int_equal(look(), CHANGE_OVER_CLOSING);
    assert_int_equal(look(), CHANGE_OVER_OPENING); /* whoever runs there is not waited for */
    assert_int_equal(c.admitted, DAY);
    assert_int_equal(f.pools[DAY].state, NODE_POOL_OPEN);
    /* while the machines of the day are suspended: they are resumed */
    begin(NIGHT);
    (void)look();
    assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
    obey();
    f.wanted = DAY;
    (void)look();
    assert_true(holds_all());
    assert_int_equal(look(), CHANGE_OVER_OPEN_COMMAND);
    assert_int_equal(c.orders[DAY], POOL_RUN_OPEN);
    /* while those of the night are resumed: they are suspended first */
    begin(NIGHT);
    f.pools[DAY].state = NODE_POOL_CLOSED;
    (void)look();
    assert_int_equal(look(), CHANGE_OVER_OPEN_COMMAND);
    obey();
    f.wanted = DAY;
    (void)look();
    assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
    assert_int_equal(c.orders[NIGHT], POOL_RUN_CLOSED);
    assert_int_equal(c.orders[DAY], POOL_HOLD);
}

/* Pods that somebody binds past fgpu while the commands are run. */
static void look__pods_come_in_the_middle__waits_for_them(void **state)
{
    begin(NIGHT);
    f.pools[DAY].state = NODE_POOL_CLOSED;
    (void)look();
    assert_int_equal(look(), CHANGE_OVER_OPEN_COMMAND);
    f.pools[WEEKEND].pod_n = 1;
    assert_int_equal(look(), CHANGE_OVER_WAITING);
    assert_true(holds_all());
    obey();
    f.pools[WEEKEND].pod_n = 0;
    assert_int_equal(look(), CHANGE_OVER_OPEN_COMMAND);
}

static void look__nobody_sees_the_cluster__nothing_goes_on(void **state)
{
    begin(NIGHT);
    f.settled = false;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(look(), CHANGE_OVER_CLOSING);
        assert_true(holds_all());
    }
    f.settled = true;
    assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
    obey();
    f.pools[DAY].done = true;
    f.settled = false;
    assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
    assert_true(holds_all());
}

static void look__pools_without_commands__nothing_to_wait_for(void **state)
{
    begin(NIGHT);
    for (int i = 0; i < POOLS; i++) {
        f.pools[i] = (struct change_over_pool){.has_command = false};
    }
    (void)look();
    assert_int_equal(look(), CHANGE_OVER_OPENING);
    assert_int_equal(look(), CHANGE_OVER_OPEN);
}

static void look__no_pool_is_to_be_open__all_are_closed_by_their_commands(void **state)
{
    begin(DAY);
    open_it(DAY);
    f.wanted = CHANGE_OVER_NOBODY;
    f.pools[DAY].pod_n = 1;
    (void)look();
    assert_int_equal(look(), CHANGE_OVER_WAITING);
    f.pools[DAY].pod_n = 0;
    assert_int_equal(look(), CHANGE_OVER_CLOSE_COMMANDS);
    obey();
    f.pools[DAY].done = true;
    assert_int_equal(look(), CHANGE_OVER_CLOSED);
    assert_true(change_over_step_is_last(c.step));
}

static void look__several_are_to_be_open__none_is_and_nothing_is_run(void **state)
{
    begin(DAY);
    open_it(DAY);
    f.wanted = CHANGE_OVER_SEVERAL;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(look(), CHANGE_OVER_CONFLICT);
        assert_int_equal(c.admitted, CHANGE_OVER_NOBODY);
        assert_true(holds_all());
    }
    f.wanted = DAY;
    assert_int_equal(look(), CHANGE_OVER_CLOSING);
    assert_int_equal(look(), CHANGE_OVER_OPENING);
}

static void wanted__tables__the_last_entry_of_a_name(void **state)
{
    const struct str pools[] = {STR("day"), STR("night")};
    const struct change_over_group group = {STR("card"), pools, 2};
    const struct {
        struct node_pool entries[4];
        size_t entry_n;
        int32_t want;
    } rows[] = {
        {{{.name = STR("day"), .state = NODE_POOL_OPEN}, {.name = STR("night"), .state = NODE_POOL_CLOSED}}, 2, 0},
        {{{.name = STR("day"), .state = NODE_POOL_OPEN},
          {.name = STR("night"), .state = NODE_POOL_CLOSED},
          {.name = STR("day"), .state = NODE_POOL_CLOSED},
          {.name = STR("night"), .state = NODE_POOL_OPEN}},
         4,
         1},
        {{{.name = STR("day"), .state = NODE_POOL_OPEN}, {.name = STR("night"), .state = NODE_POOL_OPEN}},
         2,
         CHANGE_OVER_SEVERAL},
        {{{.name = STR("day"), .state = NODE_POOL_CLOSED}, {.name = STR("other"), .state = NODE_POOL_OPEN}},
         2,
         CHANGE_OVER_NOBODY},
        /* What stands behind the last entry is none. */
        {{{.name = STR("day"), .state = NODE_POOL_OPEN}, {.name = STR("night"), .state = NODE_POOL_OPEN}}, 1, 0},
        {{{.name = STR("day"), .state = NODE_POOL_OPEN}}, 0, CHANGE_OVER_NOBODY},
    };
    const struct change_over_group day_alone = {STR("card"), pools, 1};
    const struct policy night = {.node_pools = &(struct node_pool){.name = STR("night"), .state = NODE_POOL_OPEN},
                                 .node_pool_n = 1};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct policy p = {.node_pools = rows[i].entries, .node_pool_n = rows[i].entry_n};

        assert_int_equal(change_over_wanted(&p, &group), rows[i].want);
    }
    assert_int_equal(change_over_wanted(&night, &group), 1);
    assert_int_equal(change_over_wanted(&night, &day_alone), CHANGE_OVER_NOBODY);
}

static void node_pools__of_a_group__closed_unless_admitted(void **state)
{
    const struct kv a = {STR("pool"), STR("a")}, b = {STR("pool"), STR("b")}, both[] = {a, {STR("also"), STR("b")}};
    const struct node_pool entries[] = {
        {.name = STR("day"), .selector = {&a, 1}, .state = NODE_POOL_OPEN},
        {.name = STR("night"), .selector = {&b, 1}, .state = NODE_POOL_OPEN},
        {.name = STR("night"), .selector = {&both[1], 1}, .state = NODE_POOL_OPEN},
    };
    const struct str first[] = {STR("x"), STR("y")}, pools[] = {STR("day"), STR("night")};
    const struct change_over_group groups[] = {{STR("other"), first, 2}, {STR("card"), pools, 2}};
    struct policy p = {.node_pools = entries, .node_pool_n = 3, .change_overs = groups, .change_over_n = 2};
    const struct change_over_group other_way[] = {groups[1], groups[0]};
    const struct policy turned = {.change_overs = other_way, .change_over_n = 2};
    const struct node in_a = {.labels = {&a, 1}}, in_b = {.labels = {&b, 1}}, in_both = {.labels = {both, 2}}, no = {0};

    assert_int_equal(node_pools_gated(&p, &in_a), 4);
    assert_int_equal(node_pools_gated(&p, &in_b), 8);
    assert_int_equal(node_pools_gated(&p, &in_both), 12);
    assert_true(node_pools_close(&p, &in_a) && node_pools_close(&p, &in_b) && !node_pools_close(&p, &no));
    p.admitted_pools = 4;
    assert_true(!node_pools_close(&p, &in_a) && node_pools_close(&p, &in_b) && node_pools_close(&p, &in_both));
    assert_true(node_pools_layout(&p) != 0);
    assert_true(node_pools_layout(&p) != node_pools_layout(&turned));
    p.admitted_pools = 8;
    assert_true(node_pools_close(&p, &in_a) && !node_pools_close(&p, &in_b) && node_pools_close(&p, &in_both));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look__from_day_to_night__step_by_step),
        cmocka_unit_test(look__a_command_fails__nothing_that_follows_is_done),
        cmocka_unit_test(look__back_before_the_end__only_what_was_done_is_undone),
        cmocka_unit_test(look__pods_come_in_the_middle__waits_for_them),
        cmocka_unit_test(look__nobody_sees_the_cluster__nothing_goes_on),
        cmocka_unit_test(look__pools_without_commands__nothing_to_wait_for),
        cmocka_unit_test(look__no_pool_is_to_be_open__all_are_closed_by_their_commands),
        cmocka_unit_test(look__several_are_to_be_open__none_is_and_nothing_is_run),
        cmocka_unit_test(wanted__tables__the_last_entry_of_a_name),
        cmocka_unit_test(node_pools__of_a_group__closed_unless_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
