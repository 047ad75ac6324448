#include "config/address.h"

#include "config/support/unit.h"

static void parse__table__address_or_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want; /* as address_text, or the message */
        bool ok, loopback;
    } rows[] = {
        {"127.0.0.1:9443", "127.0.0.1:9443", true, true},
        {"127.8.9.1:1", "127.8.9.1:1", true, true},
        {"localhost:0", "127.0.0.1:0", true, true},
        {"[::1]:65535", "[::1]:65535", true, true},
        {"0.0.0.0:80", "0.0.0.0:80", true, false},
        {"[::]:80", "[::]:80", true, false},
        {"10.1.2.3:80", "10.1.2.3:80", true, false},
        {"9443", "'9443' is not HOST:PORT, for example 127.0.0.1:9443", false, false},
        {"", "'' is not HOST:PORT, for example 127.0.0.1:9443", false, false},
        {":9443", "':9443' has no host; write 127.0.0.1:9443", false, false},
        {"[]:9443", "'[]:9443' has no host; write 127.0.0.1:9443", false, false},
        {"127.0.0.1:", "the port of '127.0.0.1:' is not a number up to 65535", false, false},
        {"127.0.0.1:65536", "the port of '127.0.0.1:65536' is not a number up to 65535", false,
         false},
        {"127.0.0.1:+1", "the port of '127.0.0.1:+1' is not a number up to 65535", false, false},
        {"[::1]", "the port of '[::1]' is not a number up to 65535", false, false},
        {"::1:9443", "write an IPv6 address in brackets: [::1]:9443", false, false},
        {"[127.0.0.1]:1", "the host '127.0.0.1' is neither an IP address nor localhost", false,
         false},
        {"gpu.example.com:1", "the host 'gpu.example.com' is neither an IP address nor localhost",
         false, false},
        {"127.0.0.256:1", "the host '127.0.0.256' is neither an IP address nor localhost", false,
         false},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1",
         "the host is neither an IP address nor localhost", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a = {.host = "untouched"};
        struct err err = {0};
        char text[ADDRESS_TEXT_MAX];
        int r = address_parse(str_of(rows[i].text), &a, &err);
        expect_text(str_of(r == 0 ? address_text(&a, text) : err.msg), rows[i].want, rows[i].text);
        assert_int_equal(r, rows[i].ok ? 0 : -ERR_PARSE);
        if (r == 0) {
            assert_int_equal(address_is_loopback(&a), rows[i].loopback);
        } else {
            assert_string_equal(a.host, "untouched");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__table__address_or_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
