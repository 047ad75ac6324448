/* Every row of contract.md 4.2 that does not need authentication, over a real socket. */
#include "demo/apiserver/apiserver.h"
#include "demo/support/http.h"
#include "demo/support/server.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC "\"spec\":{\"containers\":[{\"name\":\"main\"}]}"
#define PODS "/api/v1/namespaces/ns/pods"

static void create(const char *json)
{
    server_create(APISERVER_PODS, json);
}

struct row {
    const char *name;
    const char *pod; /* NULL: none */
    const char *binding;
    int status;
    const char *reason;
    const char *message; /* contained */
};

static const struct row rows[] = {
    {"bound", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"}," SPEC "}",
     "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\",\"namespace\":"
     "\"ns\",\"uid\":\"u\"},"
     "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}",
     201, "", ""},
    {"bound_without_type_meta_and_to_a_node_nobody_knows",
     "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"nowhere\"}}", 201, "", ""},
    {"already_bound_even_to_the_same_node",
     "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{\"nodeName\":\"n1\","
     "\"containers\":["
     "{\"name\":\"main\"}]}}",
     "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}", 409, "Conflict",
     "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node "
     "\"n1\""},
    {"being_deleted",
     "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"deletionTimestamp\":\"2026-11-20T08:00:"
     "00Z\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}", 409, "Conflict",
     "is being deleted, cannot be assigned to a host"},
    {"gated",
     "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{\"schedulingGates\":[{\"name\":"
     "\"g\"}],"
     "\"containers\":[{\"name\":\"main\"}]}}",
     "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}", 409, "Conflict",
     "has non-empty .spec.schedulingGates"},
    {"other_uid", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"p\",\"uid\":\"other\"},\"target\":{\"kind\":\"Node\",\"name\":"
     "\"n1\"}}",
     409, "Conflict", "Precondition failed: UID in precondition: other, UID in object meta: u"},
    {"other_resource_version", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"1\"},\"target\":{\"kind\":\"Node\","
     "\"name\":\"n1\"}}",
     409, "Conflict", "Operation cannot be fulfilled on pods \"p\""},
    {"absent", NULL, "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}", 404, "NotFound",
     "pods \"p\" not found"},
    {"name_differs_from_url", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"q\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}", 400, "BadRequest",
     "name in URL"},
    {"namespace_differs_from_url", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"p\",\"namespace\":\"x\"},\"target\":{\"kind\":\"Node\",\"name\":"
     "\"n1\"}}",
     400, "BadRequest", "namespace"},
    {"no_target_name", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\"}}", 500, "", "target.name: Required value"},
    {"target_is_not_a_node", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}",
     "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Rack\",\"name\":\"n1\"}}", 500, "", "target.kind"},
    {"not_json", "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}", "{\"metadata\":", 400, "BadRequest",
     ""},
};

static void binding__every_row__status_reason_and_message(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        if (row->pod) {
            create(row->pod);
        }
        struct http_reply r = http_call(server, "POST", PODS "/p/binding", row->binding);
        if (r.status != row->status || strcmp(json_text(r.doc, "reason"), row->reason) != 0 ||
            !strstr(json_text(r.doc, "message"), row->message)) {
            fail_msg("%s: %d %s", row->name, r.status, r.body.p);
        }
        assert_string_equal(json_text(r.doc, "kind"), "Status");
        assert_string_equal(json_text(r.doc, "status"), row->status < 300 ? "Success" : "Failure");
        assert_true(r.json_type);
        http_reply_fini(&r);
        if (row->pod) {
            assert_int_equal(apiserver_delete(server, APISERVER_PODS, "ns", "p", 0, NULL), 0);
        }
    }
}

static void binding__with_annotations__one_event_has_everything(void **state)
{
    create("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"annotations\":{\"keep\":\"1\","
           "\"a\":\"old\"}}," SPEC "}");
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/pods?watch=true&resourceVersion=%llu",
             (unsigned long long)apiserver_rv(server));
    struct watcher *w = watcher_open(server, path);
    http_expect(server, "POST", PODS "/p/binding",
                "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":\"new\",\"b\":\"2\"}},"
                "\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}",
                201);
    cJSON *e = watcher_next(w);
    assert_string_equal(json_text(e, "type"), "MODIFIED");
    assert_string_equal(json_text(e, "object.kind"), "Pod");
    assert_string_equal(json_text(e, "object.spec.nodeName"), "n1");
    assert_string_equal(json_text(e, "object.metadata.annotations.keep"), "1");
    assert_string_equal(json_text(e, "object.metadata.annotations.a"), "new");
    assert_string_equal(json_text(e, "object.metadata.annotations.b"), "2");
    const cJSON *status = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "object"), "status");
    const cJSON *condition = cJSON_GetArrayItem(cJSON_GetObjectItem(status, "conditions"), 0);
    assert_string_equal(json_text(condition, "type"), "PodScheduled");
    assert_string_equal(json_text(condition, "status"), "True");
    cJSON_Delete(e);
    watcher_close(w);
    struct apiserver_stats stats;
    apiserver_stats(server, &stats);
    assert_int_equal(stats.binds, 1);
}

static void binding__dry_run__nothing_changes(void **state)
{
    create("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}");
    uint64_t rv = apiserver_rv(server);
    http_expect(server, "POST", PODS "/p/binding?dryRun=All",
                "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}", 201);
    assert_int_equal(apiserver_rv(server), rv);
}

/* Annotations are not checked at binding; the pod can never be updated again (contract R27). */
static void binding__poisonous_annotation__later_updates_fail(void **state)
{
    create("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}," SPEC "}");
    http_expect(server, "POST", PODS "/p/binding",
                "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"not a key!\":\"x\"}},"
                "\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}",
                201);
    struct http_reply r =
        http_patch(server, PODS "/p/status", "application/merge-patch+json", "{\"status\":{\"phase\":\"Running\"}}");
    assert_int_equal(r.status, 422);
    assert_string_equal(json_text(r.doc, "reason"), "Invalid");
    http_reply_fini(&r);
}

/* ---- transactions that land late ---- */

#define BINDING                                                                                                        \
    "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"resourceVersion\":\"%llu\"},"                                       \
    "\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"

/* A pod, and a Binding of it that carries its resourceVersion and is held. */
static void hold_a_binding(int status)
{
    struct fault_rule rule = {
        .times = 1, .action = FAULT_COMMIT_LATE, .status = status, .retry_after_s = -1, .path = "*/binding"};
    char body[256];
    create("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"}," SPEC "}");
    assert_int_equal(apiserver_fault_add(server, &rule, NULL), 0);
    snprintf(body, sizeof(body), BINDING, (unsigned long long)apiserver_rv(server));
    http_expect(server, "POST", PODS "/p/binding", body, status);
    assert_int_equal(apiserver_held(server), 1);
}

static void expect_node(const char *node)
{
    struct http_reply r = http_call(server, "GET", PODS "/p", NULL);
    assert_string_equal(json_text(r.doc, "spec.nodeName"), node);
    http_reply_fini(&r);
}

static void commit_late__whatever_was_answered__lands_when_told(void **state)
{
    static const int statuses[] = {0, 409, 500, 503, 504};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        server_start(NULL);
        hold_a_binding(statuses[i]);
        expect_node("");
        http_expect(server, "POST", "/_faults", "{\"commit\":true}", 200);
        expect_node("n1");
        assert_int_equal(apiserver_held(server), 0);
        server_stop(NULL);
    }
}

/* The transaction replaces the revision that was checked and no other. */
static void commit_late__pod_changed_meanwhile__is_lost(void **state)
{
    hold_a_binding(409);
    assert_int_equal(
        apiserver_patch(server, APISERVER_PODS, "ns", "p", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL), 0);
    assert_int_equal(apiserver_commit(server), 0);
    assert_int_equal(apiserver_held(server), 0);
    expect_node("");
}

static void commit_late__server_before_1_23__lands_on_the_changed_pod(void **state)
{
    http_expect(server, "POST", "/_faults", "{\"minor\":22}", 200);
    hold_a_binding(500);
    assert_int_equal(
        apiserver_patch(server, APISERVER_PODS, "ns", "p", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL), 0);
    assert_int_equal(apiserver_commit(server), 1);
    expect_node("n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(binding__every_row__status_reason_and_message, server_start, server_stop),
        cmocka_unit_test_setup_teardown(binding__with_annotations__one_event_has_everything, server_start, server_stop),
        cmocka_unit_test_setup_teardown(binding__dry_run__nothing_changes, server_start, server_stop),
        cmocka_unit_test_setup_teardown(binding__poisonous_annotation__later_updates_fail, server_start, server_stop),
        cmocka_unit_test(commit_late__whatever_was_answered__lands_when_told),
        cmocka_unit_test_setup_teardown(commit_late__pod_changed_meanwhile__is_lost, server_start, server_stop),
        cmocka_unit_test_setup_teardown(commit_late__server_before_1_23__lands_on_the_changed_pod, server_start,
                                        server_stop),
    };
    return cmocka_run_group_tests_name("demo/apiserver_bind", tests, NULL, NULL);
}
