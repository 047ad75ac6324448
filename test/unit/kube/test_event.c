#include "kube/event.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct strbuf path, body;

static int setup(void **state)
{
    strbuf_init(&path, EVENT_PATH_MAX);
    strbuf_init(&body, EVENT_BODY_MAX);
    return 0;
}

static int teardown(void **state)
{
    strbuf_fini(&path);
    strbuf_fini(&body);
    return 0;
}

static const struct event_object pod = {EVENT_OBJECT_POD, STR("ml"), STR("train-0"), STR("u-1")};
static const struct event_source source = {EVENT_CONTROLLER_EXTENDER, "fgpu-0"};
static const struct event_object node = {EVENT_OBJECT_NODE, STR_NULL, STR("n1.example"), STR("u-2")};

static void words__every_reason__fit_the_limits_and_differ(void **state)
{
    for (int r = 0; r < EVENT_REASON__MAX; r++) {
        const struct event_words *w = event_words((enum event_reason)r);
        const char *texts[] = {w->reason, w->action};

        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            assert_non_null(texts[t]);
            assert_in_range(strlen(texts[t]), 1, EVENT_WORD_MAX);
            assert_in_range(texts[t][0], 'A', 'Z');
            assert_int_equal(strspn(texts[t], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
                             strlen(texts[t]));
        }
        for (int other = 0; other < r; other++) {
            assert_string_not_equal(w->reason, event_words((enum event_reason)other)->reason);
        }
    }
}

static void words__every_reason__is_explained_to_admins(void **state)
{
    static char text[1 << 20];
    FILE *f = fopen(FGPU_SOURCE_DIR "/config/README.md", "r");

    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
    for (int r = 0; r < EVENT_REASON__MAX; r++) {
        char row[160];

        snprintf(row, sizeof(row), "\n| `%s` | ", event_words((enum event_reason)r)->reason);
        if (strstr(text, row) == NULL) {
            fail_msg("config/README.md has no row%s", row);
        }
    }
}

static void post__about_a_pod__has_every_required_field(void **state)
{
    const struct event e = {EVENT_ASSIGNMENT_MISSING, pod, node, STR("bound <by> \"hand\"")};

    assert_int_equal(event_post(&e, "train-0.0000000000000001", &source, INT64_C(1795163884007), &path, &body, NULL),
                     0);
    assert_string_equal(path.p, "/apis/events.k8s.io/v1/namespaces/ml/events");
    assert_string_equal(body.p, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\","
                                "\"metadata\":{\"name\":\"train-0.0000000000000001\",\"namespace\":\"ml\"},"
                                "\"eventTime\":\"2026-11-20T08:38:04.007000Z\",\"reportingController\":"
                                "\"fgpu.io/extender\","
                                "\"reportingInstance\":\"fgpu-0\",\"action\":\"ReadAssignment\","
                                "\"reason\":\"GPUAssignmentMissing\",\"type\":\"Warning\","
                                "\"note\":\"bound \\u003cby\\u003e \\\"hand\\\"\","
                                "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":"
                                "\"ml\",\"name\":\"train-0\","
                                "\"uid\":\"u-1\"},"
                                "\"related\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1."
                                "example\",\"uid\":\"u-2\"}}");
}

static void post__about_a_node__lives_in_default(void **state)
{
    const struct event e = {EVENT_INVENTORY_RESTORED, node, {0}, STR("fine")};

    assert_int_equal(event_post(&e, "n1.example.00", &source, 0, &path, &body, NULL), 0);
    assert_string_equal(path.p, "/apis/events.k8s.io/v1/namespaces/default/events");
    assert_non_null(strstr(body.p, "\"namespace\":\"default\"}"));
    assert_non_null(strstr(body.p, "\"type\":\"Normal\""));
    assert_non_null(strstr(body.p, "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                                   "\"name\":\"n1.example\",\"uid\":\"u-2\"}"));
    assert_null(strstr(body.p, "related"));
    assert_null(strstr(body.p, "series"));
}

static void patch__a_series__tells_count_and_time_only(void **state)
{
    event_patch(2, 86400000, &body);
    assert_string_equal(body.p, "{\"series\":{\"count\":2,"
                                "\"lastObservedTime\":\"1970-01-02T00:00:00.000000Z\"}}");
}

static void post__hostile_objects__are_refused(void **state)
{
    static const struct event_object rows[] = {
        {EVENT_OBJECT_POD, STR("../../secrets"), STR("p"), STR("u")},
        {EVENT_OBJECT_POD, STR(""), STR("p"), STR("u")},
        {EVENT_OBJECT_POD, STR("ns"), STR("p/binding"), STR("u")},
        {EVENT_OBJECT_POD, STR("ns"), STR(""), STR("u")},
        {EVENT_OBJECT_NODE, STR(""), STR("n?x"), STR("u")},
        {EVENT_OBJECT_NODE, STR(""), STR(""), STR("u")},
        {EVENT_OBJECT_SELF, STR("ns"), STR("p"), STR("u")},
        {EVENT_OBJECT_NONE, STR("ns"), STR("p"), STR("u")},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct event bad = {EVENT_DEVICE_LOST, rows[i], {0}, STR("x")};
        const struct event bad_related = {EVENT_DEVICE_LOST, pod, rows[i], STR("x")};

        if (event_post(&bad, "n", &source, 0, &path, &body, NULL) != -ERR_INVALID ||
            (rows[i].kind != EVENT_OBJECT_NONE &&
             event_post(&bad_related, "n", &source, 0, &path, &body, NULL) != -ERR_INVALID)) {
            fail_msg("row %zu was accepted", i);
        }
    }
    assert_int_equal(path.n + body.n, 0);
}

/* The text of a member of the body, as long as nothing in it is escaped. */
static size_t member_n(const char *key)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof(quoted), "\"%s\":\"", key);
    at = strstr(body.p, quoted);
    assert_non_null(at);
    at += strlen(quoted);
    return strcspn(at, "\"");
}

static void post__long_texts__are_cut_at_whole_characters(void **state)
{
    static const struct {
        const char *character;
        size_t bytes; /* of what remains of a note */
    } rows[] = {
        {"x", 1024},
        {"\xc3\xa9", 1024},         /* two bytes each */
        {"\xe6\x97\xa5", 1023},     /* three */
        {"\xf0\x9f\x98\x80", 1024}, /* four */
        {"\xff", 6 * 341},          /* no UTF-8: 341 times \ufffd, six bytes as an escape */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char note[4000], instance[300];
        const struct event_source long_named = {EVENT_CONTROLLER_NODE, instance};
        struct event e = {EVENT_DEVICE_LOST, node, {0}, {note, 0}};

        while (e.note.n < sizeof(note) - 4) {
            memcpy(note + e.note.n, rows[i].character, strlen(rows[i].character));
            e.note.n += strlen(rows[i].character);
        }
        memset(instance, 'i', sizeof(instance));
        instance[sizeof(instance) - 1] = '\0';
        strbuf_reset(&path);
        strbuf_reset(&body);
        assert_int_equal(event_post(&e, "n", &long_named, 0, &path, &body, NULL), 0);
        assert_int_equal(member_n("note"), rows[i].bytes);
        assert_int_equal(member_n("reportingInstance"), EVENT_WORD_MAX);
    }
}

static void post__longest_texts__have_room(void **state)
{
    char note[EVENT_NOTE_MAX], name[254], uid[512], label[64], event[EVENT_NAME_MAX + 1];
    struct event e = {EVENT_ASSIGNMENT_CONFLICT, pod, node, {note, sizeof(note)}};

    memset(note, '\x01', sizeof(note));
    memset(name, 'n', sizeof(name));
    memset(uid, '<', sizeof(uid));
    memset(label, 'l', sizeof(label));
    e.regarding = (struct event_object){EVENT_OBJECT_POD, {label, 63}, {name, 253}, {uid, sizeof(uid)}};
    e.related = (struct event_object){EVENT_OBJECT_POD, {label, 63}, {name, 253}, {uid, sizeof(uid)}};
    assert_int_equal(event_post(&e, event_name(e.regarding.name, 1, event), &source, 0, &path, &body, NULL), 0);
    assert_true(path.n + 1 + strlen(event) < EVENT_PATH_MAX); /* of a PATCH */
    strbuf_reset(&body);
    event_patch(UINT32_MAX, INT64_C(253402300799999), &body); /* the last moment of the year 9999 */
    assert_in_range(body.n, 1, 128);
}

static void name__of_any_object__is_a_name(void **state)
{
    char long_name[254], buf[EVENT_NAME_MAX + 1];

    assert_string_equal(event_name(STR("p"), UINT64_C(0x18e9b409c0a4f075), buf), "p.18e9b409c0a4f075");
    assert_string_equal(event_name(STR("n1.example"), 1, buf), "n1.example.0000000000000001");
    memset(long_name, 'a', sizeof(long_name));
    assert_int_equal(strlen(event_name((struct str){long_name, 253}, 1, buf)), EVENT_NAME_MAX);
    memset(long_name + 230, '-', 10); /* the cut falls in here */
    assert_int_equal(strlen(event_name((struct str){long_name, 253}, 1, buf)), 230 + 17);
}

static void classify__replies__say_what_to_do(void **state)
{
    static const struct {
        enum kube_outcome_kind kind;
        int status;
        int64_t retry_after_ms;
        const char *body;
        enum event_reply want;
        int64_t want_ms;
    } rows[] = {
        {KUBE_ANSWERED, 201, -1, "", EVENT_REPLY_ACCEPTED, 0},
        {KUBE_ANSWERED, 200, -1, "", EVENT_REPLY_ACCEPTED, 0},
        {KUBE_ANSWERED, 409, -1, "", EVENT_REPLY_ACCEPTED, 0},
        {KUBE_ANSWERED, 404, -1, "", EVENT_REPLY_GONE, 0},
        {KUBE_ANSWERED, 403, -1, "cannot create resource \"events\"", EVENT_REPLY_FORBIDDEN, 0},
        {KUBE_ANSWERED, 403, -1, "{\"reason\":\"NamespaceTerminating\"}", EVENT_REPLY_REJECTED, 0},
        {KUBE_ANSWERED, 403, -1, "exceeded quota: q", EVENT_REPLY_REJECTED, 0},
        {KUBE_ANSWERED, 403, -1, "", EVENT_REPLY_FORBIDDEN, 0},
        {KUBE_ANSWERED, 422, -1, "", EVENT_REPLY_REJECTED, 0},
        {KUBE_ANSWERED, 400, -1, "", EVENT_REPLY_REJECTED, 0},
        {KUBE_ANSWERED, 401, -1, "", EVENT_REPLY_RETRY, 0},
        {KUBE_ANSWERED, 429, 3000, "", EVENT_REPLY_RETRY, 3000},
        {KUBE_ANSWERED, 500, -1, "", EVENT_REPLY_RETRY, 0},
        {KUBE_ANSWERED, 503, 1000, "", EVENT_REPLY_RETRY, 1000},
        {KUBE_NOT_SENT, 0, -1, "", EVENT_REPLY_RETRY, 0},
        {KUBE_LOST, 0, -1, "", EVENT_REPLY_RETRY, 0},
        {KUBE_TIMED_OUT, 0, -1, "", EVENT_REPLY_RETRY, 0},
        {KUBE_CANCELLED, 0, -1, "", EVENT_REPLY_RETRY, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_outcome o = {
            .kind = rows[i].kind, .http_status = rows[i].status, .retry_after_ms = rows[i].retry_after_ms};
        struct event_answer a = event_classify(&o, str_of(rows[i].body));

        if (a.reply != rows[i].want || a.retry_after_ms != rows[i].want_ms) {
            fail_msg("row %zu: reply %d after %lld ms", i, (int)a.reply, (long long)a.retry_after_ms);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words__every_reason__fit_the_limits_and_differ),
        cmocka_unit_test(words__every_reason__is_explained_to_admins),
        cmocka_unit_test_setup_teardown(post__about_a_pod__has_every_required_field, setup, teardown),
        cmocka_unit_test_setup_teardown(post__about_a_node__lives_in_default, setup, teardown),
        cmocka_unit_test_setup_teardown(patch__a_series__tells_count_and_time_only, setup, teardown),
        cmocka_unit_test_setup_teardown(post__hostile_objects__are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(post__long_texts__are_cut_at_whole_characters, setup, teardown),
        cmocka_unit_test_setup_teardown(post__longest_texts__have_room, setup, teardown),
        cmocka_unit_test(name__of_any_object__is_a_name),
        cmocka_unit_test(classify__replies__say_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
