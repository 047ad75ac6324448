/* routes/health.h - /livez, /readyz and /healthz over HTTP, and /readyz/NAME for one check.
 *
 * Texts, `?verbose` and `?exclude=NAME` (repeatable) are those of Kubernetes components
 * (obs/health.h); other parameters are ignored, as they do. The health listener is anonymous, so it
 * serves nothing else and `?verbose` withholds reasons there. The ops listener, which knows its
 * callers, serves the same paths with the reasons.
 *
 * Which checks stand behind which path is decided where the process is wired, under one rule: what
 * is in HEALTH_LIVEZ must not depend on the API server or on anything else a restart does not
 * repair, because a failing livez makes kubelet kill the container and the ledger with it.
 */
#ifndef ROUTES_HEALTH_H
#define ROUTES_HEALTH_H

#include "httpd/server.h"
#include "obs/health.h"

/* More than anyone has checks to exclude; above it the answer is 400. */
#define HEALTH_EXCLUDES_MAX 32

#define HEALTH_ENDPOINTS 3

struct health_handlers {
    struct health_handler {
        const struct health *health;
        enum health_endpoint endpoint;
        bool reasons;
        struct str prefix; /* "/readyz/" */
    } each[HEALTH_ENDPOINTS];
};

#define HEALTH_ROUTES ((size_t)2 * HEALTH_ENDPOINTS)
/* Fills `h` and the routes of a listener; `reasons`: only callers who may know them reach it. `h` and
 * `health` must outlive the server; checks are added to `health` before it starts. */
void health_routes(struct health_handlers *h, const struct health *health, bool reasons,
                   struct httpd_route routes[HEALTH_ROUTES]);

#endif
