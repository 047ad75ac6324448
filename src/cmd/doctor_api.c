#include "cmd/doctor_api.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/sync.h"
#include "config/kubeconfig.h"
#include "kube/binding.h"
#include "kube/incluster.h"
#include "kube/lister.h"
#include "kube/names.h"
#include "kube/review.h"
#include "kube/transport.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 30000
#define PATH_BYTES_MAX 4096
#define BODY_BYTES_MAX 65536

struct doctor_api {
    struct credentials creds;
    struct kube_client *client;
    /* Of the last answer. */
    int64_t ahead_ms;
    bool has_clock;
};

/* ---- which API server ---- */

static int load_default(const char *context, struct credentials *ret, struct err *reterr)
{
    const char *named = getenv("KUBECONFIG"), *home = getenv("HOME");
    struct strbuf path;
    int rc;

    if (named != NULL && named[0] != '\0') {
        return kubeconfig_load(named, context, ret, reterr);
    }
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_addf(&path, "%s/.kube/config", home != NULL ? home : "");
    if (access(path.p, F_OK) == 0 || getenv("KUBERNETES_SERVICE_HOST") == NULL) {
        rc = kubeconfig_load(path.p, context, ret, reterr);
        rc = rc == -ERR_NOT_FOUND ? err_set(reterr, ERR_NOT_FOUND, "there is no %s; --kubeconfig names another", path.p)
                                  : rc;
    } else {
        rc = incluster_load(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), INCLUSTER_DIR, ret,
                            reterr);
    }
    strbuf_fini(&path);
    return rc;
}

int doctor_api_open(const char *kubeconfig, const char *context, struct doctor_api **ret, struct err *reterr)
{
    static const struct kube_client_options options = {.read_only = true};
    struct doctor_api *api = calloc(1, sizeof(*api));
    int rc;

    BUG_ON(api == NULL);
    rc = kubeconfig != NULL ? kubeconfig_load(kubeconfig, context, &api->creds, reterr)
                            : load_default(context, &api->creds, reterr);
    if (rc == 0) {
        rc = kube_client_new(&api->creds, &options, &api->client, reterr);
    }
    if (rc != 0) {
        doctor_api_close(api);
        return rc;
    }
    *ret = api;
    return 0;
}

void doctor_api_close(struct doctor_api *api)
{
    if (api != NULL) {
        kube_client_free(api->client);
        credentials_fini(&api->creds);
        free(api);
    }
}

/* ---- one question ---- */

struct call {
    struct mutex lock;
    struct condvar done_cond;
    bool done;
    struct strbuf *out;
    struct kube_outcome outcome;
};

static void done(void *ctx, const struct kube_response *response)
{
    struct call *c = ctx;

    mutex_lock(&c->lock);
    strbuf_add_str(c->out, response->body);
    c->outcome = response->outcome;
    c->done = true;
    condvar_signal(&c->done_cond);
    mutex_unlock(&c->lock);
}

static int judge(const char *path, const struct kube_outcome *o, int expected, struct err *reterr)
{
    const enum err_code code = o->http_status == 404                            ? ERR_NOT_FOUND
                               : o->http_status == 401 || o->http_status == 403 ? ERR_DENIED
                                                                                : ERR_UNAVAILABLE;

    if (o->kind == KUBE_ANSWERED && o->http_status == expected) {
        return 0;
    }
    if (o->http_status == 0) {
        return err_set(reterr, code, "the API server: %s",
                       o->detail[0] != '\0' ? o->detail : kube_outcome_name(o->kind));
    }
    return err_set(reterr, code, "the API server answers %d to %s%s", o->http_status, path,
                   code == ERR_DENIED      ? ": your user may not do this"
                   : code == ERR_NOT_FOUND ? ": there is no such thing"
                                           : "");
}

static void keep_clock(struct doctor_api *api, int64_t before_ms, const struct kube_outcome *o)
{
    const int64_t after_ms = clock_wall_ms(clock_system());

    if (o->date_ms > 0) {
        api->ahead_ms = o->date_ms + 500 - (before_ms + (after_ms - before_ms) / 2);
        api->has_clock = true;
    }
}

static int ask(struct doctor_api *api, const struct kube_request *request, int expected, struct strbuf *out,
               struct err *reterr)
{
    const int64_t before_ms = clock_wall_ms(clock_system());
    struct call c = {.out = out};
    int rc;

    mutex_init(&c.lock, "doctor call");
    condvar_init(&c.done_cond, "doctor call");
    rc = kube_client_submit(api->client, request, done, &c, reterr);
    mutex_lock(&c.lock);
    while (rc == 0 && !c.done) {
        condvar_wait(&c.done_cond, &c.lock);
    }
    mutex_unlock(&c.lock);
    condvar_destroy(&c.done_cond);
    mutex_destroy(&c.lock);
    if (rc == 0) {
        keep_clock(api, before_ms, &c.outcome);
        rc = judge(request->path, &c.outcome, expected, reterr);
    }
    if (rc == 0 && out->overflowed) {
        rc = err_set(reterr, ERR_LIMIT, "the answer to %s is too large", request->path);
    }
    return rc;
}

int doctor_api_get(struct doctor_api *api, const char *path, struct strbuf *out, struct err *reterr)
{
    const struct kube_request request = {.method = "GET",
                                         .path = path,
                                         .deadline_ms = DEADLINE_MS,
                                         .response_bytes_max = DOCTOR_API_BYTES_MAX,
                                         .verb = "get",
                                         .resource = "any"};

    return ask(api, &request, 200, out, reterr);
}

int doctor_api_config_map(struct doctor_api *api, struct str namespace_, struct str name, struct strbuf *out,
                          struct err *reterr)
{
    struct strbuf path;
    int rc;

    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_add_cstr(&path, "/api/v1/namespaces/");
    kube_url_escape(&path, namespace_);
    strbuf_add_cstr(&path, "/configmaps/");
    kube_url_escape(&path, name);
    rc = path.overflowed ? err_set(reterr, ERR_LIMIT, "a name that is too long")
                         : doctor_api_get(api, path.p, out, reterr);
    strbuf_fini(&path);
    return rc;
}

int doctor_api_has_config_map(struct doctor_api *api, struct str namespace_, struct str name, bool *ret,
                              struct err *reterr)
{
    struct strbuf object;
    int rc;

    strbuf_init(&object, DOCTOR_API_BYTES_MAX);
    rc = doctor_api_config_map(api, namespace_, name, &object, reterr);
    strbuf_fini(&object);
    *ret = rc == 0;
    return rc == -ERR_NOT_FOUND ? 0 : rc;
}

int doctor_api_clock(struct doctor_api *api, int64_t *ret_ahead_ms, uint32_t *ret_minor, struct err *reterr)
{
    struct strbuf out;
    int rc;

    strbuf_init(&out, DOCTOR_API_BYTES_MAX);
    rc = doctor_api_get(api, KUBE_VERSION_PATH, &out, reterr);
    *ret_minor = rc == 0 ? kube_minor_of(strbuf_view(&out)) : 0;
    strbuf_fini(&out);
    if (rc == 0 && !api->has_clock) {
        rc = err_set(reterr, ERR_INVALID, "the API server does not say what time it has");
    }
    *ret_ahead_ms = api->ahead_ms;
    return rc;
}

/* ---- rights ---- */

/* As the API server would see it: service accounts are in groups. */
static void write_subject(struct str user, struct strbuf *out)
{
    const struct str prefix = STR("system:serviceaccount:");
    struct str rest = user, namespace_;
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_str(&w, "user", user);
    json_write_kv_array_begin(&w, "groups");
    json_write_str(&w, STR("system:authenticated"));
    if (str_starts(user, prefix)) {
        rest = str_drop(user, prefix.n);
        if (str_split(&rest, ':', &namespace_)) {
            struct strbuf group;

            strbuf_init(&group, PATH_BYTES_MAX);
            strbuf_addf(&group, "system:serviceaccounts:%.*s", STR_ARG(namespace_));
            json_write_str(&w, STR("system:serviceaccounts"));
            json_write_str(&w, strbuf_view(&group));
            strbuf_fini(&group);
        }
    }
    json_write_array_end(&w);
    json_write_object_end(&w);
}

int doctor_api_review(struct doctor_api *api, struct str user, struct doctor_right *right, struct err *reterr)
{
    const struct review_resource what = {str_of(right->verb),        str_of(right->group), str_of(right->resource),
                                         str_of(right->subresource), right->namespace_,    right->name};
    struct strbuf subject, body, answer;
    bool allowed = false;
    int rc;

    strbuf_init(&subject, BODY_BYTES_MAX);
    strbuf_init(&body, BODY_BYTES_MAX);
    strbuf_init(&answer, DOCTOR_API_BYTES_MAX);
    write_subject(user, &subject);
    if (subject.overflowed) {
        rc = err_set(reterr, ERR_LIMIT, "the name of the user of fgpu is too long");
    } else {
        resource_review_write(strbuf_view(&subject), &what, &body);
        rc = ask(api,
                 &(struct kube_request){.method = "POST",
                                        .path = ACCESS_REVIEW_PATH,
                                        .body = strbuf_view(&body),
                                        .deadline_ms = DEADLINE_MS,
                                        .verb = "create",
                                        .resource = "subjectaccessreviews",
                                        .asks = true},
                 201, &answer, reterr);
    }
    rc = rc == 0 ? access_review_read(strbuf_view(&answer), &allowed, reterr) : rc;
    right->is_denied = rc == 0 && !allowed;
    strbuf_fini(&subject);
    strbuf_fini(&body);
    strbuf_fini(&answer);
    return rc;
}

/* ---- nodes and pods ---- */

struct listing {
    struct doctor_facts *f;
    bool full;
    const char *unusable; /* why an object could not be read; NULL: all could */
};

static void on_nodes_begin(void *ctx)
{
    ((struct listing *)ctx)->f->objects = NULL;
}

static void on_pods_begin(void *ctx)
{
    ((struct listing *)ctx)->f->pods = NULL;
}

static void on_node(void *ctx, const struct kube_object *o)
{
    struct listing *l = ctx;

    l->full = !doctor_add_node(l->f, o->node) || l->full;
}

static void on_pod(void *ctx, const struct kube_object *o)
{
    struct listing *l = ctx;

    l->full = !doctor_add_pod(l->f, o->pod) || l->full;
}

static void on_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    struct listing *l = ctx;

    (void)o;
    BUG_ON(deleted); /* lists only */
    l->unusable = arena_cstr(l->f->arena, str_of(why->msg));
}

static bool wait_until(void *ctx, int64_t until_ns)
{
    const struct listing *l = ctx;
    const struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};

    while (clock_mono_ns(clock_system()) < until_ns) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return !l->full;
}

static int list(struct doctor_api *api, struct listing *l, enum kube_resource resource,
                const struct reflector_handler *handler, struct err *reterr)
{
    struct kube_lister lister = {.clock = clock_system(), .wait = wait_until, .ctx = l};
    struct rng rng;
    int rc = kube_stream_new(api->client, &lister.stream, reterr);

    if (rc != 0) {
        return rc;
    }
    rng_init(&rng, (uint64_t)clock_mono_ns(lister.clock));
    lister.rng = &rng;
    rc = kube_list(&lister, resource, handler, reterr);
    kube_stream_free(lister.stream);
    if (l->full) {
        rc = err_set(reterr, ERR_LIMIT, "there are more than there is memory for");
    } else if (rc == 0 && l->unusable != NULL) {
        rc = err_set(reterr, ERR_INVALID, "one of them cannot be read: %s", l->unusable);
    }
    return rc;
}

int doctor_api_nodes(struct doctor_api *api, struct doctor_facts *f, struct err *reterr)
{
    struct listing l = {.f = f};
    const struct reflector_handler handler = {
        .list_begin = on_nodes_begin, .object = on_node, .unusable = on_unusable, .ctx = &l};

    return list(api, &l, KUBE_NODES, &handler, reterr);
}

int doctor_api_pods(struct doctor_api *api, struct doctor_facts *f, struct err *reterr)
{
    struct listing l = {.f = f};
    const struct reflector_handler handler = {
        .list_begin = on_pods_begin, .object = on_pod, .unusable = on_unusable, .ctx = &l};

    return list(api, &l, KUBE_PODS, &handler, reterr);
}
