#include "cmd/runtime_internal.h"

#include "cmd/telemetry.h"
#include "extender/change_overs.h"
#include "extender/shadow.h"
#include "extender/capacity_reporter.h"
#include "extender/history_keeper.h"
#include "obs/logsink.h"

/* ---- another configuration ---- */

static void apply_change(void *ctx, const struct config *c)
{
    struct runtime *s = ctx;

    runtime_record_configuration(s, c);
    runtime_set_tenants(s, &c->policy);
    runtime_set_body_limits(s, &c->limits);
    if (s->options.sink != NULL) {
        logsink_set_verbosity(s->options.sink, c->logging.verbosity);
    }
    runtime_set_pool_commands(s, c);
    runtime_api_follow(s, c);
}

static void relist(void *ctx, enum kube_resource resource)
{
    struct runtime *s = ctx;

    kube_watcher_relist(s->watchers[resource]);
}

static uint64_t admitted_pools(void *ctx, const struct policy *p)
{
    const struct runtime *s = ctx;

    return change_overs_admitted(s->change_overs, p);
}

static void set_up_config_apply(struct runtime *s)
{
    const struct config *c = s->options.config;
    struct config_apply_options o = {
        .policies = s->policies,
        .events = s->events,
        .metrics = s->telemetry->metrics,
        .clock = s->options.clock,
        .log = s->options.log,
        .apply = apply_change,
        .admitted_pools = admitted_pools,
        .relist = relist,
        .ctx = s,
    };

    s->slot = config_slot_new(config_ref(c), c->file.n > 0 ? c->file.p : NULL, clock_wall_ms(s->options.clock));
    o.slot = s->slot;
    s->config_apply = config_apply_new(&o);
}

struct config_apply *runtime_config_apply(struct runtime *s)
{
    return s->config_apply;
}

/* ---- life ---- */

int runtime_start_rules(struct runtime *s, struct err *reterr)
{
    const struct config *c = s->options.config;
    const struct ingest facts = {
        .store = s->store,
        .policy = &c->policy,
        .log = s->options.log,
        .events = s->events,
        .signing = s->options.signing,
        .accept_unsigned_before_ms = config_accept_unsigned_before_ms(&c->signing),
        .planner = s->planner,
        .plan_nodes = s->plan_nodes,
        .warnings = s->warnings,
    };
    const struct rules *rules;
    int rc = rules_new(&facts, c->generation, NULL, NULL, &rules, reterr);

    if (rc == 0) {
        rc = shadow_new(s->store, &s->shadow, reterr);
        if (rc != 0) {
            rules_put(rules);
        }
    }
    if (rc == 0) {
        s->policies = policy_set_new(rules);
        s->capacity_reporter = capacity_reporter_new(s->store, s->policies, s->options.clock);
        s->history = history_keeper_new(s->store, s->capacity_reporter, s->options.clock);
        set_up_config_apply(s);
    }
    return rc;
}

void runtime_free_rules(struct runtime *s)
{
    config_apply_free(s->config_apply);
    shadow_free(s->shadow);
    history_keeper_free(s->history);
    capacity_reporter_free(s->capacity_reporter);
    policy_set_free(s->policies);
    config_slot_free(s->slot);
}
