/* Evictions: the request, and what an answer means. */
#include "kube/eviction.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <string.h>

static void request__a_pod__exact(void **state)
{
    struct strbuf path, body;

    strbuf_init(&path, 1024);
    strbuf_init(&body, 1024);
    assert_int_equal(kube_eviction_request(STR("team-a"), STR("train.0"), STR("u-1"), &path, &body, NULL), 0);
    assert_string_equal(path.p, "/api/v1/namespaces/team-a/pods/train.0/eviction");
    assert_string_equal(body.p,
                        "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"train.0\","
                        "\"namespace\":\"team-a\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"u-1\"}}}");
    strbuf_fini(&path);
    strbuf_fini(&body);
}

static void request__names_of_no_pod_or_no_room__refused(void **state)
{
    const struct {
        struct str namespace_, name, uid;
        size_t room;
        int want;
    } rows[] = {
        {STR("a/b"), STR("p"), STR("u"), 1024, -ERR_INVALID},
        {STR("a"), STR("../nodes"), STR("u"), 1024, -ERR_INVALID},
        {STR("a"), STR("p"), STR_NULL, 1024, -ERR_INVALID},
        {STR("a"), STR("p"), STR("u"), 40, -ERR_LIMIT},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf path, body;
        struct err err;

        strbuf_init(&path, 1024);
        strbuf_init(&body, rows[i].room);
        assert_int_equal(kube_eviction_request(rows[i].namespace_, rows[i].name, rows[i].uid, &path, &body, &err),
                         rows[i].want);
        strbuf_fini(&path);
        strbuf_fini(&body);
    }
}

static void classify__tables__what_to_do(void **state)
{
    const struct {
        enum kube_outcome_kind kind;
        int status;
        int64_t retry_after_ms;
        enum eviction_reply want;
        int64_t want_ms;
    } rows[] = {
        {KUBE_ANSWERED, 201, KUBE_NO_RETRY_AFTER, EVICTION_ACCEPTED, 0},
        {KUBE_ANSWERED, 404, KUBE_NO_RETRY_AFTER, EVICTION_GONE, 0},
        {KUBE_ANSWERED, 409, KUBE_NO_RETRY_AFTER, EVICTION_GONE, 0},
        {KUBE_ANSWERED, 429, 30000, EVICTION_HELD, 30000},
        {KUBE_ANSWERED, 429, KUBE_NO_RETRY_AFTER, EVICTION_HELD, 0},
        {KUBE_ANSWERED, 403, KUBE_NO_RETRY_AFTER, EVICTION_FORBIDDEN, 0},
        {KUBE_ANSWERED, 500, KUBE_NO_RETRY_AFTER, EVICTION_FAILED, 0}, /* two budgets for one pod */
        {KUBE_ANSWERED, 503, 2000, EVICTION_FAILED, 2000},
        {KUBE_CANCELLED, 0, KUBE_NO_RETRY_AFTER, EVICTION_FAILED, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kube_outcome o = {
            .kind = rows[i].kind, .http_status = rows[i].status, .retry_after_ms = rows[i].retry_after_ms};
        const struct eviction_answer a = eviction_classify(&o);

        assert_int_equal(a.reply, rows[i].want);
        assert_int_equal(a.retry_after_ms, rows[i].want_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__a_pod__exact),
        cmocka_unit_test(request__names_of_no_pod_or_no_room__refused),
        cmocka_unit_test(classify__tables__what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
