#include "base/err.h"

#include "base/support/unit.h"

#include <string.h>

static void err_set__formatted__returns_minus_code(void **state)
{
    struct err err;
    assert_int_equal(err_set(&err, ERR_PARSE, "%s: line %d", "a.yaml", 7), -ERR_PARSE);
    assert_int_equal(err.code, ERR_PARSE);
    assert_string_equal(err.msg, "a.yaml: line 7");
}

static void err__no_object__only_the_code(void **state)
{
    assert_int_equal(err_set(NULL, ERR_LIMIT, "x"), -ERR_LIMIT);
    assert_int_equal(err_wrap(NULL, -ERR_LIMIT, "x"), -ERR_LIMIT);
}

static void err_wrap__twice__reads_outside_in(void **state)
{
    struct err err;
    int rc = err_set(&err, ERR_DENIED, "no");
    rc = err_wrap(&err, rc, "pod %s", "p");
    rc = err_wrap(&err, rc, "bind");
    assert_int_equal(rc, -ERR_DENIED);
    assert_int_equal(err.code, ERR_DENIED);
    assert_string_equal(err.msg, "bind: pod p: no");
}

static void err_set__own_message_as_argument__works(void **state)
{
    struct err err;
    err_set(&err, ERR_PARSE, "inner");
    err_set(&err, ERR_INVALID, "outer %s tail", err.msg);
    assert_string_equal(err.msg, "outer inner tail");
    err_wrap(&err, -ERR_INVALID, "%s", err.msg);
    assert_string_equal(err.msg, "outer inner tail: outer inner tail");
}

static void fill(char *text, size_t n)
{
    memset(text, 'x', n);
    text[n] = '\0';
}

static void err_set__longest_that_fits__is_whole(void **state)
{
    char text[2 * ERR_MSG_MAX];
    struct err err;
    fill(text, ERR_MSG_MAX - 1);
    err_set(&err, ERR_PARSE, "%s", text);
    assert_string_equal(err.msg, text);
}

static void err_set__too_long__cut_with_dots(void **state)
{
    char text[2 * ERR_MSG_MAX];
    struct err err;
    static const size_t sizes[] = {ERR_MSG_MAX, ERR_MSG_MAX + 1, 2 * ERR_MSG_MAX - 1};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        fill(text, sizes[i]);
        err_set(&err, ERR_PARSE, "%s", text);
        assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
        assert_string_equal(err.msg + ERR_MSG_MAX - 4, "...");
        assert_int_equal(err.msg[ERR_MSG_MAX - 5], 'x');
    }
}

static void err_wrap__too_long__cut_with_dots(void **state)
{
    char text[2 * ERR_MSG_MAX];
    struct err err;
    fill(text, ERR_MSG_MAX - 1);
    err_set(&err, ERR_PARSE, "%s", text);
    err_wrap(&err, -ERR_PARSE, "prefix");
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    assert_memory_equal(err.msg, "prefix: xxx", 11);
    assert_string_equal(err.msg + ERR_MSG_MAX - 4, "...");

    fill(text, 2 * ERR_MSG_MAX - 1);
    err_wrap(&err, -ERR_PARSE, "%s", text);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    assert_string_equal(err.msg + ERR_MSG_MAX - 4, "...");
}

static void err_set__cut_in_a_sequence__no_half_character(void **state)
{
    char text[2 * ERR_MSG_MAX];
    struct err err;
    for (size_t pad = 0; pad < 3; pad++) {
        fill(text, pad);
        while (strlen(text) + 4 < sizeof(text)) {
            strcat(text, "\xe2\x82\xac");
        }
        err_set(&err, ERR_PARSE, "%s", text);
        size_t n = strlen(err.msg) - 3;
        assert_string_equal(err.msg + n, "...");
        assert_int_equal((n - pad) % 3, 0);
        assert_true(n >= ERR_MSG_MAX - 7);
    }
}

static void set_ok(void)
{
    err_set(NULL, ERR_OK, "x");
}

static void err_set__code_ok__aborts(void **state)
{
    assert_true(unit_aborts(set_ok));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_set__formatted__returns_minus_code),
        cmocka_unit_test(err__no_object__only_the_code),
        cmocka_unit_test(err_wrap__twice__reads_outside_in),
        cmocka_unit_test(err_set__own_message_as_argument__works),
        cmocka_unit_test(err_set__longest_that_fits__is_whole),
        cmocka_unit_test(err_set__too_long__cut_with_dots),
        cmocka_unit_test(err_wrap__too_long__cut_with_dots),
        cmocka_unit_test(err_set__cut_in_a_sequence__no_half_character),
        cmocka_unit_test(err_set__code_ok__aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
