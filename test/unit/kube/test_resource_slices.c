/* ResourceSlices of the three versions, and of none. */
#include "base/compiler.h"
#include "kube/resource_slices.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct json_reader reader;

/* "name@version driver node,node any" */
static void render(const struct resource_slice *s, char *at, size_t room)
{
    size_t n = (size_t)snprintf(at, room, "%.*s@%.*s %.*s ", STR_ARG(s->name), STR_ARG(s->resource_version),
                                STR_ARG(s->driver));

    for (size_t i = 0; i < s->node_n; i++) {
        n += (size_t)snprintf(at + n, room - n, "%s%.*s", i > 0 ? "," : "", STR_ARG(s->nodes[i]));
    }
    snprintf(at + n, room - n, "%s", s->anywhere ? " any" : "");
}

#define META "\"metadata\":{\"name\":\"s\",\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"}}"
#define POOL "\"pool\":{\"name\":\"p\",\"generation\":1,\"resourceSliceCount\":1}"
#define SPEC(more) "{" META ",\"spec\":{\"driver\":\"gpu.nvidia.com\"," POOL "," more "}}"

static void resource_slice__each_way_to_name_nodes__found(void **state)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"v1",
         SPEC("\"nodeName\":\"a\",\"devices\":[{\"name\":\"gpu-0\",\"attributes\":{\"uuid\":{\"string\":\"GPU-a\"}}}]"),
         "s@7 gpu.nvidia.com a"},
        {"v1beta1", SPEC("\"nodeName\":\"a\",\"devices\":[{\"name\":\"gpu-0\",\"basic\":{\"attributes\":{}}}]"),
         "s@7 gpu.nvidia.com a"},
        {"no devices", SPEC("\"nodeName\":\"a\",\"devices\":null"), "s@7 gpu.nvidia.com a"},
        {"all nodes", SPEC("\"allNodes\":true"), "s@7 gpu.nvidia.com  any"},
        {"not all nodes", SPEC("\"nodeName\":\"a\",\"allNodes\":false,\"nodeSelector\":null"), "s@7 gpu.nvidia.com a"},
        {"a selector", SPEC("\"nodeSelector\":{\"nodeSelectorTerms\":[]}"), "s@7 gpu.nvidia.com  any"},
        {"each device", SPEC("\"perDeviceNodeSelection\":true,\"devices\":[{\"nodeName\":\"a\"},{\"nodeName\":\"b\"}]"),
         "s@7 gpu.nvidia.com a,b"},
        {"one device anywhere",
         SPEC("\"perDeviceNodeSelection\":true,\"devices\":[{\"nodeName\":\"a\"},{\"allNodes\":true},{\"allNodes\":"
              "false}]"),
         "s@7 gpu.nvidia.com a any"},
        {"one device by a selector", SPEC("\"devices\":[{\"nodeSelector\":{}}]"), "s@7 gpu.nvidia.com  any"},
        {"nothing", "{" META "}", "s@7  "},
        {"null", "{\"metadata\":null,\"spec\":null}", "@  "},
    };
    char got[256];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct resource_slice s;
        struct arena a;

        arena_init(&a, 1 << 20);
        json_reader_init(&reader, str_of(rows[i].text), &a);
        assert_true(kube_decode_slice(&reader, &s));
        assert_int_equal(json_read_end(&reader, NULL), 0);
        render(&s, got, sizeof(got));
        if (strcmp(got, rows[i].want) != 0) {
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].name, got, rows[i].want);
        }
        arena_fini(&a);
    }
}

static void resource_slice__bookmark__its_annotation(void **state)
{
    struct resource_slice s;
    struct arena a;

    arena_init(&a, 1 << 20);
    json_reader_init(&reader,
                     STR("{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{\"x\":\"y\","
                         "\"k8s.io/initial-events-end\":\"true\",\"z\":[1]}},\"spec\":{\"devices\":null}}"),
                     &a);
    assert_true(kube_decode_slice(&reader, &s));
    assert_true(str_eq_cstr(s.initial_events_end, "true"));
    arena_fini(&a);
}

static void resource_slice__unreadable__salvaged_for_the_most_it_could_be(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {SPEC("\"nodeName\":\"a\",\"devices\":7"), "s@7 gpu.nvidia.com a"},
        {SPEC("\"nodeName\":7"), "s@7 gpu.nvidia.com  any"},
        {"{" META ",\"spec\":[]}", "s@7   any"},
    };
    char got[256];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct resource_slice s = {.name = STR("left alone")};
        struct str room;
        struct arena a;

        arena_init(&a, 1 << 20);
        json_reader_init(&reader, str_of(rows[i].text), &a);
        assert_false(kube_decode_slice(&reader, &s));
        assert_true(str_eq_cstr(s.name, "left alone"));
        kube_salvage_slice(str_of(rows[i].text), &s, &room);
        render(&s, got, sizeof(got));
        assert_string_equal(got, rows[i].want);
        arena_fini(&a);
    }
}

static void resource_slice__more_devices_than_upstream_allows__anywhere(void **state)
{
    static char text[16384];
    size_t n = (size_t)snprintf(text, sizeof(text), "{" META ",\"spec\":{\"devices\":[");
    struct resource_slice s;
    struct arena a;

    for (int i = 0; i < RESOURCE_SLICE_DEVICES_MAX + 2; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s{\"nodeName\":\"n%d\"}", i > 0 ? "," : "", i);
    }
    snprintf(text + n, sizeof(text) - n, "]}}");
    arena_init(&a, 1 << 20);
    json_reader_init(&reader, str_of(text), &a);
    assert_true(kube_decode_slice(&reader, &s));
    assert_true(s.anywhere && s.node_n == RESOURCE_SLICE_DEVICES_MAX + 1);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resource_slice__each_way_to_name_nodes__found),
        cmocka_unit_test(resource_slice__bookmark__its_annotation),
        cmocka_unit_test(resource_slice__unreadable__salvaged_for_the_most_it_could_be),
        cmocka_unit_test(resource_slice__more_devices_than_upstream_allows__anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
