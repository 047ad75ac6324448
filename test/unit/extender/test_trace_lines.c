/* A saved trace is whole, or it is said where it is not. */
#include "extender/trace_lines.h"

#include "base/compiler.h"
#include "extender/store_trace.h"
#include "support/cmocka.h"

#include <string.h>

#define HEAD                                                                                                           \
    "{\"apiVersion\":\"" TRACE_API_VERSION "\",\"version\":\"v1\",\"startedAt\":\"s\",\"asOf\":\"a\",\"first\":5,"     \
    "\"next\":7,\"complete\":true}\n"
#define LINE(seq_) "{\"seq\":" seq_ ",\"atMs\":-3,\"generation\":9,\"type\":\"op\",\"op\":\"podsEnd\"}\n"
#define END "{\"type\":\"end\"}\n"

static struct json_reader reader;
static struct arena arena;
static struct trace_lines lines;

static int setup(void **state)
{
    arena_init(&arena, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    return 0;
}

static void begin(const char *document)
{
    assert_int_equal(trace_lines_begin(&lines, str_of(document), &reader, &arena, NULL), 0);
}

static void trace__whole__each_line_and_then_none(void **state)
{
    struct trace_line line;
    bool any;

    begin("\n" HEAD "\n" LINE("5") "\n\n" LINE("6") END);
    assert_true(str_eq_cstr(lines.head.version, "v1") && str_eq_cstr(lines.head.started_at, "s"));
    assert_true(str_eq_cstr(lines.head.as_of, "a") && lines.head.complete);
    assert_true(lines.head.first == 5 && lines.head.next == 7);
    for (uint64_t seq = 5; seq < 7; seq++) {
        assert_int_equal(trace_lines_next(&lines, &line, &any, NULL), 0);
        assert_true(any && line.seq == seq && line.at_ms == -3 && line.generation == 9);
        assert_true(str_eq_cstr(line.type, "op") && str_ends(line.text, STR("\"podsEnd\"}")));
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trace_lines_next(&lines, &line, &any, NULL), 0);
        assert_false(any);
    }
}

static void head__of_no_trace__said(void **state)
{
    static const struct {
        const char *document, *why;
    } rows[] = {
        {"", "there is nothing in it"},
        {"\n\n", "there is nothing in it"},
        {"[]\n", "the first line"},
        {"{\"first\":0}\n", "the first line"},
        {"{\"next\":0}\n", "the first line"},
        {"{\"first\":1,\"next\":1}\n", "does not say apiVersion"},
        {"{\"apiVersion\":\"trace.fgpu.io/v0\",\"first\":1,\"next\":1}\n", "does not say apiVersion"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.code = ERR_OK};

        if (trace_lines_begin(&lines, str_of(rows[i].document), &reader, &arena, &err) == 0 ||
            strstr(err.msg, rows[i].why) == NULL) {
            fail_msg("%s: %s", rows[i].document, err.msg);
        }
    }
}

static void lines__some_are_missing_or_spoiled__said_where(void **state)
{
    static const struct {
        const char *document, *why;
        size_t good_n;
    } rows[] = {
        {HEAD, "cut off after line number 4", 0},
        {HEAD LINE("5"), "cut off after line number 5", 1},
        {HEAD LINE("5") LINE("6"), "cut off after line number 6", 2},
        {HEAD END, "missing after number 4", 0},
        {HEAD LINE("5") END, "missing after number 5", 1},
        {HEAD LINE("5") LINE("6") LINE("7") END, "missing after number 7", 3}, /* more than the head says */
        {HEAD LINE("6") END, "a line with number 6 stands where 5 should", 0},
        {HEAD LINE("5") LINE("5") END, "a line with number 5 stands where 6 should", 1},
        {HEAD LINE("5") "{\"seq\":\n", "the line after number 5", 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.code = ERR_OK};
        struct trace_line line;
        size_t n = 0;
        bool any;

        begin(rows[i].document);
        while (trace_lines_next(&lines, &line, &any, &err) == 0 && any) {
            n++;
        }
        if (n != rows[i].good_n || strstr(err.msg, rows[i].why) == NULL) {
            fail_msg("row %zu: %zu lines, %s", i, n, err.msg);
        }
        assert_false(any);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(trace__whole__each_line_and_then_none),
        T(head__of_no_trace__said),
        T(lines__some_are_missing_or_spoiled__said_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
