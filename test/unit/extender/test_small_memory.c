/* Questions that do not fit their memory: an error and nothing left behind, never another answer. Each is asked with
 * ever more memory, until it is answered as with all of it. */
#include "base/compiler.h"
#include "extender/decision_words.h"
#include "extender/explain.h"
#include "extender/placement.h"
#include "extender/policy_set.h"
#include "extender/support/tested_store.h"
#include "extender/whatif.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define GIB 1024
#define ALL_OF_IT ((size_t)1 << 24)
#define STEP_BYTES 24

static const struct rules *rules;
static struct policy policy;
static const struct demand much = DEMAND_OF_SHARE(900);
static const struct str names[] = {STR("n0"), STR("n1"), STR("n2"), STR("stranger")};

static int setup(void **state)
{
    static const struct kv selector = {STR("of"), STR("rule")};
    static const struct packing_rule rule = {
        .pod_selector = {&selector, 1},
        .node_strategy = STR("spread"),
        .node_criteria = {.names = {STR("spread"), STR("binpack")}, .n = 2},
        .device_strategy = STR("spread"),
    };

    static const struct named_size sizes[] = {{.name = STR("small"), .milli = 100},
                                              {.name = STR("large"), .milli = 900}};

    static const struct inventory none = {.source = INVENTORY_ANNOTATION};

    store_open(clock_system());
    apply_empty_lists();
    apply_node("n0", 1, 80 * GIB, true);
    apply_node("n1", 2, 80 * GIB, true);
    apply_node("n2", 2, 40 * GIB, true);
    apply((struct ledger_op){
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = STR("x"), .schedulable = true, .inventory = &none, .note = "cannot be read"}});
    apply_pod("holds", "n1", &much);
    policy = *policy_defaults();
    policy.node_strategy = policy.device_strategy = STR("binpack");
    policy.rules = &rule;
    policy.rule_n = 1;
    policy.sizes = sizes;
    policy.size_n = ARRAY_LEN(sizes);
    rules = rules_of(&policy, 1);
    return 0;
}

static int teardown(void **state)
{
    rules_put(rules);
    store_check_and_free();
    return 0;
}

/* ---- pods ---- */

struct asks {
    const char *uid, *resource, *amount;
    bool of_rule;
    const char *key, *value; /* an annotation; NULL: none */
};

/* Pod d/<uid>, seen by the watch; good until the next call. */
static const struct pod *pod_that_asks(const struct asks *asks)
{
    static struct kv limit, annotation;
    static struct container c;
    static const struct kv label = {STR("of"), STR("rule")};
    static struct pod p;

    limit = (struct kv){str_of(asks->resource), str_of(asks->amount)};
    annotation = (struct kv){str_of(asks->key), str_of(asks->value)};
    c = (struct container){.name = STR("main"), .limits = {&limit, 1}};
    p = (struct pod){.uid = str_of(asks->uid),
                     .name = str_of(asks->uid),
                     .namespace_ = STR("d"),
                     .labels = {&label, asks->of_rule},
                     .annotations = {&annotation, asks->key != NULL},
                     .containers = &c,
                     .container_n = 1};
    assert_int_equal(ingest_pod(&rules->ingest, &arena, &p, NULL), 0);
    arena_reset(&arena);
    return &p;
}

/* ---- questions ---- */

static char said[4096]; /* the whole answer in words */

static void say(const char *text)
{
    const size_t n = strlen(said);

    snprintf(said + n, sizeof(said) - n, "%s;", text);
}

static void say_results(const struct pack_result *results, size_t n)
{
    char text[128];

    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%.*s %s %d", STR_ARG(results[i].name), verdict_text(results[i].verdict),
                 (int)results[i].score);
        say(text);
    }
}

static int filter(struct arena *a, const struct pod *pod)
{
    struct filter_result r;
    const int rc = placement_filter(&rules->placement, a, pod, names, ARRAY_LEN(names), &r, NULL);

    if (rc == 0) {
        say_results(r.results, r.result_n);
    }
    return rc;
}

static int prioritize(struct arena *a, const struct pod *pod)
{
    struct prioritize_result r;
    const int rc = placement_prioritize(&rules->placement, a, pod, names, ARRAY_LEN(names), &r, NULL);

    if (rc == 0) {
        say_results(r.ranked, r.n);
    }
    return rc;
}

static int preempt(struct arena *a, const struct pod *pod)
{
    static const struct str victims[] = {STR("holds")};
    struct preempt_node nodes[] = {{.name = STR("n1"), .victims = victims, .victim_n = 1}, {.name = STR("n0")}};
    enum verdict why;
    size_t n = 0;
    char text[64];
    const int rc = placement_preempt(&rules->placement, a, pod, nodes, ARRAY_LEN(nodes), &n, &why, NULL);

    if (rc == 0) {
        snprintf(text, sizeof(text), "%zu, %.*s", n, STR_ARG(nodes[0].name));
        say(text);
    }
    return rc;
}

static int explain(struct arena *a, const struct pod *pod)
{
    char text[EXPLAIN_SENTENCE_MAX];
    struct explanation e;
    const int rc = explain_pod(&rules->placement, a, STR("d"), pod->name, 3, &e, NULL);

    if (rc == 0) {
        say(explain_sentence(&e, text, sizeof(text)));
        for (size_t i = 0; i < e.note_n; i++) {
            say(e.notes[i].text);
        }
        for (size_t i = 0; i < e.model_n; i++) {
            snprintf(text, sizeof(text), "%.*s", STR_ARG(e.models[i]));
            say(text);
        }
        for (size_t i = 0; i < e.size_n; i++) {
            snprintf(text, sizeof(text), "%.*s", STR_ARG(e.sizes[i]));
            say(text);
        }
        for (size_t i = 0; i < e.fitting_n; i++) {
            snprintf(text, sizeof(text), "%.*s", STR_ARG(e.fitting[i]));
            say(text);
        }
        for (size_t i = 0; i < e.shown_n; i++) {
            say(explain_node_sentence(&e.nodes[i], text, sizeof(text)));
        }
        explain_end(&e);
    }
    return rc;
}

static int ask_whatif(struct arena *a, const struct pod *pod)
{
    const struct whatif_question q = {.namespace_ = STR("d"), .limits = pod->containers[0].limits, .count = 4};
    char text[2048];
    struct whatif w;
    const int rc = whatif_ask(&rules->placement, a, &q, 3, &w, NULL);

    if (rc == 0) {
        say(whatif_sentence(&w, text, sizeof(text)));
        whatif_end(&w);
    }
    return rc;
}

/* ---- with how much memory ---- */

static int ask_with(size_t bytes, int (*ask)(struct arena *a, const struct pod *pod), const struct pod *pod)
{
    struct arena a;
    int rc;

    said[0] = '\0';
    arena_init(&a, bytes);
    rc = ask(&a, pod);
    arena_fini(&a);
    return rc;
}

static void any__too_little_memory__an_error_and_then_the_same_answer(void **state)
{
    static int (*const asks[])(struct arena * a, const struct pod *pod) = {filter, prioritize, preempt, explain,
                                                                           ask_whatif};
    static const struct asks pods[] = {
        {"fits", "fgpu.io/gpu-milli", "200", false},
        {"fits-by-a-rule", "fgpu.io/gpu-milli", "200", true},
        {"fits-nowhere", "fgpu.io/gpu-count", "3", false},
        {"waits-for-others", "fgpu.io/gpu-milli", "950", false},
        {"invalid", "fgpu.io/gpu-milli", "none", false},
        {"holds", "fgpu.io/gpu-milli", "900", false},
        {"not-ours", "cpu", "1", false},
        {"of-a-model", "fgpu.io/gpu-milli", "200", false, "fgpu.io/gpu-model", "H100"},
        {"of-a-size", "cpu", "1", false, "fgpu.io/size", "made-up"},
    };

    unsigned failed_n = 0;

    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        const struct pod *pod = pod_that_asks(&pods[i]);

        for (size_t k = 0; k < ARRAY_LEN(asks); k++) {
            char want[sizeof(said)];
            size_t bytes = 0;
            int rc;

            assert_int_equal(ask_with(ALL_OF_IT, asks[k], pod), 0);
            strcpy(want, said);
            while ((rc = ask_with(bytes, asks[k], pod)) != 0 && bytes < ALL_OF_IT) {
                assert_int_equal(rc, -ERR_LIMIT);
                bytes += STEP_BYTES;
                failed_n++;
            }
            assert_string_equal(said, want);
        }
    }
    assert_true(failed_n > 1000);
}

/* What was chosen is given back, and the next try has it all. */
static void reserve__too_little_memory__nothing_is_held(void **state)
{
    const struct asks asks = {"fits", "fgpu.io/gpu-milli", "200", false, NULL, NULL};
    const int64_t before = milli_charged();
    enum store_reserve_result result = STORE_FAILED;
    unsigned failed_n = 0;

    (void)pod_that_asks(&asks);
    for (size_t bytes = 0; result == STORE_FAILED && bytes < ALL_OF_IT; bytes += STEP_BYTES) {
        struct store_reservation r = {0};
        struct store_pod found;
        struct arena a;

        arena_init(&a, bytes);
        result = store_reserve(store, &a, STR("fits"), STR("d"), STR("fits"), STR("n0"), STR("0123456789abcdef"),
                               &rules->placement.plans, NULL, &r, NULL);
        arena_reset(&arena);
        assert_true(store_find_pod(store, &arena, STR("fits"), &found));
        assert_int_equal(found.state, result == STORE_FAILED ? LEDGER_PENDING : LEDGER_RESERVED);
        assert_int_equal(milli_charged(), result == STORE_FAILED ? before : before + 200);
        failed_n += result == STORE_FAILED;
        if (result == STORE_RESERVED) {
            assert_int_equal(r.assignment.container_n, 1);
            assert_int_equal(r.assignment.containers[0].devices[0].milli, 200);
            assert_true(str_eq_cstr(r.assignment.id, "0123456789abcdef"));
        }
        arena_fini(&a);
    }
    assert_int_equal(result, STORE_RESERVED);
    assert_true(failed_n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any__too_little_memory__an_error_and_then_the_same_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(reserve__too_little_memory__nothing_is_held, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
