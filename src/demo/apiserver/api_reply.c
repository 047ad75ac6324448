#include "demo/apiserver/api_internal.h"

#include "base/bug.h"
#include "base/json_write.h"
#include "demo/apiserver/watch_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REPLY_BYTES_MAX ((size_t)1 << 30)

void api_reply_init(struct api_reply *r)
{
    *r = (struct api_reply){.retry_after_s = -1};
    strbuf_init(&r->body, REPLY_BYTES_MAX);
}

void api_reply_fini(struct api_reply *r)
{
    strbuf_fini(&r->body);
    watch_free(r->watch);
    r->watch = NULL;
}

static const char *reason_of(int status)
{
    switch (status) {
    case 400:
        return "BadRequest";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 405:
        return "MethodNotAllowed";
    case 409:
        return "Conflict";
    case 410:
        return "Expired";
    case 413:
        return "RequestEntityTooLarge";
    case 415:
        return "UnsupportedMediaType";
    case 422:
        return "Invalid";
    case 429:
        return "TooManyRequests";
    case 500:
        return "InternalError";
    case 503:
        return "ServiceUnavailable";
    case 504:
        return "Timeout";
    default:
        return "";
    }
}

void api_add_status(struct strbuf *b, int status, const char *reason, const char *message, int32_t retry_after_s)
{
    struct json_writer w;
    json_writer_init(&w, b);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "kind", "Status");
    json_write_kv_cstr(&w, "apiVersion", "v1");
    json_write_key(&w, "metadata");
    json_write_raw(&w, STR("{}"));
    json_write_kv_cstr(&w, "status", status < 400 ? "Success" : "Failure");
    if (message) {
        json_write_kv_cstr(&w, "message", message);
    }
    if (reason && reason[0]) {
        json_write_kv_cstr(&w, "reason", reason);
    }
    if (retry_after_s >= 0) {
        json_write_key(&w, "details");
        json_write_object_begin(&w);
        json_write_kv_i64(&w, "retryAfterSeconds", retry_after_s);
        json_write_object_end(&w);
    }
    json_write_kv_i64(&w, "code", status);
    json_write_object_end(&w);
}

static void fail_with(struct api_reply *r, int status, const char *reason, const char *message)
{
    strbuf_reset(&r->body);
    r->status = status;
    api_add_status(&r->body, status, reason ? reason : reason_of(status), message, r->retry_after_s);
}

void api_fail(struct api_reply *r, int status, const char *reason, const char *fmt, ...)
{
    char message[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    fail_with(r, status, reason, message);
}

void api_not_found(struct api_reply *r, const struct api_target *t)
{
    api_fail(r, 404, NULL, "%s \"%s\" not found", api_resource_name(t->kind), t->name);
}

void api_conflict(struct api_reply *r, const char *resource, const char *name, const char *fmt, ...)
{
    char why[768], message[1280];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    snprintf(message, sizeof(message), "Operation cannot be fulfilled on %s \"%s\": %s", resource, name, why);
    fail_with(r, 409, NULL, message);
}

void api_success(struct api_reply *r, int status)
{
    strbuf_reset(&r->body);
    r->status = status;
    api_add_status(&r->body, status, NULL, NULL, -1);
}

void api_add_object(struct strbuf *b, enum apiserver_kind kind, const char *json, size_t json_n)
{
    BUG_ON(json_n < 2 || json[0] != '{');
    strbuf_addf(b, "{\"kind\":\"%s\",\"apiVersion\":\"%s\"%s", api_kind_name(kind), api_version_name(kind),
                json_n > 2 ? "," : "");
    strbuf_add(b, json + 1, json_n - 1);
}

void api_object(struct api_reply *r, int status, enum apiserver_kind kind, const struct version *v)
{
    strbuf_reset(&r->body);
    r->status = status;
    api_add_object(&r->body, kind, v->json, v->json_n);
}
