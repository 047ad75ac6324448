#include "nri/mux.h"

#include "support/cmocka.h"

#include <string.h>

static void must_read(struct mux_reader *r, struct str *in, uint32_t id, const char *text)
{
    uint32_t got;
    struct str piece;

    assert_int_equal(mux_read(r, in, &got, &piece, NULL), 1);
    assert_int_equal(got, id);
    assert_true(str_eq_cstr(piece, text));
}

static void must_need_more(struct mux_reader *r, struct str *in)
{
    uint32_t id;
    struct str piece;

    assert_int_equal(mux_read(r, in, &id, &piece, NULL), 0);
    assert_int_equal(in->n, 0);
}

static void mux_read__two_frames_and_an_empty_one__pieces_with_their_ids(void **state)
{
    struct mux_reader r = {0};
    struct str in = STR("\0\0\0\x01\0\0\0\x03"
                        "abc"
                        "\0\0\0\x02\0\0\0\0"
                        "\0\0\0\x02\0\0\0\x01"
                        "d");

    must_read(&r, &in, MUX_PLUGIN, "abc");
    must_read(&r, &in, MUX_RUNTIME, "d");
    must_need_more(&r, &in);
    assert_false(mux_reader_inside(&r));
}

static void mux_read__byte_by_byte__the_same_pieces(void **state)
{
    const struct str all = STR("\0\0\0\x01\0\0\0\x02"
                               "ab"
                               "\x01\x02\x03\x04\0\0\0\x01"
                               "c");
    struct mux_reader r = {0};

    for (size_t i = 0; i < all.n; i++) {
        struct str in = {all.p + i, 1};

        switch (i) {
        case 8:
            must_read(&r, &in, 1, "a");
            break;
        case 9:
            must_read(&r, &in, 1, "b");
            break;
        case 18:
            must_read(&r, &in, 0x01020304, "c");
            break;
        default:
            must_need_more(&r, &in);
        }
        assert_int_equal(mux_reader_inside(&r), i != 9 && i != 18);
    }
}

static void mux_read__frame_of_the_greatest_length__is_read(void **state)
{
    struct mux_reader r = {0};
    struct str in = STR("\0\0\0\x01\0\x40\0\x0a"
                        "a");

    must_read(&r, &in, 1, "a");
    assert_true(mux_reader_inside(&r));
}

static void mux_read__longer_frame__is_refused(void **state)
{
    struct mux_reader r = {0};
    struct str in = STR("\0\0\0\x01\0\x40\0\x0b"
                        "a"),
               piece;
    struct err err;
    uint32_t id;

    assert_int_equal(mux_read(&r, &in, &id, &piece, &err), -ERR_LIMIT);
    assert_string_equal(err.msg, "the runtime sent a frame of 4194315 bytes; NRI has none above 4194314");
}

/* The lengths of the frames of one message. */
static void must_write(size_t message, size_t first, size_t second)
{
    struct strbuf text, out;
    struct mux_reader r = {0};
    struct str in, piece;
    uint32_t id;

    strbuf_init(&text, 1U << 23);
    strbuf_init(&out, 1U << 23);
    for (size_t i = 0; i < message; i++) {
        strbuf_add_char(&text, (char)i);
    }
    mux_write(&out, MUX_RUNTIME, strbuf_view(&text));
    in = strbuf_view(&out);
    assert_int_equal(in.n, message + MUX_HEADER_BYTES * (1U + (second > 0)));
    assert_int_equal(mux_read(&r, &in, &id, &piece, NULL), 1);
    assert_int_equal(id, MUX_RUNTIME);
    assert_int_equal(piece.n, first);
    assert_memory_equal(piece.p, text.p, first);
    if (second > 0) {
        assert_int_equal(mux_read(&r, &in, &id, &piece, NULL), 1);
        assert_int_equal(id, MUX_RUNTIME);
        assert_int_equal(piece.n, second);
        assert_memory_equal(piece.p, text.p + first, second);
    }
    must_need_more(&r, &in);
    strbuf_fini(&out);
    strbuf_fini(&text);
}

static void mux_write__any_length__at_most_two_frames(void **state)
{
    must_write(1, 1, 0);
    must_write(4095, 4095, 0);
    must_write(4096, 4096, 0);
    must_write(4097, 4096, 1);
    must_write(8193, 4096, 4097);
    must_write(4U * 1024 * 1024 + 10, 4096, 4U * 1024 * 1024 + 10 - 4096);
}

static void mux_write__short_message__these_bytes(void **state)
{
    struct strbuf out;

    strbuf_init(&out, 100);
    mux_write(&out, MUX_PLUGIN, STR("xyz"));
    assert_true(str_eq(strbuf_view(&out), STR("\0\0\0\x01\0\0\0\x03"
                                              "xyz")));
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mux_read__two_frames_and_an_empty_one__pieces_with_their_ids),
        cmocka_unit_test(mux_read__byte_by_byte__the_same_pieces),
        cmocka_unit_test(mux_read__frame_of_the_greatest_length__is_read),
        cmocka_unit_test(mux_read__longer_frame__is_refused),
        cmocka_unit_test(mux_write__any_length__at_most_two_frames),
        cmocka_unit_test(mux_write__short_message__these_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
