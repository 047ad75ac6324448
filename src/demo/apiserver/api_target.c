/* What a request asks for: the target in its path, its query; and what the kinds of objects are called. */
#include "demo/apiserver/api_internal.h"

#include "base/compiler.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *resource;
    const char *kind;
    const char *version;
} kinds[APISERVER_KIND__MAX] = {
    [APISERVER_PODS] = {"pods", "Pod", "v1"},
    [APISERVER_NODES] = {"nodes", "Node", "v1"},
    [APISERVER_EVENTS] = {"events", "Event", "events.k8s.io/v1"},
    [APISERVER_SLICES] = {"resourceslices", "ResourceSlice", "resource.k8s.io/v1"},
    [APISERVER_CONFIGMAPS] = {"configmaps", "ConfigMap", "v1"},
    [APISERVER_LEASES] = {"leases", "Lease", "coordination.k8s.io/v1"},
    [APISERVER_STORAGE_CAPACITIES] = {"csistoragecapacities", "CSIStorageCapacity", "storage.k8s.io/v1"},
};

/* Where a path may begin, and of what: APISERVER_KIND__MAX is all of the core. */
static const struct {
    struct str prefix;
    enum apiserver_kind kind;
} groups[] = {
    {STR("/api/v1/"), APISERVER_KIND__MAX},
    {STR("/apis/events.k8s.io/v1/"), APISERVER_EVENTS},
    {STR("/apis/storage.k8s.io/v1/"), APISERVER_STORAGE_CAPACITIES},
    {STR("/apis/coordination.k8s.io/v1/"), APISERVER_LEASES},
    {STR("/apis/resource.k8s.io/v1/"), APISERVER_SLICES},
    {STR("/apis/resource.k8s.io/v1beta2/"), APISERVER_SLICES},
    {STR("/apis/resource.k8s.io/v1beta1/"), APISERVER_SLICES},
};

bool api_is_namespaced(enum apiserver_kind kind)
{
    return kind != APISERVER_NODES && kind != APISERVER_SLICES;
}

const char *api_resource_name(enum apiserver_kind kind)
{
    return kinds[kind].resource;
}

const char *api_kind_name(enum apiserver_kind kind)
{
    return kinds[kind].kind;
}

const char *api_version_name(enum apiserver_kind kind)
{
    return kinds[kind].version;
}

void api_key(const struct api_target *t, char buf[API_KEY_MAX])
{
    if (!api_is_namespaced(t->kind)) {
        snprintf(buf, API_KEY_MAX, "%s", t->name);
    } else {
        snprintf(buf, API_KEY_MAX, "%s/%s", t->namespace_, t->name);
    }
}

const char *api_query(const struct api_request *q, const char *key)
{
    const struct str *v = kv_find(q->query, str_of(key));
    return v ? (v->p ? v->p : "") : NULL;
}

bool api_query_true(const struct api_request *q, const char *key)
{
    const char *v = api_query(q, key);
    return v && (strcmp(v, "true") == 0 || strcmp(v, "1") == 0);
}

static bool take_segment(struct str *rest, char *buf, size_t size)
{
    struct str part;
    if (!str_split(rest, '/', &part) || part.n == 0 || part.n >= size) {
        return false;
    }
    memcpy(buf, part.p, part.n);
    buf[part.n] = '\0';
    return true;
}

bool api_target_parse(struct str path, struct api_target *ret)
{
    struct api_target t = {.kind = APISERVER_KIND__MAX};
    char word[API_NAME_MAX];
    size_t group = 0;
    while (group < ARRAY_LEN(groups) && !str_starts(path, groups[group].prefix)) {
        group++;
    }
    if (group == ARRAY_LEN(groups)) {
        return false;
    }
    struct str rest = str_drop(path, groups[group].prefix.n);
    bool core = group == 0;
    if (!take_segment(&rest, word, sizeof(word))) {
        return false;
    }
    if (strcmp(word, "namespaces") == 0 &&
        (!take_segment(&rest, t.namespace_, sizeof(t.namespace_)) || !take_segment(&rest, word, sizeof(word)))) {
        return false;
    }
    for (size_t k = 0; k < APISERVER_KIND__MAX; k++) {
        if (strcmp(word, kinds[k].resource) == 0) {
            t.kind = (enum apiserver_kind)k;
        }
    }
    if (t.kind == APISERVER_KIND__MAX || (!core && t.kind != groups[group].kind) ||
        (core &&
         (t.kind == APISERVER_SLICES || t.kind == APISERVER_STORAGE_CAPACITIES || t.kind == APISERVER_LEASES)) ||
        (!api_is_namespaced(t.kind) && t.namespace_[0])) {
        return false;
    }
    if (rest.p && !take_segment(&rest, t.name, sizeof(t.name))) {
        return false;
    }
    if (rest.p && !take_segment(&rest, t.subresource, sizeof(t.subresource))) {
        return false;
    }
    /* One named pod is only reachable through its namespace. */
    if (rest.p || (t.name[0] && api_is_namespaced(t.kind) && !t.namespace_[0])) {
        return false;
    }
    t.strict = !core && t.kind == APISERVER_EVENTS;
    *ret = t;
    return true;
}
