#include "base/address.h"

#include "base/support/unit.h"

#include <netinet/in.h>
#include <string.h>

static void parse__table__address_or_remedy(void **state)
{
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
        {":9443", ":9443", true, false},
        {"[::ffff:127.0.0.1]:2", "[::ffff:127.0.0.1]:2", true, true},
        {"[::ffff:10.0.0.1]:2", "[::ffff:10.0.0.1]:2", true, false},
        {"[fd00::1]:9443", "[fd00::1]:9443", true, false},
        {"[]:9443", "the host '' is neither an IP address nor localhost", false, false},
        {"[fe80::1%lo]:80", "the host 'fe80::1%lo' is neither an IP address nor localhost", false, false},
        {"[::1:80", "the host '[::1' is neither an IP address nor localhost", false, false},
        {" 127.0.0.1:80", "the host ' 127.0.0.1' is neither an IP address nor localhost", false, false},
        {"127.0.0.1:80 ", "the port of '127.0.0.1:80 ' is not a number up to 65535", false, false},
        {"127.0.0.1:", "the port of '127.0.0.1:' is not a number up to 65535", false, false},
        {"127.0.0.1:65536", "the port of '127.0.0.1:65536' is not a number up to 65535", false, false},
        {"127.0.0.1:+1", "the port of '127.0.0.1:+1' is not a number up to 65535", false, false},
        {"[::1]", "the port of '[::1]' is not a number up to 65535", false, false},
        {"::1:9443", "write an IPv6 address in brackets: [::1]:9443", false, false},
        {"[127.0.0.1]:1", "the host '127.0.0.1' is neither an IP address nor localhost", false, false},
        {"gpu.example.com:1", "the host 'gpu.example.com' is neither an IP address nor localhost", false, false},
        {"127.0.0.256:1", "the host '127.0.0.256' is neither an IP address nor localhost", false, false},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1", "the host is neither an IP address nor localhost",
         false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a = {.host = "untouched"};
        struct err err = {0};
        char text[ADDRESS_TEXT_MAX];
        int rc = address_parse(str_of(rows[i].text), &a, &err);
        expect_text(str_of(rc == 0 ? address_text(&a, text) : err.msg), rows[i].want, rows[i].text);
        assert_int_equal(rc, rows[i].ok ? 0 : -ERR_PARSE);
        if (rc == 0) {
            assert_int_equal(address_is_loopback(&a), rows[i].loopback);
        } else {
            assert_string_equal(a.host, "untouched");
        }
    }
}

static void sockaddr__there_and_back__the_same_address(void **state)
{
    static const char *const rows[] = {"127.0.0.1:9443", "[::1]:1", "10.1.2.3:65535", "[fd00::7]:80"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a, b;
        struct sockaddr_storage sa;
        char text[ADDRESS_TEXT_MAX];
        assert_int_equal(address_parse(str_of(rows[i]), &a, NULL), 0);
        assert_int_equal(address_to_sockaddr(&a, &sa),
                         a.ipv6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
        assert_true(address_from_sockaddr((const struct sockaddr *)&sa, &b));
        assert_string_equal(address_text(&b, text), rows[i]);
    }
}

static void sockaddr__other_family__refused_and_untouched(void **state)
{
    struct address a = {.host = "untouched"};
    const struct sockaddr sa = {.sa_family = AF_UNIX};
    assert_false(address_from_sockaddr(&sa, &a));
    assert_false(address_from_sockaddr(NULL, &a));
    assert_string_equal(a.host, "untouched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockaddr__there_and_back__the_same_address),
        cmocka_unit_test(sockaddr__other_family__refused_and_untouched),
        cmocka_unit_test(parse__table__address_or_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
