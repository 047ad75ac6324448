/* The calls of the JSON reader: types, limits, duplicate keys in large objects, misuse. What is JSON and
 * what is not: test_json_text.c. */
#include "base/json_read.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/support/unit.h"

#include <stdlib.h>
#include <string.h>

static struct json_reader r;

static void expect_failure(const char *row, enum err_code code, size_t at, const char *why)
{
    struct err err = {.code = ERR_OK, .msg = ""};
    if (json_read_end(&r, &err) != -(int)code) {
        fail_msg("row '%s': got '%s', want '%s'", row, err.msg, why);
    }
    expect_text(str_of(r.why), why, row);
    if (r.why_at != at) {
        fail_msg("row '%s': at %zu, want %zu", row, r.why_at, at);
    }
}

static void json_i64__table__as_stated(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"42", true, 42},
        {" -42 ", true, -42},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"123456789012345678901234567890", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"0.5", false, 0},
        {"\"1\"", false, 0},
        {"null", false, 0},
        {"[1]", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = 4711;
        json_reader_init(&r, str_of(rows[i].text), NULL);
        expect_row(rows[i].text, json_i64(&r, &v) == rows[i].ok);
        expect_row(rows[i].text, v == (rows[i].ok ? rows[i].value : 4711));
        if (rows[i].ok) {
            assert_int_equal(json_read_end(&r, NULL), 0);
        } else {
            expect_failure(rows[i].text, ERR_INVALID, 0, "expected an integer of 64 bits");
        }
    }
}

static bool read_object(void)
{
    return json_object_begin(&r);
}

static bool read_array(void)
{
    return json_array_begin(&r);
}

static bool read_string(void)
{
    struct str s = STR("untouched");
    bool ok = json_string(&r, &s);
    assert_true(ok || str_eq(s, STR("untouched")));
    return ok;
}

static bool read_bool(void)
{
    bool b;
    return json_bool(&r, &b);
}

static bool read_null(void)
{
    return json_null(&r);
}

static void json__another_type__refused_with_what_was_expected(void **state)
{
    static const struct {
        bool (*read)(void);
        const char *accepts, *why;
    } calls[] = {
        {read_object, "{", "expected an object"}, {read_array, "[", "expected an array"},
        {read_string, "\"", "expected a string"}, {read_bool, "tf", "expected true or false"},
        {read_null, "n", "expected null"},
    };
    static const char *const values[] = {"{}", "[]", "\"a\"", "true", "false", "null", "1", "-1"};
    for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
        for (size_t v = 0; v < ARRAY_LEN(values); v++) {
            json_reader_init(&r, str_of(values[v]), NULL);
            bool fits = strchr(calls[c].accepts, values[v][0]) != NULL;
            expect_row(values[v], calls[c].read() == fits);
            if (!fits) {
                expect_failure(values[v], ERR_INVALID, 0, calls[c].why);
            }
        }
        json_reader_init(&r, STR(" x"), NULL);
        assert_false(calls[c].read());
        expect_failure("not a value", ERR_PARSE, 1, "not a JSON value");
    }
}

static void json_peek__each_type__not_consumed(void **state)
{
    static const struct {
        const char *text;
        enum json_type type;
    } rows[] = {
        {" null", JSON_NULL}, {"true", JSON_BOOL},   {"false", JSON_BOOL}, {"-1", JSON_NUMBER},
        {"9", JSON_NUMBER},   {"\"\"", JSON_STRING}, {"[]", JSON_ARRAY},   {"\n{}", JSON_OBJECT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_reader_init(&r, str_of(rows[i].text), NULL);
        expect_row(rows[i].text, json_peek(&r) == rows[i].type);
        expect_row(rows[i].text, json_peek(&r) == rows[i].type);
        expect_row(rows[i].text, json_skip(&r));
        assert_int_equal(json_read_end(&r, NULL), 0);
    }
    json_reader_init(&r, STR(""), NULL);
    assert_int_equal(json_peek(&r), JSON_NONE);
    expect_failure("empty", ERR_PARSE, 0, "input ends where a value is expected");
}

static void json_accept_null__other_value__left_for_the_next_call(void **state)
{
    int64_t v = 0;
    json_reader_init(&r, STR("[null, 7]"), NULL);
    assert_true(json_array_begin(&r));
    assert_true(json_array_next(&r));
    assert_true(json_accept_null(&r));
    assert_true(json_array_next(&r));
    assert_false(json_accept_null(&r));
    assert_true(json_i64(&r, &v));
    assert_int_equal(v, 7);
    assert_false(json_array_next(&r));
    assert_int_equal(json_read_end(&r, NULL), 0);
}

static void json_string__no_escape__points_into_the_input(void **state)
{
    static const char text[] = "\"plain \xc3\xa4 text\"";
    struct str s;
    json_reader_init(&r, STR(text), NULL);
    assert_true(json_string(&r, &s));
    assert_ptr_equal(s.p, text + 1);
    expect_text(s, "plain \xc3\xa4 text", NULL);
    json_reader_init(&r, STR("\"\""), NULL);
    assert_true(json_string(&r, &s));
    assert_int_equal(s.n, 0);
    assert_non_null(s.p);
}

/* Reads a list of strings to its end or first error, taking up to `fast` plain ones in one go; the number of strings
 * that were read. */
static size_t read_strings(struct str text, struct arena *a, size_t fast, struct str *ret, size_t max)
{
    size_t n = 0;
    json_reader_init(&r, text, a);
    json_array_begin(&r);
    while (n < max && json_array_next(&r)) {
        if (!json_string(&r, &ret[n])) {
            break;
        }
        n++;
        if (fast > 0) {
            n += json_take_plain_strings(&r, ret + n, max - n < fast ? max - n : fast);
        }
    }
    return n;
}

static void same_strings_both_ways(struct str text, struct arena *a, size_t fast)
{
    struct str one[64], many[64];
    struct err err_one = {.msg = ""}, err_many = {.msg = ""};
    size_t n = read_strings(text, a, 0, one, ARRAY_LEN(one));
    int r_one = json_read_end(&r, &err_one);
    size_t m = read_strings(text, a, fast, many, ARRAY_LEN(many));
    int r_many = json_read_end(&r, &err_many);
    if (n != m || r_one != r_many || strcmp(err_one.msg, err_many.msg) != 0) {
        fail_msg("'%.*s': %zu and %zu strings, '%s' and '%s'", STR_ARG(text), n, m, err_one.msg, err_many.msg);
    }
    for (size_t i = 0; i < n; i++) {
        assert_true(str_eq(one[i], many[i]));
    }
}

static void json_take_plain_strings__random_lists_cut_anywhere__as_one_by_one(void **state)
{
    static const char *const pieces[] = {"\\n", "\\u00e9", "\xc3\xa9", "\x01", "\xff", "\\x", "/", "\\\""};
    struct rng rng;
    struct arena a;
    struct strbuf text;
    rng_init(&rng, 8);
    arena_init(&a, 1 << 20);
    strbuf_init(&text, 1 << 20);
    for (int round = 0; round < 300; round++) {
        const uint64_t alike = rng_below(&rng, 3) == 0 ? 0 : rng_below(&rng, 40); /* most lists: of one length */
        strbuf_reset(&text);
        strbuf_add_char(&text, '[');
        for (uint64_t i = 0, n = rng_below(&rng, 12); i < n; i++) {
            const size_t from = text.n + (i > 0);
            const char *piece = rng_below(&rng, 10) == 0 ? pieces[rng_below(&rng, ARRAY_LEN(pieces))] : "";
            uint64_t length = alike > 0 && rng_below(&rng, 12) > 0 ? alike : rng_below(&rng, 40);
            const uint64_t at = length > strlen(piece) ? rng_below(&rng, length - strlen(piece)) : 0;
            strbuf_add_cstr(&text, i == 0 ? "\"" : rng_below(&rng, 12) == 0 ? " , \"" : ",\"");
            for (uint64_t k = 0; k < length; k++) {
                if (k == at && piece[0] != '\0') {
                    strbuf_add_cstr(&text, piece);
                    k += strlen(piece) - 1;
                    continue;
                }
                strbuf_add_char(&text, (char)('a' + rng_below(&rng, 26)));
            }
            strbuf_add_char(&text, '"');
            if (rng_below(&rng, 16) == 0) { /* another byte somewhere, at the end as often as not */
                const size_t place = rng_below(&rng, 2) == 0 ? text.n - 1 : from + rng_below(&rng, text.n - from);
                text.p[place] = "\",\\ \n"[rng_below(&rng, 5)];
            }
        }
        strbuf_add_cstr(&text, rng_below(&rng, 10) == 0 ? ",1]" : "]");
        for (size_t cut = 1; cut <= text.n; cut++) {
            /* A copy of just that size: a byte too far is seen. */
            char *copy = malloc(cut);
            memcpy(copy, text.p, cut);
            same_strings_both_ways((struct str){copy, cut}, &a, round % 2 == 0 ? 3 : 64);
            free(copy);
            arena_reset(&a);
        }
    }
    strbuf_fini(&text);
    arena_fini(&a);
}

static void json_string__escape_without_arena__refused_only_when_asked_for(void **state)
{
    struct str s;
    json_reader_init(&r, STR("[\"a\\n\", \"b\\n\"]"), NULL);
    assert_true(json_array_begin(&r));
    assert_true(json_array_next(&r));
    assert_true(json_skip(&r));
    assert_true(json_array_next(&r));
    assert_false(json_string(&r, &s));
    expect_failure("string", ERR_INVALID, 8, "escape in a string that must be plain");
    json_reader_init(&r, STR("{ \"\\n\":1}"), NULL);
    assert_true(json_object_begin(&r));
    assert_false(json_object_next(&r, &s));
    expect_failure("key", ERR_INVALID, 2, "escape in a string that must be plain");
}

static void json_string__arena_full__limit(void **state)
{
    struct arena arena;
    struct str s;
    arena_init(&arena, 16);
    json_reader_init(&r, STR(" \"0123456789abcdef\\n\""), &arena);
    assert_false(json_string(&r, &s));
    expect_failure("full", ERR_LIMIT, 1, "too much escaped text");
    arena_fini(&arena);
}

static void json_raw__any_value__text_as_it_stands(void **state)
{
    struct str raw;
    json_reader_init(&r, STR("[ {\"a\" : [1, 2]} , \"x\\n\" ,-1.5e3 ]"), NULL);
    assert_true(json_array_begin(&r));
    static const char *const want[] = {"{\"a\" : [1, 2]}", "\"x\\n\"", "-1.5e3"};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_true(json_array_next(&r));
        assert_true(json_raw(&r, &raw));
        expect_text(raw, want[i], NULL);
    }
    assert_false(json_array_next(&r));
    assert_int_equal(json_read_end(&r, NULL), 0);
}

static void json__after_the_first_error__everything_is_false(void **state)
{
    struct str s = STR("untouched");
    int64_t v = 4711;
    bool b = true;
    json_reader_init(&r, STR("[1,x,2]"), NULL);
    assert_true(json_array_begin(&r));
    assert_true(json_array_next(&r));
    assert_true(json_i64(&r, &v));
    assert_true(json_array_next(&r));
    assert_false(json_i64(&r, &v));
    assert_true(json_failed(&r));
    assert_int_equal(json_peek(&r), JSON_NONE);
    assert_false(json_string(&r, &s) || json_i64(&r, &v) || json_bool(&r, &b) || json_null(&r));
    assert_false(json_accept_null(&r) || json_skip(&r) || json_raw(&r, &s));
    assert_false(json_array_next(&r) || json_object_next(&r, &s));
    assert_false(json_array_begin(&r) || json_object_begin(&r));
    json_fail(&r, ERR_LIMIT, "later");
    expect_text(s, "untouched", NULL);
    assert_int_equal(v, 1);
    expect_failure("first", ERR_PARSE, 3, "not a JSON value");
}

static void json_fail__by_the_decoder__at_the_value_read_last(void **state)
{
    struct str key;
    int64_t v;
    json_reader_init(&r, STR("{\"port\":  70000}"), NULL);
    assert_true(json_object_begin(&r));
    assert_true(json_object_next(&r, &key));
    assert_true(json_i64(&r, &v));
    json_fail(&r, ERR_INVALID, "not a port");
    assert_false(json_object_next(&r, &key));
    expect_failure("value", ERR_INVALID, 10, "not a port");

    json_reader_init(&r, STR("{\"port\":[1,2]}"), NULL);
    assert_true(json_object_begin(&r));
    assert_true(json_object_next(&r, &key));
    assert_true(json_skip(&r));
    json_fail(&r, ERR_INVALID, "not a port");
    expect_failure("skipped container", ERR_INVALID, 8, "not a port");

    json_reader_init(&r, STR("{ \"prot\":1}"), NULL);
    assert_true(json_object_begin(&r));
    assert_true(json_object_next(&r, &key));
    json_fail(&r, ERR_INVALID, "unknown key");
    expect_failure("key", ERR_INVALID, 2, "unknown key");
}

static void json__depth__up_to_the_limit(void **state)
{
    char text[2 * (JSON_DEPTH_MAX + 1)];
    for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        json_reader_init(&r, (struct str){text, 2 * depth}, NULL);
        assert_int_equal(json_skip(&r), depth == JSON_DEPTH_MAX);
        if (depth == JSON_DEPTH_MAX) {
            assert_int_equal(json_read_end(&r, NULL), 0);
        } else {
            expect_failure("deep", ERR_LIMIT, JSON_DEPTH_MAX, "nested too deeply");
        }
    }
}

/* {"k0":0,"k1":0,...}; key number `again_at` repeats key number `of`. */
static void add_object(struct strbuf *b, unsigned keys, unsigned again_at, unsigned of)
{
    strbuf_add_char(b, '{');
    for (unsigned i = 0; i < keys; i++) {
        strbuf_addf(b, "%s\"k%u\":0", i > 0 ? "," : "", i == again_at ? of : i);
    }
    strbuf_add_char(b, '}');
}

static void json__duplicates_in_objects_of_all_sizes__found(void **state)
{
    struct strbuf b;
    struct rng rng;
    strbuf_init(&b, 1 << 20);
    rng_init(&rng, 9);
    static const unsigned sizes[] = {2, 15, 16, 17, 18, 40, 1000, JSON_KEYS_MAX};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        strbuf_reset(&b);
        add_object(&b, sizes[i], UINT32_MAX, 0);
        json_reader_init(&r, strbuf_view(&b), NULL);
        assert_true(json_skip(&r));
        assert_int_equal(json_read_end(&r, NULL), 0);
        for (int round = 0; round < 20; round++) {
            unsigned again_at = 1 + (unsigned)rng_below(&rng, sizes[i] - 1);
            strbuf_reset(&b);
            add_object(&b, sizes[i], again_at, (unsigned)rng_below(&rng, again_at));
            json_reader_init(&r, strbuf_view(&b), NULL);
            assert_false(json_skip(&r));
            assert_string_equal(r.why, "duplicate key");
        }
    }
    strbuf_fini(&b);
}

static void json__many_keys_open__limit_and_its_release(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    add_object(&b, JSON_KEYS_MAX + 1, UINT32_MAX, 0);
    json_reader_init(&r, strbuf_view(&b), NULL);
    assert_false(json_skip(&r));
    assert_int_equal(r.code, ERR_LIMIT);
    assert_string_equal(r.why, "too many keys");

    /* the limit is for keys open at once: one full object after another is fine */
    strbuf_reset(&b);
    strbuf_add_char(&b, '[');
    for (int i = 0; i < 5; i++) {
        strbuf_add_cstr(&b, i > 0 ? "," : "");
        add_object(&b, JSON_KEYS_MAX, UINT32_MAX, 0);
    }
    strbuf_add_char(&b, ']');
    json_reader_init(&r, strbuf_view(&b), NULL);
    assert_true(json_skip(&r));
    assert_int_equal(json_read_end(&r, NULL), 0);
    strbuf_fini(&b);
}

/* Large objects inside large objects, with the same keys: each sees its own only, and when an inner one
 * closes the outer one still knows its own. */
static void json__large_objects_nested__keys_kept_apart(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    for (unsigned again = 0; again <= 40; again++) {
        strbuf_reset(&b);
        strbuf_add_char(&b, '{');
        for (unsigned i = 0; i < 40; i++) {
            strbuf_addf(&b, "%s\"k%u\":", i > 0 ? "," : "", i);
            add_object(&b, 20 + i, UINT32_MAX, 0);
        }
        strbuf_addf(&b, ",\"k%u\":1}", again);
        json_reader_init(&r, strbuf_view(&b), NULL);
        assert_int_equal(json_skip(&r), again == 40);
        if (again < 40) {
            assert_string_equal(r.why, "duplicate key");
        }
    }
    strbuf_fini(&b);
}

static void json__fold_keys__case_does_not_make_another_key(void **state)
{
    static const struct {
        const char *text;
        bool folded_ok, exact_ok;
    } rows[] = {
        {"{\"pod\":1,\"Pod\":2}", false, true},       {"{\"NodeNames\":1,\"nodenames\":2}", false, true},
        {"{\"P\\u004fD\":1,\"pod\":2}", false, true}, {"{\"pod\":1,\"po\\u0044\":2}", false, true},
        {"{\"a@\":1,\"a`\":2}", true, true}, /* these differ in the bit of the case, and are no letters */
        {"{\"a[\":1,\"a{\":2}", true, true},          {"{\"\xc3\x84\":1,\"\xc3\xa4\":2}", true, true},
        {"{\"pod\":1,\"pods\":2}", true, true},       {"{\"pod\":1,\"pod\":2}", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int folded = 0; folded < 2; folded++) {
            json_reader_init(&r, str_of(rows[i].text), NULL);
            r.fold_keys = folded;
            expect_row(rows[i].text, json_skip(&r) == (folded ? rows[i].folded_ok : rows[i].exact_ok));
        }
    }
}

static void json_read_end__nothing_read__no_value(void **state)
{
    json_reader_init(&r, STR("1"), NULL);
    expect_failure("unread", ERR_PARSE, 0, "no value");
    json_reader_init(&r, STR_NULL, NULL);
    expect_failure("null view", ERR_PARSE, 0, "no value");
}

static void two_values_for_one_next(void)
{
    json_reader_init(&r, STR("[1,2]"), NULL);
    json_array_begin(&r);
    json_array_next(&r);
    json_skip(&r);
    json_skip(&r);
}

static void next_without_reading(void)
{
    json_reader_init(&r, STR("[1,2]"), NULL);
    json_array_begin(&r);
    json_array_next(&r);
    json_array_next(&r);
}

static void next_of_the_wrong_kind(void)
{
    struct str key;
    json_reader_init(&r, STR("[1,2]"), NULL);
    json_array_begin(&r);
    json_object_next(&r, &key);
}

static void next_outside(void)
{
    json_reader_init(&r, STR("1"), NULL);
    json_skip(&r);
    json_array_next(&r);
}

static void end_in_the_middle(void)
{
    json_reader_init(&r, STR("[1,2]"), NULL);
    json_array_begin(&r);
    if (json_read_end(&r, NULL) != 0) {
        exit(0);
    }
}

static void json__misuse__aborts(void **state)
{
    assert_true(unit_aborts(two_values_for_one_next));
    assert_true(unit_aborts(next_without_reading));
    assert_true(unit_aborts(next_of_the_wrong_kind));
    assert_true(unit_aborts(next_outside));
    assert_true(unit_aborts(end_in_the_middle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_i64__table__as_stated),
        cmocka_unit_test(json__another_type__refused_with_what_was_expected),
        cmocka_unit_test(json_peek__each_type__not_consumed),
        cmocka_unit_test(json_accept_null__other_value__left_for_the_next_call),
        cmocka_unit_test(json_string__no_escape__points_into_the_input),
        cmocka_unit_test(json_take_plain_strings__random_lists_cut_anywhere__as_one_by_one),
        cmocka_unit_test(json_string__escape_without_arena__refused_only_when_asked_for),
        cmocka_unit_test(json_string__arena_full__limit),
        cmocka_unit_test(json_raw__any_value__text_as_it_stands),
        cmocka_unit_test(json__after_the_first_error__everything_is_false),
        cmocka_unit_test(json_fail__by_the_decoder__at_the_value_read_last),
        cmocka_unit_test(json__depth__up_to_the_limit),
        cmocka_unit_test(json__duplicates_in_objects_of_all_sizes__found),
        cmocka_unit_test(json__many_keys_open__limit_and_its_release),
        cmocka_unit_test(json__large_objects_nested__keys_kept_apart),
        cmocka_unit_test(json__fold_keys__case_does_not_make_another_key),
        cmocka_unit_test(json_read_end__nothing_read__no_value),
        cmocka_unit_test(json__misuse__aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
