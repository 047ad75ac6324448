/* Which handler answers a request: the simulated API server's table of paths and methods, as code.
 *
 * First what is fixed (version, health), then reviews of tokens and rights, then the resources. An answer that is not a
 * success is a Status, as of the real server: 404 for a path that names nothing, 405 for a method that the path does
 * not have. Contract section 4.2 (Binding) and section 5 (list and watch) say what answers must look like.
 *
 * No lock here: many threads serve requests at once, and each handler takes the lock of the store for what it does.
 */
#include "demo/apiserver/api_internal.h"

#include "base/bug.h"

#include <string.h>

static void text_reply(struct api_reply *r, const char *text)
{
    r->status = 200;
    strbuf_add_cstr(&r->body, text);
}

/* The object whose change makes kube-scheduler try refused pods again (extender/requeue_trigger.h). The simulated
 * scheduler does not watch it, so where nobody has made one nothing of it is kept. */
static bool is_lost_wake(struct api *api, const struct api_request *q, const struct api_target *t)
{
    char key[API_KEY_MAX];
    bool exists;

    if (t->kind != APISERVER_STORAGE_CAPACITIES || !str_eq(q->method, STR("PATCH"))) {
        return false;
    }
    api_key(t, key);
    objects_lock(api->store);
    exists = objects_find(api->store, t->kind, key) != NULL;
    objects_unlock(api->store);
    return !exists;
}

static bool serve_fixed(struct api *api, const struct api_request *q, struct api_reply *r)
{
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
    if (str_eq(q->path, STR("/readyz")) || str_eq(q->path, STR("/livez")) || str_eq(q->path, STR("/healthz"))) {
        text_reply(r, "ok");
        return true;
    }
    return false;
}

static void serve_named(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r)
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
    if (!api_target_parse(q->path, &t)) {
        api_fail(r, 404, NULL, "the server could not find the requested resource");
        return;
    }
    if (is_lost_wake(api, q, &t)) {
        text_reply(r, "{\"kind\":\"CSIStorageCapacity\",\"apiVersion\":\"storage.k8s.io/v1\"}");
        return;
    }
    if (t.subresource[0] && strcmp(t.subresource, "status") != 0) {
        if (t.kind == APISERVER_PODS && strcmp(t.subresource, "binding") == 0 && str_eq(q->method, STR("POST"))) {
            api_bind(api, q, &t, r);
        } else if (t.kind == APISERVER_PODS && strcmp(t.subresource, "eviction") == 0 &&
                   str_eq(q->method, STR("POST"))) {
            api_evict(api, q, &t, r);
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
    BUG_ON(r->status == 0 && !r->watch); /* a handler that forgot to answer */
}
