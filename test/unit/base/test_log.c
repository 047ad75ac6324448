#include "base/log.h"

#include "base/support/unit.h"

#include <string.h>

struct seen {
    unsigned records;
    struct log_record last;
    struct log_field fields[4];
};

static void remember(void *ctx, const struct log_record *rec)
{
    struct seen *seen = ctx;
    assert_in_range(rec->field_n, 0, 4);
    seen->records++;
    seen->last = *rec;
    memcpy(seen->fields, rec->fields, rec->field_n * sizeof(rec->fields[0]));
}

static void log__fields__arrive_in_order(void **state)
{
    struct seen seen = {0};
    struct log log = {.write = remember, .ctx = &seen};
    LOG_ERROR(&log, "Bind failed", LOG_CSTR("pod", "ns/p"), LOG_I64("took_us", -5), LOG_CSTR("node", NULL));
    assert_int_equal(seen.records, 1);
    assert_int_equal(seen.last.level, LOG_LEVEL_ERROR);
    assert_string_equal(seen.last.msg, "Bind failed");
    assert_int_equal(seen.last.field_n, 3);
    assert_string_equal(seen.fields[0].key, "pod");
    assert_int_equal(seen.fields[0].type, LOG_FIELD_STR);
    expect_text(seen.fields[0].s, "ns/p", NULL);
    assert_string_equal(seen.fields[1].key, "took_us");
    assert_int_equal(seen.fields[1].type, LOG_FIELD_I64);
    assert_int_equal(seen.fields[1].i, -5);
    assert_int_equal(seen.fields[2].s.n, 0);
    assert_non_null(strstr(seen.last.file, "test_log.c"));
    assert_true(seen.last.line > 0);
}

static void log__no_fields__empty_record(void **state)
{
    struct seen seen = {0};
    struct log log = {.write = remember, .ctx = &seen};
    LOG_INFO(&log, "Started");
    assert_int_equal(seen.records, 1);
    assert_int_equal(seen.last.field_n, 0);
}

static void log__verbosity__gates_info_only(void **state)
{
    struct seen seen = {0};
    struct log log = {.write = remember, .ctx = &seen, .verbosity = 2};
    LOG_V(&log, 4, "Decision");
    assert_int_equal(seen.records, 0);
    LOG_V(&log, 2, "Turn");
    LOG_INFO(&log, "Always");
    assert_int_equal(seen.records, 2);
    log.verbosity = -1;
    LOG_INFO(&log, "Silenced");
    assert_int_equal(seen.records, 2);
    LOG_WARNING(&log, "Never silent");
    LOG_ERROR(&log, "Never silent");
    assert_int_equal(seen.records, 4);
}

static void log__no_sink__nothing(void **state)
{
    struct log log = {0};
    LOG_ERROR((const struct log *)NULL, "x", LOG_I64("a", 1));
    LOG_ERROR(&log, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log__fields__arrive_in_order),
        cmocka_unit_test(log__no_fields__empty_record),
        cmocka_unit_test(log__verbosity__gates_info_only),
        cmocka_unit_test(log__no_sink__nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
