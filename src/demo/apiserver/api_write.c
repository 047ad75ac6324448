#include "demo/apiserver/api_internal.h"
#include "demo/apiserver/validate_internal.h"
#include "demo/doc_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_KEPT 1000
#define DEFAULT_GRACE_S 30 /* terminationGracePeriodSeconds of a pod that names none */

const char *api_time(const struct api *api, char buf[CLOCK_RFC3339_MAX])
{
    clock_rfc3339(clock_wall_ms(api->clock), buf);
    char *dot = strchr(buf, '.');
    if (dot) {
        memcpy(dot, "Z", 2);
    }
    return buf;
}

static void set_uid(struct api *api, cJSON *meta)
{
    char uid[40];
    uint64_t a = rng_u64(&api->rng), b = rng_u64(&api->rng);
    snprintf(uid, sizeof(uid), "%08" PRIx32 "-%04x-4%03x-%04x-%012" PRIx64, (uint32_t)(a >> 32),
             (unsigned)(a >> 16) & 0xffffU, (unsigned)a & 0xfffU, ((unsigned)(b >> 48) & 0x3fffU) | 0x8000U,
             b & UINT64_C(0xffffffffffff));
    doc_set_text(meta, "uid", uid);
}

static void set_time(struct api *api, cJSON *meta, const char *key)
{
    char text[CLOCK_RFC3339_MAX];
    doc_set_text(meta, key, api_time(api, text));
}

static void default_text(cJSON *o, const char *key, const char *value)
{
    if (!doc_field(o, key)) {
        doc_set_text(o, key, value);
    }
}

static void fill_created(struct api *api, cJSON *doc, const struct api_target *t, bool keep_status)
{
    cJSON *meta = doc_object(doc, "metadata");
    if (!keep_status || !doc_field(meta, "uid")) {
        set_uid(api, meta);
    }
    if (api_is_namespaced(t->kind)) {
        doc_set_text(meta, "namespace", t->namespace_);
    }
    set_time(api, meta, "creationTimestamp");
    if (t->kind == APISERVER_PODS) {
        cJSON *spec = doc_object(doc, "spec");
        default_text(spec, "schedulerName", "default-scheduler");
        default_text(spec, "restartPolicy", "Always");
        if (!keep_status) {
            doc_set(doc, "status", cJSON_CreateObject());
        }
        default_text(doc_object(doc, "status"), "phase", "Pending");
    }
}

static cJSON *parse_object(const struct api_request *q, struct api_reply *r)
{
    cJSON *doc = doc_parse(q->body);
    if (!cJSON_IsObject(doc)) {
        cJSON_Delete(doc);
        api_fail(r, 400, NULL, "couldn't get version/kind; json parse error");
        return NULL;
    }
    return doc;
}

/* One of the target, as its type is decoded. */
static cJSON *parse_body(const struct api_request *q, const struct api_target *t, struct api_reply *r)
{
    cJSON *doc = parse_object(q, r);
    const char *why = !doc                          ? NULL
                      : t->strict                   ? validate_event_form(doc)
                      : t->kind == APISERVER_LEASES ? validate_lease_form(doc)
                                                    : NULL;
    if (why) {
        cJSON_Delete(doc);
        api_fail(r, 400, NULL, "%s in version \"v1\" cannot be handled as a %s: %s", api_kind_name(t->kind),
                 api_kind_name(t->kind), why);
        return NULL;
    }
    return doc;
}

/* `before` NULL: it is created. */
static bool invalid(const struct api_target *t, const cJSON *doc, const cJSON *before, struct api_reply *r)
{
    char buf[512];
    const char *why = validate_object(t->kind, doc, buf, sizeof(buf));
    if (!why && t->strict) {
        why = validate_event(doc, before, buf, sizeof(buf));
    }
    if (why) {
        api_fail(r, 422, NULL, "%s \"%s\" is invalid: %s", api_kind_name(t->kind), doc_text(doc, "metadata.name"), why);
    }
    return why != NULL;
}

/* With the lock. Takes `doc` over. */
static void insert(struct api *api, struct api_target *t, cJSON *doc, struct api_reply *r)
{
    char key[API_KEY_MAX];
    snprintf(t->name, sizeof(t->name), "%s", doc_text(doc, "metadata.name"));
    api_key(t, key);
    if (objects_find(api->store, t->kind, key)) {
        api_fail(r, 409, "AlreadyExists", "%s \"%s\" already exists", api_resource_name(t->kind), t->name);
    } else if (!invalid(t, doc, NULL, r)) {
        api_object(r, 201, t->kind, objects_put(api->store, t->kind, key, doc));
        doc = NULL;
    }
    cJSON_Delete(doc);
    if (t->kind == APISERVER_EVENTS && objects_count(api->store, t->kind) > EVENTS_KEPT) {
        objects_remove(api->store, t->kind, objects_oldest(api->store, t->kind));
    }
}

void api_create(struct api *api, const struct api_request *q, const struct api_target *t, bool keep_status,
                struct api_reply *r)
{
    struct api_target target = *t;
    cJSON *doc = parse_body(q, t, r);
    if (!doc) {
        return;
    }
    const char *ns = doc_text(doc, "metadata.namespace");
    if (api_is_namespaced(t->kind) && ns[0] && strcmp(ns, t->namespace_) != 0) {
        api_fail(r, 400, NULL,
                 "the namespace of the provided object does not match the namespace sent on "
                 "the request");
        cJSON_Delete(doc);
        return;
    }
    objects_lock(api->store);
    fill_created(api, doc, &target, keep_status);
    insert(api, &target, doc, r);
    objects_unlock(api->store);
}

/* What `before` becomes by this write; NULL: replied. */
static cJSON *updated(const struct api_target *t, const cJSON *before, const cJSON *body, bool patch, bool whole,
                      struct api_reply *r)
{
    cJSON *doc = cJSON_Duplicate(patch ? before : body, 1);
    if (patch) {
        doc_merge(doc, body);
    }
    const char *rv = doc_text(body, "metadata.resourceVersion");
    if (!patch && t->kind == APISERVER_LEASES && !rv[0]) {
        api_fail(r, 422, NULL,
                 "Lease \"%s\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
                 t->name);
        goto refuse;
    }
    if (rv[0] && strcmp(rv, doc_text(before, "metadata.resourceVersion")) != 0) {
        api_conflict(r, api_resource_name(t->kind), t->name,
                     "the object has been modified; please apply your changes to the latest version and "
                     "try again");
        goto refuse;
    }
    if (doc_text(body, "metadata.uid")[0] &&
        strcmp(doc_text(body, "metadata.uid"), doc_text(before, "metadata.uid")) != 0) {
        api_fail(r, 422, NULL, "%s \"%s\" is invalid: metadata.uid: field is immutable", api_kind_name(t->kind),
                 t->name);
        goto refuse;
    }
    if (strcmp(doc_text(doc, "metadata.name"), t->name) != 0) {
        api_fail(r, 400, NULL, "the name of the object does not match the name on the URL");
        goto refuse;
    }
    /* What no update changes; and each of the two paths writes its own half only. */
    static const char *const kept[] = {"uid", "namespace", "creationTimestamp", "deletionTimestamp",
                                       "deletionGracePeriodSeconds"};
    cJSON *meta = doc_object(doc, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const cJSON *old = doc_field(doc_field(before, "metadata"), kept[i]);
        cJSON_DeleteItemFromObjectCaseSensitive(meta, kept[i]);
        if (old) {
            doc_set(meta, kept[i], cJSON_Duplicate(old, 1));
        }
    }
    const char *half = strcmp(t->subresource, "status") == 0 ? "spec" : "status";
    const cJSON *old = doc_field(before, half);
    if (!whole && old && t->kind != APISERVER_EVENTS) {
        doc_set(doc, half, cJSON_Duplicate(old, 1));
    }
    if (t->kind == APISERVER_PODS && strcmp(doc_text(doc, "spec.nodeName"), doc_text(before, "spec.nodeName")) != 0) {
        api_fail(r, 422, NULL,
                 "Pod \"%s\" is invalid: spec: Forbidden: pod updates may not change fields "
                 "other than image, tolerations and gates",
                 t->name);
        goto refuse;
    }
    if (invalid(t, doc, before, r)) {
        goto refuse;
    }
    return doc;

refuse:
    cJSON_Delete(doc);
    return NULL;
}

/* Who wrote status.nominatedNodeName last: of managedFields nothing else is kept. */
static void note_nominator(const char *manager, const struct api_target *t, const cJSON *before, cJSON *doc)
{
    const char *node = doc_text(doc, "status.nominatedNodeName");
    cJSON *meta = doc_object(doc, "metadata"), *list, *entry;

    if (t->kind != APISERVER_PODS || strcmp(node, doc_text(before, "status.nominatedNodeName")) == 0) {
        return;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(meta, "managedFields");
    if (node[0] == '\0') {
        return;
    }
    list = cJSON_CreateArray();
    entry = cJSON_CreateObject();
    doc_set_text(entry, "manager", manager != NULL ? manager : "unknown");
    doc_set_text(entry, "operation", "Update");
    doc_set_text(entry, "apiVersion", "v1");
    doc_set_text(entry, "fieldsType", "FieldsV1");
    doc_set_text(entry, "subresource", "status");
    doc_set(doc_object(doc_object(entry, "fieldsV1"), "f:status"), "f:nominatedNodeName", cJSON_CreateObject());
    cJSON_AddItemToArray(list, entry);
    doc_set(meta, "managedFields", list);
}

/* A write that changes nothing keeps the resourceVersion, as on the real server. */
static bool same(const cJSON *before, cJSON *doc)
{
    cJSON_DeleteItemFromObjectCaseSensitive(doc, "kind");
    cJSON_DeleteItemFromObjectCaseSensitive(doc, "apiVersion");
    doc_set_text(doc_object(doc, "metadata"), "resourceVersion", doc_text(before, "metadata.resourceVersion"));
    return cJSON_Compare(before, doc, 1);
}

static struct version *write_object(struct api *api, const struct api_target *t, const cJSON *body, bool patch,
                                    bool whole, const char *manager, struct api_reply *r)
{
    char key[API_KEY_MAX];
    api_key(t, key);
    struct version *v = objects_find(api->store, t->kind, key);
    if (!v) {
        api_not_found(r, t);
        return NULL;
    }
    cJSON *doc = updated(t, v->doc, body, patch, whole, r);
    if (doc) {
        note_nominator(manager, t, v->doc, doc);
    }
    if (doc && same(v->doc, doc)) {
        cJSON_Delete(doc);
        return v;
    }
    return doc ? objects_put(api->store, t->kind, key, doc) : NULL;
}

struct version *api_patch(struct api *api, const struct api_target *t, const cJSON *body, struct api_reply *r)
{
    return write_object(api, t, body, true, false, NULL, r);
}

/* With the lock: checked as it would be, and held. */
static void hold_patch(struct api *api, const struct api_target *t, const cJSON *body, struct api_reply *r)
{
    char key[API_KEY_MAX];
    api_key(t, key);
    const struct version *v = objects_find(api->store, t->kind, key);
    cJSON *doc = v ? updated(t, v->doc, body, true, false, r) : NULL;
    if (!v) {
        api_not_found(r, t);
    } else if (doc) {
        api_success(r, 200);
        api_hold(api, t, false, body);
    }
    cJSON_Delete(doc);
}

void api_update(struct api *api, const struct api_request *q, const struct api_target *t, bool patch, bool whole,
                struct api_reply *r)
{
    if (patch && q->content_type.n && !str_starts(q->content_type, STR("application/merge-patch+json")) &&
        !str_starts(q->content_type, STR("application/strategic-merge-patch+json"))) {
        api_fail(r, 415, NULL,
                 "the body of the request was in an unknown format - accepted media types "
                 "include: application/merge-patch+json, "
                 "application/strategic-merge-patch+json");
        return;
    }
    cJSON *body = parse_body(q, t, r);
    if (!body) {
        return;
    }
    objects_lock(api->store);
    if (patch && q->hold) {
        hold_patch(api, t, body, r);
    } else {
        const struct version *v = write_object(api, t, body, patch, whole, api_query(q, "fieldManager"), r);
        if (v) {
            api_object(r, 200, t->kind, v);
        }
    }
    objects_unlock(api->store);
    cJSON_Delete(body);
}

/* gracePeriodSeconds of the query, else of the DeleteOptions, else the pod's own. */
static int64_t grace_of(const struct api_request *q, const cJSON *options, const cJSON *pod)
{
    uint64_t n;
    const char *text = api_query(q, "gracePeriodSeconds");
    if (text && str_to_u64(str_of(text), INT32_MAX, &n)) {
        return (int64_t)n;
    }
    const cJSON *asked = doc_field(options, "gracePeriodSeconds");
    if (cJSON_IsNumber(asked)) {
        return asked->valueint;
    }
    const cJSON *own = doc_at(pod, "spec.terminationGracePeriodSeconds");
    return cJSON_IsNumber(own) ? own->valueint : DEFAULT_GRACE_S;
}

/* With the lock. A pod that runs somewhere is only marked: its kubelet removes it. */
static void remove_or_mark(struct api *api, const struct api_target *t, struct version *v, int64_t grace_s,
                           struct api_reply *r)
{
    char key[API_KEY_MAX];
    api_key(t, key);
    if (t->kind != APISERVER_PODS || grace_s <= 0 || !doc_text(v->doc, "spec.nodeName")[0]) {
        api_object(r, 200, t->kind, v);
        objects_remove(api->store, t->kind, key);
        return;
    }
    if (doc_text(v->doc, "metadata.deletionTimestamp")[0]) {
        api_object(r, 200, t->kind, v);
        return;
    }
    cJSON *doc = cJSON_Duplicate(v->doc, 1);
    cJSON *meta = doc_object(doc, "metadata");
    set_time(api, meta, "deletionTimestamp");
    doc_set(meta, "deletionGracePeriodSeconds", cJSON_CreateNumber((double)grace_s));
    api_object(r, 200, t->kind, objects_put(api->store, t->kind, key, doc));
}

/* Unless the DeleteOptions name another uid or version. */
static void remove_if_same(struct api *api, const struct api_request *q, const struct api_target *t,
                           const cJSON *options, struct api_reply *r)
{
    char key[API_KEY_MAX];
    api_key(t, key);
    const char *want = doc_text(options, "preconditions.uid");
    const char *version = doc_text(options, "preconditions.resourceVersion");
    objects_lock(api->store);
    struct version *v = objects_find(api->store, t->kind, key);
    if (!v) {
        api_not_found(r, t);
    } else if (want[0] && strcmp(want, doc_text(v->doc, "metadata.uid")) != 0) {
        api_conflict(r, api_resource_name(t->kind), t->name,
                     "the UID in the precondition (%s) does not match the UID in record (%s)", want,
                     doc_text(v->doc, "metadata.uid"));
    } else if (version[0] && strcmp(version, doc_text(v->doc, "metadata.resourceVersion")) != 0) {
        api_conflict(r, api_resource_name(t->kind), t->name,
                     "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "
                     "The object might have been modified",
                     version, doc_text(v->doc, "metadata.resourceVersion"));
    } else {
        remove_or_mark(api, t, v, grace_of(q, options, v->doc), r);
    }
    objects_unlock(api->store);
}

void api_delete(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r)
{
    cJSON *options = NULL;
    if (q->body.n && !(options = parse_object(q, r))) {
        return;
    }
    remove_if_same(api, q, t, options, r);
    cJSON_Delete(options);
}

/* POST .../pods/NAME/eviction, as a deletion; there are no PodDisruptionBudgets here (a fault may answer 429). */
void api_evict(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r)
{
    cJSON *eviction = parse_object(q, r);
    if (!eviction) {
        return;
    }
    if (strcmp(doc_text(eviction, "metadata.name"), t->name) != 0) {
        api_fail(r, 400, NULL, "name in URL does not match name in Eviction object");
    } else {
        remove_if_same(api, q, t, doc_field(eviction, "deleteOptions"), r);
        if (r->status == 200) {
            api_reply_fini(r);
            api_reply_init(r);
            api_success(r, 201);
        }
    }
    cJSON_Delete(eviction);
}
