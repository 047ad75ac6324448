/* The two patches that leave by the API client: what is asked, and what each answer means to who asked. */
#include "extender/planner.h"
#include "extender/requeue_trigger.h"

#include "base/compiler.h"
#include "kube/transport.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

/* ---- the API client ---- */

static char client_memory, planner_memory, call_memory, trigger_memory; /* their addresses alone matter */
#define CLIENT ((struct kube_client *)&client_memory)
#define PLANNER ((struct planner *)&planner_memory)
#define CALL ((struct planner_call *)&call_memory)
#define TRIGGER ((struct requeue_trigger *)&trigger_memory)

static struct {
    unsigned n;
    bool refuses;
    char method[8], path[256], body[256], content_type[64], resource[32];
    kube_done_fn *done;
    void *ctx;
} client;

int kube_client_submit(struct kube_client *c, const struct kube_request *r, kube_done_fn *done, void *ctx,
                       struct err *reterr)
{
    assert_ptr_equal(c, CLIENT);
    if (client.refuses) {
        return err_set(reterr, ERR_UNAVAILABLE, "too many calls");
    }
    client.n++;
    snprintf(client.method, sizeof(client.method), "%s", r->method);
    snprintf(client.path, sizeof(client.path), "%s", r->path);
    snprintf(client.body, sizeof(client.body), "%.*s", STR_ARG(r->body));
    snprintf(client.content_type, sizeof(client.content_type), "%s", r->content_type);
    snprintf(client.resource, sizeof(client.resource), "%s", r->resource);
    assert_true(r->deadline_ms > 0);
    assert_string_equal(r->verb, "patch");
    client.done = done;
    client.ctx = ctx;
    return 0;
}

static void answer(struct kube_outcome outcome)
{
    const struct kube_response response = {.outcome = outcome};

    client.done(client.ctx, &response);
}

static struct kube_outcome status(int http_status, int64_t retry_after_ms)
{
    return (struct kube_outcome){
        .kind = KUBE_ANSWERED, .maybe_sent = true, .http_status = http_status, .retry_after_ms = retry_after_ms};
}

/* ---- who asked ---- */

static struct {
    unsigned n;
    struct nomination_answer answer;
    enum wake_result result;
    bool says; /* it has a text: */
    char detail[256];
} told;

static void take_detail(const char *detail)
{
    told.n++;
    told.says = detail != NULL;
    snprintf(told.detail, sizeof(told.detail), "%s", detail != NULL ? detail : "");
}

void planner_sent(struct planner *p, struct planner_call *call, const struct nomination_answer *a, const char *detail)
{
    assert_ptr_equal(p, PLANNER);
    assert_ptr_equal(call, CALL);
    told.answer = *a;
    take_detail(detail);
}

void requeue_trigger_sent(struct requeue_trigger *w, enum wake_result result, const char *detail)
{
    assert_ptr_equal(w, TRIGGER);
    told.result = result;
    take_detail(detail);
}

static int setup(void **state)
{
    memset(&client, 0, sizeof(client));
    memset(&told, 0, sizeof(told));
    return 0;
}

/* ---- nominations ---- */

static void nominate(const char *pod_name, const char *node)
{
    planner_patch_send(CLIENT, PLANNER, CALL,
                       &(struct nomination){.namespace_ = STR("ns"),
                                            .pod_name = str_of(pod_name),
                                            .pod_uid = STR("uid-1"),
                                            .pod_version = 7,
                                            .node_name = str_of(node)});
}

static void nomination__sent__exactly_this_version_of_the_pod(void **state)
{
    nominate("p", "n1");
    assert_int_equal(client.n, 1);
    assert_int_equal(told.n, 0); /* not before there is an answer */
    assert_string_equal(client.method, "PATCH");
    assert_string_equal(client.content_type, "application/merge-patch+json");
    assert_string_equal(client.resource, "pods/status");
    assert_non_null(strstr(client.path, "/namespaces/ns/pods/p/status?fieldManager="));
    assert_string_equal(
        client.body,
        "{\"metadata\":{\"uid\":\"uid-1\",\"resourceVersion\":\"7\"},\"status\":{\"nominatedNodeName\":\"n1\"}}");
    answer(status(200, KUBE_NO_RETRY_AFTER));
    assert_int_equal(told.n, 1);
    nominate("p", "");
    assert_non_null(strstr(client.body, "\"nominatedNodeName\":null"));
    answer(status(200, KUBE_NO_RETRY_AFTER));
}

static void nomination__each_answer__as_it_is_meant_and_in_words(void **state)
{
    static const struct {
        int status;
        int64_t retry_after_ms;
        enum nomination_reply reply;
        int64_t told_ms;
        const char *detail;
    } rows[] = {
        {200, KUBE_NO_RETRY_AFTER, NOMINATION_DONE, 0, "the API server answered 200"},
        {409, KUBE_NO_RETRY_AFTER, NOMINATION_CHANGED, 0, "the API server answered 409"},
        {403, KUBE_NO_RETRY_AFTER, NOMINATION_FORBIDDEN, 0, "the API server answered 403"},
        {429, 3000, NOMINATION_FAILED, 3000, "the API server answered 429"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        nominate("p", "n1");
        answer(status(rows[i].status, rows[i].retry_after_ms));
        assert_int_equal(told.n, i + 1);
        assert_int_equal(told.answer.reply, rows[i].reply);
        assert_int_equal(told.answer.retry_after_ms, rows[i].told_ms);
        assert_string_equal(told.detail, rows[i].detail);
    }
}

static void nomination__no_answer__failed_in_the_transports_words(void **state)
{
    struct kube_outcome with_status = kube_outcome_of(KUBE_TOO_LARGE, "larger than it may be");

    nominate("p", "n1");
    answer(kube_outcome_of(KUBE_LOST, "connection reset"));
    assert_int_equal(told.answer.reply, NOMINATION_FAILED);
    assert_string_equal(told.detail, "connection reset");
    nominate("p", "n1");
    answer(kube_outcome_of(KUBE_TIMED_OUT, ""));
    assert_string_equal(told.detail, kube_outcome_name(KUBE_TIMED_OUT));
    nominate("p", "n1");
    with_status.http_status = 200;
    answer(with_status);
    assert_int_equal(told.answer.reply, NOMINATION_FAILED);
    assert_string_equal(told.detail, "larger than it may be"); /* its own words come first */
    assert_int_equal(told.n, 3);
}

static void nomination__cannot_be_sent__failed_at_once(void **state)
{
    nominate("not a name", "n1");
    assert_int_equal(told.n, 1);
    assert_int_equal(told.answer.reply, NOMINATION_FAILED);
    assert_int_equal(told.answer.retry_after_ms, 0);
    assert_int_equal(client.n, 0);
    client.refuses = true;
    nominate("p", "n1");
    assert_int_equal(told.n, 2);
    assert_string_equal(told.detail, "too many calls");
}

/* ---- waking ---- */

static struct clock_manual now;

static void wake(void)
{
    struct requeue_trigger_patch p = {CLIENT, &now.clock, STR("fgpu-system/fgpu-wake")};

    requeue_trigger_patch_send(&p, TRIGGER);
}

static void waking__sent__an_annotation_of_the_one_object(void **state)
{
    clock_manual_init(&now, 0, 1795161600123);
    wake();
    assert_int_equal(client.n, 1);
    assert_int_equal(told.n, 0);
    assert_string_equal(client.method, "PATCH");
    assert_string_equal(client.content_type, "application/merge-patch+json");
    assert_string_equal(client.resource, "csistoragecapacities");
    assert_string_equal(client.path, "/apis/storage.k8s.io/v1/namespaces/fgpu-system/csistoragecapacities/fgpu-wake");
    assert_string_equal(client.body, "{\"metadata\":{\"annotations\":{\"fgpu.io/room-at-ms\":\"1795161600123\"}}}");
    answer(status(200, KUBE_NO_RETRY_AFTER));
    assert_int_equal(told.n, 1);
    assert_int_equal(told.result, WAKE_DONE);
    assert_false(told.says);
}

static void waking__each_answer__as_it_is_meant_and_in_words(void **state)
{
    static const struct {
        int status;
        enum wake_result result;
        const char *detail;
    } rows[] = {
        {403, WAKE_IMPOSSIBLE, "the API server answered 403"}, {404, WAKE_IMPOSSIBLE, "the API server answered 404"},
        {401, WAKE_FAILED, "the API server answered 401"},     {409, WAKE_FAILED, "the API server answered 409"},
        {201, WAKE_FAILED, "the API server answered 201"},     {500, WAKE_FAILED, "the API server answered 500"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        wake();
        answer(status(rows[i].status, KUBE_NO_RETRY_AFTER));
        assert_int_equal(told.n, i + 1);
        assert_int_equal(told.result, rows[i].result);
        assert_string_equal(told.detail, rows[i].detail);
    }
}

static void waking__no_answer_or_not_sent__failed(void **state)
{
    struct kube_outcome with_status = kube_outcome_of(KUBE_TOO_LARGE, "");

    wake();
    answer(kube_outcome_of(KUBE_LOST, "connection reset"));
    assert_int_equal(told.result, WAKE_FAILED);
    assert_string_equal(told.detail, "connection reset");
    wake();
    with_status.http_status = 200; /* a reply that was not read to its end says nothing */
    answer(with_status);
    assert_int_equal(told.result, WAKE_FAILED);
    assert_string_equal(told.detail, kube_outcome_name(KUBE_TOO_LARGE));
    client.refuses = true;
    told.result = WAKE_DONE;
    wake();
    assert_int_equal(told.n, 3);
    assert_int_equal(told.result, WAKE_FAILED);
    assert_string_equal(told.detail, "too many calls");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        T(nomination__sent__exactly_this_version_of_the_pod),
        T(nomination__each_answer__as_it_is_meant_and_in_words),
        T(nomination__no_answer__failed_in_the_transports_words),
        T(nomination__cannot_be_sent__failed_at_once),
        T(waking__sent__an_annotation_of_the_one_object),
        T(waking__each_answer__as_it_is_meant_and_in_words),
        T(waking__no_answer_or_not_sent__failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
