#include "demo/apiserver/reviews_internal.h"

#include "base/bug.h"
#include "demo/apiserver/api_internal.h"
#include "demo/doc_internal.h"

#include <stdlib.h>
#include <string.h>

void reviews_init(struct reviews *v)
{
    *v = (struct reviews){.script = NULL};
    mutex_init(&v->lock, "demo reviews");
}

void reviews_fini(struct reviews *v)
{
    cJSON_Delete(v->script);
    cJSON_Delete(v->last);
    mutex_destroy(&v->lock);
}

static void reply_doc(struct api_reply *r, int status, cJSON *doc)
{
    char *text = doc_print(doc);

    r->status = status;
    strbuf_add_cstr(&r->body, text);
    free(text);
    cJSON_Delete(doc);
}

/* Without `kind` and `spec` of the right form the real one answers 400, too. */
static cJSON *parse(const struct api_request *q, const char *kind, struct api_reply *r)
{
    cJSON *doc = doc_parse(q->body);

    if (!cJSON_IsObject(doc) || strcmp(doc_text(doc, "kind"), kind) != 0 || !cJSON_IsObject(doc_field(doc, "spec"))) {
        api_fail(r, 400, NULL, "the body is not a %s", kind);
        cJSON_Delete(doc);
        return NULL;
    }
    return doc;
}

/* As kube-apiserver: the spec comes back; a bad token has an error and no `authenticated`. */
static void answer_token(const struct reviews *v, cJSON *doc)
{
    const cJSON *user = doc_field(doc_field(v->script, "tokens"), doc_text(doc, "spec.token"));
    cJSON *status = doc_object(doc, "status");

    if (user == NULL) {
        doc_set(status, "user", cJSON_CreateObject());
        doc_set_text(status, "error", "[invalid bearer token, token lookup failed]");
    } else {
        doc_set(status, "authenticated", cJSON_CreateTrue());
        doc_set(status, "user", cJSON_Duplicate(user, 1));
    }
}

static bool is_allowed(const struct reviews *v, const cJSON *doc)
{
    const cJSON *rule;

    cJSON_ArrayForEach(rule, doc_field(v->script, "allow"))
    {
        if (strcmp(doc_text(rule, "user"), doc_text(doc, "spec.user")) == 0 &&
            strcmp(doc_text(rule, "verb"), doc_text(doc, "spec.nonResourceAttributes.verb")) == 0 &&
            strcmp(doc_text(rule, "path"), doc_text(doc, "spec.nonResourceAttributes.path")) == 0) {
            return true;
        }
    }
    return false;
}

static void serve_token(struct reviews *v, const struct api_request *q, struct api_reply *r)
{
    cJSON *doc = parse(q, "TokenReview", r);

    v->token_n++;
    if (doc != NULL) {
        answer_token(v, doc);
        reply_doc(r, 201, doc);
    }
}

static void serve_access(struct reviews *v, const struct api_request *q, struct api_reply *r)
{
    cJSON *doc = parse(q, "SubjectAccessReview", r);

    v->access_n++;
    if (doc != NULL) {
        cJSON_Delete(v->last);
        v->last = cJSON_Duplicate(doc_field(doc, "spec"), 1);
        doc_set(doc_object(doc, "status"), "allowed", cJSON_CreateBool(is_allowed(v, doc)));
        reply_doc(r, 201, doc);
    }
}

/* Whoever asks may do everything but what the script refuses: [{"verb", "resource"}]. */
static void serve_self(struct reviews *v, const struct api_request *q, struct api_reply *r)
{
    cJSON *doc = parse(q, "SelfSubjectAccessReview", r);
    const cJSON *rule;
    bool allowed = true;

    if (doc == NULL) {
        return;
    }
    cJSON_ArrayForEach(rule, doc_field(v->script, "refuse"))
    {
        allowed =
            allowed && (strcmp(doc_text(rule, "verb"), doc_text(doc, "spec.resourceAttributes.verb")) != 0 ||
                        strcmp(doc_text(rule, "resource"), doc_text(doc, "spec.resourceAttributes.resource")) != 0);
    }
    v->self_n++;
    doc_set(doc_object(doc, "status"), "allowed", cJSON_CreateBool(allowed));
    reply_doc(r, 201, doc);
}

static void serve_script(struct reviews *v, const struct api_request *q, struct api_reply *r)
{
    cJSON *doc;

    if (str_eq(q->method, STR("POST"))) {
        doc = doc_parse(q->body);
        if (!cJSON_IsObject(doc)) {
            cJSON_Delete(doc);
            api_fail(r, 400, NULL, "the body is not an object with tokens, allow and refuse");
            return;
        }
        cJSON_Delete(v->script);
        v->script = doc;
    }
    doc = cJSON_CreateObject();
    doc_set(doc, "tokenReviews", cJSON_CreateNumber((double)v->token_n));
    doc_set(doc, "accessReviews", cJSON_CreateNumber((double)v->access_n));
    doc_set(doc, "selfReviews", cJSON_CreateNumber((double)v->self_n));
    doc_set(doc, "last", v->last != NULL ? cJSON_Duplicate(v->last, 1) : cJSON_CreateNull());
    reply_doc(r, 200, doc);
}

bool reviews_serve(struct reviews *v, const struct api_request *q, struct api_reply *r)
{
    static const struct {
        const char *path;
        void (*serve)(struct reviews *, const struct api_request *, struct api_reply *);
        bool post_only;
    } table[] = {
        {"/_reviews", serve_script, false},
        {"/apis/authentication.k8s.io/v1/tokenreviews", serve_token, true},
        {"/apis/authorization.k8s.io/v1/subjectaccessreviews", serve_access, true},
        {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", serve_self, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (!str_eq_cstr(q->path, table[i].path)) {
            continue;
        }
        if (table[i].post_only && !str_eq(q->method, STR("POST"))) {
            api_fail(r, 405, NULL, "the server does not allow this method on the requested resource");
            return true;
        }
        mutex_lock(&v->lock);
        table[i].serve(v, q, r);
        mutex_unlock(&v->lock);
        return true;
    }
    return false;
}
