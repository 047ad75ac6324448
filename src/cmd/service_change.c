#include "cmd/service_internal.h"

#include "base/bug.h"
#include "obs/logsink.h"

void service_set_tenants(struct service *s, const struct policy *p)
{
    struct ledger_op op = {.kind = LEDGER_TENANTS, .tenants = {p->tenants, p->tenant_n}};

    BUG_ON(store_apply(s->store, &op, NULL) != 0);
}

struct binder_options service_binder_options(const struct config *c)
{
    return (struct binder_options){.deadline_ms = c->client.bind_deadline_ms,
                                   .max_in_flight = (uint32_t)c->client.binds_in_flight_max,
                                   .binds_all_pods = c->serving.binds_all_pods};
}

static void apply(void *ctx, const struct config *c)
{
    struct service *s = ctx;
    const struct binder_options binder = service_binder_options(c);

    service_set_tenants(s, &c->policy);
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

void service_set_up_changeover(struct service *s)
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

/* ---- keys ---- */

static void keys_changed(void *ctx)
{
    const struct service *s = ctx;

    LOG_INFO(s->options.log, "Other keys verify the records now; all pods are listed again");
    kube_watcher_relist(s->watchers[KUBE_PODS]);
}

int service_start_verifier(struct service *s, struct err *reterr)
{
    const struct verifier_options o = {
        .book = s->book, .signing = s->options.signing, .keys_changed = keys_changed, .ctx = s};

    return o.signing == NULL ? 0 : verifier_start(&o, &s->verifier, reterr);
}

void service_reload_keys(struct service *s)
{
    if (s->verifier != NULL) {
        verifier_look(s->verifier);
    }
}

int service_start_pool_commands(struct service *s, struct err *reterr)
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

/* ---- time ---- */

/* A list that is on its way is not interrupted: one that takes long would never end. */
static bool list_pods_again(void *ctx)
{
    const struct service *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[KUBE_PODS], &stats);
    if (stats.watching) {
        kube_watcher_relist(s->watchers[KUBE_PODS]);
    }
    return stats.watching;
}

static void each_second(void *ctx)
{
    struct service *s = ctx;

    reopener_tick(&s->reopener);
}

int service_start_timekeeper(struct service *s, struct err *reterr)
{
    const struct timekeeper_options o = {.changeover = s->changeover,
                                         .slot = s->slot,
                                         .events = s->events,
                                         .clock = s->options.clock,
                                         .log = s->options.log,
                                         .each_second = each_second,
                                         .ctx = s};

    s->reopener = (struct reopener){
        .store = s->store, .clock = s->options.clock, .log = s->options.log, .relist = list_pods_again, .ctx = s};
    return timekeeper_start(&o, &s->timekeeper, reterr);
}
