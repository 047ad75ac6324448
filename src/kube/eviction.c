#include "kube/eviction.h"

#include "base/bug.h"
#include "base/json_write.h"
#include "kube/binding.h"

int kube_eviction_request(struct str namespace_, struct str name, struct str uid, struct strbuf *path,
                          struct strbuf *body, struct err *reterr)
{
    int rc = uid.n == 0 ? err_set(reterr, ERR_INVALID, "an eviction needs the pod's uid")
                        : kube_pod_path(namespace_, name, path, reterr);
    struct json_writer w;

    if (rc != 0) {
        return rc;
    }
    strbuf_add_cstr(path, "/eviction");
    json_writer_init(&w, body);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", "policy/v1");
    json_write_kv_cstr(&w, "kind", "Eviction");
    json_write_kv_object_begin(&w, "metadata");
    json_write_kv_str(&w, "name", name);
    json_write_kv_str(&w, "namespace", namespace_);
    json_write_object_end(&w);
    json_write_kv_object_begin(&w, "deleteOptions");
    json_write_kv_object_begin(&w, "preconditions");
    json_write_kv_str(&w, "uid", uid);
    json_write_object_end(&w);
    json_write_object_end(&w);
    json_write_object_end(&w);
    return path->overflowed || body->overflowed ? err_set(reterr, ERR_LIMIT, "no room for an eviction") : 0;
}

const char *eviction_reply_name(enum eviction_reply r)
{
    static const char *const names[EVICTION_REPLY__MAX] = {
        [EVICTION_ACCEPTED] = "accepted",   [EVICTION_GONE] = "gone",     [EVICTION_HELD] = "held",
        [EVICTION_FORBIDDEN] = "forbidden", [EVICTION_FAILED] = "failed",
    };

    BUG_ON((unsigned)r >= EVICTION_REPLY__MAX);
    return names[r];
}

struct eviction_answer eviction_classify(const struct kube_outcome *o)
{
    struct eviction_answer a = {.reply = EVICTION_FAILED,
                                .retry_after_ms = o->retry_after_ms > 0 ? o->retry_after_ms : 0};

    if (o->kind != KUBE_ANSWERED) {
        return a;
    }
    switch (o->http_status) {
    case 200:
    case 201:
        a.reply = EVICTION_ACCEPTED;
        break;
    case 404:
    case 409:
        a.reply = EVICTION_GONE;
        break;
    case 429:
        a.reply = EVICTION_HELD;
        break;
    case 403:
        a.reply = EVICTION_FORBIDDEN;
        break;
    default:
        break;
    }
    return a;
}
