/* What is cut out of an object as it streams past is what the decoders read of it, wherever its bytes are cut. */
#include "kube/excerpt.h"

#include "base/compiler.h"
#include "kube/objects.h"
#include "kube/support/render.h"
#include "kube/objects_internal.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct json_reader reader;

/* Every field that the decoders read, and things beside them that look alike. */
static const char pod[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\","
    "\"resourceVersion\":\"7\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"creationTimestamp\":"
    "\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"x\"},\"annotations\":{\"fgpu.io/gpu-fraction\":\"0.5\",\"e\":"
    "\"\\u0000]}\\\"\"},\"managedFields\":[{\"name\":\"no\",\"fieldsV1\":{\"f:uid\":{}}},{\"manager\":\"fgpu-planner\","
    "\"fieldsV1\":"
    "{\"f:status\":{\"f:phase\":{},\"f:nominatedNodeName\":{}}}}],\"name2\":\"x\"},"
    "\"nodeName\":\"not here\",\"spec\":{\"nodeName\":\"n1\",\"schedulerName\":\"s\",\"priority\":5,"
    "\"preemptionPolicy\":\"Never\",\"hostNetwork\":true,\"n\\u006fdeNam2\":\"other\",\"resources\":{\"limits\":{"
    "\"cpu\":\"1\"},"
    "\"requests\":{\"cpu\":\"1\"}},\"overhead\":{\"memory\":\"1Mi\"},\"containers\":[{\"name\":\"a\",\"image\":\"i\","
    "\"resources\":{\"limits\":{\"x/y\":\"1\"},\"requests\":{\"x/"
    "y\":1}},\"env\":[{\"name\":\"E\",\"value\":\"]\"}]},{},"
    "{\"image\":\"j\"}],\"initContainers\":[{\"name\":\"i\",\"restartPolicy\":\"Always\"}],\"volumes\":[{\"name\":"
    "\"v\",\"emptyDir\":"
    "{\"medium\":\"m\"}},{\"name\":\"w\",\"hostPath\":{}}],\"nodeSelector\":{\"a/"
    "b\":\"c\"},\"schedulingGates\":[{\"name\":"
    "\"g\"}],\"topologySpreadConstraints\":[{}],\"resourceClaims\":[{\"name\":\"r\"}],\"affinity\":{\"nodeAffinity\":{"
    "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\","
    "\"operator\":\"In\",\"values\":[\"v\",\"w\"]},{\"key\":\"l\",\"operator\":\"Exists\"}],\"matchFields\":[{\"key\":"
    "\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]},{}]},"
    "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1}]},\"podAntiAffinity\":{"
    "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"t\",\"namespaces\":[\"z\"]}]}}},"
    "\"status\":{\"phase\":\"Running\",\"nominatedNodeName\":\"n2\",\"conditions\":[{\"phase\":\"Failed\"}]}}";

static const char node[] =
    " { \"metadata\" : { \"name\" : \"n\" , "
    "\"uid\":\"u\",\"resourceVersion\":\"8\",\"deletionTimestamp\":null,\"labels\":"
    "{\"a\":\"b\"},\"annotations\":{\"fgpu.io/"
    "gpus\":\"{\\\"v\\\":1}\"}},\"spec\":{\"unschedulable\":true,\"podCIDR\":\"x\"},"
    "\"status\":{\"allocatable\":{\"cpu\":\"4\"},\"capacity\":{\"cpu\":\"4\"},\"images\":[{\"names\":[\"a\"]}]}}";

static void render(struct str text, bool is_pod, struct strbuf *out)
{
    struct arena a;
    struct pod p;
    struct node n;
    struct err err;

    arena_init(&a, 1 << 20);
    int rc = is_pod ? kube_parse_pod(&reader, text, &a, &p, &err) : kube_parse_node(&reader, text, &a, &n, &err);
    if (rc != 0) {
        fail_msg("%s in %.*s", err.msg, STR_ARG(text));
    }
    if (is_pod) {
        render_pod(out, &p);
    } else {
        render_node(out, &n);
    }
    arena_fini(&a);
}

static void excerpt__of_all_fields_cut_anywhere__reads_as_the_object(void **state)
{
    static const struct {
        const char *text;
        bool is_pod;
    } rows[] = {{pod, true}, {node, false}};
    struct strbuf want, got;
    strbuf_init(&want, 1 << 16);
    strbuf_init(&got, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = str_of(rows[i].text);
        struct excerpt *e = excerpt_new(EXCERPT_OBJECT, rows[i].is_pod ? kube_pod_fields : kube_node_fields);

        strbuf_reset(&want);
        render(text, rows[i].is_pod, &want);
        for (size_t cut = 0; cut < text.n; cut++) {
            excerpt_reset(e);
            assert_int_equal(excerpt_feed(e, (struct str){text.p, cut}), EXCERPT_MORE);
            assert_int_equal(excerpt_feed(e, str_drop(text, cut)), EXCERPT_DONE);
            strbuf_reset(&got);
            render(excerpt_text(e), rows[i].is_pod, &got);
            assert_string_equal(got.p, want.p);
            assert_null(strstr(excerpt_text(e).p, "f:uid"));
            assert_null(strstr(excerpt_text(e).p, "env"));
        }
        assert_true(excerpt_note(e).whole);
        assert_int_equal(excerpt_note(e).bytes, text.n);
        excerpt_free(e);
    }
    strbuf_fini(&want);
    strbuf_fini(&got);
}

static void excerpt__odd_text__is_done_or_broken_and_never_more(void **state)
{
    static const struct {
        const char *text;
        enum excerpt_state state;
    } rows[] = {
        {"{}", EXCERPT_DONE},
        {" {\"metadata\":7,\"status\":\"Failure\",\"spec\":null}", EXCERPT_DONE},
        {"{\"spec\":{\"containers\":[]}}", EXCERPT_DONE},
        {"{\"spec\":{\"containers\":[null,{},3]}}", EXCERPT_DONE},
        {"{\"x\":{\"a\":\"}\"}}", EXCERPT_DONE},
        {"{\"x\":[", EXCERPT_MORE},
        {"{\"met", EXCERPT_MORE},
        {"[]", EXCERPT_DONE},
        {"7 ", EXCERPT_BROKEN},
        {"{]", EXCERPT_BROKEN},
        {"{\"spec\":{\"containers\":[}}", EXCERPT_BROKEN},
        {"{\"a\"}", EXCERPT_BROKEN},
        {"{7:8}", EXCERPT_BROKEN},
        {"{\"a\":1 2}", EXCERPT_BROKEN},
        {"{\"spec\":{\"containers\":[[[[[[[[[[[[", EXCERPT_BROKEN},
    };
    struct excerpt *e = excerpt_new(EXCERPT_OBJECT, kube_pod_fields);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        excerpt_reset(e);
        enum excerpt_state got = excerpt_feed(e, str_of(rows[i].text));
        if (got != rows[i].state) {
            fail_msg("row %s: %d", rows[i].text, got);
        }
    }
    excerpt_free(e);
}

/* A member above the bound is given up, and what comes behind it is still read. */
static void excerpt__member_above_the_bound__is_null_and_said_so(void **state)
{
    struct excerpt *e = excerpt_new(EXCERPT_EVENT, kube_pod_fields);
    char *piece = xmalloc(1 << 20);
    memset(piece, 'x', 1 << 20);
    excerpt_feed(e, STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\""));
    for (int i = 0; i < 9; i++) {
        assert_int_equal(excerpt_feed(e, (struct str){piece, 1 << 20}), EXCERPT_MORE);
    }
    assert_int_equal(excerpt_feed(e, STR("\"},\"uid\":\"u\"},\"spec\":{\"nodeName\":\"n1\"}}}")), EXCERPT_DONE);
    assert_string_equal(excerpt_text(e).p,
                        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\",\"labels\":null,"
                        "\"uid\":\"u\"},\"spec\":{\"nodeName\":\"n1\"}}}");
    assert_false(excerpt_note(e).whole);
    free(piece);
    excerpt_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excerpt__of_all_fields_cut_anywhere__reads_as_the_object),
        cmocka_unit_test(excerpt__odd_text__is_done_or_broken_and_never_more),
        cmocka_unit_test(excerpt__member_above_the_bound__is_null_and_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
