/* Cores and memory of the machines, and the classes of the pods on them. */
#include "core/ledger/view.h"
#include "core/support/tested_ledger.h"

#include "base/rng.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
    fixture_init(&fx);
    fx.host = (struct host_capacity){64000, 100000};
    return 0;
}

static struct demand with_host(struct demand d, int32_t cpu_milli, int32_t mem_mib)
{
    d.host = (struct host_request){cpu_milli, mem_mib};
    return d;
}

/* A pod without GPUs. */
static void cpu_only(const char *uid, const char *node, int32_t cpu_milli, int32_t mem_mib)
{
    const struct demand d = with_host((struct demand){.dialect = ""}, cpu_milli, mem_mib);

    assert_int_equal(fixture_pod(&fx, uid, &d, node, NULL), 0);
}

static struct node_state row_of(const char *node)
{
    const struct demand none = {.dialect = ""};
    struct ledger_view v;
    const struct node_state *row;

    arena_reset(&fx.arena);
    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("", &none), &v, NULL), 0);
    row = ledger_view_find(&v, str_of(node));
    assert_non_null(row);
    return *row;
}

static bool is_known(const char *node)
{
    const struct demand none = {.dialect = ""};
    struct ledger_view v;

    arena_reset(&fx.arena);
    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("", &none), &v, NULL), 0);
    return ledger_view_find(&v, str_of(node)) != NULL;
}

static void assert_free(const char *node, int32_t cpu_milli, int32_t mem_mib)
{
    struct node_state row = row_of(node);
    const char *why = ledger_check(fx.l);

    assert_int_equal(row.host.cpu_free_milli, cpu_milli);
    assert_int_equal(row.host.mem_free_mib, mem_mib);
    if (why != NULL) {
        fail_msg("%s", why);
    }
}

static void ledger__pods_without_gpus__take_of_their_node(void **state)
{
    fixture_node(&fx, "n1", 2, 1024);
    assert_free("n1", 64000, 100000);
    cpu_only("a", "n1", 1000, 2000);
    cpu_only("b", "n1", 500, 0);
    cpu_only("pending", "", 9, 9);
    cpu_only("elsewhere", "n2", 9, 9);
    assert_free("n1", 62500, 98000);
    cpu_only("a", "n1", 1000, 2000); /* once more: nothing */
    assert_free("n1", 62500, 98000);
    cpu_only("a", "n1", 3000, 1000); /* resized in place */
    assert_free("n1", 60500, 99000);
    cpu_only("a", "n2", 3000, 1000); /* a restored backup */
    assert_free("n1", 63500, 100000);
    cpu_only("b", "", 500, 0); /* an event from before it was bound */
    assert_free("n1", 63500, 100000);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "b"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "elsewhere"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "nobody"), 0);
    assert_false(is_known("n2"));
}

static void ledger__pods_without_gpus__are_seen_nowhere_else(void **state)
{
    struct ledger_pod pod;
    uint64_t capacity;

    fixture_node(&fx, "n1", 2, 1024);
    capacity = ledger_capacity_generation(fx.l);
    cpu_only("a", "n1", 1000, 2000);
    cpu_only("b", "n2", 1000, 2000);
    assert_false(ledger_find_pod(fx.l, STR("a"), &pod));
    arena_reset(&fx.arena);
    assert_int_equal(snapshot_take(fx.l, &fx.arena, STR_NULL, STR_NULL, &fx.snapshot, NULL), 0);
    assert_int_equal(fx.snapshot.pod_n, 0);
    assert_int_equal(fx.snapshot.node_n, 1); /* n2 is a name in a pod, not a node */
    assert_int_equal(fx.snapshot.nodes[0].host.cpu_free_milli, 63000);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(ledger_capacity_generation(fx.l), capacity);
}

static void ledger__lists__end_pods_that_are_not_in_them(void **state)
{
    char uid[16];

    fixture_node(&fx, "n1", 2, 1024);
    for (int i = 0; i < 300; i++) {
        snprintf(uid, sizeof(uid), "u%d", i);
        cpu_only(uid, i % 2 == 0 ? "n1" : "n2", 10, 100);
    }
    assert_free("n1", 62500, 85000);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    for (int i = 0; i < 300; i += 6) {
        snprintf(uid, sizeof(uid), "u%d", i);
        cpu_only(uid, "n1", 10, 100);
    }
    assert_free("n1", 62500, 85000);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_free("n1", 63500, 95000);
    assert_false(is_known("n2"));
}

static void ledger__a_node_described_later__has_the_pods_seen_before(void **state)
{
    cpu_only("a", "n1", 1000, 2000);
    assert_free("n1", 0, 0); /* not known, so nothing is said */
    fixture_node(&fx, "n1", 2, 1024);
    assert_free("n1", 63000, 98000);
    assert_int_equal(fixture_name_op(&fx, LEDGER_NODE_GONE, "n1"), 0);
    assert_free("n1", 0, 0);
    fx.host = (struct host_capacity){500, 0}; /* less than is taken; memory not known */
    fixture_node(&fx, "n1", 2, 1024);
    assert_free("n1", -500, 0);
}

static void ledger__pods_with_gpus__take_from_reservation_to_end(void **state)
{
    const struct demand asked = SHARE_OF(500);
    const struct demand d = with_host(asked, 4000, 8000);
    const struct demand more = with_host(asked, 5000, 9000);

    fixture_node(&fx, "n1", 2, 1024);
    assert_int_equal(fixture_pod(&fx, "p", &d, "", NULL), 0);
    assert_free("n1", 64000, 100000);
    assert_int_equal(fixture_reserve(&fx, "p", "n1"), 0);
    assert_free("n1", 60000, 92000);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "p"), 0);
    assert_free("n1", 64000, 100000);
    assert_int_equal(fixture_reserve(&fx, "p", "n1"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "p"), 0);
    assert_free("n1", 60000, 92000);
    assert_int_equal(fixture_pod(&fx, "p", &d, "n1", NULL), 0);
    assert_int_equal(fixture_pod(&fx, "p", &more, "n1", NULL), 0); /* resized in place */
    assert_free("n1", 59000, 91000);
    assert_int_equal(fixture_pod(&fx, "p", &d, "n1", NULL), 0); /* and back: no floor holds it */
    assert_free("n1", 60000, 92000);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "p"), 0);
    assert_free("n1", 64000, 100000);
}

static void ledger__a_resize__is_no_contradiction(void **state)
{
    const struct demand asked = ANNOTATED_SHARE_OF(500);
    const struct demand d = with_host(asked, 4000, 8000);
    const struct demand more = with_host(asked, 5000, 9000);
    const struct assignment record = RECORD_OF("id", "GPU-n1-0", 0, 500, 512);

    fixture_node(&fx, "n1", 2, 1024);
    assert_int_equal(fixture_pod(&fx, "p", &d, "n1", &record), 0);
    assert_int_equal(fixture_pod(&fx, "p", &more, "n1", &record), 0);
    (void)fixture_state(&fx, "n1");
    assert_false(fx.snapshot.pods[0].conflict);
    assert_free("n1", 59000, 91000);
}

/* The request went from the annotations of a bound pod: the GPUs stay charged, and the machine,
 * too. */
static void ledger__a_withdrawn_request__still_takes_of_the_machine(void **state)
{
    const struct demand d = with_host(ANNOTATED_SHARE_OF(500), 4000, 8000);
    const struct assignment record = RECORD_OF("id", "GPU-n1-0", 0, 500, 512);

    fixture_node(&fx, "n1", 2, 1024);
    assert_int_equal(fixture_pod(&fx, "p", &d, "n1", &record), 0);
    cpu_only("p", "n1", 4500, 8000);
    assert_free("n1", 59500, 92000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
}

/* Whether a pod is kept in full may change; it counts once. */
static void ledger__a_pod_that_comes_to_ask_for_gpus__counts_once(void **state)
{
    const struct demand d = with_host(SHARE_OF(500), 4000, 8000);

    fixture_node(&fx, "n1", 2, 1024);
    cpu_only("p", "n1", 4000, 8000);
    assert_int_equal(fixture_pod(&fx, "p", &d, "n1", NULL), 0);
    assert_free("n1", 60000, 92000);
    assert_int_equal(fixture_pod(&fx, "q", &d, "", NULL), 0);
    cpu_only("q", "n1", 4000, 8000); /* bound after the request was taken back */
    assert_free("n1", 56000, 84000);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "q"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "p"), 0);
    assert_free("n1", 64000, 100000);
}

static void ledger__version_of_a_node__changes_only_where_there_are_gpus(void **state)
{
    uint64_t version;

    fixture_node(&fx, "gpus", 1, 1024);
    fixture_node_plugin_managed(&fx, "plugin", 0, 0, 2);
    fixture_node(&fx, "cpu", 0, 0);
    for (int i = 0; i < 3; i++) {
        const char *node = i == 0 ? "gpus" : i == 1 ? "plugin" : "cpu";

        version = row_of(node).version;
        cpu_only(node, node, 100, 100);
        assert_int_equal(row_of(node).version != version, i < 2);
        assert_free(node, 63900, 99900);
        version = row_of(node).version;
        cpu_only(node, node, 100, 100);
        assert_int_equal(row_of(node).version, version);
        assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, node), 0);
        assert_int_equal(row_of(node).version != version, i < 2);
    }
}

/* Three thousand random events of a few hundred pods against a plain array. */
static void ledger__random_events__sums_of_what_is_bound(void **state)
{
    enum { PODS = 300, NODES = 4 };
    static const char *const nodes[NODES] = {"n0", "n1", "n2", "n3"};
    struct {
        int node; /* -1: none */
        int32_t cpu, mem;
    } pods[PODS];
    struct rng rng;

    rng_init(&rng, 7);
    for (int i = 0; i < PODS; i++) {
        pods[i].node = -1;
    }
    for (int i = 0; i < NODES; i++) {
        fixture_node(&fx, nodes[i], i, 1024);
    }
    for (int step = 0; step < 3000; step++) {
        int i = (int)rng_below(&rng, PODS);
        int64_t cpu = 64000, mem = 100000;
        char uid[16];
        int node;

        snprintf(uid, sizeof(uid), "u%d", i);
        if (rng_below(&rng, 3) == 0) {
            node = pods[i].node;
            pods[i].node = -1;
            assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, uid), 0);
        } else {
            node = (int)rng_below(&rng, NODES);
            pods[i].node = node;
            pods[i].cpu = (int32_t)rng_below(&rng, 2000);
            pods[i].mem = (int32_t)rng_below(&rng, 2000);
            cpu_only(uid, nodes[node], pods[i].cpu, pods[i].mem);
        }
        for (int k = 0; k < PODS && node >= 0; k++) {
            cpu -= pods[k].node == node ? pods[k].cpu : 0;
            mem -= pods[k].node == node ? pods[k].mem : 0;
        }
        if (node >= 0) {
            assert_free(nodes[node], (int32_t)cpu, (int32_t)mem);
        }
    }
}

static void ledger__pod_classes__by_the_devices_held(void **state)
{
    struct gpu_request w;
    struct demand d;

    fixture_node(&fx, "n1", 16, 1000);
    fixture_node_plugin_managed(&fx, "plugin", 0, 0, 16);
    assert_int_equal(row_of("n1").pod_classes, 0);

    d = fixture_share(&w, 300);
    assert_int_equal(fixture_pod(&fx, "share", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "share", "n1"), 0);
    assert_int_equal(row_of("n1").pod_classes, POD_CLASS_SHARED);

    d = fixture_both(&w, 1000, 10); /* all compute of one device */
    assert_int_equal(fixture_pod(&fx, "one", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "one", "n1"), 0);
    assert_int_equal(row_of("n1").pod_classes, POD_CLASS_SHARED | POD_CLASS_1);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "share"), 0);
    assert_int_equal(row_of("n1").pod_classes, POD_CLASS_1);

    d = fixture_whole(&w, 3);
    assert_int_equal(fixture_pod(&fx, "three", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "three", "n1"), 0);
    d = fixture_whole(&w, 8);
    assert_int_equal(fixture_pod(&fx, "eight", &d, "", NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "eight", "n1"), 0);
    assert_int_equal(row_of("n1").pod_classes, POD_CLASS_1 | POD_CLASS_2 | POD_CLASS_8);

    /* Charged on all sixteen, because nobody knows which; yet it holds five. */
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "eight"), 0);
    d = fixture_whole(&w, 5);
    assert_int_equal(fixture_pod(&fx, "foreign", &d, "n1", NULL), 0);
    assert_int_equal(row_of("n1").pod_classes, POD_CLASS_1 | POD_CLASS_2 | POD_CLASS_4);

    d = (struct demand){.dialect = "native", .plugin_managed_n = 7};
    assert_int_equal(fixture_pod(&fx, "seven", &d, "plugin", NULL), 0);
    cpu_only("none", "plugin", 1, 1);
    assert_int_equal(row_of("plugin").pod_classes, POD_CLASS_4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ledger_teardown)
    const struct CMUnitTest tests[] = {
        TEST(ledger__pods_without_gpus__take_of_their_node),
        TEST(ledger__pods_without_gpus__are_seen_nowhere_else),
        TEST(ledger__lists__end_pods_that_are_not_in_them),
        TEST(ledger__a_node_described_later__has_the_pods_seen_before),
        TEST(ledger__pods_with_gpus__take_from_reservation_to_end),
        TEST(ledger__a_resize__is_no_contradiction),
        TEST(ledger__a_withdrawn_request__still_takes_of_the_machine),
        TEST(ledger__a_pod_that_comes_to_ask_for_gpus__counts_once),
        TEST(ledger__version_of_a_node__changes_only_where_there_are_gpus),
        TEST(ledger__random_events__sums_of_what_is_bound),
        TEST(ledger__pod_classes__by_the_devices_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
