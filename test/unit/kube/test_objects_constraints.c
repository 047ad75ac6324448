/* What of a pod decides in kube-scheduler's own filters, and that nothing of it makes a pod unreadable. */
#include "kube/objects.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <string.h>

static struct json_reader reader;
static struct arena arena;

static int setup(void **state)
{
    arena_init(&arena, 4 * 1024 * 1024);
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    return 0;
}

static struct pod parse(const char *text)
{
    struct pod p;
    struct err err;

    if (kube_parse_pod(&reader, str_of(text), &arena, &p, &err) != 0) {
        fail_msg("%s: %s", text, err.msg);
    }
    return p;
}

#define AFFINITY(text) "{\"spec\":{\"affinity\":{" text "}}}"
#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\":"
#define PREFERRED "\"preferredDuringSchedulingIgnoredDuringExecution\":"

static void constraints__each_by_itself__is_noted(void **state)
{
    static const struct {
        const char *text;
        unsigned want;
    } rows[] = {
        {"{\"spec\":{}}", 0},
        {"{\"spec\":{\"schedulingGates\":[],\"volumes\":[],\"resourceClaims\":null,\"affinity\":null}}", 0},
        {"{\"spec\":{\"schedulingGates\":[{\"name\":\"g\"}]}}", POD_GATED},
        {"{\"spec\":{\"topologySpreadConstraints\":[{\"maxSkew\":1}]}}", POD_SPREADS},
        {"{\"spec\":{\"resourceClaims\":[{\"name\":\"r\"}]}}", POD_CLAIMS},
        {"{\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"g\"}}}", POD_GROUPED},
        {"{\"spec\":{\"workloadRef\":{\"name\":\"g\"}}}", POD_GROUPED},
        /* volumes: of these kinds, which any node makes, ... */
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":\"b\",\"secret\":{\"secretName\":\"s\"}},"
         "{\"configMap\":{},\"name\":\"c\"},{\"name\":\"d\",\"downwardAPI\":{}},{\"name\":\"e\",\"projected\":{}}]}}",
         0},
        /* ... and of no other, nor of one that nobody knows, nor of two, nor of none */
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]}}", POD_VOLUMES},
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"hostPath\":{\"path\":\"/\"}}]}}", POD_VOLUMES},
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"ephemeral\":{}}]}}", POD_VOLUMES},
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"newKind\":{}}]}}", POD_VOLUMES},
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{},\"csi\":{}}]}}", POD_VOLUMES},
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{},\"secret\":{}}]}}", POD_VOLUMES},
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\"}]}}", POD_VOLUMES},
        {"{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":null}]}}", POD_VOLUMES},
        /* ports */
        {"{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":80}]}]}}", 0},
        {"{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":80,\"hostPort\":0}]}]}}", 0},
        {"{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":80},{\"hostPort\":80}]}]}}", POD_HOST_PORTS},
        {"{\"spec\":{\"initContainers\":[{\"ports\":[{\"hostPort\":80}]}]}}", POD_HOST_PORTS},
        {"{\"spec\":{\"hostNetwork\":true,\"containers\":[{}]}}", 0},
        {"{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":80}]}],\"hostNetwork\":true}}", POD_HOST_PORTS},
        /* affinity to other pods */
        {AFFINITY("\"podAffinity\":{},\"podAntiAffinity\":{" REQUIRED "[]," PREFERRED "[]}"), 0},
        {AFFINITY("\"podAffinity\":{" PREFERRED "[{\"weight\":1}]}"), POD_POD_AFFINITY},
        {AFFINITY("\"podAffinity\":{" REQUIRED "[{\"namespaces\":[\"x\"]}]}"), POD_POD_AFFINITY},
        {AFFINITY("\"podAntiAffinity\":{" PREFERRED "[{\"weight\":1}]}"), POD_POD_AFFINITY},
        {AFFINITY("\"podAntiAffinity\":{" REQUIRED "[{\"topologyKey\":\"zone\"}]}"),
         POD_POD_AFFINITY | POD_KEEPS_OTHERS_OFF},
        {AFFINITY("\"podAntiAffinity\":{" REQUIRED "[{\"namespaceSelector\":{}}]}"),
         POD_POD_AFFINITY | POD_KEEPS_OTHERS_OFF | POD_KEEPS_ALL_OFF},
        {AFFINITY("\"podAntiAffinity\":{" REQUIRED "[{\"namespaces\":[\"a\"]}]}"),
         POD_POD_AFFINITY | POD_KEEPS_OTHERS_OFF | POD_KEEPS_ALL_OFF},
        /* what is of another type than it should be, or unknown: never a reason not to read the pod */
        {"{\"spec\":{\"schedulingGates\":{}}}", POD_CONSTRAINTS_ODD},
        {"{\"spec\":{\"volumes\":7}}", POD_CONSTRAINTS_ODD},
        {"{\"spec\":{\"volumes\":[7]}}", POD_CONSTRAINTS_ODD},
        {"{\"spec\":{\"hostNetwork\":\"yes\"}}", POD_CONSTRAINTS_ODD},
        {"{\"spec\":{\"nodeSelector\":[\"a\"]}}", POD_CONSTRAINTS_ODD},
        {"{\"spec\":{\"nodeSelector\":{\"a\":7}}}", POD_CONSTRAINTS_ODD},
        {"{\"spec\":{\"affinity\":[]}}", POD_CONSTRAINTS_ODD},
        {AFFINITY("\"lunarAffinity\":{}"), POD_CONSTRAINTS_ODD},
        {AFFINITY("\"nodeAffinity\":{" REQUIRED "[]}"), POD_CONSTRAINTS_ODD},
        {AFFINITY("\"nodeAffinity\":{" REQUIRED "{\"nodeSelectorTerms\":[7]}}"), POD_CONSTRAINTS_ODD},
        {AFFINITY("\"nodeAffinity\":{" REQUIRED "{\"nodeSelectorTerms\":[{\"matchStars\":[]}]}}"), POD_CONSTRAINTS_ODD},
        {AFFINITY("\"nodeAffinity\":{" REQUIRED "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":1}]}]}}"),
         POD_CONSTRAINTS_ODD},
        {"{\"spec\":{\"containers\":[{\"ports\":[7]}]}}", POD_HOST_PORTS},
        {"{\"spec\":{\"containers\":[{\"ports\":{}}]}}", POD_HOST_PORTS},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod p = parse(rows[i].text);

        if (pod_scheduler_only(&p) != rows[i].want) {
            fail_msg("%s: %x, not %x", rows[i].text, pod_scheduler_only(&p), rows[i].want);
        }
    }
}

static void node_affinity__terms__are_read_in_order(void **state)
{
    struct pod p = parse(
        AFFINITY("\"nodeAffinity\":{" REQUIRED "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\","
                 "\"operator\":\"In\",\"values\":[\"1\",\"2\",\"3\"]},"
                 "{\"key\":\"b\",\"operator\":\"NotIn\",\"values\":[\"x\"]},{\"key\":\"c\",\"operator\":\"Exists\"},"
                 "{\"key\":\"d\",\"operator\":\"DoesNotExist\"},{\"key\":\"e\",\"operator\":\"Gt\",\"values\":[\"5\"]},"
                 "{\"key\":\"f\",\"operator\":\"Lt\",\"values\":[\"6\"]},{\"key\":\"g\",\"operator\":\"Near\"},{"
                 "\"key\":\"h\"}]},"
                 "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]},{}]}}"));
    const struct node_requirement *q;

    assert_true(p.requires_nodes);
    assert_int_equal(p.node_term_n, 3);
    assert_int_equal(p.node_terms[0].expression_n, 8);
    assert_int_equal(p.node_terms[0].field_n, 0);
    q = p.node_terms[0].expressions;
    assert_true(str_eq_cstr(q[0].key, "a"));
    assert_int_equal(q[0].value_n, 3);
    assert_true(str_eq_cstr(q[0].values[2], "3"));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(q[i].operator_, REQUIREMENT_IN + i);
    }
    assert_int_equal(q[6].operator_, REQUIREMENT_UNKNOWN);
    assert_int_equal(q[7].operator_, REQUIREMENT_UNKNOWN);
    assert_int_equal(p.node_terms[1].field_n, 1);
    assert_int_equal(p.node_terms[2].expression_n + p.node_terms[2].field_n, 0);
    assert_int_equal(p.scheduler_only, 0);
    p = parse(AFFINITY("\"nodeAffinity\":{" PREFERRED "[{\"weight\":1,\"preference\":{}}]}"));
    assert_false(p.requires_nodes);
    p = parse(AFFINITY("\"nodeAffinity\":{" REQUIRED "{\"nodeSelectorTerms\":[]}}"));
    assert_true(p.requires_nodes);
    assert_int_equal(p.node_term_n, 0);
    p = parse("{\"spec\":{\"nodeSelector\":{\"a\":\"b\",\"c\":\"\"}}}");
    assert_int_equal(p.node_selector.n, 2);
    assert_true(str_eq_cstr(*kv_find(p.node_selector, STR("c")), ""));
}

/* A tenant's megabyte of constraints costs a note, not memory, and not the pod. */
static void node_affinity__far_too_large__pod_is_read_and_noted(void **state)
{
    struct strbuf text;
    struct pod p;

    strbuf_init(&text, 8 << 20);
    strbuf_addf(&text, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeSelector\":{\"k\":\"v\"");
    for (int i = 0; i < 50000; i++) {
        strbuf_addf(&text, ",\"k%d\":\"\"", i);
    }
    strbuf_addf(&text, "},\"affinity\":{\"nodeAffinity\":{" REQUIRED "{\"nodeSelectorTerms\":[{}");
    for (int i = 0; i < 50000; i++) {
        strbuf_addf(&text, ",{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"1\",\"2\"]},{}]}");
    }
    strbuf_addf(&text, "]}}}}}");
    p = parse(text.p);
    assert_true(str_eq_cstr(p.name, "p"));
    assert_int_equal(p.scheduler_only, POD_CONSTRAINTS_ODD);
    assert_true(p.node_term_n <= 64 && p.node_selector.n <= 64);
    assert_true(arena.used_bytes < 64 * 1024);
    strbuf_fini(&text);
}

#define MANAGED(text) "{\"metadata\":{\"managedFields\":" text "}}"
#define OURS "{\"manager\":\"fgpu-planner\",\"operation\":\"Update\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":"

static void nomination__who_wrote_it__is_known_by_managed_fields(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        {"{}", false},
        {MANAGED("null"), false},
        {MANAGED("[]"), false},
        {MANAGED("[" OURS "{\"f:status\":{\"f:nominatedNodeName\":{}}},\"subresource\":\"status\"}]"), true},
        {MANAGED("[{\"manager\":\"kubectl\",\"fieldsV1\":{\"f:spec\":{}}}, " OURS
                 "{\"f:status\":{\"f:phase\":{},\"f:nominatedNodeName\":{}}}}]"),
         true},
        {MANAGED("[{\"fieldsV1\":{\"f:status\":{\"f:nominatedNodeName\":{}}},\"manager\":\"fgpu-planner\"}]"), true},
        /* ours holds something else; another holds it; both names in one entry's text */
        {MANAGED("[" OURS "{\"f:status\":{\"f:phase\":{}}}}]"), false},
        {MANAGED("[" OURS "{\"f:metadata\":{}}},{\"manager\":\"kube-scheduler\",\"fieldsV1\":{\"f:status\":{"
                 "\"f:nominatedNodeName\":{}}}}]"),
         false},
        {MANAGED("[{\"manager\":\"fgpu-planner2\",\"fieldsV1\":{\"f:status\":{\"f:nominatedNodeName\":{}}}}]"), false},
        {MANAGED("[{\"manager\":\"x\",\"time\":\"fgpu-planner\",\"fieldsV1\":{\"f:status\":{"
                 "\"f:nominatedNodeName\":{}}}}]"),
         false},
        {MANAGED("[{\"manager\":\"x\",\"fieldsV1\":{\"f:metadata\":{\"f:annotations\":{\"f:fgpu-planner\":{}}},"
                 "\"f:status\":{\"f:nominatedNodeName\":{}}}}]"),
         false},
        /* of another shape than the API server writes */
        {MANAGED("\"fgpu-planner\""), false},
        {MANAGED("{\"fgpu-planner\":{}}"), false},
        {MANAGED("[\"fgpu-planner\",7,null,[\"fgpu-planner\"]]"), false},
        {MANAGED("[{\"manager\":\"fgpu-planner\",\"fieldsV1\":\"f:status\"}]"), false},
        {MANAGED("[{\"manager\":\"fgpu-planner\"}]"), false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod p = parse(rows[i].text);

        if (p.nominated_by_planner != rows[i].want) {
            fail_msg("%s: %d", rows[i].text, p.nominated_by_planner);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(constraints__each_by_itself__is_noted, setup, teardown),
        cmocka_unit_test_setup_teardown(node_affinity__terms__are_read_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(node_affinity__far_too_large__pod_is_read_and_noted, setup, teardown),
        cmocka_unit_test_setup_teardown(nomination__who_wrote_it__is_known_by_managed_fields, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
