#include "kube/intent_object.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define OBJECTS STR("fgpu-system/fgpu-intents")
#define NONE ((struct intent_object){0})

static struct strbuf out, text;

static int setup(void **state)
{
    strbuf_init(&out, INTENT_OBJECT_BYTES_MAX);
    strbuf_init(&text, INTENT_OBJECT_BYTES_MAX);
    return 0;
}

static int teardown(void **state)
{
    strbuf_fini(&out);
    strbuf_fini(&text);
    return 0;
}

#define META "\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"7\",\"uid\":\"u\",\"annotations\":{"

static void read__of_this_node__as_it_says(void **state)
{
    struct intent_object o;

    assert_int_equal(
        intent_object_read(STR("{" META "\"fgpu.io/node\":\"n1\",\"fgpu.io/intents\":\"a b\\n\",\"x\":\"y\"}}}"),
                           STR("n1"), &text, &o, NULL),
        0);
    assert_string_equal(o.revision, "7");
    assert_string_equal(o.uid, "u");
    assert_true(str_eq(o.intents, STR("a b\n")));
}

static void read__not_of_this_node_or_without_intents__refused(void **state)
{
    static const char *const bodies[] = {
        "{" META "\"fgpu.io/node\":\"n2\",\"fgpu.io/intents\":\"\"}}}",
        "{" META "\"fgpu.io/intents\":\"\"}}}",
        "{" META "\"fgpu.io/node\":\"n1\"}}}",
        "{\"metadata\":{\"annotations\":{\"fgpu.io/node\":\"n1\",\"fgpu.io/intents\":\"\"}}}",
        "{\"metadata\":null}",
        "nonsense",
    };
    struct intent_object o;

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        if (intent_object_read(str_of(bodies[i]), STR("n1"), &text, &o, NULL) == 0) {
            fail_msg("%s was read", bodies[i]);
        }
        assert_string_equal(o.revision, "");
    }
}

static const char *path_of(struct str node)
{
    strbuf_reset(&out);
    intent_object_path(OBJECTS, node, &out);
    return out.p;
}

static void path__name_of_the_node__behind_the_prefix(void **state)
{
    assert_string_equal(path_of(STR("n1.example")),
                        "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases/fgpu-intents.n1.example");
    strbuf_reset(&out);
    intent_object_create_path(OBJECTS, &out);
    assert_string_equal(out.p, "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases");
}

/* A name has at most 253 characters, and two nodes must not share one if that can be helped. */
static void path__name_too_long__shortened_and_told_apart(void **state)
{
    char node[254], first[600], *name;

    memset(node, 'a', sizeof(node));
    node[253] = '\0';
    snprintf(first, sizeof(first), "%s", path_of(str_of(node)));
    name = strrchr(first, '/') + 1;
    assert_int_equal(strlen(name), 253);
    assert_memory_equal(name, "fgpu-intents.aaaa", 17);
    node[252] = 'b';
    assert_string_not_equal(path_of(str_of(node)), first);
    node[253 - 13] = '\0'; /* it just fits */
    assert_int_equal(strlen(strrchr(path_of(str_of(node)), '/') + 1), 253);
    assert_non_null(strstr(out.p, node));
    memset(node, '.', 253);
    node[0] = 'a';
    node[253] = '\0';
    assert_non_null(strstr(path_of(str_of(node)), "/fgpu-intents.a-")); /* no label may end in a dot */
}

static void body__no_object_yet__created(void **state)
{
    intent_object_body(OBJECTS, STR("n1"), &NONE, STR("x y\n"), STR("me"), &out);
    assert_string_equal(
        out.p, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
               "\"namespace\":\"fgpu-system\",\"name\":\"fgpu-intents.n1\",\"labels\":{\"fgpu.io/intents\":\"\"},"
               "\"annotations\":{\"fgpu.io/node\":\"n1\",\"fgpu.io/intents\":\"x y\\n\"},"
               "\"finalizers\":[\"fgpu.io/intents\"]},\"spec\":{\"holderIdentity\":\"me\"}}");
}

static void body__as_it_was_read__that_revision_and_no_other(void **state)
{
    const struct intent_object seen = {.revision = "7", .uid = "u"};

    intent_object_body(OBJECTS, STR("n1"), &seen, STR(""), STR("me"), &out);
    assert_string_equal(out.p, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
                               "\"uid\":\"u\",\"resourceVersion\":\"7\","
                               "\"annotations\":{\"fgpu.io/node\":\"n1\",\"fgpu.io/intents\":\"\"},"
                               "\"finalizers\":[]},\"spec\":{\"holderIdentity\":\"me\"}}");
}

static void list__path__a_page_of_those_with_the_label(void **state)
{
    strbuf_reset(&out);
    intent_object_list_path(OBJECTS, STR(""), &out);
    assert_string_equal(out.p, "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases"
                               "?labelSelector=fgpu.io%2Fintents&limit=100");
    intent_object_list_path(OBJECTS, STR("a=&b"), &out);
    assert_non_null(strstr(out.p, "&limit=100&continue=a%3D%26b"));
}

static void add_found(void *ctx, struct str node)
{
    struct strbuf *found = ctx;

    strbuf_add_str(found, node);
    strbuf_add_char(found, ' ');
}

#define ITEM(name, annotations) "{\"metadata\":{\"name\":\"" name "\",\"annotations\":{" annotations "}}}"
#define ITEM_OF(name, node) ITEM(name, "\"fgpu.io/intents\":\"a b\\n\",\"fgpu.io/node\":\"" node "\"")

/* Leases of others have the label when somebody gives it to them. */
static void list__page__nodes_of_our_objects_and_where_it_goes_on(void **state)
{
    struct strbuf found;

    strbuf_init(&found, 1000);
    assert_int_equal(
        intent_object_list_read(
            OBJECTS,
            STR("{\"items\":[" ITEM_OF("fgpu-intents.n1", "n1") "," ITEM_OF("others.n2", "n2") "," ITEM_OF(
                "fgpu-intents.n3",
                "n4") "," ITEM("fgpu-intents.", "") "," ITEM("fgpu-intents.n5",
                                                             "\"fgpu.io/node\":null") ",{\"metadata\":null},{}"
                                                                                      "," ITEM_OF("fgpu-intents.n6",
                                                                                                  "n6") "],"
                                                                                                        "\"metadata\":{"
                                                                                                        "\"continue\":"
                                                                                                        "\"t\"}}"),
            add_found, &found, &text, NULL),
        0);
    assert_string_equal(found.p, "n1 n6 ");
    assert_string_equal(text.p, "t");
    assert_int_equal(
        intent_object_list_read(OBJECTS, STR("{\"metadata\":{},\"items\":null}"), add_found, &found, &text, NULL), 0);
    assert_int_equal(text.n, 0);
    assert_true(intent_object_list_read(OBJECTS, STR("{\"items\":[7]}"), add_found, &found, &text, NULL) != 0);
    assert_true(intent_object_list_read(OBJECTS, STR("nonsense"), add_found, &found, &text, NULL) != 0);
    assert_string_equal(found.p, "n1 n6 ");
    strbuf_fini(&found);
}

/* The end of the name is cut off where it would end in what no label may end in; of such a name nothing is left. */
static void list__hostile_name_of_a_node__not_ours(void **state)
{
    char body[1000], node[300];
    struct strbuf found;

    strbuf_init(&found, 1000);
    memset(node, '.', sizeof(node));
    node[sizeof(node) - 1] = '\0';
    snprintf(body, sizeof(body), "{\"items\":[" ITEM_OF("fgpu-intents.n1", "%s") "]}", node);
    assert_int_equal(intent_object_list_read(OBJECTS, str_of(body), add_found, &found, &text, NULL), 0);
    assert_int_equal(found.n, 0);
    strbuf_fini(&found);
}

static void delete__that_revision_and_no_other(void **state)
{
    const struct intent_object seen = {.revision = "7", .uid = "u"};

    intent_object_delete_body(&seen, &out);
    assert_string_equal(out.p, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
                               "\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read__of_this_node__as_it_says, setup, teardown),
        cmocka_unit_test_setup_teardown(read__not_of_this_node_or_without_intents__refused, setup, teardown),
        cmocka_unit_test_setup_teardown(path__name_of_the_node__behind_the_prefix, setup, teardown),
        cmocka_unit_test_setup_teardown(path__name_too_long__shortened_and_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(body__no_object_yet__created, setup, teardown),
        cmocka_unit_test_setup_teardown(body__as_it_was_read__that_revision_and_no_other, setup, teardown),
        cmocka_unit_test_setup_teardown(list__path__a_page_of_those_with_the_label, setup, teardown),
        cmocka_unit_test_setup_teardown(list__page__nodes_of_our_objects_and_where_it_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(list__hostile_name_of_a_node__not_ours, setup, teardown),
        cmocka_unit_test_setup_teardown(delete__that_revision_and_no_other, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
