/* What a view says of devices for one demand. */
#include "core/ledger/view.h"
#include "core/placement/pack.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <string.h>

static struct arena arena;
static uint64_t loud, quiet;

static int setup(void **state)
{
    fixture_init(&fx);
    arena_init(&arena, 1 << 20);
    fixture_node(&fx, "n1", 3, 80 * GIB);
    loud = label_pair_hash(STR("app"), STR("loud"));
    quiet = label_pair_hash(STR("app"), STR("quiet"));
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    fixture_fini(&fx);
    return 0;
}

/* A pod with a label, bound to device `index` of n1. */
static void bound_pod(const char *uid, const char *namespace_, int32_t index, const uint64_t *label,
                      const uint64_t *isolate)
{
    struct demand d = SHARE_OF(100);
    struct assignment as = RECORD_OF(uid, "", index, 100, 0);
    struct ledger_op op = fixture_observation(uid, &d, "n1", &as);

    op.pod.namespace_ = str_of(namespace_);
    op.pod.label_hashes = label;
    op.pod.label_n = label != NULL;
    d.isolate = isolate;
    d.isolate_n = isolate != NULL;
    fixture_apply(&fx, &op);
}

/* The devices of n1 that carry `flag` in the view for pod default/`uid`, a bit each. */
static unsigned flagged(const char *uid, const struct demand *d, const uint64_t *label, enum device_flag flag)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct device_state *devices;
    struct ledger_view v;
    const struct node_state *n;
    unsigned bits = 0;

    assert_int_equal(ledger_view(fx.l, &arena,
                                 &(struct view_pod){.uid = str_of(uid),
                                                    .namespace_ = STR("default"),
                                                    .demand = d,
                                                    .label_hashes = label,
                                                    .label_n = label != NULL},
                                 &v, NULL),
                     0);
    n = ledger_view_find(&v, STR("n1"));
    assert_non_null(n);
    devices = ledger_view_devices(&v, n, buffer);
    for (unsigned i = 0; i < n->device_n; i++) {
        bits |= (unsigned)((devices[i].flags & flag) != 0) << i;
    }
    return bits;
}

static void isolation__mine__marks_devices_of_matching_pods_of_my_namespace(void **state)
{
    struct demand d = SHARE_OF(100);

    d.isolate = &loud;
    d.isolate_n = 1;
    bound_pod("a", "default", 0, &loud, NULL);
    bound_pod("b", "default", 1, &quiet, NULL);
    bound_pod("c", "other", 2, &loud, NULL);
    assert_int_equal(flagged("me", &d, &quiet, DEVICE_ISOLATED), 1);
}

static void isolation__theirs__marks_devices_of_pods_that_keep_away_from_me(void **state)
{
    struct demand d = SHARE_OF(100);

    bound_pod("a", "default", 0, NULL, &loud);
    bound_pod("b", "default", 1, NULL, &quiet);
    bound_pod("c", "other", 2, NULL, &loud);
    assert_int_equal(flagged("me", &d, &loud, DEVICE_ISOLATED), 1);
    assert_int_equal(flagged("me", &d, NULL, DEVICE_ISOLATED), 0);
}

static void isolation__from_ones_own_kind__not_from_oneself(void **state)
{
    struct demand d = SHARE_OF(100);

    d.isolate = &loud;
    d.isolate_n = 1;
    bound_pod("a", "default", 0, &loud, &loud);
    assert_int_equal(flagged("a", &d, &loud, DEVICE_ISOLATED), 0);
    assert_int_equal(flagged("b", &d, &loud, DEVICE_ISOLATED), 1);
}

static void isolation__pod_of_unknown_devices__marks_all_of_its_node(void **state)
{
    struct demand d = SHARE_OF(100);

    d.isolate = &loud;
    d.isolate_n = 1;
    bound_pod("a", "default", 99, &loud, NULL);
    assert_int_equal(flagged("me", &d, NULL, DEVICE_ISOLATED), 7);
}

static void isolation__pod_gone__no_mark_any_more(void **state)
{
    struct demand d = SHARE_OF(100);

    bound_pod("a", "default", 0, NULL, &loud);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(flagged("me", &d, &loud, DEVICE_ISOLATED), 0);
}

static void uuids__inclusion_and_exclusion__deny_the_rest(void **state)
{
    static const struct {
        const char *name;
        struct device_pattern patterns[2];
        size_t n;
        unsigned denied;
    } rows[] = {
        {"one named", {{{"GPU-n1-1", 8}, false}}, 1, 5},
        {"one excluded", {{{"GPU-n1-1", 8}, true}}, 1, 2},
        {"named and excluded", {{{"GPU-n1-1", 8}, false}, {{"GPU-n1-1", 8}, true}}, 2, 7},
        {"nobody's", {{{"GPU-x", 5}, false}}, 1, 7},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct demand d = SHARE_OF(100);
        unsigned denied;

        d.uuids = rows[i].patterns;
        d.uuid_n = rows[i].n;
        denied = flagged("me", &d, NULL, DEVICE_DENIED);
        if (denied != rows[i].denied) {
            fail_msg("%s: %u", rows[i].name, denied);
        }
    }
}

static void uuids__devices_known_by_index__meet_no_inclusion(void **state)
{
    struct device_pattern named = {STR("GPU-n1-1"), false}, excluded = {STR("GPU-n1-1"), true};
    struct demand d = SHARE_OF(100);

    fixture_node_indexes(&fx, "n1", 3, 80 * GIB);
    d.uuid_n = 1;
    d.uuids = &named;
    assert_int_equal(flagged("me", &d, NULL, DEVICE_DENIED), 7);
    d.uuids = &excluded;
    assert_int_equal(flagged("me", &d, NULL, DEVICE_DENIED), 0);
}

static void models__listed__only_nodes_that_have_them_fit(void **state)
{
    struct device l4 = {
        .uuid = STR("GPU-l4"), .model = STR("NVIDIA L4"), .mem_mib = 24 * GIB, .slot_n = 16, .healthy = true};
    struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &l4, .device_n = 1};
    struct ledger_op op = fixture_description("n2", &inventory);
    struct pack_params p = *fixture_params("tight-fit");
    struct device_pattern wanted = {STR("*l4"), false};
    struct str names[] = {STR("n1"), STR("n2")};
    struct pack_result results[2];
    struct demand d = SHARE_OF(100);
    struct ledger_view v;

    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
    assert_int_equal(ledger_view(fx.l, &arena, VIEW_POD("me", &d), &v, NULL), 0);
    assert_null(v.allowed_models);
    d.models = &wanted;
    d.model_n = 1;
    assert_int_equal(ledger_view(fx.l, &arena, VIEW_POD("me", &d), &v, NULL), 0);
    fixture_pack(&v, &p, NULL, 0, names, 2, results);
    assert_int_equal(results[0].verdict, VERDICT_NOT_ALLOWED);
    assert_int_equal(results[1].verdict, VERDICT_FITS);
}

static void find__name_never_seen_gone_or_only_mentioned_by_a_pod(void **state)
{
    struct demand d = SHARE_OF(100);
    struct ledger_view v;
    const struct node_state *mentioned;

    fixture_node(&fx, "n2", 1, GIB);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n2");
    fixture_pod(&fx, "a", &d, "n3", NULL);
    assert_int_equal(ledger_view(fx.l, &arena, VIEW_POD("me", &d), &v, NULL), 0);
    assert_int_equal(v.generation, ledger_generation(fx.l));
    assert_null(ledger_view_find(&v, STR("never")));
    assert_null(ledger_view_find(&v, STR("")));
    assert_null(ledger_view_find(&v, STR("n2")));
    mentioned = ledger_view_find(&v, STR("n3"));
    assert_true(mentioned == NULL || (mentioned->flags & NODE_DESCRIBED) == 0);
}

static void empty_ledger__gives_an_empty_view(void **state)
{
    struct ledger_limits limits = {{1, 2}, 1000, 1000};
    struct ledger *l = ledger_new(&limits);
    struct demand d = SHARE_OF(100);
    struct ledger_view v;

    assert_int_equal(ledger_view(l, &arena, VIEW_POD("me", &d), &v, NULL), 0);
    assert_int_equal(v.node_n, 0);
    assert_null(ledger_view_find(&v, STR("n1")));
    ledger_free(l);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(isolation__mine__marks_devices_of_matching_pods_of_my_namespace),
        T(isolation__theirs__marks_devices_of_pods_that_keep_away_from_me),
        T(isolation__from_ones_own_kind__not_from_oneself),
        T(isolation__pod_of_unknown_devices__marks_all_of_its_node),
        T(isolation__pod_gone__no_mark_any_more),
        T(uuids__inclusion_and_exclusion__deny_the_rest),
        T(uuids__devices_known_by_index__meet_no_inclusion),
        T(models__listed__only_nodes_that_have_them_fit),
        T(find__name_never_seen_gone_or_only_mentioned_by_a_pod),
        T(empty_ledger__gives_an_empty_view),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
