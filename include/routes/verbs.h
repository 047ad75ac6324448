/* routes/verbs.h - the webhook verbs over HTTP: /v1/filter, /v1/prioritize, /v1/preempt,
 * /v1/bind.
 *
 * Always 200 once the HTTP itself is sound; what went wrong stands in `Error` (contract.md R3). A bind
 * suspends its connection; the answer resumes it.
 */
#ifndef ROUTES_VERBS_H
#define ROUTES_VERBS_H

#include "base/clock.h"
#include "base/log.h"
#include "extender/binder.h"
#include "extender/elsewhere.h"
#include "extender/planner.h"
#include "extender/policy_set.h"
#include "extender/shadow.h"
#include "extender/requeue_trigger.h"
#include "httpd/server.h"

#include <stdint.h>

enum verb { VERB_FILTER, VERB_PRIORITIZE, VERB_BIND, VERB_PREEMPT, VERB__MAX };

/* What happened in one call, for metrics; `outcome` is a static word. */
struct verb_observation {
    enum verb verb;
    const char *outcome;
    int64_t duration_ns;
};

struct verbs {
    struct policy_set *policies;
    struct binder *binder;
    struct requeue_trigger *requeue_trigger; /* NULL: nobody is woken */
    struct elsewhere *elsewhere;             /* NULL: likewise */
    struct shadow *shadow;                   /* NULL: nothing is ever in the shadow */
    struct planner *planner;                 /* NULL: nobody plans ahead */
    struct events *events;                   /* NULL: nobody is told */
    const struct clock *clock;
    const struct log *log;
    /* May be NULL. Called on the thread that answers. */
    void (*observe)(void *ctx, const struct verb_observation *o);
    /* Of a pod that fits nowhere: how many nodes had this verdict. May be NULL. */
    void (*observe_verdicts)(void *ctx, enum verdict v, uint64_t count);
    void *observe_ctx;
};

#define VERB_ROUTES 4
/* Fills the routes of the verbs listener; `v` must outlive the server. */
void verbs_routes(struct verbs *v, struct httpd_route routes[VERB_ROUTES]);

const char *verb_name(enum verb v); /* "filter" */

#endif
