/* cmd/listeners.h - the listeners of the service: what they serve, how, and to whom.
 *
 * Plain HTTP on loopback, TLS for verbs and ops anywhere else, health always plain. With TLS the verbs
 * want an allowed certificate; so do ops, unless a guard before its routes wants a token.
 */
#ifndef CMD_LISTENERS_H
#define CMD_LISTENERS_H

#include "cmd/runtime.h"
#include "cmd/telemetry.h"

struct listeners {
    struct httpd_tls *tls; /* NULL: nothing is served with it */
    struct httpd_server *http;
};

struct listeners_routes {
    const struct httpd_route *routes;
    size_t n;
};

/* "verbs", "ops", "health". */
const char *serving_listener_name(enum runtime_listener l);

/* Begins to serve. `routes` is indexed by enum runtime_listener; the tables must outlive the serving.
 * On failure what was begun is left for listeners_fini. */
WARN_UNUSED int listeners_start(struct listeners *s, const struct runtime_options *o,
                                const struct listeners_routes routes[RUNTIME_LISTENER__MAX],
                                struct telemetry *telemetry, struct err *reterr);
/* Reads certificate, key and client CA again; a failure is logged and counted by who reads them. */
void listeners_reload_tls(struct listeners *s);
void listeners_stop(struct listeners *s, int64_t drain_ms); /* nothing happens when it never began */
void listeners_fini(struct listeners *s);

#endif
