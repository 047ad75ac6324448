/* cmd/service_internal.h - the parts of a service, shared by the files that wire them. service.c has the table of parts:
 * who is started when, and stopped and freed in which order. Each other file wires one kind:
 *   service_ledger.c   what is charged, and what the ledger tells
 *   service_api.c      who talks to the API server: client, Events, binder, requeue trigger, access
 *   service_rules.c    what is decided by: policy sets, configurations, and how another one takes effect
 *   service_feeds.c    what is read of the cluster
 *   service_audit.c    whether the ledger agrees with it
 *   service_change.c   what keys, time and pools change
 *   service_surface.c  what is shown and answered over HTTP
 * A member is written by the file that starts the part, and NULL before. */
#ifndef CMD_SERVICE_INTERNAL_H
#define CMD_SERVICE_INTERNAL_H

#include "cmd/service.h"

#include <stdatomic.h>

struct service {
    struct service_options options;
    atomic_bool stopping;
    int64_t drain_ms; /* of service_stop() */
    struct telemetry *telemetry;
    /* service_ledger.c */
    struct store *store;
    struct contact *contact;
    struct warn_limit *warnings;
    struct unreadable *unreadable;
    /* service_rules.c */
    struct config_slot *slot;
    struct policy_set *book;
    struct capacity_reporter *capacity_reporter;
    struct shadow *shadow;
    struct changeover *changeover;
    /* service_api.c */
    struct kube_client *client;
    struct events *events;
    struct binder *binder;
    struct requeue_trigger *requeue_trigger; /* NULL: nobody is woken */
    struct requeue_trigger_patch *requeue_trigger_patch;
    struct access *access; /* NULL: the ops listener is open to all that reach it */
    /* service_feeds.c */
    struct feed *feeds; /* KUBE_RESOURCE__MAX */
    struct kube_watcher *watchers[KUBE_RESOURCE__MAX];
    struct slices *slices; /* NULL: not looked at */
    struct kube_watcher *slices_watcher;
    /* service_audit.c */
    struct audit *audit;
    /* service_change.c */
    struct verifier *verifier; /* NULL: signing is off */
    struct pool_commands *pool_commands;
    struct timekeeper *timekeeper;
    struct reopener *reopener; /* of the timekeeper's thread */
    /* service_surface.c */
    struct surface *surface;
};

/* Starts a part; on failure what was begun is left for its stop and free. */
typedef int service_start_fn(struct service *s, struct err *reterr);
/* Stops the threads of a part, or frees it. Does nothing for one that was never started. */
typedef void service_end_fn(struct service *s);

service_start_fn service_start_ledger;
service_end_fn service_free_ledger;
/* The ledger learns who may hold how much. */
void service_set_tenants(struct service *s, const struct policy *p);
/* Nothing is promised any more; counted and told. */
void service_ledger_is_broken(struct service *s, const char *invariant);

service_start_fn service_start_client, service_start_events, service_start_binder, service_start_requeue_trigger,
    service_start_access;
service_end_fn service_stop_client, service_free_client, service_stop_events, service_free_events, service_stop_binder,
    service_free_binder, service_stop_requeue_trigger, service_free_requeue_trigger, service_free_access;
/* The binder and the requeue trigger go by another configuration. */
void service_api_follow(struct service *s, const struct config *c);

service_start_fn service_start_rules;
service_end_fn service_free_rules;

service_start_fn service_start_feeds;
service_end_fn service_stop_feeds, service_free_feeds;

service_start_fn service_start_audit;
service_end_fn service_stop_audit;

service_start_fn service_start_verifier, service_start_pool_commands, service_start_time;
service_end_fn service_stop_verifier, service_free_pool_commands, service_stop_time;

service_start_fn service_start_http;
service_end_fn service_stop_http, service_free_http;
void service_set_body_limits(struct service *s, const struct config_limits *l);

#endif
