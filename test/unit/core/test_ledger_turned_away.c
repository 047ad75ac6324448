/* Pods that find no room in the ledger (issue 12: nobody can blind fgpu by filling its tables). The tables are small
 * here: four nodes, of which two may be names that only pods say, and six pods. */
#include "core/ledger/audit.h"
#include "core/ledger/mirror.h"
#include "core/ledger/snapshot_iterator.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>

enum { NODES = 4, PODS = 6 };

static struct gpu_request gpu_request;
static struct demand share;

static void list(enum ledger_op_kind begin, enum ledger_op_kind end)
{
    fixture_bracket(&fx, begin);
    fixture_bracket(&fx, end);
}

/* Its lists have not been read. */
static void empty_small_ledger(void)
{
    const struct ledger_limits limits = {.hash_key = {1, 2},
                                         .overcommit_milli = 1000,
                                         .overcommit_mem_milli = 1000,
                                         .nodes_max = NODES,
                                         .pods_max = PODS};

    ledger_free(fx.l);
    fx.l = ledger_new(&limits);
}

static int setup(void **state)
{
    fixture_init(&fx);
    empty_small_ledger();
    list(LEDGER_NODES_BEGIN, LEDGER_NODES_END);
    list(LEDGER_PODS_BEGIN, LEDGER_PODS_END);
    share = fixture_share(&gpu_request, 300);
    return 0;
}

/* A pod that uses a part of a GPU is seen; node "": not bound. */
static void seen(const char *uid, const char *node)
{
    assert_int_equal(fixture_pod(&fx, uid, &share, node, NULL), 0);
    assert_null(ledger_check(fx.l));
}

static void gone(const char *uid)
{
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, uid), 0);
}

static struct ledger_turned_away turned_away(void)
{
    struct ledger_turned_away t;

    ledger_turned_away(fx.l, &t);
    return t;
}

static enum verdict verdict_of(const char *node, const struct demand *d)
{
    struct placement at;

    return ledger_place(fx.l, str_of(node), STR("default"), d, NULL, 0, fixture_params("tight-fit"), &at);
}

static void is_shut(const char *node)
{
    const struct demand whole = WHOLE_GPUS(1);
    const struct demand of_plugin = {.dialect = "native", .plugin_managed_n = 1};

    assert_int_equal(verdict_of(node, &share), VERDICT_UNCOUNTED);
    assert_int_equal(verdict_of(node, &whole), VERDICT_UNCOUNTED);
    assert_int_equal(verdict_of(node, &of_plugin), VERDICT_UNCOUNTED);
    assert_non_null(fixture_state(&fx, node)->note);
    assert_null(ledger_check(fx.l));
}

static void is_open(const char *node)
{
    assert_int_equal(verdict_of(node, &share), VERDICT_FITS);
    assert_null(fixture_state(&fx, node)->note);
    assert_null(ledger_check(fx.l));
}

/* Takes the half of the table that names may take. */
static void fill_names(void)
{
    seen("evil-1", "made-up-1");
    seen("evil-2", "made-up-2");
    assert_int_equal(turned_away().total_n, 0);
}

static void fill_pods(void)
{
    const uint64_t before = turned_away().total_n;
    char uid[16];

    for (unsigned i = 0; i < PODS; i++) {
        snprintf(uid, sizeof(uid), "filler-%u", i);
        seen(uid, "");
    }
    assert_int_equal(turned_away().total_n, before);
}

/* ---- who is turned away, and what that closes ---- */

static void pods_that_name_nodes_nobody_described__half_of_the_table(void **state)
{
    const struct demand nothing = {.dialect = ""};

    seen("evil-1", "made-up-1");
    assert_int_equal(fixture_pod(&fx, "light-1", &nothing, "made-up-2", NULL), 0); /* they share the half */
    seen("evil-2", "made-up-3");
    assert_int_equal(fixture_pod(&fx, "light-2", &nothing, "made-up-4", NULL), 0);
    assert_int_equal(turned_away().total_n, 1); /* the one with GPUs */
    assert_true(str_eq(turned_away().name, STR("evil-2")) && str_eq(turned_away().node_name, STR("made-up-3")));
    fixture_node(&fx, "n1", 1, 80 * GIB); /* each asserts that it finds its place */
    fixture_node(&fx, "n2", 1, 80 * GIB);
}

static void described_node__does_not_count_as_named(void **state)
{
    seen("pod", "n1");
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fill_names();
    seen("evil-3", "made-up-3");
    assert_int_equal(turned_away().pod_n, 1);
    is_open("n1");                        /* it was known all the time: no pod of it was turned away */
    fixture_node(&fx, "n1", 1, 80 * GIB); /* described again, not for the first time */
    is_open("n1");
}

static void pod_of_an_unknown_node__the_node_is_shut_when_described_until_a_later_list_has_the_pod(void **state)
{
    fill_names();
    seen("hidden", "late");
    fixture_node(&fx, "late", 1, 80 * GIB);
    fixture_node(&fx, "bystander", 1, 80 * GIB); /* nobody remembers which node the pod named */
    is_shut("late");
    is_shut("bystander");
    assert_int_equal(turned_away().node_n, 2);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    seen("evil-1", "made-up-1");
    seen("hidden", "late");
    is_shut("late"); /* not before the list is complete */
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("bystander");
    assert_int_equal(fixture_milli_free(&fx, "late", 0), 700); /* charged, and so open */
    is_open("late");
    assert_int_equal(turned_away().pod_n, 0);
}

static void list_that_began_before_the_node_was_described__does_not_open_it(void **state)
{
    fill_names();
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    seen("evil-1", "made-up-1");
    seen("evil-2", "made-up-2");
    seen("hidden", "late");
    fixture_node(&fx, "late", 1, 80 * GIB);
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_shut("late"); /* the list had gone past the pod before */
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN); /* one that broke off opens nothing */
    is_shut("late");
    seen("hidden", "late");
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("late");
    assert_int_equal(fixture_milli_free(&fx, "late", 0), 700);
}

static void nobody_is_turned_away_in_a_list__all_open_at_its_end(void **state)
{
    fill_names();
    seen("evil-3", "made-up-3");
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_node(&fx, "late", 1, 80 * GIB);
    is_shut("late");
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("late"); /* every pod there is has its entry */
}

static void pod_table_is_full__the_node_of_the_pod_is_shut_and_no_other(void **state)
{
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fixture_node(&fx, "n2", 1, 80 * GIB);
    fill_pods();
    seen("hidden", "n1");
    is_shut("n1");
    is_open("n2");
    list(LEDGER_NODES_BEGIN, LEDGER_NODES_END); /* gone, and described anew: shut still */
    fixture_node(&fx, "n1", 1, 80 * GIB);
    is_shut("n1");
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    for (unsigned i = 0; i < PODS; i++) {
        char uid[16];

        snprintf(uid, sizeof(uid), "filler-%u", i);
        seen(uid, "");
    }
    seen("hidden", "n1");
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_shut("n1"); /* it was turned away again */
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    seen("hidden", "n1"); /* the others are gone, but this is known at the end of the list only */
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_shut("n1");
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    seen("hidden", "n1");
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("n1");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void another_pod_is_turned_away_meanwhile__only_nodes_without_such_open(void **state)
{
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fixture_node(&fx, "n2", 1, 80 * GIB);
    fill_pods();
    seen("hidden", "n1");
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    seen("other", "n2");
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("n1");
    is_shut("n2");
}

static void pending_pod__forgotten_and_closes_nothing(void **state)
{
    const struct ledger_op reserve = {.kind = LEDGER_RESERVE,
                                      .reserve = {.uid = STR("late"), .node_name = STR("n1"), .decision_id = STR("x")}};
    struct err why;

    fill_pods();
    seen("late", "");
    assert_int_equal(turned_away().total_n, 1);
    assert_int_equal(turned_away().pod_n, 0); /* it holds nothing */
    fixture_node(&fx, "n1", 1, 80 * GIB);
    is_open("n1");
    assert_int_not_equal(ledger_apply(fx.l, &reserve, &why), 0);
    assert_int_equal(why.code, ERR_NOT_FOUND);
}

static void pod_that_moves_to_a_name_without_room__counted_nowhere_and_turned_away(void **state)
{
    fixture_node(&fx, "n1", 1, 80 * GIB);
    fill_names();
    seen("pod", "");
    assert_int_equal(fixture_reserve(&fx, "pod", "n1"), 0);
    seen("pod", "made-up-3"); /* somebody else bound it */
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(turned_away().pod_n, 1);
    seen("pod", "made-up-3");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    seen("evil-1", "made-up-3"); /* leaving its node it makes the room it needs */
    assert_int_equal(fixture_pod_state(&fx, "evil-1"), LEDGER_FOREIGN);
}

static void first_lists__nodes_that_come_after_such_a_pod_are_shut(void **state)
{
    empty_small_ledger();
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_NODES_BEGIN);
    fixture_node(&fx, "early", 1, 80 * GIB);
    fill_names();
    seen("hidden", "late");
    fixture_node(&fx, "late", 1, 80 * GIB);
    fixture_bracket(&fx, LEDGER_NODES_END);
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("early");
    is_shut("late");
}

/* Annotations of bound pods count if they were seen while the pod was unbound, or in the first list (design.md 3.1.8).
 * Who was turned away then has been seen as early, however late there is room. */
static void annotated_pod_of_the_first_list__charged_when_there_is_room(void **state)
{
    const struct demand annotated = ANNOTATED_SHARE_OF(300);

    empty_small_ledger();
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fill_names();
    assert_int_equal(fixture_pod(&fx, "hidden", &annotated, "late", NULL), 0);
    fixture_bracket(&fx, LEDGER_PODS_END);
    fixture_bracket(&fx, LEDGER_NODES_BEGIN);
    fixture_node(&fx, "late", 1, 80 * GIB);
    fixture_bracket(&fx, LEDGER_NODES_END);
    is_shut("late");
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    assert_int_equal(fixture_pod(&fx, "hidden", &annotated, "late", NULL), 0);
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("late");
    assert_int_equal(fixture_milli_free(&fx, "late", 0), 700);
    assert_int_equal(fixture_pod(&fx, "text", &annotated, "late", NULL), 0); /* and nobody else's from now on */
    assert_int_equal(fixture_milli_free(&fx, "late", 0), 700);
}

static void annotated_pod_that_was_pending__charged_when_there_is_room(void **state)
{
    const struct demand annotated = ANNOTATED_SHARE_OF(300);

    fill_names();
    assert_int_equal(fixture_pod(&fx, "hidden", &annotated, "", NULL), 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(fixture_pod(&fx, "hidden", &annotated, "late", NULL), 0);
        assert_null(ledger_check(fx.l));
    }
    fixture_node(&fx, "late", 1, 80 * GIB);
    is_shut("late");
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    assert_int_equal(fixture_pod(&fx, "hidden", &annotated, "late", NULL), 0);
    fixture_bracket(&fx, LEDGER_PODS_END);
    is_open("late");
    assert_int_equal(fixture_milli_free(&fx, "late", 0), 700);
}

/* ---- who hears of it ---- */

static void node_opens__room_appears_and_nobody_sees_the_old_numbers(void **state)
{
    struct mirror m;
    uint64_t capacity, version;
    uint32_t late;

    mirror_init(&m);
    fill_names();
    seen("evil-3", "made-up-3");
    fixture_node(&fx, "late", 1, 80 * GIB);
    capacity = ledger_capacity_generation(fx.l);
    while (!mirror_follow(&m, fx.l)) {
        mirror_grow(&m);
    }
    for (late = 0; !str_eq(m.names[late], STR("late")); late++) {
    }
    assert_false(m.open[late]);
    version = m.nodes[late].version;
    list(LEDGER_PODS_BEGIN, LEDGER_PODS_END);
    assert_true(ledger_capacity_generation(fx.l) > capacity);
    assert_true(mirror_follow(&m, fx.l));
    assert_true(m.open[late] && m.nodes[late].version != version);
    capacity = ledger_capacity_generation(fx.l);
    list(LEDGER_PODS_BEGIN, LEDGER_PODS_END);
    assert_int_equal(ledger_capacity_generation(fx.l), capacity);
    mirror_fini(&m);
}

static void open_iterator__shows_the_node_as_it_was(void **state)
{
    const struct snapshot_iterator_filter all = {0};
    struct snapshot totals, part;
    struct snapshot_iterator *w;
    struct arena a;
    bool found = false;

    fill_names();
    seen("evil-3", "made-up-3");
    fixture_node(&fx, "late", 1, 80 * GIB);
    w = snapshot_iterator_open(fx.l, &all, 1 << 20, &totals);
    list(LEDGER_PODS_BEGIN, LEDGER_PODS_END);
    is_open("late");
    arena_init(&a, 1 << 20);
    while (snapshot_iterator_next(fx.l, w, 16, &a, &part) == SNAPSHOT_ITERATOR_MORE) {
        for (size_t i = 0; i < part.node_n; i++) {
            found = found || (str_eq(part.nodes[i].name, STR("late")) && part.nodes[i].note != NULL);
        }
    }
    assert_true(found);
    arena_fini(&a);
    snapshot_iterator_close(fx.l, w);
    snapshot_iterator_free(w);
}

static void totals__say_how_many(void **state)
{
    struct snapshot totals;

    fill_names();
    seen("evil-3", "made-up-3");
    fixture_node(&fx, "late", 1, 80 * GIB);
    snapshot_totals(fx.l, &totals);
    assert_int_equal(totals.turned_away_n, 1);
    assert_int_equal(totals.turned_away_total_n, 1);
    assert_int_equal(totals.uncounted_n, 1);
}

/* ---- audits ---- */

static enum ledger_drift drift_of(struct ledger *scratch, const char *uid, const char *node)
{
    const struct ledger_op op = fixture_observation(uid, &share, node, NULL);
    uint64_t touched;

    return ledger_drift(fx.l, scratch, &op, &touched);
}

static void audit__misses_no_pod_that_no_repair_could_enter(void **state)
{
    struct ledger *scratch = ledger_audit_scratch(fx.l);

    fixture_node(&fx, "n1", 1, 80 * GIB);
    fill_names();
    assert_int_equal(drift_of(scratch, "evil-3", "made-up-3"), DRIFT_NONE);
    assert_int_equal(drift_of(scratch, "lost", "n1"), DRIFT_POD_MISSING); /* for this one there is room */
    assert_int_equal(drift_of(scratch, "evil-1", "made-up-1"), DRIFT_NONE);
    seen("pending", "");
    seen("pending", "made-up-3");
    assert_int_equal(drift_of(scratch, "pending", "made-up-3"), DRIFT_NONE);
    gone("pending");
    gone("evil-1");
    gone("evil-2");
    fill_pods();
    assert_int_equal(drift_of(scratch, "lost", "n1"), DRIFT_NONE);
    assert_int_equal(drift_of(scratch, "pending", ""), DRIFT_NONE);
    ledger_free(scratch);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, ledger_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pods_that_name_nodes_nobody_described__half_of_the_table),
        TEST(described_node__does_not_count_as_named),
        TEST(pod_of_an_unknown_node__the_node_is_shut_when_described_until_a_later_list_has_the_pod),
        TEST(list_that_began_before_the_node_was_described__does_not_open_it),
        TEST(nobody_is_turned_away_in_a_list__all_open_at_its_end),
        TEST(pod_table_is_full__the_node_of_the_pod_is_shut_and_no_other),
        TEST(another_pod_is_turned_away_meanwhile__only_nodes_without_such_open),
        TEST(pending_pod__forgotten_and_closes_nothing),
        TEST(pod_that_moves_to_a_name_without_room__counted_nowhere_and_turned_away),
        TEST(first_lists__nodes_that_come_after_such_a_pod_are_shut),
        TEST(annotated_pod_of_the_first_list__charged_when_there_is_room),
        TEST(annotated_pod_that_was_pending__charged_when_there_is_room),
        TEST(node_opens__room_appears_and_nobody_sees_the_old_numbers),
        TEST(open_iterator__shows_the_node_as_it_was),
        TEST(totals__say_how_many),
        TEST(audit__misses_no_pod_that_no_repair_could_enter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
