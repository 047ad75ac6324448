#include "kube/binding.h"

#include "objects_internal.h"

#include "base/arena.h"
#include "base/json_write.h"
#include "kube/names.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { RETRY_DEFAULT_MS = 1000 }; /* client-go's, for a reply that names no time */
enum { PRECONDITIONS_MINOR = 23 };
#define VERSION_BYTES_MAX (64U * 1024)

size_t binding_kept_bytes(struct kv_list existing, struct kv_list ours)
{
    size_t bytes = 0;
    for (size_t i = 0; i < existing.n; i++) {
        if (kv_find(ours, existing.items[i].key) == NULL) {
            bytes += existing.items[i].key.n + existing.items[i].value.n;
        }
    }
    return bytes;
}

static int check_pod_name(struct str namespace_, struct str name, struct err *reterr)
{
    if (!kube_name_is_label(namespace_)) {
        return err_set(reterr, ERR_INVALID, "not a namespace: \"%.*s\"", STR_ARG(namespace_));
    }
    if (!kube_name_is_subdomain(name)) {
        return err_set(reterr, ERR_INVALID, "not the name of a pod: \"%.*s\"", STR_ARG(name));
    }
    return 0;
}

static int check_annotations(struct kv_list list, size_t kept_bytes, struct err *reterr)
{
    size_t bytes = kept_bytes;
    for (size_t i = 0; i < list.n; i++) {
        if (!kube_name_is_annotation_key(list.items[i].key)) {
            return err_set(reterr, ERR_INVALID, "not an annotation key: \"%.*s\"", STR_ARG(list.items[i].key));
        }
        bytes += list.items[i].key.n + list.items[i].value.n;
    }
    if (bytes > POD_ANNOTATION_BYTES_MAX) {
        return err_set(reterr, ERR_LIMIT, "the pod's annotations would be %zu bytes, %d are allowed", bytes,
                       POD_ANNOTATION_BYTES_MAX);
    }
    return 0;
}

static int check(const struct binding *b, size_t kept_bytes, struct err *reterr)
{
    int rc = check_pod_name(b->namespace_, b->pod_name, reterr);
    if (rc != 0) {
        return rc;
    }
    if (!kube_name_is_subdomain(b->node_name)) {
        return err_set(reterr, ERR_INVALID, "not the name of a node: \"%.*s\"", STR_ARG(b->node_name));
    }
    if (b->pod_uid.n == 0) {
        return err_set(reterr, ERR_INVALID, "a binding needs the pod's uid");
    }
    return check_annotations(b->annotations, kept_bytes, reterr);
}

static void write_body(const struct binding *b, struct strbuf *body)
{
    struct json_writer w;
    json_writer_init(&w, body);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", "v1");
    json_write_kv_cstr(&w, "kind", "Binding");
    json_write_key(&w, "metadata");
    json_write_object_begin(&w);
    json_write_kv_str(&w, "name", b->pod_name);
    json_write_kv_str(&w, "namespace", b->namespace_);
    json_write_kv_str(&w, "uid", b->pod_uid);
    if (b->pod_version != 0) {
        char version[24];
        snprintf(version, sizeof(version), "%" PRIu64, b->pod_version);
        json_write_kv_cstr(&w, "resourceVersion", version);
    }
    json_write_key(&w, "annotations");
    json_write_object_begin(&w);
    for (size_t i = 0; i < b->annotations.n; i++) {
        json_write_key_str(&w, b->annotations.items[i].key);
        json_write_str(&w, b->annotations.items[i].value);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
    json_write_key(&w, "target");
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", "v1");
    json_write_kv_cstr(&w, "kind", "Node");
    json_write_kv_str(&w, "name", b->node_name);
    json_write_object_end(&w);
    json_write_object_end(&w);
}

static void add_pod_path(struct str namespace_, struct str name, struct strbuf *path)
{
    strbuf_add_cstr(path, "/api/v1/namespaces/");
    kube_url_escape(path, namespace_);
    strbuf_add_cstr(path, "/pods/");
    kube_url_escape(path, name);
}

int binding_request(const struct binding *b, size_t kept_bytes, struct strbuf *path, struct strbuf *body,
                    struct err *reterr)
{
    int rc = check(b, kept_bytes, reterr);
    if (rc != 0) {
        return rc;
    }
    add_pod_path(b->namespace_, b->pod_name, path);
    strbuf_addf(path, "/binding?timeout=%ds", BINDING_TIMEOUT_S);
    write_body(b, body);
    if (path->overflowed || body->overflowed) {
        return err_set(reterr, ERR_LIMIT, "no room for the binding of pod %.*s", STR_ARG(b->pod_name));
    }
    return 0;
}

int kube_pod_path(struct str namespace_, struct str name, struct strbuf *path, struct err *reterr)
{
    int rc = check_pod_name(namespace_, name, reterr);
    if (rc != 0) {
        return rc;
    }
    add_pod_path(namespace_, name, path);
    return path->overflowed ? err_set(reterr, ERR_LIMIT, "no room for the path of a pod") : 0;
}

/* ---- replies ---- */

static const struct status_row {
    int http_status;
    struct bind_answer answer;
} status_rows[] = {
    {201, {BIND_BOUND, false, 0, "bound"}},
    {400, {BIND_REFUSED, false, 0, "the API server calls the binding malformed (400)"}},
    {401, {BIND_UNAUTHORIZED, false, 0, "the API server does not accept our credentials (401)"}},
    {403, {BIND_REFUSED, false, 0, "no right to create pods/binding (403)"}},
    {404, {BIND_REFUSED, false, 0, "the pod does not exist (404)"}},
    {409, {BIND_CONFLICT, true, 0, "the pod is not as expected (409)"}},
    {422, {BIND_REFUSED, false, 0, "the API server calls the binding invalid (422)"}},
    {429, {BIND_RETRY_AFTER, false, RETRY_DEFAULT_MS, "the API server limits our requests (429)"}},
    {500, {BIND_LOST, true, 0, "the API server failed (500)"}},
    {503, {BIND_RETRY_AFTER, true, RETRY_DEFAULT_MS, "the API server is not available (503)"}},
    {504, {BIND_RETRY_AFTER, true, RETRY_DEFAULT_MS, "the API server ran out of time (504)"}},
};

static struct bind_answer of_status(int http_status)
{
    for (size_t i = 0; i < ARRAY_LEN(status_rows); i++) {
        if (status_rows[i].http_status == http_status) {
            return status_rows[i].answer;
        }
    }
    /* a gateway's answer, or none that the API documents: says nothing of what the server did */
    return (struct bind_answer){BIND_LOST, true, 0, "unexpected HTTP status"};
}

static struct bind_answer of_reply(const struct kube_outcome *o)
{
    struct bind_answer answer = of_status(o->http_status);
    if (o->http_status == 500 && o->retry_after_ms >= 0) {
        answer = (struct bind_answer){BIND_RETRY_AFTER, true, 0, "the API server asks to retry (500)"};
    }
    if (answer.reply == BIND_RETRY_AFTER && o->retry_after_ms >= 0) {
        answer.retry_after_ms = o->retry_after_ms;
    }
    return answer;
}

struct bind_answer bind_classify(const struct kube_outcome *outcome)
{
    if (outcome->kind == KUBE_ANSWERED) {
        struct bind_answer answer = of_reply(outcome);
        answer.maybe_bound = answer.maybe_bound || (outcome->sent_again && answer.reply != BIND_BOUND);
        return answer;
    }
    if (outcome->kind == KUBE_NOT_SENT && outcome->http_status == 401) {
        return of_status(401);
    }
    if (!outcome->maybe_sent) {
        return (struct bind_answer){BIND_NOT_SENT, false, 0, "the API server cannot be reached"};
    }
    const char *reason = outcome->kind == KUBE_TIMED_OUT ? "the API server did not answer in time"
                                                         : "the connection to the API server broke";
    return (struct bind_answer){BIND_LOST, true, 0, reason};
}

/* ---- the server ---- */

/* "36", and "23+" of those who build their own. */
static uint64_t leading_number(struct str s)
{
    uint64_t n = 0;
    size_t digit_n = 0;
    while (digit_n < s.n && s.p[digit_n] >= '0' && s.p[digit_n] <= '9') {
        digit_n++;
    }
    return str_to_u64((struct str){s.p, digit_n}, UINT32_MAX, &n) ? n : 0;
}

uint32_t kube_minor_of(struct str document)
{
    struct version {
        struct str major, minor;
    } v = {STR_NULL, STR_NULL};
    static const struct kube_field fields[] = {
        {STR("major"), kube_decode_text, offsetof(struct version, major)},
        {STR("minor"), kube_decode_text, offsetof(struct version, minor)},
        {STR_NULL},
    };
    struct json_reader *r = xmalloc(sizeof(*r));
    struct arena a;
    arena_init(&a, VERSION_BYTES_MAX);
    json_reader_init(r, document, &a);
    kube_decode_object(r, fields, &v);
    bool read = json_read_end(r, NULL) == 0;
    uint64_t major = read ? leading_number(v.major) : 0, minor = read ? leading_number(v.minor) : 0;
    arena_fini(&a);
    free(r);
    return major == 0 ? 0 : major > 1 ? UINT32_MAX : minor == 0 ? 1 : (uint32_t)minor;
}

enum binding_preconditions binding_preconditions_of(struct str document)
{
    const uint32_t minor = kube_minor_of(document);

    return minor == 0                     ? BINDING_PRECONDITIONS_UNKNOWN
           : minor >= PRECONDITIONS_MINOR ? BINDING_PRECONDITIONS_CHECKED
                                          : BINDING_PRECONDITIONS_IGNORED;
}
