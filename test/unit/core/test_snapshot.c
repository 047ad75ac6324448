/* The copy of everything for people: what is in it, and that it is one moment's. */
#include "core/ledger/snapshot.h"
#include "core/support/tested_ledger.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
    fixture_init(&fx);
    fixture_node(&fx, "n2", 2, 80 * GIB);
    fixture_node(&fx, "n1", 1, 40 * GIB);
    return 0;
}

static const struct snapshot *take(const char *node, const char *namespace_)
{
    arena_reset(&fx.arena);
    assert_int_equal(snapshot_take(fx.l, &fx.arena, str_of(node), str_of(namespace_), &fx.snapshot, NULL), 0);
    return &fx.snapshot;
}

/* Default's pod "a" on GPU 0 of n2, "f" without a record on n1, "p" pending. */
static void fill(void)
{
    struct demand third = SHARE_AND_MEMORY_OF(300, 4 * GIB), half = SHARE_OF(500);
    struct assignment as = RECORD_OF("decided", "GPU-n2-0", 0, 300, 4 * GIB);

    fixture_pod(&fx, "a", &third, "n2", &as);
    fixture_pod(&fx, "f", &half, "n1", NULL);
    fixture_pod(&fx, "p", &half, NULL, NULL);
}

static void take__nodes_devices_pods__are_all_there_nodes_by_name(void **state)
{
    const struct snapshot *s;
    const struct snapshot_device *d;

    fill();
    s = take(NULL, NULL);
    assert_int_equal(s->generation, ledger_generation(fx.l));
    assert_true(ledger_is_synced(fx.l));
    assert_int_equal(s->node_n, 2);
    assert_true(str_eq_cstr(s->nodes[0].name, "n1"));
    assert_true(str_eq_cstr(s->nodes[1].name, "n2"));
    assert_int_equal(s->pod_n, 3);
    d = &s->nodes[1].devices[0];
    assert_true(str_eq_cstr(d->uuid, "GPU-n2-0"));
    assert_true(str_eq_cstr(d->model, "A100"));
    assert_true(d->healthy && !d->lost && !d->exclusive);
    assert_int_equal(d->milli_cap, 1000);
    assert_int_equal(d->milli_charged, 300);
    assert_int_equal(d->mem_cap_mib, 80 * GIB);
    assert_int_equal(d->mem_charged_mib, 4 * GIB);
    assert_int_equal(d->slot_charged, 1);
    assert_int_equal(d->allocation_n, 1);
    assert_true(str_eq_cstr(d->allocations[0].container, "main"));
    assert_int_equal(d->allocations[0].milli, 300);
    assert_true(str_eq_cstr(s->pods[d->allocations[0].pod].uid, "a"));
    assert_int_equal(s->nodes[1].devices[1].allocation_n, 0);
}

static void take__pods__state_node_decision_and_conflict(void **state)
{
    const struct snapshot *s;

    fill();
    s = take(NULL, NULL);
    assert_int_equal(fixture_pod_in(s, STR("a"))->state, LEDGER_BOUND);
    assert_true(str_eq_cstr(fixture_pod_in(s, STR("a"))->decision_id, "decided"));
    assert_true(str_eq_cstr(fixture_pod_in(s, STR("a"))->node_name, "n2"));
    assert_false(fixture_pod_in(s, STR("a"))->conflict);
    assert_int_equal(fixture_pod_in(s, STR("a"))->since_ms, 1000);
    assert_int_equal(fixture_pod_in(s, STR("f"))->state, LEDGER_FOREIGN);
    assert_true(fixture_pod_in(s, STR("f"))->conflict);
    assert_non_null(fixture_pod_in(s, STR("f"))->conflict_text);
    assert_int_equal(fixture_pod_in(s, STR("p"))->state, LEDGER_PENDING);
    assert_int_equal(fixture_pod_in(s, STR("p"))->node_name.n, 0);
}

static void take__foreign_pod__one_allocation_per_device_without_container(void **state)
{
    const struct snapshot_device *d;

    fill();
    d = take(NULL, NULL)->nodes[0].devices;
    assert_int_equal(d->allocation_n, 1);
    assert_int_equal(d->allocations[0].container.n, 0);
    assert_int_equal(d->allocations[0].milli, 500);
    assert_int_equal(d->allocations[0].mem_mib, 20 * GIB);
}

/* What was asked for is said where the charge does not tell: of a virtual GPU of a fixed profile all is charged. */
static void take__allocation__what_was_asked_where_the_charge_is_another(void **state)
{
    const struct {
        struct demand demand;
        int32_t milli; /* what is charged of an ordinary GPU, with mem_mib */
        int64_t mem_mib;
        int32_t asked_milli; /* of a fixed one, with the next */
        int64_t asked_mem_mib;
    } rows[] = {
        {SHARE_OF(300), 300, 24 * GIB, 300, 0},
        {SHARE_AND_MEMORY_OF(300, 4 * GIB), 300, 4 * GIB, 300, 4 * GIB},
        {MEMORY_OF(8 * GIB), 100, 8 * GIB, 0, 8 * GIB},
        {SHARE_AND_MEMORY_OF(300, 80 * GIB), 300, 80 * GIB, 300, 80 * GIB},
    };
    struct device device = {
        .uuid = STR("GPU-v"), .model = STR("A100"), .mem_mib = 80 * GIB, .slot_n = 16, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};
    const struct ledger_op op = fixture_description("v", &inventory);

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t row = i / 2;
        const bool fixed = i % 2 == 1;
        const struct snapshot_allocation *a;

        device.slice = fixed;
        device.slot_n = fixed ? 1 : 16;
        fixture_apply(&fx, &op);
        assert_int_equal(fixture_pod(&fx, "p", &rows[row].demand, NULL, NULL), 0);
        assert_int_equal(fixture_reserve(&fx, "p", "v"), 0);
        a = &take("v", NULL)->nodes[0].devices[0].allocations[0];
        assert_int_equal(a->milli, fixed ? 1000 : rows[row].milli);
        assert_int_equal(a->mem_mib, fixed ? 80 * GIB : rows[row].mem_mib);
        assert_int_equal(a->phases, 1);
        assert_int_equal(a->asked_milli, fixed ? rows[row].asked_milli : 0);
        assert_int_equal(a->asked_mem_mib, fixed ? rows[row].asked_mem_mib : 0);
        fixture_name_op(&fx, LEDGER_POD_GONE, "p");
    }
}

/* Instances are picked by the plugin of the node, and this one has none that does: nobody gave the pod any. */
static void take__instances_on_a_node_without_them__nobody_decided_that(void **state)
{
    struct gpu_request w = {.container = STR("main"),
                            .count = 1,
                            .kind = GPU_REQUEST_WHOLE,
                            .milli = 1000,
                            .phases = 1,
                            .profile = MIG_PROFILE(1, 5)};
    const struct demand d = {.dialect = "native", .gpu_request_n = 1, .gpu_requests = &w};
    const struct snapshot_pod *p;

    fixture_pod(&fx, "i", &d, "n1", NULL);
    fixture_pod(&fx, "waits", &d, NULL, NULL);
    fixture_pod(&fx, "early", &d, "not described", NULL);
    p = fixture_pod_in(take(NULL, NULL), STR("i"));
    assert_int_equal(p->state, LEDGER_FOREIGN);
    assert_true(p->conflict);
    assert_non_null(strstr(p->conflict_text, "without an assignment"));
    assert_non_null(p->demand);
    assert_false(fixture_pod_in(&fx.snapshot, STR("waits"))->conflict);
    assert_int_equal(fixture_pod_in(&fx.snapshot, STR("waits"))->state, LEDGER_PENDING);
    assert_non_null(fixture_pod_in(&fx.snapshot, STR("waits"))->demand);
    assert_false(fixture_pod_in(&fx.snapshot, STR("early"))->conflict);
}

/* More allocations than there is room for without asking for memory. */
static void take__many_pods_on_one_node__all_are_shown(void **state)
{
    enum { PODS = 70 };
    struct demand d = SHARE_OF(1);
    const struct snapshot_node *n;
    bool seen[PODS] = {false};
    size_t shown = 0;
    char uid[16];

    fixture_node(&fx, "many", 5, 80 * GIB);
    for (int i = 0; i < PODS; i++) {
        snprintf(uid, sizeof(uid), "%d", i);
        assert_int_equal(fixture_pod(&fx, uid, &d, NULL, NULL), 0);
        assert_int_equal(fixture_reserve(&fx, uid, "many"), 0);
    }
    n = fixture_state(&fx, "many");
    for (size_t i = 0; i < n->device_n; i++) {
        for (size_t k = 0; k < n->devices[i].allocation_n; k++, shown++) {
            uint64_t number;

            assert_true(str_to_u64(fx.snapshot.pods[n->devices[i].allocations[k].pod].uid, PODS - 1, &number));
            assert_false(seen[number]);
            seen[number] = true;
        }
    }
    assert_int_equal(shown, PODS);
}

/* The map of a GPU that is cut: its own instances where their places are known, and only of a model that is. */
static void take__gpu_in_mig_mode__map_of_its_instances(void **state)
{
    static const char *const models[] = {"NVIDIA A100-SXM4-40GB", "made up"};
#define CUT(i)                                                                                                         \
    {                                                                                                                  \
        .index = (i), .mem_mib = 40 * GIB, .slot_n = 16, .healthy = true, .profile = DEVICE_IN_MIG_MODE,               \
        .gpu_index = -1, .start = -1                                                                                   \
    }
#define INSTANCE(i, profile_, gpu, start_)                                                                             \
    {                                                                                                                  \
        .index = 100 + (i), .mem_mib = 4864, .slot_n = 1, .healthy = true, .profile = (profile_), .gpu_index = (gpu),  \
        .start = (start_)                                                                                              \
    }
    struct device devices[] = {CUT(0),
                               CUT(1),
                               INSTANCE(0, MIG_PROFILE(1, 5), 0, 0),
                               INSTANCE(1, MIG_PROFILE(2, 10), 0, 4),
                               INSTANCE(2, MIG_PROFILE(1, 5), 1, 6),
                               INSTANCE(3, MIG_PROFILE(1, 5), 0, -1)};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 6};
    const struct ledger_op op = fixture_description("cut", &inventory);

    for (size_t known = 0; known < 2; known++) {
        const struct snapshot_device *d;

        for (size_t i = 0; i < 6; i++) {
            devices[i].model = str_of(models[known]);
        }
        fixture_apply(&fx, &op);
        d = take("cut", NULL)->nodes[0].devices;
        assert_int_equal(d[0].mig_family == NULL, known == 1);
        assert_int_equal(d[0].mig_occupied, known == 0 ? 1 | 1 << 4 | 1 << 5 : 0);
        assert_int_equal(d[1].mig_occupied, known == 0 ? 1 << 6 : 0);
        assert_true(d[0].milli_cap == 0 && d[0].mem_cap_mib == 0 && d[0].slot_cap == 0);
        assert_true(d[0].milli_charged == 0 && d[0].mem_charged_mib == 0 && d[0].slot_charged == 0 && !d[0].exclusive);
        assert_null(d[2].mig_family);
    }
}

/* What a pod asked for is told where nothing that it holds tells it. */
static void take__demand__of_pods_that_hold_nothing_that_tells(void **state)
{
    const struct demand plugin = {.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1};

    fill();
    fixture_node_plugin_managed(&fx, "n3", 2, 0, 2);
    fixture_pod(&fx, "w", &plugin, "n3", NULL);
    (void)take(NULL, NULL);
    assert_null(fixture_pod_in(&fx.snapshot, STR("a"))->demand); /* its allocation */
    assert_null(fixture_pod_in(&fx.snapshot, STR("w"))->demand); /* its number of GPUs */
    assert_non_null(fixture_pod_in(&fx.snapshot, STR("f"))->demand);
    assert_non_null(fixture_pod_in(&fx.snapshot, STR("p"))->demand);
}

static void take__one_node__its_devices_and_pods_only(void **state)
{
    const struct snapshot *s;

    fill();
    s = take("n2", NULL);
    assert_int_equal(s->node_n, 1);
    assert_true(str_eq_cstr(s->nodes[0].name, "n2"));
    assert_int_equal(s->pod_n, 1);
    assert_non_null(fixture_pod_in(s, STR("a")));
    assert_int_equal(take("nowhere", NULL)->node_n, 0);
}

static void take__one_namespace__other_pods_are_numbers_only(void **state)
{
    const struct snapshot *s;

    fill();
    s = take(NULL, "strangers");
    assert_int_equal(s->node_n, 2);
    assert_int_equal(s->pod_n, 0);
    assert_int_equal(s->nodes[1].devices[0].allocation_n, 0);
    assert_int_equal(s->nodes[1].devices[0].milli_charged, 300);
    assert_int_equal(take(NULL, "default")->pod_n, 3);
}

/* A node that only its pods speak of, whether its object is gone or was never seen: nobody says that it takes pods. */
static void take__node_without_an_object__is_not_schedulable(void **state)
{
    struct demand d = SHARE_OF(100);
    const struct snapshot *s;

    fill();
    assert_true(take(NULL, NULL)->nodes[1].schedulable);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n2");
    fixture_pod(&fx, "early", &d, "n3", NULL);
    s = take(NULL, NULL);
    assert_int_equal(s->node_n, 3);
    for (size_t i = 1; i < 3; i++) {
        assert_false(s->nodes[i].described);
        assert_false(s->nodes[i].schedulable);
    }
    fixture_node(&fx, "n2", 2, 80 * GIB);
    assert_true(take(NULL, NULL)->nodes[1].schedulable);
}

static void take__later_ops__do_not_change_it(void **state)
{
    const struct snapshot *s;

    fill();
    s = take(NULL, NULL);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n2");
    fixture_node(&fx, "n9", 4, GIB);
    assert_true(str_eq_cstr(s->nodes[1].name, "n2"));
    assert_true(str_eq_cstr(s->nodes[1].devices[0].uuid, "GPU-n2-0"));
    assert_true(str_eq_cstr(fixture_pod_in(s, STR("a"))->name, "a"));
    assert_int_equal(s->nodes[1].devices[0].milli_charged, 300);
}

static void take__arena_too_small__is_an_error_that_says_so(void **state)
{
    struct arena small;
    struct snapshot s;
    struct err err;

    fill();
    for (size_t bytes = 16; bytes < 2048; bytes += 16) { /* every place where memory may end */
        arena_init(&small, bytes);
        if (snapshot_take(fx.l, &small, STR_NULL, STR_NULL, &s, &err) != 0) {
            assert_int_equal(err.code, ERR_LIMIT);
        }
        arena_fini(&small);
    }
    arena_init(&small, 256);
    assert_int_equal(snapshot_take(fx.l, &small, STR_NULL, STR_NULL, &s, &err), -ERR_LIMIT);
    assert_non_null(strstr(err.msg, "namespace"));
    arena_fini(&small);
}

static void take__empty_ledger__is_empty(void **state)
{
    struct ledger_limits limits = {{1, 2}, 1000, 1000};
    struct ledger *l = ledger_new(&limits);
    struct snapshot s;

    assert_int_equal(snapshot_take(l, &fx.arena, STR_NULL, STR_NULL, &s, NULL), 0);
    assert_int_equal(s.node_n + s.pod_n + s.device_n, 0);
    assert_false(ledger_is_synced(l));
    ledger_free(l);
}

static void totals__agree_with_the_full_snapshot(void **state)
{
    struct snapshot t;
    const struct snapshot *s;
    int64_t milli_cap = 0, milli = 0, mem_cap = 0, mem = 0;
    uint64_t devices = 0, by_state[LEDGER_POD_STATE__MAX] = {0};

    fill();
    s = take(NULL, NULL);
    snapshot_totals(fx.l, &t);
    for (size_t i = 0; i < s->node_n; i++) {
        for (size_t j = 0; j < s->nodes[i].device_n; j++, devices++) {
            milli_cap += s->nodes[i].devices[j].milli_cap;
            milli += s->nodes[i].devices[j].milli_charged;
            mem_cap += s->nodes[i].devices[j].mem_cap_mib;
            mem += s->nodes[i].devices[j].mem_charged_mib;
        }
    }
    for (size_t i = 0; i < s->pod_n; i++) {
        by_state[s->pods[i].state]++;
    }
    assert_int_equal(t.device_n, devices);
    assert_int_equal(t.milli_cap, milli_cap);
    assert_int_equal(t.milli_charged, milli);
    assert_int_equal(t.mem_cap_mib, mem_cap);
    assert_int_equal(t.mem_charged_mib, mem);
    assert_int_equal(t.overcommitted_n, 0);
    assert_memory_equal(t.pods_by_state, by_state, sizeof(by_state));
    assert_null(t.nodes);
    assert_null(t.pods);
    assert_int_equal(t.generation, s->generation);
}

static void totals__device_below_zero__counts_as_overcommitted(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(100, 60 * GIB);
    struct snapshot t;

    fixture_pod(&fx, "a", &d, "n1", NULL);
    snapshot_totals(fx.l, &t);
    assert_int_equal(t.overcommitted_n, 1);
}

static void totals__closed_nodes__they_and_who_holds_something_there(void **state)
{
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION};
    struct ledger_op op = fixture_description("closed", &inventory);
    struct demand d = SHARE_OF(1);
    struct snapshot t;

    op.node.closed = true;
    fixture_apply(&fx, &op);
    op.node.name = STR("closed too");
    fixture_apply(&fx, &op);
    fill();
    fixture_pod(&fx, "c1", &d, "closed", NULL);
    fixture_pod(&fx, "c2", &d, "closed", NULL);
    fixture_pod(&fx, "c3", &d, "closed too", NULL);
    snapshot_totals(fx.l, &t);
    assert_int_equal(t.closed_n, 2);
    assert_int_equal(t.pod_on_closed_n, 3);
    assert_int_equal(t.node_n, 4);
}

static void totals__devices_of_a_node_that_is_gone__do_not_count(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n7-0", 0, 300, 24 * GIB);
    struct snapshot before, t;

    snapshot_totals(fx.l, &before);
    fixture_node(&fx, "n7", 1, 80 * GIB);
    fixture_pod(&fx, "gone", &d, "n7", &as);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n7");
    assert_int_equal(fixture_state(&fx, "n7")->device_n, 1); /* lost, and still shown */
    snapshot_totals(fx.l, &t);
    assert_int_equal(t.device_n, before.device_n);
    assert_int_equal(t.milli_cap, before.milli_cap);
    assert_int_equal(t.milli_charged, before.milli_charged);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, ledger_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(take__nodes_devices_pods__are_all_there_nodes_by_name),
        T(take__pods__state_node_decision_and_conflict),
        T(take__foreign_pod__one_allocation_per_device_without_container),
        T(take__allocation__what_was_asked_where_the_charge_is_another),
        T(take__instances_on_a_node_without_them__nobody_decided_that),
        T(take__gpu_in_mig_mode__map_of_its_instances),
        T(take__many_pods_on_one_node__all_are_shown),
        T(take__demand__of_pods_that_hold_nothing_that_tells),
        T(take__one_node__its_devices_and_pods_only),
        T(take__one_namespace__other_pods_are_numbers_only),
        T(take__node_without_an_object__is_not_schedulable),
        T(take__later_ops__do_not_change_it),
        T(take__arena_too_small__is_an_error_that_says_so),
        T(take__empty_ledger__is_empty),
        T(totals__agree_with_the_full_snapshot),
        T(totals__device_below_zero__counts_as_overcommitted),
        T(totals__closed_nodes__they_and_who_holds_something_there),
        T(totals__devices_of_a_node_that_is_gone__do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
