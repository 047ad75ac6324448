/* What libmicrohttpd does not show: the bytes between the words of a head. */
#include "httpd/server_internal.h"
#include "httpd/support/fixture.h"

#include <stdio.h>

static const struct httpd_route ROUTES[] = {
    {.method = "POST", .path = "/echo", .handle = handler_echo},
    {.method = "GET", .path = "/ok", .handle = handler_ok},
};

#define BYTES(text_) (text_), sizeof(text_) - 1
#define GET_OK "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n"

static void item18__library__of_another_version__not_served(void **state)
{
    assert_true(httpd_head_bytes_serves(MHD_get_version()));
    assert_false(httpd_head_bytes_serves("0.9.76"));
    assert_false(httpd_head_bytes_serves("1.0.1"));
}

/* Each is refused at once and takes the connection with it. On the second request of a connection
 * as on the first. */
static void head__bytes_that_can_be_read_in_two_ways__400_and_closed(void **state)
{
    static const struct {
        const char *name, *head;
        size_t n;
    } rows[] = {
        {"bare LF after the request line", BYTES("GET /ok HTTP/1.1\nHost: x\r\n\r\n")},
        {"bare LF after a header", BYTES("GET /ok HTTP/1.1\r\nHost: x\nA: b\r\n\r\n")},
        {"bare LF after the last header", BYTES("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\n\r\nhello")},
        {"bare LF as the empty line", BYTES("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\nhello")},
        {"bare LFs only", BYTES("POST /echo HTTP/1.1\nHost: x\nContent-Length: 5\n\nhello")},
        {"bare LF and a second request", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\n\n" GET_OK)},
        {"folded value", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n")},
        {"folded value in the middle", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\nD: e\r\n\r\n")},
        {"folded first header", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\n y\r\nD: e\r\n\r\n")},
        {"folded empty line", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\n \r\nD: e\r\n\r\n")},
        {"NUL in a value", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\nA: b\0c\r\nD: e\r\n\r\n")},
        {"NUL in the last value", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\nD: e\0f\r\n\r\n")},
        {"NUL at the end of a value", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\nA: b\0\r\nD: e\r\n\r\n")},
        {"NUL in a name", BYTES("GET /ok HTTP/1.1\r\nHost: x\r\nA\0B: c\r\n\r\n")},
        {"NUL in the target", BYTES("GET /ok\0x HTTP/1.1\r\nHost: x\r\n\r\n")},
        {"NUL before the version", BYTES("GET /ok \0HTTP/1.1\r\nHost: x\r\n\r\n")},
    };
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
        const size_t row = i / 2;
        struct client c;
        struct reply r = {.status = 0};
        client_open(&c, f.port);
        if (i % 2 == 1) {
            client_text(&c, GET_OK);
            assert_true(client_reply(&c, &r));
            assert_int_equal(r.status, 200);
            reply_fini(&r);
        }
        client_send(&c, rows[row].head, rows[row].n);
        /* libmicrohttpd answers some of these itself, or closes */
        if (client_reply(&c, &r) && r.status != 400) {
            fail_msg("%s: %s", rows[row].name, r.head);
        }
        reply_fini(&r);
        client_drain(&c);
        client_close(&c);
    }
    fixture_stop(&f);
}

/* However the bytes are cut into packets, the words lie where they must. */
static void head__strict_but_cut_anywhere__served(void **state)
{
    static const char text[] = "POST /echo?a=b HTTP/1.1\r\nHost: x\r\nEmpty:\r\nBlank: \r\nTabs:\t \tc \r\n"
                               "Content-Length: 5\r\n\r\nhello";
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    struct client c;
    client_open(&c, f.port);
    for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
        struct reply r;
        assert_true(client_send(&c, text, cut));
        assert_true(client_send(&c, text + cut, sizeof(text) - 1 - cut));
        assert_true(client_reply(&c, &r));
        if (r.status != 200 || strcmp(r.body, "hello") != 0) {
            fail_msg("cut at %zu: %s", cut, r.head);
        }
        reply_fini(&r);
    }
    client_close(&c);
    fixture_stop(&f);
}

/* The head is complete before the first byte of the body is there to show what ended it. */
static void head__bare_lf_and_the_body_later__never_handled(void **state)
{
    static const char *const ends[] = {"\r\n\n", "\n\r\n", "\n\n"};
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct client c;
        char head[256];
        client_open(&c, f.port);
        /* "100 Continue" says that the head has been read */
        snprintf(head, sizeof(head), "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5%s",
                 ends[i]);
        client_text(&c, head);
        assert_true(client_wait_for(&c, "100 Continue"));
        client_text(&c, "hello");
        client_drain(&c);
        client_close(&c);
    }
    fixture_stop(&f);
}

static void head__no_header_at_all__http_1_0_only(void **state)
{
    struct fixture f;
    struct reply r;
    struct client c;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    client_open(&c, f.port);
    client_text(&c, "GET /ok HTTP/1.0\r\n\r\n");
    assert_true(client_reply(&c, &r));
    assert_int_equal(r.status, 200);
    reply_fini(&r);
    client_close(&c);
    fixture_stop(&f);
}

static void connection__close_asked_for__closed_after_the_answer(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    static const char *const rows[] = {"GET /ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" GET_OK,
                                       "GET /ok HTTP/1.0\r\nHost: x\r\n\r\n" GET_OK};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct client c;
        struct reply r;
        client_open(&c, f.port);
        client_text(&c, rows[i]);
        assert_true(client_reply(&c, &r));
        assert_int_equal(r.status, 200);
        reply_fini(&r);
        assert_true(client_at_end(&c)); /* the request behind it is not taken for one */
        client_close(&c);
    }
    fixture_stop(&f);
}

static void json_route__other_content_types__415(void **state)
{
    static const struct httpd_route routes[] = {
        {.method = "POST", .path = "/echo", .handle = handler_echo, .flags = HTTPD_ROUTE_JSON}};
    static const struct {
        const char *header;
        int status;
    } rows[] = {
        {"Content-Type: application/json\r\n", 200},
        {"Content-Type: Application/JSON; charset=utf-8\r\n", 200},
        {"Content-Type: application/json;\r\n", 200},
        {"Content-Type: text/plain\r\n", 415},
        {"Content-Type: application/jsonx\r\n", 415},
        {"Content-Type: application/x-www-form-urlencoded\r\n", 415},
        {"Content-Type:\r\n", 415},
        {"", 415},
    };
    struct fixture f;
    fixture_start(&f, NULL, routes, ARRAY_LEN(routes));
    struct client c;
    client_open(&c, f.port);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256];
        struct reply r;
        snprintf(text, sizeof(text), "POST /echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n{}", rows[i].header);
        client_text(&c, text);
        assert_true(client_reply(&c, &r));
        if (r.status != rows[i].status) {
            fail_msg("\"%s\": %d", rows[i].header, r.status);
        }
        reply_fini(&r);
    }
    client_close(&c);
    fixture_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item18__library__of_another_version__not_served),
        cmocka_unit_test(head__bytes_that_can_be_read_in_two_ways__400_and_closed),
        cmocka_unit_test(head__strict_but_cut_anywhere__served),
        cmocka_unit_test(head__bare_lf_and_the_body_later__never_handled),
        cmocka_unit_test(head__no_header_at_all__http_1_0_only),
        cmocka_unit_test(connection__close_asked_for__closed_after_the_answer),
        cmocka_unit_test(json_route__other_content_types__415),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
