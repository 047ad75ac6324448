/* cmd/telemetry.h - joins the observers of the layers to the metrics: the only place that knows both. */
#ifndef CMD_TELEMETRY_H
#define CMD_TELEMETRY_H

#include "core/fit/verdict.h"
#include "guard/access.h"
#include "extender/audit.h"
#include "extender/contact.h"
#include "kube/events.h"
#include "extender/change_overs.h"
#include "extender/planner.h"
#include "extender/pool_commands.h"
#include "extender/signing.h"
#include "extender/store.h"
#include "httpd/server.h"
#include "kube/watcher.h"
#include "obs/catalog.h"
#include "routes/verbs.h"

struct telemetry {
    struct metrics *metrics;
    struct metric *durations[VERB__MAX];
    struct metric *verdicts[VERDICT__MAX];
    struct kube_watcher *const *watchers; /* KUBE_RESOURCE__MAX; an entry may be NULL */
    struct httpd_tls *tls;                /* NULL without TLS */
    struct signing *signing;              /* NULL: signing is off */
    struct store *store;
    struct httpd_server *http; /* NULL until there is one; its listeners are those of enum runtime_listener */
    size_t listener_n;         /* of them, the first ones */
};

/* Creates the registry, with a series for everything that has a closed set of names. */
struct telemetry *telemetry_new(struct kube_watcher *const *watchers);
void telemetry_free(struct telemetry *t); /* NULL is fine */
/* From now on the metrics show how its credentials do; it must live as long. */
void telemetry_client(struct telemetry *t, struct kube_client *client);

/* ... and how far records are believed; NULL: signing is off. */
void telemetry_signing(struct telemetry *t, struct signing *signing, struct store *store);
/* A collector; `ctx` is struct contact. */
void telemetry_contact(void *ctx, struct metrics *m);

/* A collector; `ctx` is struct logsink. */
void telemetry_log_losses(void *ctx, struct metrics *m);

/* `ctx` of all of these is the telemetry. */
void telemetry_verb(void *ctx, const struct verb_observation *o);
void telemetry_verdicts(void *ctx, enum verdict v, uint64_t count);
void telemetry_api(void *ctx, const char *verb, const char *resource, int http_status, int64_t duration_ns);
void telemetry_event(void *ctx, enum event_reason reason, enum event_outcome outcome);
void telemetry_access(void *ctx, enum access_verdict v);
void telemetry_audit(void *ctx, const struct audit_report *r);
void telemetry_pool_command(void *ctx, enum pool_command_result r);
void telemetry_http(void *ctx, const struct httpd_observation *o);

void telemetry_eviction(void *ctx, enum eviction_reply r);
/* A collector; `ctx` is struct binder. */
void telemetry_binder(void *ctx, struct metrics *m);
/* A collector; `ctx` is struct planner. */
void telemetry_planner(void *ctx, struct metrics *m);
/* A collector; `ctx` is struct elsewhere. */
void telemetry_elsewhere(void *ctx, struct metrics *m);
/* A collector; `ctx` is struct change_overs. */
void telemetry_change_overs(void *ctx, struct metrics *m);
/* A collector; `ctx` is struct pool_commands. */
void telemetry_pool_commands(void *ctx, struct metrics *m);

#endif
