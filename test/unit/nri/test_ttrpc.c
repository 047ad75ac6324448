#include "nri/ttrpc.h"

#include "support/cmocka.h"

#include <string.h>

static int setup(void **state)
{
    static struct ttrpc_reader r;

    ttrpc_reader_init(&r);
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    ttrpc_reader_fini(*state);
    return 0;
}

static void must_read(struct ttrpc_reader *r, struct str *in, uint32_t stream, uint8_t type, struct str body)
{
    struct ttrpc_message m;

    assert_int_equal(ttrpc_read(r, in, &m, NULL), 1);
    assert_int_equal(m.stream, stream);
    assert_int_equal(m.type, type);
    assert_true(str_eq(m.body, body));
}

static void must_need_more(struct ttrpc_reader *r, struct str in)
{
    struct ttrpc_message m;

    assert_int_equal(ttrpc_read(r, &in, &m, NULL), 0);
    assert_int_equal(in.n, 0);
}

static void ttrpc_read__messages_in_a_row__each_as_it_was_sent(void **state)
{
    struct str in = STR("\0\0\0\x02\0\0\0\x01\x01\0"
                        "ab"
                        "\0\0\0\0\0\0\0\x03\x02\0"
                        "\0\0\0\x01\x01\x02\x03\x04\x07\xff"
                        "c");

    must_read(*state, &in, 1, TTRPC_REQUEST, STR("ab"));
    must_read(*state, &in, 3, TTRPC_RESPONSE, STR(""));
    must_read(*state, &in, 0x01020304, 7, STR("c"));
    must_need_more(*state, in);
    assert_false(ttrpc_reader_inside(*state));
}

static void ttrpc_read__byte_by_byte__the_same_messages(void **state)
{
    const struct str all = STR("\0\0\0\x02\0\0\0\x05\x01\0"
                               "ab"
                               "\0\0\0\0\0\0\0\x07\x02\0");

    for (size_t i = 0; i < all.n; i++) {
        struct str in = {all.p + i, 1};

        if (i == 11) {
            must_read(*state, &in, 5, TTRPC_REQUEST, STR("ab"));
        } else if (i == 21) {
            must_read(*state, &in, 7, TTRPC_RESPONSE, STR(""));
        } else {
            must_need_more(*state, in);
            assert_true(ttrpc_reader_inside(*state));
        }
    }
}

static void ttrpc_read__longest_message__is_read_and_its_memory_given_back(void **state)
{
    static char zeroes[TTRPC_BODY_MAX];
    struct ttrpc_reader *r = *state;
    struct ttrpc_message m;
    struct str in = {zeroes, sizeof(zeroes)};

    must_need_more(r, STR("\0\x40\0\0\0\0\0\x01\x01\0"));
    assert_true(r->body.cap < 1000); /* a length alone takes no memory */
    assert_int_equal(ttrpc_read(r, &in, &m, NULL), 1);
    assert_int_equal(m.body.n, TTRPC_BODY_MAX);
    must_need_more(r, STR("\0"));
    assert_true(r->body.cap < 1000);
}

static void ttrpc_read__longer_message__is_refused(void **state)
{
    struct str in = STR("\0\x40\0\x01\0\0\0\x01\x01\0");
    struct ttrpc_message m;
    struct err err;

    assert_int_equal(ttrpc_read(*state, &in, &m, &err), -ERR_LIMIT);
    assert_string_equal(err.msg, "the runtime sent a message of 4194305 bytes; ttrpc has none above 4194304");
}

/* Request: service=1, method=2, payload=3. Response: status=1 {code=1, message=2}, payload=2. */
static void ttrpc_write__each_kind__these_bytes(void **state)
{
    struct strbuf out;

    strbuf_init(&out, TTRPC_BODY_MAX + TTRPC_HEADER_BYTES);
    assert_true(ttrpc_write_request(&out, 1, "s.S", "Do", STR("pay")));
    assert_true(str_eq(strbuf_view(&out), STR("\0\0\0\x0e\0\0\0\x01\x01\0"
                                              "\x0a\x03s.S\x12\x02"
                                              "Do\x1a\x03pay")));
    assert_true(ttrpc_write_response(&out, 3, STR("\x08\x01")));
    assert_true(str_eq(strbuf_view(&out), STR("\0\0\0\x04\0\0\0\x03\x02\0"
                                              "\x12\x02\x08\x01")));
    assert_true(ttrpc_write_response(&out, 3, STR_NULL));
    assert_true(str_eq(strbuf_view(&out), STR("\0\0\0\0\0\0\0\x03\x02\0")));
    assert_true(ttrpc_write_error(&out, 5, TTRPC_UNIMPLEMENTED, "no"));
    assert_true(str_eq(strbuf_view(&out), STR("\0\0\0\x08\0\0\0\x05\x02\0"
                                              "\x0a\x06\x08\x0c\x12\x02no")));
    strbuf_fini(&out);
}

static void ttrpc_write__too_long__is_not_written(void **state)
{
    static char zeroes[TTRPC_BODY_MAX];
    struct strbuf out;

    strbuf_init(&out, TTRPC_BODY_MAX + TTRPC_HEADER_BYTES);
    assert_true(ttrpc_write_response(&out, 1, (struct str){zeroes, sizeof(zeroes) - 5}));
    assert_int_equal(out.n, TTRPC_BODY_MAX + TTRPC_HEADER_BYTES);
    assert_false(ttrpc_write_response(&out, 1, (struct str){zeroes, sizeof(zeroes) - 4}));
    strbuf_fini(&out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(ttrpc_read__messages_in_a_row__each_as_it_was_sent),
        TEST(ttrpc_read__byte_by_byte__the_same_messages),
        TEST(ttrpc_read__longest_message__is_read_and_its_memory_given_back),
        TEST(ttrpc_read__longer_message__is_refused),
        TEST(ttrpc_write__each_kind__these_bytes),
        TEST(ttrpc_write__too_long__is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
