#include "kube/list_decoder.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "kube/objects.h"
#include "kube/objects_internal.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct json_reader reader;
    struct arena arena;
    struct list_decoder *decoder;
    struct strbuf items; /* one per line */
    size_t item_n;
    size_t largest;
    bool keep;
    int refuse_at; /* item number; -1: none */
};

static int on_item(void *ctx, struct str item, struct err *reterr)
{
    struct fixture *f = ctx;
    if (f->refuse_at == (int)f->item_n) {
        return err_set(reterr, ERR_CANCELLED, "enough");
    }
    f->item_n++;
    f->largest = item.n > f->largest ? item.n : f->largest;
    if (f->keep) {
        strbuf_add_str(&f->items, item);
        strbuf_add_char(&f->items, '\n');
    }
    return 0;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    arena_init(&f->arena, 1024 * 1024);
    strbuf_init(&f->items, 1024 * 1024);
    f->decoder = list_decoder_new(kube_pod_fields, on_item, f);
    f->keep = true;
    f->refuse_at = -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    list_decoder_free(f->decoder);
    strbuf_fini(&f->items);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

static int feed(struct fixture *f, const char *p, size_t n, struct err *reterr)
{
    char *piece = xmalloc(n);
    memcpy(piece, p, n);
    int rc = list_decoder_feed(f->decoder, (struct str){piece, n}, reterr);
    free(piece);
    return rc;
}

static int end(struct fixture *f, struct list_meta *ret, struct err *reterr)
{
    return list_decoder_end(f->decoder, &f->reader, &f->arena, ret, reterr);
}

static void again(struct fixture *f)
{
    list_decoder_reset(f->decoder);
    strbuf_reset(&f->items);
    f->item_n = 0;
}

static const struct {
    const char *name, *text, *items, *version, *continue_;
} lists[] = {
    {"as the API server writes it",
     "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"77\","
     "\"continue\":\"tok\\u003d\"},"
     "\"items\":[{\"a\":[1,{}]},{\"b\":\"]},{\\\"\\\\\"}]}\n",
     "{\"a\":[1,{}]}\n{\"b\":\"]},{\\\"\\\\\"}\n", "77", "tok="},
    {"metadata behind the items", "{\"items\":[{\"x\":{}}],\"metadata\":{\"resourceVersion\":\"1\"}}", "{\"x\":{}}\n",
     "1", ""},
    {"no items", "{\"metadata\":{\"resourceVersion\":\"2\"},\"items\":[]}", "", "2", ""},
    {"items null", "{\"metadata\":{\"resourceVersion\":\"2\"},\"items\":null}", "", "2", ""},
    {"blanks everywhere", " { \"items\" : [ { \"x\" : 1 } , { } ] , \"metadata\" : { \"resourceVersion\" : \"3\" } } ",
     "{ \"x\" : 1 }\n{ }\n", "3", ""},
    {"items elsewhere",
     "{\"x\":{\"items\":[1]},\"y\":[\"items\"],\"metadata\":{\"resourceVersion\":\"4\",\"items\":[{"
     "}]},"
     "\"items\":[{}],\"z\":\"items\"}",
     "{}\n", "4", ""},
};

static void check(struct fixture *f, size_t row, const char *how)
{
    struct list_meta meta;
    struct err err = {.code = ERR_OK};
    if (end(f, &meta, &err) != 0 || strcmp(f->items.p, lists[row].items) != 0 ||
        !str_eq_cstr(meta.resource_version, lists[row].version) || !str_eq_cstr(meta.continue_, lists[row].continue_) ||
        meta.item_n != f->item_n) {
        fail_msg("row %s, %s: %s, items %s", lists[row].name, how, err.msg, f->items.p);
    }
}

static void feed__cut_at_every_byte__splits_the_same(void **state)
{
    struct fixture *f = *state;
    for (size_t row = 0; row < ARRAY_LEN(lists); row++) {
        size_t n = strlen(lists[row].text);
        for (size_t cut = 0; cut <= n; cut++) {
            again(f);
            assert_int_equal(feed(f, lists[row].text, cut, NULL), 0);
            assert_int_equal(feed(f, lists[row].text + cut, n - cut, NULL), 0);
            check(f, row, "cut");
        }
    }
}

static void feed__byte_by_byte__splits_the_same(void **state)
{
    struct fixture *f = *state;
    for (size_t row = 0; row < ARRAY_LEN(lists); row++) {
        again(f);
        for (const char *p = lists[row].text; *p != '\0'; p++) {
            assert_int_equal(feed(f, p, 1, NULL), 0);
        }
        check(f, row, "byte by byte");
    }
}

static void decoder__malformed_list__is_an_error(void **state)
{
    static const struct {
        const char *name, *text;
        enum err_code code;
    } rows[] = {
        {"empty", "", ERR_PARSE},
        {"garbage", "<html></html>", ERR_PARSE},
        {"cut in the frame", "{\"metadata\":{\"resourceVersion\":\"1\"}", ERR_PARSE},
        {"cut in the items", "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{}", ERR_PARSE},
        {"cut in an item", "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"a\":", ERR_PARSE},
        {"cut behind the items", "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{}]", ERR_PARSE},
        {"no comma", "{\"items\":[{}{}],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"two commas", "{\"items\":[{},,{}],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"trailing comma", "{\"items\":[{},],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"leading comma", "{\"items\":[,{}],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"number as item", "{\"items\":[1],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"text as item", "{\"items\":[\"a\"],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"items twice", "{\"items\":[],\"items\":[{}],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"metadata twice",
         "{\"metadata\":{\"resourceVersion\":\"1\"},\"metadata\":{\"resourceVersion\":\"2\"},"
         "\"items\":[]}",
         ERR_PARSE},
        {"hidden items", "{\"it\\u0065ms\":[{}],\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"text behind", "{\"items\":[],\"metadata\":{\"resourceVersion\":\"1\"}}x", ERR_PARSE},
        {"too many brackets", "{\"items\":[]]]]},\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_PARSE},
        {"no items", "{\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_INVALID},
        {"items is an object", "{\"items\":{},\"metadata\":{\"resourceVersion\":\"1\"}}", ERR_INVALID},
        {"no version", "{\"items\":[],\"metadata\":{}}", ERR_INVALID},
        {"no metadata", "{\"items\":[]}", ERR_INVALID},
        {"a Status", "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Failure\"}", ERR_INVALID},
        {"an array", "[{}]", ERR_INVALID},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.code = ERR_OK};
        struct list_meta meta = {.item_n = 42};
        again(f);
        int rc = feed(f, rows[i].text, strlen(rows[i].text), &err);
        if (rc == 0) {
            rc = end(f, &meta, &err);
        }
        if (rc != -(int)rows[i].code || err.code != rows[i].code || meta.item_n != 42) {
            fail_msg("row %s: %d %s", rows[i].name, rc, err.msg);
        }
    }
}

/* Item 11: an item of 20 MiB between two others. */
static void feed__item_above_the_cap__is_handed_out_as_an_excerpt_and_the_others_go_on(void **state)
{
    static const char head[] = "{\"items\":[{\"a\":1},{\"metadata\":{\"name\":\"big\"},\"a\":\"";
    static const char tail[] =
        "\",\"spec\":{\"nodeName\":\"n1\"}},{\"b\":2}],\"metadata\":{\"resourceVersion\":\"7\"}}";
    struct fixture *f = *state;
    struct list_meta meta;
    size_t n = 1024 * 1024;
    char *filler = xmalloc(n);
    memset(filler, 'x', n);
    assert_int_equal(feed(f, head, sizeof(head) - 1, NULL), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(list_decoder_feed(f->decoder, (struct str){filler, n}, NULL), 0);
    }
    assert_int_equal(feed(f, tail, sizeof(tail) - 1, NULL), 0);
    assert_string_equal(f->items.p,
                        "{\"a\":1}\n{\"metadata\":{\"name\":\"big\"},\"spec\":{\"nodeName\":\"n1\"}}\n{\"b\":2}\n");
    assert_int_equal(list_decoder_end(f->decoder, &f->reader, &f->arena, &meta, NULL), 0);
    assert_int_equal(meta.item_n, 3);
    assert_true(list_decoder_held_bytes(f->decoder) < 2 * (size_t)CUT_TEXT_MAX);
    free(filler);
}

static void feed__frame_too_large__is_a_limit(void **state)
{
    struct fixture *f = *state;
    size_t n = 1024 * 1024;
    char *filler = xmalloc(n);
    memset(filler, 'x', n);
    assert_int_equal(feed(f, "{\"a\":\"", 6, NULL), 0);
    assert_int_equal(list_decoder_feed(f->decoder, (struct str){filler, n}, NULL), -ERR_LIMIT);
    free(filler);
}

static void feed__refusing_receiver__stops_at_once(void **state)
{
    struct fixture *f = *state;
    f->refuse_at = 1;
    assert_int_equal(feed(f, lists[0].text, strlen(lists[0].text), NULL), -ERR_CANCELLED);
    assert_int_equal(f->item_n, 1);
}

/* 5,000 pods of about 4 KB: the decoder sees 16 KB at a time and must not keep more than one item.
 */
static void feed__5000_pods__in_bounded_memory(void **state)
{
    struct fixture *f = *state;
    struct strbuf piece;
    struct list_meta meta;
    char filler[4000];
    size_t total = 0;
    f->keep = false;
    memset(filler, 'y', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    strbuf_init(&piece, 64 * 1024);
    strbuf_add_cstr(&piece, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[");
    for (int i = 0; i < 5000; i++) {
        strbuf_addf(&piece, "%s{\"metadata\":{\"name\":\"p%d\",\"annotations\":{\"f\":\"%s\"}}}", i > 0 ? "," : "", i,
                    filler);
        if (piece.n > 16384 || i == 4999) {
            assert_false(piece.overflowed);
            assert_int_equal(list_decoder_feed(f->decoder, strbuf_view(&piece), NULL), 0);
            total += piece.n;
            strbuf_reset(&piece);
        }
    }
    assert_int_equal(list_decoder_feed(f->decoder, STR("]}"), NULL), 0);
    assert_int_equal(end(f, &meta, NULL), 0);
    assert_int_equal(meta.item_n, 5000);
    assert_int_equal(f->item_n, 5000);
    assert_true(total > 20000000);
    assert_true(f->largest < 4200);
    assert_true(list_decoder_held_bytes(f->decoder) < 16384);
    strbuf_fini(&piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(feed__cut_at_every_byte__splits_the_same),
        TEST(feed__byte_by_byte__splits_the_same),
        TEST(decoder__malformed_list__is_an_error),
        TEST(feed__frame_too_large__is_a_limit),
        TEST(feed__item_above_the_cap__is_handed_out_as_an_excerpt_and_the_others_go_on),
        TEST(feed__refusing_receiver__stops_at_once),
        TEST(feed__5000_pods__in_bounded_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
