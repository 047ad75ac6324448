/* The safety rules of the ledger, one situation each. */
#include "core/ledger/view.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

static void reserve__two_halves__share_one_device(void **state)
{
    struct demand half = SHARE_OF(500);
    struct demand more;

    more = SHARE_OF(600);
    fixture_pod(&fx, "a", &half, NULL, NULL);
    fixture_pod(&fx, "b", &half, NULL, NULL);
    fixture_pod(&fx, "c", &more, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_reserve(&fx, "c", "n1"), 0);
    assert_int_equal(fixture_reserve(&fx, "b", "n1"), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0) + fixture_milli_free(&fx, "n1", 1), 400);
    assert_true(fixture_milli_free(&fx, "n1", 0) == 0 || fixture_milli_free(&fx, "n1", 1) == 0);
}

static void reserve__nothing_left__is_refused_and_changes_nothing(void **state)
{
    struct demand whole = WHOLE_GPUS(2);
    struct demand one = SHARE_OF(1);

    fixture_pod(&fx, "a", &whole, NULL, NULL);
    fixture_pod(&fx, "b", &one, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_reserve(&fx, "b", "n1"), VERDICT_HELD_ALONE);
    assert_int_equal(fixture_pod_state(&fx, "b"), LEDGER_PENDING);
}

static void reserve__same_uid_twice__is_a_conflict(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), -ERR_CONFLICT);
}

static void reserve__stale_placement__is_refused(void **state)
{
    struct demand d = SHARE_OF(600);
    struct placement at;
    struct ledger_op op = {.kind = LEDGER_RESERVE,
                           .reserve = {.node_name = STR("n1"), .decision_id = STR("x"), .placement = &at}};

    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "b", &d, NULL, NULL);
    at.gpu_request_devices[0] = 1;
    op.reserve.uid = STR("a");
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
    op.reserve.uid = STR("b");
    assert_int_equal(ledger_apply(fx.l, &op, NULL), -ERR_CONFLICT);
    at.gpu_request_devices[0] = UINT64_C(1) << 63; /* a device the node does not have */
    assert_int_equal(ledger_apply(fx.l, &op, NULL), -ERR_CONFLICT);
    at.gpu_request_devices[0] = 0;
    assert_int_equal(ledger_apply(fx.l, &op, NULL), -ERR_CONFLICT);
    assert_int_equal(fixture_pod_state(&fx, "b"), LEDGER_PENDING);
}

static void reservation__late_event_shows_pod_unbound__stays_charged(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_RESERVED);
    fixture_name_op(&fx, LEDGER_CONFIRM, "a");
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_CONFIRMED);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void reservation__relist_without_the_pod__stays_until_its_binding_decides(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    fixture_name_op(&fx, LEDGER_RELEASE, "a");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(ledger_find_pod(fx.l, STR("a"), &(struct ledger_pod){0}), false);
}

static void release__frees_and_adopts_the_request_seen_meanwhile(void **state)
{
    struct demand before = ANNOTATED_SHARE_OF(300), after = ANNOTATED_SHARE_OF(900);

    fixture_pod(&fx, "a", &before, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &after, NULL, NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    fixture_name_op(&fx, LEDGER_RELEASE, "a");
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 100);
}

static void watch__faster_than_the_reply__confirm_and_release_change_nothing(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("a", "GPU-n1-0", 0, 300, 24 * GIB);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void gone__twice__frees_once(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
}

static void bypass__bound_without_record__counts_on_every_device(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
    assert_int_equal(fixture_mem_free(&fx, "n1", 1), 80 * GIB - 24 * GIB);
}

static void bypass__record_arrives_later__moves_to_its_device(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 300, 0);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

static void bypass__malformed_request__takes_whole_devices(void **state)
{
    struct demand d = {.defect = DEMAND_FRACTION, .dialect = "native"};

    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 0);
    assert_true(fixture_state(&fx, "n1")->devices[1].exclusive);
}

/* defects.md B4: elastic-gpu and gpu-admission panic on these. */
static void B4__forged_record__counts_pessimistically(void **state)
{
    static const int32_t indexes[] = {99, 2, INT32_MAX};
    struct demand d = SHARE_OF(300);
    struct assigned_container c;
    struct assigned_device dev;

    for (size_t i = 0; i < 3; i++) {
        struct assignment as = fixture_record(&c, &dev, "x", "GPU-of-nobody", indexes[i], 1, 1);

        fixture_pod(&fx, "a", &d, "n1", &as);
        assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
        assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
        fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    }
}

static void tamper__record_edited_after_binding__is_ignored_and_shown(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assigned_container c;
    struct assigned_device dev;
    struct assignment as = fixture_record(&c, &dev, "x", "GPU-n1-0", 0, 300, 0);

    fixture_pod(&fx, "a", &d, "n1", &as);
    as = fixture_record(&c, &dev, "x", "GPU-n1-1", 1, 1, 0);
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
    (void)fixture_state(&fx, "n1");
    assert_true(fx.snapshot.pods[0].conflict);
    fixture_pod(&fx, "a", &d, "n1", NULL); /* the record removed */
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void rule1__edited_request__charge_never_falls(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(500), less = ANNOTATED_SHARE_OF(100);
    struct demand none = {.dialect = ""};
    struct demand broken = {.defect = DEMAND_FRACTION, .dialect = "native"};
    struct assignment as = RECORD_OF("x", "GPU-n1-0", 0, 500, 40 * GIB);

    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
    fixture_pod(&fx, "a", &less, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
    fixture_pod(&fx, "a", &none, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
    fixture_pod(&fx, "a", &broken, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
}

static void rule1__edited_request_grows__charge_follows(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(500), more = ANNOTATED_SHARE_OF(700);
    struct assignment as = RECORD_OF("x", "GPU-n1-0", 0, 500, 40 * GIB);

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_pod(&fx, "a", &more, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
}

static void rule1__restart_after_edit__record_is_the_floor(void **state)
{
    struct demand less = ANNOTATED_SHARE_OF(100);
    struct demand none = {.dialect = ""};
    struct assigned_container c;
    struct assigned_device dev;
    struct assignment as = fixture_record(&c, &dev, "x", "GPU-n1-0", 0, 500, 40 * GIB);

    fixture_pod(&fx, "a", &less, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
    assert_int_equal(fixture_mem_free(&fx, "n1", 0), 40 * GIB);
    as = fixture_record(&c, &dev, "y", "GPU-n1-1", 1, 200, 8 * GIB);
    fixture_pod(&fx, "b", &none, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 800);
    assert_int_equal(fixture_mem_free(&fx, "n1", 1), 72 * GIB);
}

static void rule1__resources__record_amounts_do_not_count(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-0", 0, 1, 1);

    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

/* defects.md B1: gpushare's free memory wraps once a pod claims more than a device has. */
static void B1__foreign_pod_larger_than_the_device__free_is_negative_and_device_closed(void **state)
{
    struct demand huge = SHARE_AND_MEMORY_OF(100, 500 * GIB), small = SHARE_AND_MEMORY_OF(0, 1);

    fixture_pod(&fx, "a", &huge, "n1", NULL);
    assert_int_equal(fixture_mem_free(&fx, "n1", 0), -420 * GIB);
    fixture_pod(&fx, "b", &small, NULL, NULL);
    assert_true(fixture_reserve(&fx, "b", "n1") > 0);
    fixture_pod(&fx, "c", &huge, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "c", "n1"), VERDICT_GPU_TOO_SMALL);
}

/* defects.md B2: gpushare keeps the old capacity. */
static void B2__node_shrinks__free_follows_below_zero(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(500, 60 * GIB), small = SHARE_AND_MEMORY_OF(1, 1);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_node(&fx, "n1", 2, 40 * GIB);
    assert_int_equal(fixture_mem_free(&fx, "n1", 0), -20 * GIB);
    fixture_pod(&fx, "b", &small, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "b", "n1"), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 999); /* the open device, not the closed one */
}

static void device_lost__pod_keeps_it_until_gone_and_others_stay_free(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 300, 0);

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_node(&fx, "n1", 1, 80 * GIB);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 2);
    assert_true(fixture_state(&fx, "n1")->devices[1].lost);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 1);
}

/* While the pod is taken off its node and put back, nobody holds the device. */
static void device_lost__its_pod_bound_by_another_decision__stays_and_others_stay_free(void **state)
{
    struct demand d = SHARE_OF(300), whole = WHOLE_GPUS(1);
    struct assignment as = RECORD_OF("other", "GPU-n1-1", 1, 300, 0);

    fixture_pod(&fx, "first", &whole, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "first", "n1"), 0);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "first");
    fixture_node(&fx, "n1", 1, 80 * GIB);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 2);
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 2);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 1);
}

/* The other half: nothing keeps a device that no record names, nor one of a pod that asks for
 * nothing any more. */
static void device_lost__its_pod_bound_without_naming_it__goes(void **state)
{
    struct demand d = WHOLE_GPUS(2);
    const struct demand nothing = {.dialect = ""};

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_node(&fx, "n1", 1, 80 * GIB);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 2);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 1);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 0);

    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    fixture_node(&fx, "n1", 2, 80 * GIB);
    fixture_pod(&fx, "b", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "b", "n1"), 0);
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fixture_pod(&fx, "b", &nothing, "n2", NULL);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 1);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
}

/* A lost device is memory and no fact, so the order of facts decides whether a pod that names it
 * finds it. Both answers are safe: it holds what is closed to others, or it counts everywhere. */
static void device_lost__named_while_its_holder_is_there__taken_and_others_stay_free(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 300, 0);

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fixture_pod(&fx, "b", &d, "n1", &as);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 2);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

static void device_lost__named_when_its_holder_has_left__counts_on_every_device(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 300, 0);

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    fixture_pod(&fx, "b", &d, "n1", &as);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 1);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void uuids_appear__pods_known_by_index_stay_on_their_devices(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "", 1, 300, 0);

    fixture_node_indexes(&fx, "n2", 2, 80 * GIB);
    fixture_pod(&fx, "a", &d, "n2", &as);
    assert_int_equal(fixture_milli_free(&fx, "n2", 1), 700);
    fixture_node(&fx, "n2", 2, 80 * GIB);
    assert_int_equal(fixture_state(&fx, "n2")->device_n, 2);
    assert_int_equal(fixture_milli_free(&fx, "n2", 1), 700);
    assert_int_equal(fixture_milli_free(&fx, "n2", 0), 1000);
}

/* Found by test_ledger_random: the node was forgotten between taking the pod off it and putting it back. */
static uint64_t version_of(const char *node)
{
    struct demand d = SHARE_OF(100);
    struct ledger_view v;
    struct str name = str_of(node);
    uint64_t version;

    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("probe", &d), &v, NULL), 0);
    version = v.nodes[ledger_view_index(&v, &name)].version;
    arena_reset(&fx.arena);
    return version;
}

/* A list repeats them all: its node must not be computed again for each. */
static void foreign_pod__observed_again_as_it_was__node_is_not_touched(void **state)
{
    struct demand d = SHARE_OF(300), more = SHARE_OF(400);
    uint64_t version;

    fixture_pod(&fx, "f", &d, "n1", NULL);
    fixture_pod(&fx, "g", &d, "n1", NULL);
    version = version_of("n1");
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_pod(&fx, "f", &d, "n1", NULL);
    fixture_pod(&fx, "g", &d, "n1", NULL);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_true(version_of("n1") == version);
    assert_int_equal(fixture_pod_state(&fx, "f"), LEDGER_FOREIGN);
    fixture_pod(&fx, "f", &more, "n1", NULL);
    assert_true(version_of("n1") != version);
}

static void foreign_pod_on_unseen_node__observed_again__stays_attached(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, "n9", NULL);
    fixture_pod(&fx, "a", &d, "n9", NULL);
    assert_null(ledger_check(fx.l));
    fixture_node(&fx, "n9", 1, 80 * GIB);
    assert_int_equal(fixture_milli_free(&fx, "n9", 0), 700);
}

static void pod_before_node__is_charged_when_the_node_appears(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n9-1", 1, 300, 0);

    fixture_pod(&fx, "a", &d, "n9", &as);
    fixture_node(&fx, "n9", 2, 80 * GIB);
    assert_int_equal(fixture_milli_free(&fx, "n9", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n9", 1), 700);
}

static void node_recreated__its_pods_still_count(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n1");
    assert_null(ledger_check(fx.l));
    fixture_node(&fx, "n1", 2, 80 * GIB);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void exclusion__shares_and_whole_pods_keep_off_each_other(void **state)
{
    struct gpu_request w;
    struct demand share = fixture_share(&w, 300);
    struct demand whole = {.dialect = "native", .plugin_managed_n = 1};

    fixture_node_plugin_managed(&fx, "w1", 2, 80 * GIB, 2);
    fixture_node_plugin_managed(&fx, "w2", 2, 80 * GIB, 2);
    fixture_pod(&fx, "s", &share, NULL, NULL);
    fixture_pod(&fx, "w", &whole, NULL, NULL);
    fixture_pod(&fx, "s2", &share, NULL, NULL);
    fixture_pod(&fx, "w2", &whole, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "s", "w1"), 0);
    assert_int_equal(fixture_reserve(&fx, "w", "w1"), VERDICT_SHARES_HERE);
    assert_int_equal(fixture_reserve(&fx, "w", "w2"), 0);
    assert_int_equal(fixture_reserve(&fx, "s2", "w2"), VERDICT_WHOLE_PODS_HERE);
    assert_int_equal(fixture_reserve(&fx, "w2", "w2"), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "w");
    fixture_name_op(&fx, LEDGER_POD_GONE, "w2");
    assert_int_equal(fixture_reserve(&fx, "s2", "w2"), 0);
}

static void isolation__works_both_ways(void **state)
{
    uint64_t app = label_pair_hash(STR("app"), STR("train"));
    struct demand plain = SHARE_OF(300), shy = SHARE_OF(300);
    struct ledger_op train = fixture_observation("t", &plain, NULL, NULL);

    train.pod.label_hashes = &app;
    train.pod.label_n = 1;
    shy.isolate = &app;
    shy.isolate_n = 1;
    fixture_node(&fx, "one", 1, 80 * GIB);
    assert_int_equal(ledger_apply(fx.l, &train, NULL), 0);
    fixture_pod(&fx, "s", &shy, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "t", "one"), 0);
    assert_int_equal(fixture_reserve(&fx, "s", "one"), VERDICT_ISOLATED);
    fixture_name_op(&fx, LEDGER_RELEASE, "t");
    assert_int_equal(fixture_reserve(&fx, "s", "one"), 0);
    assert_int_equal(fixture_reserve(&fx, "t", "one"), VERDICT_ISOLATED);
}

static void assignment__round_trip_through_a_restart__same_devices(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(300, 4096);
    struct assignment as;
    struct arena a;

    arena_init(&a, 1 << 20);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    assert_int_equal(ledger_assignment(fx.l, STR("a"), &a, &as, NULL), 0);
    assert_int_equal(as.container_n, 1);
    assert_int_equal(as.containers[0].devices[0].milli, 300);
    assert_int_equal(as.containers[0].devices[0].mem_mib, 4096);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_mem_free(&fx, "n1", 0) + fixture_mem_free(&fx, "n1", 1), 160 * GIB - 4096);
    arena_fini(&a);
}

static void empty_demand__is_not_kept(void **state)
{
    struct demand none = {.dialect = ""};
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &none, NULL, NULL);
    fixture_pod(&fx, "b", &none, "n1", NULL);
    assert_false(ledger_find_pod(fx.l, STR("a"), &(struct ledger_pod){0}));
    assert_false(ledger_find_pod(fx.l, STR("b"), &(struct ledger_pod){0}));
    fixture_pod(&fx, "c", &d, NULL, NULL);
    fixture_pod(&fx, "c", &none, NULL, NULL);
    assert_false(ledger_find_pod(fx.l, STR("c"), &(struct ledger_pod){0}));
}

static void relist__pod_missing__is_freed(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-0", 0, 300, 0);

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_pod(&fx, "b", &d, "n1", &as);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_pod(&fx, "b", &d, "n1", &as);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void relist__node_missing__is_forgotten_unless_pods_are_on_it(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_node(&fx, "n2", 1, GIB);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_bracket(&fx, LEDGER_NODES_BEGIN);
    fixture_bracket(&fx, LEDGER_NODES_END);
    assert_int_equal(fixture_reserve(&fx, "a", "n2"), VERDICT_NODE_UNKNOWN);
    assert_false(fixture_state(&fx, "n1")->described);
}

#define T(f) TWO_GPUS_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(reserve__two_halves__share_one_device),
        T(reserve__nothing_left__is_refused_and_changes_nothing),
        T(reserve__same_uid_twice__is_a_conflict),
        T(reserve__stale_placement__is_refused),
        T(reservation__late_event_shows_pod_unbound__stays_charged),
        T(reservation__relist_without_the_pod__stays_until_its_binding_decides),
        T(release__frees_and_adopts_the_request_seen_meanwhile),
        T(watch__faster_than_the_reply__confirm_and_release_change_nothing),
        T(gone__twice__frees_once),
        T(bypass__bound_without_record__counts_on_every_device),
        T(bypass__record_arrives_later__moves_to_its_device),
        T(bypass__malformed_request__takes_whole_devices),
        T(B4__forged_record__counts_pessimistically),
        T(tamper__record_edited_after_binding__is_ignored_and_shown),
        T(rule1__edited_request__charge_never_falls),
        T(rule1__edited_request_grows__charge_follows),
        T(rule1__restart_after_edit__record_is_the_floor),
        T(rule1__resources__record_amounts_do_not_count),
        T(B1__foreign_pod_larger_than_the_device__free_is_negative_and_device_closed),
        T(B2__node_shrinks__free_follows_below_zero),
        T(device_lost__pod_keeps_it_until_gone_and_others_stay_free),
        T(device_lost__its_pod_bound_by_another_decision__stays_and_others_stay_free),
        T(device_lost__its_pod_bound_without_naming_it__goes),
        T(device_lost__named_while_its_holder_is_there__taken_and_others_stay_free),
        T(device_lost__named_when_its_holder_has_left__counts_on_every_device),
        T(uuids_appear__pods_known_by_index_stay_on_their_devices),
        T(foreign_pod__observed_again_as_it_was__node_is_not_touched),
        T(foreign_pod_on_unseen_node__observed_again__stays_attached),
        T(pod_before_node__is_charged_when_the_node_appears),
        T(node_recreated__its_pods_still_count),
        T(exclusion__shares_and_whole_pods_keep_off_each_other),
        T(isolation__works_both_ways),
        T(assignment__round_trip_through_a_restart__same_devices),
        T(empty_demand__is_not_kept),
        T(relist__pod_missing__is_freed),
        T(relist__node_missing__is_forgotten_unless_pods_are_on_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
