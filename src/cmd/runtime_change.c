#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "cmd/telemetry.h"
#include "cmd/window_scheduler.h"
#include "extender/change_overs.h"
#include "extender/explain_events.h"
#include "extender/history_keeper.h"
#include "extender/reopener.h"
#include "extender/verifier.h"

#include <stdlib.h>

/* ---- keys ---- */

static void keys_changed(void *ctx)
{
    const struct runtime *s = ctx;

    LOG_INFO(s->options.log, "Other keys verify the records now; all pods are listed again");
    kube_watcher_relist(s->watchers[KUBE_PODS]);
}

int runtime_start_verifier(struct runtime *s, struct err *reterr)
{
    const struct verifier_options o = {
        .policies = s->policies, .signing = s->options.signing, .keys_changed = keys_changed, .ctx = s};

    return o.signing == NULL ? 0 : verifier_start(&o, &s->verifier, reterr);
}

void runtime_reload_keys(struct runtime *s)
{
    if (s->verifier != NULL) {
        verifier_look(s->verifier);
    }
}

void runtime_stop_verifier(struct runtime *s)
{
    verifier_stop(s->verifier);
}

/* ---- pools ---- */

static size_t list_commands(void *commands, struct arena *a, const struct pool_command_status **ret)
{
    return pool_commands_list(commands, a, ret);
}

static void order_command(void *commands, struct str pool, enum pool_order order)
{
    pool_commands_order(commands, pool, order);
}

static void evict(void *evictor, const struct pool_pod *pod)
{
    evictor_evict(evictor, pod);
}

static void eviction_trouble(void *evictor, struct str uid, char ret[EVICTION_TROUBLE_MAX])
{
    evictor_trouble(evictor, uid, ret);
}

static void start_change_overs(struct runtime *s)
{
    if (!s->options.rehearses) {
        s->evictor = evictor_new(s->client, s->options.clock, s->options.log, telemetry_eviction, s->telemetry);
    }
    s->change_overs =
        change_overs_new(&(struct change_overs_options){.store = s->store,
                                                        .clock = s->options.clock,
                                                        .log = s->options.log,
                                                        .events = s->events,
                                                        .rehearses = s->options.rehearses,
                                                        .list = list_commands,
                                                        .order = order_command,
                                                        .commands = s->pool_commands,
                                                        .evict = s->evictor != NULL ? evict : NULL,
                                                        .trouble = s->evictor != NULL ? eviction_trouble : NULL,
                                                        .evictions = s->evictor});
    metrics_add_collector(s->telemetry->metrics, telemetry_change_overs, s->change_overs);
}

/* The configuration that a look is about. */
struct look {
    struct runtime *s;
    const struct config *config;
};

static bool is_settled(void *ctx)
{
    const struct look *l = ctx;

    return config_apply_is_settled(l->s->config_apply, l->config);
}

static void look_at_change_overs(struct runtime *s, const struct config *now)
{
    struct look look = {s, now};

    if (change_overs_look(s->change_overs, &now->policy, is_settled, &look)) {
        config_apply_keep_time(s->config_apply); /* it reaches the nodes */
    }
}

int runtime_start_pool_commands(struct runtime *s, struct err *reterr)
{
    const struct pool_commands_options o = {
        .clock = s->options.clock,
        .log = s->options.log,
        .rehearses = s->options.rehearses,
        .may_run = s->election != NULL ? runtime_may_write : NULL,
        .may_run_ctx = s,
        .observe = telemetry_pool_command,
        .ctx = s->telemetry,
    };
    int rc = pool_commands_new(&o, &s->pool_commands, reterr);

    if (rc == 0) {
        start_change_overs(s);
        runtime_set_pool_commands(s, s->options.config);
        metrics_add_collector(s->telemetry->metrics, telemetry_pool_commands, s->pool_commands);
    }
    return rc;
}

void runtime_free_pool_commands(struct runtime *s)
{
    change_overs_free(s->change_overs);
    evictor_free(s->evictor);
    pool_commands_free(s->pool_commands);
}

/* ---- time ---- */

/* A list that is on its way is not interrupted: one that takes long would never end. */
static bool list_pods_again(void *ctx)
{
    const struct runtime *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[KUBE_PODS], &stats);
    if (stats.watching) {
        kube_watcher_relist(s->watchers[KUBE_PODS]);
    }
    return stats.watching;
}

static void each_second(void *ctx)
{
    struct runtime *s = ctx;
    const struct rules *rules = policy_set_take(s->policies);
    const struct config *now = config_slot_take(s->slot);

    reopener_tick(s->reopener);
    history_keeper_tick(s->history);
    if (runtime_is_active(s)) {
        look_at_change_overs(s, now);
        (void)explain_events_tick(&rules->placement, s->events, now->events.pod_waits_after_ms,
                                  clock_wall_ms(s->options.clock));
    }
    config_free(now);
    rules_put(rules);
}

int runtime_start_time(struct runtime *s, struct err *reterr)
{
    const struct window_scheduler_options o = {.config_apply = s->config_apply,
                                               .slot = s->slot,
                                               .events = s->events,
                                               .clock = s->options.clock,
                                               .log = s->options.log,
                                               .each_second = each_second,
                                               .ctx = s};

    s->reopener = xcalloc(1, sizeof(*s->reopener));
    *s->reopener = (struct reopener){
        .store = s->store, .clock = s->options.clock, .log = s->options.log, .relist = list_pods_again, .ctx = s};
    return window_scheduler_start(&o, &s->window_scheduler, reterr);
}

void runtime_stop_time(struct runtime *s)
{
    window_scheduler_stop(s->window_scheduler);
    free(s->reopener);
}
