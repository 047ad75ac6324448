#include "base/strbuf.h"

#include "base/support/unit.h"

#include <stdlib.h>
#include <string.h>

static void strbuf__fresh__empty_and_terminated(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 100);
    assert_string_equal(b.p, "");
    assert_int_equal(strbuf_view(&b).n, 0);
    strbuf_reset(&b);
    strbuf_fini(&b);
    strbuf_fini(&b);
}

static void strbuf_add__all_kinds__in_order(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 1000);
    strbuf_add(&b, "a\0b", 3);
    strbuf_add_str(&b, STR_NULL);
    strbuf_add_str(&b, STR("-"));
    strbuf_add_cstr(&b, "cd");
    strbuf_add_char(&b, ' ');
    strbuf_add_u64(&b, 0);
    strbuf_add_char(&b, ' ');
    strbuf_add_u64(&b, UINT64_MAX);
    strbuf_add_char(&b, ' ');
    strbuf_add_i64(&b, INT64_MIN);
    strbuf_add_char(&b, ' ');
    strbuf_add_i64(&b, -7);
    strbuf_add_i64(&b, INT64_MAX);
    strbuf_addf(&b, "%s%03d", "|", 5);
    static const char want[] = "a\0b-cd 0 18446744073709551615 -9223372036854775808 -79223372036854775807|005";
    assert_int_equal(b.n, sizeof(want) - 1);
    assert_memory_equal(b.p, want, sizeof(want)); /* with the NUL */
    strbuf_fini(&b);
}

static void strbuf_add__exactly_the_maximum__fits(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 5);
    strbuf_add_cstr(&b, "12345");
    assert_false(b.overflowed);
    strbuf_add_cstr(&b, "");
    assert_false(b.overflowed);
    strbuf_add_char(&b, '6');
    assert_true(b.overflowed);
    assert_string_equal(b.p, "12345");
    strbuf_fini(&b);
}

static void strbuf_add__past_the_maximum__sticks_until_reset(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 5);
    strbuf_add_cstr(&b, "123");
    strbuf_add_cstr(&b, "456");
    assert_true(b.overflowed);
    assert_string_equal(b.p, "123");
    strbuf_add_char(&b, '4'); /* would fit */
    strbuf_addf(&b, "%d", 4);
    strbuf_add_u64(&b, 4);
    assert_null(strbuf_reserve(&b, 0));
    assert_string_equal(b.p, "123");
    strbuf_reset(&b);
    assert_false(b.overflowed);
    assert_string_equal(b.p, "");
    strbuf_addf(&b, "%s", "54321");
    assert_string_equal(b.p, "54321");
    strbuf_fini(&b);
}

static void strbuf_add__number_past_the_maximum__not_cut(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 3);
    strbuf_add_i64(&b, -1234);
    assert_true(b.overflowed);
    assert_int_equal(b.n, 0);
    strbuf_fini(&b);
}

static void strbuf_add__grows__keeps_content(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    for (int i = 0; i < 20000; i++) {
        strbuf_addf(&b, "%05d,", i);
    }
    assert_int_equal(b.n, 120000);
    assert_memory_equal(b.p + 6 * 12345, "12345,", 6);
    assert_int_equal(b.p[b.n], 0);
    strbuf_fini(&b);
}

static void strbuf_reserve__committed_in_part__only_that_counts(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 1000);
    strbuf_add_char(&b, '<');
    char *to = strbuf_reserve(&b, 500);
    assert_non_null(to);
    memcpy(to, "abcdef", 6);
    strbuf_commit(&b, 3);
    strbuf_add_char(&b, '>');
    assert_string_equal(b.p, "<abc>");
    assert_null(strbuf_reserve(&b, SIZE_MAX));
    assert_true(b.overflowed);
    strbuf_fini(&b);
}

static void commit_too_much(void)
{
    struct strbuf b;
    strbuf_init(&b, 10);
    strbuf_commit(&b, 1);
}

static void strbuf_commit__without_reserve__aborts(void **state)
{
    assert_true(unit_aborts(commit_too_much));
}

static void strbuf_take__text__owned_by_the_caller(void **state)
{
    struct strbuf b;
    size_t n = 99;
    strbuf_init(&b, 1000);
    char *nothing = strbuf_take(&b, &n);
    assert_string_equal(nothing, "");
    assert_int_equal(n, 0);
    strbuf_add_cstr(&b, "text");
    char *text = strbuf_take(&b, &n);
    assert_int_equal(n, 4);
    assert_int_equal(b.n, 0);
    strbuf_add_cstr(&b, "other");
    assert_string_equal(text, "text");
    char *other = strbuf_take(&b, NULL);
    assert_string_equal(other, "other");
    free(nothing);
    free(text);
    free(other);
    strbuf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strbuf__fresh__empty_and_terminated),
        cmocka_unit_test(strbuf_add__all_kinds__in_order),
        cmocka_unit_test(strbuf_add__exactly_the_maximum__fits),
        cmocka_unit_test(strbuf_add__past_the_maximum__sticks_until_reset),
        cmocka_unit_test(strbuf_add__number_past_the_maximum__not_cut),
        cmocka_unit_test(strbuf_add__grows__keeps_content),
        cmocka_unit_test(strbuf_reserve__committed_in_part__only_that_counts),
        cmocka_unit_test(strbuf_commit__without_reserve__aborts),
        cmocka_unit_test(strbuf_take__text__owned_by_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
