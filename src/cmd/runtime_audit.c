#include "cmd/runtime_internal.h"

#include "cmd/telemetry.h"
#include "extender/audit.h"
#include "extender/binder.h"
#include "extender/slices.h"

/* Rights and versions of the API server change rarely, but they do. */
static void ask_for_slices_again(const struct runtime *s)
{
    struct slices_status status;

    slices_status(s->slices, &status);
    if (status.state == SLICES_ABSENT || status.state == SLICES_FORBIDDEN) {
        kube_watcher_relist(s->slices_watcher);
    }
}

static void audit_finished(void *ctx, const struct audit_report *r)
{
    struct runtime *s = ctx;

    telemetry_audit(s->telemetry, r);
    ask_for_slices_again(s);
    binder_tidy(s->binder);
    if (r->invariant != NULL) {
        runtime_ledger_is_broken(s, r->invariant);
    }
}

static void audit_drifted(void *ctx, enum kube_resource resource)
{
    const struct runtime *s = ctx;

    kube_watcher_relist(s->watchers[resource]);
}

static uint64_t audit_interruptions(void *ctx, enum kube_resource resource, bool *ret_now)
{
    const struct runtime *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[resource], &stats);
    *ret_now = !stats.watching;
    return stats.list_n + stats.list_failed_n + stats.watch_failed_n + stats.probe_n + stats.expired_n;
}

int runtime_start_audit(struct runtime *s, struct err *reterr)
{
    const struct config_audit *c = &s->options.config->audit;
    const struct audit_options options = {.interval_ms = c->interval_ms,
                                          .settle_ms = c->settle_ms,
                                          .finished = audit_finished,
                                          .drifted = audit_drifted,
                                          .interruptions = audit_interruptions,
                                          .ctx = s};

    return audit_new(s->policies, s->client, s->options.clock, s->options.log, &options, &s->audit, reterr);
}

void runtime_audit(struct runtime *s)
{
    audit_request(s->audit, NULL, NULL);
}

void runtime_stop_audit(struct runtime *s)
{
    audit_free(s->audit);
}
