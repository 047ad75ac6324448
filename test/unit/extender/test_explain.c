/* Which facts an explanation is made of; its words: test_explain_words.c. */
#include "extender/explain.h"

#include "base/compiler.h"
#include "extender/explain_internal.h"
#include "extender/policy_set.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define GIB 1024

static const struct rules *rules;

static int setup(void **state)
{
    store_open(clock_system());
    rules = rules_of(policy_defaults(), 1);
    return 0;
}

static int teardown(void **state)
{
    rules_put(rules);
    store_check_and_free();
    return 0;
}

static struct explanation explain(const char *name, size_t node_max)
{
    struct explanation e;
    struct err err = {.code = ERR_OK};

    if (explain_pod(&rules->placement, &arena, STR("d"), str_of(name), node_max, &e, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    return e;
}

static const struct demand half = DEMAND_OF_SHARE(500), large = DEMAND_OF_SHARE(800);

/* Pod d/<uid> with `d` on GPU 0 of the node, whose record says so. */
static void hold(const char *uid, const char *node, const struct demand *d)
{
    const struct assigned_device dev = {.index = 0, .milli = d->gpu_requests[0].milli};
    const struct assigned_container c = {.name = STR("main"), .devices = &dev, .device_n = 1};
    const struct assignment as = {.id = STR("x"), .containers = &c, .container_n = 1};

    apply((struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                             .pod = {.uid = str_of(uid),
                                     .namespace_ = STR("d"),
                                     .name = str_of(uid),
                                     .node_name = str_of(node),
                                     .demand = d,
                                     .assignment = &as}});
}

/* Nodes n0 to n3 with a GPU each, of which n2 and n3 have a half in use. */
static void four_nodes(void)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3"};

    apply_empty_lists();
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        apply_node(names[i], 1, 80 * GIB, true);
    }
    hold("on2", "n2", &half);
    hold("on3", "n3", &half);
}

static void explain__nothing_was_read__said(void **state)
{
    struct explanation e;

    assert_int_equal(explain_pod(&rules->placement, &arena, STR("d"), STR("a"), 5, &e, NULL), -ERR_UNAVAILABLE);
}

static void unknown__names_that_may_be_meant(void **state)
{
    static const char *const pods[] = {"train-1", "train-2", "trial",   "other",
                                       "train-3", "train-4", "train-5", "train-6"};
    struct explanation e;

    four_nodes();
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        apply_pod(pods[i], NULL, &half);
    }
    e = explain("train", 5);
    assert_int_equal(e.kind, EXPLAIN_UNKNOWN);
    assert_int_equal(e.near_n, EXPLAIN_NEAR_NAMES);
    for (size_t i = 0; i < e.near_n; i++) {
        assert_true(str_starts(e.near_names[i], STR("d/tr")));
    }
    assert_int_equal(explain("othr", 5).near_n, 1);
    assert_int_equal(explain("nothing-like-it", 5).near_n, 0);
    assert_int_equal(explain("nothing-like-it", 5).generation, store_generation(store));
    assert_int_equal(explain("", 5).near_n, 0);
    e = explain("trial", 5); /* it exists: nothing else is meant */
    assert_int_equal(e.kind, EXPLAIN_WAITING);
    assert_int_equal(e.near_n, 0);
}

static void waiting__some_nodes_take_it__named(void **state)
{
    struct explanation e;

    four_nodes();
    apply_pod("a", NULL, &large);
    e = explain("a", 5);
    assert_int_equal(e.kind, EXPLAIN_WAITING);
    assert_null(e.not_ready);
    assert_false(e.has_tenant);
    assert_int_equal(e.node_n, 4);
    assert_int_equal(e.generation, store_generation(store));
    assert_int_equal(e.counts[VERDICT_FITS], 2);
    assert_int_equal(e.counts[VERDICT_NO_COMPUTE], 2);
    assert_int_equal(e.open_fit_n, 2);
    assert_int_equal(e.fitting_n, 2);
    assert_true(str_eq_cstr(e.fitting[0], "n0") || str_eq_cstr(e.fitting[0], "n1"));
    assert_false(str_eq(e.fitting[0], e.fitting[1]));
    assert_int_equal(e.shown_n, 0);
    assert_int_equal(e.note_n + e.model_n, 0);
    assert_int_equal(explain("a", 1).fitting_n, 1);
    assert_int_equal(explain("a", 1).open_fit_n, 2);
    assert_true(str_eq_cstr(e.pod.name, "a"));
}

/* Where one node takes it nobody has to end. */
static void waiting__one_node_takes_it__it_alone_is_named(void **state)
{
    struct explanation e;

    four_nodes();
    hold("on0", "n0", &large);
    apply_pod("a", NULL, &large);
    e = explain("a", 5);
    assert_int_equal(e.open_fit_n, 1);
    assert_int_equal(e.fitting_n, 1);
    assert_true(str_eq_cstr(e.fitting[0], "n1"));
    assert_int_equal(e.shown_n, 0);
}

/* Fuller nodes before empty ones, whatever the order in which the ledger has them. */
static void waiting__all_nodes_take_it__the_best_first(void **state)
{
    struct policy p = *policy_defaults();
    struct explanation e;

    p.node_strategy = p.device_strategy = STR("binpack");
    rules_put(rules);
    rules = rules_of(&p, 1);
    four_nodes();
    apply_pod("a", NULL, &half);
    e = explain("a", 3);
    assert_int_equal(e.open_fit_n, 4);
    assert_int_equal(e.fitting_n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(str_eq_cstr(e.fitting[i], "n2") || str_eq_cstr(e.fitting[i], "n3"), i < 2);
    }
}

static void waiting__no_node_takes_it__the_nearest_first(void **state)
{
    struct explanation e;

    four_nodes();
    hold("on0", "n0", &large);
    hold("on1", "n1", &large);
    apply_pod("a", NULL, &large);
    e = explain("a", 5);
    assert_int_equal(e.counts[VERDICT_FITS], 0);
    assert_int_equal(e.open_fit_n, 0);
    assert_int_equal(e.counts[VERDICT_NO_COMPUTE], 4);
    assert_int_equal(e.shown_n, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct nearest *n = &e.nodes[i];
        const int32_t lacks = i < 2 ? 300 : 600;

        assert_int_equal(e.verdicts[i], VERDICT_NO_COMPUTE);
        assert_int_equal(n->lacks.device_n, 1);
        assert_int_equal(n->lacks.devices[0].milli, lacks);
        assert_int_equal(n->cost.pod_n, 1); /* whose end would be enough */
        assert_int_equal(n->leaving[0].milli, i < 2 ? 500 : 800);
        assert_true(str_starts(n->leaving[0].name, STR("on")));
    }
    e = explain("a", 1);
    assert_int_equal(e.shown_n, 1);
    assert_int_equal(e.nodes[0].lacks.devices[0].milli, 300);
}

/* As many as can be named would have to end. */
static void waiting__all_pods_of_a_node_are_in_the_way__each_named(void **state)
{
    const struct demand little = DEMAND_OF_SHARE(100), whole = DEMAND_OF_SHARE(1000);
    char uids[NEAREST_LEAVING_MAX][16];
    unsigned named = 0;
    struct explanation e;

    apply_empty_lists();
    apply_node("n0", 1, 80 * GIB, true);
    for (unsigned i = 0; i < NEAREST_LEAVING_MAX; i++) {
        (void)snprintf(uids[i], sizeof(uids[i]), "on%u", i);
        hold(uids[i], "n0", &little);
    }
    apply_pod("a", NULL, &whole);
    e = explain("a", 5);
    assert_int_equal(e.shown_n, 1);
    assert_int_equal(e.nodes[0].cost.pod_n, NEAREST_LEAVING_MAX);
    for (size_t i = 0; i < NEAREST_LEAVING_MAX; i++) {
        named |= 1U << (e.nodes[0].leaving[i].uid.p[2] - '0');
    }
    assert_int_equal(named, (1U << NEAREST_LEAVING_MAX) - 1);
    assert_int_equal(e.nodes[0].lacks.devices[0].milli, 800);
}

/* More nodes than are looked at under one lock: of all of them the nearest, by who would have to end. */
static void waiting__no_node_of_many_takes_it__the_nearest_of_all(void **state)
{
    enum { MANY = 2 * STORE_NEAREST_SECTION + 8, SHOWN = 5 };
    struct gpu_request w = half.gpu_requests[0];
    const struct demand held = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};
    char names[MANY][16], uids[MANY][16];
    struct explanation e;

    apply_empty_lists();
    for (int i = 0; i < MANY; i++) {
        const int rank = (i * 7 + 3) % MANY; /* each once, in no order */

        (void)snprintf(names[i], sizeof(names[i]), "n%02d", rank);
        (void)snprintf(uids[i], sizeof(uids[i]), "on%02d", rank);
        apply_node(names[i], 1, 80 * GIB, true);
        w.milli = 300 + 10 * rank;
        hold(uids[i], names[i], &held);
    }
    apply_pod("a", NULL, &large);
    e = explain("a", SHOWN);
    assert_int_equal(e.shown_n, SHOWN);
    for (int i = 0; i < SHOWN; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%02d", i);
        assert_true(str_eq_cstr(e.nodes[i].node_name, name));
        assert_int_equal(e.nodes[i].cost.milli, 300 + 10 * i);
        assert_int_equal(e.verdicts[i], VERDICT_NO_COMPUTE);
    }
    assert_int_equal(explain("a", 0).shown_n, 0);
}

/* More GPUs than there are: nobody's end would help, so nothing is said to be lacking. */
static void waiting__more_gpus_than_a_node_has__lacks_nothing_in_amounts(void **state)
{
    struct gpu_request w = half.gpu_requests[0];
    const struct demand two = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};
    struct explanation e;

    w.count = 2;
    four_nodes();
    apply_pod("a", NULL, &two);
    e = explain("a", 5);
    assert_int_equal(e.counts[VERDICT_TOO_FEW_GPUS], 4);
    for (size_t i = 0; i < e.shown_n; i++) {
        assert_int_equal(e.nodes[i].lacks.device_n, 0);
    }
}

static void waiting__of_a_model_that_nobody_has__the_models_by_name(void **state)
{
    const struct device_pattern none = {STR("H100"), false};
    struct demand d = half;
    struct explanation e;

    d.models = &none;
    d.model_n = 1;
    four_nodes();
    apply_pod("a", NULL, &d);
    e = explain("a", 5);
    assert_int_equal(e.counts[VERDICT_NOT_ALLOWED], 4);
    assert_int_equal(e.model_n, 1);
    assert_true(str_eq_cstr(e.models[0], "A100"));
}

static void waiting__notes_of_nodes_without_gpus__the_most_frequent_first(void **state)
{
    static const char one[] = "cannot be read", other[] = "contradicts itself";
    static const struct {
        const char *name, *note;
    } rows[] = {{"x1", other}, {"x2", one}, {"x3", one}, {"x4", NULL}};
    struct explanation e;

    apply_empty_lists();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct inventory none = {.source = INVENTORY_ANNOTATION};

        apply((struct ledger_op){
            .kind = LEDGER_NODE_DESCRIBED,
            .node = {.name = str_of(rows[i].name), .schedulable = true, .inventory = &none, .note = rows[i].note}});
    }
    apply_pod("a", NULL, &half);
    e = explain("a", 5);
    assert_int_equal(e.counts[VERDICT_NO_GPU], 4);
    assert_int_equal(e.note_n, 2);
    assert_string_equal(e.notes[0].text, one);
    assert_int_equal(e.notes[0].node_n, 2);
    assert_string_equal(e.notes[1].text, other);
    assert_int_equal(e.notes[1].node_n, 1);
    assert_true(str_eq_cstr(e.notes[1].node, "x1"));
}

/* Each of another node. Of equally many the name of the node decides, whatever the order in which they were judged. */
static void waiting__more_notes_than_there_is_room_for__as_many_by_name(void **state)
{
    static const char notes[EXPLAIN_NOTES_MAX + 1][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    const struct inventory none = {.source = INVENTORY_ANNOTATION};
    struct explanation e;
    char name[16];

    apply_empty_lists();
    for (int i = 0; i <= EXPLAIN_NOTES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "x%d", i);
        apply((struct ledger_op){
            .kind = LEDGER_NODE_DESCRIBED,
            .node = {.name = str_of(name), .schedulable = true, .inventory = &none, .note = notes[i]}});
    }
    apply_pod("a", NULL, &half);
    e = explain("a", 5);
    assert_int_equal(e.counts[VERDICT_NO_GPU], EXPLAIN_NOTES_MAX + 1);
    assert_int_equal(e.note_n, EXPLAIN_NOTES_MAX);
    for (size_t i = 0; i < e.note_n; i++) {
        assert_int_equal(e.notes[i].node_n, 1);
        assert_true(i == 0 || str_cmp(e.notes[i - 1].node, e.notes[i].node) < 0);
    }
}

static struct explanation hints_of(struct pack_result *results, size_t n)
{
    const struct store_pack_answer judged = {.results = results, .n = n};
    struct explanation e = {.pod = {.pod = {.demand = &half}}};

    assert_true(explain_hints(&rules->placement, &arena, &judged, &e));
    return e;
}

/* What a node says of its GPUs matters where that is why it is refused, and of the nodes that were judged alone. */
static void hints__of_nodes_refused_for_what_they_say__and_of_no_others(void **state)
{
    static const char note[] = "cannot be read";
    static const enum verdict of_inventory[] = {VERDICT_NO_GPU, VERDICT_UNMEASURED, VERDICT_ELSEWHERE,
                                                VERDICT_UNCOUNTED, VERDICT_HAND_OFF};
    const struct inventory none = {.source = INVENTORY_ANNOTATION};
    struct pack_result results[VERDICT__MAX];
    size_t n = 0;

    apply_empty_lists();
    apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                             .node = {.name = STR("x"), .schedulable = true, .inventory = &none, .note = note}});
    for (int v = 0; v < VERDICT__MAX; v++) {
        results[v] = (struct pack_result){.name = STR("x"), .verdict = (enum verdict)v};
        n += hints_of(&results[v], 1).note_n;
    }
    assert_int_equal(n, ARRAY_LEN(of_inventory));
    for (size_t i = 0; i < ARRAY_LEN(of_inventory); i++) {
        assert_int_equal(hints_of(&results[of_inventory[i]], 1).note_n, 1);
    }
    assert_int_equal(hints_of(results, VERDICT__MAX).notes[0].node_n, ARRAY_LEN(of_inventory));
    results[0] = results[1] = results[VERDICT_NO_GPU];
    assert_int_equal(hints_of(results, 1).notes[0].node_n, 1);
    assert_int_equal(hints_of(results, 0).note_n, 0);
}

/* Models in their order, and none where none of the nodes was refused for its model. */
static void hints__several_models__by_name(void **state)
{
    static const struct str models[] = {STR("V100"), STR("A100"), STR("H100"), STR("A100")};
    const struct device_pattern other = {STR("T4"), false};
    struct demand d = half;
    struct explanation e;
    char name[16];

    d.models = &other;
    d.model_n = 1;
    apply_empty_lists();
    for (size_t i = 0; i < ARRAY_LEN(models); i++) {
        struct device gpu = {.index = 0, .model = models[i], .mem_mib = 80 * GIB, .slot_n = 16, .healthy = true};
        const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &gpu, .device_n = 1};

        (void)snprintf(name, sizeof(name), "n%zu", i);
        apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                                 .node = {.name = str_of(name), .schedulable = true, .inventory = &inventory}});
    }
    apply_pod("a", NULL, &d);
    apply_pod("b", NULL, &half);
    e = explain("a", 5);
    assert_int_equal(e.model_n, 3);
    assert_true(str_eq_cstr(e.models[0], "A100") && str_eq_cstr(e.models[1], "H100"));
    assert_true(str_eq_cstr(e.models[2], "V100"));
    assert_int_equal(explain("b", 5).model_n, 0);
}

/* A size that does not exist, or is for others: which there are for this namespace, in the order of the file. */
static void invalid__for_want_of_its_size__those_of_its_namespace(void **state)
{
    static const struct str others[] = {STR("e")}, ours[] = {STR("d")};
    static const struct named_size sizes[] = {
        {.name = STR("small"), .milli = 100},
        {.name = STR("theirs"), .milli = 200, .namespaces = others, .namespace_n = 1},
        {.name = STR("ours"), .milli = 300, .namespaces = ours, .namespace_n = 1},
    };
    static const enum demand_defect defects[] = {DEMAND_UNKNOWN_SIZE, DEMAND_SIZE_ELSEWHERE};
    struct policy policy = *policy_defaults();

    policy.sizes = sizes;
    policy.size_n = ARRAY_LEN(sizes);
    for (size_t i = 0; i < ARRAY_LEN(defects); i++) {
        const struct demand bad = {.dialect = "native", .defect = defects[i]};
        struct explanation e = {.namespace_ = STR("d"), .pod = {.pod = {.demand = &bad}}};

        assert_true(explain_sizes(&policy, &arena, &e));
        assert_int_equal(e.size_n, 2);
        assert_true(str_eq_cstr(e.sizes[0], "small") && str_eq_cstr(e.sizes[1], "ours"));
    }
}

static void invalid_and_placed__of_their_kind(void **state)
{
    const struct demand bad = {.dialect = "native", .defect = DEMAND_FRACTION};
    struct explanation e;

    four_nodes();
    apply_pod("bad", NULL, &bad);
    assert_int_equal(explain("bad", 5).kind, EXPLAIN_INVALID);
    assert_int_equal(explain("bad", 5).size_n, 0);
    e = explain("on2", 5);
    assert_int_equal(e.kind, EXPLAIN_PLACED);
    assert_int_equal(e.generation, store_generation(store));
    assert_int_equal(e.pod.state, LEDGER_BOUND);
    assert_null(e.decision); /* of another process */
    assert_int_equal(e.snapshot.node_n, 1);
    assert_true(str_eq_cstr(e.snapshot.nodes[0].name, "n2"));
    explain_end(&e);
}

static void arena__full__said(void **state)
{
    struct arena small;
    struct explanation e;

    four_nodes();
    apply_pod("a", NULL, &half);
    arena_init(&small, 64);
    assert_int_equal(explain_pod(&rules->placement, &small, STR("d"), STR("a"), 5, &e, NULL), -ERR_LIMIT);
    arena_fini(&small);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(explain__nothing_was_read__said),
        T(unknown__names_that_may_be_meant),
        T(waiting__some_nodes_take_it__named),
        T(waiting__one_node_takes_it__it_alone_is_named),
        T(waiting__all_nodes_take_it__the_best_first),
        T(waiting__no_node_takes_it__the_nearest_first),
        T(waiting__no_node_of_many_takes_it__the_nearest_of_all),
        T(waiting__all_pods_of_a_node_are_in_the_way__each_named),
        T(waiting__more_gpus_than_a_node_has__lacks_nothing_in_amounts),
        T(waiting__of_a_model_that_nobody_has__the_models_by_name),
        T(waiting__notes_of_nodes_without_gpus__the_most_frequent_first),
        T(waiting__more_notes_than_there_is_room_for__as_many_by_name),
        T(hints__of_nodes_refused_for_what_they_say__and_of_no_others),
        T(hints__several_models__by_name),
        T(invalid__for_want_of_its_size__those_of_its_namespace),
        T(invalid_and_placed__of_their_kind),
        T(arena__full__said),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
