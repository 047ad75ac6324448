#include "cmd/service.h"

#include "base/bug.h"
#include "base/rng.h"
#include "cmd/serving.h"
#include "cmd/telemetry.h"
#include "cmd/timekeeper.h"
#include "extender/audit.h"
#include "extender/binder.h"
#include "extender/events.h"
#include "extender/feed.h"
#include "extender/notices.h"
#include "extender/pool_commands.h"
#include "extender/waker.h"
#include "obs/health.h"
#include "obs/logsink.h"
#include "routes/health.h"
#include "routes/ops.h"
#include "routes/ops_auth.h"
#include "routes/verbs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_FLUSH_MS 1000

struct service {
    struct service_options options;
    struct telemetry telemetry;
    struct store *store;
    struct config_slot *slot;
    struct rulebook *book;
    struct vacancy *vacancy;
    struct shadow *shadow;
    struct changeover *changeover;
    struct timekeeper *timekeeper;
    struct pool_commands *pool_commands;
    struct kube_client *client;
    struct binder *binder;
    struct events *events;
    struct waker *waker;
    struct waker_patch waker_patch;
    struct audit *audit;
    struct feed feeds[KUBE_RESOURCE__MAX];
    struct kube_watcher *watchers[KUBE_RESOURCE__MAX];
    struct verbs verbs;
    struct ops ops;
    struct access *access; /* NULL: the ops listener is open to all that reach it */
    struct ops_auth ops_auth;
    struct health health;
    struct health_handlers health_handlers;
    struct httpd_route verb_routes[VERB_ROUTES];
    struct httpd_route ops_routes[OPS_ROUTES];
    struct httpd_route health_routes[HEALTH_ROUTES];
    struct serving serving;
    atomic_bool stopping;
};

/* ---- readiness ---- */

bool service_is_ready(struct service *s)
{
    return !atomic_load(&s->stopping) && store_is_ready(s->store);
}

bool service_is_listed(struct service *s)
{
    return store_is_synced(s->store);
}

/* ---- what the ledger tells ---- */

static void overcommit_changed(void *ctx, const struct ledger_overcommit *o)
{
    const struct service *s = ctx;

    notice_overcommit(s->events, o);
    if (o->begins) {
        LOG_WARNING(s->options.log, "A GPU is over-committed; it takes no new pods until that is over",
                    LOG_STR("node", o->node_name), LOG_STR("uuid", o->uuid), LOG_I64("index", o->index));
    } else {
        LOG_INFO(s->options.log, "A GPU is not over-committed any more", LOG_STR("node", o->node_name),
                 LOG_STR("uuid", o->uuid), LOG_I64("index", o->index));
    }
}

static void ledger_is_broken(struct service *s, const char *invariant)
{
    metric_inc(METRIC(s->telemetry.metrics, FGPU_INVARIANT_VIOLATIONS_TOTAL));
    store_close(s->store, "the ledger is broken");
    service_notice(s, EVENT_LEDGER_BROKEN, invariant);
}

static const char *probe_ledger(void *ctx)
{
    const struct service *s = ctx;

    return store_closed(s->store);
}

static const char *probe_ready(void *ctx)
{
    const struct service *s = ctx;

    return store_not_ready(s->store);
}

static const char *probe_credentials(void *ctx)
{
    const struct service *s = ctx;
    struct identity_stats stats;

    kube_client_identity(s->client, &stats);
    return stats.trouble;
}

static const char *probe_shutdown(void *ctx)
{
    struct service *s = ctx;

    return atomic_load(&s->stopping) ? "fgpu is stopping" : NULL;
}

static void set_up_health(struct service *s)
{
    const struct health_check checks[] = {
        {"ledger", probe_ledger, s, HEALTH_LIVEZ | HEALTH_HEALTHZ | HEALTH_READYZ},
        {"cache-synced", probe_ready, s, HEALTH_READYZ},
        {"credentials", probe_credentials, s, HEALTH_READYZ},
        {"shutdown", probe_shutdown, s, HEALTH_READYZ},
    };

    health_init(&s->health);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        health_add(&s->health, &checks[i]);
    }
}

/* ---- what ops shows ---- */

static void cursors(void *ctx, struct state_cursors *ret)
{
    struct service *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[KUBE_PODS], &stats);
    memcpy(ret->pods, stats.resource_version, sizeof(ret->pods));
    kube_watcher_stats(s->watchers[KUBE_NODES], &stats);
    memcpy(ret->nodes, stats.resource_version, sizeof(ret->nodes));
}

static bool is_ready(void *ctx)
{
    return service_is_ready(ctx);
}

static void set_up_routes(struct service *s)
{
    s->verbs = (struct verbs){
        .book = s->book,
        .binder = s->binder,
        .waker = s->waker,
        .shadow = s->shadow,
        .clock = s->options.clock,
        .log = s->options.log,
        .observe = telemetry_verb,
        .observe_verdicts = telemetry_verdicts,
        .observe_ctx = &s->telemetry,
    };
    s->ops.config = s->slot;
    s->ops.metrics = s->telemetry.metrics;
    s->ops.state = (struct state_context){
        .store = s->store,
        .clock = s->options.clock,
        .binder = s->binder,
        .vacancy = s->vacancy,
        .shadow = s->shadow,
        .audit = s->audit,
        .pool_commands = s->pool_commands,
        .cursors = cursors,
        .is_ready = is_ready,
        .ctx = s,
        .config = s->slot,
        .version = FGPU_VERSION,
    };
    metrics_add_collector(s->telemetry.metrics, ops_collect_ledger, s->store);
    metrics_add_collector(s->telemetry.metrics, ops_collect_tenants, &s->ops);
    metrics_add_collector(s->telemetry.metrics, ops_collect_vacancy, &s->ops);
    verbs_routes(&s->verbs, s->verb_routes);
    ops_routes(&s->ops, s->ops_routes);
    health_routes(&s->health_handlers, &s->health, s->health_routes);
    if (s->access != NULL) {
        s->ops_auth = (struct ops_auth){
            .access = s->access, .observe = telemetry_access, .observe_ctx = &s->telemetry};
        ops_auth_guard(&s->ops_auth, s->ops_routes, OPS_ROUTES);
    }
}

/* ---- another configuration ---- */

static void set_tenants(struct service *s, const struct policy *p)
{
    struct ledger_op op = {.kind = LEDGER_TENANTS, .tenants = {p->tenants, p->tenant_n}};

    BUG_ON(store_apply(s->store, &op, NULL) != 0);
}

static struct binder_options binder_options(const struct config *c)
{
    return (struct binder_options){.deadline_ms = c->client.bind_deadline_ms,
                                   .max_in_flight = (uint32_t)c->client.binds_in_flight_max};
}

static void apply(void *ctx, const struct config *c)
{
    struct service *s = ctx;
    const struct binder_options binder = binder_options(c);

    set_tenants(s, &c->policy);
    binder_set_options(s->binder, &binder);
    httpd_server_set_body_limits(s->serving.http, (size_t)c->limits.body_bytes,
                                 (size_t)c->limits.bytes_in_flight);
    if (s->options.sink != NULL) {
        logsink_set_verbosity(s->options.sink, c->logging.verbosity);
    }
    pool_commands_set(s->pool_commands, &c->policy);
    waker_room(s->waker); /* who was refused may fit now */
}

static void relist(void *ctx, enum kube_resource resource)
{
    struct service *s = ctx;

    kube_watcher_relist(s->watchers[resource]);
}

static void set_up_changeover(struct service *s)
{
    const struct config *c = s->options.config;
    struct changeover_options o = {
        .book = s->book,
        .store = s->store,
        .events = s->events,
        .metrics = s->telemetry.metrics,
        .clock = s->options.clock,
        .log = s->options.log,
        .apply = apply,
        .relist = relist,
        .ctx = s,
    };

    s->slot = config_slot_new(config_ref(c), c->file.n > 0 ? c->file.p : NULL,
                              clock_wall_ms(s->options.clock));
    o.slot = s->slot;
    s->changeover = changeover_new(&o);
}

struct changeover *service_changeover(struct service *s)
{
    return s->changeover;
}

static int start_pool_commands(struct service *s, struct err *reterr)
{
    const struct pool_commands_options o = {.clock = s->options.clock,
                                            .log = s->options.log,
                                            .observe = telemetry_pool_command,
                                            .ctx = &s->telemetry};
    int r = pool_commands_new(&o, &s->pool_commands, reterr);

    if (r == 0) {
        pool_commands_set(s->pool_commands, &s->options.config->policy);
        metrics_add_collector(s->telemetry.metrics, telemetry_pool_commands, s->pool_commands);
    }
    return r;
}

/* Last: what it changes reaches everybody else. */
static int start_timekeeper(struct service *s, struct err *reterr)
{
    const struct timekeeper_options o = {.changeover = s->changeover,
                                         .slot = s->slot,
                                         .events = s->events,
                                         .clock = s->options.clock,
                                         .log = s->options.log};

    return timekeeper_start(&o, &s->timekeeper, reterr);
}

/* ---- start ---- */

static int start_store(struct service *s, struct err *reterr)
{
    const struct policy *p = &s->options.config->policy;
    struct ledger_limits limits = {.overcommit_milli = p->overcommit_milli,
                                   .overcommit_mem_milli = p->overcommit_mem_milli};
    int r = rng_os_bytes(&limits.hash_key, sizeof(limits.hash_key), reterr);

    if (r != 0) {
        return r;
    }
    s->store = store_new(&limits, s->options.clock);
    set_tenants(s, p);
    store_watch_overcommit(s->store, overcommit_changed, s);
    store_hold_off(s->store, clock_mono_ns(s->options.clock) + s->options.holdoff_ms * 1000000);
    return 0;
}

static int start_events(struct service *s, struct err *reterr)
{
    const struct events_options o = {.instance = s->options.instance,
                                     .self = s->options.self,
                                     .observe = telemetry_event,
                                     .observe_ctx = &s->telemetry};

    return events_new(s->client, s->options.clock, s->options.log, &o, &s->events, reterr);
}

static int start_rules(struct service *s, struct err *reterr)
{
    const struct config *c = s->options.config;
    const struct ingest facts = {s->store, &c->policy, s->options.log, s->events};
    const struct rules *rules;
    int r = rules_new(&facts, c->generation, NULL, NULL, &rules, reterr);

    if (r == 0) {
        r = shadow_new(s->store, &s->shadow, reterr);
        if (r != 0) {
            rules_put(rules);
        }
    }
    if (r == 0) {
        s->book = rulebook_new(rules);
        s->vacancy = vacancy_new(s->store, s->book, s->options.clock);
        set_up_changeover(s);
    }
    return r;
}

static int start_binder(struct service *s, struct err *reterr)
{
    const struct kube_client_options client = {
        .clock = s->options.clock,
        .observe = telemetry_api,
        .observe_ctx = &s->telemetry,
        .log = s->options.log};
    const struct binder_options binder = binder_options(s->options.config);
    int r = kube_client_new(s->options.credentials, &client, &s->client, reterr);

    if (s->options.credentials->insecure_skip_tls_verify) {
        LOG_WARNING(s->options.log,
                    "INSECURE: the kubeconfig has insecure-skip-tls-verify, so whoever answers at the "
                    "address of the API server is believed and gets our credentials. Give it the "
                    "certificate-authority instead",
                    LOG_CSTR("server", s->options.credentials->server));
    }
    if (r == 0) {
        telemetry_client(&s->telemetry, s->client);
        r = start_events(s, reterr);
    }
    if (r == 0) {
        r = start_rules(s, reterr);
    }
    if (r == 0) {
        r = binder_new(s->book, s->client, s->options.clock, s->options.log, &binder, &s->binder,
                       reterr);
    }
    return r;
}

static int start_access(struct service *s, struct err *reterr)
{
    if (!config_serving_ops_needs_token(&s->options.config->serving)) {
        return 0;
    }
    return access_new(s->client, s->options.clock, s->options.log, &s->access, reterr);
}

static int start_waker(struct service *s, struct err *reterr)
{
    s->waker_patch = (struct waker_patch){s->client, s->options.clock,
                                          s->options.config->client.wake_object};
    if (s->waker_patch.object.n == 0) {
        return 0;
    }
    return waker_new(s->store, s->options.clock, s->options.log, waker_patch_send, &s->waker_patch, &s->waker,
                     reterr);
}

/* ---- audits ---- */

static void audit_finished(void *ctx, const struct audit_report *r)
{
    struct service *s = ctx;

    telemetry_audit(&s->telemetry, r);
    if (r->invariant != NULL) {
        ledger_is_broken(s, r->invariant);
    }
}

static void audit_drifted(void *ctx, enum kube_resource resource)
{
    const struct service *s = ctx;

    kube_watcher_relist(s->watchers[resource]);
}

static uint64_t audit_interruptions(void *ctx, enum kube_resource resource, bool *ret_now)
{
    const struct service *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[resource], &stats);
    *ret_now = !stats.watching;
    return stats.list_n + stats.list_failed_n + stats.watch_failed_n + stats.probe_n + stats.expired_n;
}

/* After the watchers, whose ledger it audits. */
static int start_audit(struct service *s, struct err *reterr)
{
    const struct config_audit *c = &s->options.config->audit;
    const struct audit_options options = {.interval_ms = c->interval_ms,
                                          .settle_ms = c->settle_ms,
                                          .finished = audit_finished,
                                          .drifted = audit_drifted,
                                          .interruptions = audit_interruptions,
                                          .ctx = s};

    return audit_new(s->book, s->client, s->options.clock, s->options.log, &options, &s->audit, reterr);
}

void service_audit(struct service *s)
{
    audit_request(s->audit, NULL, NULL);
}

static int start_http(struct service *s, struct err *reterr)
{
    const struct serving_routes routes[SERVICE_LISTENER__MAX] = {
        [SERVICE_VERBS] = {s->verb_routes, VERB_ROUTES},
        [SERVICE_OPS] = {s->ops_routes, OPS_ROUTES},
        [SERVICE_HEALTH] = {s->health_routes, HEALTH_ROUTES},
    };

    return serving_start(&s->serving, &s->options, routes, &s->telemetry, reterr);
}

void service_reload_tls(struct service *s)
{
    serving_reload_tls(&s->serving);
}

static void synced(void *ctx, enum kube_resource resource)
{
    const struct service *s = ctx;
    struct snapshot totals;

    store_totals(s->store, &totals);
    LOG_INFO(s->options.log, "Read the cluster", LOG_CSTR("resource", kube_resource_name(resource)),
             LOG_I64("nodes", (int64_t)totals.node_n), LOG_I64("gpus", (int64_t)totals.device_n),
             LOG_I64("podsWithGPUs", (int64_t)totals.pod_n));
}

static void listed(void *ctx, enum kube_resource resource, const struct rules *by)
{
    const struct service *s = ctx;

    changeover_listed(s->changeover, resource, by);
}

static int start_watchers(struct service *s, struct err *reterr)
{
    int r = 0;

    for (size_t i = 0; i < KUBE_RESOURCE__MAX && r == 0; i++) {
        enum kube_resource resource = (enum kube_resource)i;
        struct reflector_handler handler;

        feed_init(&s->feeds[i], s->book, resource);
        s->feeds[i].synced = synced;
        s->feeds[i].listed = listed;
        s->feeds[i].ctx = s;
        handler = feed_handler(&s->feeds[i]);
        r = kube_watcher_start(s->client, resource, &handler, s->options.clock, &s->watchers[i], reterr);
    }
    return r;
}

int service_start(const struct service_options *o, struct service **ret, struct err *reterr)
{
    struct service *s = xcalloc(1, sizeof(*s));
    int r;

    s->options = *o;
    telemetry_init(&s->telemetry, s->watchers);
    set_up_health(s);
    r = start_store(s, reterr);
    if (r == 0) {
        r = start_binder(s, reterr);
    }
    if (r == 0) {
        r = start_waker(s, reterr);
    }
    if (r == 0) {
        r = start_access(s, reterr);
    }
    if (r == 0) {
        r = start_pool_commands(s, reterr);
    }
    if (r == 0) {
        r = start_watchers(s, reterr);
    }
    if (r == 0) {
        r = start_audit(s, reterr);
    }
    if (r == 0) {
        set_up_routes(s);
        r = start_http(s, reterr);
    }
    if (r == 0) {
        r = start_timekeeper(s, reterr);
    }
    if (r != 0) {
        service_stop(s, 0);
        return r;
    }
    for (size_t i = 0; i < SERVICE_LISTENER__MAX; i++) {
        static const char *const names[SERVICE_LISTENER__MAX] = {"verbs", "ops", "health"};

        LOG_INFO(o->log, "Listening", LOG_CSTR("listener", names[i]),
                 LOG_I64("port", httpd_server_port(s->serving.http, i)));
    }
    *ret = s;
    return 0;
}

uint16_t service_port(const struct service *s, enum service_listener l)
{
    return httpd_server_port(s->serving.http, l);
}

const char *service_check(struct service *s)
{
    const char *broken = store_check(s->store);

    if (broken != NULL) {
        ledger_is_broken(s, broken);
    }
    return broken;
}

void service_notice(struct service *s, enum event_reason reason, const char *note)
{
    notice_self(s->events, reason, note);
}

/* The order matters: callers first (their binds may still end well), then who feeds us, then who answers. */
void service_stop(struct service *s, int64_t drain_ms)
{
    atomic_store(&s->stopping, true);
    timekeeper_stop(s->timekeeper);
    serving_stop(&s->serving, drain_ms);
    waker_stop(s->waker);
    audit_free(s->audit);
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        kube_watcher_stop(s->watchers[i]);
        if (s->feeds[i].book != NULL) {
            feed_fini(&s->feeds[i]);
        }
    }
    if (s->binder != NULL) {
        binder_stop(s->binder);
    }
    events_stop(s->events, EVENTS_FLUSH_MS);
    if (s->client != NULL) {
        kube_client_stop(s->client);
    }
    pool_commands_free(s->pool_commands);
    access_free(s->access);
    waker_free(s->waker);
    binder_free(s->binder);
    events_free(s->events);
    serving_fini(&s->serving);
    kube_client_free(s->client);
    changeover_free(s->changeover);
    shadow_free(s->shadow);
    vacancy_free(s->vacancy);
    rulebook_free(s->book);
    config_slot_free(s->slot);
    store_free(s->store);
    telemetry_fini(&s->telemetry);
    free(s);
}
