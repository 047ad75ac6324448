/* Fault rules, through the C API and through /_faults. */
#include "base/compiler.h"
#include "demo/support/http.h"
#include "demo/support/server.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

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

/* A lost reply: the client sees the connection end, the pod is bound. */
static void fault__of_a_binding__done_or_not_whatever_the_client_sees(void **state)
{
    static const struct {
        const char *name;
        struct fault_rule rule;
        int curl_code, status; /* that the client gets */
        int again;             /* status of the same Binding sent once more: 201, or 409 if it was done */
    } rows[] = {
        {"close before", {.action = FAULT_CLOSE_BEFORE}, CURLE_GOT_NOTHING, 0, 201},
        {"close after", {.action = FAULT_CLOSE_AFTER}, CURLE_GOT_NOTHING, 0, 409},
        {"close after a delay", {.action = FAULT_CLOSE_AFTER, .delay_ms = 20}, CURLE_GOT_NOTHING, 0, 409},
        {"fail after",
         {.action = FAULT_FAIL_AFTER, .status = 504, .retry_after_s = -1, .reason = "Timeout"},
         CURLE_OK,
         504,
         409},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fault_rule rule = rows[i].rule;

        rule.times = 1;
        snprintf(rule.path, sizeof(rule.path), "*binding");
        server_pod("p", NULL, NULL);
        add(rule);
        struct http_reply r = http_call(server, "POST", BINDING, BIND_BODY);
        struct http_reply again = http_call(server, "POST", BINDING, BIND_BODY);
        if (r.curl_code != rows[i].curl_code || r.status != rows[i].status || r.retry_after != -1 ||
            again.status != rows[i].again) {
            fail_msg("%s: curl %d, status %d, Retry-After %d, then %d", rows[i].name, r.curl_code, r.status,
                     r.retry_after, again.status);
        }
        http_reply_fini(&r);
        http_reply_fini(&again);
        server_delete("p");
    }
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
    struct transfer t;
    add((struct fault_rule){.path = "/api/v1/pods", .times = 1, .action = FAULT_PASS, .delay_ms = 60000});
    transfer_start(&t, "/api/v1/pods");
    for (int i = 0; i < 4; i++) { /* more than the server has threads */
        http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
    }
    server_pod("late", NULL, NULL);
    apiserver_faults_clear(server);
    while (!t.done) {
        transfer_turn(&t);
    }
    assert_non_null(strstr(t.body.p, "\"late\""));
    transfer_end(&t);
}

static void fault__skip__lets_the_first_pass(void **state)
{
    add((struct fault_rule){.path = "/api/v1/nodes", .skip = 2, .times = 1, .action = FAULT_FAIL, .status = 429});
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 429);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
}

static void fault__for_ever__until_cleared(void **state)
{
    add((struct fault_rule){.times = -1, .action = FAULT_FAIL, .status = 401});
    for (int i = 0; i < 5; i++) {
        http_expect(server, "GET", "/api/v1/nodes", NULL, 401);
    }
    apiserver_faults_clear(server);
    http_expect(server, "GET", "/api/v1/nodes", NULL, 200);
}

/* ---- bodies that come in a way of their own ---- */

#define WATCH "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion="

static struct watcher *watch_from(unsigned long rv)
{
    char path[160];
    snprintf(path, sizeof(path), WATCH "%lu", rv);
    return watcher_open(server, path);
}

static void fault__query__tells_watch_and_list_apart(void **state)
{
    add((struct fault_rule){.query = "*watch=true*", .times = -1, .action = FAULT_FAIL, .status = 429});
    http_expect(server, "GET", "/api/v1/pods", NULL, 200);
    http_expect(server, "GET", "/api/v1/pods?limit=1", NULL, 200);
    http_expect(server, "GET", WATCH "1", NULL, 429);
}

static void flow__split_at_every_byte__the_same_events(void **state)
{
    add((struct fault_rule){.query = "*watch=true*", .times = 1, .flow = {.split_bytes = 1}});
    unsigned long rv = (unsigned long)apiserver_rv(server);
    server_pod("a", NULL, NULL);
    struct watcher *w = watch_from(rv);
    watcher_expect(w, "ADDED", "a");
    server_pod("b", NULL, NULL);
    server_delete("a");
    watcher_expect(w, "ADDED", "b");
    watcher_expect(w, "DELETED", "a");
    watcher_close(w);
}

static void flow__injected_line__comes_first_and_the_watch_goes_on(void **state)
{
    add((struct fault_rule){.query = "*watch=true*",
                            .times = 1,
                            .flow = {.inject = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x\","
                                               "\"resourceVersion\":\"7\"}}}\n"}});
    struct watcher *w = watch_from((unsigned long)apiserver_rv(server));
    server_pod("a", NULL, NULL);
    assert_int_equal(watcher_expect(w, "ADDED", "x"), 7);
    watcher_expect(w, "ADDED", "a");
    watcher_close(w);
}

static void flow__end_within_a_line__complete_for_http(void **state)
{
    unsigned long rv = (unsigned long)apiserver_rv(server);
    char path[160];
    server_pod("a", NULL, NULL);
    add((struct fault_rule){.query = "*watch=true*", .times = 1, .flow = {.then = FAULT_END, .after_bytes = 30}});
    snprintf(path, sizeof(path), WATCH "%lu", rv);
    struct http_reply r = http_call(server, "GET", path, NULL);
    assert_int_equal(r.curl_code, CURLE_OK);
    assert_int_equal(r.body.n, 30);
    assert_null(memchr(r.body.p, '\n', r.body.n));
    http_reply_fini(&r);
}

static void flow__cut__seen_by_the_client_in_lists_too(void **state)
{
    server_pod("a", NULL, NULL);
    add((struct fault_rule){.times = 1, .flow = {.then = FAULT_CUT, .after_bytes = 100}});
    struct http_reply r = http_call(server, "GET", "/api/v1/pods", NULL);
    assert_int_not_equal(r.curl_code, CURLE_OK);
    assert_int_equal(r.body.n, 100);
    http_reply_fini(&r);
    http_expect(server, "GET", "/api/v1/pods", NULL, 200);
}

static void flow__stall__connection_stays_and_says_no_more(void **state)
{
    struct transfer t;
    server_pod("a", NULL, NULL);
    add((struct fault_rule){.times = 1, .flow = {.then = FAULT_STALL, .after_bytes = 100}});
    transfer_start(&t, "/api/v1/pods");
    while (t.body.n < 100) {
        transfer_turn(&t);
    }
    for (int i = 0; i < 5; i++) {
        server_pod(i % 2 == 0 ? "b" : "c", NULL, NULL); /* wakes every stream */
        server_delete(i % 2 == 0 ? "b" : "c");
        transfer_turn(&t);
    }
    assert_int_equal(t.body.n, 100);
    assert_false(t.done);
    transfer_end(&t);
}

static void watch_list__ignored__everything_and_no_end(void **state)
{
    server_pod("a", NULL, NULL);
    http_expect(server, "POST", "/_faults", "{\"watchList\":\"ignored\"}", 200);
    struct watcher *w = watcher_open(server, "/api/v1/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                                             "&resourceVersionMatch=NotOlderThan");
    server_pod("b", NULL, NULL);
    watcher_expect(w, "ADDED", "a");
    watcher_expect(w, "ADDED", "b"); /* and no bookmark between */
    watcher_close(w);
}

static size_t on_nothing(char *p, size_t size, size_t n, void *ctx)
{
    (void)p;
    *(size_t *)ctx += size * n;
    return size * n;
}

/* The bytes of the decoded body; *ret_coded: it came compressed. */
static size_t fetch(const char *path, bool *ret_coded)
{
    char url[128];
    struct curl_header *h;
    size_t n = 0;
    CURL *e = curl_easy_init();
    snprintf(url, sizeof(url), "%s%s", apiserver_url(server), path);
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_nothing);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, &n);
    assert_int_equal(curl_easy_perform(e), CURLE_OK);
    *ret_coded = curl_easy_header(e, "Content-Encoding", 0, CURLH_HEADER, -1, &h) == CURLHE_OK;
    curl_easy_cleanup(e);
    return n;
}

static void gzip__offered__large_bodies_only(void **state)
{
    static char value[150 * 1024];
    static char pod[sizeof(value) + 256];
    bool coded;
    fetch("/api/v1/pods", &coded);
    assert_false(coded);
    memset(value, 'v', sizeof(value) - 1);
    snprintf(pod, sizeof(pod),
             "{\"metadata\":{\"name\":\"big\",\"namespace\":\"ns\",\"annotations\":{\"a\":\"%s\"}},"
             "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
             value);
    server_create(APISERVER_PODS, pod);
    struct http_reply plain = http_call(server, "GET", "/api/v1/pods", NULL);
    assert_int_equal(fetch("/api/v1/pods", &coded), plain.body.n);
    assert_true(coded);
    assert_true(plain.body.n > sizeof(value));
    http_reply_fini(&plain);
}

static void control_path__rules__act_and_count(void **state)
{
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

static void fault__swallow__event_never_sent_and_the_next_one_is(void **state)
{
    char path[128];
    server_pod("a", NULL, NULL);
    snprintf(path, sizeof(path), "/api/v1/pods?watch=true&resourceVersion=%llu",
             (unsigned long long)apiserver_rv(server));
    http_expect(server, "POST", "/_faults",
                "{\"rules\":[{\"action\":\"swallow\",\"event\":\"ADDED\",\"path\":\"*/ns/pods/b*\"},"
                "{\"action\":\"swallow\",\"event\":\"DELETED\",\"times\":-1}]}",
                200);
    struct watcher *w = watcher_open(server, path);
    server_pod("b1", NULL, NULL); /* swallowed */
    server_pod("c", NULL, NULL);
    watcher_expect(w, "ADDED", "c");
    http_expect(server, "DELETE", "/api/v1/namespaces/ns/pods/c", NULL, 200); /* swallowed */
    server_pod("b2", NULL, NULL);
    watcher_expect(w, "ADDED", "b2");
    watcher_close(w);
    http_expect(server, "GET", "/api/v1/namespaces/ns/pods/b1", NULL, 200);
    struct http_reply r = http_call(server, "GET", "/_faults", NULL);
    const cJSON *rules = cJSON_GetObjectItem(r.doc, "rules");
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(rules, 0), "hits")->valueint, 1);
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(rules, 1), "hits")->valueint, 1);
    http_reply_fini(&r);
}

static void control_path__bad_commands__400_and_nothing_added(void **state)
{
    static const char *const bodies[] = {
        "",
        "{",
        "{\"unknown\":1}",
        "{\"rules\":[{\"action\":\"explode\"}]}",
        "{\"rules\":[{\"action\":\"fail\",\"status\":200}]}",
        "{\"rules\":[{\"action\":\"commit-late\",\"status\":200}]}",
        "{\"rules\":[{\"delayMs\":-1}]}",
        "{\"rules\":[{\"color\":\"red\"}]}",
        "{\"rules\":[{\"times\":\"1\"}]}",
        "{\"rules\":[{\"then\":\"explode\"}]}",
        "{\"rules\":[{\"splitBytes\":-1}]}",
        "{\"watchList\":\"maybe\"}",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        http_expect(server, "POST", "/_faults", bodies[i], 400);
    }
    struct http_reply r = http_call(server, "GET", "/_faults", NULL);
    assert_string_equal(r.body.p, "{\"delayed\":0,\"held\":0,\"landed\":0,\"rules\":[]}");
    http_reply_fini(&r);
}

static void fault__delayed_while_the_server_stops__no_harm(void **state)
{
    server_start_with(NULL);
    add((struct fault_rule){.path = "/api/v1/pods", .times = -1, .action = FAULT_PASS, .delay_ms = 60000});
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
        TEST(fault__of_a_binding__done_or_not_whatever_the_client_sees),
        TEST(fault__delay__others_overtake),
        TEST(fault__skip__lets_the_first_pass),
        TEST(fault__for_ever__until_cleared),
        TEST(fault__query__tells_watch_and_list_apart),
        TEST(flow__split_at_every_byte__the_same_events),
        TEST(flow__injected_line__comes_first_and_the_watch_goes_on),
        TEST(flow__end_within_a_line__complete_for_http),
        TEST(flow__cut__seen_by_the_client_in_lists_too),
        TEST(flow__stall__connection_stays_and_says_no_more),
        TEST(watch_list__ignored__everything_and_no_end),
        TEST(gzip__offered__large_bodies_only),
        TEST(control_path__rules__act_and_count),
        TEST(control_path__drop_and_compact__act),
        TEST(fault__swallow__event_never_sent_and_the_next_one_is),
        TEST(control_path__bad_commands__400_and_nothing_added),
        cmocka_unit_test(fault__delayed_while_the_server_stops__no_harm),
    };
    return cmocka_run_group_tests_name("demo/apiserver_fault", tests, NULL, NULL);
}
