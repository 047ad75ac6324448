#include "kube/resource_slices.h"

#include "objects_internal.h"
#include "scan_internal.h"

#include "base/bug.h"

#include <stddef.h>

struct reading {
    struct resource_slice slice;
    struct str nodes[RESOURCE_SLICE_DEVICES_MAX + 1]; /* slice.nodes */
};

static const struct kube_field annotations_fields[] = {
    {STR("k8s.io/initial-events-end"), kube_decode_text, offsetof(struct reading, slice.initial_events_end)},
    {STR_NULL},
};

static const struct kube_field metadata_fields[] = {
    {STR("name"), kube_decode_text, offsetof(struct reading, slice.name)},
    {STR("resourceVersion"), kube_decode_text, offsetof(struct reading, slice.resource_version)},
    {STR("annotations"), .inner = annotations_fields},
    {STR_NULL},
};

static bool decode_node_name(struct json_reader *r, void *at)
{
    struct reading *in = at;
    struct str name = STR_NULL;

    if (!kube_decode_text(r, &name) || name.n == 0) {
        return !json_failed(r);
    }
    if (in->slice.node_n == ARRAY_LEN(in->nodes)) {
        in->slice.anywhere = true;
    } else {
        in->nodes[in->slice.node_n++] = name;
    }
    return true;
}

static bool decode_selector(struct json_reader *r, void *at)
{
    struct reading *in = at;

    in->slice.anywhere = in->slice.anywhere || json_peek(r) != JSON_NULL;
    return json_skip(r);
}

static bool decode_all_nodes(struct json_reader *r, void *at)
{
    struct reading *in = at;
    bool all = false;

    if (!kube_decode_flag(r, &all)) {
        return false;
    }
    in->slice.anywhere = in->slice.anywhere || all;
    return true;
}

static const struct kube_field device_fields[] = {
    {STR("nodeName"), decode_node_name},
    {STR("nodeSelector"), decode_selector},
    {STR("allNodes"), decode_all_nodes},
    {STR_NULL},
};

static bool decode_devices(struct json_reader *r, void *at)
{
    if (json_accept_null(r)) {
        return true;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        kube_decode_object(r, device_fields, at);
    }
    return !json_failed(r);
}

static const struct kube_field spec_fields[] = {
    {STR("driver"), kube_decode_text, offsetof(struct reading, slice.driver)},
    {STR("devices"), decode_devices, 0, device_fields},
    {STR("nodeName"), decode_node_name},
    {STR("nodeSelector"), decode_selector},
    {STR("allNodes"), decode_all_nodes},
    {STR_NULL},
};

const struct kube_field kube_slice_fields[] = {
    {STR("metadata"), .inner = metadata_fields},
    {STR("spec"), .inner = spec_fields},
    {STR_NULL},
};

bool kube_decode_slice(struct json_reader *r, struct resource_slice *ret)
{
    struct reading *in;

    BUG_ON(r->arena == NULL);
    in = ARENA_NEW(r->arena, struct reading);
    if (in == NULL) {
        json_fail(r, ERR_LIMIT, "the object needs more memory than one object may use");
        return false;
    }
    in->slice.nodes = in->nodes;
    if (!kube_decode_object(r, kube_slice_fields, in)) {
        return false;
    }
    *ret = in->slice;
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
