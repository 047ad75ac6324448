/* Names of nodes, UUIDs and models are kept for as long as somebody has them, and no longer: one node that publishes
 * new ones for ever takes nobody's room (issue: names are interned for ever). The sanitizers see what is used too long.
 */
#include "core/ledger/mirror.h"
#include "core/ledger/state.h"
#include "core/ledger/snapshot_iterator.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define MILLION 1000000

/* A node with devices of a number each: "GPU-7", "model-7". */
static void describe(const char *name, unsigned first, unsigned device_n)
{
    struct device devices[DEVICES_PER_NODE_MAX];
    char uuids[DEVICES_PER_NODE_MAX][24], models[DEVICES_PER_NODE_MAX][24];
    const struct inventory inv = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = device_n};
    const struct ledger_op op = fixture_description(name, &inv);

    for (unsigned i = 0; i < device_n; i++) {
        snprintf(uuids[i], sizeof(uuids[i]), "GPU-%u", first + i);
        snprintf(models[i], sizeof(models[i]), "model-%u", first + i);
        devices[i] = (struct device){.uuid = str_of(uuids[i]),
                                     .index = (int32_t)i,
                                     .model = str_of(models[i]),
                                     .mem_mib = 8 * GIB,
                                     .slot_n = 4,
                                     .healthy = true};
    }
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
}

static void node_with_a_new_uuid_and_model__a_million_times__tables_as_small_as_before(void **state)
{
    struct demand d = SHARE_OF(100);

    describe("n1", 0, 1);
    for (unsigned i = 1; i <= MILLION; i++) {
        describe("n1", i, 1);
    }
    assert_int_equal(intern_used(fx.l->models), 1);
    assert_in_range(intern_count(fx.l->models), 1, 2);
    assert_int_equal(fx.l->node_n, 1);
    assert_int_equal(fx.l->nodes[0].device_n, 1);
    assert_true(fx.l->state_n <= 2);
    assert_true(str_eq_cstr(fixture_state(&fx, "n1")->devices[0].uuid, "GPU-1000000"));
    assert_true(str_eq_cstr(fixture_state(&fx, "n1")->devices[0].model, "model-1000000"));
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
}

static void nodes_that_come_and_go__a_million_names__tables_as_small_as_before(void **state)
{
    char name[24];

    for (unsigned i = 1; i <= MILLION; i++) {
        snprintf(name, sizeof(name), "node-%u", i);
        describe(name, i, 1);
        fixture_name_op(&fx, LEDGER_NODE_GONE, name);
    }
    assert_int_equal(fx.l->node_used_n, 0);
    assert_int_equal(fx.l->node_n, 1);
    assert_true(fx.l->briefs.cap <= 4 * NODE_BRIEFS_SLACK);
    assert_int_equal(intern_used(fx.l->models), 0);
    assert_int_equal(intern_count(fx.l->models), 1);
}

/* A device that left the inventory is kept, with its names, while a pod holds it. */
static void device_that_is_held__keeps_its_names_until_the_pod_goes(void **state)
{
    struct demand d = SHARE_OF(100);
    const struct snapshot_node *n;

    describe("n1", 1, 1);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    for (unsigned i = 2; i < 100; i++) {
        describe("n1", i, 1);
    }
    n = fixture_state(&fx, "n1");
    assert_int_equal(n->device_n, 2);
    assert_true(n->devices[1].lost && str_eq_cstr(n->devices[1].uuid, "GPU-1") &&
                str_eq_cstr(n->devices[1].model, "model-1"));
    assert_int_equal(intern_used(fx.l->models), 2);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 1);
    assert_int_equal(intern_used(fx.l->models), 1);
}

/* ---- readers that go on when the name has gone ---- */

static void snapshot_iterator_mirror_and_news__read_after_their_node_has_gone(void **state)
{
    struct demand large = SHARE_OF(700);
    struct ledger_overcommit news[2];
    struct snapshot_iterator_filter filter = {0};
    struct snapshot_iterator *iterator;
    struct snapshot totals, got;
    struct mirror m;
    struct arena a;

    describe("n1", 1, 1);
    describe("n2", 2, 1);
    fixture_pod(&fx, "a", &large, "n1", NULL);
    fixture_pod(&fx, "b", &large, "n1", NULL);
    assert_int_equal(ledger_take_overcommits(fx.l, news, 2), 1);
    mirror_init(&m);
    while (!mirror_follow(&m, fx.l)) {
        mirror_grow(&m);
    }
    (void)fixture_state(&fx, "n1");
    iterator = snapshot_iterator_open(fx.l, &filter, 1 << 20, &totals);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    fixture_name_op(&fx, LEDGER_POD_GONE, "b");
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n1");
    assert_int_equal(fx.l->node_used_n, 1);
    describe("n3", 3, 1); /* in the place of n1 */
    assert_true(str_eq_cstr(news[0].node_name, "n1") && str_eq_cstr(news[0].uuid, "GPU-1"));
    ledger_drop_overcommits(news, 1);
    assert_true(str_eq_cstr(m.names[0], "n1"));
    assert_true(mirror_follow(&m, fx.l));
    assert_true(str_eq_cstr(m.names[0], "n3"));
    assert_true(str_eq_cstr(fx.snapshot.nodes[0].name, "n1"));
    assert_true(str_eq_cstr(fx.snapshot.nodes[0].devices[0].uuid, "GPU-1"));
    assert_true(str_eq_cstr(fx.snapshot.nodes[0].devices[0].model, "model-1"));
    assert_true(str_eq_cstr(fx.snapshot.pods[0].node_name, "n1"));
    arena_init(&a, 1 << 20);
    assert_int_equal(snapshot_iterator_next(fx.l, iterator, 1, &a, &got), SNAPSHOT_ITERATOR_MORE);
    assert_true(str_eq_cstr(got.nodes[0].name, "n1") && str_eq_cstr(got.nodes[0].devices[0].uuid, "GPU-1"));
    arena_fini(&a);
    snapshot_iterator_close(fx.l, iterator);
    snapshot_iterator_free(iterator);
    mirror_fini(&m);
}

/* An id that means another model now must not be answered from what was remembered of the old one. */
static void model_in_the_place_of_another__patterns_judge_the_new_one(void **state)
{
    const struct device_pattern wanted = {.text = STR("model-7")};
    struct demand d = SHARE_OF(100);
    struct placement at;

    d.models = &wanted;
    d.model_n = 1;
    describe("n1", 1, 1);
    describe("n2", 2, 1);
    for (unsigned i = 3; i < 12; i++) {
        enum verdict v;

        describe("n1", i, 1);
        v = ledger_place(fx.l, STR("n1"), STR("default"), &d, NULL, 0, fixture_params("tight-fit"), &at);
        assert_int_equal(v == VERDICT_FITS, i == 7);
    }
}

/* ---- more than there is room for ---- */

static void more_models_than_there_is_room_for__said_and_over_when_they_go(void **state)
{
    enum { FULL = LEDGER_MODELS_MAX / DEVICES_PER_NODE_MAX };
    struct demand d = SHARE_OF(100);
    char name[24];

    describe("held", 0, 1);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "held"), 0);
    for (unsigned i = 0; i < FULL; i++) {
        snprintf(name, sizeof(name), "liar-%u", i);
        describe(name, 1000 + i * DEVICES_PER_NODE_MAX, DEVICES_PER_NODE_MAX);
    }
    assert_null(ledger_lost_inventory(fx.l));
    describe("last", 100, DEVICES_PER_NODE_MAX);
    assert_non_null(ledger_lost_inventory(fx.l));
    assert_int_equal(fixture_state(&fx, "last")->device_n, 0);
    assert_non_null(fixture_state(&fx, "last")->note);
    describe("held", 200, DEVICES_PER_NODE_MAX); /* what its pod holds stays, and nothing else is given away */
    assert_int_equal(fixture_state(&fx, "held")->device_n, 1);
    assert_true(fixture_state(&fx, "held")->devices[0].lost);
    assert_null(ledger_check(fx.l));
    for (unsigned i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "liar-%u", i);
        fixture_name_op(&fx, LEDGER_NODE_GONE, name);
    }
    describe("last", 100, DEVICES_PER_NODE_MAX);
    assert_int_equal(fixture_state(&fx, "last")->device_n, DEVICES_PER_NODE_MAX);
    assert_non_null(ledger_lost_inventory(fx.l)); /* of the other one */
    fixture_name_op(&fx, LEDGER_NODE_GONE, "held");
    assert_null(ledger_lost_inventory(fx.l));
}

/* Whoever creates pods may write any name of a node into them. */
static void real_node_finds_room_among_made_up_ones(const struct demand *d)
{
    char name[32];

    for (unsigned i = 0; i < LEDGER_NODES_MAX; i++) {
        snprintf(name, sizeof(name), "made-up-%06u", i);
        assert_int_equal(fixture_pod(&fx, name, d, name, NULL), 0);
    }
    describe("real", 0, 2); /* it asserts success */
    assert_int_equal(fixture_state(&fx, "real")->device_n, 2);
    assert_int_equal(fixture_pod(&fx, "pod", d, "real", NULL), 0);
}

static void pods_without_gpus_on_nodes_that_do_not_exist__real_nodes_find_room(void **state)
{
    const struct demand nothing = {.dialect = ""};

    real_node_finds_room_among_made_up_ones(&nothing);
}

static void pods_with_gpus_on_nodes_that_do_not_exist__real_nodes_find_room(void **state)
{
    const struct demand d = SHARE_OF(100);

    real_node_finds_room_among_made_up_ones(&d);
}

#define TEST(f) EMPTY_LEDGER_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(node_with_a_new_uuid_and_model__a_million_times__tables_as_small_as_before),
        TEST(nodes_that_come_and_go__a_million_names__tables_as_small_as_before),
        TEST(device_that_is_held__keeps_its_names_until_the_pod_goes),
        TEST(snapshot_iterator_mirror_and_news__read_after_their_node_has_gone),
        TEST(model_in_the_place_of_another__patterns_judge_the_new_one),
        TEST(pods_without_gpus_on_nodes_that_do_not_exist__real_nodes_find_room),
        TEST(pods_with_gpus_on_nodes_that_do_not_exist__real_nodes_find_room),
        TEST(more_models_than_there_is_room_for__said_and_over_when_they_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
