#include "cmd/service_internal.h"

#include <string.h>

/* ---- readiness ---- */

bool service_is_ready(struct service *s)
{
    return !atomic_load(&s->stopping) && store_is_ready(s->store);
}

bool service_is_listed(struct service *s)
{
    return store_is_synced(s->store);
}

static const char *probe_ledger(void *ctx)
{
    const struct service *s = ctx;

    return store_closed(s->store);
}

/* A process that has left GPUs out is not well, although it may answer for all others. */
static const char *probe_inventories(void *ctx)
{
    const struct service *s = ctx;

    return store_lacks_room(s->store);
}

static const char *probe_ready(void *ctx)
{
    const struct service *s = ctx;

    return store_not_ready(s->store);
}

static const char *probe_contact(void *ctx)
{
    const struct service *s = ctx;

    return contact_lost(s->contact);
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

void service_set_up_health(struct service *s)
{
    const struct health_check checks[] = {
        {"ledger", probe_ledger, s, HEALTH_LIVEZ | HEALTH_HEALTHZ | HEALTH_READYZ},
        {"inventories", probe_inventories, s, HEALTH_LIVEZ | HEALTH_HEALTHZ},
        {"cache-synced", probe_ready, s, HEALTH_READYZ},
        {"api-contact", probe_contact, s, HEALTH_READYZ},
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

void service_set_up_routes(struct service *s)
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
        .signing = s->options.signing,
        .audit = s->audit,
        .unreadable = s->unreadable,
        .pool_commands = s->pool_commands,
        .slices = s->slices,
        .cursors = cursors,
        .is_ready = is_ready,
        .ctx = s,
        .config = s->slot,
        .version = FGPU_VERSION,
    };
    metrics_add_collector(s->telemetry.metrics, ops_collect_ledger, s->store);
    telemetry_signing(&s->telemetry, s->options.signing, s->store);
    metrics_add_collector(s->telemetry.metrics, telemetry_contact, s->contact);
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

int service_start_http(struct service *s, struct err *reterr)
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
