/* GET of lists and single objects: contract.md 5.1, 5.2. */
#include "demo/support/http.h"
#include "demo/support/server.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int item_n(const struct http_reply *r)
{
    return cJSON_GetArraySize(cJSON_GetObjectItem(r->doc, "items"));
}

static const char *item_name(const struct http_reply *r, int i)
{
    return json_text(cJSON_GetArrayItem(cJSON_GetObjectItem(r->doc, "items"), i), "metadata.name");
}

static void list__empty__has_head_and_no_items(void **state)
{
    struct http_reply r = http_call(server, "GET", "/api/v1/pods", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body.p, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{"
                                  "\"resourceVersion\":\"1\"},\"items\":[]}");
    http_reply_fini(&r);
}

/* Seven pods in pages of three, while pods come and go between the pages: the snapshot is what was
 * there at first, every page carries its resourceVersion, and nothing is missing or doubled. */
static void list__in_pages_while_writing__one_snapshot(void **state)
{
    char name[16], path[256], rv[24] = "", token[64] = "";
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        server_pod(name, NULL, NULL);
    }
    int seen = 0, pages = 0;
    do {
        snprintf(path, sizeof(path), "/api/v1/pods?limit=3&continue=%s", token);
        struct http_reply r = http_call(server, "GET", path, NULL);
        assert_int_equal(r.status, 200);
        for (int i = 0; i < item_n(&r); i++, seen++) {
            snprintf(name, sizeof(name), "p%d", seen);
            assert_string_equal(item_name(&r, i), name);
        }
        if (pages == 0) {
            snprintf(rv, sizeof(rv), "%s", json_text(r.doc, "metadata.resourceVersion"));
            const cJSON *meta = cJSON_GetObjectItem(r.doc, "metadata");
            assert_int_equal(cJSON_GetObjectItem(meta, "remainingItemCount")->valueint, 4);
        }
        assert_string_equal(json_text(r.doc, "metadata.resourceVersion"), rv);
        snprintf(token, sizeof(token), "%s", json_text(r.doc, "metadata.continue"));
        http_reply_fini(&r);
        pages++;
        snprintf(name, sizeof(name), "a%d", pages);
        server_pod(name, NULL, NULL);
        snprintf(name, sizeof(name), "p%d", 7 - pages);
        server_delete(name);
    } while (token[0]);
    assert_int_equal(pages, 3);
    assert_int_equal(seen, 7);
}

static void list__limit_equal_to_the_number__promises_no_empty_page(void **state)
{
    server_pod("a", NULL, NULL);
    server_pod("b", NULL, NULL);
    struct http_reply r = http_call(server, "GET", "/api/v1/pods?limit=2", NULL);
    assert_int_equal(item_n(&r), 2);
    assert_string_equal(json_text(r.doc, "metadata.continue"), "");
    http_reply_fini(&r);
}

static void list__resource_version_zero__ignores_the_limit(void **state)
{
    server_pod("a", NULL, NULL);
    server_pod("b", NULL, NULL);
    struct http_reply r = http_call(server, "GET", "/api/v1/pods?limit=1&resourceVersion=0", NULL);
    assert_int_equal(item_n(&r), 2);
    http_reply_fini(&r);
}

static void list__continue_after_compaction__410_expired(void **state)
{
    char path[128];
    server_pod("a", NULL, NULL);
    server_pod("b", NULL, NULL);
    struct http_reply r = http_call(server, "GET", "/api/v1/pods?limit=1", NULL);
    snprintf(path, sizeof(path), "/api/v1/pods?limit=1&continue=%s", json_text(r.doc, "metadata.continue"));
    http_reply_fini(&r);
    apiserver_compact(server);
    r = http_call(server, "GET", path, NULL);
    assert_int_equal(r.status, 410);
    assert_string_equal(json_text(r.doc, "reason"), "Expired");
    http_reply_fini(&r);
}

static void list__from_the_future__504_with_retry_after(void **state)
{
    struct http_reply r = http_call(server, "GET", "/api/v1/pods?resourceVersion=1000000", NULL);
    assert_int_equal(r.status, 504);
    assert_int_equal(r.retry_after, 1);
    assert_non_null(strstr(json_text(r.doc, "message"), "Too large resource version"));
    http_reply_fini(&r);
}

static void list__selectors__match_as_the_real_ones(void **state)
{
    static const struct {
        const char *query;
        const char *names; /* in the order of the keys (ns/... before ns2/...), each followed by a blank */
    } rows[] = {
        {"", "bound done pending other "},
        {"fieldSelector=status.phase!=Succeeded,status.phase!=Failed", "bound pending other "},
        {"fieldSelector=status.phase!%3DSucceeded%2Cstatus.phase!%3DFailed", "bound pending other "},
        {"fieldSelector=spec.nodeName=n1", "bound done "},
        {"fieldSelector=spec.nodeName==n1,status.phase=Running", "bound "},
        {"fieldSelector=spec.nodeName=", "pending other "},
        {"fieldSelector=metadata.name=pending", "pending "},
        {"fieldSelector=spec.schedulerName=default-scheduler", "bound done pending other "},
        {"labelSelector=app=a", "bound other "},
        {"labelSelector=app!=a", "done pending "},
        {"labelSelector=app", "bound done other "},
        {"labelSelector=!app", "pending "},
        {"labelSelector=app=a&fieldSelector=spec.nodeName=n1", "bound "},
    };
    server_create(APISERVER_PODS, "{\"metadata\":{\"name\":\"bound\",\"namespace\":\"ns\",\"labels\":{\"app\":\"a\"}},"
                                  "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"m\"}]},"
                                  "\"status\":{\"phase\":\"Running\"}}");
    server_create(APISERVER_PODS, "{\"metadata\":{\"name\":\"done\",\"namespace\":\"ns\",\"labels\":{\"app\":\"b\"}},"
                                  "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"m\"}]},"
                                  "\"status\":{\"phase\":\"Succeeded\"}}");
    server_create(APISERVER_PODS, "{\"metadata\":{\"name\":\"other\",\"namespace\":\"ns2\",\"labels\":{\"app\":\"a\"}},"
                                  "\"spec\":{\"containers\":[{\"name\":\"m\"}]}}");
    server_pod("pending", NULL, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[256], names[256] = "";
        snprintf(path, sizeof(path), "/api/v1/pods?%s", rows[i].query);
        struct http_reply r = http_call(server, "GET", path, NULL);
        assert_int_equal(r.status, 200);
        for (int k = 0; k < item_n(&r); k++) {
            strcat(strcat(names, item_name(&r, k)), " ");
        }
        if (strcmp(names, rows[i].names) != 0) {
            fail_msg("%s: %s instead of %s", rows[i].query, names, rows[i].names);
        }
        http_reply_fini(&r);
    }
    struct http_reply r = http_call(server, "GET", "/api/v1/namespaces/ns2/pods", NULL);
    assert_int_equal(item_n(&r), 1);
    http_reply_fini(&r);
}

static void list__bad_parameters__as_the_real_server(void **state)
{
    static const struct {
        const char *path;
        int status;
    } rows[] = {
        {"/api/v1/pods?resourceVersion=abc", 500},
        {"/api/v1/pods?fieldSelector=spec.containers=x", 400},
        {"/api/v1/pods?fieldSelector=nonsense", 400},
        {"/api/v1/pods?labelSelector=app%20in%20(a)", 400},
        {"/api/v1/pods?limit=x", 400},
        {"/api/v1/pods?continue=garbage", 400},
        {"/api/v1/widgets", 404},
        {"/api/v2/pods", 404},
        {"/api/v1/pods/p", 404},
        {"/api/v1/namespaces/ns/pods/p/log", 404},
        {"/api/v1/namespaces/ns/pods/p/status/x", 404},
        {"/api/v1/nodes//", 404},
        {"/", 404},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        http_expect(server, "GET", rows[i].path, NULL, rows[i].status);
    }
}

static void get__one_object__carries_kind_and_version(void **state)
{
    server_pod("p", NULL, NULL);
    struct http_reply r = http_call(server, "GET", "/api/v1/namespaces/ns/pods/p", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(json_text(r.doc, "kind"), "Pod");
    assert_string_equal(json_text(r.doc, "apiVersion"), "v1");
    assert_string_equal(json_text(r.doc, "status.phase"), "Pending");
    assert_string_not_equal(json_text(r.doc, "metadata.uid"), "");
    assert_string_not_equal(json_text(r.doc, "metadata.creationTimestamp"), "");
    http_reply_fini(&r);
    r = http_call(server, "GET", "/api/v1/namespaces/ns/pods/q", NULL);
    assert_int_equal(r.status, 404);
    assert_string_equal(json_text(r.doc, "message"), "pods \"q\" not found");
    assert_string_equal(json_text(r.doc, "reason"), "NotFound");
    http_reply_fini(&r);
}

static void fixed_paths__version_and_health__answer(void **state)
{
    struct http_reply r = http_call(server, "GET", "/readyz", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body.p, "ok");
    http_reply_fini(&r);
    r = http_call(server, "GET", "/version", NULL);
    assert_string_equal(json_text(r.doc, "major"), "1");
    http_reply_fini(&r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, server_start, server_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(list__empty__has_head_and_no_items),
        TEST(list__in_pages_while_writing__one_snapshot),
        TEST(list__limit_equal_to_the_number__promises_no_empty_page),
        TEST(list__resource_version_zero__ignores_the_limit),
        TEST(list__continue_after_compaction__410_expired),
        TEST(list__from_the_future__504_with_retry_after),
        TEST(list__selectors__match_as_the_real_ones),
        TEST(list__bad_parameters__as_the_real_server),
        TEST(get__one_object__carries_kind_and_version),
        TEST(fixed_paths__version_and_health__answer),
    };
    return cmocka_run_group_tests_name("demo/apiserver_list", tests, NULL, NULL);
}
