/* obs/health.h - named health checks and the bodies of /livez, /readyz and /healthz.
 *
 * The texts are those of Kubernetes components (apiserver pkg/server/healthz/healthz.go), because
 * probes, people and tools know them: "ok"; with ?verbose one line per check; a failure is 500 and
 * always verbose, without the reason where these paths are anonymous; /readyz/NAME is one check,
 * with its reason. No HTTP in here: the caller hands in the parsed query and sends status and body
 * with the headers named below.
 */
#ifndef OBS_HEALTH_H
#define OBS_HEALTH_H

#include "base/compiler.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

#define HEALTH_CONTENT_TYPE "text/plain; charset=utf-8"
/* "X-Content-Type-Options" and "Cache-Control" of every answer */
#define HEALTH_NOSNIFF "nosniff"
#define HEALTH_CACHE_CONTROL "no-cache, private"

#define HEALTH_CHECKS_MAX 16

enum health_endpoint {
    HEALTH_LIVEZ = 1 << 0,
    HEALTH_READYZ = 1 << 1,
    HEALTH_HEALTHZ = 1 << 2,
};

/* NULL: healthy; else a static sentence that holds no secret. Called from server threads, must
 * be quick. */
typedef const char *health_probe_fn(void *ctx);

struct health_check {
    const char *name; /* static: letters, digits, '-' */
    health_probe_fn *probe;
    void *ctx;
    unsigned endpoints; /* or-ed health_endpoint */
};

struct health {
    struct health_check checks[HEALTH_CHECKS_MAX];
    size_t check_n;
};

struct health_query {
    bool verbose;
    bool reasons;              /* the caller may know why a check fails */
    const struct str *exclude; /* values of ?exclude=, in any order, repeats allowed */
    size_t exclude_n;
};

void health_init(struct health *h);
/* Before serving begins; a bad, repeated or surplus check is a bug. */
void health_add(struct health *h, const struct health_check *check);

/* Appends the body for the endpoint and returns the status, 200 or 500. An endpoint without
 * checks is healthy. */
int health_render(const struct health *h, enum health_endpoint endpoint, const struct health_query *query,
                  struct strbuf *out);
/* As health_render for one check of the endpoint; 404 when it has no such check. */
int health_render_check(const struct health *h, enum health_endpoint endpoint, struct str name, struct strbuf *out);

#endif
