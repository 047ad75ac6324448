/* kube/objects.c - decoding by table: one row per field that fgpu reads. */
#include "kube/objects.h"

#include "objects_internal.h"
#include "scan_internal.h"

#include "base/bug.h"

#include <stddef.h>
#include <string.h>

/* ---- containers ---- */

static const struct kube_field resources_fields[] = {
    {STR("limits"), kube_decode_kv_list, offsetof(struct container, limits)},
    {STR("requests"), kube_decode_kv_list, offsetof(struct container, requests)},
    {STR_NULL},
};

static bool decode_always(struct json_reader *r, void *at)
{
    struct str policy = STR_NULL;
    if (!kube_decode_text(r, &policy)) {
        return false;
    }
    *(bool *)at = str_eq(policy, STR("Always"));
    return true;
}

static const struct kube_field container_fields[] = {
    {STR("name"), kube_decode_text, offsetof(struct container, name)},
    {STR("resources"), .inner = resources_fields},
    {STR("restartPolicy"), decode_always, offsetof(struct container, sidecar)},
    {STR("ports"), kube_decode_ports, 0, kube_port_fields},
    {STR_NULL},
};

static struct container *decode_container_list(struct json_reader *r, size_t *ret_n)
{
    struct container *items = kube_decode_array(r, container_fields, sizeof(*items), ret_n);
    if (*ret_n > KUBE_CONTAINERS_MAX) {
        json_fail(r, ERR_LIMIT, "more containers than the API server can hold");
    }
    return items;
}

static bool decode_init_containers(struct json_reader *r, void *at)
{
    struct pod *p = at;
    p->init_containers = decode_container_list(r, &p->init_container_n);
    return !json_failed(r);
}

/* A restart policy makes a sidecar of an init container only (KEP-753, KEP-5307). */
static bool decode_containers(struct json_reader *r, void *at)
{
    struct pod *p = at;
    struct container *items = decode_container_list(r, &p->container_n);
    for (size_t i = 0; i < p->container_n; i++) {
        items[i].sidecar = false;
    }
    p->containers = items;
    return !json_failed(r);
}

/* ---- pod ---- */

static const struct kube_word phases[] = {
    {STR(""), POD_PENDING}, /* not defaulted yet */
    {STR("Pending"), POD_PENDING}, {STR("Running"), POD_RUNNING}, {STR("Succeeded"), POD_SUCCEEDED},
    {STR("Failed"), POD_FAILED},   {STR_NULL, POD_PHASE_UNKNOWN},
};

static const struct kube_field pod_metadata_fields[] = {
    {STR("name"), kube_decode_text, offsetof(struct pod, name)},
    {STR("namespace"), kube_decode_text, offsetof(struct pod, namespace_)},
    {STR("uid"), kube_decode_text, offsetof(struct pod, uid)},
    {STR("resourceVersion"), kube_decode_text, offsetof(struct pod, resource_version)},
    {STR("creationTimestamp"), kube_decode_moment, offsetof(struct pod, created_ms)},
    {STR("deletionTimestamp"), kube_decode_presence, offsetof(struct pod, deleting)},
    {STR("labels"), kube_decode_kv_list, offsetof(struct pod, labels)},
    {STR("annotations"), kube_decode_kv_list, offsetof(struct pod, annotations)},
    {STR("managedFields"), kube_decode_managers, 0, kube_managed_fields},
    {STR_NULL},
};

static const struct kube_field pod_resources_fields[] = {
    {STR("limits"), kube_decode_kv_list, offsetof(struct pod, limits)},
    {STR("requests"), kube_decode_kv_list, offsetof(struct pod, requests)},
    {STR_NULL},
};

static const struct kube_field pod_spec_fields[] = {
    {STR("containers"), decode_containers, 0, container_fields},
    {STR("initContainers"), decode_init_containers, 0, container_fields},
    {STR("nodeName"), kube_decode_text, offsetof(struct pod, node_name)},
    {STR("schedulerName"), kube_decode_text, offsetof(struct pod, scheduler_name)},
    {STR("priority"), kube_decode_i32, offsetof(struct pod, priority)},
    {STR("preemptionPolicy"), kube_decode_text, offsetof(struct pod, preemption_policy)},
    {STR("resources"), .inner = pod_resources_fields},
    {STR("overhead"), kube_decode_kv_list, offsetof(struct pod, overhead)},
    {STR("tolerations"), kube_decode_tolerations, 0},
    {STR("volumes"), kube_decode_volumes, 0, kube_volume_fields},
    {STR("nodeSelector"), kube_decode_node_selector, 0},
    {STR("affinity"), kube_decode_affinity, 0, kube_affinity_fields},
    {STR("hostNetwork"), kube_decode_host_network, 0},
    {STR("topologySpreadConstraints"), kube_decode_spreads, 0, kube_nothing_fields},
    {STR("schedulingGates"), kube_decode_gates, 0, kube_nothing_fields},
    {STR("resourceClaims"), kube_decode_claims, 0, kube_nothing_fields},
    {STR("schedulingGroup"), kube_decode_grouped, 0, kube_nothing_fields}, /* 1.36; before that: */
    {STR("workloadRef"), kube_decode_grouped, 0, kube_nothing_fields},
    {STR_NULL},
};

struct condition {
    struct str type, status, message;
};

static const struct kube_field condition_fields[] = {
    {STR("type"), kube_decode_text, offsetof(struct condition, type)},
    {STR("status"), kube_decode_text, offsetof(struct condition, status)},
    {STR("message"), kube_decode_text, offsetof(struct condition, message)},
    {STR_NULL},
};

static bool decode_conditions(struct json_reader *r, void *at)
{
    struct pod *p = at;
    size_t n;
    const struct condition *all = kube_decode_array(r, condition_fields, sizeof(*all), &n);

    for (size_t i = 0; i < n; i++) {
        if (str_eq(all[i].type, STR("PodScheduled")) && str_eq(all[i].status, STR("False"))) {
            p->unscheduled_message = all[i].message;
        }
    }
    return !json_failed(r);
}

static const struct kube_field pod_status_fields[] = {
    {STR("conditions"), decode_conditions, 0, condition_fields},
    {STR("phase"), .offset = offsetof(struct pod, phase), .words = phases},
    {STR("nominatedNodeName"), kube_decode_text, offsetof(struct pod, nominated_node_name)},
    {STR_NULL},
};

/* What stands in an object that nobody reads is no reason to refuse it. */
static bool decode_stored(struct json_reader *r, const struct kube_field *fields, void *into)
{
    bool before = r->as_stored;
    BUG_ON(r->arena == NULL);
    r->as_stored = true;
    bool ok = kube_decode_object(r, fields, into);
    r->as_stored = before;
    return ok;
}

const struct kube_field kube_pod_fields[] = {
    {STR("metadata"), .inner = pod_metadata_fields},
    {STR("spec"), .inner = pod_spec_fields},
    {STR("status"), .inner = pod_status_fields},
    {STR_NULL},
};

bool kube_decode_pod(struct json_reader *r, struct pod *ret)
{
    struct pod pod = {.phase = POD_PENDING};
    if (!decode_stored(r, kube_pod_fields, &pod)) {
        return false;
    }
    *ret = pod;
    return true;
}

/* ---- node ---- */

static const struct kube_field node_metadata_fields[] = {
    {STR("name"), kube_decode_text, offsetof(struct node, name)},
    {STR("uid"), kube_decode_text, offsetof(struct node, uid)},
    {STR("resourceVersion"), kube_decode_text, offsetof(struct node, resource_version)},
    {STR("labels"), kube_decode_kv_list, offsetof(struct node, labels)},
    {STR("annotations"), kube_decode_kv_list, offsetof(struct node, annotations)},
    {STR_NULL},
};

static const struct kube_field node_spec_fields[] = {
    {STR("unschedulable"), kube_decode_flag, offsetof(struct node, unschedulable)},
    {STR("taints"), kube_decode_taints, 0},
    {STR_NULL},
};

static const struct kube_field node_status_fields[] = {
    {STR("allocatable"), kube_decode_kv_list, offsetof(struct node, allocatable)},
    {STR_NULL},
};

const struct kube_field kube_node_fields[] = {
    {STR("metadata"), .inner = node_metadata_fields},
    {STR("spec"), .inner = node_spec_fields},
    {STR("status"), .inner = node_status_fields},
    {STR_NULL},
};

bool kube_decode_node(struct json_reader *r, struct node *ret)
{
    struct node node = {.unschedulable = false};
    if (!decode_stored(r, kube_node_fields, &node)) {
        return false;
    }
    *ret = node;
    return true;
}

/* ---- status ---- */

static const struct kube_field status_details_fields[] = {
    {STR("retryAfterSeconds"), kube_decode_i32, offsetof(struct kube_status, retry_after_s)},
    {STR_NULL},
};

bool kube_decode_status(struct json_reader *r, struct kube_status *ret)
{
    static const struct kube_field fields[] = {
        {STR("code"), kube_decode_i32, offsetof(struct kube_status, code)},
        {STR("reason"), kube_decode_text, offsetof(struct kube_status, reason)},
        {STR("message"), kube_decode_text, offsetof(struct kube_status, message)},
        {STR("details"), .inner = status_details_fields},
        {STR_NULL},
    };
    struct kube_status status = {.code = 0};
    BUG_ON(r->arena == NULL);
    if (!kube_decode_object(r, fields, &status)) {
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
        .phase = kube_word_value(phases, scan_member_text(status, STR("phase"))),
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
