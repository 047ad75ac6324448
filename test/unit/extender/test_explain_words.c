/* What is said of a pod that waits or is placed, word by word: where the sentences belong that nobody's counting made.
 * The facts behind them: test/integration/test_explain.py. */
#include "base/compiler.h"
#include "core/fit/verdict.h"
#include "extender/explain.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define GIB 1024

/* ---- one node ---- */

static void expect_node(const char *name, const struct nearest *n, const char *want)
{
    char text[EXPLAIN_SENTENCE_MAX] = "untouched";

    explain_node_sentence(n, text, sizeof(text));
    if (strcmp(text, want) != 0) {
        fail_msg("%s: \"%s\" instead of \"%s\"", name, text, want);
    }
}

#define LACKS(...) .indexes = {3}, .lacks = {.missing_n = 1, .device_n = 1, .devices = {{__VA_ARGS__}}}
#define POD(name_)                                                                                                     \
    {                                                                                                                  \
        .namespace_ = {"ns", 2}, .name = { name_, 1 }                                                                  \
    }

static void node__what_it_lacks__said_in_amounts(void **state)
{
    static const struct {
        const char *name;
        struct nearest n;
        const char *want;
    } rows[] = {
        {"nothing to say", {.untolerated = false}, ""},
        {"compute", {LACKS(.milli = 200)}, "GPU 3 lacks 200 milli of compute"},
        {"less than a GiB", {LACKS(.mem_mib = 1023)}, "GPU 3 lacks 1023 MiB of memory"},
        {"a GiB", {LACKS(.mem_mib = GIB)}, "GPU 3 lacks 1.0 GiB of memory"},
        {"a little more, rounded up", {LACKS(.mem_mib = GIB + 1)}, "GPU 3 lacks 1.1 GiB of memory"},
        {"a place", {LACKS(.slots = 1)}, "GPU 3 lacks room for one more sharer"},
        {"two", {LACKS(.milli = 1, .mem_mib = 1)}, "GPU 3 lacks 1 milli of compute and 1 MiB of memory"},
        {"two others", {LACKS(.milli = 1, .slots = 1)}, "GPU 3 lacks 1 milli of compute and room for one more sharer"},
        {"the last two", {LACKS(.mem_mib = 1, .slots = 1)}, "GPU 3 lacks 1 MiB of memory and room for one more sharer"},
        {"all",
         {LACKS(.milli = 1, .mem_mib = 1, .slots = 1)},
         "GPU 3 lacks 1 milli of compute, 1 MiB of memory and room for one more sharer"},
        {"too small", {LACKS(.mem_mib = 900, .too_small_mib = 7)}, "GPU 3 is too small by 7 MiB of memory"},
        {"held", {LACKS(.held = true, .milli = 5)}, "GPU 3 is in use and cannot be shared with this pod"},
        {"several",
         {.indexes = {0}, .lacks = {.missing_n = 2, .device_n = 1, .devices = {{.milli = 5}}}},
         "GPU 0 lacks 5 milli of compute, 2 GPUs are missing in all"},
        {"a taint", {.untolerated = true}, "it is cordoned or has a taint that the pod does not tolerate"},
        {"a taint and more",
         {.untolerated = true, LACKS(.milli = 5)},
         "it is cordoned or has a taint that the pod does not tolerate; GPU 3 lacks 5 milli of compute"},
        {"one in the way", {.cost = {.pod_n = 1}, .leaving = {POD("a")}}, "it would fit if ns/a ended"},
        {"one that ends",
         {.cost = {.pod_n = 1}, .leaving = {{.namespace_ = {"ns", 2}, .name = {"a", 1}, .deleting = true}}},
         "it would fit if ns/a, which is terminating, ended"},
        {"two in the way",
         {.cost = {.pod_n = 2}, .leaving = {POD("a"), POD("b")}},
         "it would fit if ns/a and ns/b ended"},
        {"three in the way, and something lacks",
         {LACKS(.milli = 5), .cost = {.pod_n = 3}, .leaving = {POD("a"), POD("b"), POD("c")}},
         "GPU 3 lacks 5 milli of compute; it would fit if ns/a, ns/b and ns/c ended"},
        {"more than are named",
         {.cost = {.pod_n = 5}, .leaving = {POD("a"), POD("b"), POD("c"), POD("d"), POD("e")}},
         "it would fit if ns/a, ns/b, ns/c and 2 more ended"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_node(rows[i].name, &rows[i].n, rows[i].want);
    }
}

/* ---- the whole ---- */

static void expect(const char *name, const struct explanation *e, const char *want)
{
    char text[EXPLAIN_SENTENCE_MAX] = "untouched";

    explain_sentence(e, text, sizeof(text));
    if (strcmp(text, want) != 0) {
        fail_msg("%s: \"%s\" instead of \"%s\"", name, text, want);
    }
}

/* "0/5 nodes have GPUs for it: 3 ..., 2 ..." */
#define FULL .kind = EXPLAIN_WAITING, .node_n = 5, .counts = {[VERDICT_NO_MEMORY] = 3, [VERDICT_NO_COMPUTE] = 2}
#define FULL_TEXT                                                                                                      \
    "0/5 nodes have GPUs for it: 3 too few GPUs with enough free memory, 2 too few GPUs with enough free compute"

static void waiting__reasons_and_help(void **state)
{
    static const struct device_pattern wanted[] = {{{"A100*", 5}, false}, {{"T4", 2}, true}};
    static const struct demand of_models = {.models = wanted, .model_n = 2};
    static const struct str models[] = {{"A", 1}, {"B", 1}, {"C", 1}, {"D", 1}, {"E", 1},
                                        {"F", 1}, {"G", 1}, {"H", 1}, {"I", 1}};
    static const struct str best[] = {{"n7", 2}};
    static const struct nearest near[] = {
        {.node_name = {"n4", 2}, LACKS(.milli = 5), .cost = {.pod_n = 1}, .leaving = {POD("a")}}};
    static const struct nearest near_unsaid[] = {{.node_name = {"n4", 2}, .untolerated = true}};
    const struct {
        const char *name;
        struct explanation e;
        const char *want;
    } rows[] = {
        {"full", {FULL}, FULL_TEXT},
        {"many reasons",
         {.kind = EXPLAIN_WAITING,
          .node_n = 10,
          .counts = {[VERDICT_NO_MEMORY] = 4, [VERDICT_NO_COMPUTE] = 3, [VERDICT_CLOSED] = 2, [VERDICT_UNHEALTHY] = 1}},
         "0/10 nodes have GPUs for it: 4 too few GPUs with enough free memory, 3 too few GPUs with enough free "
         "compute, 2 "
         "the node pool takes no new pods now, and 1 more reasons"},
        {"the nearest",
         {FULL, .nodes = near, .shown_n = 1},
         FULL_TEXT "; nearest is n4: GPU 3 lacks 5 milli of compute; it would fit if ns/a ended"},
        {"a nearest of which nothing can be said", {FULL, .nodes = near_unsaid, .shown_n = 1}, FULL_TEXT},
        {"models",
         {FULL, .pod.pod.demand = &of_models, .models = models, .model_n = 2},
         FULL_TEXT "; it asks for model A100*,!T4, and the cluster has A, B"},
        {"as many models as are named",
         {FULL, .pod.pod.demand = &of_models, .models = models, .model_n = 8},
         FULL_TEXT "; it asks for model A100*,!T4, and the cluster has A, B, C, D, E, F, G, H"},
        {"more models",
         {FULL, .pod.pod.demand = &of_models, .models = models, .model_n = 9},
         FULL_TEXT "; it asks for model A100*,!T4, and the cluster has A, B, C, D, E, F, G, H and 1 more"},
        {"a note", {FULL, .notes = {{"not readable", 1, {"n1", 2}}}, .note_n = 1}, FULL_TEXT "; n1: not readable"},
        {"a note of several",
         {FULL, .notes = {{"not readable", 4, {"n1", 2}}}, .note_n = 1},
         FULL_TEXT "; n1 and 3 more: not readable"},
        {"no GPU anywhere",
         {.kind = EXPLAIN_WAITING, .node_n = 2, .counts = {[VERDICT_NO_GPU] = 2}},
         "0/2 nodes have GPUs for it: 2 no GPU that fgpu may hand out; `fgpu state` says of each node what fgpu knows "
         "about its GPUs"},
        {"some fit",
         {.kind = EXPLAIN_WAITING,
          .node_n = 3,
          .counts = {[VERDICT_FITS] = 3},
          .open_fit_n = 3,
          .fitting = best,
          .fitting_n = 1,
          .notes = {{"not readable", 1, {"n1", 2}}},
          .note_n = 1},
         "3/3 nodes have GPUs for it; the best is n7; it is not for want of GPUs that the pod waits"},
        {"those that fit cannot be chosen",
         {.kind = EXPLAIN_WAITING, .node_n = 3, .counts = {[VERDICT_FITS] = 3}, .open_fit_n = 1},
         "3/3 nodes have GPUs for it; 2 of those with room cannot be chosen: a taint, or kube-scheduler did not ask"},
        {"not ready", {FULL, .not_ready = "fgpu has just started"}, FULL_TEXT "; fgpu has just started"},
        {"what the scheduler says",
         {FULL,
          .waiting = {.known = true, .asked_n = 1, .message = STR("0/5 nodes are available: 5 Insufficient cpu.")}},
         FULL_TEXT "; kube-scheduler itself objects: 5 Insufficient cpu"},
        {"never asked",
         {FULL, .waiting = {.known = true, .scheduler_name = STR("s"), .asking = STR("s")}},
         FULL_TEXT
         "; fgpu has not been asked about it since it started: either kube-scheduler rules out every node before, or "
         "it does not know that the pod is for fgpu (managedResources)"},
        {"of a tenant without limits",
         {FULL, .has_tenant = true, .tenant = {.name = STR("t"), .limit = {INT64_MAX, INT64_MAX}}},
         FULL_TEXT},
        {"of a tenant with both limits",
         {FULL, .has_tenant = true, .tenant = {.name = STR("t"), .limit = {500, 900}, .held = {400, 800}}},
         FULL_TEXT "; its tenant t holds 400 of at most 500 milli and 800 of at most 900 MiB"},
        {"of a tenant with a limit of memory",
         {FULL, .has_tenant = true, .tenant = {.name = STR("t"), .limit = {INT64_MAX, 900}, .held = {400, 800}}},
         FULL_TEXT "; its tenant t holds 800 of at most 900 MiB"},
        {"of a tenant, with room",
         {.kind = EXPLAIN_WAITING,
          .node_n = 1,
          .counts = {[VERDICT_FITS] = 1},
          .open_fit_n = 1,
          .has_tenant = true,
          .tenant = {.name = STR("t"), .limit = {500, 900}}},
         "1/1 nodes have GPUs for it"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect(rows[i].name, &rows[i].e, rows[i].want);
    }
}

/* Events are read by whoever may read the namespace: no other pod is named there. */
static void waiting__for_the_tenant__names_no_other_pod(void **state)
{
    static const struct nearest near[] = {
        {.node_name = {"n4", 2}, LACKS(.milli = 5), .cost = {.pod_n = 1}, .leaving = {POD("a")}}};
    const struct explanation e = {FULL, .nodes = near, .shown_n = 1, .not_ready = "never said here"};
    char text[EXPLAIN_SENTENCE_MAX];

    assert_string_equal(explain_tenant_sentence(&e, text, sizeof(text)),
                        FULL_TEXT "; nearest is n4: GPU 3 lacks 5 milli of compute");
}

static void others__unknown_invalid_and_placed(void **state)
{
    static const struct demand bad = {.defect = DEMAND_FRACTION, .as_written = {"x", 1}};
    static const struct str sizes[] = {{"small", 5}, {"large", 5}};
    const struct {
        const char *name;
        struct explanation e;
        const char *part;
    } rows[] = {
        {"unknown",
         {.kind = EXPLAIN_UNKNOWN, .namespace_ = STR("ns"), .name = STR("a")},
         "fgpu knows no pod ns/a that"},
        {"invalid",
         {.kind = EXPLAIN_INVALID, .pod.pod.demand = &bad},
         "; it is refused on every node until it is corrected; it says x"},
        {"sizes",
         {.kind = EXPLAIN_INVALID, .pod.pod.demand = &bad, .namespace_ = STR("ns"), .sizes = sizes, .size_n = 2},
         "; sizes for namespace ns: small, large"},
        {"bound",
         {.kind = EXPLAIN_PLACED, .pod = {.state = LEDGER_BOUND, .node_name = STR("n1")}},
         "bound to n1; why is not known any more"},
        {"reserved",
         {.kind = EXPLAIN_PLACED, .pod = {.state = LEDGER_RESERVED, .node_name = STR("n1")}},
         "its Binding is on its way to n1; why"},
        {"foreign",
         {.kind = EXPLAIN_PLACED, .pod = {.state = LEDGER_FOREIGN, .node_name = STR("n1")}},
         "bound to n1 by somebody else: nobody knows which GPUs it uses"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[EXPLAIN_SENTENCE_MAX];

        explain_sentence(&rows[i].e, text, sizeof(text));
        if (strstr(text, rows[i].part) == NULL) {
            fail_msg("%s: \"%s\" without \"%s\"", rows[i].name, text, rows[i].part);
        }
    }
}

static void kinds__change_with_the_reasons_and_not_with_numbers(void **state)
{
    const struct explanation full = {FULL}, none = {.kind = EXPLAIN_WAITING};
    struct explanation fuller = full, other = full;

    fuller.counts[VERDICT_NO_MEMORY]++;
    other.counts[VERDICT_CLOSED]++;
    assert_true(explain_kinds(&full) == explain_kinds(&fuller));
    assert_true(explain_kinds(&full) != explain_kinds(&other));
    assert_true(explain_kinds(&none) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node__what_it_lacks__said_in_amounts),
        cmocka_unit_test(waiting__reasons_and_help),
        cmocka_unit_test(waiting__for_the_tenant__names_no_other_pod),
        cmocka_unit_test(others__unknown_invalid_and_placed),
        cmocka_unit_test(kinds__change_with_the_reasons_and_not_with_numbers),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
