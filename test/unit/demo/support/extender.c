#include "demo/support/extender.h"

#include "base/strbuf.h"
#include "demo/checker/checker.h"
#include "demo/support/http.h"
#include "demo/support/server.h"
#include "httpd/server.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct extender {
    struct httpd_server *http;
    struct httpd_route routes[3];
    char url[64];
    atomic_int fault;
    pthread_mutex_t lock; /* one bind at a time */
};

struct gpu_request {
    int64_t count, milli, mem;
};

static int64_t number(const cJSON *o, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    return text ? strtoll(text, NULL, 10) : 0;
}

static struct gpu_request gpu_request_of(const cJSON *pod)
{
    const cJSON *spec = cJSON_GetObjectItem(pod, "spec"), *meta = cJSON_GetObjectItem(pod, "metadata");
    const cJSON *container = cJSON_GetArrayItem(cJSON_GetObjectItem(spec, "containers"), 0);
    const cJSON *limits = cJSON_GetObjectItem(cJSON_GetObjectItem(container, "resources"), "limits");
    const char *fraction =
        cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(meta, "annotations"), "fgpu.io/gpu-fraction"));
    struct gpu_request w = {number(limits, "fgpu.io/gpu-count"), number(limits, "fgpu.io/gpu-milli"),
                            number(limits, "fgpu.io/gpu-memory-mib")};
    if (fraction) {
        w.milli = strtoll(strchr(fraction, '.') + 1, NULL, 10);
    }
    if (w.milli == 0 && w.mem == 0) {
        w.milli = 1000;
    }
    w.count = w.count ? w.count : 1;
    return w;
}

static bool fits(const struct checker_device *d, const struct gpu_request *w)
{
    return d->milli_used + w->milli <= 1000 && d->mem_used_mib + w->mem <= d->mem_mib && d->sharer_n < d->slot_n;
}

/* The first devices that fit, as the list of an assignment; false when there are too few. */
static bool place(const struct checker_node *n, const struct gpu_request *w, bool careless, struct strbuf *out)
{
    int64_t found = 0;
    for (size_t i = 0; i < n->device_n && found < w->count; i++) {
        const struct checker_device *d = &n->devices[i];
        if (careless || fits(d, w)) {
            strbuf_addf(out,
                        "%s{\\\"uuid\\\":\\\"%s\\\",\\\"index\\\":%d,\\\"milli\\\":%lld,"
                        "\\\"memMib\\\":%lld}",
                        found ? "," : "", d->uuid, d->index, (long long)w->milli, (long long)w->mem);
            found++;
        }
    }
    return found == w->count;
}

static const struct checker_node *node_named(const struct checker_report *r, const char *name)
{
    for (size_t i = 0; i < r->node_n; i++) {
        if (strcmp(r->nodes[i].name, name) == 0) {
            return &r->nodes[i];
        }
    }
    return NULL;
}

static void filter_honestly(struct extender *e, const cJSON *args, struct httpd_response *resp)
{
    struct checker_report r;
    struct strbuf good, bad, devices;
    const cJSON *name;
    struct gpu_request w = gpu_request_of(cJSON_GetObjectItem(args, "Pod"));
    bool careless = atomic_load(&e->fault) == EXTENDER_OVERCOMMIT;
    strbuf_init(&good, 1 << 20);
    strbuf_init(&bad, 1 << 20);
    strbuf_init(&devices, 1 << 20);
    checker_run(server, &r);
    cJSON_ArrayForEach(name, cJSON_GetObjectItem(args, "NodeNames"))
    {
        strbuf_reset(&devices);
        if (place(node_named(&r, name->valuestring), &w, careless, &devices)) {
            strbuf_addf(&good, "%s\"%s\"", good.n ? "," : "", name->valuestring);
        } else {
            strbuf_addf(&bad, "%s\"%s\":\"no device has room\"", bad.n ? "," : "", name->valuestring);
        }
    }
    strbuf_addf(&resp->body, "{\"Nodes\":null,\"NodeNames\":[%s],\"FailedNodes\":{%s},\"Error\":\"\"}", good.p,
                good.n ? "" : bad.p);
    checker_report_fini(&r);
    strbuf_fini(&good);
    strbuf_fini(&bad);
    strbuf_fini(&devices);
}

static enum httpd_action on_filter(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct extender *e = ctx;
    struct str body = httpd_request_body(req);
    cJSON *args = cJSON_ParseWithLength(body.p, body.n);
    switch (atomic_load(&e->fault)) {
    case EXTENDER_UNKNOWN_NODE:
        strbuf_add_cstr(&resp->body, "{\"NodeNames\":[\"elsewhere\"]}");
        break;
    case EXTENDER_NO_REASON:
        strbuf_add_cstr(&resp->body, "{\"NodeNames\":[],\"FailedNodes\":{\"node-00\":\"full\"}}");
        break;
    case EXTENDER_NOT_JSON:
        strbuf_add_cstr(&resp->body, "<html>");
        break;
    case EXTENDER_HTTP_500:
        httpd_response_text(resp, 500, "no");
        break;
    case EXTENDER_ERROR:
        strbuf_add_cstr(&resp->body, "{\"Error\":\"not ready\"}");
        break;
    default:
        filter_honestly(e, args, resp);
    }
    cJSON_Delete(args);
    return HTTPD_REPLY;
}

/* The last node asked for is the best. */
static enum httpd_action on_prioritize(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct extender *e = ctx;
    struct str body = httpd_request_body(req);
    cJSON *args = cJSON_ParseWithLength(body.p, body.n);
    const cJSON *name, *names = cJSON_GetObjectItem(args, "NodeNames");
    int best = atomic_load(&e->fault) == EXTENDER_SCORE_11 ? 11 : 10;
    strbuf_add_char(&resp->body, '[');
    cJSON_ArrayForEach(name, names)
    {
        strbuf_addf(&resp->body, "%s{\"Host\":\"%s\",\"Score\":%d}", resp->body.n > 1 ? "," : "", name->valuestring,
                    name->next ? 0 : best);
    }
    strbuf_add_char(&resp->body, ']');
    cJSON_Delete(args);
    return HTTPD_REPLY;
}

struct pod_copy {
    cJSON *doc;
};

static void copy_pod(void *ctx, const cJSON *pod)
{
    ((struct pod_copy *)ctx)->doc = cJSON_Duplicate(pod, 1);
}

static bool bind_honestly(struct extender *e, const cJSON *args)
{
    struct checker_report r;
    struct strbuf devices, binding;
    struct pod_copy pod = {NULL};
    char path[600];
    const char *name = json_text(args, "PodName"), *ns = json_text(args, "PodNamespace");
    strbuf_init(&devices, 1 << 20);
    strbuf_init(&binding, 1 << 20);
    checker_run(server, &r);
    bool ok = apiserver_find(server, APISERVER_PODS, ns, name, copy_pod, &pod);
    if (ok) {
        struct gpu_request w = gpu_request_of(pod.doc);
        ok =
            place(node_named(&r, json_text(args, "Node")), &w, atomic_load(&e->fault) == EXTENDER_OVERCOMMIT, &devices);
    }
    if (ok) {
        strbuf_addf(&binding,
                    "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"annotations\":{"
                    "\"fgpu.io/assignment\":\"{\\\"v\\\":1,\\\"id\\\":\\\"1\\\",\\\"containers\\\":[{"
                    "\\\"name\\\":\\\"main\\\",\\\"init\\\":false,\\\"devices\\\":[%s]}]}\"}},"
                    "\"target\":{\"kind\":\"Node\",\"name\":\"%s\"}}",
                    name, json_text(args, "PodUID"), devices.p, json_text(args, "Node"));
        snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s/binding", ns, name);
        struct http_reply reply = http_call(server, "POST", path, binding.p);
        ok = reply.status == 201;
        http_reply_fini(&reply);
    }
    cJSON_Delete(pod.doc);
    checker_report_fini(&r);
    strbuf_fini(&devices);
    strbuf_fini(&binding);
    return ok;
}

static enum httpd_action on_bind(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct extender *e = ctx;
    struct str body = httpd_request_body(req);
    cJSON *args = cJSON_ParseWithLength(body.p, body.n);
    pthread_mutex_lock(&e->lock);
    bool ok = atomic_load(&e->fault) == EXTENDER_LYING_BIND || bind_honestly(e, args);
    pthread_mutex_unlock(&e->lock);
    strbuf_addf(&resp->body, "{\"Error\":\"%s\"}", ok ? "" : "no device has room");
    cJSON_Delete(args);
    return HTTPD_REPLY;
}

struct extender *extender_start(void)
{
    struct extender *e = calloc(1, sizeof(*e));
    assert_non_null(e);
    pthread_mutex_init(&e->lock, NULL);
    e->routes[0] = (struct httpd_route){.method = "POST", .path = "/v1/filter", .handle = on_filter, .ctx = e};
    e->routes[1] = (struct httpd_route){.method = "POST", .path = "/v1/prioritize", .handle = on_prioritize, .ctx = e};
    e->routes[2] = (struct httpd_route){.method = "POST", .path = "/v1/bind", .handle = on_bind, .ctx = e};
    struct httpd_listener_config listener = {
        .name = "verbs", .address = "127.0.0.1:0", .routes = e->routes, .route_n = 3, .thread_n = 2};
    struct httpd_config config = {.listeners = &listener, .listener_n = 1};
    assert_int_equal(httpd_server_new(&config, &e->http, NULL), 0);
    assert_int_equal(httpd_server_start(e->http, NULL), 0);
    snprintf(e->url, sizeof(e->url), "http://127.0.0.1:%u/v1", httpd_server_port(e->http, 0));
    return e;
}

void extender_free(struct extender *e)
{
    httpd_server_free(e->http);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

const char *extender_url(const struct extender *e)
{
    return e->url;
}

void extender_set(struct extender *e, enum extender_fault fault)
{
    atomic_store(&e->fault, (int)fault);
}
