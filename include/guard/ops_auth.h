/* guard/ops_auth.h - a guard before routes: only callers with a bearer token that the cluster
 * knows, whose user may use this method on this path (guard/access.h).
 *
 *   401  no token, or one that the API server does not know
 *   403  the user may not: a ClusterRole with nonResourceURLs of the path is missing
 *   503  the API server was not able to say, or too many callers are being asked about
 *
 * No thread waits: the request is suspended, and its handler runs, on a thread of the listener,
 * when the answer is there. With TLS on the listener nobody reads the tokens on their way; that it
 * has it is the business of whoever starts it.
 */
#ifndef GUARD_OPS_AUTH_H
#define GUARD_OPS_AUTH_H

#include "guard/access.h"
#include "httpd/server.h"

#include <stddef.h>

#define OPS_AUTH_ROUTES_MAX 32

struct ops_auth {
    struct access *access;
    /* May be NULL. Once per request, on the thread that answers. */
    void (*observe)(void *ctx, enum access_verdict v);
    void *observe_ctx;

    size_t guard_n; /* from here on kept by ops_auth_guard; 0 */
    struct ops_guard {
        struct ops_auth *auth;
        httpd_handler_fn *handle;
        void *ctx;
    } guards[OPS_AUTH_ROUTES_MAX];
};

/* Puts the guard before each of these routes that is not HTTPD_ROUTE_PUBLIC. Before the server starts; `a` must outlive
 * it. */
void ops_auth_guard(struct ops_auth *a, struct httpd_route *routes, size_t n);

#endif
