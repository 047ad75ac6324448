/* Which documents a replay refuses, and in which words; several configurations, and another one than was recorded. That
 * what fits is made again: test_replay.c. */
#include "extender/replay.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "extender/store_trace.h"
#include "extender/support/tested_trace.h"
#include "support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_says(const struct strbuf *document, const char *row, const char *begins)
{
    const char *said = replay_says(document);

    if (begins[0] == '\0' ? said[0] != '\0' : strncmp(said, begins, strlen(begins)) != 0) {
        fail_msg("%s: \"%s\" instead of \"%s\"", row, said, begins);
    }
}

/* Five GPUs; p0 is reserved, p1 fills n0, p2 is refused. The node that p2 gets tentatively is n1. */
static void begin(struct strbuf *document)
{
    struct policy p = *policy_defaults();

    p.node_strategy = p.device_strategy = STR("binpack");
    traced_begin(&p);
    three_decisions(document);
}

static void end(struct strbuf *document)
{
    strbuf_fini(document);
    traced_end();
}

/* ---- lines ---- */

#define HEAD(more) "{\"apiVersion\":\"" TRACE_API_VERSION "\",\"first\":1," more "}\n"
#define LINE(n, rest) "{\"seq\":" #n ",\"atMs\":1,\"generation\":0,\"type\":" rest "}\n"
#define END "{\"type\":\"end\"}\n"
#define CONFIGURATION(n) LINE(n, "\"configuration\",\"config\":0,\"configuration\":{\"a\":1}")

static void document__that_cannot_be_replayed__why(void **state)
{
    static const struct {
        const char *text, *begins;
    } rows[] = {
        {HEAD("\"next\":1,\"complete\":true") END, "there is no configuration in it"},
        {HEAD("\"next\":1,\"complete\":false") END,
         "it begins with line number 1, and the ledger before that is not known"},
        {HEAD("\"next\":2,\"complete\":true") LINE(1, "\"unheard-of\"") END,
         "line number 1: it is of type \"unheard-of\", which cannot be replayed"},
        {HEAD("\"next\":2,\"complete\":true") LINE(1, "\"configuration\",\"config\":0,\"configuration\":{\"a\":7}") END,
         "line number 1: another configuration"},
        {HEAD("\"next\":2,\"complete\":true") CONFIGURATION(1) END, ""},
        {HEAD("\"next\":3,\"complete\":true") CONFIGURATION(1) LINE(2, "\"op\",\"op\":\"reserve\"") END,
         "line number 2: no op that can be applied"},
        {HEAD("\"next\":3,\"complete\":true") CONFIGURATION(1) LINE(2, "\"op\",\"op\":\"made-up\"") END,
         "line number 2: no op that can be applied"},
        {HEAD("\"next\":3,\"complete\":true") CONFIGURATION(1) LINE(2, "\"op\"") END,
         "line number 2: no op that can be applied"},
        {HEAD("\"next\":3,\"complete\":true") CONFIGURATION(1) LINE(2, "\"filter\",\"promisesAt\":0,\"judgedAt\":1")
             END,
         "line number 2: promisesAt and judgedAt are no earlier lines in this order"},
        {HEAD("\"next\":3,\"complete\":true") CONFIGURATION(1) LINE(2, "\"filter\",\"promisesAt\":2,\"judgedAt\":1")
             END,
         "line number 2: promisesAt and judgedAt are no earlier lines in this order"},
        {HEAD("\"next\":3,\"complete\":true") CONFIGURATION(1) LINE(2, "\"filter\",\"promisesAt\":1,\"judgedAt\":3")
             END,
         "line number 2: promisesAt and judgedAt are no earlier lines in this order"},
    };

    struct strbuf none;

    begin(&none);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf document;

        strbuf_init(&document, DOCUMENT_BYTES_MAX);
        strbuf_add_cstr(&document, rows[i].text);
        expect_says(&document, rows[i].text, rows[i].begins);
        strbuf_fini(&document);
    }
    end(&none);
}

static void document__more_configurations_than_there_is_room_for__refused(void **state)
{
    struct strbuf document, none;

    begin(&none);
    strbuf_init(&document, DOCUMENT_BYTES_MAX);
    strbuf_add_cstr(&document, HEAD("\"next\":9999,\"complete\":true"));
    for (int i = 1; i <= 4097; i++) {
        strbuf_addf(&document,
                    "{\"seq\":%d,\"atMs\":1,\"generation\":0,\"type\":\"configuration\",\"config\":%d,"
                    "\"configuration\":{\"a\":1}}\n",
                    i, i);
    }
    expect_says(&document, "4097", "more than 4096 configurations");
    strbuf_fini(&document);
    end(&none);
}

/* ---- values ---- */

/* What is for people alone. */
static bool is_read(struct str key)
{
    return !str_eq_cstr(key, "hash") && !str_eq_cstr(key, "reason");
}

/* Where the value ends that begins here. */
static const char *end_of_value(const char *at)
{
    int depth = 0;

    do {
        if (*at == '"') {
            at = strchr(at + 1, '"');
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
    } while (depth > 0 || strchr(",}", *at) == NULL);
    return at;
}

/* The value between the two is no text, no number, no object and no list of any of them. */
static void expect_refused(const struct strbuf *document, const char *line, struct str key, const char *value,
                           const char *end)
{
    struct strbuf other;
    unsigned n = 0;
    char named[3][48];
    const char *said;

    for (const char *at = document->p; at < line; at++) {
        n += *at == '\n'; /* the head is before number 1 */
    }
    snprintf(named[0], sizeof(named[0]), "line number %u: ", n);
    snprintf(named[1], sizeof(named[1]), "line %u, ", n);
    snprintf(named[2], sizeof(named[2]), "the line after number %u: ", n - 1);
    strbuf_init(&other, DOCUMENT_BYTES_MAX);
    strbuf_add(&other, document->p, (size_t)(value - document->p));
    strbuf_add_cstr(&other, "[[]]");
    strbuf_add_cstr(&other, end);
    said = replay_says(&other);
    if (strncmp(said, named[0], strlen(named[0])) != 0 && strncmp(said, named[1], strlen(named[1])) != 0 &&
        strncmp(said, named[2], strlen(named[2])) != 0) {
        fail_msg("\"%.*s\" of line %u: \"%s\"", STR_ARG(key), n, said);
    }
    strbuf_fini(&other);
}

static void value__of_another_kind__refused_with_its_line(void **state)
{
    struct strbuf document;
    unsigned value_n = 0;

    begin(&document);
    store_tentative_end(store, STR("p2"));
    strbuf_reset(&document);
    trace_text(&document);
    for (const char *line = strchr(document.p, '\n') + 1; strncmp(line, "{\"seq\"", 6) == 0;
         line = strchr(line, '\n') + 1) {
        const char *at = line;

        while (*at != '}') {
            const char *const end_of_key = strchr(at + 2, '"'), *const end = end_of_value(end_of_key + 2);
            const struct str key = {at + 2, (size_t)(end_of_key - at - 2)};

            if (is_read(key)) {
                expect_refused(&document, line, key, end_of_key + 2, end);
                value_n++;
            }
            at = end;
        }
    }
    assert_true(value_n > 120);
    end(&document);
}

/* Within the values of one line. */
static void value__that_nobody_writes__refused(void **state)
{
    static const struct {
        const char *type;
        unsigned n;
        const char *key, *to, *begins;
    } rows[] = {
        {"filter", 0, "\"labels\":", "[\"x\"]", "line number 9: "},
        {"filter", 0, "\"priority\":", "3000000000", "line number 9: "},
        {"filter", 0, "\"milli\":", "-1", "line number 9: "},
        {"tentative", 0, "\"milli\":", "-1", "line number 16: "},
        {"filter", 0, "\"uid\":", "7", "line number 9: "},
        {"bind", 0, "\"devices\":", "[\"x\"]", "line number 10: "},
        {"bind", 0, "\"verdict\":", "-1", "line number 10: "},
        {"filter", 1, "\"judgedAt\":", "12,\"moved\":7", "line number 12: "},
        {"filter", 0, "\"promisesAt\":", "0", "line number 9: promisesAt and judgedAt"},
        {"filter", 0, "\"asked\":", "\"0-1,\"", ""}, /* as without the comma */
        {"filter", 0, "\"asked\":", "\"0,1\"", ""},
        {"filter", 0, "\"asked\":", "\"0,0-1\"", "line number 9: these are no places"}, /* more than there are nodes */
        {"filter", 0, "\"asked\":", "\"\"", "line 9, filter: 2 of 2 nodes fit"},
    };
    struct strbuf document;

    begin(&document);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf other;

        altered(&document, rows[i].type, rows[i].n, rows[i].key, rows[i].to, &other);
        expect_says(&other, rows[i].key, rows[i].begins);
        strbuf_fini(&other);
    }
    end(&document);
}

/* After each line the ledger is at a generation; then it would be another one after every line that follows. */
static void generation__another_than_recorded__said_once(void **state)
{
    static const char bind[] = "\"generation\":8,\"type\":\"bind\"";
    struct replay_report report;
    struct strbuf document;
    char *at;

    begin(&document);
    at = strstr(document.p, bind);
    assert_non_null(at);
    at[strlen("\"generation\":")] = '9';
    assert_int_equal(replay_by(&document, NULL, true, &report, NULL), 0);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.text, "line 10, the ledger after this line: generation 9; now generation 8");
    assert_int_equal(report.different_n, 1);
    assert_int_equal(report.verbs[REPLAY_BIND].different_n, 0);
    assert_int_equal(report.verbs[REPLAY_FILTER].again_n, 1);
    end(&document);
}

/* As many devices as a pod can have requests, and one more. */
static void value__more_requests_than_a_pod_can_have__refused(void **state)
{
    char devices[8 * (DEMAND_GPU_REQUESTS_MAX + 1)];
    struct strbuf document;

    begin(&document);
    for (int more = 0; more < 2; more++) {
        struct strbuf other;
        size_t at = 0;

        for (size_t i = 0; i < DEMAND_GPU_REQUESTS_MAX + (size_t)more; i++) {
            at += (size_t)snprintf(devices + at, sizeof(devices) - at, "%s1", i == 0 ? "[" : ",");
        }
        snprintf(devices + at, sizeof(devices) - at, "]");
        altered(&document, "bind", 0, "\"devices\":", devices, &other);
        expect_says(&other, devices, more ? "line number 10: JSON" : "line 10, bind: reserved on n1: devices 0; ");
        strbuf_fini(&other);
    }
    end(&document);
}

/* ---- decisions ---- */

/* A trace may be older than the fgpu that replays it: of an answer in which all nodes fit the number stays what it is.
 */
static void digest__of_an_answer__the_same_as_ever(void **state)
{
    struct strbuf document;

    begin(&document);
    assert_non_null(strstr(document.p, "\"fit\":2,\"digest\":393961322344131377,\"best\""));
    assert_non_null(strstr(document.p, "\"fit\":2,\"digest\":8673487219453344816,\"best\""));
    end(&document);
}

static void decision__moved__only_counted(void **state)
{
    struct replay_report report;
    struct strbuf document, moved, other;

    begin(&document);
    assert_int_equal(replay(&document, &report, NULL), 0);
    assert_int_equal(report.verbs[REPLAY_FILTER].again_n, 3);
    assert_int_equal(report.verbs[REPLAY_FILTER].moved_n, 0);
    assert_int_equal(report.op_n, 9);
    assert_int_equal(report.head.first, 1);
    assert_int_equal(report.head.next, 18);
    assert_true(report.head.complete);
    altered(&document, "filter", 1, "\"judgedAt\":", "12,\"moved\":true", &moved);
    altered(&moved, "filter", 1, "\"fit\":", "0", &other); /* it is not looked at */
    assert_int_equal(replay(&other, &report, NULL), 0);
    assert_int_equal(found.n, 0);
    assert_int_equal(report.verbs[REPLAY_FILTER].again_n, 2);
    assert_int_equal(report.verbs[REPLAY_FILTER].moved_n, 1);
    assert_int_equal(report.verbs[REPLAY_PRIORITIZE].moved_n, 0);
    strbuf_fini(&moved);
    strbuf_fini(&other);
    end(&document);
}

/* A rule selects it by any of its labels: all of them are in the trace. */
static void decision__of_a_pod_with_many_labels__by_the_rule_that_selects_it(void **state)
{
    enum { LABELS = 40 };
    struct policy p = *policy_defaults();
    struct kv labels[LABELS];
    char keys[LABELS][16];

    for (size_t i = 0; i < LABELS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "key-%zu", i);
        labels[i] = (struct kv){str_of(keys[i]), STR("v")};
    }
    p.node_strategy = p.device_strategy = STR("binpack");
    for (size_t i = 0; i < LABELS; i++) {
        const struct packing_rule rule = {
            .pod_selector = {&labels[i], 1}, .node_strategy = STR("spread"), .device_strategy = STR("spread")};
        struct strbuf document;
        struct container c;
        struct kv limit;
        char amount[16];
        struct pod pod = pod_of(3, &c, &limit, amount, 50);

        p.rules = &rule;
        p.rule_n = 1;
        traced_begin(&p);
        three_decisions(&document);
        pod.labels = (struct kv_list){labels, LABELS};
        traced_ask(&pod);
        strbuf_reset(&document);
        trace_text(&document);
        assert_non_null(strstr(document.p, "\"nodes\":2,\"fit\":2,"));
        expect_says(&document, keys[i], "");
        end(&document);
    }
}

/* The promise to p2 is judged with until it is over, by the line that says so. */
static void promise__ended__does_not_count_any_more(void **state)
{
    struct strbuf document;
    struct container c;
    struct kv limit;
    char amount[16];
    const struct pod pod = pod_of(3, &c, &limit, amount, 200);

    begin(&document);
    traced_ask(&pod);
    store_tentative_end(store, STR("p2"));
    traced_ask(&pod);
    strbuf_reset(&document);
    trace_text(&document);
    expect_says(&document, "as it was", "");
    end(&document);
}

/* ---- configurations ---- */

/* What was decided after another one was in effect is made again by that. */
static void configuration__becomes_another__decisions_by_theirs(void **state)
{
    struct strbuf document;
    struct policy second = *policy_defaults();
    struct replay_report report;
    struct container c;
    struct kv limit;
    char amount[16];
    const struct pod pod = pod_of(3, &c, &limit, amount, 50);

    begin(&document);
    second.node_strategy = second.device_strategy = STR("spread");
    store_record_configuration(store, 1, "other hash", STR("{\"a\":2}"));
    assert_int_equal(placement_context_init(&context, store, &second, NULL), 0);
    context.plans.generation = 1;
    traced_ask(&pod);
    strbuf_reset(&document);
    trace_text(&document);
    second_policy = &second;
    assert_int_equal(replay(&document, &report, NULL), 0);
    assert_string_equal(found.text, "");
    assert_int_equal(report.verbs[REPLAY_FILTER].again_n, 4);
    second.node_strategy = second.device_strategy = STR("binpack");
    assert_int_equal(replay(&document, &report, NULL), 0);
    assert_int_equal(found.n, 1);
    end(&document);
}

/* By another one the best node and the devices are compared, and nothing else; then what was recorded is applied. */
static void configuration__another_than_recorded__what_it_would_have_decided(void **state)
{
    struct policy other = *policy_defaults();
    struct replay_report report;
    struct strbuf document;

    begin(&document);
    other.node_strategy = other.device_strategy = STR("spread");
    assert_int_equal(replay_by(&document, &other, true, &report, NULL), 0);
    assert_int_equal(report.verbs[REPLAY_FILTER].again_n, 3);
    assert_int_equal(report.verbs[REPLAY_FILTER].different_n, 2);
    assert_int_equal(report.verbs[REPLAY_BIND].again_n, 3);
    assert_int_equal(report.different_n, 2 + report.verbs[REPLAY_BIND].different_n);
    assert_int_equal(found.n, report.different_n);
    assert_non_null(strstr(found.text, "n0 is the best (score 5000), then n1 (2500); now 2 of 2 nodes fit; n1 is the"));
    other.node_strategy = other.device_strategy = STR("binpack");
    assert_int_equal(replay_by(&document, &other, true, &report, NULL), 0);
    assert_int_equal(report.different_n, 0);
    end(&document);
}

/* With nothing behind the last one. */
static struct kv_list copied(struct kv_list l)
{
    struct kv *items = xcalloc(l.n, sizeof(*items));

    if (l.n > 0) {
        memcpy(items, l.items, l.n * sizeof(*items));
    }
    return (struct kv_list){items, l.n};
}

/* Labels of nodes are not in a trace: a rule by them can be judged only as a rule that was there. */
static void configuration__another_with_selectors__only_those_that_were_in_effect(void **state)
{
    static const struct kv a[] = {{STR("k"), STR("v")}}, b[] = {{STR("k"), STR("w")}}, c[] = {{STR("l"), STR("v")}};
    static const struct kv two[] = {{STR("k"), STR("v")}, {STR("l"), STR("v")}};
    static const struct {
        struct kv_list recorded, other;
        size_t recorded_n, other_n;
        bool taken;
    } rows[] = {
        {{a, 1}, {b, 1}, 1, 0, true}, /* it is none of them */
        {{a, 1}, {a, 1}, 1, 1, true},     {{a, 1}, {b, 1}, 1, 1, false},      {{a, 1}, {c, 1}, 1, 1, false},
        {{a, 1}, {two, 2}, 1, 1, false},  {{two, 2}, {a, 1}, 1, 1, false},    {{a, 1}, {a, 1}, 0, 1, false},
        {{a, 1}, {NULL, 0}, 1, 1, true},  {{NULL, 0}, {NULL, 0}, 0, 1, true}, {{a, 1}, {a, 1}, 1, 0, true},
        {{two, 2}, {two, 2}, 1, 1, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct policy p = *policy_defaults(), other = p;
        const struct packing_rule recorded_rule = {.node_selector = rows[i].recorded, .node_strategy = STR("binpack")};
        const struct packing_rule other_rule = {.node_selector = copied(rows[i].other),
                                                .node_strategy = STR("binpack")};
        struct replay_report report;
        struct strbuf document;
        struct err err = {.msg = ""};
        int rc;

        p.rules = &recorded_rule;
        p.rule_n = rows[i].recorded_n;
        other.rules = &other_rule;
        other.rule_n = rows[i].other_n;
        traced_begin(&p);
        three_decisions(&document);
        rc = replay_by(&document, &other, true, &report, &err);
        if (rows[i].taken
                ? rc != 0
                : rc != -ERR_INVALID || strstr(err.msg, "packing.rules[0] of the other configuration") == NULL) {
            fail_msg("row %zu: %s", i, err.msg);
        }
        free((void *)(uintptr_t)other_rule.node_selector.items);
        end(&document);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(document__that_cannot_be_replayed__why),
        TEST(document__more_configurations_than_there_is_room_for__refused),
        TEST(value__of_another_kind__refused_with_its_line),
        TEST(value__that_nobody_writes__refused),
        TEST(generation__another_than_recorded__said_once),
        TEST(value__more_requests_than_a_pod_can_have__refused),
        TEST(digest__of_an_answer__the_same_as_ever),
        TEST(decision__moved__only_counted),
        TEST(decision__of_a_pod_with_many_labels__by_the_rule_that_selects_it),
        TEST(promise__ended__does_not_count_any_more),
        TEST(configuration__becomes_another__decisions_by_theirs),
        TEST(configuration__another_than_recorded__what_it_would_have_decided),
        TEST(configuration__another_with_selectors__only_those_that_were_in_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
