/* routes/ops.h - what the operations listener serves: /state, /v1/explain, /v1/history, /v1/trace, /metrics, /configz,
 * /version, an index, POST /v1/whatif (routes/whatif.h), POST /audit (routes/audit.h), the page (routes/page.h) and
 * what it follows (routes/stream.h); beside them /readyz and its like with reasons (routes/health.h).
 *
 * Changes nothing but what an audit repairs. Off loopback guard/ops_auth.h stands before them.
 * Nothing here holds a secret: the configuration has none, pods show names only.
 */
#ifndef ROUTES_OPS_H
#define ROUTES_OPS_H

#include "config/slot.h"
#include "extender/store.h"
#include "httpd/server.h"
#include "obs/metrics.h"
#include "routes/explain.h"
#include "routes/history.h"
#include "routes/state.h"
#include "routes/stream.h"
#include "routes/trace.h"
#include "routes/whatif.h"

#define TENANT_NAME_MAX 64 /* what the configuration lets pass, and NUL */

struct ops {
    struct state_context state;
    struct explain_context explain;
    struct trace_context trace;
    struct stream_handler stream;
    struct history_context history;
    struct whatif_context whatif;
    struct metrics *metrics;
    struct config_slot *config;      /* shown by /configz */
    struct capacity_report capacity; /* that was rendered last; kept by ops_collect_capacity */
    struct {
        char name[TENANT_NAME_MAX];
    } tenants[TENANTS_MAX]; /* of the last ops_collect_tenants() */
    size_t tenant_n;
};

#define OPS_ROUTES 12
/* Fills the routes of the ops listener; `o` must outlive the server. */
void ops_routes(struct ops *o, struct httpd_route routes[OPS_ROUTES]);
/* /metrics alone, for a listener of its own. */
void ops_metrics_route(struct ops *o, struct httpd_route *ret);

/* A collector (obs/metrics.h) for the ledger's gauges of obs/catalog.h: metrics_add_collector(m,
 * ops_collect_ledger, store). Totals are read under the lock at each scrape. A pod that is leaving
 * or in conflict counts by its ledger state, since the totals do not tell. */
void ops_collect_ledger(void *store, struct metrics *m);

/* A collector for the gauges of tenants; ctx is the struct ops. Tenants that are no more show 0. */
void ops_collect_tenants(void *ops, struct metrics *m);

/* The same for how much is free (extender/capacity_reporter.h): metrics_add_collector(m, ops_collect_capacity,
 * &ops). */
void ops_collect_capacity(void *ops, struct metrics *m);

#endif
