#include "cmd_node/ops.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "cmd_node/node_state.h"
#include "cmd_node/samples.h"
#include "cmd_node/usage_watch.h"
#include "guard/ops_auth.h"
#include "httpd/server.h"
#include "obs/health.h"
#include "obs/node_catalog.h"

#include <stdlib.h>

/* Scrapers and probes: few, with small requests; the answers are bounded by what a node can run. */
#define CONNECTIONS_MAX 16
#define BODY_BYTES_MAX 1024
#define INFLIGHT_BYTES_MAX (256U << 10)
#define ARENA_BYTES_MAX (64U << 10)
#define REPLY_BYTES_MAX (16U << 20)
#define CONNECTION_BYTES (16U << 10)
#define VIEW_BYTES_MAX (8U << 20)
#define ROUTES_MAX 6

/* Each is served by itself: an address that one cannot have takes nothing from the other. */
struct ops_listener {
    struct ops *ops;
    const char *name;
    bool reasons; /* who gets here may know why a check fails */
    struct httpd_route routes[ROUTES_MAX];
    size_t route_n;
    struct httpd_server *http; /* NULL: it does not listen (yet) */
    bool said_address;
};

struct ops {
    const struct node_options *options;
    const struct log *log;
    struct logsink *sink;
    struct answers *answers;
    struct events *events;
    struct metrics *metrics;
    struct health health;
    struct ops_listener ops, probes, scraped;
    struct ops_auth auth;  /* before the routes of `scraped` */
    struct httpd_tls *tls; /* of `scraped`; NULL: not yet */
    bool said_watch;

    struct mutex lock; /* of the rest */
    struct nri_plugin *plugin;
    struct usage_watch *watch;
    bool looked, driver;
};

/* ---- what is asked of others ---- */

struct sources {
    struct nri_plugin *plugin;
    struct usage_watch *watch;
    bool looked, driver;
};

static struct sources sources_of(struct ops *o)
{
    struct sources s;

    mutex_lock(&o->lock);
    s = (struct sources){o->plugin, o->watch, o->looked, o->driver};
    mutex_unlock(&o->lock);
    return s;
}

static struct nri_plugin_stats stats_of(const struct sources *s)
{
    struct nri_plugin_stats stats = {.synchronized = false};

    if (s->plugin != NULL) {
        nri_plugin_stats(s->plugin, &stats);
    }
    return stats;
}

static void collect(void *ctx, struct metrics *m)
{
    struct ops *o = ctx;
    const struct sources s = sources_of(o);
    const struct nri_plugin_stats stats = stats_of(&s);

    metric_set(METRIC(m, NODE_RUNTIME_CONNECTED), stats.synchronized);
    metric_set(METRIC(m, NODE_RUNTIME_CONNECTIONS_TOTAL), (int64_t)stats.connections);
    metric_set(METRIC(m, NODE_RUNTIME_REQUESTS_TOTAL), (int64_t)stats.requests);
    metric_set(METRIC(m, NODE_CONTAINERS_REFUSED_TOTAL), (int64_t)stats.refusals);
    metric_set(METRIC(m, NODE_UNREADABLE_TOTAL), (int64_t)stats.unreadable);
    metric_set(METRIC(m, NODE_SLOWEST_ANSWER_SECONDS), stats.slowest_ns);
    metric_set(METRIC(m, NODE_DRIVER_FOUND), s.driver);
    metric_set(METRIC(m, NODE_LOG_DROPPED_TOTAL), (int64_t)logsink_dropped(o->sink));
}

static const char *why_not_ready(void *ctx)
{
    const struct sources s = sources_of(ctx);
    const struct nri_plugin_stats stats = stats_of(&s);

    if (!s.looked) {
        return "it has not looked for a driver yet";
    }
    return !s.driver || stats.synchronized ? NULL : "the container runtime has not told yet what runs";
}

static const char *why_not_alive(void *ctx)
{
    (void)ctx;
    return NULL;
}

/* ---- answers ---- */

static enum httpd_action answer_metrics(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct ops *o = ctx;
    const struct sources s = sources_of(o);
    struct node_view view;
    struct arena a;

    (void)req;
    arena_init(&a, VIEW_BYTES_MAX);
    if (answers_view(o->answers, &a, &view)) {
        metric_set(METRIC(o->metrics, NODE_GPUS), (int64_t)view.gpu_n);
        metric_set(METRIC(o->metrics, NODE_CONTAINERS), (int64_t)view.container_n);
        metrics_render(o->metrics, &resp->body);
        samples_of_gpus(&view, &resp->body);
        if (s.watch != NULL) {
            samples_of_usage(usage_watch_lock(s.watch), &resp->body);
            usage_watch_unlock(s.watch);
        }
        resp->content_type = METRICS_CONTENT_TYPE;
    } else {
        httpd_response_text(resp, 500, "there is more on this node than can be shown\n");
    }
    arena_fini(&a);
    return HTTPD_REPLY;
}

static enum httpd_action answer_state(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct ops *o = ctx;
    const struct sources s = sources_of(o);
    const struct nri_plugin_stats stats = stats_of(&s);
    struct node_state state = {.node = o->options->node_name,
                               .wall_ms = clock_wall_ms(clock_system()),
                               .mono_ns = clock_mono_ns(clock_system()),
                               .driver = s.driver,
                               .connected = stats.synchronized,
                               .interval_ms = o->options->usage_interval_ms,
                               .kill = o->options->exceed_kill};
    struct arena a;

    (void)req;
    arena_init(&a, VIEW_BYTES_MAX);
    if (answers_view(o->answers, &a, &state.view)) {
        state.usage = s.watch != NULL ? usage_watch_lock(s.watch) : NULL;
        node_state_write(&state, &resp->body);
        if (s.watch != NULL) {
            usage_watch_unlock(s.watch);
        }
    } else {
        httpd_response_text(resp, 500, "there is more on this node than can be shown\n");
    }
    arena_fini(&a);
    return HTTPD_REPLY;
}

static enum httpd_action answer_no_state(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    (void)req;
    httpd_response_text(resp, 404, "with --ops-anonymous there is no /state; it is served on loopback, without it\n");
    return HTTPD_REPLY;
}

static enum httpd_action answer_health(const struct ops_listener *l, enum health_endpoint endpoint,
                                       struct httpd_request *req, struct httpd_response *resp)
{
    struct health_query query = {.reasons = l->reasons};
    struct str value;

    query.verbose = httpd_request_query(req, "verbose", &value);
    resp->status = health_render(&l->ops->health, endpoint, &query, &resp->body);
    resp->content_type = HEALTH_CONTENT_TYPE;
    BUG_ON(!httpd_response_header(resp, "X-Content-Type-Options", STR(HEALTH_NOSNIFF)));
    BUG_ON(!httpd_response_header(resp, "Cache-Control", STR(HEALTH_CACHE_CONTROL)));
    return HTTPD_REPLY;
}

static enum httpd_action answer_livez(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    return answer_health(ctx, HEALTH_LIVEZ, req, resp);
}

static enum httpd_action answer_readyz(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    return answer_health(ctx, HEALTH_READYZ, req, resp);
}

/* ---- listening ---- */

static void add_route(struct ops_listener *l, const char *path, httpd_handler_fn *handle, void *ctx)
{
    BUG_ON(l->route_n == ROUTES_MAX);
    l->routes[l->route_n++] = (struct httpd_route){.method = "GET", .path = path, .handle = handle, .ctx = ctx};
}

static void add_health_routes(struct ops_listener *l)
{
    add_route(l, "/livez", answer_livez, l);
    add_route(l, "/readyz", answer_readyz, l);
}

static void add_routes(struct ops *o)
{
    add_health_routes(&o->ops);
    add_route(&o->ops, "/metrics", answer_metrics, o);
    add_route(&o->ops, "/state", o->options->ops_anonymous ? answer_no_state : answer_state, o);
    add_health_routes(&o->probes);
    add_route(&o->scraped, "/metrics", answer_metrics, o);
    ops_auth_guard(&o->auth, o->scraped.routes, o->scraped.route_n);
}

static int listen_at(const struct httpd_listener_config *listener, const struct log *log, struct httpd_server **ret,
                     struct err *reterr)
{
    const struct httpd_config config = {.listeners = listener,
                                        .listener_n = 1,
                                        .body_max_bytes = BODY_BYTES_MAX,
                                        .inflight_max_bytes = INFLIGHT_BYTES_MAX,
                                        .arena_max_bytes = ARENA_BYTES_MAX,
                                        .reply_max_bytes = REPLY_BYTES_MAX,
                                        .connection_memory_bytes = CONNECTION_BYTES,
                                        .log = log};
    struct httpd_server *server;
    int rc = httpd_server_new(&config, &server, reterr);

    if (rc != 0) {
        return rc;
    }
    rc = httpd_server_start(server, reterr);
    if (rc != 0) {
        httpd_server_free(server);
        return rc;
    }
    LOG_INFO(log, "Listening", LOG_CSTR("listener", listener->name), LOG_I64("port", httpd_server_port(server, 0)));
    *ret = server;
    return 0;
}

static void listener_look(struct ops *o, struct ops_listener *l, const struct address *address,
                          struct httpd_listener_config config)
{
    char text[ADDRESS_TEXT_MAX];
    struct err err;

    config.name = l->name;
    config.address = address_text(address, text);
    config.routes = l->routes;
    config.route_n = l->route_n;
    config.connection_max = CONNECTIONS_MAX;
    if (listen_at(&config, o->log, &l->http, &err) != 0 && !l->said_address) {
        l->said_address = true;
        LOG_ERROR(o->log, "Cannot listen; GPUs are handed out all the same, and it is tried again",
                  LOG_CSTR("listener", l->name), LOG_CSTR("why", err.msg));
    }
}

static void listen_for_scrapers(struct ops *o)
{
    struct err err;

    if (o->tls == NULL && httpd_tls_self_signed(clock_wall_ms(clock_system()), &o->tls, &err) != 0) {
        if (!o->scraped.said_address) {
            LOG_ERROR(o->log, "Cannot make a certificate for the metrics; it is tried again", LOG_CSTR("why", err.msg));
        }
        o->scraped.said_address = true;
        return;
    }
    listener_look(o, &o->scraped, &o->options->metrics_address,
                  (struct httpd_listener_config){.tls = o->tls, .client_cert_optional = true});
}

void ops_listen(struct ops *o)
{
    const struct node_options *options = o->options;

    if (o->ops.http == NULL && !options->ops_off) {
        listener_look(o, &o->ops, &options->ops_address,
                      (struct httpd_listener_config){.check_host = !options->ops_anonymous});
    }
    if (o->probes.http == NULL && !options->health_off) {
        listener_look(o, &o->probes, &options->health_address, (struct httpd_listener_config){.tls = NULL});
    }
    if (o->scraped.http == NULL && !options->metrics_off) {
        listen_for_scrapers(o);
    }
}

/* ---- the whole of it ---- */

struct ops *ops_new(const struct node_options *options, struct answers *answers, const struct node_api *api,
                    struct logsink *sink)
{
    const struct health_check alive = {"answers", why_not_alive, NULL, HEALTH_LIVEZ};
    struct ops *o = xcalloc(1, sizeof(*o));
    const struct health_check ready = {"runtime", why_not_ready, o, HEALTH_READYZ};

    o->ops = (struct ops_listener){.ops = o, .name = "ops", .reasons = !options->ops_anonymous};
    o->probes = (struct ops_listener){.ops = o, .name = "health"};
    o->scraped = (struct ops_listener){.ops = o, .name = "metrics"};
    o->auth = (struct ops_auth){.access = node_api_access(api)};
    o->options = options;
    o->answers = answers;
    o->events = node_api_events(api);
    o->sink = sink;
    o->log = logsink_log(sink);
    o->metrics = node_catalog_metrics_new();
    metrics_add_collector(o->metrics, collect, o);
    answers_set_timers(answers, METRIC(o->metrics, NODE_CONTAINER_STEP_DURATION_SECONDS, "create"),
                       METRIC(o->metrics, NODE_CONTAINER_STEP_DURATION_SECONDS, "start"));
    health_init(&o->health);
    health_add(&o->health, &alive);
    health_add(&o->health, &ready);
    mutex_init(&o->lock, "node ops");
    add_routes(o);
    return o;
}

void ops_set_plugin(struct ops *o, struct nri_plugin *plugin)
{
    mutex_lock(&o->lock);
    o->plugin = plugin;
    mutex_unlock(&o->lock);
}

/* Begins when the driver is there. */
static void watch(struct ops *o, const char *library)
{
    const struct usage_watch_options w = {.library = library,
                                          .proc = o->options->proc,
                                          .interval_ms = o->options->usage_interval_ms,
                                          .grace_ms = o->options->exceed_grace_ms,
                                          .kill = o->options->exceed_kill,
                                          .answers = o->answers,
                                          .events = o->events,
                                          .metrics = o->metrics,
                                          .log = o->log};
    struct usage_watch *started;
    struct err err;

    if (o->watch != NULL || w.interval_ms == 0) { /* only this thread sets it */
        return;
    }
    if (usage_watch_start(&w, &started, &err) != 0) {
        if (!o->said_watch) {
            LOG_ERROR(o->log, "Nobody looks who uses the GPUs", LOG_CSTR("why", err.msg));
        }
        o->said_watch = true;
        return;
    }
    mutex_lock(&o->lock);
    o->watch = started;
    mutex_unlock(&o->lock);
}

void ops_looked(struct ops *o, const char *library)
{
    mutex_lock(&o->lock);
    o->looked = true;
    o->driver = library != NULL;
    mutex_unlock(&o->lock);
    if (library != NULL) {
        watch(o, library);
    }
}

void ops_stop(struct ops *o)
{
    if (o != NULL) {
        httpd_server_free(o->ops.http);
        httpd_server_free(o->probes.http);
        httpd_server_free(o->scraped.http);
        o->ops.http = o->probes.http = o->scraped.http = NULL;
        usage_watch_stop(o->watch);
        o->watch = NULL;
    }
}

void ops_free(struct ops *o)
{
    if (o != NULL) {
        mutex_destroy(&o->lock);
        httpd_tls_free(o->tls);
        metrics_free(o->metrics);
        free(o);
    }
}
