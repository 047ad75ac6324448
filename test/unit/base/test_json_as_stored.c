/* Objects of the API server as their authors wrote them: what is beside the point is no reason to refuse one. */
#include "base/compiler.h"
#include "base/json_read.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct json_reader r;

static bool skips(struct str text)
{
    json_reader_init(&r, text, NULL);
    r.as_stored = true;
    json_skip(&r);
    return json_read_end(&r, NULL) == 0;
}

static void json_skip__as_stored__checks_the_grammar_and_nothing_else(void **state)
{
    static const struct {
        const char *text;
        bool ok;
    } rows[] = {
        {"null", true},
        {" [ ] ", true},
        {"{ }", true},
        {"{\"a\":1,\"a\":2}", true},
        {"\"\\u0000\"", true},
        {"\"\\ud800\"", true},
        {"\"\\udc00\\ud800\\u0041\"", true},
        {"{\"\\u0000\":[{\"\":[[],{}]},-0.5e+99]}", true},
        {"[true,false,null,\"\",0]", true},
        {"\"\\u00\"", false},
        {"\"\\x\"", false},
        {"\"\n\"", false},
        {"\"\xff\"", false},
        {"[1,]", false},
        {"[,1]", false},
        {"[1 2]", false},
        {"[1}", false},
        {"{\"a\":1]", false},
        {"{\"a\"}", false},
        {"{\"a\":}", false},
        {"{\"a\":1,}", false},
        {"{1:2}", false},
        {"{\"a\" 1}", false},
        {"[", false},
        {"{\"a\":[", false},
        {"[1", false},
        {"]", false},
        {"tru", false},
        {"01", false},
        {"1 1", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (skips(str_of(rows[i].text)) != rows[i].ok) {
            fail_msg("row %s", rows[i].text);
        }
    }
}

static void json_skip__as_stored__any_number_of_keys_and_deep_nesting(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    strbuf_add_char(&b, '{');
    for (int i = 0; i < 3 * JSON_KEYS_MAX; i++) {
        strbuf_addf(&b, "%s\"k%d\":%d", i > 0 ? "," : "", i, i);
    }
    strbuf_add_char(&b, '}');
    assert_true(skips(strbuf_view(&b)));
    for (uint32_t depth = JSON_SKIP_DEPTH_MAX; depth <= JSON_SKIP_DEPTH_MAX + 1; depth++) {
        strbuf_reset(&b);
        for (uint32_t i = 0; i < depth; i++) {
            strbuf_add_cstr(&b, i % 3 == 0 ? "[" : "{\"a\":");
        }
        strbuf_add_cstr(&b, "0");
        for (uint32_t i = depth; i > 0; i--) {
            strbuf_add_cstr(&b, (i - 1) % 3 == 0 ? "]" : "}");
        }
        assert_int_equal(skips(strbuf_view(&b)), depth == JSON_SKIP_DEPTH_MAX);
        assert_int_equal(r.code, depth == JSON_SKIP_DEPTH_MAX ? ERR_OK : ERR_LIMIT);
    }
    strbuf_fini(&b);
}

static void json_object_next__as_stored__more_keys_than_are_compared(void **state)
{
    struct strbuf b;
    struct str key;
    int64_t value, n = 0;
    strbuf_init(&b, 1 << 20);
    strbuf_add_char(&b, '{');
    for (int i = 0; i < JSON_KEYS_MAX + 100; i++) {
        strbuf_addf(&b, "%s\"k%d\":%d", i > 0 ? "," : "", i, i);
    }
    strbuf_add_cstr(&b, "}");
    json_reader_init(&r, strbuf_view(&b), NULL);
    r.as_stored = true;
    json_object_begin(&r);
    while (json_object_next(&r, &key)) {
        assert_true(json_i64(&r, &value) && value == n++);
    }
    assert_int_equal(json_read_end(&r, NULL), 0);
    assert_int_equal(n, JSON_KEYS_MAX + 100);
    strbuf_fini(&b);
}

static void json_string__as_stored__is_what_the_api_server_reads(void **state)
{
    static const struct {
        const char *text;
        struct str expected;
    } rows[] = {
        {"\"a\\u0000b\"", STR("a\0b")},
        {"\"\\ud800\"", STR("\xef\xbf\xbd")},
        {"\"\\udc00x\"", STR("\xef\xbf\xbdx")},
        {"\"\\ud800\\u0041\"", STR("\xef\xbf\xbd"
                                   "A")},
        {"\"\\ud83d\\ude00\"", STR("\xf0\x9f\x98\x80")},
        {"\"\\ud800\\ud83d\\ude00\"", STR("\xef\xbf\xbd\xf0\x9f\x98\x80")},
    };
    struct arena a;
    struct str got;
    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_reader_init(&r, str_of(rows[i].text), &a);
        r.as_stored = true;
        if (!json_string(&r, &got) || !str_eq(got, rows[i].expected)) {
            fail_msg("row %s: %.*s", rows[i].text, STR_ARG(got));
        }
        json_reader_init(&r, str_of(rows[i].text), &a);
        assert_int_equal(json_string(&r, &got), i == 4);
    }
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_skip__as_stored__checks_the_grammar_and_nothing_else),
        cmocka_unit_test(json_skip__as_stored__any_number_of_keys_and_deep_nesting),
        cmocka_unit_test(json_object_next__as_stored__more_keys_than_are_compared),
        cmocka_unit_test(json_string__as_stored__is_what_the_api_server_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
