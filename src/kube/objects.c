/* kube/objects.c - decoding by table: one row per field that fgpu reads. */
#include "kube/objects.h"

#include "objects_internal.h"
#include "scan_internal.h"

#include "base/bug.h"

#include <stddef.h>
#include <string.h>

/* ---- containers ---- */

static bool decode_resources(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("limits"), kube_decode_kv_list, offsetof(struct container, limits)},
        {STR("requests"), kube_decode_kv_list, offsetof(struct container, requests)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_always(struct json_reader *r, void *at)
{
    struct str policy = STR_NULL;
    if (!kube_decode_text(r, &policy)) {
        return false;
    }
    *(bool *)at = str_eq(policy, STR("Always"));
    return true;
}

static bool decode_container(struct json_reader *r, struct container *c)
{
    static const struct kube_field fields[] = {
        {STR("name"), kube_decode_text, offsetof(struct container, name)},
        {STR("resources"), decode_resources, 0},
        {STR("restartPolicy"), decode_always, offsetof(struct container, sidecar)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), c);
}

static bool decode_container_list(struct json_reader *r, bool is_init, const struct container **ret, size_t *ret_n)
{
    struct container *items = NULL;
    size_t n = 0, cap = 0;
    if (json_accept_null(r)) {
        return true;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        if (n == KUBE_CONTAINERS_MAX) {
            json_fail(r, ERR_LIMIT, "more containers than the API server can hold");
            return false;
        }
        struct container *buffer = kube_decode_grow(r, items, n, &cap, sizeof(*items));
        if (buffer == NULL) {
            return false;
        }
        items = buffer;
        if (!decode_container(r, &items[n])) {
            return false;
        }
        /* a restart policy makes a sidecar of an init container only (KEP-753, KEP-5307) */
        items[n].sidecar = items[n].sidecar && is_init;
        n++;
    }
    *ret = items;
    *ret_n = n;
    return !json_failed(r);
}

static bool decode_init_containers(struct json_reader *r, void *at)
{
    struct pod *p = at;
    return decode_container_list(r, true, &p->init_containers, &p->init_container_n);
}

static bool decode_containers(struct json_reader *r, void *at)
{
    struct pod *p = at;
    return decode_container_list(r, false, &p->containers, &p->container_n);
}

/* ---- pod ---- */

static enum pod_phase phase_of(struct str word)
{
    static const struct {
        struct str word;
        enum pod_phase phase;
    } phases[] = {
        {STR(""), POD_PENDING}, /* not defaulted yet */
        {STR("Pending"), POD_PENDING}, {STR("Running"), POD_RUNNING}, {STR("Succeeded"), POD_SUCCEEDED},
        {STR("Failed"), POD_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        if (str_eq(word, phases[i].word)) {
            return phases[i].phase;
        }
    }
    return POD_PHASE_UNKNOWN;
}

static bool decode_phase(struct json_reader *r, void *at)
{
    struct str word = STR_NULL;
    if (!kube_decode_text(r, &word)) {
        return false;
    }
    *(enum pod_phase *)at = phase_of(word);
    return true;
}

static bool decode_pod_metadata(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("name"), kube_decode_text, offsetof(struct pod, name)},
        {STR("namespace"), kube_decode_text, offsetof(struct pod, namespace_)},
        {STR("uid"), kube_decode_text, offsetof(struct pod, uid)},
        {STR("resourceVersion"), kube_decode_text, offsetof(struct pod, resource_version)},
        {STR("creationTimestamp"), kube_decode_moment, offsetof(struct pod, created_ms)},
        {STR("deletionTimestamp"), kube_decode_presence, offsetof(struct pod, deleting)},
        {STR("labels"), kube_decode_kv_list, offsetof(struct pod, labels)},
        {STR("annotations"), kube_decode_kv_list, offsetof(struct pod, annotations)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_pod_resources(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("limits"), kube_decode_kv_list, offsetof(struct pod, limits)},
        {STR("requests"), kube_decode_kv_list, offsetof(struct pod, requests)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_pod_spec(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("containers"), decode_containers, 0},
        {STR("initContainers"), decode_init_containers, 0},
        {STR("nodeName"), kube_decode_text, offsetof(struct pod, node_name)},
        {STR("schedulerName"), kube_decode_text, offsetof(struct pod, scheduler_name)},
        {STR("priority"), kube_decode_i32, offsetof(struct pod, priority)},
        {STR("preemptionPolicy"), kube_decode_text, offsetof(struct pod, preemption_policy)},
        {STR("resources"), decode_pod_resources, 0},
        {STR("overhead"), kube_decode_kv_list, offsetof(struct pod, overhead)},
        {STR("tolerations"), kube_decode_tolerations, 0},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_pod_status(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("phase"), decode_phase, offsetof(struct pod, phase)},
        {STR("nominatedNodeName"), kube_decode_text, offsetof(struct pod, nominated_node_name)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

/* What stands in an object that nobody reads is no reason to refuse it. */
static bool decode_stored(struct json_reader *r, const struct kube_field *fields, size_t field_n, void *into)
{
    bool before = r->as_stored;
    BUG_ON(r->arena == NULL);
    r->as_stored = true;
    bool ok = kube_decode_object(r, fields, field_n, into);
    r->as_stored = before;
    return ok;
}

bool kube_decode_pod(struct json_reader *r, struct pod *ret)
{
    static const struct kube_field fields[] = {
        {STR("metadata"), decode_pod_metadata, 0},
        {STR("spec"), decode_pod_spec, 0},
        {STR("status"), decode_pod_status, 0},
    };
    struct pod pod = {.phase = POD_PENDING};
    if (!decode_stored(r, fields, ARRAY_LEN(fields), &pod)) {
        return false;
    }
    *ret = pod;
    return true;
}

/* ---- node ---- */

static bool decode_node_metadata(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("name"), kube_decode_text, offsetof(struct node, name)},
        {STR("uid"), kube_decode_text, offsetof(struct node, uid)},
        {STR("resourceVersion"), kube_decode_text, offsetof(struct node, resource_version)},
        {STR("labels"), kube_decode_kv_list, offsetof(struct node, labels)},
        {STR("annotations"), kube_decode_kv_list, offsetof(struct node, annotations)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_node_spec(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("unschedulable"), kube_decode_flag, offsetof(struct node, unschedulable)},
        {STR("taints"), kube_decode_taints, 0},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_node_status(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("allocatable"), kube_decode_kv_list, offsetof(struct node, allocatable)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

bool kube_decode_node(struct json_reader *r, struct node *ret)
{
    static const struct kube_field fields[] = {
        {STR("metadata"), decode_node_metadata, 0},
        {STR("spec"), decode_node_spec, 0},
        {STR("status"), decode_node_status, 0},
    };
    struct node node = {.unschedulable = false};
    if (!decode_stored(r, fields, ARRAY_LEN(fields), &node)) {
        return false;
    }
    *ret = node;
    return true;
}

/* ---- status ---- */

static bool decode_status_details(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("retryAfterSeconds"), kube_decode_i32, offsetof(struct kube_status, retry_after_s)},
    };
    return kube_decode_object(r, fields, ARRAY_LEN(fields), at);
}

bool kube_decode_status(struct json_reader *r, struct kube_status *ret)
{
    static const struct kube_field fields[] = {
        {STR("code"), kube_decode_i32, offsetof(struct kube_status, code)},
        {STR("reason"), kube_decode_text, offsetof(struct kube_status, reason)},
        {STR("message"), kube_decode_text, offsetof(struct kube_status, message)},
        {STR("details"), decode_status_details, 0},
    };
    struct kube_status status = {.code = 0};
    BUG_ON(r->arena == NULL);
    if (!kube_decode_object(r, fields, ARRAY_LEN(fields), &status)) {
        return false;
    }
    *ret = status;
    return true;
}

/* ---- whole texts ---- */

int kube_parse_pod(struct json_reader *r, struct str text, struct arena *arena, struct pod *ret, struct err *reterr)
{
    struct pod pod = {.phase = POD_PENDING};
    json_reader_init(r, text, arena);
    kube_decode_pod(r, &pod);
    int rc = json_read_end(r, reterr);
    if (rc == 0) {
        *ret = pod;
    }
    return rc;
}

int kube_parse_node(struct json_reader *r, struct str text, struct arena *arena, struct node *ret, struct err *reterr)
{
    struct node node = {.unschedulable = false};
    json_reader_init(r, text, arena);
    kube_decode_node(r, &node);
    int rc = json_read_end(r, reterr);
    if (rc == 0) {
        *ret = node;
    }
    return rc;
}

int kube_parse_status(struct json_reader *r, struct str text, struct arena *arena, struct kube_status *ret,
                      struct err *reterr)
{
    struct kube_status status = {.code = 0};
    json_reader_init(r, text, arena);
    kube_decode_status(r, &status);
    int rc = json_read_end(r, reterr);
    if (rc == 0) {
        *ret = status;
    }
    return rc;
}

void kube_salvage_pod(struct str text, struct pod *ret)
{
    struct str metadata = scan_member(text, STR("metadata"));
    struct str spec = scan_member(text, STR("spec"));
    struct str status = scan_member(text, STR("status"));
    *ret = (struct pod){
        .namespace_ = scan_member_text(metadata, STR("namespace")),
        .name = scan_member_text(metadata, STR("name")),
        .uid = scan_member_text(metadata, STR("uid")),
        .resource_version = scan_member_text(metadata, STR("resourceVersion")),
        .node_name = scan_member_text(spec, STR("nodeName")),
        .scheduler_name = scan_member_text(spec, STR("schedulerName")),
        .phase = phase_of(scan_member_text(status, STR("phase"))),
    };
}

void kube_salvage_node(struct str text, struct node *ret)
{
    struct str metadata = scan_member(text, STR("metadata"));
    *ret = (struct node){
        .name = scan_member_text(metadata, STR("name")),
        .uid = scan_member_text(metadata, STR("uid")),
        .resource_version = scan_member_text(metadata, STR("resourceVersion")),
    };
}
