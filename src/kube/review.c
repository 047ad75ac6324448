#include "kube/review.h"

#include "objects_internal.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/json_write.h"

#include <stddef.h>
#include <stdlib.h>

#define ARENA_BYTES (1024U * 1024)

/* ---- writing ---- */

static void begin_review(struct json_writer *w, struct strbuf *out, const char *group, const char *kind)
{
    json_writer_init(w, out);
    json_write_object_begin(w);
    json_write_kv_cstr(w, "apiVersion", group);
    json_write_kv_cstr(w, "kind", kind);
    json_write_key(w, "spec");
    json_write_object_begin(w);
}

static void end(struct json_writer *w)
{
    json_write_object_end(w);
    json_write_object_end(w);
}

void token_review_write(struct str token, struct strbuf *out)
{
    struct json_writer w;
    begin_review(&w, out, "authentication.k8s.io/v1", "TokenReview");
    json_write_kv_str(&w, "token", token);
    end(&w);
}

/* The members of the subject beside ours. */
static void end_with_subject(struct json_writer *w, struct str subject)
{
    BUG_ON(subject.n < 2 || subject.p[0] != '{' || subject.p[subject.n - 1] != '}');
    if (subject.n > 2) {
        strbuf_add_char(w->out, ',');
        strbuf_add(w->out, subject.p + 1, subject.n - 2);
    }
    end(w);
}

void access_review_write(struct str subject, struct str path, struct str verb, struct strbuf *out)
{
    struct json_writer w;
    begin_review(&w, out, "authorization.k8s.io/v1", "SubjectAccessReview");
    json_write_key(&w, "nonResourceAttributes");
    json_write_object_begin(&w);
    json_write_kv_str(&w, "path", path);
    json_write_kv_str(&w, "verb", verb);
    json_write_object_end(&w);
    end_with_subject(&w, subject);
}

static void write_if(struct json_writer *w, const char *key, struct str value)
{
    if (value.n > 0) {
        json_write_kv_str(w, key, value);
    }
}

static void write_resource(struct json_writer *w, const struct review_resource *what)
{
    json_write_kv_object_begin(w, "resourceAttributes");
    json_write_kv_str(w, "verb", what->verb);
    json_write_kv_str(w, "group", what->group);
    json_write_kv_str(w, "resource", what->resource);
    write_if(w, "subresource", what->subresource);
    write_if(w, "namespace", what->namespace_);
    write_if(w, "name", what->name);
    json_write_object_end(w);
}

void resource_review_write(struct str subject, const struct review_resource *what, struct strbuf *out)
{
    struct json_writer w;
    begin_review(&w, out, "authorization.k8s.io/v1", "SubjectAccessReview");
    write_resource(&w, what);
    end_with_subject(&w, subject);
}

void self_review_write(const struct review_resource *what, struct strbuf *out)
{
    struct json_writer w;
    begin_review(&w, out, "authorization.k8s.io/v1", "SelfSubjectAccessReview");
    write_resource(&w, what);
    end(&w);
}

/* ---- reading ---- */

struct reply {
    struct str kind;
    bool answered, authenticated, allowed, denied;
    struct str name, uid;
    struct str groups, extra; /* JSON */
};

static const struct kube_field user_fields[] = {
    {STR("username"), kube_decode_text, offsetof(struct reply, name)},
    {STR("uid"), kube_decode_text, offsetof(struct reply, uid)},
    {STR("groups"), kube_decode_raw, offsetof(struct reply, groups)},
    {STR("extra"), kube_decode_raw, offsetof(struct reply, extra)},
    {STR_NULL},
};

static bool decode_status(struct json_reader *r, void *at)
{
    static const struct kube_field fields[] = {
        {STR("authenticated"), kube_decode_flag, offsetof(struct reply, authenticated)},
        {STR("allowed"), kube_decode_flag, offsetof(struct reply, allowed)},
        {STR("denied"), kube_decode_flag, offsetof(struct reply, denied)},
        {STR("user"), .inner = user_fields},
        {STR_NULL},
    };
    ((struct reply *)at)->answered = true;
    return kube_decode_object(r, fields, at);
}

static void write_subject(const struct reply *in, struct strbuf *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_str(&w, "user", in->name);
    if (in->uid.n > 0) {
        json_write_kv_str(&w, "uid", in->uid);
    }
    if (in->groups.n > 0) {
        json_write_key(&w, "groups");
        json_write_raw(&w, in->groups);
    }
    if (in->extra.n > 0) {
        json_write_key(&w, "extra");
        json_write_raw(&w, in->extra);
    }
    json_write_object_end(&w);
}

/* `kind` guards against a gateway that answers 200 with a page of its own. */
static int read_reply(struct str body, const char *kind, struct reply *ret, struct arena *a, struct err *reterr)
{
    static const struct kube_field fields[] = {
        {STR("kind"), kube_decode_text, offsetof(struct reply, kind)},
        {STR("status"), decode_status},
        {STR_NULL},
    };
    struct json_reader *r = xmalloc(sizeof(*r));
    json_reader_init(r, body, a);
    kube_decode_object(r, fields, ret);
    int rc = json_read_end(r, reterr);
    free(r);
    if (rc == 0 && (!str_eq_cstr(ret->kind, kind) || !ret->answered)) {
        rc = err_set(reterr, ERR_INVALID, "not the requested review");
    }
    return rc;
}

int token_review_read(struct str body, bool *ret_authenticated, struct strbuf *subject, struct err *reterr)
{
    struct reply reply = {.authenticated = false};
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    int rc = read_reply(body, "TokenReview", &reply, &a, reterr);
    if (rc == 0 && reply.authenticated && reply.name.n == 0) {
        rc = err_set(reterr, ERR_INVALID, "a TokenReview without a user name");
    } else if (rc == 0 && reply.authenticated) {
        write_subject(&reply, subject);
        if (subject->overflowed) {
            rc = err_set(reterr, ERR_LIMIT, "the user of a TokenReview is too large");
        }
    }
    arena_fini(&a);
    if (rc == 0) {
        *ret_authenticated = reply.authenticated;
    }
    return rc;
}

static int read_allowed(struct str body, const char *kind, bool *ret_allowed, struct err *reterr)
{
    struct reply reply = {.authenticated = false};
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    int rc = read_reply(body, kind, &reply, &a, reterr);
    arena_fini(&a);
    if (rc == 0) {
        *ret_allowed = reply.allowed && !reply.denied;
    }
    return rc;
}

int access_review_read(struct str body, bool *ret_allowed, struct err *reterr)
{
    return read_allowed(body, "SubjectAccessReview", ret_allowed, reterr);
}

int self_review_read(struct str body, bool *ret_allowed, struct err *reterr)
{
    return read_allowed(body, "SelfSubjectAccessReview", ret_allowed, reterr);
}
