#include "base/str.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "base/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void str_of__null__empty_view(void **state)
{
    assert_null(str_of(NULL).p);
    assert_int_equal(str_of(NULL).n, 0);
    assert_int_equal(str_of("abc").n, 3);
}

static void str_eq__table__as_stated(void **state)
{
    static const struct {
        const char *name;
        struct str a, b;
        bool eq, ieq;
    } rows[] = {
        {"same", {"abc", 3}, {"abc", 3}, true, true},
        {"case", {"aBc", 3}, {"AbC", 3}, false, true},
        {"prefix", {"abc", 3}, {"abcd", 4}, false, false},
        {"both empty", {"", 0}, {NULL, 0}, true, true},
        {"empty and not", {"", 0}, {"a", 1}, false, false},
        {"embedded NUL", {"a\0b", 3}, {"a\0c", 3}, false, false},
        {"not letters", {"@[", 2}, {"`{", 2}, false, false},
        {"not ASCII", {"\xc3\x84", 2}, {"\xc3\xa4", 2}, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_row(rows[i].name, str_eq(rows[i].a, rows[i].b) == rows[i].eq);
        expect_row(rows[i].name, str_eq(rows[i].b, rows[i].a) == rows[i].eq);
        expect_row(rows[i].name, str_ieq(rows[i].a, rows[i].b) == rows[i].ieq);
        expect_row(rows[i].name, str_ieq(rows[i].b, rows[i].a) == rows[i].ieq);
    }
    assert_true(str_eq_cstr(STR("x"), "x"));
    assert_true(str_eq_cstr(STR_NULL, NULL));
    assert_false(str_eq_cstr(STR("x"), ""));
}

static void str_cmp__sorted_list__in_order(void **state)
{
    static const struct str sorted[] = {{NULL, 0},  {"\0", 1}, {"A", 1}, {"a", 1},
                                        {"a\0", 2}, {"aa", 2}, {"b", 1}, {"\xc3\xa4", 2}};
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++) {
        for (size_t j = 0; j < ARRAY_LEN(sorted); j++) {
            int order = str_cmp(sorted[i], sorted[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static void str_starts_ends__table__as_stated(void **state)
{
    assert_true(str_starts(STR("abc"), STR("ab")));
    assert_true(str_starts(STR("abc"), STR("")));
    assert_true(str_starts(STR_NULL, STR_NULL));
    assert_false(str_starts(STR("ab"), STR("abc")));
    assert_false(str_starts(STR("abc"), STR("b")));
    assert_true(str_ends(STR("abc"), STR("bc")));
    assert_true(str_ends(STR("abc"), STR_NULL));
    assert_false(str_ends(STR("bc"), STR("abc")));
    assert_false(str_ends(STR("abc"), STR("b")));
}

static void str_trim__table__as_stated(void **state)
{
    expect_text(str_trim(STR(" \t\r\n a b \n")), "a b", "both ends");
    expect_text(str_trim(STR("a")), "a", "nothing to do");
    expect_text(str_trim(STR(" \t ")), "", "only blanks");
    expect_text(str_trim(STR_NULL), "", "empty");
    expect_text(str_trim(STR("\v a\f")), "\v a\f", "other spaces stay");
}

static void str_drop__more_than_there_is__empty(void **state)
{
    expect_text(str_drop(STR("abc"), 0), "abc", NULL);
    expect_text(str_drop(STR("abc"), 2), "c", NULL);
    expect_text(str_drop(STR("abc"), 9), "", NULL);
    assert_null(str_drop(STR_NULL, 3).p);
}

static void str_split__table__parts_joined(void **state)
{
    static const struct {
        const char *list, *parts;
    } rows[] = {
        {"a,b", "<a><b>"}, {"a,", "<a><>"},      {"", "<>"},      {",", "<><>"},
        {"a", "<a>"},      {"a,,b", "<a><><b>"}, {",a", "<><a>"}, {" a , b ", "< a >< b >"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char joined[64] = "";
        struct str rest = str_of(rows[i].list);
        struct str part;
        while (str_split(&rest, ',', &part)) {
            size_t n = strlen(joined);
            snprintf(joined + n, sizeof(joined) - n, "<%.*s>", STR_ARG(part));
        }
        expect_text(str_of(joined), rows[i].parts, rows[i].list);
        assert_false(str_split(&rest, ',', &part));
    }
    struct str none = STR_NULL;
    struct str untouched = STR("x");
    assert_false(str_split(&none, ',', &untouched));
    expect_text(untouched, "x", NULL);
}

static void str_to_u64__table__as_stated(void **state)
{
    static const struct {
        const char *text;
        uint64_t max;
        bool ok;
        uint64_t value;
    } rows[] = {
        {"0", 0, true, 0},
        {"7", 7, true, 7},
        {"8", 7, false, 0},
        {"007", 10, true, 7},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"99999999999999999999", UINT64_MAX, false, 0},
        {"", 9, false, 0},
        {"-1", 9, false, 0},
        {"+1", 9, false, 0},
        {" 1", 9, false, 0},
        {"1 ", 9, false, 0},
        {"1a", 99, false, 0},
        {"0x1", 99, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t v = 4711;
        expect_row(rows[i].text, str_to_u64(str_of(rows[i].text), rows[i].max, &v) == rows[i].ok);
        expect_row(rows[i].text, v == (rows[i].ok ? rows[i].value : 4711));
    }
}

static void str_match_glob__table__as_stated(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "anything", true},
        {"**", "", true},
        {"a", "A", true},
        {"a", "b", false},
        {"a*", "a", true},
        {"a*", "ba", false},
        {"*a", "ba", true},
        {"*a", "ab", false},
        {"a*a", "a", false},
        {"a*a", "aa", true},
        {"*a*", "xAx", true},
        {"*a*", "xbx", false},
        {"NVIDIA-A100-*", "nvidia-a100-sxm4-80gb", true},
        {"*a100*80gb*", "NVIDIA-A100-SXM4-80GB", true},
        {"*a100*40gb*", "NVIDIA-A100-SXM4-80GB", false},
        {"*ab*ab", "ab", false},
        {"*ab*ab", "abab", true},
        {"*aab*", "aaab", true},
        {"*abcabd*", "abcabcabd", true},
        {"a?c", "abc", false},
        {"a?c", "a?c", true},
        {"[a]", "a", false},
        {"a\\*", "a*", false},
        {"*.example.com", "x.EXAMPLE.com", true},
        {"*.example.com", "example.com", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[128];
        snprintf(name, sizeof(name), "%s ~ %s", rows[i].pattern, rows[i].text);
        expect_row(name, str_match_glob(str_of(rows[i].pattern), str_of(rows[i].text)) == rows[i].match);
    }
    assert_true(str_match_glob(STR_NULL, STR_NULL));
    assert_true(str_match_glob(STR("*"), STR_NULL));
    assert_false(str_match_glob(STR_NULL, STR("a")));
}

/* The definition, exponential but obviously right. */
static bool glob_by_definition(struct str p, struct str s)
{
    if (p.n == 0) {
        return s.n == 0;
    }
    if (p.p[0] == '*') {
        for (size_t i = 0; i <= s.n; i++) {
            if (glob_by_definition(str_drop(p, 1), str_drop(s, i))) {
                return true;
            }
        }
        return false;
    }
    return s.n > 0 && str_ieq((struct str){p.p, 1}, (struct str){s.p, 1}) &&
           glob_by_definition(str_drop(p, 1), str_drop(s, 1));
}

static void str_match_glob__random_texts__as_the_definition(void **state)
{
    struct rng rng;
    rng_init(&rng, 11);
    int matches = 0;
    for (int round = 0; round < 20000; round++) {
        char p[8], s[12];
        size_t p_n = rng_below(&rng, sizeof(p));
        size_t s_n = rng_below(&rng, sizeof(s));
        for (size_t i = 0; i < p_n; i++) {
            p[i] = "abA**"[rng_below(&rng, 5)];
        }
        for (size_t i = 0; i < s_n; i++) {
            s[i] = "aabB"[rng_below(&rng, 4)];
        }
        struct str pattern = {p, p_n};
        struct str text = {s, s_n};
        bool want = glob_by_definition(pattern, text);
        matches += want;
        if (str_match_glob(pattern, text) != want) {
            fail_msg("'%.*s' ~ '%.*s' should be %d", STR_ARG(pattern), STR_ARG(text), want);
        }
    }
    assert_in_range(matches, 1000, 19000);
}

static void str_match_glob__long_repetitive_text__found(void **state)
{
    const size_t N = 2000; /* a search without a bound by the product of the lengths would never end */
    char *text = malloc(N);
    char *pattern = malloc(N / 2 + 3);
    assert_non_null(text);
    assert_non_null(pattern);
    memset(text, 'a', N);
    memset(pattern, 'a', N / 2 + 3);
    pattern[0] = '*';
    pattern[N / 2 + 1] = 'b';
    pattern[N / 2 + 2] = '*';
    assert_false(str_match_glob((struct str){pattern, N / 2 + 3}, (struct str){text, N}));
    for (size_t i = 0; i < N / 2; i += 2) {
        pattern[i] = '*';
    }
    assert_false(str_match_glob((struct str){pattern, N / 2 + 3}, (struct str){text, N}));
    text[N - 1] = 'b';
    assert_true(str_match_glob((struct str){pattern, N / 2 + 3}, (struct str){text, N}));
    free(text);
    free(pattern);
}

static void str_span__table__as_strspn(void **state)
{
    static const struct {
        const char *text;
        size_t wanted;
    } rows[] = {{"", 0}, {"12a3", 2}, {"123", 3}, {"a1", 0}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(str_span(str_of(rows[i].text), STR_DIGITS), rows[i].wanted);
    }
    assert_int_equal(str_span(STR_NULL, STR_LOWER), 0);
    assert_int_equal(str_span((struct str){"a\0a", 3}, "a"), 1); /* the 0 byte that ends `chars` is none of them */
}

static void str_dup__empty_null_and_text__a_copy_of_its_own(void **state)
{
    static const char text[] = "abc";
    const struct str rows[] = {STR_NULL, {text, 0}, {text, 2}};
    static const char *const wanted[] = {"", "", "ab"};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *copy = str_dup(rows[i]);

        assert_string_equal(copy, wanted[i]);
        assert_ptr_not_equal(copy, text);
        free(copy);
    }
}

static void str_to_cstr__fits_or_not__a_copy_or_nothing(void **state)
{
    char buf[4] = "xyz";

    assert_true(str_to_cstr(STR("abc"), buf, sizeof(buf)));
    assert_string_equal(buf, "abc");
    assert_false(str_to_cstr(STR("abcd"), buf, sizeof(buf)));
    assert_string_equal(buf, "");
    assert_false(str_to_cstr((struct str){"a\0b", 3}, buf, sizeof(buf)));
    assert_string_equal(buf, "");
    assert_true(str_to_cstr(STR_NULL, buf, sizeof(buf)));
    assert_string_equal(buf, "");
}

static void str_put__several_texts__lie_behind_each_other(void **state)
{
    char block[5], *at = block;
    struct str first = str_put(&at, STR("abc")), none = str_put(&at, STR_NULL), last = str_put(&at, STR("de"));

    assert_true(str_eq(first, STR("abc")) && none.n == 0 && str_eq(last, STR("de")));
    assert_ptr_equal(first.p, block);
    assert_ptr_equal(last.p, block + 3);
    assert_ptr_equal(at, block + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str_of__null__empty_view),
        cmocka_unit_test(str_eq__table__as_stated),
        cmocka_unit_test(str_cmp__sorted_list__in_order),
        cmocka_unit_test(str_starts_ends__table__as_stated),
        cmocka_unit_test(str_trim__table__as_stated),
        cmocka_unit_test(str_drop__more_than_there_is__empty),
        cmocka_unit_test(str_split__table__parts_joined),
        cmocka_unit_test(str_to_u64__table__as_stated),
        cmocka_unit_test(str_match_glob__table__as_stated),
        cmocka_unit_test(str_match_glob__random_texts__as_the_definition),
        cmocka_unit_test(str_match_glob__long_repetitive_text__found),
        cmocka_unit_test(str_span__table__as_strspn),
        cmocka_unit_test(str_dup__empty_null_and_text__a_copy_of_its_own),
        cmocka_unit_test(str_to_cstr__fits_or_not__a_copy_or_nothing),
        cmocka_unit_test(str_put__several_texts__lie_behind_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
