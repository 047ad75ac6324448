#include "kube/review.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/json_read.h"
#include "base/json_write.h"

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

void access_review_write(struct str subject, struct str path, struct str verb, struct strbuf *out)
{
    struct json_writer w;
    begin_review(&w, out, "authorization.k8s.io/v1", "SubjectAccessReview");
    json_write_key(&w, "nonResourceAttributes");
    json_write_object_begin(&w);
    json_write_kv_str(&w, "path", path);
    json_write_kv_str(&w, "verb", verb);
    json_write_object_end(&w);
    BUG_ON(subject.n < 2 || subject.p[0] != '{' || subject.p[subject.n - 1] != '}');
    if (subject.n > 2) { /* its members beside ours */
        strbuf_add_char(out, ',');
        strbuf_add(out, subject.p + 1, subject.n - 2);
    }
    end(&w);
}

/* ---- reading ---- */

struct reply {
    bool authenticated, allowed, denied;
    struct str name, uid;
    struct str groups, extra; /* JSON */
};

static void read_text(struct json_reader *r, struct str *ret)
{
    if (!json_accept_null(r)) {
        (void)json_string(r, ret);
    }
}

static void read_raw(struct json_reader *r, struct str *ret)
{
    if (!json_accept_null(r)) {
        (void)json_raw(r, ret);
    }
}

static void read_user(struct json_reader *r, struct reply *ret)
{
    struct str key;
    if (json_accept_null(r)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("username"))) {
            read_text(r, &ret->name);
        } else if (str_eq(key, STR("uid"))) {
            read_text(r, &ret->uid);
        } else if (str_eq(key, STR("groups"))) {
            read_raw(r, &ret->groups);
        } else if (str_eq(key, STR("extra"))) {
            read_raw(r, &ret->extra);
        } else {
            json_skip(r);
        }
    }
}

static void read_status(struct json_reader *r, struct reply *ret)
{
    struct str key;
    if (json_accept_null(r)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("authenticated"))) {
            json_bool(r, &ret->authenticated);
        } else if (str_eq(key, STR("allowed"))) {
            json_bool(r, &ret->allowed);
        } else if (str_eq(key, STR("denied"))) {
            json_bool(r, &ret->denied);
        } else if (str_eq(key, STR("user"))) {
            read_user(r, ret);
        } else {
            json_skip(r);
        }
    }
}

/* `kind` guards against a gateway that answers 200 with a page of its own. */
static void read_object(struct json_reader *r, const char *kind, struct reply *ret)
{
    struct str key, text = STR_NULL;
    bool has_status = false;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("kind"))) {
            read_text(r, &text);
        } else if (str_eq(key, STR("status"))) {
            has_status = true;
            read_status(r, ret);
        } else {
            json_skip(r);
        }
    }
    if (!json_failed(r) && (!str_eq_cstr(text, kind) || !has_status)) {
        json_fail(r, ERR_INVALID, "not the requested review");
    }
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

static int read_reply(struct str body, const char *kind, struct reply *ret, struct arena *a, struct err *reterr)
{
    struct json_reader *r = xmalloc(sizeof(*r));
    json_reader_init(r, body, a);
    read_object(r, kind, ret);
    int rc = json_read_end(r, reterr);
    free(r);
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

int access_review_read(struct str body, bool *ret_allowed, struct err *reterr)
{
    struct reply reply = {.authenticated = false};
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    int rc = read_reply(body, "SubjectAccessReview", &reply, &a, reterr);
    arena_fini(&a);
    if (rc == 0) {
        *ret_allowed = reply.allowed && !reply.denied;
    }
    return rc;
}
