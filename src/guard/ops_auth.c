#include "guard/ops_auth.h"

#include "base/bug.h"

/* One request that is being asked about; in its arena. */
struct question {
    struct httpd_request *req;
    enum access_verdict verdict;
};

/* `name` NULL: no further header. */
static enum httpd_action refuse_access(struct httpd_response *resp, int status, const char *text, const char *name,
                                       const char *value)
{
    httpd_response_text(resp, status, text);
    BUG_ON(name != NULL && !httpd_response_header(resp, name, str_of(value)));
    return HTTPD_REPLY;
}

static enum httpd_action answer_access(const struct ops_guard *g, enum access_verdict v, struct httpd_request *req,
                                       struct httpd_response *resp)
{
    const struct ops_auth *a = g->auth;

    if (a->observe != NULL) {
        a->observe(a->observe_ctx, v);
    }
    switch (v) {
    case ACCESS_ALLOWED:
        return g->handle(g->ctx, req, resp);
    case ACCESS_UNAUTHENTICATED:
        return refuse_access(resp, 401, "a bearer token of this cluster is needed: Authorization: Bearer TOKEN\n",
                             "WWW-Authenticate", "Bearer");
    case ACCESS_FORBIDDEN:
        return refuse_access(
            resp, 403,
            "this user is not allowed to do this: it needs a ClusterRole with this path in nonResourceURLs "
            "and this method, in lower case, in verbs\n",
            NULL, NULL);
    case ACCESS_OVERLOADED:
        return refuse_access(resp, 503, "fgpu is asking the API server about too many callers; try again\n",
                             "Retry-After", "1");
    case ACCESS_FAILED:
        return refuse_access(resp, 503,
                             "the API server did not say who the caller is and what it may do; fgpu's log says why\n",
                             NULL, NULL);
    case ACCESS_VERDICT__MAX:
        break;
    }
    BUG("unknown verdict");
}

/* RFC 6750: the scheme in any case, a blank, the token. STR_NULL: none, or something else. */
static struct str bearer_token(const struct httpd_request *req)
{
    struct str token = httpd_request_header(req, "Authorization"), scheme;

    if (!str_split(&token, ' ', &scheme) || !str_ieq(scheme, STR("Bearer"))) {
        return STR_NULL;
    }
    token = str_trim(token);
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] > '~') {
            return STR_NULL;
        }
    }
    return token.n <= ACCESS_TOKEN_BYTES_MAX ? token : STR_NULL;
}

/* False: no method of ours. */
static bool verb_of(struct str method, char verb[ACCESS_VERB_BYTES_MAX])
{
    if (method.n >= ACCESS_VERB_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < method.n; i++) {
        verb[i] = str_fold(method.p[i]);
    }
    verb[method.n] = '\0';
    return true;
}

static void access_decided(void *ctx, enum access_verdict v)
{
    struct question *q = ctx;

    q->verdict = v;
    httpd_again(q->req, q);
}

static enum httpd_action ask_access(const struct ops_guard *g, struct httpd_request *req, struct httpd_response *resp)
{
    struct str token = bearer_token(req);
    struct question *q = ARENA_NEW(httpd_request_arena(req), struct question);
    char verb[ACCESS_VERB_BYTES_MAX];
    enum access_verdict v;

    if (token.n == 0) {
        return answer_access(g, ACCESS_UNAUTHENTICATED, req, resp);
    }
    if (q == NULL || !verb_of(httpd_request_method(req), verb)) {
        return answer_access(g, ACCESS_FORBIDDEN, req, resp);
    }
    q->req = req;
    return access_check(g->auth->access, token, str_of(verb), httpd_request_path(req), access_decided, q, &v)
               ? answer_access(g, v, req, resp)
               : HTTPD_SUSPENDED;
}

static enum httpd_action handle_guarded(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct ops_guard *g = ctx;
    const struct question *asked = httpd_request_note(req);

    return asked == NULL ? ask_access(g, req, resp) : answer_access(g, asked->verdict, req, resp);
}

void ops_auth_guard(struct ops_auth *a, struct httpd_route *routes, size_t n)
{
    BUG_ON(n > OPS_AUTH_ROUTES_MAX - a->guard_n);
    for (size_t i = 0; i < n; i++) {
        struct ops_guard *g;

        if ((routes[i].flags & HTTPD_ROUTE_PUBLIC) != 0) {
            continue;
        }
        g = &a->guards[a->guard_n++];
        BUG_ON(routes[i].stopping != NULL); /* it would be given the guard as its ctx */
        *g = (struct ops_guard){a, routes[i].handle, routes[i].ctx};
        routes[i].handle = handle_guarded;
        routes[i].ctx = g;
    }
}
