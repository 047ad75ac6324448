/* The object calls of demo/apiserver/apiserver.h: the handlers of the HTTP verbs, called without HTTP. */
#include "demo/apiserver/apiserver_internal.h"
#include "demo/doc_internal.h"

#include <stdio.h>

static enum err_code code_of(int status)
{
    switch (status) {
    case 400:
        return ERR_PARSE;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    default:
        return ERR_INVALID;
    }
}

/* Ends the reply. */
static int outcome(struct api_reply *r, struct err *reterr)
{
    int rc = 0;
    if (r->status >= 300) {
        cJSON *status = doc_parse(strbuf_view(&r->body));
        rc = err_set(reterr, code_of(r->status), "%s", doc_text(status, "message"));
        cJSON_Delete(status);
    }
    api_reply_fini(r);
    return rc;
}

static struct api_target target_of(enum apiserver_kind kind, const char *namespace_, const char *name)
{
    struct api_target t = {.kind = kind};
    snprintf(t.namespace_, sizeof(t.namespace_), "%s", namespace_ ? namespace_ : "");
    snprintf(t.name, sizeof(t.name), "%s", name ? name : "");
    return t;
}

int apiserver_create(struct apiserver *a, enum apiserver_kind kind, const char *json, struct err *reterr)
{
    struct api_reply r;
    struct api_request q = {.body = str_of(json)};
    cJSON *doc = doc_parse(q.body);
    const char *ns = doc_text(doc, "metadata.namespace");
    struct api_target t = target_of(kind, !api_is_namespaced(kind) ? NULL : ns[0] ? ns : "default", NULL);
    api_reply_init(&r);
    api_create(&a->api, &q, &t, true, &r);
    cJSON_Delete(doc);
    return outcome(&r, reterr);
}

int apiserver_patch(struct apiserver *a, enum apiserver_kind kind, const char *namespace_, const char *name,
                    const char *json, struct err *reterr)
{
    struct api_reply r;
    struct api_request q = {.body = str_of(json)};
    struct api_target t = target_of(kind, namespace_, name);
    api_reply_init(&r);
    api_update(&a->api, &q, &t, true, true, &r);
    return outcome(&r, reterr);
}

int apiserver_delete(struct apiserver *a, enum apiserver_kind kind, const char *namespace_, const char *name,
                     int32_t grace_s, struct err *reterr)
{
    char seconds[16];
    struct api_reply r;
    snprintf(seconds, sizeof(seconds), "%d", grace_s);
    struct kv grace = {STR("gracePeriodSeconds"), str_of(seconds)};
    struct api_request q = {.query = {&grace, 1}};
    struct api_target t = target_of(kind, namespace_, name);
    api_reply_init(&r);
    api_delete(&a->api, &q, &t, &r);
    return outcome(&r, reterr);
}

uint64_t apiserver_each(struct apiserver *a, enum apiserver_kind kind, void (*fn)(void *ctx, const cJSON *object),
                        void *ctx)
{
    struct snapshot *p = objects_snapshot(a->api.store, kind);
    uint64_t rv = p->rv;
    for (size_t i = 0; i < p->n; i++) {
        fn(ctx, p->items[i]->doc);
    }
    snapshot_unref(p);
    return rv;
}

bool apiserver_find(struct apiserver *a, enum apiserver_kind kind, const char *namespace_, const char *name,
                    void (*fn)(void *ctx, const cJSON *object), void *ctx)
{
    char key[API_KEY_MAX];
    struct api_target t = target_of(kind, namespace_, name);
    api_key(&t, key);
    objects_lock(a->api.store);
    struct version *v = objects_find(a->api.store, kind, key);
    if (v) {
        version_ref(v);
    }
    objects_unlock(a->api.store);
    if (v) {
        fn(ctx, v->doc);
        version_unref(v);
        return true;
    }
    return false;
}
