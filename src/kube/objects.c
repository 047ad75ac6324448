/* kube/objects.c - decoding by table: one row per field that fgpu reads. */
#include "kube/objects.h"

#include "scan_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stddef.h>
#include <string.h>

struct field {
    struct str key;
    bool (*decode)(struct json_reader *r, void *at);
    size_t offset; /* of what `decode` fills, within the struct of the table */
};

/* Fills from the object that comes next; null is an object without fields. */
static bool decode_object(struct json_reader *r, const struct field *fields, size_t field_n,
                          void *into)
{
    if (json_accept_null(r)) {
        return true;
    }
    struct str key;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        size_t i = 0;
        while (i < field_n && !str_eq(key, fields[i].key)) {
            i++;
        }
        if (i == field_n) {
            json_skip(r);
        } else {
            fields[i].decode(r, (char *)into + fields[i].offset);
        }
    }
    return !json_failed(r);
}

static bool decode_text(struct json_reader *r, void *at)
{
    return json_accept_null(r) || json_string(r, at);
}

static bool decode_flag(struct json_reader *r, void *at)
{
    return json_accept_null(r) || json_bool(r, at);
}

static bool decode_i32(struct json_reader *r, void *at)
{
    int64_t v;
    if (json_accept_null(r)) {
        return true;
    }
    if (!json_i64(r, &v)) {
        return false;
    }
    if (v < INT32_MIN || v > INT32_MAX) {
        json_fail(r, ERR_INVALID, "number does not fit 32 bits");
        return false;
    }
    *(int32_t *)at = (int32_t)v;
    return true;
}

/* For times of which only the existence matters. */
static bool decode_presence(struct json_reader *r, void *at)
{
    *(bool *)at = json_peek(r) != JSON_NULL;
    return json_skip(r);
}

/* A moment that cannot be read is not known, and no reason to refuse the object. */
static bool decode_moment(struct json_reader *r, void *at)
{
    struct str text;

    if (json_peek(r) != JSON_STRING) {
        return json_skip(r);
    }
    if (!json_string(r, &text)) {
        return false;
    }
    if (!clock_rfc3339_parse(text, at)) {
        *(int64_t *)at = 0;
    }
    return true;
}

/* Room for one more element in an array that lives in the arena; what it grew out of stays there.
 */
static void *grow(struct json_reader *r, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return items;
    }
    size_t more = *cap == 0 ? 4 : *cap * 2;
    void *bigger = arena_calloc(r->arena, more, size);
    if (bigger == NULL) {
        json_fail(r, ERR_LIMIT, "the object needs more memory than one object may use");
        return NULL;
    }
    if (n > 0) {
        memcpy(bigger, items, n * size);
    }
    *cap = more;
    return bigger;
}

/* Kubernetes writes quantities as strings; its own decoders take a plain number as well. */
static bool decode_value(struct json_reader *r, struct str *ret)
{
    return json_peek(r) == JSON_NUMBER ? json_raw(r, ret) : decode_text(r, ret);
}

static bool decode_kv_list(struct json_reader *r, void *at)
{
    struct kv *items = NULL;
    size_t n = 0, cap = 0;
    struct str key;
    if (json_accept_null(r)) {
        return true;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        struct kv *room = grow(r, items, n, &cap, sizeof(*items));
        if (room == NULL) {
            return false;
        }
        items = room;
        items[n].key = key;
        if (!decode_value(r, &items[n].value)) {
            return false;
        }
        n++;
    }
    *(struct kv_list *)at = (struct kv_list){items, n};
    return !json_failed(r);
}

/* ---- containers ---- */

static bool decode_resources(struct json_reader *r, void *at)
{
    static const struct field fields[] = {
        {STR("limits"), decode_kv_list, offsetof(struct container, limits)},
        {STR("requests"), decode_kv_list, offsetof(struct container, requests)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_always(struct json_reader *r, void *at)
{
    struct str policy = STR_NULL;
    if (!decode_text(r, &policy)) {
        return false;
    }
    *(bool *)at = str_eq(policy, STR("Always"));
    return true;
}

static bool decode_container(struct json_reader *r, struct container *c)
{
    static const struct field fields[] = {
        {STR("name"), decode_text, offsetof(struct container, name)},
        {STR("resources"), decode_resources, 0},
        {STR("restartPolicy"), decode_always, offsetof(struct container, sidecar)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), c);
}

static bool decode_container_list(struct json_reader *r, bool is_init, const struct container **ret,
                                  size_t *ret_n)
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
        struct container *room = grow(r, items, n, &cap, sizeof(*items));
        if (room == NULL) {
            return false;
        }
        items = room;
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

/* ---- taints and tolerations ---- */

static enum taint_effect effect_of(struct str word)
{
    return str_eq(word, STR("NoSchedule"))  ? TAINT_NO_SCHEDULE
           : str_eq(word, STR("NoExecute")) ? TAINT_NO_EXECUTE
                                            : TAINT_OTHER;
}

static bool decode_taint_effect(struct json_reader *r, void *at)
{
    struct str word = STR_NULL;
    if (!decode_text(r, &word)) {
        return false;
    }
    *(enum taint_effect *)at = effect_of(word);
    return true;
}

static bool decode_taint(struct json_reader *r, struct taint *t)
{
    static const struct field fields[] = {
        {STR("key"), decode_text, offsetof(struct taint, key)},
        {STR("value"), decode_text, offsetof(struct taint, value)},
        {STR("effect"), decode_taint_effect, offsetof(struct taint, effect)},
    };
    *t = (struct taint){.effect = TAINT_OTHER};
    return decode_object(r, fields, ARRAY_LEN(fields), t);
}

static bool decode_taints(struct json_reader *r, void *at)
{
    struct node *node = at;
    struct taint *items = NULL;
    size_t n = 0, cap = 0;
    if (json_accept_null(r)) {
        return true;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        struct taint *room = grow(r, items, n, &cap, sizeof(*items));
        if (room == NULL) {
            return false;
        }
        items = room;
        if (!decode_taint(r, &items[n])) {
            return false;
        }
        n++;
    }
    node->taints = items;
    node->taint_n = n;
    return !json_failed(r);
}

static bool decode_toleration_effect(struct json_reader *r, void *at)
{
    static const enum toleration_effect tolerated[] = {
        [TAINT_NO_SCHEDULE] = TOLERATES_NO_SCHEDULE,
        [TAINT_NO_EXECUTE] = TOLERATES_NO_EXECUTE,
        [TAINT_OTHER] = TOLERATES_OTHER,
    };
    struct str word = STR_NULL;
    if (!decode_text(r, &word)) {
        return false;
    }
    *(enum toleration_effect *)at = word.n == 0 ? TOLERATES_ALL : tolerated[effect_of(word)];
    return true;
}

static bool decode_operator(struct json_reader *r, void *at)
{
    static const struct {
        struct str word;
        enum toleration_operator operator_;
    } operators[] = {
        {STR(""), TOLERATION_EQUAL}, /* the default of core/v1 */
        {STR("Equal"), TOLERATION_EQUAL},
        {STR("Exists"), TOLERATION_EXISTS},
        {STR("Lt"), TOLERATION_LESS},
        {STR("Gt"), TOLERATION_GREATER},
    };
    struct str word = STR_NULL;
    if (!decode_text(r, &word)) {
        return false;
    }
    *(enum toleration_operator *)at = TOLERATION_NEVER;
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        if (str_eq(word, operators[i].word)) {
            *(enum toleration_operator *)at = operators[i].operator_;
        }
    }
    return true;
}

static bool decode_toleration(struct json_reader *r, struct toleration *t)
{
    static const struct field fields[] = {
        {STR("key"), decode_text, offsetof(struct toleration, key)},
        {STR("operator"), decode_operator, offsetof(struct toleration, operator_)},
        {STR("value"), decode_text, offsetof(struct toleration, value)},
        {STR("effect"), decode_toleration_effect, offsetof(struct toleration, effect)},
    };
    *t = (struct toleration){.operator_ = TOLERATION_EQUAL, .effect = TOLERATES_ALL};
    return decode_object(r, fields, ARRAY_LEN(fields), t);
}

static bool decode_tolerations(struct json_reader *r, void *at)
{
    struct pod *pod = at;
    struct toleration *items = NULL;
    size_t n = 0, cap = 0;
    if (json_accept_null(r)) {
        return true;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        struct toleration *room = grow(r, items, n, &cap, sizeof(*items));
        if (room == NULL) {
            return false;
        }
        items = room;
        if (!decode_toleration(r, &items[n])) {
            return false;
        }
        n++;
    }
    pod->tolerations = items;
    pod->toleration_n = n;
    return !json_failed(r);
}

/* ---- pod ---- */

static enum pod_phase phase_of(struct str word)
{
    static const struct {
        struct str word;
        enum pod_phase phase;
    } phases[] = {
        {STR(""), POD_PENDING}, /* not defaulted yet */
        {STR("Pending"), POD_PENDING},
        {STR("Running"), POD_RUNNING},
        {STR("Succeeded"), POD_SUCCEEDED},
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
    if (!decode_text(r, &word)) {
        return false;
    }
    *(enum pod_phase *)at = phase_of(word);
    return true;
}

static bool decode_pod_metadata(struct json_reader *r, void *at)
{
    static const struct field fields[] = {
        {STR("name"), decode_text, offsetof(struct pod, name)},
        {STR("namespace"), decode_text, offsetof(struct pod, namespace_)},
        {STR("uid"), decode_text, offsetof(struct pod, uid)},
        {STR("resourceVersion"), decode_text, offsetof(struct pod, resource_version)},
        {STR("creationTimestamp"), decode_moment, offsetof(struct pod, created_ms)},
        {STR("deletionTimestamp"), decode_presence, offsetof(struct pod, deleting)},
        {STR("labels"), decode_kv_list, offsetof(struct pod, labels)},
        {STR("annotations"), decode_kv_list, offsetof(struct pod, annotations)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_pod_resources(struct json_reader *r, void *at)
{
    static const struct field fields[] = {
        {STR("limits"), decode_kv_list, offsetof(struct pod, limits)},
        {STR("requests"), decode_kv_list, offsetof(struct pod, requests)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_pod_spec(struct json_reader *r, void *at)
{
    static const struct field fields[] = {
        {STR("containers"), decode_containers, 0},
        {STR("initContainers"), decode_init_containers, 0},
        {STR("nodeName"), decode_text, offsetof(struct pod, node_name)},
        {STR("schedulerName"), decode_text, offsetof(struct pod, scheduler_name)},
        {STR("priority"), decode_i32, offsetof(struct pod, priority)},
        {STR("preemptionPolicy"), decode_text, offsetof(struct pod, preemption_policy)},
        {STR("resources"), decode_pod_resources, 0},
        {STR("overhead"), decode_kv_list, offsetof(struct pod, overhead)},
        {STR("tolerations"), decode_tolerations, 0},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_pod_status(struct json_reader *r, void *at)
{
    static const struct field fields[] = {
        {STR("phase"), decode_phase, offsetof(struct pod, phase)},
        {STR("nominatedNodeName"), decode_text, offsetof(struct pod, nominated_node_name)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

/* What stands in an object that nobody reads is no reason to refuse it. */
static bool decode_stored(struct json_reader *r, const struct field *fields, size_t field_n, void *into)
{
    bool before = r->as_stored;
    BUG_ON(r->arena == NULL);
    r->as_stored = true;
    bool ok = decode_object(r, fields, field_n, into);
    r->as_stored = before;
    return ok;
}

bool kube_decode_pod(struct json_reader *r, struct pod *ret)
{
    static const struct field fields[] = {
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
    static const struct field fields[] = {
        {STR("name"), decode_text, offsetof(struct node, name)},
        {STR("uid"), decode_text, offsetof(struct node, uid)},
        {STR("resourceVersion"), decode_text, offsetof(struct node, resource_version)},
        {STR("deletionTimestamp"), decode_presence, offsetof(struct node, deleting)},
        {STR("labels"), decode_kv_list, offsetof(struct node, labels)},
        {STR("annotations"), decode_kv_list, offsetof(struct node, annotations)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_node_spec(struct json_reader *r, void *at)
{
    static const struct field fields[] = {
        {STR("unschedulable"), decode_flag, offsetof(struct node, unschedulable)},
        {STR("taints"), decode_taints, 0},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

static bool decode_node_status(struct json_reader *r, void *at)
{
    static const struct field fields[] = {
        {STR("allocatable"), decode_kv_list, offsetof(struct node, allocatable)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

bool kube_decode_node(struct json_reader *r, struct node *ret)
{
    static const struct field fields[] = {
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
    static const struct field fields[] = {
        {STR("retryAfterSeconds"), decode_i32, offsetof(struct kube_status, retry_after_s)},
    };
    return decode_object(r, fields, ARRAY_LEN(fields), at);
}

bool kube_decode_status(struct json_reader *r, struct kube_status *ret)
{
    static const struct field fields[] = {
        {STR("code"), decode_i32, offsetof(struct kube_status, code)},
        {STR("reason"), decode_text, offsetof(struct kube_status, reason)},
        {STR("message"), decode_text, offsetof(struct kube_status, message)},
        {STR("details"), decode_status_details, 0},
    };
    struct kube_status status = {.code = 0};
    BUG_ON(r->arena == NULL);
    if (!decode_object(r, fields, ARRAY_LEN(fields), &status)) {
        return false;
    }
    *ret = status;
    return true;
}

/* ---- whole texts ---- */

int kube_parse_pod(struct json_reader *r, struct str text, struct arena *arena, struct pod *ret,
                   struct err *reterr)
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

int kube_parse_node(struct json_reader *r, struct str text, struct arena *arena, struct node *ret,
                    struct err *reterr)
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

int kube_parse_status(struct json_reader *r, struct str text, struct arena *arena,
                      struct kube_status *ret, struct err *reterr)
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
