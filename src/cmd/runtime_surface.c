#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "cmd/listeners.h"
#include "routes/health.h"
#include "routes/ops.h"
#include "routes/page.h"
#include "guard/ops_auth.h"

#include <stdlib.h>
#include <string.h>

struct surface {
    struct verbs verbs;
    struct ops ops;
    struct stream_feed *feed;
    struct ops_auth ops_auth;
    struct page_door page_door;
    struct health health;
    struct health_handlers health_handlers, ops_health_handlers;
    struct httpd_route verb_routes[VERB_ROUTES];
    struct httpd_route ops_routes[OPS_ROUTES + HEALTH_ROUTES];
    struct httpd_route health_routes[HEALTH_ROUTES];
    struct httpd_route metrics_route;
    struct listeners serving;
};

/* ---- health ---- */

static const char *probe_ledger(void *ctx)
{
    const struct runtime *s = ctx;

    return store_closed(s->store);
}

/* A process that has left GPUs out is not well, although it may answer for all others. */
static const char *probe_inventories(void *ctx)
{
    const struct runtime *s = ctx;

    return store_lost_inventory(s->store);
}

static const char *probe_ready(void *ctx)
{
    return runtime_not_ready(ctx);
}

static const char *probe_contact(void *ctx)
{
    const struct runtime *s = ctx;

    return contact_lost(s->contact);
}

static const char *probe_credentials(void *ctx)
{
    const struct runtime *s = ctx;
    struct identity_stats stats;

    kube_client_identity(s->client, &stats);
    return stats.trouble;
}

static const char *probe_leader(void *ctx)
{
    return runtime_not_leader(ctx);
}

static const char *probe_shutdown(void *ctx)
{
    struct runtime *s = ctx;

    return atomic_load(&s->stopping) ? "fgpu is stopping" : NULL;
}

static void set_up_health(struct runtime *s)
{
    const struct health_check checks[] = {
        {"ledger", probe_ledger, s, HEALTH_LIVEZ | HEALTH_HEALTHZ | HEALTH_READYZ},
        {"inventories", probe_inventories, s, HEALTH_LIVEZ | HEALTH_HEALTHZ},
        {"cache-synced", probe_ready, s, HEALTH_READYZ},
        {"api-contact", probe_contact, s, HEALTH_READYZ},
        {"credentials", probe_credentials, s, HEALTH_READYZ},
        {"leader", probe_leader, s, HEALTH_READYZ},
        {"shutdown", probe_shutdown, s, HEALTH_READYZ},
    };

    health_init(&s->surface->health);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        health_add(&s->surface->health, &checks[i]);
    }
}

/* ---- what ops shows ---- */

static void cursors(void *ctx, struct state_cursors *ret)
{
    struct runtime *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[KUBE_PODS], &stats);
    memcpy(ret->pods, stats.resource_version, sizeof(ret->pods));
    kube_watcher_stats(s->watchers[KUBE_NODES], &stats);
    memcpy(ret->nodes, stats.resource_version, sizeof(ret->nodes));
}

static bool is_leader(void *ctx)
{
    return runtime_is_active(ctx);
}

static bool is_ready(void *ctx)
{
    return runtime_is_ready(ctx);
}

static void guard_ops(struct surface *f)
{
    ops_auth_guard(&f->ops_auth, f->ops_routes, ARRAY_LEN(f->ops_routes));
    for (size_t i = 0; i < ARRAY_LEN(f->ops_routes); i++) {
        struct httpd_route *r = &f->ops_routes[i];

        if (strcmp(r->path, "/") == 0) {
            page_open_door(&f->page_door, r);
        }
    }
}

/* Before those listeners that ask who calls. */
static void set_up_guard(struct runtime *s)
{
    const struct config_serving *c = &s->options.config->serving;
    struct surface *f = s->surface;

    f->ops_auth = (struct ops_auth){.access = s->access, .observe = telemetry_access, .observe_ctx = s->telemetry};
    if (config_serving_needs_token(c, &c->ops)) {
        guard_ops(f);
    }
    if (config_serving_needs_token(c, &c->metrics)) {
        ops_auth_guard(&f->ops_auth, &f->metrics_route, 1);
    }
}

static void set_up_routes(struct runtime *s)
{
    struct surface *f = s->surface;

    f->verbs = (struct verbs){
        .policies = s->policies,
        .binder = s->binder,
        .requeue_trigger = s->requeue_trigger,
        .elsewhere = s->elsewhere,
        .shadow = s->shadow,
        .planner = s->planner,
        .events = s->events,
        .clock = s->options.clock,
        .log = s->options.log,
        .observe = telemetry_verb,
        .observe_verdicts = telemetry_verdicts,
        .observe_ctx = s->telemetry,
    };
    f->ops.config = s->slot;
    f->ops.metrics = s->telemetry->metrics;
    f->ops.state = (struct state_context){
        .store = s->store,
        .clock = s->options.clock,
        .binder = s->binder,
        .capacity_reporter = s->capacity_reporter,
        .shadow = s->shadow,
        .signing = s->options.signing,
        .audit = s->audit,
        .unreadable = s->unreadable,
        .pool_commands = s->pool_commands,
        .change_overs = s->change_overs,
        .planner = s->planner,
        .slices = s->slices,
        .cursors = cursors,
        .is_ready = is_ready,
        .is_leader = is_leader,
        .start = runtime_run_status,
        .ctx = s,
        .config = s->slot,
        .version = FGPU_VERSION,
        .started_ms = clock_wall_ms(s->options.clock),
    };
    f->ops.explain.policies = s->policies;
    f->ops.trace = (struct trace_context){
        .store = s->store, .clock = s->options.clock, .version = FGPU_VERSION, .started_ms = f->ops.state.started_ms};
    f->ops.explain.clock = s->options.clock;
    f->ops.whatif.policies = s->policies;
    f->ops.whatif.clock = s->options.clock;
    f->ops.history = (struct history_context){s->history, s->store, s->options.clock};
    verbs_routes(&f->verbs, f->verb_routes);
    ops_routes(&f->ops, f->ops_routes);
    health_routes(&f->ops_health_handlers, &f->health, true, &f->ops_routes[OPS_ROUTES]);
    health_routes(&f->health_handlers, &f->health, false, f->health_routes);
    ops_metrics_route(&f->ops, &f->metrics_route);
    set_up_guard(s);
}

static void set_up_metrics(struct runtime *s)
{
    struct metrics *m = s->telemetry->metrics;

    metrics_add_collector(m, ops_collect_ledger, s->store);
    telemetry_signing(s->telemetry, s->options.signing, s->store);
    metrics_add_collector(m, telemetry_contact, s->contact);
    metrics_add_collector(m, ops_collect_tenants, &s->surface->ops);
    metrics_add_collector(m, ops_collect_capacity, &s->surface->ops);
    if (s->options.sink != NULL) {
        metrics_add_collector(m, telemetry_log_losses, s->options.sink);
    }
}

/* ---- listeners ---- */

int runtime_start_http(struct runtime *s, struct err *reterr)
{
    struct surface *f = xcalloc(1, sizeof(*f));
    const struct listeners_routes routes[RUNTIME_LISTENER__MAX] = {
        [RUNTIME_VERBS] = {f->verb_routes, VERB_ROUTES},
        [RUNTIME_OPS] = {f->ops_routes, ARRAY_LEN(f->ops_routes)},
        [RUNTIME_HEALTH] = {f->health_routes, HEALTH_ROUTES},
        [RUNTIME_METRICS] = {&f->metrics_route, 1},
    };

    int rc;

    s->surface = f;
    set_up_health(s);
    set_up_routes(s);
    set_up_metrics(s);
    rc = stream_feed_new(&f->ops.state, &f->feed, reterr);
    if (rc != 0) {
        return rc;
    }
    f->ops.stream = (struct stream_handler){f->feed, &f->ops.state};
    metrics_add_collector(s->telemetry->metrics, stream_collect, f->feed);
    return listeners_start(&f->serving, &s->options, routes, s->telemetry, reterr);
}

void runtime_stop_http(struct runtime *s)
{
    if (s->surface != NULL && s->surface->serving.http != NULL) {
        httpd_server_stop(s->surface->serving.http, s->drain_ms);
    }
    if (s->surface != NULL) {
        stream_feed_stop(s->surface->feed);
    }
}

void runtime_free_http(struct runtime *s)
{
    if (s->surface != NULL) {
        httpd_server_free(s->surface->serving.http);
        stream_feed_free(s->surface->feed);
        httpd_tls_free(s->surface->serving.tls);
        httpd_tls_free(s->surface->serving.self_signed);
        free(s->surface);
    }
}

void runtime_set_body_limits(struct runtime *s, const struct config_limits *l)
{
    httpd_server_set_body_limits(s->surface->serving.http, (size_t)l->body_bytes, (size_t)l->bytes_in_flight);
}

void runtime_reload_tls(struct runtime *s)
{
    struct httpd_tls *tls = s->surface->serving.tls;

    if (tls != NULL && httpd_tls_reload(tls, NULL) != 0) {
        return; /* logged and counted there; the old ones stay */
    }
}

uint16_t runtime_port(const struct runtime *s, enum runtime_listener l)
{
    return l == RUNTIME_METRICS && address_is_none(&s->options.config->serving.metrics)
               ? 0
               : httpd_server_port(s->surface->serving.http, l);
}
