/* cmd/serving.h - the listeners of the service: what they serve, how, and to whom.
 *
 * Plain HTTP on loopback, TLS for verbs and ops anywhere else, health always plain. With TLS the verbs
 * want an allowed certificate; so do ops, unless a guard before its routes wants a token.
 */
#ifndef CMD_SERVING_H
#define CMD_SERVING_H

#include "cmd/service.h"
#include "cmd/telemetry.h"

struct serving {
    struct httpd_tls *tls; /* NULL: nothing is served with it */
    struct httpd_server *http;
};

struct serving_routes {
    const struct httpd_route *routes;
    size_t n;
};

/* "verbs", "ops", "health". */
const char *serving_listener_name(enum service_listener l);

/* Begins to serve. `routes` is indexed by enum service_listener; the tables must outlive the serving.
 * On failure what was begun is left for serving_fini. */
WARN_UNUSED int serving_start(struct serving *s, const struct service_options *o,
                              const struct serving_routes routes[SERVICE_LISTENER__MAX],
                              struct telemetry *telemetry, struct err *reterr);
/* Reads certificate, key and client CA again; a failure is logged and counted by who reads them. */
void serving_reload_tls(struct serving *s);
void serving_stop(struct serving *s, int64_t drain_ms); /* nothing happens when it never began */
void serving_fini(struct serving *s);

#endif
