/* Watches: contract.md 5.1, 5.2, 5.4. */
#include "demo/support/http.h"
#include "demo/support/server.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

static struct watcher *watch_from(uint64_t rv, const char *more)
{
    char path[512];
    snprintf(path, sizeof(path), "/api/v1/pods?watch=true&resourceVersion=%llu%s", (unsigned long long)rv, more);
    return watcher_open(server, path);
}

static void expect_end(struct watcher *w, int curl_code)
{
    assert_null(watcher_next(w));
    assert_int_equal(watcher_curl_code(w), curl_code);
    watcher_close(w);
}

static void watch__from_a_version__every_later_write_once_in_order(void **state)
{
    server_pod("before", NULL, NULL);
    uint64_t rv = apiserver_rv(server);
    server_pod("a", NULL, NULL);
    struct watcher *w = watch_from(rv, "");
    unsigned long last = watcher_expect(w, "ADDED", "a");
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        server_pod(name, NULL, NULL);
    }
    server_create(APISERVER_NODES, "{\"metadata\":{\"name\":\"n1\"}}"); /* not of this watch */
    assert_int_equal(
        apiserver_patch(server, APISERVER_PODS, "ns", "a", "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}", NULL), 0);
    server_delete("before");
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        unsigned long now = watcher_expect(w, "ADDED", name);
        assert_true(now > last);
        last = now;
    }
    unsigned long modified = watcher_expect(w, "MODIFIED", "a");
    unsigned long deleted = watcher_expect(w, "DELETED", "before");
    assert_true(last < modified && modified < deleted);
    assert_int_equal(deleted, apiserver_rv(server));
    watcher_close(w);
}

static void watch__without_version__everything_as_added_then_live(void **state)
{
    server_pod("a", NULL, NULL);
    server_pod("b", NULL, NULL);
    struct watcher *w = watcher_open(server, "/api/v1/namespaces/ns/pods?watch=1");
    watcher_expect(w, "ADDED", "a");
    watcher_expect(w, "ADDED", "b");
    server_delete("a");
    watcher_expect(w, "DELETED", "a");
    watcher_close(w);
}

/* Leaving a selector is DELETED with the previous content and the new resourceVersion; entering is
 * ADDED; an object outside it is never mentioned. */
static void watch__selector__objects_enter_and_leave(void **state)
{
    server_pod("p", "n1", NULL);
    assert_int_equal(apiserver_patch(server, APISERVER_PODS, "ns", "p", "{\"status\":{\"phase\":\"Running\"}}", NULL),
                     0);
    struct watcher *w = watch_from(apiserver_rv(server), "&fieldSelector=status.phase!=Succeeded,status.phase!=Failed");
    assert_int_equal(apiserver_patch(server, APISERVER_PODS, "ns", "p",
                                     "{\"status\":{\"phase\":\"Succeeded\"},\"metadata\":{\"labels\":{\"l\":\"new\"}}}",
                                     NULL),
                     0);
    cJSON *e = watcher_next(w);
    char rv[24];
    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)apiserver_rv(server));
    assert_string_equal(json_text(e, "type"), "DELETED");
    assert_string_equal(json_text(e, "object.status.phase"), "Running");
    assert_string_equal(json_text(e, "object.metadata.labels.l"), "");
    assert_string_equal(json_text(e, "object.metadata.resourceVersion"), rv);
    cJSON_Delete(e);

    server_delete("p"); /* outside already */
    server_create(APISERVER_PODS, "{\"metadata\":{\"name\":\"q\",\"namespace\":\"ns\"},\"spec\":{\"containers\":[{"
                                  "\"name\":\"m\"}]},\"status\":{\"phase\":\"Failed\"}}");
    assert_int_equal(apiserver_patch(server, APISERVER_PODS, "ns", "q", "{\"status\":{\"phase\":\"Pending\"}}", NULL),
                     0);
    watcher_expect(w, "ADDED", "q");
    watcher_close(w);
}

static void watch__compacted_version__error_410_inside_200(void **state)
{
    server_pod("a", NULL, NULL);
    uint64_t rv = apiserver_rv(server);
    server_pod("b", NULL, NULL);
    apiserver_compact(server);
    struct watcher *w = watch_from(rv, "");
    cJSON *e = watcher_next(w);
    assert_string_equal(json_text(e, "type"), "ERROR");
    assert_string_equal(json_text(e, "object.kind"), "Status");
    assert_string_equal(json_text(e, "object.reason"), "Expired");
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(e, "object"), "code")->valueint, 410);
    cJSON_Delete(e);
    expect_end(w, CURLE_OK);
    w = watch_from(apiserver_rv(server), ""); /* the newest version is never too old */
    server_pod("c", NULL, NULL);
    watcher_expect(w, "ADDED", "c");
    watcher_close(w);
}

static void watch__history_overrun__error_410(void **state)
{
    server_start_with(&(struct apiserver_options){.history_max = 4});
    uint64_t rv = apiserver_rv(server);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        server_pod(name, NULL, NULL);
    }
    struct watcher *w = watch_from(rv, "");
    cJSON *e = watcher_next(w);
    assert_string_equal(json_text(e, "type"), "ERROR");
    cJSON_Delete(e);
    expect_end(w, CURLE_OK);
    w = watch_from(rv + 1, "");
    watcher_expect(w, "ADDED", "p1");
    watcher_close(w);
    server_stop(NULL);
}

static void watch__bookmarks__carry_the_newest_version(void **state)
{
    server_start_with(&(struct apiserver_options){.bookmark_interval_ms = 30});
    server_create(APISERVER_NODES, "{\"metadata\":{\"name\":\"n1\"}}");
    struct watcher *w = watch_from(apiserver_rv(server), "&allowWatchBookmarks=true&timeoutSeconds=600");
    cJSON *e = watcher_next(w);
    char rv[24];
    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)apiserver_rv(server));
    assert_string_equal(json_text(e, "type"), "BOOKMARK");
    assert_string_equal(json_text(e, "object.kind"), "Pod");
    assert_string_equal(json_text(e, "object.metadata.resourceVersion"), rv);
    const cJSON *spec = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "object"), "spec");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(spec, "containers")));
    cJSON_Delete(e);
    watcher_close(w);
    server_stop(NULL);
}

static void watch__timeout__bookmark_then_clean_end(void **state)
{
    struct watcher *w = watch_from(apiserver_rv(server), "&allowWatchBookmarks=true&timeoutSeconds=1");
    watcher_expect(w, "BOOKMARK", "");
    expect_end(w, CURLE_OK);
    w = watch_from(apiserver_rv(server), "&timeoutSeconds=1");
    expect_end(w, CURLE_OK);
}

static void watch__from_the_future__silent_until_the_timeout(void **state)
{
    struct watcher *w = watch_from(1000000, "&timeoutSeconds=1");
    server_pod("a", NULL, NULL);
    expect_end(w, CURLE_OK);
}

static void watch_list__end_bookmark_after_the_initial_events(void **state)
{
    server_pod("a", NULL, NULL);
    struct watcher *w = watcher_open(server, "/api/v1/pods?watch=true&sendInitialEvents=true&"
                                             "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    watcher_expect(w, "ADDED", "a");
    cJSON *e = watcher_next(w);
    assert_string_equal(json_text(e, "type"), "BOOKMARK");
    const cJSON *meta = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "object"), "metadata");
    const cJSON *end = cJSON_GetObjectItem(cJSON_GetObjectItem(meta, "annotations"), "k8s.io/initial-events-end");
    assert_string_equal(cJSON_GetStringValue(end), "true");
    cJSON_Delete(e);
    watcher_close(w);
    http_expect(server, "GET", "/api/v1/pods?watch=true&sendInitialEvents=true", NULL, 422);
}

/* As the real server: nothing, and no bookmark that would say how old the present is. */
static void watch__from_the_future__silence_to_the_end(void **state)
{
    server_start_with(&(struct apiserver_options){.bookmark_interval_ms = 20});
    server_pod("a", NULL, NULL);
    struct watcher *w = watcher_open(server, "/api/v1/pods?watch=true&allowWatchBookmarks=true"
                                             "&timeoutSeconds=1&resourceVersion=1000");
    server_pod("b", NULL, NULL);
    assert_null(watcher_next(w));
    assert_int_equal(watcher_curl_code(w), 0);
    watcher_close(w);
    server_stop(NULL);
}

static void watch_list__switched_off__422(void **state)
{
    server_start_with(&(struct apiserver_options){.watch_list = APISERVER_WATCH_LIST_REFUSED});
    http_expect(server, "GET", "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", NULL,
                422);
    server_stop(NULL);
}

static void watch__dropped__the_transfer_fails_and_the_server_goes_on(void **state)
{
    struct watcher *w = watch_from(apiserver_rv(server), "");
    server_pod("a", NULL, NULL);
    watcher_expect(w, "ADDED", "a");
    apiserver_drop_watches(server);
    assert_null(watcher_next(w));
    assert_int_not_equal(watcher_curl_code(w), CURLE_OK);
    watcher_close(w);
    http_expect(server, "GET", "/api/v1/pods", NULL, 200);
}

static void watch__large_object__one_line(void **state)
{
    char *annotations = malloc(210000), *json = malloc(220000);
    memset(annotations, 'x', 200000);
    annotations[200000] = '\0';
    snprintf(json, 220000,
             "{\"metadata\":{\"name\":\"big\",\"namespace\":\"ns\",\"annotations\":{\"a\":\"%s\"}},"
             "\"spec\":{\"containers\":[{\"name\":\"m\"}]}}",
             annotations);
    struct watcher *w = watch_from(apiserver_rv(server), "");
    server_create(APISERVER_PODS, json);
    cJSON *e = watcher_next(w);
    assert_string_equal(json_text(e, "object.metadata.annotations.a"), annotations);
    cJSON_Delete(e);
    watcher_close(w);
    free(json);
    free(annotations);
}

static void server__freed_with_watches_open__ends_them(void **state)
{
    server_start_with(NULL);
    struct watcher *a = watch_from(apiserver_rv(server), ""), *b = watch_from(apiserver_rv(server), "");
    struct apiserver_stats stats;
    apiserver_stats(server, &stats);
    assert_int_equal(stats.watches, 2);
    server_stop(NULL);
    assert_null(watcher_next(a));
    assert_null(watcher_next(b));
    watcher_close(a);
    watcher_close(b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, server_start, server_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(watch__from_a_version__every_later_write_once_in_order),
        TEST(watch__without_version__everything_as_added_then_live),
        TEST(watch__selector__objects_enter_and_leave),
        TEST(watch__compacted_version__error_410_inside_200),
        cmocka_unit_test(watch__history_overrun__error_410),
        cmocka_unit_test(watch__bookmarks__carry_the_newest_version),
        TEST(watch__timeout__bookmark_then_clean_end),
        TEST(watch__from_the_future__silent_until_the_timeout),
        TEST(watch_list__end_bookmark_after_the_initial_events),
        cmocka_unit_test(watch__from_the_future__silence_to_the_end),
        cmocka_unit_test(watch_list__switched_off__422),
        TEST(watch__dropped__the_transfer_fails_and_the_server_goes_on),
        TEST(watch__large_object__one_line),
        cmocka_unit_test(server__freed_with_watches_open__ends_them),
    };
    return cmocka_run_group_tests_name("demo/apiserver_watch", tests, NULL, NULL);
}
