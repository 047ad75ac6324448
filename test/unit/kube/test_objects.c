#include "kube/objects.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <string.h>

static struct json_reader reader;
static struct arena arena;

static int setup(void **state)
{
    arena_init(&arena, 32 * 1024 * 1024);
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    return 0;
}

static void assert_text(struct str got, const char *expected)
{
    if (!str_eq_cstr(got, expected)) {
        fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(got), expected);
    }
}

static void assert_kv(struct kv_list list, const char *key, const char *value)
{
    const struct str *got = kv_find(list, str_of(key));
    if (got == NULL) {
        fail_msg("no key %s", key);
        return;
    }
    assert_text(*got, value);
}

static const char full_pod[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"train-0\",\"namespace\":"
    "\"ml\","
    "\"uid\":\"u-1\",\"resourceVersion\":\"77\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
    "\"creationTimestamp\":\"1970-01-01T00:00:07Z\","
    "\"labels\":{\"app\":\"x\",\"tier\":null},\"annotations\":{\"fgpu.io/gpu-memory\":\"4Gi\","
    "\"note\":\"a\\n\\u00e9\"},\"managedFields\":[{\"manager\":\"m\",\"fieldsV1\":{\"f:a\":{}}}]},"
    "\"spec\":{\"nodeName\":\"n1\",\"schedulerName\":\"fgpu\",\"priority\":1000,\"volumes\":[{"
    "\"name\":\"v\"}],"
    "\"initContainers\":[{\"name\":\"i0\",\"restartPolicy\":\"Always\",\"resources\":{}},"
    "{\"name\":\"i1\",\"resources\":{\"limits\":{\"fgpu.io/gpu-milli\":\"300\"}}}],"
    "\"containers\":[{\"name\":\"c0\",\"restartPolicy\":\"Always\",\"resources\":{\"limits\":"
    "{\"fgpu.io/"
    "gpu-milli\":\"500\",\"cpu\":2},\"requests\":{\"cpu\":\"1500m\"}}},{\"name\":\"c1\"}]},"
    "\"status\":{\"phase\":\"Running\",\"nominatedNodeName\":\"n2\",\"conditions\":[]}}";

static void pod__all_fields__are_read(void **state)
{
    struct pod p;
    struct err err;
    assert_int_equal(kube_parse_pod(&reader, STR(full_pod), &arena, &p, &err), 0);
    assert_text(p.name, "train-0");
    assert_text(p.namespace_, "ml");
    assert_text(p.uid, "u-1");
    assert_text(p.resource_version, "77");
    assert_text(p.node_name, "n1");
    assert_text(p.nominated_node_name, "n2");
    assert_text(p.scheduler_name, "fgpu");
    assert_int_equal(p.phase, POD_RUNNING);
    assert_true(p.deleting);
    assert_int_equal(p.created_ms, 7000);
    assert_int_equal(p.priority, 1000);
    assert_int_equal(p.labels.n, 2);
    assert_kv(p.labels, "tier", "");
    assert_kv(p.annotations, "note", "a\n\xc3\xa9");
    assert_int_equal(p.init_container_n, 2);
    assert_true(p.init_containers[0].sidecar);
    assert_false(p.init_containers[1].sidecar);
    assert_kv(p.init_containers[1].limits, "fgpu.io/gpu-milli", "300");
    assert_int_equal(p.container_n, 2);
    assert_false(p.containers[0].sidecar);
    assert_kv(p.containers[0].limits, "cpu", "2");
    assert_kv(p.containers[0].requests, "cpu", "1500m");
    assert_int_equal(p.containers[1].limits.n, 0);
}

static void pod__resources_of_the_whole_pod__are_read(void **state)
{
    static const char text[] = "{\"spec\":{\"resources\":{\"claims\":[{}],\"limits\":{\"cpu\":\"4\"},"
                               "\"requests\":{\"cpu\":3,\"memory\":\"1Gi\"}},"
                               "\"overhead\":{\"cpu\":\"250m\"},\"containers\":[{\"name\":\"a\"}]}}";
    static const char nulls[] = "{\"spec\":{\"resources\":null,\"overhead\":null}}";
    struct pod p;
    struct err err;

    assert_int_equal(kube_parse_pod(&reader, STR(text), &arena, &p, &err), 0);
    assert_kv(p.limits, "cpu", "4");
    assert_kv(p.requests, "cpu", "3");
    assert_kv(p.requests, "memory", "1Gi");
    assert_kv(p.overhead, "cpu", "250m");
    assert_int_equal(p.container_n, 1);
    assert_int_equal(kube_parse_pod(&reader, STR(nulls), &arena, &p, &err), 0);
    assert_int_equal(p.limits.n + p.requests.n + p.overhead.n, 0);
}

static void item17__tolerations_and_taints__are_read(void **state)
{
    static const char pod_text[] =
        "{\"spec\":{\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"},"
        "{\"key\":\"b\",\"value\":\"v\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300},"
        "{\"operator\":\"Gt\",\"value\":\"7\",\"effect\":\"\"},{\"operator\":\"Lt\",\"effect\":\"PreferNoSchedule\"},"
        "{\"operator\":\"Like\"},{\"operator\":null,\"effect\":null}]}}";
    static const char node_text[] =
        "{\"spec\":{\"taints\":[{\"key\":\"a\",\"value\":\"v\",\"effect\":\"NoSchedule\",\"timeAdded\":\"x\"},"
        "{\"key\":\"b\",\"effect\":\"NoExecute\"},{\"key\":\"c\",\"effect\":\"PreferNoSchedule\"},{}]}}";
    static const struct {
        enum toleration_operator operator_;
        enum toleration_effect effect;
    } want[] = {
        {TOLERATION_EXISTS, TOLERATES_NO_SCHEDULE}, {TOLERATION_EQUAL, TOLERATES_NO_EXECUTE},
        {TOLERATION_GREATER, TOLERATES_ALL},        {TOLERATION_LESS, TOLERATES_OTHER},
        {TOLERATION_NEVER, TOLERATES_ALL},          {TOLERATION_EQUAL, TOLERATES_ALL},
    };
    struct pod p;
    struct node n;
    struct err err;

    assert_int_equal(kube_parse_pod(&reader, STR(pod_text), &arena, &p, &err), 0);
    assert_int_equal(p.toleration_n, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(p.tolerations[i].operator_, want[i].operator_);
        assert_int_equal(p.tolerations[i].effect, want[i].effect);
    }
    assert_text(p.tolerations[1].key, "b");
    assert_text(p.tolerations[1].value, "v");
    assert_int_equal(kube_parse_node(&reader, STR(node_text), &arena, &n, &err), 0);
    assert_int_equal(n.taint_n, 4);
    assert_text(n.taints[0].key, "a");
    assert_text(n.taints[0].value, "v");
    assert_int_equal(n.taints[0].effect, TAINT_NO_SCHEDULE);
    assert_int_equal(n.taints[1].effect, TAINT_NO_EXECUTE);
    assert_int_equal(n.taints[2].effect, TAINT_OTHER);
    assert_int_equal(n.taints[3].effect, TAINT_OTHER);
}

static void pod__nulls_for_absent__are_empty(void **state)
{
    static const char *const texts[] = {
        "{}",
        "null",
        "{\"metadata\":null,\"spec\":null,\"status\":null}",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":null},"
        "\"spec\":{\"containers\":null,\"initContainers\":null,\"nodeName\":null,\"priority\":null}"
        ","
        "\"status\":{\"phase\":null}}",
        "{\"metadata\":{\"deletionTimestamp\":null,\"labels\":null,\"annotations\":null}}",
        "{\"metadata\":{\"creationTimestamp\":null}}",
        "{\"metadata\":{\"creationTimestamp\":\"yesterday\"}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct pod p;
        struct err err;
        assert_int_equal(kube_parse_pod(&reader, str_of(texts[i]), &arena, &p, &err), 0);
        assert_int_equal(p.container_n + p.init_container_n + p.labels.n + p.annotations.n, 0);
        assert_int_equal(p.name.n + p.node_name.n, 0);
        assert_int_equal(p.phase, POD_PENDING);
        assert_false(p.deleting);
        assert_int_equal(p.created_ms, 0);
    }
}

static void pod__phase_words__are_told_apart(void **state)
{
    static const struct {
        const char *word;
        enum pod_phase phase;
    } rows[] = {
        {"Pending", POD_PENDING}, {"Running", POD_RUNNING},         {"Succeeded", POD_SUCCEEDED},
        {"Failed", POD_FAILED},   {"Unknown", POD_PHASE_UNKNOWN},   {"Napping", POD_PHASE_UNKNOWN},
        {"", POD_PENDING},        {"succeeded", POD_PHASE_UNKNOWN},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = arena_printf(&arena, "{\"status\":{\"phase\":\"%s\"}}", rows[i].word);
        struct pod p;
        assert_int_equal(kube_parse_pod(&reader, text, &arena, &p, NULL), 0);
        assert_int_equal(p.phase, rows[i].phase);
    }
}

static void pod__bad_input__is_refused_and_result_untouched(void **state)
{
    static const struct {
        const char *name;
        const char *text;
        enum err_code code;
    } rows[] = {
        {"cut off", "{\"metadata\":{\"name\":\"a\"", ERR_PARSE},
        {"trailing bytes", "{} x", ERR_PARSE},
        {"not an object", "[]", ERR_INVALID},
        {"name is a number", "{\"metadata\":{\"name\":1}}", ERR_INVALID},
        {"containers is an object", "{\"spec\":{\"containers\":{}}}", ERR_INVALID},
        {"container is text", "{\"spec\":{\"containers\":[\"a\"]}}", ERR_INVALID},
        {"priority is a fraction", "{\"spec\":{\"priority\":1.5}}", ERR_INVALID},
        {"priority is too large", "{\"spec\":{\"priority\":2147483648}}", ERR_INVALID},
        {"label is an object", "{\"metadata\":{\"labels\":{\"a\":{}}}}", ERR_INVALID},
        {"broken in what is skipped", "{\"spec\":{\"volumes\":[1,]}}", ERR_PARSE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod p = {.priority = 42};
        struct err err = {.code = ERR_OK};
        int rc = kube_parse_pod(&reader, str_of(rows[i].text), &arena, &p, &err);
        if (rc != -(int)rows[i].code || err.code != rows[i].code || p.priority != 42) {
            fail_msg("row %s: %d %s", rows[i].name, rc, err.msg);
        }
    }
}

static void pod__duplicate_keys__are_refused(void **state)
{
    static const char *const texts[] = {
        "{\"metadata\":{\"uid\":\"a\",\"uid\":\"b\"}}",
        "{\"metadata\":{\"annotations\":{\"k\":\"1\",\"k\":\"2\"}}}",
        "{\"spec\":{},\"spec\":{}}",
        "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"x\":1,\"\\u0078\":2}}}]}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct pod p;
        struct err err;
        assert_true(kube_parse_pod(&reader, str_of(texts[i]), &arena, &p, &err) < 0);
        assert_non_null(strstr(err.msg, "duplicate"));
    }
}

static int parse_with_containers(const char *list, int n, struct pod *ret)
{
    struct strbuf text;
    strbuf_init(&text, 8 * 1024 * 1024);
    strbuf_addf(&text, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\",\"%s\":[", list);
    for (int i = 0; i < n; i++) {
        strbuf_addf(&text, "%s{\"name\":\"c%d\"}", i > 0 ? "," : "", i);
    }
    strbuf_add_cstr(&text, "]}}");
    int rc = kube_parse_pod(&reader, strbuf_view(&text), &arena, ret, NULL);
    if (rc != 0) {
        kube_salvage_pod(strbuf_view(&text), ret);
        assert_text(ret->node_name, "n");
    }
    strbuf_fini(&text);
    return rc;
}

static void pod__any_number_of_containers__is_read_up_to_what_etcd_holds(void **state)
{
    struct pod p;
    assert_int_equal(parse_with_containers("containers", 5000, &p), 0);
    assert_int_equal(p.container_n, 5000);
    assert_int_equal(parse_with_containers("initContainers", KUBE_CONTAINERS_MAX, &p), 0);
    assert_int_equal(parse_with_containers("initContainers", KUBE_CONTAINERS_MAX + 1, &p), -ERR_LIMIT);
}

/* Item 13. */
static void pod_and_node__4200_annotations__are_read(void **state)
{
    struct strbuf text;
    struct pod p;
    struct node n;
    strbuf_init(&text, 1024 * 1024);
    strbuf_add_cstr(&text, "{\"metadata\":{\"name\":\"a\",\"annotations\":{");
    for (int i = 0; i < 4200; i++) {
        strbuf_addf(&text, "\"example.com/a%d\":\"\",", i);
    }
    strbuf_add_cstr(&text, "\"fgpu.io/gpus\":\"found\"},\"managedFields\":[{\"fieldsV1\":{\"f:annotations\":{");
    for (int i = 0; i < 4200; i++) {
        strbuf_addf(&text, "%s\"f:example.com/a%d\":{}", i > 0 ? "," : "", i);
    }
    strbuf_add_cstr(&text, "}}}]}}");
    assert_int_equal(kube_parse_pod(&reader, strbuf_view(&text), &arena, &p, NULL), 0);
    assert_int_equal(p.annotations.n, 4201);
    assert_kv(p.annotations, "fgpu.io/gpus", "found");
    assert_int_equal(kube_parse_node(&reader, strbuf_view(&text), &arena, &n, NULL), 0);
    assert_kv(n.annotations, "fgpu.io/gpus", "found");
    strbuf_fini(&text);
}

static void pod__arena_too_small__is_a_limit(void **state)
{
    struct arena small;
    struct pod p;
    arena_init(&small, 64);
    assert_int_equal(kube_parse_pod(&reader, STR(full_pod), &small, &p, NULL), -ERR_LIMIT);
    arena_fini(&small);
}

static void pod__inside_a_larger_document__consumes_one_value(void **state)
{
    struct str key;
    struct pod p = {.priority = 0};
    int64_t after = 0;
    json_reader_init(&reader, STR("{\"Pod\":{\"metadata\":{\"name\":\"a\"}},\"After\":7}"), &arena);
    json_object_begin(&reader);
    while (json_object_next(&reader, &key)) {
        if (str_eq(key, STR("Pod"))) {
            assert_true(kube_decode_pod(&reader, &p));
        } else {
            json_i64(&reader, &after);
        }
    }
    assert_int_equal(json_read_end(&reader, NULL), 0);
    assert_text(p.name, "a");
    assert_int_equal(after, 7);
}

static void node__all_fields__are_read(void **state)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"n1\",\"uid\":\"u\",\"resourceVersion\":\"5\",\"labels\":{\"a\":"
        "\"b\"},"
        "\"annotations\":{\"fgpu.io/"
        "gpus\":\"{\\\"v\\\":1}\"}},\"spec\":{\"unschedulable\":true,\"taints\":[]},"
        "\"status\":{\"capacity\":{\"cpu\":\"9\"},\"allocatable\":{\"cpu\":\"8\",\"nvidia.com/"
        "gpu\":\"4\"},"
        "\"images\":[{\"names\":null}]}}";
    struct node n;
    assert_int_equal(kube_parse_node(&reader, STR(text), &arena, &n, NULL), 0);
    assert_text(n.name, "n1");
    assert_text(n.uid, "u");
    assert_text(n.resource_version, "5");
    assert_true(n.unschedulable);
    assert_kv(n.labels, "a", "b");
    assert_kv(n.annotations, "fgpu.io/gpus", "{\"v\":1}");
    assert_kv(n.allocatable, "nvidia.com/gpu", "4");
    assert_kv(n.allocatable, "cpu", "8");
}

static void status__all_fields__are_read(void **state)
{
    static const char text[] = "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"slow down\","
                               "\"reason\":\"TooManyRequests\",\"details\":{\"retryAfterSeconds\":3},\"code\":429}";
    struct kube_status s;
    assert_int_equal(kube_parse_status(&reader, STR(text), &arena, &s, NULL), 0);
    assert_int_equal(s.code, 429);
    assert_text(s.reason, "TooManyRequests");
    assert_text(s.message, "slow down");
    assert_int_equal(s.retry_after_s, 3);
}

static void salvage__any_cut__stays_inside(void **state)
{
    for (size_t n = 0; n < sizeof(full_pod); n++) {
        /* a copy of its own, so that reading past the end is seen */
        struct str text = arena_str(&arena, (struct str){full_pod, n});
        struct pod p;
        kube_salvage_pod(text, &p);
    }
    struct pod p;
    kube_salvage_pod(STR(full_pod), &p);
    assert_text(p.name, "train-0");
    assert_text(p.namespace_, "ml");
    assert_text(p.uid, "u-1");
    assert_text(p.resource_version, "77");
    assert_text(p.node_name, "n1");
    assert_int_equal(p.phase, POD_RUNNING);
}

static void salvage__unusual_text__finds_or_is_empty(void **state)
{
    static const struct {
        const char *name, *text, *expected;
    } rows[] = {
        {"blanks", " { \"metadata\" : { \"x\" : [ { } , \"}\" ] , \"name\" : \"a\" } } ", "a"},
        {"brackets in text", "{\"a\":\"{[\\\"\",\"metadata\":{\"name\":\"b\"}}", "b"},
        {"escape in the name", "{\"metadata\":{\"name\":\"\\u0061\"}}", ""},
        {"name is null", "{\"metadata\":{\"name\":null}}", ""},
        {"nested only", "{\"spec\":{\"metadata\":{\"name\":\"c\"}}}", ""},
        {"not an object", "[1,2]", ""},
        {"unbalanced", "}}}]]]", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod p;
        kube_salvage_pod(str_of(rows[i].text), &p);
        if (!str_eq_cstr(p.name, rows[i].expected)) {
            fail_msg("row %s: \"%.*s\"", rows[i].name, STR_ARG(p.name));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(pod__all_fields__are_read),
        TEST(pod__resources_of_the_whole_pod__are_read),
        TEST(item17__tolerations_and_taints__are_read),
        TEST(pod__nulls_for_absent__are_empty),
        TEST(pod__phase_words__are_told_apart),
        TEST(pod__bad_input__is_refused_and_result_untouched),
        TEST(pod__duplicate_keys__are_refused),
        TEST(pod__any_number_of_containers__is_read_up_to_what_etcd_holds),
        TEST(pod_and_node__4200_annotations__are_read),
        TEST(pod__arena_too_small__is_a_limit),
        TEST(pod__inside_a_larger_document__consumes_one_value),
        TEST(node__all_fields__are_read),
        TEST(status__all_fields__are_read),
        TEST(salvage__any_cut__stays_inside),
        TEST(salvage__unusual_text__finds_or_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
