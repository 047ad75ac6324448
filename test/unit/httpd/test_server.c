/* Routing, heads, framing faults, reply framing, keep-alive, stop. */
#include "base/bug.h"
#include "httpd/support/fixture.h"

#include <stdatomic.h>
#include <stdio.h>

static enum httpd_action handler_sized(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    struct str n_text;
    uint64_t n;
    /* cmocka's assertions are for the main thread */
    BUG_ON(!httpd_request_query(req, "n", &n_text));
    BUG_ON(!str_to_u64(n_text, 1 << 20, &n));
    for (uint64_t i = 0; i < n; i++) {
        strbuf_add_char(&resp->body, 'a');
    }
    return HTTPD_REPLY;
}

/* "METHOD path|name=value;...|header X-Test" */
static enum httpd_action handler_describe(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    struct str name, value;
    strbuf_addf(&resp->body, "%.*s %.*s|", STR_ARG(httpd_request_method(req)), STR_ARG(httpd_request_path(req)));
    for (size_t at = 0; httpd_request_query_next(req, &at, &name, &value);) {
        strbuf_addf(&resp->body, "%.*s=%.*s;", STR_ARG(name), STR_ARG(value));
    }
    strbuf_addf(&resp->body, "|%.*s", STR_ARG(httpd_request_header(req, "x-test")));
    if (!str_starts(httpd_request_peer(req), STR("127.0.0.1:"))) {
        strbuf_add_cstr(&resp->body, " peer is wrong");
    }
    httpd_response_header(resp, "ETag", STR("\"7\""));
    if (httpd_response_header(resp, "X-Bad", STR("a\r\nSet-Cookie: b")) ||
        httpd_response_header(resp, "X-Empty", STR(""))) {
        strbuf_add_cstr(&resp->body, " bad header taken");
    }
    return HTTPD_REPLY;
}

static enum httpd_action handler_overflow(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx, (void)req;
    for (int i = 0; i < 100; i++) {
        strbuf_add_cstr(&resp->body, "0123456789");
    }
    return HTTPD_REPLY;
}

static const struct httpd_route ROUTES[] = {
    {.method = "POST", .path = "/echo", .handle = handler_echo},
    {.method = "GET", .path = "/sized", .handle = handler_sized},
    {.method = "GET", .path = "/ok", .handle = handler_ok},
    {.method = NULL, .path = "/api/", .handle = handler_describe, .flags = HTTPD_ROUTE_PREFIX},
    {.method = "GET", .path = "/api/exact", .handle = handler_ok},
    {.method = "GET", .path = "/overflow", .handle = handler_overflow},
};

static void server__thousand_requests_on_one_connection__all_answered(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    struct client c;
    client_open(&c, f.port);
    for (int i = 0; i < 1000; i++) {
        char body[32];
        const int n = snprintf(body, sizeof(body), "{\"i\":%d}", i);
        post(&c, "/echo", body, (size_t)n);
        struct reply r;
        assert_true(client_reply(&c, &r));
        assert_int_equal(r.status, 200);
        assert_string_equal(r.body, body);
        assert_false(reply_has(&r, "Connection: close"));
        reply_fini(&r);
    }
    client_close(&c);
    fixture_stop(&f);
}

static void server__reply_lengths_at_read_boundaries__exact_content_length(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    struct client c;
    client_open(&c, f.port);
    static const unsigned sizes[] = {0, 1, 511, 512, 513, 1535, 1536, 1537, 3584, 500000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char text[128];
        snprintf(text, sizeof(text), "GET /sized?n=%u HTTP/1.1\r\nHost: x\r\n\r\n", sizes[i]);
        assert_true(client_text(&c, text));
        struct reply r;
        assert_true(client_reply(&c, &r));
        snprintf(text, sizeof(text), "Content-Length: %u", sizes[i]);
        assert_true(reply_has(&r, text));
        assert_null(strstr(r.head, "Transfer-Encoding"));
        assert_true(r.complete);
        assert_int_equal(r.body_n, sizes[i]);
        assert_true(sizes[i] == 0 || r.body[r.body_n - 1] == 'a');
        assert_int_equal(c.n, 0); /* no byte behind the body */
        reply_fini(&r);
    }
    /* and nothing arrives behind the last one either */
    assert_true(client_text(&c, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(client_wait_for(&c, "\r\n\r\nok"));
    assert_memory_equal(c.buf, "HTTP/1.1 200", 12);
    client_close(&c);
    fixture_stop(&f);
}

static void server__routes__exact_prefix_head_404_405(void **state)
{
    const struct {
        const char *name, *request;
        int status;
        const char *body, *header;
    } rows[] = {
        {"exact", "GET /ok HTTP/1.1\r\n", 200, "ok", "Content-Type: text/plain; charset=utf-8"},
        {"prefix", "PATCH /api/v1/pods?watch=1&labelSelector=a%3Db&x&q=1+2 HTTP/1.1\r\nX-Test: y\r\n", 200,
         "PATCH /api/v1/pods|watch=1;labelSelector=a=b;x=;q=1 2;|y", "ETag: \"7\""},
        {"exact beats prefix", "GET /api/exact HTTP/1.1\r\n", 200, "ok", NULL},
        {"another method of an exact path falls to the prefix", "PUT /api/exact HTTP/1.1\r\n", 200, "PUT /api/exact||",
         NULL},
        {"escaped path", "GET /api/a%20b HTTP/1.1\r\n", 200, "GET /api/a b||", NULL},
        {"empty query", "GET /api/? HTTP/1.1\r\n", 200, "GET /api/||", NULL},
        {"unknown", "GET /nothing HTTP/1.1\r\n", 404, "no such path", NULL},
        {"no mapping of dots", "GET /x/../ok HTTP/1.1\r\n", 404, "no such path", NULL},
        {"method", "DELETE /ok HTTP/1.1\r\n", 405, "method not allowed", "Allow: GET, HEAD"},
        {"method of verbs", "GET /echo HTTP/1.1\r\n", 405, "method not allowed", "Allow: POST"},
        {"bad escape", "GET /api/%zz HTTP/1.1\r\n", 400, "malformed request target", NULL},
        {"short escape", "GET /api/%4 HTTP/1.1\r\n", 400, "malformed request target", NULL},
        {"escaped NUL", "GET /api/a%00b HTTP/1.1\r\n", 400, "malformed request target", NULL},
        {"bad query", "GET /api/a?x=%0 HTTP/1.1\r\n", 400, "malformed query", NULL},
        {"not a path", "GET ok HTTP/1.1\r\n", 400, "malformed request target", NULL},
        {"404 after its body", "POST /no HTTP/1.1\r\nContent-Length: 0\r\n", 404, "no such path", NULL},
        {"overflowed reply", "GET /overflow HTTP/1.1\r\n", 500, "reply larger than the server's limit", NULL},
    };
    struct fixture f;
    const struct httpd_config config = {.reply_max_bytes = 600};
    fixture_start(&f, &config, ROUTES, ARRAY_LEN(ROUTES));
    struct client c;
    client_open(&c, f.port); /* one connection: none of these ends it */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        client_text(&c, rows[i].request);
        client_text(&c, "Host: x\r\n\r\n");
        struct reply r;
        if (!client_reply(&c, &r)) {
            fail_msg("%s: no reply", rows[i].name);
        }
        if (r.status != rows[i].status || strcmp(r.body, rows[i].body) != 0 ||
            (rows[i].header != NULL && !reply_has(&r, rows[i].header))) {
            fail_msg("%s: %s%s", rows[i].name, r.head, r.body);
        }
        reply_fini(&r);
    }
    struct reply r;
    client_text(&c, "HEAD /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(client_reply_head(&c, &r));
    assert_int_equal(r.status, 200);
    assert_true(reply_has(&r, "Content-Length: 2"));
    reply_fini(&r);
    client_text(&c, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(client_reply(&c, &r)); /* the HEAD reply had no body */
    assert_string_equal(r.body, "ok");
    reply_fini(&r);
    client_close(&c);
    fixture_stop(&f);
}

static void server__ambiguous_heads__refused(void **state)
{
    /* `closes`: where the message ends is not certain, so the connection must not be reused. The
     * status may be missing (0) where libmicrohttpd drops such a connection itself. */
    const struct {
        const char *name, *head;
        int status;
        bool closes;
    } rows[] = {
        {"TE and CL",
         "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400, true},
        {"TE and CL on GET",
         "GET /ok HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400, true},
        {"TE identity", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\nhello", 400, true},
        {"TE list", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400, true},
        {"TE twice",
         "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400, true},
        {"CL twice",
         "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"
         "hello",
         400, true},
        {"CL twice, different",
         "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
         "Content-Length: 6\r\n\r\nhello!",
         400, true},
        {"CL malformed", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello", 400, true},
        {"CL huge", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413, true},
        {"Host twice", "POST /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 5\r\n\r\nhello", 400, false},
        {"Host missing", "GET /ok HTTP/1.1\r\n\r\n", 400, true},
        {"Content-Encoding",
         "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n"
         "Content-Length: 5\r\n\r\nhello",
         415, false},
        {"Expect", "GET /ok HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", 417, false},
        {"version", "GET /ok HTTP/1.2\r\nHost: x\r\n\r\n", 505, false},
        {"bytes above ASCII", "GET /o\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n", 400, false},
        {"control byte", "GET /ok HTTP/1.1\r\nHost: x\r\nX: a\x01 b\r\n\r\n", 400, true},
        {"CR in a value", "GET /ok HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n", 400, true},
        {"name that is no token", "GET /ok HTTP/1.1\r\nHost: x\r\nX(a): b\r\n\r\n", 400, true},
        {"garbage", "\x16\x03\x01\r\n\r\n", 0, true},
    };
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct client c;
        client_open(&c, f.port);
        client_text(&c, rows[i].head);
        struct reply r = {.status = 0};
        const bool replied = client_reply(&c, &r);
        if (rows[i].status != 0 && (!replied || r.status != rows[i].status)) {
            fail_msg("%s: %s", rows[i].name, replied ? r.head : "no reply");
        }
        reply_fini(&r);
        if (rows[i].closes) {
            client_drain(&c); /* ends with the connection, or fails */
        } else {
            client_text(&c, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
            assert_true(client_reply(&c, &r));
            assert_int_equal(r.status, 200);
            reply_fini(&r);
        }
        client_close(&c);
    }
    fixture_stop(&f);
}

struct observed {
    atomic_int n;
    atomic_int status_sum; /* the order of two connections' ends is not certain */
};

static void observe(void *ctx, const struct httpd_observation *o)
{
    struct observed *seen = ctx;
    BUG_ON(strcmp(o->listener, "test") != 0 || o->duration_ns < 0);
    atomic_fetch_add(&seen->status_sum, o->status);
    atomic_fetch_add(&seen->n, 1);
}

static void server__observer__sees_every_request(void **state)
{
    struct fixture f;
    struct observed seen = {.n = 0};
    const struct httpd_config config = {.observe = observe, .observe_ctx = &seen};
    fixture_start(&f, &config, ROUTES, ARRAY_LEN(ROUTES));
    struct reply r;
    get_once(f.port, "/ok", &r);
    reply_fini(&r);
    get_once(f.port, "/none", &r);
    reply_fini(&r);
    fixture_stop(&f); /* reports may come after the client has its answer, but not after this */
    assert_int_equal(atomic_load(&seen.n), 2);
    assert_int_equal(atomic_load(&seen.status_sum), 200 + 404);
}

static enum httpd_action forget(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    struct arena *a = httpd_request_arena(req);
    httpd_request_forget(req);
    memset(arena_alloc(a, 2048), 'x', 2048);
    strbuf_add_str(&resp->body, httpd_request_path(req));
    return HTTPD_REPLY;
}

static void observe_path(void *ctx, const struct httpd_observation *o)
{
    bool *same = ctx;
    *same = str_eq(o->path, STR("/forget")) && str_eq(o->method, STR("GET"));
}

static void server__handler_gives_its_memory_back__what_was_asked_is_still_known(void **state)
{
    static const struct httpd_route routes[] = {{.method = "GET", .path = "/forget", .handle = forget}};
    struct fixture f;
    bool same = false;
    const struct httpd_config config = {.observe = observe_path, .observe_ctx = &same};
    fixture_start(&f, &config, routes, ARRAY_LEN(routes));
    struct reply r;
    get_once(f.port, "/forget?a=b", &r);
    assert_true(str_eq((struct str){r.body, r.body_n}, STR("/forget")));
    reply_fini(&r);
    fixture_stop(&f);
    assert_true(same);
}

static void server__several_listeners__have_their_own_routes_and_ports(void **state)
{
    const struct httpd_listener_config listeners[] = {
        {.name = "a", .address = "127.0.0.1:0", .routes = &ROUTES[0], .route_n = 1},
        {.name = "b", .address = "localhost:0", .routes = &ROUTES[2], .route_n = 1, .thread_n = 3},
        {.name = "c", .address = "[::1]:0", .routes = &ROUTES[2], .route_n = 1},
    };
    const struct httpd_config config = {.listeners = listeners, .listener_n = 3};
    struct httpd_server *s;
    struct err err = {.code = ERR_OK};
    if (httpd_server_new(&config, &s, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    assert_int_equal(httpd_server_start(s, &err), 0);
    assert_int_not_equal(httpd_server_port(s, 0), httpd_server_port(s, 1));
    struct reply r;
    get_once(httpd_server_port(s, 0), "/ok", &r);
    assert_int_equal(r.status, 404);
    reply_fini(&r);
    get_once(httpd_server_port(s, 1), "/ok", &r);
    assert_int_equal(r.status, 200);
    reply_fini(&r);
    struct client c;
    client_open_v6(&c, httpd_server_port(s, 2));
    client_text(&c, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(client_reply(&c, &r));
    assert_string_equal(r.body, "ok");
    reply_fini(&r);
    client_close(&c);
    httpd_server_free(s);
}

static void server__address_in_use__is_an_error_that_names_it(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    char address[64];
    snprintf(address, sizeof(address), "127.0.0.1:%u", (unsigned)f.port);
    const struct httpd_listener_config listener = {.name = "verbs", .address = address};
    const struct httpd_config config = {.listeners = &listener, .listener_n = 1};
    struct httpd_server *s = NULL;
    struct err err = {.code = ERR_OK};
    assert_int_equal(httpd_server_new(&config, &s, &err), -ERR_UNAVAILABLE);
    assert_null(s);
    assert_non_null(strstr(err.msg, address));
    assert_non_null(strstr(err.msg, "verbs"));
    fixture_stop(&f);
}

static void server__stop__refuses_new_clients_and_closes_idle_ones(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    struct client c;
    client_open(&c, f.port);
    struct reply r;
    client_text(&c, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(client_reply(&c, &r));
    reply_fini(&r);
    httpd_server_stop(f.server, 100);
    assert_true(client_at_end(&c));
    assert_true(client_refused(f.port));
    client_close(&c);
    fixture_stop(&f);
}

static void server__never_started__is_freed(void **state)
{
    const struct httpd_listener_config listener = {.name = "a", .address = "127.0.0.1:0"};
    const struct httpd_config config = {.listeners = &listener, .listener_n = 1};
    struct httpd_server *s;
    assert_int_equal(httpd_server_new(&config, &s, NULL), 0);
    const uint16_t port = httpd_server_port(s, 0);
    httpd_server_free(s);
    assert_true(client_refused(port));
    httpd_server_free(NULL);
}

static int status_for_host(uint16_t port, const char *host_line)
{
    struct client c;
    struct reply r;
    char text[512];
    int status;

    snprintf(text, sizeof(text), "GET /ok HTTP/%s\r\n%s\r\n", host_line[0] == '\0' ? "1.0" : "1.1", host_line);
    client_open(&c, port);
    client_text(&c, text);
    assert_true(client_reply(&c, &r));
    status = r.status;
    reply_fini(&r);
    client_close(&c);
    return status;
}

/* DNS rebinding: a page at rebound.example.com, whose name now means 127.0.0.1, reads what only this machine may. */
static void item18__host_of_somebody_else__421(void **state)
{
    static const struct {
        const char *host;
        int status;
    } rows[] = {
        {"Host: rebound.example.com\r\n", 421},
        {"Host: rebound.example.com:9442\r\n", 421},
        {"Host: localhost.example.com:9442\r\n", 421},
        {"Host: 127.0.0.1.example.com\r\n", 421},
        {"Host: x127.0.0.1:9442\r\n", 421},
        {"Host: 127.1:9442\r\n", 421},
        {"Host: \r\n", 421},
        {"Host: :9442\r\n", 421},
        {"Host: 127.0.0.1:9442\r\n", 200},
        {"Host: 127.0.0.1\r\n", 200},
        {"Host: [::1]:9442\r\n", 200},
        {"Host: 10.1.2.3:9442\r\n", 200},
        {"Host: LocalHost:9442\r\n", 200},
        {"Host: fgpu.corp.example.com:443\r\n", 200},
        {"Host: FGPU.corp.example.com\r\n", 200},
        {"", 200}, /* HTTP/1.0 without one: no browser */
    };
    static const struct str names[] = {{"fgpu.corp.example.com", 21}};
    const struct httpd_listener_config listeners[] = {
        {.name = "ops",
         .address = "127.0.0.1:0",
         .routes = ROUTES,
         .route_n = ARRAY_LEN(ROUTES),
         .check_host = true,
         .hosts = names,
         .host_n = 1},
        {.name = "other", .address = "127.0.0.1:0", .routes = ROUTES, .route_n = ARRAY_LEN(ROUTES)},
    };
    const struct httpd_config config = {.listeners = listeners, .listener_n = 2};
    struct httpd_server *server;
    struct err err;

    assert_int_equal(httpd_server_new(&config, &server, &err), 0);
    assert_int_equal(httpd_server_start(server, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = status_for_host(httpd_server_port(server, 0), rows[i].host);

        if (status != rows[i].status) {
            fail_msg("%s: %d", rows[i].host, status);
        }
        assert_int_equal(status_for_host(httpd_server_port(server, 1), rows[i].host), 200);
    }
    httpd_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server__thousand_requests_on_one_connection__all_answered),
        cmocka_unit_test(server__reply_lengths_at_read_boundaries__exact_content_length),
        cmocka_unit_test(server__routes__exact_prefix_head_404_405),
        cmocka_unit_test(server__ambiguous_heads__refused),
        cmocka_unit_test(server__observer__sees_every_request),
        cmocka_unit_test(server__handler_gives_its_memory_back__what_was_asked_is_still_known),
        cmocka_unit_test(server__several_listeners__have_their_own_routes_and_ports),
        cmocka_unit_test(server__address_in_use__is_an_error_that_names_it),
        cmocka_unit_test(server__stop__refuses_new_clients_and_closes_idle_ones),
        cmocka_unit_test(server__never_started__is_freed),
        cmocka_unit_test(item18__host_of_somebody_else__421),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
