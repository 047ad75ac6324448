#include "kube/binding.h"

#include "base/compiler.h"
#include "base/json_read.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

struct fixture {
    struct strbuf path, body;
};

static struct fixture f;

static int setup(void **state)
{
    strbuf_init(&f.path, BINDING_PATH_MAX);
    strbuf_init(&f.body, BINDING_BODY_MAX);
    return 0;
}

static int teardown(void **state)
{
    strbuf_fini(&f.path);
    strbuf_fini(&f.body);
    return 0;
}

static struct binding plain(void)
{
    return (struct binding){
        .namespace_ = STR("ml"),
        .pod_name = STR("train-0"),
        .pod_uid = STR("u-1"),
        .node_name = STR("n3.example"),
    };
}

static void request__good_binding__has_everything_in_one_body(void **state)
{
    static const struct kv items[] = {
        {STR("fgpu.io/assignment"), STR("{\"v\":1}")},
        {STR("fgpu.io/visible-devices.c0"), STR("GPU-a")},
    };
    struct binding b = plain();
    b.annotations = (struct kv_list){items, 2};
    assert_int_equal(binding_request(&b, 0, &f.path, &f.body, NULL), 0);
    assert_string_equal(f.path.p, "/api/v1/namespaces/ml/pods/train-0/binding?timeout=4s");
    assert_string_equal(f.body.p, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"train-0\","
                                  "\"namespace\":\"ml\","
                                  "\"uid\":\"u-1\",\"annotations\":{\"fgpu.io/assignment\":\"{\\\"v\\\":1}\","
                                  "\"fgpu.io/visible-devices.c0\":\"GPU-a\"}},"
                                  "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n3.example\"}}");
}

static void request__hostile_names__are_refused(void **state)
{
    static const struct {
        const char *name;
        const char *namespace_, *pod, *node, *uid;
    } rows[] = {
        {"namespace climbs", "../../secrets", "p", "n", "u"},
        {"namespace with dot", "a.b", "p", "n", "u"},
        {"no namespace", "", "p", "n", "u"},
        {"pod with slash", "ns", "p/binding", "n", "u"},
        {"pod with query", "ns", "p?dryRun=All", "n", "u"},
        {"pod with newline", "ns", "p\r\nX: y", "n", "u"},
        {"pod upper case", "ns", "P", "n", "u"},
        {"no pod", "ns", "", "n", "u"},
        {"no node", "ns", "p", "", "u"},
        {"node with quote", "ns", "p", "n\"", "u"},
        {"no uid", "ns", "p", "n", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct binding b = {
            .namespace_ = str_of(rows[i].namespace_),
            .pod_name = str_of(rows[i].pod),
            .node_name = str_of(rows[i].node),
            .pod_uid = str_of(rows[i].uid),
        };
        struct err err = {.code = ERR_OK};
        if (binding_request(&b, 0, &f.path, &f.body, &err) != -ERR_INVALID || err.code != ERR_INVALID) {
            fail_msg("row %s was accepted", rows[i].name);
        }
    }
    assert_int_equal(f.path.n + f.body.n, 0);
}

static void request__illegal_annotation_key__is_refused(void **state)
{
    const struct kv bad = {STR("fgpu.io/a b"), STR("")};
    struct binding b = plain();
    b.annotations = (struct kv_list){&bad, 1};
    assert_int_equal(binding_request(&b, 0, &f.path, &f.body, NULL), -ERR_INVALID);
}

static void request__annotation_bytes__end_at_262144(void **state)
{
    static char value[POD_ANNOTATION_BYTES_MAX];
    struct kv one = {STR("fgpu.io/x"), {value, 0}};
    struct binding b = plain();
    memset(value, '<', sizeof(value)); /* the longest when escaped */
    b.annotations = (struct kv_list){&one, 1};
    one.value.n = POD_ANNOTATION_BYTES_MAX - one.key.n - 1000;
    assert_int_equal(binding_request(&b, 1000, &f.path, &f.body, NULL), 0);
    strbuf_reset(&f.path);
    strbuf_reset(&f.body);
    one.value.n++;
    assert_int_equal(binding_request(&b, 1000, &f.path, &f.body, NULL), -ERR_LIMIT);
    one.value.n = 0;
    assert_int_equal(binding_request(&b, POD_ANNOTATION_BYTES_MAX, &f.path, &f.body, NULL), -ERR_LIMIT);
}

static void kept_bytes__overwritten_keys__do_not_count(void **state)
{
    static const struct kv existing[] = {{STR("a"), STR("12345")}, {STR("bb"), STR("6")}};
    static const struct kv ours[] = {{STR("a"), STR("x")}, {STR("c"), STR("y")}};
    assert_int_equal(binding_kept_bytes((struct kv_list){existing, 2}, (struct kv_list){ours, 2}), 3);
    assert_int_equal(binding_kept_bytes((struct kv_list){existing, 2}, (struct kv_list){NULL, 0}), 9);
}

static void request__buffer_too_small__is_a_limit(void **state)
{
    struct strbuf small;
    struct binding b = plain();
    strbuf_init(&small, 20);
    assert_int_equal(binding_request(&b, 0, &small, &f.body, NULL), -ERR_LIMIT);
    strbuf_fini(&small);
}

static void pod_path__names__are_checked(void **state)
{
    assert_int_equal(kube_pod_path(STR("ml"), STR("a.b"), &f.path, NULL), 0);
    assert_string_equal(f.path.p, "/api/v1/namespaces/ml/pods/a.b");
    assert_int_equal(kube_pod_path(STR("ml"), STR("../x"), &f.path, NULL), -ERR_INVALID);
    assert_int_equal(kube_pod_path(STR("M"), STR("x"), &f.path, NULL), -ERR_INVALID);
}

#define NONE KUBE_NO_RETRY_AFTER

/* Every row of contract.md 4.2 and 4.4, and what else a network can answer. */
static const struct {
    const char *name;
    enum kube_outcome_kind kind;
    bool sent;
    int status;
    int64_t retry_after_ms;
    enum bind_reply reply;
    bool maybe_bound;
    int64_t wait_ms;
} replies[] = {
    {"bound", KUBE_ANSWERED, true, 201, NONE, BIND_BOUND, false, 0},
    {"already bound, deleted, gated, other uid; or etcd failed", KUBE_ANSWERED, true, 409, NONE, BIND_CONFLICT, true,
     0},
    {"pod absent", KUBE_ANSWERED, true, 404, NONE, BIND_REFUSED, false, 0},
    {"name mismatch", KUBE_ANSWERED, true, 400, NONE, BIND_REFUSED, false, 0},
    {"target invalid, or etcd failed", KUBE_ANSWERED, true, 500, NONE, BIND_LOST, true, 0},
    {"no permission", KUBE_ANSWERED, true, 403, NONE, BIND_REFUSED, false, 0},
    {"bad token", KUBE_ANSWERED, true, 401, NONE, BIND_UNAUTHORIZED, false, 0},
    {"invalid", KUBE_ANSWERED, true, 422, NONE, BIND_REFUSED, false, 0},
    {"429 with a time", KUBE_ANSWERED, true, 429, 3000, BIND_RETRY_AFTER, false, 3000},
    {"429 without", KUBE_ANSWERED, true, 429, NONE, BIND_RETRY_AFTER, false, 1000},
    {"429 at once", KUBE_ANSWERED, true, 429, 0, BIND_RETRY_AFTER, false, 0},
    {"503 with a time", KUBE_ANSWERED, true, 503, 2000, BIND_RETRY_AFTER, true, 2000},
    {"503 without", KUBE_ANSWERED, true, 503, NONE, BIND_RETRY_AFTER, true, 1000},
    {"504", KUBE_ANSWERED, true, 504, NONE, BIND_RETRY_AFTER, true, 1000},
    {"500 with a time", KUBE_ANSWERED, true, 500, 1000, BIND_RETRY_AFTER, true, 1000},
    {"400 with a time is still a no", KUBE_ANSWERED, true, 400, 1000, BIND_REFUSED, false, 0},
    {"gateway", KUBE_ANSWERED, true, 502, NONE, BIND_LOST, true, 0},
    {"other 4xx", KUBE_ANSWERED, true, 413, NONE, BIND_LOST, true, 0},
    {"a proxy's 405", KUBE_ANSWERED, true, 405, NONE, BIND_LOST, true, 0},
    {"200 is not what the API answers", KUBE_ANSWERED, true, 200, NONE, BIND_LOST, true, 0},
    {"redirect", KUBE_ANSWERED, true, 302, NONE, BIND_LOST, true, 0},
    {"refused connection", KUBE_NOT_SENT, false, 0, NONE, BIND_NOT_SENT, false, 0},
    {"connection broke", KUBE_LOST, true, 0, NONE, BIND_LOST, true, 0},
    {"no answer in time", KUBE_TIMED_OUT, true, 0, NONE, BIND_LOST, true, 0},
    {"reply too large", KUBE_TOO_LARGE, true, 201, NONE, BIND_LOST, true, 0},
    {"stopping, on the wire", KUBE_CANCELLED, true, 0, NONE, BIND_LOST, true, 0},
    {"stopping, not sent", KUBE_CANCELLED, false, 0, NONE, BIND_NOT_SENT, false, 0},
};

static void classify__table__as_the_contract_says(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        const struct kube_outcome o = {
            .kind = replies[i].kind,
            .maybe_sent = replies[i].sent,
            .http_status = replies[i].status,
            .retry_after_ms = replies[i].retry_after_ms,
        };
        struct bind_answer a = bind_classify(&o);
        if (a.reply != replies[i].reply || a.maybe_bound != replies[i].maybe_bound ||
            a.retry_after_ms != replies[i].wait_ms || a.reason == NULL || a.reason[0] == '\0') {
            fail_msg("row %s: reply %d, maybe %d, wait %lld", replies[i].name, (int)a.reply, a.maybe_bound,
                     (long long)a.retry_after_ms);
        }
    }
}

/* The transport sent it once more on another connection: the answer is that to the second copy. */
static void classify__sent_again__only_201_settles(void **state)
{
    static const int statuses[] = {201, 400, 401, 403, 404, 409, 422, 429, 500};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        const struct kube_outcome o = {.kind = KUBE_ANSWERED,
                                       .maybe_sent = true,
                                       .sent_again = true,
                                       .http_status = statuses[i],
                                       .retry_after_ms = NONE};
        assert_int_equal(bind_classify(&o).maybe_bound, statuses[i] != 201);
    }
}

static void preconditions__from_1_23_on__are_looked_at(void **state)
{
    static const struct {
        const char *document;
        enum binding_preconditions expected;
    } rows[] = {
        {"{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.3\"}", BINDING_PRECONDITIONS_CHECKED},
        {"{\"minor\":\"23+\",\"major\":\"1\"}", BINDING_PRECONDITIONS_CHECKED},
        {"{\"major\":\"1\",\"minor\":\"22\"}", BINDING_PRECONDITIONS_IGNORED},
        {"{\"major\":\"1\",\"minor\":\"9+\"}", BINDING_PRECONDITIONS_IGNORED},
        {"{\"major\":\"1\"}", BINDING_PRECONDITIONS_IGNORED},
        {"{\"major\":\"2\",\"minor\":\"0\"}", BINDING_PRECONDITIONS_CHECKED},
        {"{\"major\":\"\",\"minor\":\"\"}", BINDING_PRECONDITIONS_UNKNOWN},
        {"{\"major\":1,\"minor\":36}", BINDING_PRECONDITIONS_UNKNOWN},
        {"{\"major\":\"1\",\"minor\":\"36\"", BINDING_PRECONDITIONS_UNKNOWN},
        {"{}", BINDING_PRECONDITIONS_UNKNOWN},
        {"ok", BINDING_PRECONDITIONS_UNKNOWN},
        {"", BINDING_PRECONDITIONS_UNKNOWN},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (binding_preconditions_of(str_of(rows[i].document)) != rows[i].expected) {
            fail_msg("%s", rows[i].document);
        }
    }
}

static void request__known_version__is_a_precondition(void **state)
{
    struct binding b = plain();
    b.pod_version = 18446744073709551615U;
    assert_int_equal(binding_request(&b, 0, &f.path, &f.body, NULL), 0);
    assert_non_null(strstr(f.body.p, "\"uid\":\"u-1\",\"resourceVersion\":\"18446744073709551615\",\"annotations\""));
}

/* Texts that vary make kube-scheduler spin (contract.md 9.3, P2). */
static void classify__same_outcome__same_reason(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        struct kube_outcome o = {
            .kind = replies[i].kind,
            .maybe_sent = replies[i].sent,
            .http_status = replies[i].status,
            .retry_after_ms = replies[i].retry_after_ms,
        };
        const char *reason = bind_classify(&o).reason;
        snprintf(o.detail, sizeof(o.detail), "something that varies %zu", i);
        assert_ptr_equal(bind_classify(&o).reason, reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(request__good_binding__has_everything_in_one_body),
        TEST(request__hostile_names__are_refused),
        TEST(request__illegal_annotation_key__is_refused),
        TEST(request__annotation_bytes__end_at_262144),
        TEST(kept_bytes__overwritten_keys__do_not_count),
        TEST(request__buffer_too_small__is_a_limit),
        TEST(pod_path__names__are_checked),
        TEST(request__known_version__is_a_precondition),
        TEST(preconditions__from_1_23_on__are_looked_at),
        TEST(classify__sent_again__only_201_settles),
        TEST(classify__table__as_the_contract_says),
        TEST(classify__same_outcome__same_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
