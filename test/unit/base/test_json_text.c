/* What the JSON reader accepts and refuses: whole documents, each read twice (skipped, and walked with the
 * typed calls), at every alignment, from memory that ends where the text ends. */
#include "base/compiler.h"
#include "base/rng.h"
#include "base/support/json_walk.h"
#include "base/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json_reader reader;

struct outcome {
    enum err_code code;
    size_t at;
    const char *why;
};

static struct outcome take_outcome(void)
{
    struct err err = {.code = ERR_OK, .msg = ""};
    int rc = json_read_end(&reader, &err);
    assert_int_equal(rc, -(int)err.code);
    if (rc != 0) {
        char want[ERR_MSG_MAX];
        snprintf(want, sizeof(want), "JSON at byte %zu: %s", reader.why_at, reader.why);
        assert_string_equal(err.msg, want);
    }
    return (struct outcome){err.code, reader.why_at, reader.why};
}

static struct outcome skip_all(struct str text)
{
    json_reader_init(&reader, text, NULL);
    json_skip(&reader);
    return take_outcome();
}

/* `out` gets what was understood. */
static struct outcome walk_all(struct str text, struct strbuf *out)
{
    struct arena arena;
    struct json_writer w;
    arena_init(&arena, 1 << 20);
    json_reader_init(&reader, text, &arena);
    json_writer_init(&w, out);
    json_walk(&reader, &w);
    struct outcome o = take_outcome();
    arena_fini(&arena);
    return o;
}

struct accepted {
    const char *text;
    const char *understood; /* NULL: the same text */
};

static const struct accepted ACCEPTED[] = {
    {"null", NULL},
    {"true", NULL},
    {"false", NULL},
    {"0", NULL},
    {"-0", NULL},
    {"12", NULL},
    {"-12", NULL},
    {"1.5", NULL},
    {"0.5e10", NULL},
    {"1E+2", NULL},
    {"1e-0002", NULL},
    {"123456789012345678901234567890", NULL},
    {"1e999999999", NULL},
    {"\"\"", NULL},
    {"\"a\"", NULL},
    {"\"exactly 16 bytes\"", NULL},
    {"\"more than sixteen bytes, and than thirty-two, too\"", NULL},
    {"\"\x7f\"", NULL},
    {"\"a\\\"b\"", NULL},
    {"\"a\\\\b\"", NULL},
    {"\"a\\/b\"", "\"a/b\""},
    {"\"\\b\\f\\n\\r\\t\"", NULL},
    {"\"\\u0041\\u00e4\\u20AC\\u20ac\"", "\"A\xc3\xa4\xe2\x82\xac\xe2\x82\xac\""},
    {"\"\\u0001\\u001f\\u007f\"", "\"\\u0001\\u001f\x7f\""},
    {"\"\\ud83d\\ude00\\uD83D\\uDE00\"", "\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\""},
    {"\"\\ud800\\udc00\\udbff\\udfff\"", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
    {"\"\\ufffe\\uffff\"", "\"\xef\xbf\xbe\xef\xbf\xbf\""},
    {"\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xf0\x90\x80\x80 "
     "\xf4\x8f\xbf\xbf\"",
     NULL},
    {"[]", NULL},
    {"{}", NULL},
    {"[[],{},[{}]]", NULL},
    {"[1,\"a\",null,true,false,{\"a\":[]}]", NULL},
    {" \t\r\n[ 1 , 2 ] \n", "[1,2]"},
    {"{ \"a\" : 1 , \"b\" : { } }", "{\"a\":1,\"b\":{}}"},
    {"{\"\":0}", NULL},
    {"{\"a\":1,\"A\":2,\"aa\":3,\"a \":4}", NULL},
    {"{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}", NULL},
    {"[{\"a\":1},{\"a\":1}]", NULL},
    {"{\"\\u0061b\":1,\"ac\":2}", "{\"ab\":1,\"ac\":2}"},
    {"{\"k:{\\\"type\\\":\\\"Ready\\\"}\":{},\"k:{\\\"type\\\":\\\"Other\\\"}\":{}}", NULL},
};

struct refused {
    const char *name;
    struct str text;
    enum err_code code;
    size_t at;
    const char *why;
};

#define R(name, text, code, at, why)                                                                                   \
    {                                                                                                                  \
        name, {text, sizeof(text) - 1}, code, at, why                                                                  \
    }
#define VALUE_END "input ends where a value is expected"
#define INSIDE_END "input ends inside a container"
#define STRING_END "input ends inside a string"
#define CONTROL "control byte in a string, which must be escaped"
#define UTF8 "invalid UTF-8 in a string"
#define ESCAPE "invalid escape in a string"
#define LONE "lone surrogate in a string"

static const struct refused REFUSED[] = {
    R("empty", "", ERR_PARSE, 0, VALUE_END),
    R("blank", " \n ", ERR_PARSE, 3, VALUE_END),
    R("word", "nul", ERR_PARSE, 0, "not a JSON value"),
    R("capital", "True", ERR_PARSE, 0, "not a JSON value"),
    R("longer word", "nulll", ERR_PARSE, 4, "more text after the value"),
    R("byte order mark", "\xef\xbb\xbf{}", ERR_PARSE, 0, "not a JSON value"),
    R("form feed", "\f1", ERR_PARSE, 0, "not a JSON value"),
    R("NUL behind", "1\0", ERR_PARSE, 1, "more text after the value"),
    R("NUL before", "\0001", ERR_PARSE, 0, "not a JSON value"),
    R("two values", "1 2", ERR_PARSE, 2, "more text after the value"),
    R("two objects", "{}{}", ERR_PARSE, 2, "more text after the value"),
    R("comment", "/**/1", ERR_PARSE, 0, "not a JSON value"),
    R("single quotes", "'a'", ERR_PARSE, 0, "not a JSON value"),
    R("NaN", "NaN", ERR_PARSE, 0, "not a JSON value"),
    R("Infinity", "[-Infinity]", ERR_PARSE, 1, "malformed number"),
    R("plus", "+1", ERR_PARSE, 0, "not a JSON value"),
    R("minus alone", "-", ERR_PARSE, 0, "malformed number"),
    R("leading zero", "[012]", ERR_PARSE, 1, "malformed number"),
    R("minus leading zero", "-01", ERR_PARSE, 0, "malformed number"),
    R("point first", ".5", ERR_PARSE, 0, "not a JSON value"),
    R("point last", "[5.]", ERR_PARSE, 1, "malformed number"),
    R("point exponent", "5.e1", ERR_PARSE, 0, "malformed number"),
    R("empty exponent", "1e", ERR_PARSE, 0, "malformed number"),
    R("empty signed exponent", "1e+", ERR_PARSE, 0, "malformed number"),
    R("hexadecimal", "0x10", ERR_PARSE, 1, "more text after the value"),
    R("number then letter", "[1a]", ERR_PARSE, 2, "expected ',' or ']'"),
    R("open string", "\"abc", ERR_PARSE, 4, STRING_END),
    R("open string, long", "\"abcdefghijklmnopqrstuvwxyz", ERR_PARSE, 27, STRING_END),
    R("open escape", "\"abc\\", ERR_PARSE, 5, STRING_END),
    R("escaped quote is no end", "\"a\\\"", ERR_PARSE, 4, STRING_END),
    R("newline", "\"a\nb\"", ERR_PARSE, 2, CONTROL),
    R("NUL", "\"a\0b\"", ERR_PARSE, 2, CONTROL),
    R("unit separator", "\"aaaaaaaaaaaaaaaaaaaaaaaa\x1f\"", ERR_PARSE, 25, CONTROL),
    R("unknown escape", "\"a\\x41\"", ERR_PARSE, 2, ESCAPE),
    R("escaped NUL byte", "\"a\\\0\"", ERR_PARSE, 2, ESCAPE),
    R("capital U", "\"\\U0041\"", ERR_PARSE, 1, ESCAPE),
    R("short \\u", "\"\\u004\"", ERR_PARSE, 1, ESCAPE),
    R("\\u at the end", "\"\\u00", ERR_PARSE, 1, ESCAPE),
    R("\\u not hex", "\"\\u00g1\"", ERR_PARSE, 1, ESCAPE),
    R("\\u0000", "\"ab\\u0000\"", ERR_PARSE, 3, "\\u0000 in a string"),
    R("lone high", "\"\\ud800\"", ERR_PARSE, 1, LONE),
    R("lone low", "\"\\udc00\"", ERR_PARSE, 1, LONE),
    R("high then text", "\"\\ud800xxxxxx\"", ERR_PARSE, 1, LONE),
    R("high then newline", "\"\\ud800\\n\\n\\n\"", ERR_PARSE, 1, LONE),
    R("high then high", "\"\\ud800\\ud800\"", ERR_PARSE, 1, LONE),
    R("high then letter", "\"\\udbff\\u0041\"", ERR_PARSE, 1, LONE),
    R("low then high", "\"\\udc00\\ud800\"", ERR_PARSE, 1, LONE),
    R("tail byte alone", "\"a\x80\"", ERR_PARSE, 2, UTF8),
    R("overlong two", "\"\xc0\xaf\"", ERR_PARSE, 1, UTF8),
    R("overlong two c1", "\"\xc1\xbf\"", ERR_PARSE, 1, UTF8),
    R("overlong three", "\"\xe0\x9f\xbf\"", ERR_PARSE, 1, UTF8),
    R("overlong four", "\"\xf0\x8f\xbf\xbf\"", ERR_PARSE, 1, UTF8),
    R("encoded surrogate", "\"\xed\xa0\x80\"", ERR_PARSE, 1, UTF8),
    R("above the last", "\"\xf4\x90\x80\x80\"", ERR_PARSE, 1, UTF8),
    R("five bytes", "\"\xf8\x88\x80\x80\x80\"", ERR_PARSE, 1, UTF8),
    R("ff", "\"\xff\"", ERR_PARSE, 1, UTF8),
    R("sequence cut by the quote", "\"\xe2\x82\"", ERR_PARSE, 1, UTF8),
    R("sequence cut by the end", "\"\xe2\x82", ERR_PARSE, 1, UTF8),
    R("bad third byte", "\"\xe2\x82\x20\"", ERR_PARSE, 1, UTF8),
    R("bad fourth byte", "\"\xf0\x9f\x98\xc0\"", ERR_PARSE, 1, UTF8),
    R("bad UTF-8 in a key", "{\"\xff\":1}", ERR_PARSE, 2, UTF8),
    R("open array", "[", ERR_PARSE, 1, INSIDE_END),
    R("open array, value", "[1", ERR_PARSE, 2, INSIDE_END),
    R("open array, comma", "[1,", ERR_PARSE, 3, INSIDE_END),
    R("array trailing comma", "[1,]", ERR_PARSE, 3, "trailing comma"),
    R("array comma first", "[,1]", ERR_PARSE, 1, "not a JSON value"),
    R("array two commas", "[1,,2]", ERR_PARSE, 3, "not a JSON value"),
    R("array no comma", "[1 2]", ERR_PARSE, 3, "expected ',' or ']'"),
    R("array colon", "[1:2]", ERR_PARSE, 2, "expected ',' or ']'"),
    R("wrong bracket", "[1}", ERR_PARSE, 2, "expected ',' or ']'"),
    R("wrong bracket, empty", "[}", ERR_PARSE, 1, "not a JSON value"),
    R("wrong brace, empty", "{]", ERR_PARSE, 1, "expected a key in quotes"),
    R("bracket alone", "]", ERR_PARSE, 0, "not a JSON value"),
    R("open object", "{", ERR_PARSE, 1, INSIDE_END),
    R("open object, key", "{\"a\"", ERR_PARSE, 4, "expected ':' after a key"),
    R("open object, colon", "{\"a\":", ERR_PARSE, 5, VALUE_END),
    R("open object, value", "{\"a\":1", ERR_PARSE, 6, INSIDE_END),
    R("open object, comma", "{\"a\":1,", ERR_PARSE, 7, INSIDE_END),
    R("object trailing comma", "{\"a\":1,}", ERR_PARSE, 7, "trailing comma"),
    R("object comma first", "{,\"a\":1}", ERR_PARSE, 1, "expected a key in quotes"),
    R("object no comma", "{\"a\":1 \"b\":2}", ERR_PARSE, 7, "expected ',' or '}'"),
    R("object no value", "{\"a\":}", ERR_PARSE, 5, "not a JSON value"),
    R("object no colon", "{\"a\" 1}", ERR_PARSE, 5, "expected ':' after a key"),
    R("object comma for colon", "{\"a\",1}", ERR_PARSE, 4, "expected ':' after a key"),
    R("bare key", "{a:1}", ERR_PARSE, 1, "expected a key in quotes"),
    R("number as key", "{1:1}", ERR_PARSE, 1, "expected a key in quotes"),
    R("duplicate key", "{\"a\":1,\"a\":2}", ERR_PARSE, 7, "duplicate key"),
    R("duplicate empty key", "{\"\":1,\"\":2}", ERR_PARSE, 6, "duplicate key"),
    R("duplicate, not adjacent", "{\"a\":1,\"b\":{\"a\":1},\"a\":2}", ERR_PARSE, 19, "duplicate key"),
    R("duplicate, nested", "{\"b\":{\"a\":1,\"a\":1}}", ERR_PARSE, 12, "duplicate key"),
    R("duplicate, second escaped", "{\"ab\":1,\"\\u0061b\":2}", ERR_PARSE, 8, "duplicate key"),
    R("duplicate, first escaped", "{\"\\u0061b\":1,\"ab\":2}", ERR_PARSE, 13, "duplicate key"),
    R("duplicate, both escaped", "{\"\\u0061b\":1,\"a\\u0062\":2}", ERR_PARSE, 13, "duplicate key"),
    R("duplicate, escaped alike", "{\"\\n\":1,\"\\u000a\":2}", ERR_PARSE, 8, "duplicate key"),
    R("duplicate, not ASCII", "{\"\xc3\xa4\":1,\"\\u00e4\":2}", ERR_PARSE, 8, "duplicate key"),
    R("duplicate, long", "{\"abcdefghijklmnopq\":1,\"abcdefghijklmnop\\u0071\":2}", ERR_PARSE, 23, "duplicate key"),
};

enum { SHIFT_MAX = 20 };

/* `shift` blanks and the text, in memory of its own without a byte behind it. */
static struct str place(struct str text, size_t shift)
{
    char *p = malloc(shift + text.n > 0 ? shift + text.n : 1);
    assert_non_null(p);
    memset(p, ' ', shift);
    memcpy(p + shift, text.p, text.n);
    return (struct str){p, shift + text.n};
}

static void release(struct str text)
{
    free((void *)(uintptr_t)text.p);
}

static void json__accepted_documents__understood(void **state)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(ACCEPTED); i++) {
        const char *want = ACCEPTED[i].understood ? ACCEPTED[i].understood : ACCEPTED[i].text;
        for (size_t shift = 0; shift < SHIFT_MAX; shift++) {
            struct str text = place(str_of(ACCEPTED[i].text), shift);
            expect_row(ACCEPTED[i].text, skip_all(text).code == ERR_OK);
            strbuf_reset(&out);
            expect_row(ACCEPTED[i].text, walk_all(text, &out).code == ERR_OK);
            expect_text(strbuf_view(&out), want, ACCEPTED[i].text);
            release(text);
        }
    }
    strbuf_fini(&out);
}

static void json__refused_documents__code_place_and_reason(void **state)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        const struct refused *row = &REFUSED[i];
        for (size_t shift = 0; shift < SHIFT_MAX; shift++) {
            struct str text = place(row->text, shift);
            strbuf_reset(&out);
            struct outcome got[] = {skip_all(text), walk_all(text, &out)};
            for (size_t k = 0; k < ARRAY_LEN(got); k++) {
                expect_row(row->name, got[k].code == row->code);
                expect_text(str_of(got[k].why), row->why, row->name);
                if (got[k].at != row->at + shift) {
                    fail_msg("row '%s': at %zu, want %zu", row->name, got[k].at, row->at + shift);
                }
            }
            release(text);
        }
    }
    strbuf_fini(&out);
}

static const char POD[] = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-1\",\"labels\":{\"a\":"
                          "\"b\",\"tier\":\"gr\\u00fcn\"},"
                          "\"managedFields\":[{\"fieldsV1\":{\"f:status\":{\"k:{\\\"type\\\":"
                          "\\\"Ready\\\"}\":{\".\":{}}}}}]},"
                          "\"spec\":{\"priority\":-10,\"ratio\":0.25,\"on\":true,\"off\":false,"
                          "\"none\":null,\"list\":[1,[2,[]],{}]}}";

static void json__every_prefix_of_a_document__refused(void **state)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    for (size_t n = 0; n < sizeof(POD) - 1; n++) {
        struct str text = place((struct str){POD, n}, 0);
        strbuf_reset(&out);
        assert_int_equal(skip_all(text).code, ERR_PARSE);
        assert_int_equal(walk_all(text, &out).code, ERR_PARSE);
        release(text);
    }
    assert_int_equal(skip_all(STR(POD)).code, ERR_OK);
    strbuf_fini(&out);
}

/* Damaged documents: both ways of reading agree on the first error, and what is accepted is understood
 * the same when read again. */
static void json__random_damage__both_ways_agree(void **state)
{
    static const char ALPHABET[] = "{}[]\",:\\u0019.-+eE tfn \n\x80\xc3\xa4\xff";
    struct strbuf out, again;
    struct rng rng;
    unsigned accepted = 0;
    strbuf_init(&out, 1 << 20);
    strbuf_init(&again, 1 << 20);
    rng_init(&rng, 5);
    for (int round = 0; round < 20000; round++) {
        struct str text = place(STR(POD), 0);
        char *p = (char *)(uintptr_t)text.p;
        for (uint64_t hits = 1 + rng_below(&rng, 3); hits > 0; hits--) {
            p[rng_below(&rng, text.n)] = ALPHABET[rng_below(&rng, sizeof(ALPHABET))];
        }
        strbuf_reset(&out);
        struct outcome a = skip_all(text);
        struct outcome b = walk_all(text, &out);
        assert_int_equal(a.code, b.code);
        assert_int_equal(a.at, b.at);
        if (a.code == ERR_OK) {
            accepted++;
            strbuf_reset(&again);
            assert_int_equal(walk_all(strbuf_view(&out), &again).code, ERR_OK);
            assert_true(str_eq(strbuf_view(&out), strbuf_view(&again)));
        }
        release(text);
    }
    assert_in_range(accepted, 100, 10000);
    strbuf_fini(&out);
    strbuf_fini(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json__accepted_documents__understood),
        cmocka_unit_test(json__refused_documents__code_place_and_reason),
        cmocka_unit_test(json__every_prefix_of_a_document__refused),
        cmocka_unit_test(json__random_damage__both_ways_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
