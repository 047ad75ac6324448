/* Bodies: caps, budget, slow senders. */
#include "base/bug.h"
#include "httpd/support/fixture.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The verbs' way: a fault of the body is an ordinary reply. */
static enum httpd_action handler_faults(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    switch (httpd_request_body_state(req)) {
    case HTTPD_BODY_COMPLETE:
        strbuf_addf(&resp->body, "{\"n\":%zu}", httpd_request_body(req).n);
        break;
    case HTTPD_BODY_TOO_LARGE:
        BUG_ON(httpd_request_body(req).n != 0);
        strbuf_add_cstr(&resp->body, "{\"Error\":\"too large\"}");
        break;
    case HTTPD_BODY_NO_BUDGET:
        BUG_ON(httpd_request_body(req).n != 0);
        strbuf_add_cstr(&resp->body, "{\"Error\":\"busy\"}");
        break;
    }
    return HTTPD_REPLY;
}

/* Keeps its request, and with it the memory of the body. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct httpd_request *req;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static enum httpd_action handler_hold(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx, (void)resp;
    pthread_mutex_lock(&held.lock);
    held.req = req;
    pthread_cond_signal(&held.changed);
    pthread_mutex_unlock(&held.lock);
    return HTTPD_SUSPENDED;
}

/* Makes three times as much of a body, as reading JSON does. */
static enum httpd_action handler_parse(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const size_t n = httpd_request_body(req).n;
    bool enough = true;

    (void)ctx;
    for (size_t i = 0; i < 3 && enough; i++) {
        enough = arena_alloc(httpd_request_arena(req), n) != NULL;
    }
    BUG_ON(enough == httpd_request_arena(req)->refused);
    strbuf_add_cstr(&resp->body, enough ? "parsed" : "busy");
    return HTTPD_REPLY;
}

static const struct httpd_route ROUTES[] = {
    {.method = "POST", .path = "/parse", .handle = handler_parse},
    {.method = "POST", .path = "/hold", .handle = handler_hold},
    {.method = "POST", .path = "/echo", .handle = handler_echo},
    {.method = "POST", .path = "/verb", .handle = handler_faults, .flags = HTTPD_ROUTE_BODY_FAULTS},
    {.method = "POST", .path = "/plain", .handle = handler_echo, .body_max_bytes = 100},
    {.method = "POST",
     .path = "/small",
     .handle = handler_faults,
     .body_max_bytes = 100,
     .flags = HTTPD_ROUTE_BODY_FAULTS},
    {.method = "GET", .path = "/ok", .handle = handler_ok},
};

static char *filled(size_t n)
{
    char *p = malloc(n);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)('a' + i % 26);
    }
    return p;
}

static void expect(struct client *c, int status, const char *body)
{
    struct reply r;
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, status);
    assert_true(r.complete);
    assert_string_equal(r.body, body);
    reply_fini(&r);
}

static void body__twenty_mib__the_client_gets_its_200_and_goes_on(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    const size_t n = (size_t)20 << 20;
    char *body = filled(n);
    struct client c;
    client_open(&c, f.port);
    post(&c, "/verb", body, n); /* over the default 16 MiB */
    expect(&c, 200, "{\"Error\":\"too large\"}");
    post(&c, "/verb", body, (size_t)16 << 20); /* exactly at it */
    expect(&c, 200, "{\"n\":16777216}");
    post(&c, "/plain", body, n);
    expect(&c, 413, "request body too large");
    post(&c, "/nowhere", body, 1 << 20); /* a 404 too reaches who is still sending */
    expect(&c, 404, "no such path");
    client_close(&c);
    free(body);
    fixture_stop(&f);
}

static void body__large__arrives_unchanged(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    const size_t n = ((size_t)5 << 20) + 12345;
    char *body = filled(n);
    struct client c;
    client_open(&c, f.port);
    post(&c, "/echo", body, n);
    struct reply r;
    assert_true(client_reply(&c, &r));
    assert_int_equal(r.body_n, n);
    assert_memory_equal(r.body, body, n);
    reply_fini(&r);
    client_close(&c);
    free(body);
    fixture_stop(&f);
}

/* Bare LFs between chunks, extensions and trailers are libmicrohttpd's affair, which is lenient: so nothing of a
 * chunked body is read. */
static void item18__chunked_body__411_and_closed(void **state)
{
    static const char *const bodies[] = {"5\r\nabcde\r\n0\r\n\r\n",
                                         "5\nabcde\n0\n\n",
                                         "5\r\nabcde\n0\r\n\r\n",
                                         "5;x=\n\r\nabcde\r\n0\r\nX: y\n\r\n",
                                         "",
                                         "0\r\n\r\n"};
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct client c;
        client_open(&c, f.port);
        client_text(&c, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        client_text(&c, bodies[i]);
        struct reply r;
        assert_true(client_reply(&c, &r));
        assert_int_equal(r.status, 411);
        reply_fini(&r);
        assert_true(client_at_end(&c));
        client_close(&c);
    }
    fixture_stop(&f);
}

static void body__over_the_common_budget__busy_until_others_are_done(void **state)
{
    struct fixture f;
    const struct httpd_config config = {.inflight_max_bytes = 1 << 20};
    fixture_start(&f, &config, ROUTES, ARRAY_LEN(ROUTES));
    const size_t n = 700000;
    char *body = filled(n);
    struct client holder, other;
    client_open(&holder, f.port);
    client_open(&other, f.port);
    post(&holder, "/hold", body, n);
    pthread_mutex_lock(&held.lock);
    while (held.req == NULL) {
        pthread_cond_wait(&held.changed, &held.lock);
    }
    pthread_mutex_unlock(&held.lock);
    post(&other, "/verb", body, n);
    expect(&other, 200, "{\"Error\":\"busy\"}");
    post(&other, "/echo", body, n);
    expect(&other, 503, "too many request bytes in flight, try again");
    struct httpd_response resp;
    httpd_response_init(&resp, 100);
    strbuf_add_cstr(&resp.body, "held");
    httpd_resume(held.req, &resp);
    expect(&holder, 200, "held");
    struct reply r;
    bool free_again = false;
    for (int i = 0; i < 10000 && !free_again; i++) { /* released just after the holder's reply */
        post(&other, "/verb", body, n);
        assert_true(client_reply(&other, &r));
        free_again = strcmp(r.body, "{\"n\":700000}") == 0;
        reply_fini(&r);
    }
    assert_true(free_again);
    client_close(&holder);
    client_close(&other);
    free(body);
    fixture_stop(&f);
}

/* 48 bodies of 2.3 MiB once took 428 MiB, because only the bodies were counted. */
static void item18__what_is_made_of_bodies__is_counted_and_given_back(void **state)
{
    const struct httpd_config config = {.inflight_max_bytes = 4 << 20};
    struct fixture f;
    fixture_start(&f, &config, ROUTES, ARRAY_LEN(ROUTES));
    struct client c;
    client_open(&c, f.port);
    char *body = filled(1200000);
    for (int i = 0; i < 3; i++) {
        post(&c, "/parse", body, 700000); /* 3.4 MiB with the arena */
        expect(&c, 200, "parsed");
        post(&c, "/parse", body, 1200000); /* 4.6 MiB */
        expect(&c, 200, "busy");
    }
    client_close(&c);
    free(body);
    httpd_server_stop(f.server, 1000); /* every request is over */
    assert_int_equal(httpd_server_inflight_bytes(f.server), 0);
    fixture_stop(&f);
}

/* Sends one byte after another, each well within any idle timeout; true when the server cut it
 * off. */
static bool drips_until_cut(struct client *c)
{
    for (int i = 0; i < 60000; i++) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        if (poll(&p, 1, 5) > 0) {
            return client_at_end(c);
        }
        if (!client_send(c, "x", 1)) {
            return true;
        }
    }
    return false;
}

/* The head's copies lie in the same budget: 503 says to try again, 400 would say that it is the client's fault. */
static void head__longer_than_the_memory_for_it__says_whose_fault(void **state)
{
    static const struct {
        struct httpd_config config;
        int status;
        const char *text;
    } rows[] = {
        {{.inflight_max_bytes = 1}, 503, "too many request bytes in flight, try again"},
        {{.arena_max_bytes = 8192}, 400, "request head too large"},
    };
    char path[20000];
    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        struct client c;
        fixture_start(&f, &rows[i].config, ROUTES, ARRAY_LEN(ROUTES));
        client_open(&c, f.port);
        client_text(&c, "GET ");
        client_text(&c, path);
        client_text(&c, " HTTP/1.1\r\nHost: x\r\n\r\n");
        expect(&c, rows[i].status, rows[i].text);
        client_close(&c);
        fixture_stop(&f);
    }
}

static void body__dripping_clients__are_cut_at_the_deadline(void **state)
{
    const struct {
        const char *name, *start;
    } rows[] = {
        {"in the body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"},
        {"in a body nobody wants", "POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"},
        {"in the headers", "POST /echo HTTP/1.1\r\nHost: x\r\nX-A: "},
        {"in the request line", "POST /ec"},
        {"in the second request line", "GET /ok HTTP/1.1\r\nHost: x\r\n\r\nGET /"},
    };
    struct fixture f;
    const struct httpd_config config = {.head_deadline_ms = 100, .body_deadline_ms = 100};
    fixture_start(&f, &config, ROUTES, ARRAY_LEN(ROUTES));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct client c;
        client_open(&c, f.port);
        client_text(&c, rows[i].start);
        if (strstr(rows[i].start, "/ok") != NULL) {
            expect(&c, 200, "ok");
        }
        if (!drips_until_cut(&c)) {
            fail_msg("%s: not cut off", rows[i].name);
        }
        client_close(&c);
    }
    fixture_stop(&f);
}

static void body__idle_connections__outlive_the_head_deadline(void **state)
{
    struct fixture f;
    const struct httpd_config config = {.head_deadline_ms = 40, .body_deadline_ms = 40};
    fixture_start(&f, &config, ROUTES, ARRAY_LEN(ROUTES));
    struct client fresh, used;
    client_open(&fresh, f.port);
    client_open(&used, f.port);
    client_text(&used, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&used, 200, "ok");
    for (int i = 0; i < 3; i++) { /* whoever came after them has met the deadline: it has passed for them, too */
        struct client slow;
        client_open(&slow, f.port);
        client_text(&slow, "GET /ok HTTP/1.1\r\nHost: x\r\nX-A: ");
        assert_true(drips_until_cut(&slow));
        client_close(&slow);
    }
    client_text(&fresh, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&fresh, 200, "ok");
    client_text(&used, "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&used, 200, "ok");
    client_close(&fresh);
    client_close(&used);
    fixture_stop(&f);
}

static void body__client_gone_half_way__leaves_nothing_behind(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    for (int i = 0; i < 50; i++) {
        struct client c;
        client_open(&c, f.port);
        client_text(&c, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc");
        client_close(&c);
    }
    struct client c;
    client_open(&c, f.port);
    post(&c, "/echo", "x", 1);
    expect(&c, 200, "x");
    client_close(&c);
    fixture_stop(&f); /* leak checks see the rest */
}

static void body__expect_100_continue__is_answered(void **state)
{
    struct fixture f;
    fixture_start(&f, NULL, ROUTES, ARRAY_LEN(ROUTES));
    struct client c;
    client_open(&c, f.port);
    client_text(&c, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                    "Content-Length: 5\r\n\r\n");
    assert_true(client_wait_for(&c, "100 Continue\r\n\r\n"));
    client_text(&c, "hello");
    expect(&c, 200, "hello");
    client_close(&c);
    fixture_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body__twenty_mib__the_client_gets_its_200_and_goes_on),
        cmocka_unit_test(body__large__arrives_unchanged),
        cmocka_unit_test(item18__chunked_body__411_and_closed),
        cmocka_unit_test(body__over_the_common_budget__busy_until_others_are_done),
        cmocka_unit_test(item18__what_is_made_of_bodies__is_counted_and_given_back),
        cmocka_unit_test(head__longer_than_the_memory_for_it__says_whose_fault),
        cmocka_unit_test(body__dripping_clients__are_cut_at_the_deadline),
        cmocka_unit_test(body__idle_connections__outlive_the_head_deadline),
        cmocka_unit_test(body__client_gone_half_way__leaves_nothing_behind),
        cmocka_unit_test(body__expect_100_continue__is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
