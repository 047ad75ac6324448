/* POST .../pods/NAME/binding: contract 4.1 and 4.2, after pkg/registry/core/pod/storage
 * (BindingREST). */
#include "base/bug.h"
#include "demo/apiserver/api_internal.h"
#include "demo/doc_internal.h"

#include <stdlib.h>
#include <string.h>

/* Servers before 1.23 ignored the preconditions of a Binding (contract R29). */
enum { PRECONDITIONS_MINOR = 23 };

/* The checks made before the pod is read. False: replied. */
static bool check_binding(const struct api_target *t, const cJSON *b, struct api_reply *r)
{
    const char *ns = doc_text(b, "metadata.namespace"), *kind = doc_text(b, "target.kind");
    if (strcmp(doc_text(b, "metadata.name"), t->name) != 0) {
        api_fail(r, 400, NULL, "name in URL does not match name in Binding object");
        return false;
    }
    if (ns[0] && strcmp(ns, t->namespace_) != 0) {
        api_fail(r, 400, NULL,
                 "the namespace of the provided object does not match the namespace sent on "
                 "the request");
        return false;
    }
    /* Validation here returns a plain error, which the real server reports as 500 without a reason.
     */
    if (kind[0] && strcmp(kind, "Node") != 0) {
        api_fail(r, 500, "",
                 "target.kind: Unsupported value: \"%s\": supported values: \"Node\", "
                 "\"<empty>\"",
                 kind);
        return false;
    }
    if (doc_text(b, "target.name")[0] == '\0') {
        api_fail(r, 500, "", "target.name: Required value");
        return false;
    }
    return true;
}

/* The checks made inside the transaction. False: replied. */
static bool check_pod(struct api *api, const struct api_target *t, const cJSON *b, const cJSON *pod,
                      struct api_reply *r)
{
    static const struct {
        const char *path, *word;
    } preconditions[] = {{"metadata.uid", "UID"}, {"metadata.resourceVersion", "ResourceVersion"}};
    bool checks = atomic_load(&api->minor) >= PRECONDITIONS_MINOR;
    for (size_t i = 0; checks && i < ARRAY_LEN(preconditions); i++) {
        const char *want = doc_text(b, preconditions[i].path);
        const char *have = doc_text(pod, preconditions[i].path);
        if (want[0] && strcmp(want, have) != 0) {
            api_conflict(r, "pods", t->name,
                         "StorageError: invalid object, Code: 4, Key: /registry/pods/%s/%s, "
                         "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s in "
                         "precondition: %s, %s in object meta: %s",
                         t->namespace_, t->name, preconditions[i].word, want, preconditions[i].word, have);
            return false;
        }
    }
    if (doc_text(pod, "metadata.deletionTimestamp")[0]) {
        api_conflict(r, "pods/binding", t->name, "pod %s is being deleted, cannot be assigned to a host", t->name);
        return false;
    }
    if (doc_text(pod, "spec.nodeName")[0]) {
        api_conflict(r, "pods/binding", t->name, "pod %s is already assigned to node \"%s\"", t->name,
                     doc_text(pod, "spec.nodeName"));
        return false;
    }
    if (cJSON_GetArraySize(doc_at(pod, "spec.schedulingGates")) > 0) {
        api_conflict(r, "pods/binding", t->name, "pod %s has non-empty .spec.schedulingGates", t->name);
        return false;
    }
    return true;
}

static void set_scheduled_condition(struct api *api, cJSON *pod)
{
    cJSON *status = doc_object(pod, "status");
    cJSON *list = doc_field(status, "conditions");
    if (!cJSON_IsArray(list)) {
        list = cJSON_CreateArray();
        doc_set(status, "conditions", list);
    }
    for (int i = cJSON_GetArraySize(list) - 1; i >= 0; i--) {
        if (strcmp(doc_text(cJSON_GetArrayItem(list, i), "type"), "PodScheduled") == 0) {
            cJSON_DeleteItemFromArray(list, i);
        }
    }
    char now[CLOCK_RFC3339_MAX];
    cJSON *condition = cJSON_CreateObject();
    doc_set_text(condition, "type", "PodScheduled");
    doc_set_text(condition, "status", "True");
    doc_set(condition, "lastProbeTime", cJSON_CreateNull());
    doc_set_text(condition, "lastTransitionTime", api_time(api, now));
    cJSON_AddItemToArray(list, condition);
}

/* One write: node, annotations (key by key, overwriting) and condition together. */
static void assign(struct api *api, const char *key, const cJSON *b, const cJSON *pod)
{
    cJSON *doc = cJSON_Duplicate(pod, 1);
    doc_set_text(doc_object(doc, "spec"), "nodeName", doc_text(b, "target.name"));
    const cJSON *a, *annotations = doc_at(b, "metadata.annotations");
    cJSON_ArrayForEach(a, annotations)
    {
        doc_set_text(doc_object(doc, "metadata.annotations"), a->string, a->valuestring);
    }
    cJSON_DeleteItemFromObjectCaseSensitive(doc_object(doc, "status"), "nominatedNodeName");
    set_scheduled_condition(api, doc);
    objects_put(api->store, APISERVER_PODS, key, doc);
    atomic_fetch_add(&api->binds, 1);
}

static bool annotations_are_text(const cJSON *b)
{
    const cJSON *a;
    cJSON_ArrayForEach(a, doc_at(b, "metadata.annotations"))
    {
        if (!cJSON_IsString(a)) {
            return false;
        }
    }
    return true;
}

bool api_assign(struct api *api, const struct api_target *t, const cJSON *b, struct api_reply *r)
{
    char key[API_KEY_MAX];
    api_key(t, key);
    const struct version *v = objects_find(api->store, APISERVER_PODS, key);
    if (!v || !check_pod(api, t, b, v->doc, r)) {
        return false;
    }
    assign(api, key, b, v->doc);
    return true;
}

void api_bind(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r)
{
    char key[API_KEY_MAX];
    cJSON *b = doc_parse(q->body);
    if (!cJSON_IsObject(b) || !annotations_are_text(b)) {
        api_fail(r, 400, NULL, "Binding in version \"v1\" cannot be handled as a Binding: json parse error");
        cJSON_Delete(b);
        return;
    }
    if (!check_binding(t, b, r)) {
        cJSON_Delete(b);
        return;
    }
    api_key(t, key);
    objects_lock(api->store);
    struct version *v = objects_find(api->store, APISERVER_PODS, key);
    if (!v) {
        api_not_found(r, t);
    } else if (check_pod(api, t, b, v->doc, r)) {
        api_success(r, 201);
        if (q->hold) {
            api_hold(api, t, true, b);
        } else if (!api_query(q, "dryRun")) {
            assign(api, key, b, v->doc);
        }
    }
    objects_unlock(api->store);
    if (r->status == 409) {
        atomic_fetch_add(&api->bind_conflicts, 1);
    }
    cJSON_Delete(b);
}
