/* Nominations: the request, and what an answer means. */
#include "kube/nomination.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#define POD .namespace_ = STR("team-a"), .pod_name = STR("train.0"), .pod_uid = STR("u-1"), .pod_version = 41

static int ask(const struct nomination *n, size_t room, const char *want_path, const char *want_body)
{
    struct strbuf path, body;
    struct err err;
    int rc;

    strbuf_init(&path, 1024);
    strbuf_init(&body, room);
    rc = kube_nomination_request(n, &path, &body, &err);
    if (rc == 0) {
        assert_string_equal(path.p, want_path);
        assert_string_equal(body.p, want_body);
    }
    strbuf_fini(&path);
    strbuf_fini(&body);
    return rc;
}

static void request__to_a_node_and_back__exact(void **state)
{
    const char path[] = "/api/v1/namespaces/team-a/pods/train.0/status?fieldManager=fgpu-planner";

    assert_int_equal(ask(&(struct nomination){POD, .node_name = STR("gpu-1.example")}, 1024, path,
                         "{\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"41\"},"
                         "\"status\":{\"nominatedNodeName\":\"gpu-1.example\"}}"),
                     0);
    assert_int_equal(ask(&(struct nomination){POD}, 1024, path,
                         "{\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"41\"},"
                         "\"status\":{\"nominatedNodeName\":null}}"),
                     0);
}

static void request__without_what_it_needs__refused(void **state)
{
    struct nomination n = {POD, .node_name = STR("gpu-1")};

    assert_int_equal(ask(&n, 40, "", ""), -ERR_LIMIT);
    n.pod_version = 0;
    assert_int_equal(ask(&n, 1024, "", ""), -ERR_INVALID);
    n = (struct nomination){POD, .node_name = STR("a/../b")};
    assert_int_equal(ask(&n, 1024, "", ""), -ERR_INVALID);
    n = (struct nomination){POD};
    n.pod_uid = STR_NULL;
    assert_int_equal(ask(&n, 1024, "", ""), -ERR_INVALID);
    n = (struct nomination){POD};
    n.pod_name = STR("../nodes");
    assert_int_equal(ask(&n, 1024, "", ""), -ERR_INVALID);
}

static void classify__tables__what_to_do(void **state)
{
    const struct {
        enum kube_outcome_kind kind;
        int status;
        int64_t retry_after_ms;
        enum nomination_reply want;
        int64_t want_ms;
        bool sent_again;
    } rows[] = {
        {KUBE_ANSWERED, 200, KUBE_NO_RETRY_AFTER, NOMINATION_DONE, 0},
        {KUBE_ANSWERED, 409, KUBE_NO_RETRY_AFTER, NOMINATION_CHANGED, 0},
        {KUBE_ANSWERED, 409, KUBE_NO_RETRY_AFTER, NOMINATION_FAILED, 0, true},
        {KUBE_ANSWERED, 404, KUBE_NO_RETRY_AFTER, NOMINATION_GONE, 0},
        {KUBE_ANSWERED, 403, KUBE_NO_RETRY_AFTER, NOMINATION_FORBIDDEN, 0},
        {KUBE_ANSWERED, 422, KUBE_NO_RETRY_AFTER, NOMINATION_REFUSED, 0},
        {KUBE_ANSWERED, 400, KUBE_NO_RETRY_AFTER, NOMINATION_REFUSED, 0},
        {KUBE_ANSWERED, 429, 3000, NOMINATION_FAILED, 3000},
        {KUBE_ANSWERED, 500, KUBE_NO_RETRY_AFTER, NOMINATION_FAILED, 0},
        {KUBE_TIMED_OUT, 0, KUBE_NO_RETRY_AFTER, NOMINATION_FAILED, 0},
        {KUBE_CANCELLED, 0, KUBE_NO_RETRY_AFTER, NOMINATION_FAILED, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kube_outcome o = {.kind = rows[i].kind,
                                       .http_status = rows[i].status,
                                       .retry_after_ms = rows[i].retry_after_ms,
                                       .sent_again = rows[i].sent_again};
        const struct nomination_answer a = nomination_classify(&o);

        assert_int_equal(a.reply, rows[i].want);
        assert_int_equal(a.retry_after_ms, rows[i].want_ms);
        assert_non_null(nomination_reply_name(a.reply));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__to_a_node_and_back__exact),
        cmocka_unit_test(request__without_what_it_needs__refused),
        cmocka_unit_test(classify__tables__what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
