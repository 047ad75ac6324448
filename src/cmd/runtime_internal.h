/* cmd/runtime_internal.h - the parts of a runtime, shared by the files that wire them. runtime.c has the table of
 * parts: who is started when, and stopped and freed in which order. Each other file wires one kind:
 *   runtime_ledger.c   what is charged, and what the ledger tells
 *   runtime_api.c      who talks to the API server: client, Events, binder, requeue trigger, access
 *   runtime_election.c which of several replicas is active, and what it begins then
 *   runtime_planner.c  who plans ahead
 *   runtime_run.c      what the run object says of those before us, and of us
 *   runtime_rules.c    what is decided by: policy sets, configurations, and how another one takes effect
 *   runtime_feeds.c    what is read of the cluster
 *   runtime_audit.c    whether the ledger agrees with it
 *   runtime_change.c   what keys, time and pools change
 *   runtime_surface.c  what is shown and answered over HTTP
 * A member is written by the file that starts the part, and NULL before. */
#ifndef CMD_RUNTIME_INTERNAL_H
#define CMD_RUNTIME_INTERNAL_H

#include "cmd/runtime.h"

#include <stdatomic.h>

struct runtime {
    struct runtime_options options;
    atomic_bool stopping;
    int64_t drain_ms; /* of runtime_stop() */
    struct telemetry *telemetry;
    /* runtime_ledger.c */
    struct store *store;
    struct contact *contact;
    struct warn_limit *warnings;
    struct unreadable *unreadable;
    /* runtime_rules.c */
    struct config_slot *slot;
    struct policy_set *policies;
    struct capacity_reporter *capacity_reporter;
    struct history_keeper *history;
    struct shadow *shadow;
    struct config_apply *config_apply;
    /* runtime_api.c */
    struct kube_client *client;
    struct events *events;
    struct binder *binder;
    struct planner *planner; /* NULL: this process rehearses */
    struct plan_nodes *plan_nodes;
    struct requeue_trigger *requeue_trigger; /* NULL: nobody is woken */
    struct elsewhere *elsewhere;             /* NULL: likewise */
    struct requeue_trigger_patch *requeue_trigger_patch;
    struct access *access; /* NULL: the ops listener is open to all that reach it */
    /* runtime_election.c */
    struct runtime_election *election; /* NULL: there is one replica */
    /* runtime_run.c */
    struct run_start *run_start;
    /* runtime_feeds.c */
    struct feed *feeds; /* KUBE_RESOURCE__MAX */
    struct kube_watcher *watchers[KUBE_RESOURCE__MAX];
    struct slices *slices; /* NULL: not looked at */
    struct kube_watcher *slices_watcher;
    /* runtime_audit.c */
    struct audit *audit;
    /* runtime_change.c */
    struct verifier *verifier; /* NULL: signing is off */
    struct pool_commands *pool_commands;
    struct evictor *evictor;           /* NULL: nobody is evicted */
    struct change_overs *change_overs; /* of the window scheduler's thread */
    struct window_scheduler *window_scheduler;
    struct reopener *reopener; /* of the window scheduler's thread */
    /* runtime_surface.c */
    struct surface *surface;
};

/* Starts a part; on failure what was begun is left for its stop and free. */
typedef int runtime_start_fn(struct runtime *s, struct err *reterr);
/* Stops the threads of a part, or frees it. Does nothing for one that was never started. */
typedef void runtime_end_fn(struct runtime *s);

runtime_start_fn runtime_start_ledger;
runtime_end_fn runtime_free_ledger;
/* The ledger learns who may hold how much. */
void runtime_set_tenants(struct runtime *s, const struct policy *p);
void runtime_record_configuration(struct runtime *s, const struct config *c); /* in the flight recorder */
/* Nothing is promised any more; counted and told. */
void runtime_ledger_is_broken(struct runtime *s, const char *invariant);

runtime_start_fn runtime_start_client, runtime_start_events, runtime_start_binder, runtime_start_requeue_trigger,
    runtime_start_access;
runtime_end_fn runtime_stop_client, runtime_free_client, runtime_stop_events, runtime_free_events, runtime_stop_binder,
    runtime_free_binder, runtime_stop_requeue_trigger, runtime_free_requeue_trigger, runtime_free_access;
runtime_start_fn runtime_new_planner, runtime_start_planner;
runtime_end_fn runtime_stop_planner, runtime_free_planner;
/* The binder, the planner and the requeue trigger go by another configuration. */
void runtime_api_follow(struct runtime *s, const struct config *c);

runtime_start_fn runtime_new_election, runtime_start_election;
runtime_end_fn runtime_decline_election, runtime_stop_election, runtime_free_election;
/* NULL: readyz may say yes. A warm replica that follows a scheduler is ready to take over, and that is what its pod's
 * readiness is about (decision 0102). */
const char *runtime_not_ready(struct runtime *s);
const char *runtime_not_leader(struct runtime *s);
bool runtime_may_write(void *ctx); /* ctx: the runtime, with an election */
/* The policy in effect, for the commands of the pools: run by the active replica alone. */
void runtime_set_pool_commands(struct runtime *s, const struct config *c);

runtime_start_fn runtime_prepare_run, runtime_start_run;
runtime_end_fn runtime_stop_run, runtime_free_run;
/* Does the first list of pods wait for what the run object says? */
bool runtime_run_is_asked(const struct runtime *s);
/* This replica is the active one, and no other one has sent anything since then (monotonic). */
WARN_UNUSED int runtime_run_elected(struct runtime *s, int64_t others_until_ns, struct err *reterr);
void runtime_run_begun(struct runtime *s); /* a list of pods begins */
/* A list of pods is complete, with so many traces of others (extender/feed.h). */
void runtime_run_listed(struct runtime *s, uint64_t traces);
struct state_start;
void runtime_run_status(void *ctx, struct state_start *ret); /* ctx: the runtime */

runtime_start_fn runtime_start_rules;
runtime_end_fn runtime_free_rules;

runtime_start_fn runtime_start_feeds;
runtime_end_fn runtime_stop_feeds, runtime_free_feeds;

runtime_start_fn runtime_start_audit;
runtime_end_fn runtime_stop_audit;

runtime_start_fn runtime_start_verifier, runtime_start_pool_commands, runtime_start_time;
runtime_end_fn runtime_stop_verifier, runtime_free_pool_commands, runtime_stop_time;

runtime_start_fn runtime_start_http;
runtime_end_fn runtime_stop_http, runtime_free_http;
void runtime_set_body_limits(struct runtime *s, const struct config_limits *l);

#endif
