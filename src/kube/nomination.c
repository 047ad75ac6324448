#include "kube/nomination.h"

#include "base/bug.h"
#include "base/json_write.h"
#include "kube/binding.h"
#include "kube/names.h"
#include "model/pod.h"

#include <inttypes.h>
#include <stdio.h>

static void write_body(const struct nomination *n, struct strbuf *body)
{
    struct json_writer w;
    char version[24];

    snprintf(version, sizeof(version), "%" PRIu64, n->pod_version);
    json_writer_init(&w, body);
    json_write_object_begin(&w);
    json_write_kv_object_begin(&w, "metadata");
    json_write_kv_str(&w, "uid", n->pod_uid);
    json_write_kv_cstr(&w, "resourceVersion", version);
    json_write_object_end(&w);
    json_write_kv_object_begin(&w, "status");
    if (n->node_name.n > 0) {
        json_write_kv_str(&w, "nominatedNodeName", n->node_name);
    } else {
        json_write_key(&w, "nominatedNodeName");
        json_write_null(&w);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
}

int kube_nomination_request(const struct nomination *n, struct strbuf *path, struct strbuf *body, struct err *reterr)
{
    int rc;

    if (n->pod_uid.n == 0 || n->pod_version == 0) {
        return err_set(reterr, ERR_INVALID, "a nomination needs the pod's uid and resourceVersion");
    }
    if (n->node_name.n > 0 && !kube_name_is_subdomain(n->node_name)) {
        return err_set(reterr, ERR_INVALID, "not the name of a node: \"%.*s\"", STR_ARG(n->node_name));
    }
    rc = kube_pod_path(n->namespace_, n->pod_name, path, reterr);
    if (rc != 0) {
        return rc;
    }
    strbuf_add_cstr(path, "/status?fieldManager=" PLANNER_FIELD_MANAGER);
    write_body(n, body);
    return path->overflowed || body->overflowed ? err_set(reterr, ERR_LIMIT, "no room for a nomination") : 0;
}

const char *nomination_reply_name(enum nomination_reply r)
{
    static const char *const names[NOMINATION_REPLY__MAX] = {
        [NOMINATION_DONE] = "done",           [NOMINATION_CHANGED] = "changed", [NOMINATION_GONE] = "gone",
        [NOMINATION_FORBIDDEN] = "forbidden", [NOMINATION_REFUSED] = "refused", [NOMINATION_FAILED] = "failed",
    };

    BUG_ON((unsigned)r >= NOMINATION_REPLY__MAX);
    return names[r];
}

struct nomination_answer nomination_classify(const struct kube_outcome *o)
{
    struct nomination_answer a = {.reply = NOMINATION_FAILED,
                                  .retry_after_ms = o->retry_after_ms > 0 ? o->retry_after_ms : 0};

    if (o->kind != KUBE_ANSWERED) {
        return a;
    }
    switch (o->http_status) {
    case 200:
        a.reply = NOMINATION_DONE;
        break;
    case 409: /* it may be the first copy that changed the pod */
        a.reply = o->sent_again ? NOMINATION_FAILED : NOMINATION_CHANGED;
        break;
    case 404:
        a.reply = NOMINATION_GONE;
        break;
    case 403:
        a.reply = NOMINATION_FORBIDDEN;
        break;
    case 400:
    case 422:
        a.reply = NOMINATION_REFUSED;
        break;
    default:
        break;
    }
    return a;
}
