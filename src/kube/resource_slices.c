#include "kube/resource_slices.h"

#include "scan_internal.h"

#include "base/bug.h"

#include <string.h>

static bool read_text(struct json_reader *r, struct str *ret)
{
    return json_accept_null(r) || json_string(r, ret);
}

static void read_annotations(struct json_reader *r, struct resource_slice *s)
{
    struct str key;

    if (json_accept_null(r)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        struct kv *one = str_eq(key, STR("k8s.io/initial-events-end")) ? ARENA_NEW(r->arena, struct kv) : NULL;

        if (one == NULL) { /* nobody asks for others */
            json_skip(r);
        } else if (json_string(r, &one->value)) {
            one->key = key;
            s->annotations = (struct kv_list){one, 1};
        }
    }
}

static void read_metadata(struct json_reader *r, struct resource_slice *s)
{
    struct str key;

    if (json_accept_null(r)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("name"))) {
            read_text(r, &s->name);
        } else if (str_eq(key, STR("resourceVersion"))) {
            read_text(r, &s->resource_version);
        } else if (str_eq(key, STR("annotations"))) {
            read_annotations(r, s);
        } else {
            json_skip(r);
        }
    }
}

static void add_node(struct json_reader *r, struct resource_slice *s, struct str *nodes)
{
    struct str name = STR_NULL;

    if (!read_text(r, &name) || name.n == 0) {
        return;
    }
    if (s->node_n > RESOURCE_SLICE_DEVICES_MAX) {
        s->anywhere = true;
        return;
    }
    nodes[s->node_n++] = name;
}

/* Where the slice, or one of its devices, is to be used; false when `key` says nothing of it. */
static bool read_place(struct json_reader *r, struct str key, struct resource_slice *s, struct str *nodes)
{
    bool all = false;

    if (str_eq(key, STR("nodeName"))) {
        add_node(r, s, nodes);
    } else if (str_eq(key, STR("nodeSelector"))) {
        s->anywhere = s->anywhere || json_peek(r) != JSON_NULL;
        json_skip(r);
    } else if (str_eq(key, STR("allNodes"))) {
        if (!json_accept_null(r) && json_bool(r, &all) && all) {
            s->anywhere = true;
        }
    } else {
        return false;
    }
    return true;
}

static void read_devices(struct json_reader *r, struct resource_slice *s, struct str *nodes)
{
    struct str key;

    if (json_accept_null(r)) {
        return;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        json_object_begin(r);
        while (json_object_next(r, &key)) {
            if (!read_place(r, key, s, nodes)) {
                json_skip(r);
            }
        }
    }
}

static void read_spec(struct json_reader *r, struct resource_slice *s, struct str *nodes)
{
    struct str key;

    if (json_accept_null(r)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("driver"))) {
            read_text(r, &s->driver);
        } else if (str_eq(key, STR("devices"))) {
            read_devices(r, s, nodes);
        } else if (!read_place(r, key, s, nodes)) {
            json_skip(r);
        }
    }
}

bool kube_decode_slice(struct json_reader *r, struct resource_slice *ret)
{
    struct resource_slice s = {.anywhere = false};
    struct str *nodes, key;

    BUG_ON(r->arena == NULL);
    nodes = ARENA_ARRAY(r->arena, RESOURCE_SLICE_DEVICES_MAX + 1, struct str);
    if (nodes == NULL) {
        json_fail(r, ERR_LIMIT, "the object needs more memory than one object may use");
        return false;
    }
    s.nodes = nodes;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("metadata"))) {
            read_metadata(r, &s);
        } else if (str_eq(key, STR("spec"))) {
            read_spec(r, &s, nodes);
        } else {
            json_skip(r);
        }
    }
    if (json_failed(r)) {
        return false;
    }
    *ret = s;
    return true;
}

void kube_salvage_slice(struct str text, struct resource_slice *ret, struct str *buffer)
{
    struct str metadata = scan_member(text, STR("metadata")), spec = scan_member(text, STR("spec"));

    *buffer = scan_member_text(spec, STR("nodeName"));
    *ret = (struct resource_slice){
        .name = scan_member_text(metadata, STR("name")),
        .resource_version = scan_member_text(metadata, STR("resourceVersion")),
        .driver = scan_member_text(spec, STR("driver")),
        .nodes = buffer,
        .node_n = buffer->n > 0,
        .anywhere = buffer->n == 0,
    };
}
