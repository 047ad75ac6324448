/* Which of several replicas was asked, and what decides which of them decides (decisions 0097, 0102). */
#include "report_internal.h"

#include "base/clock.h"

#include <inttypes.h>

#define CLOCK_ERROR_MS 2000

void doctor_check_election(struct doctor_report *r)
{
    const struct config *c = r->facts->config;

    if (!r->facts->is_leader) {
        doctor_tell(
            r, DOCTOR_NOTE, STR_NULL,
            STR("this replica follows, another one decides: what it refused, was asked and counts is another's"),
            c->election == ELECTION_FOLLOW_SCHEDULER
                ? "ask the pod that holderIdentity of the Lease of lease.object begins with"
                : "ask the replica whose fgpu_leader is 1");
    }
}

void doctor_check_lease(struct doctor_report *r)
{
    const struct config *c = r->facts->config;
    const struct scheduler_file *s = &r->facts->scheduler;
    const struct str object = arena_printf(r->arena, "%.*s/%.*s", STR_ARG(s->lease_namespace), STR_ARG(s->lease_name));

    if (c->election != ELECTION_FOLLOW_SCHEDULER) {
        return;
    }
    if (!s->elects) {
        doctor_tell(r, DOCTOR_FAULT, r->facts->scheduler_source,
                    STR("leaderElect is false, so no scheduler has the Lease, and fgpu never decides"),
                    "set leaderElection.leaderElect: true, or election: none with one replica");
    } else if (!str_eq(object, c->lease.object)) {
        doctor_tell(r, DOCTOR_FAULT, r->facts->scheduler_source,
                    arena_printf(r->arena, "the schedulers elect one by %.*s, and fgpu follows %.*s", STR_ARG(object),
                                 STR_ARG(c->lease.object)),
                    "set lease.object to leaderElection.resourceNamespace/resourceName, and give fgpu `get` on it");
    }
    if (s->lease_ms != c->lease.duration_ms || s->renew_deadline_ms != c->lease.renew_deadline_ms ||
        s->retry_ms != c->lease.retry_ms) {
        doctor_tell(r, DOCTOR_FAULT, r->facts->scheduler_source,
                    arena_printf(r->arena,
                                 "the schedulers' leaseDuration, renewDeadline and retryPeriod are %" PRId64
                                 ", %" PRId64 " and %" PRId64 " ms, those of fgpu %" PRId32 ", %" PRId32
                                 " and %" PRId32,
                                 s->lease_ms, s->renew_deadline_ms, s->retry_ms, c->lease.duration_ms,
                                 c->lease.renew_deadline_ms, c->lease.retry_ms),
                    "set the times under lease to those of leaderElection");
    }
}

static const char *fix_of_lease(const struct config *c)
{
    return c->election == ELECTION_FOLLOW_SCHEDULER
               ? "see whether the schedulers run, reach the API server, and elect one by this Lease"
               : "see whether the replicas run, reach the API server, and may write this Lease: "
                 "manifests/mtls-replicas";
}

/* Times are those of the holder's clock. */
void doctor_check_leader(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;
    const struct doctor_lease *l = &f->lease;
    const int64_t now_ms = f->now_ms + (f->why_not[DOCTOR_CLOCKS] == NULL ? f->api_ahead_ms : 0);
    const int64_t over_ms = now_ms - l->renewed_ms - l->duration_s * 1000;
    char when[CLOCK_RFC3339_MAX];

    if (f->config->election == ELECTION_NONE) {
        return;
    }
    clock_rfc3339(l->renewed_ms, when);
    if (!l->is_there) {
        doctor_tell(r, DOCTOR_FAULT, f->config->lease.object, STR("there is no such Lease, so no fgpu decides"),
                    fix_of_lease(f->config));
    } else if (l->holder.n == 0) {
        doctor_tell(r, DOCTOR_FAULT, f->config->lease.object, STR("nobody holds the Lease, so no fgpu decides"),
                    fix_of_lease(f->config));
    } else if (l->renewed_ms == 0 || over_ms > CLOCK_ERROR_MS) {
        doctor_tell(r, DOCTOR_FAULT, f->config->lease.object,
                    arena_printf(r->arena,
                                 "the Lease has expired: %.*s held it for %" PRId64 " s, and renewed it last %s",
                                 STR_ARG(l->holder), l->duration_s, l->renewed_ms == 0 ? "never" : when),
                    fix_of_lease(f->config));
    } else {
        doctor_tell(r, DOCTOR_NOTE, f->config->lease.object,
                    arena_printf(r->arena, "%.*s holds the Lease, and renewed it last %s", STR_ARG(l->holder), when),
                    "nothing is wrong: this says which replica decides");
    }
}
