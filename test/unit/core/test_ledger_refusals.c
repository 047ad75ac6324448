/* What the ledger refuses of decisions and descriptions, with the code and the words. A refused op changes nothing. */
#include "base/compiler.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <string.h>

static void expect_refused(const struct ledger_op *op, enum err_code code, const char *words)
{
    const uint64_t before = ledger_generation(fx.l);
    struct err why = {ERR_OK, ""};

    assert_int_equal(ledger_apply(fx.l, op, &why), -(int)code);
    assert_int_equal(why.code, code);
    if (strstr(why.msg, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", why.msg, words);
    }
    assert_int_equal(ledger_generation(fx.l), before);
    assert_null(ledger_check(fx.l));
}

static void observe(const char *uid, struct demand d, const char *node)
{
    const struct ledger_op op = fixture_observation(uid, &d, node, NULL);

    fixture_apply(&fx, &op);
}

static struct ledger_op reserve_op(const char *uid, const char *node, const struct placement *at)
{
    return (struct ledger_op){
        .kind = LEDGER_RESERVE,
        .reserve = {.uid = str_of(uid), .node_name = str_of(node), .decision_id = STR("d"), .placement = at}};
}

static void reserve__what_cannot_be_reserved__said_why(void **state)
{
    static const struct placement first = {.gpu_request_devices = {1}}, third = {.gpu_request_devices = {4}},
                                  both = {.gpu_request_devices = {3}}, none = {.gpu_request_devices = {0}};
    static const struct {
        const char *uid, *node;
        const struct placement *at;
        enum err_code code;
        const char *words;
    } rows[] = {
        {"unknown", "n1", &first, ERR_NOT_FOUND, "pod is not known"},
        {"share", "nowhere", &first, ERR_NOT_FOUND, "node is not known"},
        {"share", "mentioned", &first, ERR_NOT_FOUND, "node is not known"},
        {"bound", "n1", &first, ERR_CONFLICT, "already holds"},
        {"reserved", "n1", &first, ERR_CONFLICT, "already holds"},
        {"broken", "n1", &first, ERR_INVALID, NULL}, /* as the demand says it */
        {"share", "closed", &first, ERR_CONFLICT, "no longer free"},
        {"share", "p", &first, ERR_CONFLICT, "no longer free"}, /* a plugin handed its GPUs out */
        {"share", "n1", &third, ERR_CONFLICT, "no longer free"},
        {"share", "n1", &both, ERR_CONFLICT, "no longer free"},
        {"share", "n1", &none, ERR_CONFLICT, "no longer free"},
        {"whole", "n1", &first, ERR_CONFLICT, "no longer free"},
        {"of plugin", "p", &none, ERR_CONFLICT, "no longer free"},
    };
    struct demand broken = SHARE_OF(10);
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION};
    struct ledger_op closed = fixture_description("closed", &inventory);

    closed.node.closed = true;
    fixture_apply(&fx, &closed);
    fixture_node_plugin_managed(&fx, "p", 2, 0, 2);
    broken.defect = DEMAND_COUNT;
    observe("broken", broken, NULL);
    observe("share", SHARE_OF(300), NULL);
    observe("whole", WHOLE_GPUS(1), NULL);
    observe("of plugin", (struct demand){.dialect = "native", .plugin_managed_n = 2, .plugin_managed_most = 2}, NULL);
    observe("takes one", (struct demand){.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1}, "p");
    observe("elsewhere", SHARE_OF(10), "mentioned");
    observe("reserved", SHARE_OF(100), NULL);
    assert_int_equal(fixture_reserve(&fx, "reserved", "n1"), 0);
    observe("bound", SHARE_OF(100), "n1");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ledger_op op = reserve_op(rows[i].uid, rows[i].node, rows[i].at);

        expect_refused(&op, rows[i].code, rows[i].words != NULL ? rows[i].words : demand_defect_text(DEMAND_COUNT));
    }
    assert_int_equal(fixture_reserve(&fx, "share", "n1"), 0);
}

static void confirm_and_release__of_a_pod_that_is_not_there__refused(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        const struct ledger_op op = {.kind = i == 0 ? LEDGER_CONFIRM : LEDGER_RELEASE, .name = STR("unknown")};

        expect_refused(&op, ERR_NOT_FOUND, "pod is not known");
    }
}

static void described__more_than_can_be_kept__refused(void **state)
{
    static struct device devices[DEVICES_PER_NODE_MAX + 1];
    struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices};
    const struct ledger_op op = fixture_description("n", &inventory);

    for (int i = 0; i <= DEVICES_PER_NODE_MAX; i++) {
        devices[i] = (struct device){.index = i, .minor = -1, .numa = -1, .slot_n = 1, .healthy = true};
    }
    inventory.device_n = DEVICES_PER_NODE_MAX + 1;
    expect_refused(&op, ERR_LIMIT, "node has more than 64 GPUs");
    assert_false(ledger_has_node(fx.l, STR("n")));
    inventory.device_n = DEVICES_PER_NODE_MAX;
    fixture_apply(&fx, &op);
    assert_int_equal(fixture_state(&fx, "n")->device_n, DEVICES_PER_NODE_MAX);
}

/* As many nodes and pods as the table may have, and one more. */
static void described__table_of_nodes_is_full__refused_and_said(void **state)
{
    const struct ledger_limits limits = {
        .hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000, .nodes_max = 4, .pods_max = 10};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION};
    struct ledger_op op = fixture_description("d", &inventory);

    ledger_free(fx.l);
    fx.l = ledger_new(&limits);
    fixture_node(&fx, "a", 1, GIB);
    fixture_node(&fx, "b", 1, GIB);
    fixture_node(&fx, "c", 1, GIB);
    fixture_apply(&fx, &op);
    op.node.name = STR("e");
    expect_refused(&op, ERR_LIMIT, "more than 4 nodes");
    op.node.name = STR("d");
    fixture_apply(&fx, &op); /* it has its place */
}

static void assignment__of_who_holds_no_devices_that_are_known__not_found(void **state)
{
    static const char *const uids[] = {"unknown", "waits", "past us", "of plugin"};
    const struct inventory nothing = {.source = INVENTORY_ANNOTATION};
    const struct ledger_op described = fixture_description("n1", &nothing);
    struct assignment as;
    struct err why;

    fixture_node_plugin_managed(&fx, "p", 2, 0, 2);
    observe("waits", SHARE_OF(10), NULL);
    observe("past us", SHARE_OF(10), "n1");
    observe("of plugin", (struct demand){.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1}, NULL);
    assert_int_equal(fixture_reserve(&fx, "of plugin", "p"), 0);
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        assert_int_equal(ledger_assignment(fx.l, str_of(uids[i]), &fx.arena, &as, &why), -ERR_NOT_FOUND);
        assert_string_equal(why.msg, "pod holds no devices");
    }
    observe("holds", SHARE_OF(10), NULL);
    assert_int_equal(fixture_reserve(&fx, "holds", "n1"), 0);
    assert_int_equal(ledger_assignment(fx.l, STR("holds"), &fx.arena, &as, &why), 0);
    fixture_apply(&fx, &described); /* its device stays as long as it is held */
    assert_int_equal(ledger_assignment(fx.l, STR("holds"), &fx.arena, &as, &why), 0);
    assert_int_equal(as.containers[0].device_n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWO_GPUS_TEST(reserve__what_cannot_be_reserved__said_why),
        TWO_GPUS_TEST(confirm_and_release__of_a_pod_that_is_not_there__refused),
        EMPTY_LEDGER_TEST(described__more_than_can_be_kept__refused),
        EMPTY_LEDGER_TEST(described__table_of_nodes_is_full__refused_and_said),
        TWO_GPUS_TEST(assignment__of_who_holds_no_devices_that_are_known__not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
