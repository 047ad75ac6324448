#include "base/json_write.h"

#include "base/compiler.h"
#include "base/support/json_walk.h"
#include "base/support/unit.h"

#include <string.h>

static struct strbuf out;
static struct json_writer w;

static void start(void)
{
    strbuf_fini(&out);
    strbuf_init(&out, 1 << 20);
    json_writer_init(&w, &out);
}

static int finish(void **state)
{
    strbuf_fini(&out);
    return 0;
}

static int prepare(void **state)
{
    strbuf_init(&out, 1 << 20);
    return 0;
}

static void json_write__document__commas_and_nesting(void **state)
{
    start();
    json_write_object_begin(&w);
    json_write_kv_str(&w, "a", STR("x"));
    json_write_kv_cstr(&w, "b", NULL);
    json_write_kv_cstr(&w, "c", "y");
    json_write_kv_i64(&w, "d", INT64_MIN);
    json_write_kv_bool(&w, "e", true);
    json_write_kv_array_begin(&w, "f");
    json_write_i64(&w, 1);
    json_write_array_begin(&w);
    json_write_array_end(&w);
    json_write_object_begin(&w);
    json_write_object_end(&w);
    json_write_bool(&w, false);
    json_write_null(&w);
    json_write_raw(&w, STR("{\"raw\":1}"));
    json_write_array_end(&w);
    json_write_key_str(&w, STR("g\""));
    json_write_object_begin(&w);
    json_write_kv_object_begin(&w, "h");
    json_write_kv_i64(&w, "i", 0);
    json_write_object_end(&w);
    json_write_object_end(&w);
    json_write_object_end(&w);
    expect_text(strbuf_view(&out),
                "{\"a\":\"x\",\"b\":null,\"c\":\"y\",\"d\":-9223372036854775808,\"e\":true,"
                "\"f\":[1,[],{},false,null,{\"raw\":1}],\"g\\\"\":{\"h\":{\"i\":0}}}",
                NULL);
}

static void json_write_str__table__escaped_as_go_does(void **state)
{
    static const struct {
        const char *name;
        struct str text;
        const char *json;
    } rows[] = {
        {"empty", {"", 0}, "\"\""},
        {"null view", {NULL, 0}, "\"\""},
        {"plain", {"abc", 3}, "\"abc\""},
        {"quote", {"a\"b", 3}, "\"a\\\"b\""},
        {"backslash", {"a\\b", 3}, "\"a\\\\b\""},
        {"short escapes", {"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
        {"NUL", {"a\0b", 3}, "\"a\\u0000b\""},
        {"control", {"\x01\x1f", 2}, "\"\\u0001\\u001f\""},
        {"delete stays", {"\x7f", 1}, "\"\x7f\""},
        {"slash stays", {"a/b", 3}, "\"a/b\""},
        {"HTML", {"<a&b>", 5}, "\"\\u003ca\\u0026b\\u003e\""},
        {"neighbours of HTML", {"=;?%'", 5}, "\"=;?%'\""},
        {"umlaut", {"\xc3\xa4", 2}, "\"\xc3\xa4\""},
        {"emoji", {"\xf0\x9f\x98\x80", 4}, "\"\xf0\x9f\x98\x80\""},
        {"line separator", {"\xe2\x80\xa8", 3}, "\"\\u2028\""},
        {"paragraph separator", {"\xe2\x80\xa9", 3}, "\"\\u2029\""},
        {"neighbour", {"\xe2\x80\xaa", 3}, "\"\xe2\x80\xaa\""},
        {"invalid byte",
         {"a\xff"
          "b",
          3},
         "\"a\\ufffdb\""},
        {"cut sequence", {"a\xe2\x82", 3}, "\"a\\ufffd\\ufffd\""},
        {"surrogate", {"\xed\xa0\x80", 3}, "\"\\ufffd\\ufffd\\ufffd\""},
        {"valid U+FFFD", {"\xef\xbf\xbd", 3}, "\"\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start();
        json_write_str(&w, rows[i].text);
        expect_text(strbuf_view(&out), rows[i].json, rows[i].name);
    }
}

/* Each byte at each place of a word, so that the test of eight bytes at once meets all of them. */
static void json_write_str__every_byte_at_every_place__read_back(void **state)
{
    struct arena arena;
    static struct json_reader r;
    arena_init(&arena, 1 << 20);
    for (int byte = 0; byte < 256; byte++) {
        for (size_t at = 0; at < 20; at++) {
            char text[20];
            memset(text, 'x', sizeof(text));
            text[at] = (char)byte;
            start();
            json_write_str(&w, (struct str){text, sizeof(text)});
            const char *special = strchr("\"\\<>&\b\f\n\r\t", byte);
            bool plain = byte >= 0x20 && byte < 0x80 && special == NULL;
            size_t want_n = 22 + (plain                                                        ? 0U
                                  : byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\' ? 5U
                                  : special != NULL && byte != 0                               ? 1U
                                                                                               : 5U);
            assert_int_equal(out.n, want_n);

            arena_reset(&arena);
            struct str got;
            json_reader_init(&r, strbuf_view(&out), &arena);
            if (byte == 0) { /* written as Go does, and refused by our reader */
                assert_false(json_string(&r, &got));
                continue;
            }
            assert_true(json_string(&r, &got));
            if (byte < 0x80) {
                assert_true(str_eq(got, (struct str){text, sizeof(text)}));
            } else {
                assert_int_equal(got.n, sizeof(text) + 2);
                assert_memory_equal(got.p + at, "\xef\xbf\xbd", 3);
            }
        }
    }
    arena_fini(&arena);
}

/* Lengths on both sides of what is looked at in one piece. */
static void json_is_plain__every_byte_at_every_place__as_the_writer_does(void **state)
{
    enum { LONGEST = 40 };
    char text[LONGEST];

    for (size_t n = 0; n <= LONGEST; n++) {
        memset(text, 'a', sizeof(text));
        assert_true(json_is_plain((struct str){text, n}));
        for (size_t at = 0; at < n; at++) {
            for (unsigned c = 0; c < 256; c++) {
                text[at] = (char)c;
                start();
                json_write_str(&w, (struct str){text, n});
                bool same = out.n == n + 2 && memcmp(out.p + 1, text, n) == 0;
                if (json_is_plain((struct str){text, n}) != same) {
                    fail_msg("byte %u at %zu of %zu", c, at, n);
                }
            }
            text[at] = 'a';
        }
    }
}

static void json_write__buffer_too_small__overflow_once_at_the_end(void **state)
{
    for (size_t max = 0; max <= 22; max++) {
        strbuf_fini(&out);
        strbuf_init(&out, max);
        json_writer_init(&w, &out);
        json_write_object_begin(&w);
        json_write_kv_cstr(&w, "a", "x<y");
        json_write_kv_i64(&w, "b", 12);
        json_write_object_end(&w);
        assert_int_equal(out.overflowed, max < strlen("{\"a\":\"x\\u003cy\",\"b\":12}"));
        assert_true(out.n <= max);
    }
    strbuf_fini(&out);
    strbuf_init(&out, 23);
    json_writer_init(&w, &out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "a", "x<y");
    json_write_kv_i64(&w, "b", 12);
    json_write_object_end(&w);
    assert_false(out.overflowed);
    expect_text(strbuf_view(&out), "{\"a\":\"x\\u003cy\",\"b\":12}", NULL);
}

static void json_write__depth__up_to_the_limit(void **state)
{
    start();
    for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++) {
        json_write_array_begin(&w);
    }
    for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++) {
        json_write_array_end(&w);
    }
    assert_int_equal(out.n, 2 * JSON_WRITE_DEPTH_MAX);
}

static void too_deep(void)
{
    start();
    for (int i = 0; i <= JSON_WRITE_DEPTH_MAX; i++) {
        json_write_array_begin(&w);
    }
}

static void value_without_key(void)
{
    start();
    json_write_object_begin(&w);
    json_write_i64(&w, 1);
}

static void key_in_an_array(void)
{
    start();
    json_write_array_begin(&w);
    json_write_key(&w, "a");
}

static void key_outside(void)
{
    start();
    json_write_key(&w, "a");
}

static void two_keys(void)
{
    start();
    json_write_object_begin(&w);
    json_write_key(&w, "a");
    json_write_key(&w, "b");
}

static void key_without_value(void)
{
    start();
    json_write_object_begin(&w);
    json_write_key(&w, "a");
    json_write_object_end(&w);
}

static void wrong_end(void)
{
    start();
    json_write_object_begin(&w);
    json_write_array_end(&w);
}

static void end_too_often(void)
{
    start();
    json_write_array_begin(&w);
    json_write_array_end(&w);
    json_write_array_end(&w);
}

static void two_outermost_values(void)
{
    start();
    json_write_null(&w);
    json_write_null(&w);
}

static void empty_raw(void)
{
    start();
    json_write_raw(&w, STR_NULL);
}

static void json_write__misuse__aborts(void **state)
{
    assert_true(unit_aborts(too_deep));
    assert_true(unit_aborts(value_without_key));
    assert_true(unit_aborts(key_in_an_array));
    assert_true(unit_aborts(key_outside));
    assert_true(unit_aborts(two_keys));
    assert_true(unit_aborts(key_without_value));
    assert_true(unit_aborts(wrong_end));
    assert_true(unit_aborts(end_too_often));
    assert_true(unit_aborts(two_outermost_values));
    assert_true(unit_aborts(empty_raw));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_write__document__commas_and_nesting),
        cmocka_unit_test(json_write_str__table__escaped_as_go_does),
        cmocka_unit_test(json_write_str__every_byte_at_every_place__read_back),
        cmocka_unit_test(json_is_plain__every_byte_at_every_place__as_the_writer_does),
        cmocka_unit_test(json_write__buffer_too_small__overflow_once_at_the_end),
        cmocka_unit_test(json_write__depth__up_to_the_limit),
        cmocka_unit_test(json_write__misuse__aborts),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
