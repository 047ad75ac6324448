/* cmd/listeners.h - the listeners of the service: what they serve, how, and to whom.
 *
 * Plain HTTP on loopback, TLS for verbs, ops and metrics anywhere else, health always plain. With TLS the
 * verbs want an allowed certificate; so do ops and metrics, unless a guard before their routes wants a token.
 */
#ifndef CMD_LISTENERS_H
#define CMD_LISTENERS_H

#include "cmd/runtime.h"
#include "cmd/telemetry.h"

struct listeners {
    struct httpd_tls *tls;         /* NULL: nothing is served with it */
    struct httpd_tls *self_signed; /* of metrics without serving.tls; NULL likewise */
    struct httpd_server *http;
};

struct listeners_routes {
    const struct httpd_route *routes;
    size_t n;
};

/* "verbs", "ops", "health". */
const char *serving_listener_name(enum runtime_listener l);

/* Begins to serve. `routes` is indexed by enum runtime_listener; the tables must outlive the serving.
 * What was begun, also before a failure, is the caller's to stop and to free. */
WARN_UNUSED int listeners_start(struct listeners *s, const struct runtime_options *o,
                                const struct listeners_routes routes[RUNTIME_LISTENER__MAX],
                                struct telemetry *telemetry, struct err *reterr);

#endif
