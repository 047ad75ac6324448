/* Which of several replicas was asked, and what decides which of them decides (decisions 0097, 0102). */
#include "report_internal.h"

#include <inttypes.h>

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
