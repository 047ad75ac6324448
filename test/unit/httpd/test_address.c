#include "httpd/address.h"
#include "httpd/support/fixture.h"

#include <netinet/in.h>

static void address__accepted_forms__parse_and_classify(void **state)
{
    (void)state;
    const struct {
        const char *name, *in, *text;
        bool loopback;
    } rows[] = {
        {"v4", "127.0.0.1:9443", "127.0.0.1:9443", true},
        {"v4 other loopback", "127.8.9.10:1", "127.8.9.10:1", true},
        {"v4 elsewhere", "10.1.2.3:65535", "10.1.2.3:65535", false},
        {"v4 any", "0.0.0.0:80", "0.0.0.0:80", false},
        {"v6", "[::1]:9443", "[::1]:9443", true},
        {"v6 elsewhere", "[fd00::1]:9443", "[fd00::1]:9443", false},
        {"v6 mapped loopback", "[::ffff:127.0.0.1]:2", "[::ffff:127.0.0.1]:2", true},
        {"v6 mapped elsewhere", "[::ffff:10.0.0.1]:2", "[::ffff:10.0.0.1]:2", false},
        {"name", "localhost:0", "127.0.0.1:0", true},
        {"everywhere", ":9443", "[::]:9443", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct httpd_address a;
        struct err err = {.code = ERR_OK};
        if (httpd_address_parse(str_of(rows[i].in), &a, &err) != 0) {
            fail_msg("%s: %s", rows[i].name, err.msg);
        }
        char buf[HTTPD_ADDRESS_TEXT_MAX];
        assert_string_equal(httpd_address_text((const struct sockaddr *)&a.sockaddr, buf),
                            rows[i].text);
        if (httpd_address_is_loopback(&a) != rows[i].loopback) {
            fail_msg("%s: loopback is wrong", rows[i].name);
        }
    }
}

static void address__anything_else__is_refused_and_named(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",           "127.0.0.1",       "127.0.0.1:",     "127.0.0.1:65536", "127.0.0.1:-1",
        "::1:9443",   "[::1]",           "[127.0.0.1]:80", "example.org:80",  "[::1:80",
        "::1]:80",    "127.0.0.1:80 ",   " 127.0.0.1:80",  "127.0.0.1:+80",   "[]:80",
        "[fe80::1%lo]:80", "127.0.0.1.:80",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct httpd_address a = {.len = 77};
        struct err err = {.code = ERR_OK};
        if (httpd_address_parse(str_of(rows[i]), &a, &err) != -ERR_INVALID) {
            fail_msg("\"%s\" was accepted", rows[i]);
        }
        assert_non_null(strstr(err.msg, rows[i]));
        assert_int_equal(a.len, 77); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address__accepted_forms__parse_and_classify),
        cmocka_unit_test(address__anything_else__is_refused_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
