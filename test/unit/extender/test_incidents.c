/* defects.md H2 and H8: from when on the decisions of others are incidents, and who hears of them. */
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct clock_manual now;
static unsigned told_n[INCIDENT_KIND__MAX], ended_n;
static const struct demand demand = DEMAND_OF_SHARE(700);

static void describe_node(void)
{
    const struct device d = {.uuid = STR("GPU-0"), .mem_mib = 1000, .slot_n = 16, .healthy = true};
    const struct inventory inv = {.source = INVENTORY_ANNOTATION, .devices = &d, .device_n = 1};
    struct ledger_op o = {.kind = LEDGER_NODE_DESCRIBED,
                          .node = {.name = STR("n1"), .uid = STR("n1"), .schedulable = true, .inventory = &inv}};

    assert_int_equal(store_apply(store, &o, NULL), 0);
}

static void listen_to(void *ctx, const struct incident *in)
{
    uint64_t n;

    assert_ptr_equal(ctx, told_n);
    incidents_free(store_incidents(store, 10, &n)); /* the lock is free */
    told_n[in->kind] += !in->ends;
    ended_n += in->ends;
}

static int setup(void **state)
{
    clock_manual_init(&now, 1000 * MS, 5000);
    store_open(&now.clock);
    memset(told_n, 0, sizeof(told_n));
    ended_n = 0;
    store_watch_incidents(store, listen_to, told_n);
    describe_node();
    return 0;
}

static int teardown(void **state)
{
    store_watch_incidents(store, NULL, NULL);
    store_check_and_free();
    return 0;
}

static struct ledger_op observation(const char *uid, const char *node, const struct assignment *as)
{
    return (struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                              .pod = {.uid = str_of(uid),
                                      .namespace_ = STR("d"),
                                      .name = str_of(uid),
                                      .node_name = str_of(node),
                                      .demand = &demand,
                                      .assignment = as}};
}

/* Seen pending, then bound to the only GPU by somebody. */
static void decided_elsewhere(const char *uid)
{
    const struct assigned_device d = {STR("GPU-0"), 0, 700, 700};
    const struct assigned_container c = {.name = STR("main"), .devices = &d, .device_n = 1};
    const struct assignment as = {.id = STR("of another"), .containers = &c, .container_n = 1};
    struct ledger_op pending = observation(uid, NULL, NULL), bound = observation(uid, "n1", &as);

    assert_int_equal(store_apply(store, &pending, NULL), 0);
    assert_int_equal(store_apply(store, &bound, NULL), 0);
}

static void decisions_of_others__no_incident_until_we_decide_ourselves(void **state)
{
    store_hold_off(store, now.mono_ns + 6000 * MS);
    decided_elsewhere("while listing");
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("while listing")});
    apply_bracket(LEDGER_PODS_END);
    apply_bracket(LEDGER_NODES_END);
    clock_manual_advance_ms(&now, 5999);
    decided_elsewhere("while holding off");
    assert_int_equal(told_n[INCIDENT_FOREIGN_DECISION], 0);
    clock_manual_advance_ms(&now, 1);
    decided_elsewhere("too late");
    assert_int_equal(told_n[INCIDENT_FOREIGN_DECISION], 1);
    assert_int_equal(told_n[INCIDENT_DOUBLE_BOOKING], 1);
    store_close(store, "stopped for another reason");
    decided_elsewhere("later still");
    assert_int_equal(told_n[INCIDENT_FOREIGN_DECISION], 2);
}

static void found_by_an_audit__an_incident_as_well(void **state)
{
    const struct assigned_device d = {STR("GPU-0"), 0, 700, 700};
    const struct assigned_container c = {.name = STR("main"), .devices = &d, .device_n = 1};
    const struct assignment as = {.id = STR("of another"), .containers = &c, .container_n = 1};
    struct ledger_op pending = observation("a", NULL, NULL), bound = observation("a", "n1", &as);
    struct ledger *scratch;
    enum ledger_drift drift;
    uint64_t touched;

    apply_bracket(LEDGER_PODS_END);
    apply_bracket(LEDGER_NODES_END);
    assert_int_equal(store_apply(store, &pending, NULL), 0);
    scratch = store_audit_scratch(store);
    assert_int_equal(store_drift(store, scratch, &bound, &touched), DRIFT_POD_STATE);
    assert_int_equal(told_n[INCIDENT_FOREIGN_DECISION], 0);
    assert_int_equal(store_repair(store, scratch, &bound, touched, &drift, NULL), 0);
    assert_int_equal(told_n[INCIDENT_FOREIGN_DECISION], 1);
    ledger_free(scratch);
}

static void listed__and_counted_beyond_what_is_listed(void **state)
{
    struct incident *list;
    uint64_t n;

    apply_bracket(LEDGER_PODS_END);
    apply_bracket(LEDGER_NODES_END);
    decided_elsewhere("a");
    decided_elsewhere("b");
    list = store_incidents(store, 1, &n);
    assert_int_equal(n, 3);
    assert_int_equal(list->kind, INCIDENT_DOUBLE_BOOKING);
    assert_null(list->next);
    incidents_free(list);
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("b")});
    assert_int_equal(ended_n, 1);
    incidents_free(store_incidents(store, 10, &n));
    assert_int_equal(n, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(decisions_of_others__no_incident_until_we_decide_ourselves),
        T(found_by_an_audit__an_incident_as_well),
        T(listed__and_counted_beyond_what_is_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
