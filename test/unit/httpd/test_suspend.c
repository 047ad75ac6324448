/* Suspended requests. */
#include "base/bug.h"
#include "httpd/support/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { MANY = 300 };

/* Requests a handler has put aside, for a thread that answers them. */
struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct httpd_request *reqs[MANY];
    size_t n;
    struct httpd_route route; /* of shelf_serve() */
};

static void shelf_init(struct shelf *s)
{
    memset(s, 0, sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->more, NULL);
}

static void shelf_fini(struct shelf *s)
{
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
}

static enum httpd_action handler_shelve(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)resp;
    struct shelf *s = ctx;
    pthread_mutex_lock(&s->lock);
    BUG_ON(s->n == MANY);
    s->reqs[s->n++] = req;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    return HTTPD_SUSPENDED;
}

static enum httpd_action handler_stopping(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    BUG_ON(req != NULL);
    strbuf_add_cstr(&resp->body, "{\"Error\":\"stopping\"}");
    return HTTPD_REPLY;
}

/* A server whose POST /bind puts requests onto the shelf. */
static void shelf_serve(struct shelf *s, struct fixture *f)
{
    shelf_init(s);
    s->route = (struct httpd_route){.method = "POST", .path = "/bind", .handle = handler_shelve, .ctx = s};
    fixture_start(f, NULL, &s->route, 1);
}

static void shelf_wait(struct shelf *s, size_t n)
{
    pthread_mutex_lock(&s->lock);
    while (s->n < n) {
        pthread_cond_wait(&s->more, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

static void echo_resume(struct httpd_request *req)
{
    struct httpd_response resp;
    httpd_response_init(&resp, 1 << 20);
    strbuf_add_str(&resp.body, httpd_request_body(req));
    httpd_resume(req, &resp);
}

static void *resume_all(void *arg)
{
    struct shelf *s = arg;
    shelf_wait(s, MANY);
    for (size_t i = MANY; i-- > 0;) { /* the last first: not in the order of the connections */
        echo_resume(s->reqs[i]);
    }
    return NULL;
}

static void suspend__three_hundred_resumed_from_another_thread__each_gets_its_own(void **state)
{
    struct shelf shelf;
    struct fixture f;
    shelf_serve(&shelf, &f);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, resume_all, &shelf), 0);
    static struct client clients[MANY];
    for (int i = 0; i < MANY; i++) {
        char body[32];
        client_open(&clients[i], f.port);
        const int n = snprintf(body, sizeof(body), "bind %d", i);
        post(&clients[i], "/bind", body, (size_t)n);
    }
    for (int i = 0; i < MANY; i++) {
        char body[32];
        struct reply r;
        snprintf(body, sizeof(body), "bind %d", i);
        assert_true(client_reply(&clients[i], &r));
        assert_int_equal(r.status, 200);
        assert_string_equal(r.body, body);
        reply_fini(&r);
    }
    pthread_join(thread, NULL);
    /* the connections are good for more */
    shelf.n = 0;
    post(&clients[0], "/bind", "again", 5);
    shelf_wait(&shelf, 1);
    echo_resume(shelf.reqs[0]);
    struct reply r;
    assert_true(client_reply(&clients[0], &r));
    assert_string_equal(r.body, "again");
    reply_fini(&r);
    for (int i = 0; i < MANY; i++) {
        client_close(&clients[i]);
    }
    fixture_stop(&f);
    shelf_fini(&shelf);
}

/* Resumes before the handler has returned. */
static enum httpd_action handler_at_once(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx, (void)resp;
    echo_resume(req);
    return HTTPD_SUSPENDED;
}

static void suspend__resumed_before_the_handler_returned__answered(void **state)
{
    const struct httpd_route route = {.path = "/", .handle = handler_at_once, .flags = HTTPD_ROUTE_PREFIX};
    struct fixture f;
    fixture_start(&f, NULL, &route, 1);
    struct client c;
    client_open(&c, f.port);
    for (int i = 0; i < 100; i++) {
        struct reply r;
        post(&c, "/a", "now", 3);
        assert_true(client_reply(&c, &r));
        assert_string_equal(r.body, "now");
        reply_fini(&r);
    }
    client_close(&c);
    fixture_stop(&f);
}

static void suspend__client_hung_up__resume_is_harmless(void **state)
{
    struct shelf shelf;
    struct fixture f;
    shelf_serve(&shelf, &f);
    for (size_t i = 0; i < 20; i++) {
        struct client c;
        client_open(&c, f.port);
        post(&c, "/bind", "body", 4);
        shelf_wait(&shelf, i + 1);
        client_close(&c);
    }
    for (size_t i = 0; i < 20; i++) {
        assert_true(str_eq(httpd_request_body(shelf.reqs[i]), STR("body"))); /* still there */
        echo_resume(shelf.reqs[i]);
    }
    struct client c;
    client_open(&c, f.port);
    post(&c, "/bind", "alive", 5);
    shelf_wait(&shelf, 21);
    echo_resume(shelf.reqs[20]);
    struct reply r;
    assert_true(client_reply(&c, &r));
    assert_string_equal(r.body, "alive");
    reply_fini(&r);
    client_close(&c);
    fixture_stop(&f);
    shelf_fini(&shelf);
}

static void suspend__server_stops__answered_by_the_route_and_late_resume_is_harmless(void **state)
{
    struct shelf shelf;
    shelf_init(&shelf);
    const struct httpd_route routes[] = {
        {.method = "POST", .path = "/bind", .handle = handler_shelve, .ctx = &shelf, .stopping = handler_stopping},
        {.method = "POST", .path = "/other", .handle = handler_shelve, .ctx = &shelf},
    };
    struct fixture f;
    fixture_start(&f, NULL, routes, ARRAY_LEN(routes));
    struct client a, b;
    client_open(&a, f.port);
    client_open(&b, f.port);
    post(&a, "/bind", "a", 1);
    shelf_wait(&shelf, 1);
    post(&b, "/other", "b", 1);
    shelf_wait(&shelf, 2);
    fixture_stop(&f); /* frees the server too */
    struct reply r;
    assert_true(client_reply(&a, &r));
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "{\"Error\":\"stopping\"}");
    assert_true(reply_has(&r, "Connection: close"));
    reply_fini(&r);
    assert_true(client_reply(&b, &r));
    assert_int_equal(r.status, 503);
    reply_fini(&r);
    assert_true(client_at_end(&a));
    assert_true(client_at_end(&b));
    echo_resume(shelf.reqs[0]);
    echo_resume(shelf.reqs[1]);
    client_close(&a);
    client_close(&b);
    shelf_fini(&shelf);
}

static void *stop_with_grace(void *arg)
{
    httpd_server_stop(arg, CLIENT_PATIENCE_S * 1000);
    return NULL;
}

static void suspend__resumed_while_the_server_drains__gets_its_answer_and_close(void **state)
{
    struct shelf shelf;
    struct fixture f;
    shelf_serve(&shelf, &f);
    struct client a, b;
    client_open(&a, f.port);
    client_open(&b, f.port);
    post(&a, "/bind", "first", 5);
    shelf_wait(&shelf, 1);
    pthread_t stopper;
    assert_int_equal(pthread_create(&stopper, NULL, stop_with_grace, f.server), 0);
    while (!client_refused(f.port)) { /* until the server no longer accepts */
        sched_yield();
    }
    post(&b, "/bind", "second", 6); /* an open connection may still ask */
    shelf_wait(&shelf, 2);
    echo_resume(shelf.reqs[0]);
    echo_resume(shelf.reqs[1]);
    struct reply r;
    assert_true(client_reply(&a, &r));
    assert_string_equal(r.body, "first");
    assert_true(reply_has(&r, "Connection: close"));
    reply_fini(&r);
    assert_true(client_reply(&b, &r));
    assert_string_equal(r.body, "second");
    reply_fini(&r);
    pthread_join(stopper, NULL);
    client_close(&a);
    client_close(&b);
    fixture_stop(&f);
    shelf_fini(&shelf);
}

/* ---- again ---- */

/* Shelves the first call; in the second answers with the note and a header of the request. */
static enum httpd_action handler_twice(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const char *note = httpd_request_note(req);
    if (note == NULL) {
        return handler_shelve(ctx, req, resp);
    }
    strbuf_add_cstr(&resp->body, note);
    strbuf_add_str(&resp->body, httpd_request_header(req, "X-Word"));
    return HTTPD_REPLY;
}

/* Says "again" before it has returned, three times. */
static enum httpd_action handler_again_at_once(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    static char notes[3][2] = {"1", "2", "3"};
    const char *note = httpd_request_note(req);
    size_t n = note == NULL ? 0 : (size_t)(note[0] - '0');
    (void)ctx;
    if (n < 3) {
        httpd_again(req, notes[n]);
        return HTTPD_SUSPENDED;
    }
    strbuf_add_cstr(&resp->body, note);
    return HTTPD_REPLY;
}

static void again__from_another_thread__the_handler_runs_again_with_the_note(void **state)
{
    struct shelf shelf;
    shelf_init(&shelf);
    const struct httpd_route route = {.path = "/", .handle = handler_twice, .ctx = &shelf};
    struct fixture f;
    fixture_start(&f, NULL, &route, 1);
    struct client c;
    client_open(&c, f.port);
    for (int i = 0; i < 3; i++) {
        static char note[] = "note ";
        struct reply r;
        shelf.n = 0;
        client_text(&c, "GET / HTTP/1.1\r\nHost: a\r\nX-Word: word\r\n\r\n");
        shelf_wait(&shelf, 1);
        httpd_again(shelf.reqs[0], note);
        assert_true(client_reply(&c, &r));
        assert_string_equal(r.body, "note word");
        reply_fini(&r);
    }
    client_close(&c);
    fixture_stop(&f);
    shelf_fini(&shelf);
}

static void again__before_the_handler_returned__as_often_as_said(void **state)
{
    const struct httpd_route route = {.path = "/", .handle = handler_again_at_once};
    struct fixture f;
    fixture_start(&f, NULL, &route, 1);
    struct reply r;
    get_once(f.port, "/", &r);
    assert_string_equal(r.body, "3");
    reply_fini(&r);
    fixture_stop(&f);
}

static void again__server_stopped_meanwhile__is_dropped(void **state)
{
    static char note[] = "note";
    struct shelf shelf;
    shelf_init(&shelf);
    const struct httpd_route route = {
        .path = "/", .handle = handler_twice, .ctx = &shelf, .stopping = handler_stopping};
    struct fixture f;
    fixture_start(&f, NULL, &route, 1);
    struct client c;
    struct reply r;
    client_open(&c, f.port);
    client_text(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    shelf_wait(&shelf, 1);
    httpd_server_stop(f.server, 0);
    assert_true(client_reply(&c, &r));
    assert_string_equal(r.body, "{\"Error\":\"stopping\"}");
    reply_fini(&r);
    client_close(&c);
    fixture_stop(&f);
    httpd_again(shelf.reqs[0], note);
    shelf_fini(&shelf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suspend__three_hundred_resumed_from_another_thread__each_gets_its_own),
        cmocka_unit_test(suspend__resumed_before_the_handler_returned__answered),
        cmocka_unit_test(suspend__client_hung_up__resume_is_harmless),
        cmocka_unit_test(suspend__server_stops__answered_by_the_route_and_late_resume_is_harmless),
        cmocka_unit_test(suspend__resumed_while_the_server_drains__gets_its_answer_and_close),
        cmocka_unit_test(again__from_another_thread__the_handler_runs_again_with_the_note),
        cmocka_unit_test(again__before_the_handler_returned__as_often_as_said),
        cmocka_unit_test(again__server_stopped_meanwhile__is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
