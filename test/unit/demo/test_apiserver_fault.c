/* Fault rules, through the C API and through /_faults. */
#include "demo/support/http.h"
#include "demo/support/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <curl/curl.h>

#define BINDING "/api/v1/namespaces/ns/pods/p/binding"
#define BIND_BODY "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"

static void add(struct fault_rule rule)
{
    struct err err;
    if (apiserver_fault_add(server, &rule, &err)) {
        fail_msg("%s", err.msg);
    }
}

static void fault__fail_twice__then_served(void **state)
{
    (void)state;
    server_pod("p", NULL, NULL);
    add((struct fault_rule){.method = "POST",
                            .path = "*/binding",
                            .times = 2,
                            .action = FAULT_FAIL,
                            .status = 503,
                            .retry_after_s = 7,
                            .message = "go away"});
    for (int i = 0; i < 2; i++) {
        struct http_reply r = http_call(server, "POST", BINDING, BIND_BODY);
        assert_int_equal(r.status, 503);
        assert_int_equal(r.retry_after, 7);
        assert_string_equal(json_text(r.doc, "reason"), "ServiceUnavailable");
        assert_string_equal(json_text(r.doc, "message"), "go away");
        http_reply_fini(&r);
    }
    http_expect(server, "GET", "/api/v1/namespaces/ns/pods/p", NULL, 200); /* another method */
    http_expect(server, "POST", BINDING, BIND_BODY, 201);
}

static void fault__close_before__nothing_done(void **state)
{
    (void)state;
    server_pod("p", NULL, NULL);
    add((struct fault_rule){.path = "*binding", .times = 1, .action = FAULT_CLOSE_BEFORE});
    struct http_reply r = http_call(server, "POST", BINDING, BIND_BODY);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.curl_code, CURLE_GOT_NOTHING);
    http_reply_fini(&r);
    http_expect(server, "POST", BINDING, BIND_BODY, 201);
}

/* A lost reply: the client sees the connection end, the pod is bound. */
static void fault__close_after__done_but_no_reply(void **state)
{
    (void)state;
    server_pod("p", NULL, NULL);
    add((struct fault_rule){.path = "*binding", .times = 1, .action = FAULT_CLOSE_AFTER});
    struct http_reply r = http_call(server, "POST", BINDING, BIND_BODY);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.curl_code, CURLE_GOT_NOTHING);
    http_reply_fini(&r);
    http_expect(server, "POST", BINDING, BIND_BODY, 409);
}

static void fault__fail_after__done_but_error(void **state)
{
    (void)state;
    server_pod("p", NULL, NULL);
    add((struct fault_rule){.path = "*binding",
                            .times = 1,
                            .action = FAULT_FAIL_AFTER,
                            .status = 504,
                            .retry_after_s = -1,
                            .reason = "Timeout"});
    struct http_reply r = http_call(server, "POST", BINDING, BIND_BODY);
    assert_int_equal(r.status, 504);
    assert_int_equal(r.retry_after, -1);
    http_reply_fini(&r);
    http_expect(server, "POST", BINDING, BIND_BODY, 409);
}

static void fault__delayed_close_after__done_but_no_reply(void **state)
{
    (void)state;
    server_pod("p", NULL, NULL);
    add((struct fault_rule){
        .path = "*binding", .times = 1, .action = FAULT_CLOSE_AFTER, .delay_ms = 20});
    struct http_reply r = http_call(server, "POST", BINDING, BIND_BODY);
    assert_int_equal(r.curl_code, CURLE_GOT_NOTHING);
    http_reply_fini(&r);
    http_expect(server, "POST", BINDING, BIND_BODY, 409);
}

/* One request that is not waited for. */
struct transfer {
    CURLM *multi;
    CURL *easy;
    struct strbuf body;
    bool done;
};

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    strbuf_add(ctx, p, size * n);
    return size * n;
}

static void transfer_turn(struct transfer *t)
{
    int running = 0;
    curl_multi_poll(t->multi, NULL, 0, 10, NULL);
    curl_multi_perform(t->multi, &running);
    t->done = running == 0;
}

/* Returns when the server has received it. */
static void transfer_start(struct transfer *t, const char *path)
{
    char url[128];
    struct apiserver_stats before, now;
    apiserver_stats(server, &before);
    *t = (struct transfer){.multi = curl_multi_init(), .easy = curl_easy_init()};
    strbuf_init(&t->body, 1 << 20);
    snprintf(url, sizeof(url), "%s%s", apiserver_url(server), path);
    curl_easy_setopt(t->easy, CURLOPT_URL, url);
    curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, &t->body);
    curl_multi_add_handle(t->multi, t->easy);
    do {
        transfer_turn(t);
        apiserver_stats(server, &now);
    } while (now.requests == before.requests);
}

static void transfer_end(struct transfer *t)
{
    curl_multi_remove_handle(t->multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_multi_cleanup(t->multi);
    strbuf_fini(&t->body);
}

/* Others pass a delayed request, and it is served with the state of its end. */
static void fault__delay__others_overtake(void **state)
{
    (void)state;
    struct transfer t;
    add((struct fault_rule){
        .path = "/api/v1/pods", .times = 1, .action = FAULT_PASS, .delay_ms = 1000});
    transfer_start(&t, "/api/v1/pods");
    for (int i = 0; i < 4; i++) { /* more than the server has threads */
        http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
    }
    assert_int_equal(t.body.n, 0);
    server_pod("late", NULL, NULL);
    while (!t.done) {
        transfer_turn(&t);
    }
    assert_non_null(strstr(t.body.p, "\"late\""));
    transfer_end(&t);
}

static void fault__skip__lets_the_first_pass(void **state)
{
    (void)state;
    add((struct fault_rule){
        .path = "/api/v1/nodes", .skip = 2, .times = 1, .action = FAULT_FAIL, .status = 429});
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 429);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
}

static void fault__for_ever__until_cleared(void **state)
{
    (void)state;
    add((struct fault_rule){.times = -1, .action = FAULT_FAIL, .status = 401});
    for (int i = 0; i < 5; i++) {
        http_expect(server, "GET", "/api/v1/nodes", NULL, 401);
    }
    apiserver_faults_clear(server);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
}

static void control_path__rules__act_and_count(void **state)
{
    (void)state;
    http_expect(server, "POST", "/_faults",
                "{\"rules\":[{\"method\":\"GET\",\"path\":\"/api/v1/"
                "nodes\",\"times\":1,\"action\":\"fail\","
                "\"status\":500,\"retryAfter\":2}]}",
                200);
    struct http_reply r = http_call(server, "GET", "/api/v1/nodes", NULL);
    assert_int_equal(r.status, 500);
    assert_int_equal(r.retry_after, 2);
    http_reply_fini(&r);
    r = http_call(server, "GET", "/_faults", NULL);
    const cJSON *rule = cJSON_GetArrayItem(cJSON_GetObjectItem(r.doc, "rules"), 0);
    assert_int_equal(cJSON_GetObjectItem(rule, "hits")->valueint, 1);
    assert_int_equal(cJSON_GetObjectItem(rule, "times")->valueint, 0);
    http_reply_fini(&r);
}

static void control_path__drop_and_compact__act(void **state)
{
    (void)state;
    char path[128];
    server_pod("a", NULL, NULL);
    snprintf(path, sizeof(path), "/api/v1/pods?watch=true&resourceVersion=%llu",
             (unsigned long long)apiserver_rv(server));
    struct watcher *w = watcher_open(server, path);
    server_pod("b", NULL, NULL);
    watcher_expect(w, "ADDED", "b");
    http_expect(server, "POST", "/_faults", "{\"dropWatches\":true,\"compact\":true}", 200);
    assert_null(watcher_next(w));
    watcher_close(w);
    w = watcher_open(server, path);
    cJSON *e = watcher_next(w);
    assert_string_equal(json_text(e, "type"), "ERROR");
    cJSON_Delete(e);
    watcher_close(w);
}

static void control_path__bad_commands__400_and_nothing_added(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "{",
        "{\"unknown\":1}",
        "{\"rules\":[{\"action\":\"explode\"}]}",
        "{\"rules\":[{\"action\":\"fail\",\"status\":200}]}",
        "{\"rules\":[{\"delayMs\":-1}]}",
        "{\"rules\":[{\"color\":\"red\"}]}",
        "{\"rules\":[{\"times\":\"1\"}]}",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        http_expect(server, "POST", "/_faults", bodies[i], 400);
    }
    struct http_reply r = http_call(server, "GET", "/_faults", NULL);
    assert_string_equal(r.body.p, "{\"rules\":[]}");
    http_reply_fini(&r);
}

static void fault__delayed_while_the_server_stops__no_harm(void **state)
{
    (void)state;
    server_start_with(NULL);
    add((struct fault_rule){
        .path = "/api/v1/pods", .times = -1, .action = FAULT_PASS, .delay_ms = 60000});
    struct transfer t;
    transfer_start(&t, "/api/v1/pods");
    server_stop(NULL);
    transfer_end(&t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, server_start, server_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fault__fail_twice__then_served),
        TEST(fault__close_before__nothing_done),
        TEST(fault__close_after__done_but_no_reply),
        TEST(fault__fail_after__done_but_error),
        TEST(fault__delayed_close_after__done_but_no_reply),
        TEST(fault__delay__others_overtake),
        TEST(fault__skip__lets_the_first_pass),
        TEST(fault__for_ever__until_cleared),
        TEST(control_path__rules__act_and_count),
        TEST(control_path__drop_and_compact__act),
        TEST(control_path__bad_commands__400_and_nothing_added),
        cmocka_unit_test(fault__delayed_while_the_server_stops__no_harm),
    };
    return cmocka_run_group_tests_name("demo/apiserver_fault", tests, NULL, NULL);
}
