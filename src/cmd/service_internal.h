/* cmd/service_internal.h - the parts of a service, shared by the files that wire them: service.c starts and stops
 * them in order, service_surface.c is what is shown and answered over HTTP, service_change.c what another
 * configuration or time changes. */
#ifndef CMD_SERVICE_INTERNAL_H
#define CMD_SERVICE_INTERNAL_H

#include "cmd/service.h"

#include "cmd/serving.h"
#include "cmd/telemetry.h"
#include "cmd/timekeeper.h"
#include "extender/audit.h"
#include "extender/binder.h"
#include "extender/contact.h"
#include "extender/events.h"
#include "extender/feed.h"
#include "extender/pool_commands.h"
#include "extender/reopener.h"
#include "extender/slices.h"
#include "extender/unreadable.h"
#include "extender/verifier.h"
#include "extender/waker.h"
#include "extender/warn_limit.h"
#include "obs/health.h"
#include "routes/health.h"
#include "routes/ops.h"
#include "routes/ops_auth.h"
#include "routes/verbs.h"

#include <stdatomic.h>

struct service {
    struct service_options options;
    struct telemetry telemetry;
    struct store *store;
    struct contact *contact;
    struct warn_limit *warnings;
    struct unreadable *unreadable;
    struct config_slot *slot;
    struct rulebook *book;
    struct vacancy *vacancy;
    struct shadow *shadow;
    struct changeover *changeover;
    struct timekeeper *timekeeper;
    struct reopener reopener; /* of the timekeeper's thread */
    struct pool_commands *pool_commands;
    struct kube_client *client;
    struct binder *binder;
    struct events *events;
    struct waker *waker;
    struct waker_patch waker_patch;
    struct audit *audit;
    struct verifier *verifier; /* NULL: signing is off */
    struct feed feeds[KUBE_RESOURCE__MAX];
    struct kube_watcher *watchers[KUBE_RESOURCE__MAX];
    struct slices *slices; /* NULL: not looked at */
    struct kube_watcher *slices_watcher;
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

/* ---- service_surface.c ---- */

void service_set_up_health(struct service *s);
/* Everybody whom the routes ask must be there. */
void service_set_up_routes(struct service *s);
WARN_UNUSED int service_start_http(struct service *s, struct err *reterr);

/* ---- service_change.c ---- */

/* The ledger learns who may hold how much. */
void service_set_tenants(struct service *s, const struct policy *p);
struct binder_options service_binder_options(const struct config *c);
void service_set_up_changeover(struct service *s);
/* After the watchers, whose facts it verifies. */
WARN_UNUSED int service_start_verifier(struct service *s, struct err *reterr);
WARN_UNUSED int service_start_pool_commands(struct service *s, struct err *reterr);
/* Last: what it changes reaches everybody else. */
WARN_UNUSED int service_start_timekeeper(struct service *s, struct err *reterr);

#endif
