/* What kube-scheduler says of a pod, without what it repeats of fgpu; and why fgpu was not asked. */
#include "extender/explain.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <string.h>

/* Each in brackets. */
static void expect_reasons(const char *message, const char *want)
{
    struct str found[EXPLAIN_REASONS_MAX];
    const size_t n = explain_scheduler_reasons(str_of(message), found);
    struct strbuf text;

    strbuf_init(&text, 4096);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&text, "[%.*s]", STR_ARG(found[i]));
    }
    if (!str_eq_cstr(strbuf_view(&text), want)) {
        fail_msg("\"%s\": %s instead of %s", message, text.p, want);
    }
    strbuf_fini(&text);
}

#define NODES "0/5 nodes are available: "

static void reasons__of_messages_as_kube_scheduler_writes_them(void **state)
{
    static const struct {
        const char *message, *want;
    } rows[] = {
        {NODES "5 Insufficient cpu.", "[5 Insufficient cpu]"},
        {NODES "5 Insufficient cpu", "[5 Insufficient cpu]"},
        {NODES "1 Insufficient cpu, 4 Too many pods. preemption: 0/5 nodes are available: 5 No preemption victims.",
         "[1 Insufficient cpu][4 Too many pods]"},
        {NODES "2 node(s) had untolerated taint {a: b, c}, 3 node(s) were unschedulable.",
         "[2 node(s) had untolerated taint {a: b, c}][3 node(s) were unschedulable]"}, /* a comma within one */
        {NODES "5 want 1.5 of it. preemption: none", "[5 want 1.5 of it]"},            /* a point within one */
        {NODES "1 a, 4", "[1 a][4]"},
        {NODES "1 a, ", "[1 a,]"},
        {NODES "odd", "[odd]"},
        {NODES, ""},
        {"0/5 nodes are available:", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_reasons(rows[i].message, rows[i].want);
    }
}

/* Another form is one reason, as it stands; that fgpu was not ready is none of the scheduler's. */
static void reasons__of_other_messages(void **state)
{
    static const char post[] = "Post \"https://fgpu/filter\": dial tcp: connection refused";

    expect_reasons("", "");
    expect_reasons("fgpu is not ready: it has just started", "");
    expect_reasons("it is fgpu is not ready: x", "[it is fgpu is not ready: x]");
    expect_reasons("some nodes are here: 1 a", "[some nodes are here: 1 a]");
    expect_reasons("running PreFilter plugin", "[running PreFilter plugin]");
    expect_reasons(post, "[Post \"https://fgpu/filter\": dial tcp: connection refused]");
}

static void reasons__of_fgpu__left_out(void **state)
{
    struct strbuf text;

    strbuf_init(&text, 4096);
    for (unsigned v = 1; v < VERDICT__MAX; v++) {
        strbuf_reset(&text);
        strbuf_addf(&text, NODES "1 Insufficient cpu, 4 %s.", verdict_text((enum verdict)v));
        expect_reasons(text.p, "[1 Insufficient cpu]");
    }
    for (unsigned d = 1; d < DEMAND_DEFECT__MAX; d++) {
        strbuf_reset(&text);
        strbuf_addf(&text, NODES "5 %s.", demand_defect_text((enum demand_defect)d));
        expect_reasons(text.p, "");
    }
    strbuf_fini(&text);
}

static void reasons__more_than_are_shown__the_first(void **state)
{
    struct str found[EXPLAIN_REASONS_MAX];
    struct strbuf text;

    strbuf_init(&text, 4096);
    strbuf_add_cstr(&text, NODES);
    for (int i = 0; i <= EXPLAIN_REASONS_MAX; i++) {
        strbuf_addf(&text, "%s%d reason", i > 0 ? ", " : "", i);
    }
    assert_int_equal(explain_scheduler_reasons(strbuf_view(&text), found), EXPLAIN_REASONS_MAX);
    assert_true(str_eq_cstr(found[0], "0 reason") && str_eq_cstr(found[EXPLAIN_REASONS_MAX - 1], "15 reason"));
    strbuf_fini(&text);
}

static void unasked__why_and_what_to_do(void **state)
{
    static const struct {
        const char *message, *asking, *want; /* want NULL: nothing is said */
        uint32_t asked_n;
        bool known;
    } rows[] = {
        {"", "", NULL, 0, false},
        {"", "gpus", NULL, 1, true},
        {"fgpu is not ready: x", "", "asked while fgpu was not ready", 0, true},
        {"Post \"https://fgpu\": refused", "", "check urlPrefix", 0, true},
        {"", "", "no scheduler has asked about any pod with GPUs", 0, true},
        {"", "default-scheduler", "it names scheduler gpus, and default-scheduler is the one that asks", 0, true},
        {"", "gpus", "either kube-scheduler rules out every node before", 0, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct waiting_note n = {.known = rows[i].known,
                                       .asked_n = rows[i].asked_n,
                                       .message = str_of(rows[i].message),
                                       .asking = str_of(rows[i].asking),
                                       .scheduler_name = STR("gpus")};
        char text[EXPLAIN_SENTENCE_MAX] = "before";

        assert_ptr_equal(explain_unasked_sentence(&n, text, sizeof(text)), text);
        if (rows[i].want == NULL ? text[0] != '\0' : strstr(text, rows[i].want) == NULL) {
            fail_msg("row %zu: %s", i, text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons__of_messages_as_kube_scheduler_writes_them),
        cmocka_unit_test(reasons__of_other_messages),
        cmocka_unit_test(reasons__of_fgpu__left_out),
        cmocka_unit_test(reasons__more_than_are_shown__the_first),
        cmocka_unit_test(unasked__why_and_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
