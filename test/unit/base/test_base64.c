/* Base64: the vectors of RFC 4648 section 10, and what is not base64. */
#include "base/base64.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <string.h>

static void base64__vectors_of_the_rfc__both_ways(void **state)
{
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"},
                                          {"\xfb\xff\xbf", "+/+/"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char bytes[16];
        struct strbuf text;
        size_t n = 77;

        strbuf_init(&text, 64);
        base64_encode(str_of(rows[i][0]), &text);
        assert_string_equal(text.p, rows[i][1]);
        strbuf_fini(&text);
        assert_true(base64_decode(str_of(rows[i][1]), bytes, &n));
        assert_int_equal(n, strlen(rows[i][0]));
        assert_memory_equal(bytes, rows[i][0], n);
    }
}

static void base64_decode__not_base64__refused(void **state)
{
    static const char *const rows[] = {"Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zm 9", "Zm9_", "Zm9\x01"};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char bytes[16];
        size_t n;

        if (base64_decode(str_of(rows[i]), bytes, &n)) {
            fail_msg("accepted %s", rows[i]);
        }
    }
}

static void base64_decode__line_breaks__passed_over(void **state)
{
    unsigned char bytes[16];
    size_t n;

    assert_true(base64_decode(STR("Zm9v\r\nYmFy\n"), bytes, &n));
    assert_int_equal(n, 6);
    assert_memory_equal(bytes, "foobar", 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64__vectors_of_the_rfc__both_ways),
        cmocka_unit_test(base64_decode__not_base64__refused),
        cmocka_unit_test(base64_decode__line_breaks__passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
