/* Create, update, patch, delete. */
#include "demo/support/http.h"
#include "demo/support/server.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define PODS "/api/v1/namespaces/ns/pods"
#define POD(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{\"name\":\"m\"}]}}"
#define MERGE "application/merge-patch+json"

static void pod__posted_twice__201_then_already_exists(void **state)
{
    struct http_reply r = http_call(server, "POST", PODS, POD("p"));
    assert_int_equal(r.status, 201);
    assert_string_equal(json_text(r.doc, "metadata.namespace"), "ns");
    http_reply_fini(&r);
    r = http_call(server, "POST", PODS, POD("p"));
    assert_int_equal(r.status, 409);
    assert_string_equal(json_text(r.doc, "reason"), "AlreadyExists");
    http_reply_fini(&r);
}

static void pod__posted_badly__refused_with_the_right_status(void **state)
{
    static const struct {
        const char *name, *path, *body;
        int status;
    } rows[] = {
        {"not json", PODS, "{", 400},
        {"trailing garbage", PODS, POD("p") "x", 400},
        {"empty", PODS, "", 400},
        {"an array", PODS, "[]", 400},
        {"no name", PODS, "{\"spec\":{\"containers\":[{\"name\":\"m\"}]}}", 422},
        {"bad name", PODS, POD("No_Such"), 422},
        {"no containers", PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{}}", 422},
        {"unnamed container", PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{}]}}", 422},
        {"other namespace", PODS,
         "{\"metadata\":{\"name\":\"p\",\"namespace\":\"x\"},\"spec\":{\"containers\":[{\"name\":"
         "\"m\"}]}}",
         400},
        {"annotation is a number", PODS,
         "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":1}},\"spec\":{\"containers\":[{"
         "\"name\":\"m\"}]}}",
         422},
        {"no namespace in the path", "/api/v1/pods", POD("p"), 405},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_reply r = http_call(server, "POST", rows[i].path, rows[i].body);
        if (r.status != rows[i].status) {
            fail_msg("%s: %d %s", rows[i].name, r.status, r.body.p);
        }
        http_reply_fini(&r);
    }
    assert_int_equal(apiserver_rv(server), 1);
}

/* A POST cannot set the status of a pod; the in-process call can. */
static void pod__posted_with_status__starts_pending(void **state)
{
    struct http_reply r = http_call(server, "POST", PODS,
                                    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"m\"}]},"
                                    "\"status\":{\"phase\":\"Running\"}}");
    assert_string_equal(json_text(r.doc, "status.phase"), "Pending");
    http_reply_fini(&r);
}

static void patch__merge__adds_changes_and_removes(void **state)
{
    server_pod("p", NULL, "{\"a\":\"1\",\"b\":\"2\"}");
    struct http_reply r =
        http_patch(server, PODS "/p", MERGE, "{\"metadata\":{\"annotations\":{\"a\":null,\"b\":\"3\",\"c\":\"4\"}}}");
    assert_int_equal(r.status, 200);
    assert_string_equal(json_text(r.doc, "metadata.annotations.a"), "");
    assert_string_equal(json_text(r.doc, "metadata.annotations.b"), "3");
    assert_string_equal(json_text(r.doc, "metadata.annotations.c"), "4");
    http_reply_fini(&r);
    uint64_t rv = apiserver_rv(server);
    r = http_patch(server, PODS "/p", MERGE, "{\"metadata\":{\"annotations\":{\"c\":\"4\"}}}");
    assert_int_equal(r.status, 200);
    http_reply_fini(&r);
    assert_int_equal(apiserver_rv(server), rv); /* nothing changed, nothing written */
}

static void patch__two_halves__each_path_writes_its_own(void **state)
{
    server_pod("p", NULL, NULL);
    struct http_reply r = http_patch(server, PODS "/p", MERGE,
                                     "{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"status\":{\"phase\":\"Failed\"}}");
    assert_string_equal(json_text(r.doc, "status.phase"), "Pending");
    assert_string_equal(json_text(r.doc, "metadata.labels.l"), "1");
    http_reply_fini(&r);
    r = http_patch(server, PODS "/p/status", MERGE,
                   "{\"spec\":{\"schedulerName\":\"x\"},\"status\":{\"phase\":\"Failed\"}}");
    assert_string_equal(json_text(r.doc, "status.phase"), "Failed");
    assert_string_equal(json_text(r.doc, "spec.schedulerName"), "default-scheduler");
    http_reply_fini(&r);
}

static void update__refusals__leave_the_object_alone(void **state)
{
    server_pod("p", NULL, NULL);
    uint64_t rv = apiserver_rv(server);
    static const struct {
        const char *name, *path, *type, *body;
        int status;
    } rows[] = {
        {"absent", PODS "/q", MERGE, "{}", 404},
        {"json patch", PODS "/p", "application/json-patch+json", "[]", 415},
        {"stale", PODS "/p", MERGE, "{\"metadata\":{\"resourceVersion\":\"1\",\"labels\":{\"l\":\"1\"}}}", 409},
        {"renamed", PODS "/p", MERGE, "{\"metadata\":{\"name\":\"q\"}}", 400},
        {"bound by patch", PODS "/p", MERGE, "{\"spec\":{\"nodeName\":\"n1\"}}", 422},
        {"containers gone", PODS "/p", MERGE, "{\"spec\":{\"containers\":null}}", 422},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_reply r = http_patch(server, rows[i].path, rows[i].type, rows[i].body);
        if (r.status != rows[i].status) {
            fail_msg("%s: %d %s", rows[i].name, r.status, r.body.p);
        }
        http_reply_fini(&r);
    }
    assert_int_equal(apiserver_rv(server), rv);
}

static void put__whole_object__keeps_uid(void **state)
{
    server_pod("p", NULL, NULL);
    struct http_reply r = http_call(server, "GET", PODS "/p", NULL);
    char uid[64];
    snprintf(uid, sizeof(uid), "%s", json_text(r.doc, "metadata.uid"));
    http_reply_fini(&r);
    r = http_call(server, "PUT", PODS "/p", POD("p"));
    assert_int_equal(r.status, 200);
    assert_string_equal(json_text(r.doc, "metadata.uid"), uid);
    assert_string_equal(json_text(r.doc, "kind"), "Pod");
    http_reply_fini(&r);
}

static void delete__pending_or_without_grace__gone_at_once(void **state)
{
    server_pod("pending", NULL, NULL);
    http_expect(server, "DELETE", PODS "/pending", NULL, 200);
    http_expect(server, "GET", PODS "/pending", NULL, 404);
    server_pod("bound", "n1", NULL);
    http_expect(server, "DELETE", PODS "/bound", "{\"gracePeriodSeconds\":0}", 200);
    http_expect(server, "GET", PODS "/bound", NULL, 404);
    http_expect(server, "DELETE", PODS "/bound", NULL, 404);
}

static void delete__bound_with_grace__terminating_until_forced(void **state)
{
    server_pod("p", "n1", NULL);
    http_expect(server, "DELETE", PODS "/p?gracePeriodSeconds=30", NULL, 200);
    struct http_reply r = http_call(server, "GET", PODS "/p", NULL);
    assert_string_not_equal(json_text(r.doc, "metadata.deletionTimestamp"), "");
    http_reply_fini(&r);
    http_expect(server, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL, 200);
    http_expect(server, "GET", PODS "/p", NULL, 404);
}

static void delete__preconditions__guard(void **state)
{
    server_pod("p", NULL, NULL);
    http_expect(server, "DELETE", PODS "/p", "{\"preconditions\":{\"uid\":\"other\"}}", 409);
    http_expect(server, "DELETE", PODS "/p", "{\"preconditions\":{\"resourceVersion\":\"1000000\"}}", 409);
    struct http_reply r = http_call(server, "GET", PODS "/p", NULL);
    char body[200];
    snprintf(body, sizeof(body), "{\"preconditions\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}",
             json_text(r.doc, "metadata.uid"), json_text(r.doc, "metadata.resourceVersion"));
    http_reply_fini(&r);
    http_expect(server, "DELETE", PODS "/p", body, 200);
    http_expect(server, "GET", PODS "/p", NULL, 404);
}

#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"
#define EVENT(first)                                                                                                   \
    "{" first "\"metadata\":{\"name\":\"e\"},\"eventTime\":\"2026-11-20T08:38:00.463585Z\","                           \
    "\"reportingController\":\"example.com/c\",\"reportingInstance\":\"i\",\"action\":\"Act\","                        \
    "\"reason\":\"Because\",\"type\":\"Normal\",\"note\":\"n\","                                                       \
    "\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"p\"}}"
#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A256 A64 A64 A64 A64
#define A1024 A256 A256 A256 A256

static void events__posted_and_patched__accepted(void **state)
{
    http_expect(server, "POST", EVENTS, EVENT(""), 201);
    http_expect(server, "POST", EVENTS, EVENT(""), 409);
    struct http_reply r = http_patch(server, EVENTS "/e", MERGE,
                                     "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-11-20T08:38:01.000000Z\"}}");
    assert_int_equal(r.status, 200);
    assert_string_equal(json_text(r.doc, "apiVersion"), "events.k8s.io/v1");
    http_reply_fini(&r);
    r = http_call(server, "GET", "/apis/events.k8s.io/v1/events", NULL);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(r.doc, "items")), 1);
    http_reply_fini(&r);
}

/* One field of a good Event is replaced (the first of two equal keys counts here). */
static void events__against_the_rules__refused(void **state)
{
    static const struct {
        const char *change;
        int status;
    } rows[] = {
        {"\"reason\":\"\"", 422},
        {"\"reason\":\"" A64 A64 "a\"", 422},
        {"\"reason\":\"" A64 A64 "\"", 201},
        {"\"action\":\"\"", 422},
        {"\"reportingInstance\":\"\"", 422},
        {"\"reportingController\":\"a b\"", 422},
        {"\"type\":\"Error\"", 422},
        {"\"eventTime\":null", 422},
        {"\"eventTime\":\"2026-11-20T08:38:00Z\"", 400},
        {"\"eventTime\":\"2026-11-20T08:38:00.123Z\"", 400},
        {"\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"other\",\"name\":\"p\"}", 422},
        {"\"regarding\":{\"kind\":\"Node\",\"name\":\"n\"}", 422}, /* in neither of its two namespaces */
        {"\"series\":{\"count\":1,\"lastObservedTime\":\"2026-11-20T08:38:00.000000Z\"}", 422},
        {"\"series\":{\"count\":2}", 422},
        {"\"deprecatedCount\":1", 422},
        {"\"metadata\":{\"name\":\"p.\"}", 422},
        {"\"note\":\"" A1024 "\"", 201},
        {"\"note\":\"" A1024 "a\"", 422},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[4096];
        snprintf(body, sizeof(body), EVENT("%s,"), rows[i].change);
        struct http_reply r = http_call(server, "POST", EVENTS, body);
        if (r.status != rows[i].status) {
            fail_msg("%s: %d, not %d", rows[i].change, r.status, rows[i].status);
        }
        http_reply_fini(&r);
        if (rows[i].status == 201) {
            http_expect(server, "DELETE", EVENTS "/e", NULL, 200);
        }
    }
    http_expect(server, "POST", EVENTS, EVENT(""), 201);
    struct http_reply r = http_patch(server, EVENTS "/e", MERGE, "{\"note\":\"another\"}");
    assert_int_equal(r.status, 422);
    http_reply_fini(&r);
}

static void uids__same_seed__same_uids(void **state)
{
    char uids[2][64];
    for (int i = 0; i < 2; i++) {
        server_start_with(&(struct apiserver_options){.seed = 7});
        struct http_reply r = http_call(server, "POST", PODS, POD("p"));
        snprintf(uids[i], sizeof(uids[i]), "%s", json_text(r.doc, "metadata.uid"));
        assert_int_equal(strlen(uids[i]), 36);
        http_reply_fini(&r);
        server_stop(NULL);
    }
    assert_string_equal(uids[0], uids[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, server_start, server_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pod__posted_twice__201_then_already_exists),
        TEST(pod__posted_badly__refused_with_the_right_status),
        TEST(pod__posted_with_status__starts_pending),
        TEST(patch__merge__adds_changes_and_removes),
        TEST(patch__two_halves__each_path_writes_its_own),
        TEST(update__refusals__leave_the_object_alone),
        TEST(put__whole_object__keeps_uid),
        TEST(delete__pending_or_without_grace__gone_at_once),
        TEST(delete__bound_with_grace__terminating_until_forced),
        TEST(delete__preconditions__guard),
        TEST(events__posted_and_patched__accepted),
        TEST(events__against_the_rules__refused),
        cmocka_unit_test(uids__same_seed__same_uids),
    };
    return cmocka_run_group_tests_name("demo/apiserver_write", tests, NULL, NULL);
}
