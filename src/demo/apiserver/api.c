#include "demo/apiserver/api_internal.h"

#include "base/bug.h"
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
};

/* Where a path may begin, and of what: APISERVER_KIND__MAX is all of the core. */
static const struct {
    struct str prefix;
    enum apiserver_kind kind;
} groups[] = {
    {STR("/api/v1/"), APISERVER_KIND__MAX},
    {STR("/apis/events.k8s.io/v1/"), APISERVER_EVENTS},
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

const char *api_time(const struct api *api, char buf[CLOCK_RFC3339_MAX])
{
    clock_rfc3339(clock_wall_ms(api->clock), buf);
    char *dot = strchr(buf, '.');
    if (dot) {
        memcpy(dot, "Z", 2);
    }
    return buf;
}

static bool take(struct str *rest, char *buf, size_t size)
{
    struct str part;
    if (!str_split(rest, '/', &part) || part.n == 0 || part.n >= size) {
        return false;
    }
    memcpy(buf, part.p, part.n);
    buf[part.n] = '\0';
    return true;
}

/* GROUP[/namespaces/NS]/RESOURCE[/NAME[/SUB]] */
static bool parse_path(struct str path, struct api_target *ret)
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
    if (!take(&rest, word, sizeof(word))) {
        return false;
    }
    if (strcmp(word, "namespaces") == 0 &&
        (!take(&rest, t.namespace_, sizeof(t.namespace_)) || !take(&rest, word, sizeof(word)))) {
        return false;
    }
    for (size_t k = 0; k < APISERVER_KIND__MAX; k++) {
        if (strcmp(word, kinds[k].resource) == 0) {
            t.kind = (enum apiserver_kind)k;
        }
    }
    if (t.kind == APISERVER_KIND__MAX || (!core && t.kind != groups[group].kind) ||
        (core && t.kind == APISERVER_SLICES) || (!api_is_namespaced(t.kind) && t.namespace_[0])) {
        return false;
    }
    if (rest.p && !take(&rest, t.name, sizeof(t.name))) {
        return false;
    }
    if (rest.p && !take(&rest, t.subresource, sizeof(t.subresource))) {
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

static void text_reply(struct api_reply *r, const char *text)
{
    r->status = 200;
    strbuf_add_cstr(&r->body, text);
}

/* The object that wakes kube-scheduler (extender/waker.h): nobody here watches it, so nothing of it is kept. */
static bool is_wake(const struct api_request *q)
{
    return str_eq(q->method, STR("PATCH")) &&
           str_match_glob(STR("/apis/storage.k8s.io/v1/namespaces/*/csistoragecapacities/*"), q->path);
}

static bool serve_fixed(struct api *api, const struct api_request *q, struct api_reply *r)
{
    if (is_wake(q)) {
        text_reply(r, "{\"kind\":\"CSIStorageCapacity\",\"apiVersion\":\"storage.k8s.io/v1\"}");
        return true;
    }
    if (!str_eq(q->method, STR("GET"))) {
        return false;
    }
    if (str_eq(q->path, STR("/version"))) {
        int minor = atomic_load(&api->minor);
        r->status = 200;
        strbuf_addf(&r->body,
                    "{\"major\":\"1\",\"minor\":\"%d\",\"gitVersion\":\"v1.%d.0+fgpu-demo\","
                    "\"platform\":\"linux/amd64\"}",
                    minor, minor);
        return true;
    }
    if (str_eq(q->path, STR("/readyz")) || str_eq(q->path, STR("/livez")) ||
        str_eq(q->path, STR("/healthz"))) {
        text_reply(r, "ok");
        return true;
    }
    return false;
}

static void serve_named(struct api *api, const struct api_request *q, const struct api_target *t,
                        struct api_reply *r)
{
    bool status = strcmp(t->subresource, "status") == 0;
    if (str_eq(q->method, STR("GET"))) {
        api_get(api, t, r);
    } else if (str_eq(q->method, STR("PUT"))) {
        api_update(api, q, t, false, false, r);
    } else if (str_eq(q->method, STR("PATCH"))) {
        api_update(api, q, t, true, false, r);
    } else if (str_eq(q->method, STR("DELETE")) && !status) {
        api_delete(api, q, t, r);
    } else {
        api_fail(r, 405, NULL, "the server does not allow this method on the requested resource");
    }
}

void api_serve(struct api *api, const struct api_request *q, struct api_reply *r)
{
    struct api_target t;
    if (serve_fixed(api, q, r)) {
        return;
    }
    if (reviews_serve(&api->reviews, q, r)) {
        return;
    }
    if (!parse_path(q->path, &t)) {
        api_fail(r, 404, NULL, "the server could not find the requested resource");
        return;
    }
    if (t.subresource[0] && strcmp(t.subresource, "status") != 0) {
        if (t.kind == APISERVER_PODS && strcmp(t.subresource, "binding") == 0 &&
            str_eq(q->method, STR("POST"))) {
            api_bind(api, q, &t, r);
        } else {
            api_fail(r, 404, NULL, "the server could not find the requested resource");
        }
        return;
    }
    if (t.name[0]) {
        serve_named(api, q, &t, r);
    } else if (str_eq(q->method, STR("GET"))) {
        api_list(api, q, &t, r);
    } else if (str_eq(q->method, STR("POST")) && (t.namespace_[0] || !api_is_namespaced(t.kind))) {
        api_create(api, q, &t, false, r);
    } else {
        api_fail(r, 405, NULL, "the server does not allow this method on the requested resource");
    }
    BUG_ON(r->status == 0 && !r->watch);
}
