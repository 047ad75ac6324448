#include "routes/verbs.h"

#include "base/bug.h"
#include "extender/notices.h"
#include "routes/wire.h"

#include <stdlib.h>

const char *verb_name(enum verb v)
{
    static const char *const names[VERB__MAX] = {
        [VERB_FILTER] = "filter", [VERB_PRIORITIZE] = "prioritize", [VERB_BIND] = "bind", [VERB_PREEMPT] = "preempt"};

    BUG_ON(v >= VERB__MAX);
    return names[v];
}

static void observe_call(const struct verbs *v, enum verb verb, const char *outcome, const struct httpd_request *req)
{
    struct verb_observation o = {verb, outcome, clock_mono_ns(v->clock) - httpd_request_start_ns(req)};

    if (v->observe != NULL) {
        v->observe(v->observe_ctx, &o);
    }
}

/* A body that did not arrive whole is our answer to give, not the server's: callers read `Error` only. */
static int check_body(const struct httpd_request *req, struct err *reterr)
{
    switch (httpd_request_body_state(req)) {
    case HTTPD_BODY_COMPLETE:
        return 0;
    case HTTPD_BODY_TOO_LARGE:
        return err_set(reterr, ERR_LIMIT, "the request body is larger than the limit; use nodeCacheCapable: true");
    case HTTPD_BODY_NO_BUDGET:
        return err_set(reterr, ERR_UNAVAILABLE, "too many bytes of requests are in flight; try again");
    }
    BUG("unknown body state");
}

/* What the server has no room for is no fault of the request. */
static int why_not(struct httpd_request *req, int rc, struct err *reterr)
{
    return httpd_request_arena(req)->refused
               ? err_set(reterr, ERR_UNAVAILABLE, "too many bytes of requests are in flight; try again")
               : rc;
}

static int read_args(struct httpd_request *req, struct extender_args *ret, struct err *reterr)
{
    int rc = check_body(req, reterr);

    return rc != 0 ? rc : wire_read_args(httpd_request_body(req), httpd_request_arena(req), ret, reterr);
}

static const char *outcome_of_error(const struct err *e)
{
    return e->code == ERR_UNAVAILABLE ? "not_ready" : "error";
}

/* ---- filter ---- */

static const char *outcome_of_filter(enum filter_outcome o)
{
    switch (o) {
    case FILTER_NOT_OURS:
        return "not_ours";
    case FILTER_DEFECT:
        return "malformed_pod";
    case FILTER_SOME_FIT:
        return "fits";
    case FILTER_NONE_FITS:
        return "none_fits";
    }
    BUG("unknown filter outcome");
}

static void observe_verdicts(const struct verbs *v, const struct filter_result *f)
{
    uint64_t count[VERDICT__MAX] = {0};

    if (v->observe_verdicts == NULL || f->outcome != FILTER_NONE_FITS) {
        return;
    }
    for (size_t i = 0; i < f->result_n; i++) {
        count[f->results[i].verdict]++;
    }
    for (size_t i = 0; i < VERDICT__MAX; i++) {
        if (count[i] > 0) {
            v->observe_verdicts(v->observe_ctx, (enum verdict)i, count[i]);
        }
    }
}

/* The answer is written; nothing that happens here can change it. */
static void offer_to_shadow(const struct verbs *v, const struct rules *rules, const struct extender_args *args,
                            const struct filter_result *result)
{
    if (v->shadow != NULL && result->outcome == FILTER_SOME_FIT) {
        shadow_offer(v->shadow, &rules->placement, &result->pod, args->names, args->name_n);
    }
}

static int answer_filter(const struct verbs *v, struct httpd_request *req, struct httpd_response *resp,
                         struct str *ret_paced, struct err *reterr)
{
    struct extender_args args;
    struct filter_result result;
    struct arena *a = httpd_request_arena(req);
    const struct rules *rules;
    uint64_t rules_generation;
    int rc = read_args(req, &args, reterr);

    if (rc != 0) {
        return why_not(req, rc, reterr);
    }
    rules = policy_set_take(v->policies);
    rules_generation = rules->generation;
    rc = placement_filter(&rules->placement, a, &args.pod, args.names, args.name_n, &result, reterr);
    if (rc == 0) {
        wire_write_filter(&resp->body, &args, &result);
        offer_to_shadow(v, rules, &args, &result);
    }
    rules_put(rules);
    if (rc != 0) {
        return why_not(req, rc, reterr);
    }
    if (v->requeue_trigger != NULL && result.outcome == FILTER_NONE_FITS) {
        requeue_trigger_refused_by(v->requeue_trigger, result.generation, v->policies, rules_generation);
        elsewhere_refused(v->elsewhere, &result);
    } else if (v->requeue_trigger != NULL && result.outcome == FILTER_DEFECT) {
        requeue_trigger_malformed(v->requeue_trigger, v->policies, rules_generation);
    }
    if (result.outcome == FILTER_SOME_FIT || result.outcome == FILTER_NONE_FITS) {
        planner_asked(v->planner, &(struct planner_ask){args.pod.uid, args.pod.scheduler_name, args.name_n,
                                                        result.outcome == FILTER_SOME_FIT,
                                                        result.fit_n == 1 ? result.results[0].name : STR_NULL});
        *ret_paced = result.fit_n == 1 ? args.pod.uid : STR_NULL;
    }
    if (resp->body.overflowed) {
        strbuf_reset(&resp->body);
        return err_set(reterr, ERR_LIMIT, "the answer is too large; use nodeCacheCapable: true");
    }
    observe_verdicts(v, &result);
    observe_call(v, VERB_FILTER, outcome_of_filter(result.outcome), req);
    LOG_V(v->log, 4, "Filtered", LOG_STR("namespace", args.pod.namespace_), LOG_STR("pod", args.pod.name),
          LOG_STR("uid", args.pod.uid), LOG_I64("nodes", (int64_t)args.name_n),
          LOG_I64("candidates", (int64_t)result.fit_n), LOG_CSTR("outcome", outcome_of_filter(result.outcome)));
    return 0;
}

/* An answer that waits for the planner. */
struct filter_call {
    struct httpd_request *req;
    struct httpd_response resp;
};

static void filter_goes(void *ctx)
{
    struct filter_call *call = ctx;

    httpd_resume(call->req, &call->resp);
    free(call);
}

static enum httpd_action pace(const struct verbs *v, struct httpd_request *req, struct httpd_response *resp,
                              struct str uid)
{
    struct filter_call *call = xcalloc(1, sizeof(*call));

    call->req = req;
    httpd_response_init(&call->resp, resp->body.n + 1);
    strbuf_add_str(&call->resp.body, strbuf_view(&resp->body));
    if (planner_lets_go(v->planner, uid, filter_goes, call)) {
        httpd_response_fini(&call->resp);
        free(call);
        return HTTPD_REPLY;
    }
    return HTTPD_SUSPENDED;
}

static enum httpd_action handle_filter(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct verbs *v = ctx;
    struct str paced = STR_NULL; /* the UID, where one node alone is answered */
    struct err err;

    if (answer_filter(v, req, resp, &paced, &err) != 0) {
        wire_write_filter_error(&resp->body, str_of(err.msg));
        observe_call(v, VERB_FILTER, outcome_of_error(&err), req);
        return HTTPD_REPLY;
    }
    return paced.n > 0 && planner_holds(v->planner, paced) ? pace(v, req, resp, paced) : HTTPD_REPLY;
}

/* ---- prioritize ---- */

static enum httpd_action handle_prioritize(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct verbs *v = ctx;
    struct arena *a = httpd_request_arena(req);
    struct extender_args args;
    struct prioritize_result result;
    struct err err;
    int rc = read_args(req, &args, &err);

    if (rc == 0) {
        const struct rules *rules = policy_set_take(v->policies);

        rc = placement_prioritize(&rules->placement, a, &args.pod, args.names, args.name_n, &result, &err);
        rules_put(rules);
    }
    if (rc != 0) {
        (void)why_not(req, rc, &err);
        /* The reply is a bare list, without room for an error, and kube-scheduler ignores one anyway: no
         * scores, and the reason in our log. */
        strbuf_add_cstr(&resp->body, "[]");
        observe_call(v, VERB_PRIORITIZE, outcome_of_error(&err), req);
        LOG_V(v->log, 2, "Gave no scores", LOG_CSTR("err", err.msg));
        return HTTPD_REPLY;
    }
    wire_write_priorities(&resp->body, &result);
    observe_call(v, VERB_PRIORITIZE, "scored", req);
    return HTTPD_REPLY;
}

/* ---- preempt ---- */

static int answer_preempt(const struct verbs *v, struct httpd_request *req, struct httpd_response *resp,
                          const char **ret_outcome, struct err *reterr)
{
    struct arena *a = httpd_request_arena(req);
    enum verdict why = VERDICT_FITS;
    struct preemption_args args;
    size_t kept = 0;
    int rc = check_body(req, reterr);

    if (rc == 0) {
        rc = wire_read_preemption(httpd_request_body(req), a, &args, reterr);
    }
    if (rc == 0 && !str_eq(args.pod.preemption_policy, STR("Never"))) {
        const struct rules *rules = policy_set_take(v->policies);

        rc = placement_preempt(&rules->placement, a, &args.pod, args.nodes, args.node_n, &kept, &why, reterr);
        rules_put(rules);
    }
    if (rc != 0) {
        return why_not(req, rc, reterr);
    }
    if (why != VERDICT_FITS) {
        notice_preemption_refused(v->events, &args.pod, why);
    }
    wire_write_preemption(&resp->body, args.nodes, kept);
    *ret_outcome = kept > 0 ? "fits" : "none_fits";
    return 0;
}

/* The reply has no room for an error; without a node kube-scheduler evicts nobody. */
static enum httpd_action handle_preempt(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct verbs *v = ctx;
    const char *outcome = "error";
    struct err err;

    if (answer_preempt(v, req, resp, &outcome, &err) != 0) {
        outcome = outcome_of_error(&err);
        wire_write_preemption(&resp->body, NULL, 0);
        LOG_V(v->log, 2, "Allowed no preemption", LOG_CSTR("err", err.msg));
    }
    observe_call(v, VERB_PREEMPT, outcome, req);
    return HTTPD_REPLY;
}

/* ---- bind ---- */

struct bind_call {
    const struct verbs *verbs;
    struct httpd_request *req;
    char *text; /* "namespace/pod", uid, node and caller: for the binder, and for the log */
    struct str pod, node;
    struct str caller; /* the name in its certificate; of a plain connection: its address */
};

static void bind_done(void *ctx, enum bind_outcome outcome, const char *error, const char *decision_id)
{
    struct bind_call *call = ctx;
    const bool bound = outcome == BIND_OUTCOME_BOUND;
    struct httpd_response resp;

    observe_call(call->verbs, VERB_BIND, bind_outcome_name(outcome), call->req);
    LOG_V(call->verbs->log, 2, bound ? "Bound pod" : "Did not bind pod", LOG_STR("pod", call->pod),
          LOG_STR("node", call->node), LOG_STR("caller", call->caller), LOG_CSTR("outcome", bind_outcome_name(outcome)),
          LOG_CSTR("decision", decision_id[0] != '\0' ? decision_id : NULL), LOG_CSTR("reason", error));
    httpd_response_init(&resp, 4096);
    if (bound) {
        wire_write_bound(&resp.body);
    } else {
        wire_write_not_bound(&resp.body, error);
    }
    httpd_resume(call->req, &resp);
    free(call->text);
    free(call);
}

/* Everything that outlives the request's memory; `bind` becomes what is kept of it. */
static struct bind_call *call_new(const struct verbs *v, struct httpd_request *req, struct bind_request *bind)
{
    struct bind_call *call = xcalloc(1, sizeof(*call));
    struct str caller = httpd_request_client(req);
    char *at;

    if (caller.n == 0) {
        caller = httpd_request_peer(req);
    }
    call->verbs = v;
    call->req = req;
    call->text = at =
        xmalloc(bind->pod_namespace.n + 1 + bind->pod_name.n + bind->pod_uid.n + bind->node_name.n + caller.n);
    bind->pod_namespace = str_put(&at, bind->pod_namespace);
    *at++ = '/';
    bind->pod_name = str_put(&at, bind->pod_name);
    bind->pod_uid = str_put(&at, bind->pod_uid);
    bind->node_name = str_put(&at, bind->node_name);
    call->pod = (struct str){call->text, bind->pod_namespace.n + 1 + bind->pod_name.n};
    call->node = bind->node_name;
    call->caller = str_put(&at, caller);
    return call;
}

static enum httpd_action handle_bind(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct verbs *v = ctx;
    struct bind_call *call;
    struct bind_request bind;
    struct err err;
    int rc = check_body(req, &err);

    if (rc == 0) {
        rc = wire_read_bind(httpd_request_body(req), httpd_request_arena(req), &bind, &err);
    }
    if (rc != 0) {
        (void)why_not(req, rc, &err);
        wire_write_not_bound(&resp->body, err.msg);
        observe_call(v, VERB_BIND, "error", req);
        return HTTPD_REPLY;
    }
    planner_binding(v->planner, bind.pod_uid);
    call = call_new(v, req, &bind);
    httpd_request_forget(req); /* a bind may wait for seconds, and a thousand of them at once */
    binder_bind(v->binder, &bind, bind_done, call);
    return HTTPD_SUSPENDED;
}

static enum httpd_action bind_stopping(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    (void)req;
    wire_write_not_bound(&resp->body, "fgpu is stopping; the outcome is read again at the next start");
    return HTTPD_REPLY;
}

void verbs_routes(struct verbs *v, struct httpd_route routes[VERB_ROUTES])
{
    const struct httpd_route table[VERB_ROUTES] = {
        {.method = "POST", .path = "/v1/filter", .handle = handle_filter},
        {.method = "POST", .path = "/v1/prioritize", .handle = handle_prioritize},
        {.method = "POST", .path = "/v1/preempt", .handle = handle_preempt},
        {.method = "POST", .path = "/v1/bind", .handle = handle_bind, .stopping = bind_stopping},
    };

    for (size_t i = 0; i < VERB_ROUTES; i++) {
        routes[i] = table[i];
        routes[i].ctx = v;
        routes[i].flags = HTTPD_ROUTE_BODY_FAULTS | HTTPD_ROUTE_JSON;
    }
}
