/* What others ask of the ledger without a decision: names, tenants, unverified records, copies of nodes, what a pod
 * would leave behind. */
#include "core/ledger/mirror.h"
#include "core/ledger/node_copy.h"
#include "core/ledger/sight.h"
#include "core/ledger/snapshot.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <string.h>

static void observe(const char *uid, struct demand d, const char *node)
{
    const struct ledger_op op = fixture_observation(uid, &d, node, NULL);

    fixture_apply(&fx, &op);
}

/* The pod is on GPU-n1-0, as a record says that nobody has verified. */
static void observe_unverified(const char *uid, int32_t milli, const char *proof)
{
    const struct demand d = SHARE_OF(milli);
    const struct assignment record = RECORD_OF("decided", "GPU-n1-0", 0, milli, GIB);
    struct ledger_op op = fixture_observation(uid, &d, "n1", &record);

    op.pod.record_trust = RECORD_PROVISIONAL;
    op.pod.proof = str_of(proof);
    fixture_apply(&fx, &op);
}

/* ---- names of pods ---- */

struct names {
    char text[64];
    size_t n;
};

static void add_name(void *ctx, struct str uid, struct str namespace_, struct str name)
{
    struct names *all = ctx;

    assert_true(str_eq_cstr(namespace_, "default"));
    assert_true(str_eq(uid, name));
    strncat(all->text, name.p, name.n);
    all->n++;
}

static void pod_names__in_parts__each_pod_once_and_none_that_is_gone(void **state)
{
    struct names got = {.n = 0};
    uint32_t at = 0;

    assert_false(ledger_pod_names(fx.l, &at, 2, add_name, &got));
    assert_int_equal(got.n, 0);
    observe("a", SHARE_OF(1), NULL);
    observe("b", SHARE_OF(1), "n1");
    observe("c", SHARE_OF(1), NULL);
    observe("d", SHARE_OF(1), NULL);
    fixture_name_op(&fx, LEDGER_POD_GONE, "b");
    at = 0;
    assert_true(ledger_pod_names(fx.l, &at, 2, add_name, &got));
    assert_string_equal(got.text, "a");
    assert_false(ledger_pod_names(fx.l, &at, 2, add_name, &got));
    assert_string_equal(got.text, "acd");
    assert_false(ledger_pod_names(fx.l, &at, 2, add_name, &got));
    assert_int_equal(got.n, 3);
}

/* ---- of a node ---- */

static void node__rules_and_host_group__as_described_and_none_of_a_node_unknown(void **state)
{
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION};
    struct ledger_op op = fixture_description("n2", &inventory);

    op.node.host_group = STR("machine");
    op.node.rules = 5;
    fixture_apply(&fx, &op);
    assert_int_equal(ledger_node_rules(fx.l, STR("n2")), 5);
    assert_int_equal(ledger_node_rules(fx.l, STR("n1")), 0);
    assert_int_equal(ledger_node_rules(fx.l, STR("nowhere")), 0);
    assert_true(ledger_is_in_host_group(fx.l, STR("n2")));
    assert_false(ledger_is_in_host_group(fx.l, STR("n1")));
    assert_false(ledger_is_in_host_group(fx.l, STR("nowhere")));
}

/* A node without devices points to the beginning of all, also where there are none. */
static void cluster_view__of_nothing__has_an_address_for_devices(void **state)
{
    ledger_free(fx.l);
    fx.l = ledger_new(&(struct ledger_limits){.overcommit_milli = 1000, .overcommit_mem_milli = 1000});
    assert_non_null(ledger_cluster_view(fx.l).devices);
    assert_int_equal(ledger_cluster_view(fx.l).node_n, 0);
}

static void node__gained_since__when_a_pod_ends_and_not_when_one_comes(void **state)
{
    struct ledger_view v;
    struct demand d = SHARE_OF(100);
    uint32_t n1;
    uint64_t version;

    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("asks", &d), &v, NULL), 0);
    n1 = (uint32_t)(ledger_view_find(&v, STR("n1")) - v.nodes);
    version = ledger_cluster_view(fx.l).version;
    assert_false(ledger_node_gained_since(fx.l, n1, version));
    observe("comes", SHARE_OF(100), "n1");
    assert_false(ledger_node_gained_since(fx.l, n1, version));
    fixture_name_op(&fx, LEDGER_POD_GONE, "comes");
    assert_true(ledger_node_gained_since(fx.l, n1, version));
    assert_false(ledger_node_gained_since(fx.l, n1, ledger_cluster_view(fx.l).version));
}

/* More nodes in one op than are compared one by one. */
static void node__gained_since__many_nodes_at_once(void **state)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    const struct ledger_op taken = {.kind = LEDGER_SLICES, .slices = {.note = "others hand them out"}},
                           given = {.kind = LEDGER_SLICES};
    struct demand d = SHARE_OF(100);
    struct ledger_view v;
    uint64_t version, capacity;

    for (size_t i = 1; i < 4; i++) {
        fixture_node(&fx, names[i], 1, GIB);
    }
    fixture_apply(&fx, &taken);
    version = ledger_cluster_view(fx.l).version;
    capacity = ledger_capacity_generation(fx.l);
    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("asks", &d), &v, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_false(
            ledger_node_gained_since(fx.l, (uint32_t)(ledger_view_find(&v, str_of(names[i])) - v.nodes), version));
    }
    fixture_apply(&fx, &given);
    assert_int_equal(ledger_capacity_generation(fx.l), ledger_generation(fx.l));
    assert_true(ledger_capacity_generation(fx.l) > capacity);
    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("asks", &d), &v, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(
            ledger_node_gained_since(fx.l, (uint32_t)(ledger_view_find(&v, str_of(names[i])) - v.nodes), version));
    }
}

static void node_copy__numbers_devices_group_and_nomination__are_those_of_the_view(void **state)
{
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION};
    struct ledger_op op = fixture_description("n2", &inventory);
    struct ledger_op nominated;
    struct demand d = SHARE_OF(100);
    struct ledger_view v;
    struct node_copy copy;

    op.node.host_group = STR("machine");
    fixture_apply(&fx, &op);
    observe("b", SHARE_OF(300), "n1");
    nominated = fixture_observation("first", &d, NULL, NULL);
    nominated.pod.nominated_node = STR("n1");
    nominated.pod.priority = 10;
    fixture_apply(&fx, &nominated);
    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("asks", &d), &v, NULL), 0);
    ledger_copy_node(&v, (uint32_t)(ledger_view_find(&v, STR("n1")) - v.nodes), &copy);
    assert_int_equal(copy.node.device_n, 2);
    assert_int_equal(copy.devices[0].milli_free, 700);
    assert_int_equal(copy.devices[1].milli_free, 700);
    assert_int_equal(copy.host_group.n, 0);
    assert_true(copy.nominated);
    ledger_copy_node(&v, (uint32_t)(ledger_view_find(&v, STR("n2")) - v.nodes), &copy);
    assert_int_equal(copy.node.device_n, 0);
    assert_true(str_eq_cstr(copy.host_group, "machine"));
    assert_false(copy.nominated);
}

static void unmeasured__nodes_by_name__as_many_as_are_asked_for(void **state)
{
    static const char *const names[] = {"n5", "n3", "n4"};
    struct inventory inventory = {.source = INVENTORY_RESOURCES, .unmeasured = true, .plugin_managed_n = 2};
    struct snapshot totals;
    struct str got[4];

    assert_int_equal(snapshot_unmeasured(fx.l, got, 4), 0);
    for (size_t i = 0; i < 3; i++) {
        const struct ledger_op op = fixture_description(names[i], &inventory);

        fixture_apply(&fx, &op);
    }
    observe("stays", (struct demand){.dialect = "native", .plugin_managed_n = 1}, "n4");
    assert_int_equal(snapshot_unmeasured(fx.l, got, 4), 3);
    assert_true(str_eq_cstr(got[0], "n3") && str_eq_cstr(got[1], "n4") && str_eq_cstr(got[2], "n5"));
    assert_int_equal(snapshot_unmeasured(fx.l, got, 2), 2);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n4"); /* it is kept for the sake of its pod */
    snapshot_totals(fx.l, &totals);
    assert_int_equal(totals.unmeasured_n, 2);
    assert_int_equal(snapshot_unmeasured(fx.l, got, 4), 2);
    assert_true(str_eq_cstr(got[1], "n5"));
}

/* ---- tenants ---- */

static void tenant_of__a_namespace__the_first_that_names_it_or_none(void **state)
{
    static const struct str research[] = {{"default", 7}};
    const struct tenant limits = {.name = STR("research"),
                                  .namespaces = research,
                                  .namespace_n = 1,
                                  .gpu_permille = TENANT_UNLIMITED,
                                  .milli = 2500,
                                  .mem_permille = TENANT_UNLIMITED,
                                  .mem_mib = TENANT_UNLIMITED};
    struct ledger_tenant got;

    fixture_apply(&fx, &(struct ledger_op){.kind = LEDGER_TENANTS, .tenants = {&limits, 1}});
    observe("b", SHARE_OF(300), "n1"); /* nobody knows where: on both GPUs */
    assert_true(ledger_tenant_of(fx.l, STR("default"), &got));
    assert_true(str_eq_cstr(got.name, "research"));
    assert_int_equal(got.pod_n, 1);
    assert_int_equal(got.held.milli, 600);
    assert_int_equal(got.limit.milli, 2500);
    assert_false(ledger_tenant_of(fx.l, STR("other"), &got));
}

/* ---- records that nobody has verified yet ---- */

static void unverified__counted_and_said_of_the_node__until_they_are_judged(void **state)
{
    fixture_node(&fx, "n2", 1, 80 * GIB);
    observe("plain", SHARE_OF(1), "n2");
    assert_int_equal(ledger_unverified_n(fx.l, 10), 0);
    assert_false(ledger_is_unverified(fx.l, STR("n1")));
    observe("before", SHARE_OF(1), "n1");
    observe_unverified("a", 100, "proof-a");
    observe_unverified("b", 100, "proof-b");
    observe_unverified("c", 100, "proof-c");
    assert_int_equal(ledger_unverified_n(fx.l, 10), 3);
    assert_int_equal(ledger_unverified_n(fx.l, 2), 2);
    assert_true(ledger_is_unverified(fx.l, STR("n1")));
    assert_false(ledger_is_unverified(fx.l, STR("n2")));
    assert_false(ledger_is_unverified(fx.l, STR("nowhere")));
    fixture_judge(&fx, "a", "proof-a", true);
    assert_true(ledger_is_unverified(fx.l, STR("n1")));
    fixture_judge(&fx, "c", "proof-c", false);
    fixture_name_op(&fx, LEDGER_POD_GONE, "b");
    assert_int_equal(ledger_unverified_n(fx.l, 10), 0);
    assert_false(ledger_is_unverified(fx.l, STR("n1")));
}

/* Signed once more, by another key: what is asked of whoever verifies is the proof that the pod has now. */
static void unverified__same_record_with_another_proof__that_one_is_to_be_verified(void **state)
{
    struct ledger_unverified got[2];

    observe_unverified("a", 100, "old");
    observe_unverified("a", 100, "new");
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &fx.arena, got, 2), 1);
    assert_true(str_eq_cstr(got[0].proof, "new"));
    fixture_judge(&fx, "a", "old", false); /* comes too late */
    assert_int_equal(ledger_unverified_n(fx.l, 2), 1);
    fixture_judge(&fx, "a", "new", true);
    assert_int_equal(ledger_unverified_n(fx.l, 2), 0);
}

/* In the middle of the list, at its end, at its beginning; then the list is begun anew. */
static void unverified__leave_in_any_order__the_others_stay_in_theirs(void **state)
{
    static const char *const uids[] = {"a", "b", "c", "d"}, *const leave[] = {"b", "d", "a", "c"},
                             *const left[] = {"acd", "ac", "c", ""};
    struct ledger_unverified got[5];

    for (size_t i = 0; i < 4; i++) {
        observe_unverified(uids[i], 10, uids[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        char text[5] = "";
        size_t n;

        fixture_judge(&fx, leave[i], leave[i], true);
        n = ledger_unverified(fx.l, STR_NULL, &fx.arena, got, 5);
        for (size_t k = 0; k < n; k++) {
            strncat(text, got[k].uid.p, got[k].uid.n);
        }
        assert_string_equal(text, left[i]);
    }
    observe_unverified("e", 10, "e");
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &fx.arena, got, 5), 1);
    assert_true(str_eq_cstr(got[0].uid, "e"));
}

/* ---- a mirror without one pod ---- */

static void follow(struct mirror *m)
{
    while (!mirror_follow(m, fx.l)) {
        mirror_grow(m);
    }
}

static void mirror__without_a_pod__as_if_it_had_gone_until_the_next_look(void **state)
{
    struct mirror m;
    uint32_t n1 = 0;

    mirror_init(&m);
    observe("stays", SHARE_OF(200), "n1");
    observe("moves", SHARE_OF(300), "n1");
    observe("waits", SHARE_OF(300), NULL);
    follow(&m);
    while (!str_eq_cstr(m.names[n1], "n1")) {
        n1++;
    }
    mirror_without(&m, fx.l, STR("nobody"));
    mirror_without(&m, fx.l, STR("waits"));
    assert_int_equal(mirror_devices(&m, n1)[1].milli_free, 500);
    mirror_without(&m, fx.l, STR("moves"));
    assert_int_equal(mirror_devices(&m, n1)[0].milli_free, 800);
    assert_int_equal(mirror_devices(&m, n1)[1].milli_free, 800);
    assert_int_equal(m.nodes[n1].share_pod_n, 1);
    follow(&m); /* nothing has changed in the ledger */
    assert_int_equal(mirror_devices(&m, n1)[0].milli_free, 500);
    assert_int_equal(m.nodes[n1].share_pod_n, 2);
    mirror_fini(&m);
}

/* ---- what a mirror lacks ---- */

static void describe_with_model(const char *model)
{
    const struct device device = {
        .uuid = STR("GPU-m"), .model = str_of(model), .mem_mib = GIB, .slot_n = 1, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};
    const struct ledger_op op = fixture_description("m", &inventory);

    fixture_apply(&fx, &op);
}

static bool sees_model(const struct ledger_sight *s, const char *model)
{
    bool found = false;

    for (uint32_t i = 0; i < s->model_n; i++) {
        found = found || str_eq_cstr(s->models[i], model);
    }
    return found;
}

static void sight__models__those_of_now_however_many_there_are(void **state)
{
    struct demand isolated = SHARE_OF(1);
    const uint64_t label = 7;
    struct ledger_sight s;

    ledger_sight_init(&s);
    describe_with_model("first");
    ledger_sight_take(&s, fx.l);
    assert_true(sees_model(&s, "first") && sees_model(&s, "A100"));
    assert_true(s.synced && !s.isolates && !s.sliced);
    describe_with_model("second");
    ledger_sight_take(&s, fx.l);
    assert_true(sees_model(&s, "second") && !sees_model(&s, "first"));
    ledger_sight_take(&s, fx.l);
    assert_true(sees_model(&s, "second"));
    describe_with_model("third"); /* at the place of the first one, so that there are as many */
    ledger_sight_take(&s, fx.l);
    assert_true(sees_model(&s, "third") && !sees_model(&s, "second"));
    isolated.isolate = &label;
    isolated.isolate_n = 1;
    observe("keeps away", isolated, NULL);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    ledger_sight_take(&s, fx.l);
    assert_true(s.isolates);
    ledger_sight_fini(&s);
}

/* Tables are as long as there ever were nodes and pods at a time. */
static void places__of_who_has_gone__are_used_again(void **state)
{
    uint32_t node_n;

    fixture_node(&fx, "x", 1, GIB);
    node_n = ledger_cluster_view(fx.l).node_n;
    for (int i = 0; i < 3; i++) {
        fixture_name_op(&fx, LEDGER_NODE_GONE, i % 2 == 0 ? "x" : "y");
        fixture_node(&fx, i % 2 == 0 ? "y" : "x", 1, GIB);
        assert_null(ledger_check(fx.l));
        assert_int_equal(ledger_cluster_view(fx.l).node_n, node_n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWO_GPUS_TEST(pod_names__in_parts__each_pod_once_and_none_that_is_gone),
        TWO_GPUS_TEST(node__rules_and_host_group__as_described_and_none_of_a_node_unknown),
        TWO_GPUS_TEST(cluster_view__of_nothing__has_an_address_for_devices),
        TWO_GPUS_TEST(node__gained_since__when_a_pod_ends_and_not_when_one_comes),
        TWO_GPUS_TEST(node__gained_since__many_nodes_at_once),
        TWO_GPUS_TEST(node_copy__numbers_devices_group_and_nomination__are_those_of_the_view),
        TWO_GPUS_TEST(unmeasured__nodes_by_name__as_many_as_are_asked_for),
        TWO_GPUS_TEST(tenant_of__a_namespace__the_first_that_names_it_or_none),
        TWO_GPUS_TEST(unverified__counted_and_said_of_the_node__until_they_are_judged),
        TWO_GPUS_TEST(unverified__same_record_with_another_proof__that_one_is_to_be_verified),
        TWO_GPUS_TEST(unverified__leave_in_any_order__the_others_stay_in_theirs),
        TWO_GPUS_TEST(sight__models__those_of_now_however_many_there_are),
        TWO_GPUS_TEST(places__of_who_has_gone__are_used_again),
        TWO_GPUS_TEST(mirror__without_a_pod__as_if_it_had_gone_until_the_next_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
