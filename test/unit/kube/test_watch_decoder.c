#include "kube/watch_decoder.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "kube/objects.h"
#include "kube/objects_internal.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

/* Writes what the decoder tells as one line per event: "ADDED a@1 {...}" */
struct fixture {
    struct json_reader reader;
    struct arena arena;
    struct watch_decoder decoder;
    struct strbuf told;
    struct pod pod;
    struct kube_status status;
    int refuse_after; /* events; -1: never */
};

static bool on_decode(void *ctx, enum watch_event_type type, struct json_reader *r)
{
    struct fixture *f = ctx;
    return type == WATCH_ERROR ? kube_decode_status(r, &f->status) : kube_decode_pod(r, &f->pod);
}

static int on_event(void *ctx, enum watch_event_type type, struct str object, struct err *reterr)
{
    struct fixture *f = ctx;
    if (f->refuse_after >= 0 && f->refuse_after-- == 0) {
        return err_set(reterr, ERR_CANCELLED, "enough");
    }
    if (type == WATCH_ERROR) {
        strbuf_addf(&f->told, "ERROR %d %.*s", f->status.code, STR_ARG(f->status.reason));
    } else {
        strbuf_addf(&f->told, "%s %.*s@%.*s", watch_event_type_name(type), STR_ARG(f->pod.name),
                    STR_ARG(f->pod.resource_version));
    }
    assert_true(object.n >= 2 && object.p[0] == '{' && object.p[object.n - 1] == '}');
    strbuf_add_char(&f->told, '\n');
    return 0;
}

static int on_unusable(void *ctx, enum watch_event_type type, struct str object, const struct err *why,
                       struct err *reterr)
{
    struct fixture *f = ctx;
    struct pod p;
    (void)reterr;
    kube_salvage_pod(object, &p);
    strbuf_addf(&f->told, "unusable %s %.*s: %s\n", watch_event_type_name(type), STR_ARG(p.name),
                why->code == ERR_PARSE     ? "parse"
                : why->code == ERR_INVALID ? "invalid"
                                           : "limit");
    return 0;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    const struct watch_sink sink = {on_decode, on_event, on_unusable, f};
    arena_init(&f->arena, 8U * 1024 * 1024);
    strbuf_init(&f->told, 1024 * 1024);
    watch_decoder_init(&f->decoder, &f->reader, &f->arena, kube_pod_fields, &sink);
    f->refuse_after = -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    watch_decoder_fini(&f->decoder);
    strbuf_fini(&f->told);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

static const char stream[] =
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}}\n"
    "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\","
    "\"annotations\":{\"x\":\"} \\\" \\n {\"}}}}\n"
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":"
    "{\"resourceVersion\":\"238\"},\"spec\":{\"containers\":null},\"status\":{}}}\n"
    "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"240\"}}}"
    "\n"
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n";

static const char told[] = "ADDED a@1\nMODIFIED a@2\nBOOKMARK @238\nDELETED a@240\nERROR 410 Expired\n";

/* Feeds a copy, so that reading beside a piece is seen by AddressSanitizer. */
static int feed(struct fixture *f, const char *p, size_t n, struct err *reterr)
{
    char *piece = xmalloc(n);
    memcpy(piece, p, n);
    int rc = watch_decoder_feed(&f->decoder, (struct str){piece, n}, reterr);
    free(piece);
    return rc;
}

static void feed__all_at_once__tells_every_event(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(feed(f, stream, sizeof(stream) - 1, NULL), 0);
    assert_int_equal(watch_decoder_end(&f->decoder, NULL), 0);
    assert_string_equal(f->told.p, told);
    assert_int_equal(f->decoder.event_n, 5);
}

static void feed__cut_at_every_byte__tells_the_same(void **state)
{
    struct fixture *f = *state;
    size_t n = sizeof(stream) - 1;
    for (size_t cut = 0; cut <= n; cut++) {
        watch_decoder_reset(&f->decoder);
        strbuf_reset(&f->told);
        assert_int_equal(feed(f, stream, cut, NULL), 0);
        assert_int_equal(feed(f, stream + cut, n - cut, NULL), 0);
        assert_int_equal(watch_decoder_end(&f->decoder, NULL), 0);
        assert_string_equal(f->told.p, told);
    }
}

static void feed__byte_by_byte__tells_the_same(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(stream) - 1; i++) {
        assert_int_equal(feed(f, stream + i, 1, NULL), 0);
    }
    assert_string_equal(f->told.p, told);
}

static void feed__other_shapes_of_a_line__are_understood(void **state)
{
    static const struct {
        const char *name, *text, *told;
    } rows[] = {
        {"object first",
         "{\"object\":{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"3\"}},\"type\":\"ADDED\"}"
         "\n",
         "ADDED b@3\n"},
        {"further keys", "{\"v\":1,\"type\":\"DELETED\",\"object\":{},\"w\":[{}]}\n", "DELETED @\n"},
        {"blanks and CR", "  {\"type\" : \"ADDED\" , \"object\" : { } }\r\n", "ADDED @\n"},
        {"empty lines", "\n\r\n \n", ""},
        {"no newline yet", "{\"type\":\"ADDED\",\"object\":{}}", ""},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        watch_decoder_reset(&f->decoder);
        strbuf_reset(&f->told);
        if (feed(f, rows[i].text, strlen(rows[i].text), NULL) != 0 || strcmp(f->told.p, rows[i].told) != 0) {
            fail_msg("row %s: %s", rows[i].name, f->told.p);
        }
    }
}

static void feed__malformed_line__is_an_error_and_tells_nothing(void **state)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"garbage", "<html>\n"},
        {"cut object", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}\n"},
        {"text behind", "{\"type\":\"ADDED\",\"object\":{}} x\n"},
        {"two documents", "{\"type\":\"ADDED\",\"object\":{}}{\"type\":\"ADDED\",\"object\":{}}\n"},
        {"unknown type", "{\"type\":\"RENAMED\",\"object\":{}}\n"},
        {"no type", "{\"object\":{}}\n"},
        {"no object", "{\"type\":\"ADDED\"}\n"},
        {"type twice", "{\"type\":\"ADDED\",\"type\":\"DELETED\",\"object\":{}}\n"},
        {"object twice", "{\"type\":\"ADDED\",\"object\":{},\"object\":{}}\n"},
        {"bad UTF-8", "{\"type\":\"ADDED\",\"object\":{\"x\":\"\xff\"}}\n"},
        {"array", "[]\n"},
        {"object is null and unusable", "{\"type\":\"ADDED\",\"object\":7}\n"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.code = ERR_OK};
        watch_decoder_reset(&f->decoder);
        strbuf_reset(&f->told);
        int rc = feed(f, rows[i].text, strlen(rows[i].text), &err);
        if (rc != -ERR_PARSE || err.code != ERR_PARSE || f->told.n != 0) {
            fail_msg("row %s: %d %s, told %s", rows[i].name, rc, err.msg, f->told.p);
        }
    }
}

/* Item 11: what an author may put into an object, and what no API server would send but JSON allows. */
static void feed__odd_object_between_others__is_told_and_the_others_go_on(void **state)
{
    static const struct {
        const char *name, *text, *told;
    } rows[] = {
        {"NUL in a value nobody reads", "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"evil\":\"a\\u0000b\"}}}",
         "MODIFIED x@\n"},
        {"NUL in a key nobody reads", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"a\\u0000\":1}}", "MODIFIED x@\n"},
        {"lone surrogates",
         "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"a\":\"\\ud800\",\"b\":\"\\udc00\\ud800x\"}}}",
         "MODIFIED x@\n"},
        {"NUL in scheduler's name", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"schedulerName\":\"a\\u0000\"}}",
         "MODIFIED x@\n"},
        {"key twice in a map nobody reads", "{\"metadata\":{\"name\":\"x\",\"managedFields\":[{\"f\":1,\"f\":2}]}}",
         "MODIFIED x@\n"},
        {"numbers beyond all bounds",
         "{\"metadata\":{\"name\":\"x\",\"n\":-1e999999},\"spec\":{\"n\":1234567890123456789012}}", "MODIFIED x@\n"},
        {"uid twice", "{\"metadata\":{\"name\":\"x\",\"uid\":\"a\",\"uid\":\"b\"}}", "unusable MODIFIED x: parse\n"},
        {"name that is no text", "{\"metadata\":{\"name\":7}}", "unusable MODIFIED : invalid\n"},
        {"priority beyond its type", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"priority\":1e9}}",
         "unusable MODIFIED x: invalid\n"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf text, expected;
        strbuf_init(&text, 4096);
        strbuf_init(&expected, 4096);
        strbuf_addf(&text,
                    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"before\"}}}\n"
                    "{\"type\":\"MODIFIED\",\"object\":%s}\n"
                    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"after\"}}}\n",
                    rows[i].text);
        strbuf_addf(&expected, "ADDED before@\n%sADDED after@\n", rows[i].told);
        watch_decoder_reset(&f->decoder);
        strbuf_reset(&f->told);
        struct err err = {.code = ERR_OK};
        if (feed(f, text.p, text.n, &err) != 0 || strcmp(f->told.p, expected.p) != 0) {
            fail_msg("row %s: %s, told %s", rows[i].name, err.msg, f->told.p);
        }
        strbuf_fini(&expected);
        strbuf_fini(&text);
    }
}

static void add_nested(struct strbuf *text, int depth)
{
    strbuf_add_cstr(text, "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"deep\"},\"x\":");
    for (int i = 0; i < depth; i++) {
        strbuf_add_char(text, '[');
    }
    for (int i = 0; i < depth; i++) {
        strbuf_add_char(text, ']');
    }
    strbuf_add_cstr(text, "}}\n");
}

static void feed__objects_beyond_the_reader__many_keys_and_deep_nesting__go_on(void **state)
{
    struct fixture *f = *state;
    struct strbuf text;
    strbuf_init(&text, 8U * 1024 * 1024);
    strbuf_add_cstr(&text, "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"big\",\"labels\":{");
    for (int i = 0; i < JSON_KEYS_MAX + 10; i++) {
        strbuf_addf(&text, "%s\"l%d\":\"\"", i > 0 ? "," : "", i);
    }
    strbuf_add_cstr(&text, "}}}}\n");
    add_nested(&text, JSON_SKIP_DEPTH_MAX - 2);
    add_nested(&text, JSON_SKIP_DEPTH_MAX + 1);
    strbuf_add_cstr(&text, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"ok\"}}}\n");
    assert_int_equal(feed(f, text.p, text.n, NULL), 0);
    assert_string_equal(f->told.p, "MODIFIED big@\nMODIFIED deep@\nunusable MODIFIED deep: limit\nADDED ok@\n");
    strbuf_fini(&text);
}

static void feed__line_of_2_mib__is_read_in_pieces(void **state)
{
    struct fixture *f = *state;
    size_t filler_n = 2U * 1024 * 1024;
    struct strbuf text;
    strbuf_init(&text, 4U * 1024 * 1024);
    strbuf_add_cstr(&text, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"big\",\"annotations\":{\"a\":\"");
    char *filler = strbuf_reserve(&text, filler_n);
    assert_non_null(filler);
    memset(filler, 'x', filler_n);
    strbuf_commit(&text, filler_n);
    strbuf_add_cstr(&text, "\"}}}}\n");
    for (size_t at = 0; at < text.n; at += 16384) {
        size_t n = text.n - at < 16384 ? text.n - at : 16384;
        assert_int_equal(feed(f, text.p + at, n, NULL), 0);
    }
    assert_string_equal(f->told.p, "ADDED big@\n");
    strbuf_fini(&text);
}

/* An event of more than CUT_TEXT_MAX, between two others; `args` bytes of it are beside the point. */
static void add_large_event(struct strbuf *text, const char *type, size_t args_n, const char *metadata)
{
    strbuf_addf(text,
                "{\"type\":\"%s\",\"object\":{\"kind\":\"Pod\",\"metadata\":{%s,\"managedFields\":[{\"f\":{}}]},"
                "\"spec\":{\"volumes\":[],\"containers\":[{\"name\":\"c\",\"args\":[\"",
                type, metadata);
    char *filler = strbuf_reserve(text, args_n);
    assert_non_null(filler);
    for (size_t i = 0; i + 6 <= args_n; i += 6) {
        memcpy(filler + i, "\\u003c", 6);
    }
    memset(filler + args_n / 6 * 6, 'x', args_n % 6);
    strbuf_commit(text, args_n);
    strbuf_add_cstr(text,
                    "\"],\"resources\":{\"limits\":{\"fgpu.io/gpu-milli\":\"300\"}},\"env\":[{\"name\":\"]}\"}]}],"
                    "\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{}]}}}\n");
}

static void feed__event_above_the_cap__is_read_as_it_passes_and_the_others_go_on(void **state)
{
    struct fixture *f = *state;
    struct strbuf text;
    strbuf_init(&text, 16U * 1024 * 1024);
    for (size_t piece_n = 65536; piece_n <= 12U * 1024 * 1024; piece_n *= 192) {
        strbuf_reset(&text);
        strbuf_reset(&f->told);
        strbuf_add_cstr(&text, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"before\"}}}\n");
        add_large_event(&text, "MODIFIED", 9U * 1024 * 1024,
                        "\"name\":\"big\",\"uid\":\"u\",\"resourceVersion\":\"7\"");
        size_t big_n = text.n;
        for (size_t at = 0; at < big_n; at += piece_n) {
            assert_int_equal(feed(f, text.p + at, piece_n < big_n - at ? piece_n : big_n - at, NULL), 0);
        }
        assert_string_equal(f->told.p, "ADDED before@\nMODIFIED big@7\n");
        assert_true(f->decoder.line.note.whole && f->decoder.line.note.bytes > 9U * 1024 * 1024);
        assert_true(str_eq_cstr(f->pod.node_name, "n1") && f->pod.phase == POD_RUNNING);
        assert_int_equal(f->pod.container_n, 1);
        assert_true(str_eq_cstr(f->pod.containers[0].limits.items[0].value, "300"));
        assert_int_equal(feed(f, stream, sizeof(stream) - 1, NULL), 0);
        assert_int_equal(f->decoder.line.note.bytes, 0);
        assert_int_equal(watch_decoder_end(&f->decoder, NULL), 0);
    }
    strbuf_fini(&text);
}

static void feed__large_line_that_is_no_event__ends_the_stream(void **state)
{
    static const char *const beginnings[] = {"", "{\"type\":\"ADDED\",\"object\":]", "[\"", "{\"type\":\"ADDED\"}{\""};
    struct fixture *f = *state;
    size_t n = 1024 * 1024;
    char *piece = xmalloc(n);
    memset(piece, 'x', n);
    for (size_t row = 0; row < ARRAY_LEN(beginnings); row++) {
        struct err err = {.code = ERR_OK};
        watch_decoder_reset(&f->decoder);
        int rc = watch_decoder_feed(&f->decoder, str_of(beginnings[row]), &err);
        for (int i = 0; i < 9 && rc == 0; i++) {
            rc = watch_decoder_feed(&f->decoder, (struct str){piece, n}, &err);
        }
        rc = rc == 0 ? watch_decoder_feed(&f->decoder, STR("\n"), &err) : rc;
        if (rc != -ERR_PARSE) {
            fail_msg("row %zu: %d %s", row, rc, err.msg);
        }
    }
    free(piece);
}

static void end__inside_a_line__is_an_error(void **state)
{
    struct fixture *f = *state;
    struct err err = {.code = ERR_OK};
    assert_int_equal(feed(f, stream, strlen(stream) - 20, NULL), 0);
    assert_int_equal(watch_decoder_end(&f->decoder, &err), -ERR_PARSE);
    watch_decoder_reset(&f->decoder);
    assert_int_equal(watch_decoder_end(&f->decoder, NULL), 0);
}

static void feed__refusing_receiver__stops_at_once(void **state)
{
    struct fixture *f = *state;
    struct err err = {.code = ERR_OK};
    f->refuse_after = 2;
    assert_int_equal(feed(f, stream, sizeof(stream) - 1, &err), -ERR_CANCELLED);
    assert_string_equal(f->told.p, "ADDED a@1\nMODIFIED a@2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(feed__all_at_once__tells_every_event),
        TEST(feed__cut_at_every_byte__tells_the_same),
        TEST(feed__byte_by_byte__tells_the_same),
        TEST(feed__other_shapes_of_a_line__are_understood),
        TEST(feed__malformed_line__is_an_error_and_tells_nothing),
        TEST(feed__odd_object_between_others__is_told_and_the_others_go_on),
        TEST(feed__objects_beyond_the_reader__many_keys_and_deep_nesting__go_on),
        TEST(feed__line_of_2_mib__is_read_in_pieces),
        TEST(feed__event_above_the_cap__is_read_as_it_passes_and_the_others_go_on),
        TEST(feed__large_line_that_is_no_event__ends_the_stream),
        TEST(end__inside_a_line__is_an_error),
        TEST(feed__refusing_receiver__stops_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
