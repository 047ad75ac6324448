/* Groups of node pools step by step: who is evicted and when, what commands are ordered, and what is shown of it, by a
 * clock that moves only when told to. Whole nights with windows and restarts: test/unit/cmd/test_change_over.c. */
#include "extender/change_overs.h"

#include "base/compiler.h"
#include "core/time/node_pools.h"
#include "extender/support/tested_store.h"
#include "extender/support/warnings.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { DAY, NIGHT, POOLS };
enum { EVICT_AFTER_MS = 5000 };

static struct clock_manual now;
static struct change_overs *change_overs;
static struct policy policy;
static struct node_pool pools[POOLS];
static const struct str names[POOLS] = {STR("day"), STR("night")};
static struct change_over_group group;
static const struct demand share = DEMAND_OF_SHARE(300);
static bool all_read;

/* ---- commands ---- */

/* Of pool "night"; none while it is not there. */
static struct pool_command_status command;
static char orders[512]; /* "POOL ORDER;" for each that was not to hold */

static size_t list(void *commands, struct arena *a, const struct pool_command_status **ret)
{
    struct pool_command_status *copy = ARENA_NEW(a, struct pool_command_status);

    assert_non_null(copy); /* there is room */
    *copy = command;
    *ret = copy;
    return command.pool.n > 0;
}

static void order(void *commands, struct str pool, enum pool_order o)
{
    const size_t n = strlen(orders);

    if (o != POOL_HOLD) {
        snprintf(orders + n, sizeof(orders) - n, "%.*s %s;", STR_ARG(pool), o == POOL_RUN_OPEN ? "open" : "closed");
    }
}

static void expect_orders(const char *want)
{
    assert_string_equal(orders, want);
    orders[0] = '\0';
}

/* ---- evictions ---- */

static char evicted[256]; /* "UID;" for each time */

static void evict(void *evictions, const struct pool_pod *pod)
{
    const size_t n = strlen(evicted);

    snprintf(evicted + n, sizeof(evicted) - n, "%.*s;", STR_ARG(pod->uid));
}

static void trouble(void *evictions, struct str uid, char ret[EVICTION_TROUBLE_MAX])
{
    snprintf(ret, EVICTION_TROUBLE_MAX, "%s", str_eq_cstr(uid, "ours") ? "a budget" : "");
}

static void expect_evicted(const char *want)
{
    assert_string_equal(evicted, want);
    evicted[0] = '\0';
}

/* ---- life ---- */

static int setup(void **state)
{
    const struct change_overs_options o = {
        .clock = &now.clock, .log = &warnings_log, .list = list, .order = order, .evict = evict, .trouble = trouble};
    struct change_overs_options with_store = o;

    clock_manual_init(&now, 1000 * NS_PER_S, 50000);
    warnings_reset();
    store_open(&now.clock);
    apply_empty_lists();
    orders[0] = evicted[0] = '\0';
    command = (struct pool_command_status){.pool = STR_NULL};
    all_read = true;
    policy = *policy_defaults();
    for (int i = 0; i < POOLS; i++) {
        pools[i] = (struct node_pool){.name = names[i], .state = i == DAY ? NODE_POOL_OPEN : NODE_POOL_CLOSED};
    }
    group = (struct change_over_group){
        .name = STR("card"), .pools = names, .pool_n = POOLS, .drain = DRAIN_EVICT, .evict_after_ms = EVICT_AFTER_MS};
    policy.node_pools = pools;
    policy.node_pool_n = POOLS;
    policy.change_overs = &group;
    policy.change_over_n = 1;
    with_store.store = store;
    change_overs = change_overs_new(&with_store);
    return 0;
}

static int teardown(void **state)
{
    change_overs_free(change_overs);
    store_check_and_free();
    return 0;
}

/* ---- the cluster ---- */

/* A node of the pool with this bit, as the policy in effect has it. */
static void describe_node(struct str name, int pool)
{
    const struct device device = {.index = 0, .model = STR("A100"), .mem_mib = 40960, .slot_n = 16, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};

    apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                             .node = {.name = name,
                                      .schedulable = true,
                                      .closed = (policy.admitted_pools >> pool & 1) == 0,
                                      .pools = UINT64_C(1) << pool,
                                      .pools_layout = node_pools_layout(&policy),
                                      .inventory = &inventory}});
}

/* Node "day" or "night", of the pool of that name. */
static void describe(int pool)
{
    describe_node(names[pool], pool);
}

/* A pod with a record on the GPU of the node. */
static void hold_on(const char *node, const char *uid, bool verified, bool deleting)
{
    const struct assigned_device d = {.index = 0, .milli = 300, .mem_mib = 12288};
    const struct assigned_container c = {.name = STR("main"), .devices = &d, .device_n = 1};
    const struct assignment as = {.id = STR("x"), .containers = &c, .container_n = 1};

    apply((struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                             .pod = {.uid = str_of(uid),
                                     .namespace_ = STR("d"),
                                     .name = str_of(uid),
                                     .node_name = str_of(node),
                                     .deleting = deleting,
                                     .demand = &share,
                                     .assignment = &as,
                                     .record_trust = verified ? RECORD_VERIFIED : RECORD_UNSIGNED}});
}

static void hold(const char *uid, bool verified, bool deleting)
{
    hold_on("night", uid, verified, deleting);
}

static void gone(const char *uid)
{
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = str_of(uid)});
}

static bool settled(void *ctx)
{
    return all_read;
}

/* As config_apply: who is admitted is in effect when the nodes were read by it. */
static bool look(void)
{
    const bool admits = change_overs_look(change_overs, &policy, settled, NULL);

    policy.admitted_pools = change_overs_admitted(change_overs, &policy);
    if (admits) {
        describe(DAY);
        describe(NIGHT);
    }
    return admits;
}

static const struct change_over_status *status(void)
{
    const struct change_over_status *all;

    arena_reset(&arena);
    assert_int_equal(change_overs_list(change_overs, &arena, &all), 1);
    assert_true(str_eq_cstr(all->group, "card"));
    return all;
}

static void expect_step(enum change_over_step step)
{
    assert_string_equal(change_over_step_name(status()->step), change_over_step_name(step));
}

static void begin(void)
{
    describe(DAY);
    describe(NIGHT);
}

/* ---- pods ---- */

static void drain__after_its_time__only_those_that_are_ours_beyond_doubt(void **state)
{
    const struct change_over_status *s;

    begin();
    hold("ours", true, false);
    hold("foreign", false, false);
    hold("leaving", true, true);
    assert_false(look());
    expect_step(CHANGE_OVER_WAITING);
    s = status();
    assert_int_equal(s->pod_n, 3);
    assert_int_equal(s->shown_n, 3);
    assert_true(s->drains);
    for (size_t i = 0; i < s->shown_n; i++) {
        const bool ours = str_eq_cstr(s->pods[i].uid, "ours");

        assert_true(str_eq(s->pods[i].uid, s->pods[i].name));
        assert_true(str_eq_cstr(s->pods[i].namespace_, "d"));
        assert_true(str_eq_cstr(s->pods[i].node_name, "night"));
        assert_true(str_eq_cstr(s->troubles[i], ours ? "a budget" : ""));
    }
    assert_true(str_eq_cstr(s->wanted, "day"));
    assert_int_equal(s->admitted.n, 0);
    clock_manual_advance_ms(&now, EVICT_AFTER_MS - 1);
    assert_false(look());
    expect_evicted("");
    clock_manual_advance_ms(&now, 1);
    assert_false(look());
    expect_evicted("ours;");
    assert_false(look()); /* again and again */
    expect_evicted("ours;");
    all_read = false; /* not by facts that are not settled */
    assert_false(look());
    expect_evicted("");
    all_read = true;
    group.drain = DRAIN_NONE;
    assert_false(look());
    expect_evicted("");
    assert_false(status()->drains);
    expect_orders("");
}

/* Who waits anew is waited for from then on. */
static void drain__pods_come_again__their_time_begins_anew(void **state)
{
    command = (struct pool_command_status){.pool = names[NIGHT], .result = POOL_COMMAND_WAITING};
    begin();
    hold("ours", true, false);
    assert_false(look());
    clock_manual_advance_ms(&now, EVICT_AFTER_MS);
    gone("ours");
    assert_false(look());
    expect_step(CHANGE_OVER_CLOSE_COMMANDS);
    hold("another", true, false); /* by somebody who does not ask fgpu */
    assert_false(look());
    expect_step(CHANGE_OVER_WAITING);
    expect_evicted("");
    clock_manual_advance_ms(&now, EVICT_AFTER_MS - 1);
    assert_false(look());
    expect_evicted("");
    clock_manual_advance_ms(&now, 1);
    assert_false(look());
    expect_evicted("another;");
}

/* ---- commands and the end ---- */

static void change__commands_fail_and_work__pool_opens_at_last(void **state)
{
    struct change_overs_counts counts;
    const struct change_over_status *s;

    command = (struct pool_command_status){
        .pool = names[NIGHT], .state = NODE_POOL_CLOSED, .result = POOL_COMMAND_FAILED, .error = "no hypervisor"};
    begin();
    assert_false(look());
    expect_step(CHANGE_OVER_CLOSE_COMMANDS);
    expect_orders("night closed;night closed;"); /* when the step begins, and while it lasts */
    s = status();
    assert_true(str_eq_cstr(s->failed, "night"));
    assert_true(str_eq_cstr(s->error, "no hypervisor"));
    assert_int_equal(warnings(), 1);
    clock_manual_advance_ms(&now, 7000);
    assert_false(look());
    assert_int_equal(warnings(), 1); /* the same again */
    command.error = "another";
    assert_false(look());
    assert_int_equal(warnings(), 2);
    change_overs_count(change_overs, &counts);
    assert_int_equal(counts.at[CHANGE_OVER_CLOSE_COMMANDS], 1);
    assert_int_equal(counts.longest_ms, 7000);
    command.result = POOL_COMMAND_OK;
    command.error = NULL;
    assert_true(look());
    expect_step(CHANGE_OVER_OPENING);
    assert_int_equal(policy.admitted_pools, 1);
    assert_int_equal(status()->failed.n + status()->error.n, 0);
    assert_true(str_eq_cstr(status()->admitted, "day"));
    assert_false(look());
    expect_step(CHANGE_OVER_OPEN);
    change_overs_count(change_overs, &counts);
    assert_int_equal(counts.at[CHANGE_OVER_OPEN], 1);
    assert_int_equal(counts.longest_ms, 0);
    clock_manual_advance_ms(&now, 9000);
    pools[DAY].state = NODE_POOL_CLOSED;
    pools[NIGHT].state = NODE_POOL_OPEN;
    orders[0] = '\0';
    assert_true(look()); /* nobody is admitted */
    assert_int_equal(policy.admitted_pools, 0);
    expect_step(CHANGE_OVER_CLOSING);
    expect_orders("");
    assert_int_equal(status()->began_ms, 50000 + 16000);
    assert_false(look());
    expect_step(CHANGE_OVER_OPEN_COMMAND);
    assert_non_null(strstr(orders, "day closed;"));
    assert_non_null(strstr(orders, "night open;"));
    command.state = NODE_POOL_OPEN;
    assert_true(look());
    assert_false(look());
    expect_step(CHANGE_OVER_OPEN);
    assert_int_equal(policy.admitted_pools, 2);
}

static void change__several_or_none_open__conflict_or_closed(void **state)
{
    begin();
    pools[NIGHT].state = NODE_POOL_OPEN;
    assert_false(look());
    expect_step(CHANGE_OVER_CONFLICT);
    assert_int_equal(status()->wanted.n, 0);
    assert_int_equal(warnings(), 1);
    pools[DAY].state = pools[NIGHT].state = NODE_POOL_CLOSED;
    assert_false(look());
    expect_step(CHANGE_OVER_CLOSED);
    assert_int_equal(warnings(), 1);
}

/* What is found in a look may be another thing in the next one, for ever: then the rest is left to the next call. */
static bool wants_another_each_time(void *looks)
{
    const bool night = (++*(unsigned *)looks / 2) % 2 == 0; /* it is asked twice in each look */

    assert_true(*(unsigned *)looks < 1000);
    pools[DAY].state = night ? NODE_POOL_CLOSED : NODE_POOL_OPEN;
    pools[NIGHT].state = night ? NODE_POOL_OPEN : NODE_POOL_CLOSED;
    return true;
}

static void look__facts_change_without_end__ends_all_the_same(void **state)
{
    unsigned looks = 0;

    begin();
    hold_on("night", "on-night", true, false);
    hold_on("day", "on-day", true, false);
    (void)change_overs_look(change_overs, &policy, wants_another_each_time, &looks);
    assert_in_range(looks, 2, 2 * CHANGE_OVER_STEP__MAX);
}

/* With other pools it is another group, and begins anew; without any it is gone. */
static void group__changes__begins_anew(void **state)
{
    const struct change_over_status *all;

    begin();
    assert_true(look());
    assert_false(look());
    expect_step(CHANGE_OVER_OPEN);
    group.pool_n = 1;
    assert_false(change_overs_look(change_overs, &policy, settled, NULL));
    assert_int_not_equal(status()->step, CHANGE_OVER_OPEN);
    assert_int_equal(status()->admitted.n, 0);
    policy.change_over_n = 0;
    assert_false(change_overs_look(change_overs, &policy, settled, NULL));
    assert_int_equal(change_overs_list(change_overs, &arena, &all), 0);
    assert_int_equal(change_overs_list(NULL, &arena, &all), 0);
    change_overs_free(NULL);
}

/* Each has bits of its own behind those of the groups before it, and waits for its own pods alone. */
static void groups__several__each_by_its_own_bits(void **state)
{
    enum { X = POOLS, Y };
    static const struct str more[] = {STR("x"), STR("y")};
    struct node_pool all_pools[] = {pools[DAY],
                                    pools[NIGHT],
                                    {.name = more[0], .state = NODE_POOL_CLOSED},
                                    {.name = more[1], .state = NODE_POOL_OPEN}};
    const struct change_over_group groups[] = {group, {.name = STR("another"), .pools = more, .pool_n = 2}};
    const struct change_over_status *all;

    policy.node_pools = all_pools;
    policy.node_pool_n = ARRAY_LEN(all_pools);
    policy.change_overs = groups;
    policy.change_over_n = ARRAY_LEN(groups);
    begin();
    describe_node(STR("y"), Y);
    assert_true(look());
    assert_int_equal(policy.admitted_pools, 1U << DAY | 1U << Y);
    describe_node(STR("y"), Y);
    assert_false(look());
    hold_on("y", "on-y", true, false);
    all_pools[X].state = NODE_POOL_OPEN;
    all_pools[Y].state = NODE_POOL_CLOSED;
    assert_true(look());
    assert_int_equal(policy.admitted_pools, 1U << DAY);
    assert_false(look());
    assert_int_equal(change_overs_list(change_overs, &arena, &all), 2);
    assert_int_equal(all[0].step, CHANGE_OVER_OPEN);
    assert_int_equal(all[1].step, CHANGE_OVER_CLOSING); /* its node takes pods yet */
    describe_node(STR("y"), Y);
    assert_false(look());
    assert_int_equal(change_overs_list(change_overs, &arena, &all), 2);
    assert_true(str_eq_cstr(all[1].group, "another") && all[1].step == CHANGE_OVER_WAITING);
    assert_true(all[0].pod_n == 0 && all[1].pod_n == 1 && all[1].shown_n == 1);
    assert_true(str_eq_cstr(all[1].pods[0].uid, "on-y") && str_eq_cstr(all[1].wanted, "x"));
    clock_manual_advance_ms(&now, EVICT_AFTER_MS);
    assert_false(look());
    expect_evicted(""); /* that group does not drain */
    gone("on-y");
    assert_true(look());
    assert_int_equal(policy.admitted_pools, 1U << DAY | 1U << X);
}

/* Who waits for pods to leave evicts its own: those of the group behind it run where they are let. */
static void groups__several__none_evicts_pods_of_another(void **state)
{
    enum { X = POOLS, Y };
    static const struct str more[] = {STR("x"), STR("y")};
    struct node_pool all_pools[] = {pools[DAY],
                                    pools[NIGHT],
                                    {.name = more[0], .state = NODE_POOL_OPEN},
                                    {.name = more[1], .state = NODE_POOL_CLOSED}};
    const struct change_over_group groups[] = {group, {.name = STR("another"), .pools = more, .pool_n = 2}};
    const struct change_over_status *all;

    policy.node_pools = all_pools;
    policy.node_pool_n = ARRAY_LEN(all_pools);
    policy.change_overs = groups;
    policy.change_over_n = ARRAY_LEN(groups);
    begin();
    describe_node(STR("x"), X);
    describe_node(STR("y"), Y);
    hold_on("night", "on-night", true, false);
    hold_on("x", "on-x", true, false);
    (void)look();
    clock_manual_advance_ms(&now, EVICT_AFTER_MS);
    (void)look();
    assert_non_null(strstr(evicted, "on-night;")); /* for each step that was taken */
    assert_null(strstr(evicted, "on-x;"));
    assert_int_equal(change_overs_list(change_overs, &arena, &all), 2);
    assert_int_equal(all[0].pod_n, 1);
    assert_int_equal(all[0].shown_n, 1);
    assert_true(str_eq_cstr(all[0].pods[0].uid, "on-night"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(drain__after_its_time__only_those_that_are_ours_beyond_doubt),
        TEST(drain__pods_come_again__their_time_begins_anew),
        TEST(change__commands_fail_and_work__pool_opens_at_last),
        TEST(change__several_or_none_open__conflict_or_closed),
        TEST(look__facts_change_without_end__ends_all_the_same),
        TEST(group__changes__begins_anew),
        TEST(groups__several__each_by_its_own_bits),
        TEST(groups__several__none_evicts_pods_of_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
