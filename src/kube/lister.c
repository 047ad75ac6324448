#include "kube/lister.h"

struct listing {
    const struct kube_lister *lister;
    struct reflector *reflector;
};

static int on_bytes(void *ctx, struct str bytes, struct err *reterr)
{
    struct listing *g = ctx;

    return reflector_feed(g->reflector, clock_mono_ns(g->lister->clock), bytes, reterr);
}

static int cancelled(struct err *reterr)
{
    return err_set(reterr, ERR_CANCELLED, "stopped while listing");
}

/* One step of the state machine: 0, or ERR_CANCELLED. */
static int advance(struct listing *g, enum kube_resource resource, struct err *reterr)
{
    const struct kube_lister *l = g->lister;
    int64_t now_ns = clock_mono_ns(l->clock);
    struct kube_outcome outcome = {.kind = KUBE_CANCELLED};
    struct reflector_step step;

    reflector_next(g->reflector, now_ns, &step);
    if (step.action == REFLECTOR_WAIT) {
        return l->wait(l->ctx, step.wait_until_ns) ? 0 : cancelled(reterr);
    }
    if (l->wait(l->ctx, now_ns)) {
        const struct kube_stream_request request = {
            .path = step.path,
            .gzip = true,
            .silence_ms = step.silence_ms,
            .verb = "list",
            .resource = kube_resource_name(resource),
        };

        kube_stream_run(l->stream, &request, on_bytes, g, &outcome);
    }
    reflector_done(g->reflector, clock_mono_ns(l->clock), &outcome);
    return outcome.kind == KUBE_CANCELLED ? cancelled(reterr) : 0;
}

static int list(const struct kube_lister *l, enum kube_resource resource, struct reflector *r, struct err *reterr)
{
    const struct reflector_stats *stats = reflector_stats(r);
    struct listing g = {l, r};
    int rc = 0;

    while (rc == 0 && stats->list_n == 0) {
        rc = stats->list_failed_n >= KUBE_LISTER_FAILURES_MAX ? err_set(reterr, ERR_UNAVAILABLE, "cannot list %s: %s",
                                                                        kube_resource_name(resource), stats->last_error)
                                                              : advance(&g, resource, reterr);
    }
    reflector_free(r);
    return rc;
}

int kube_list(const struct kube_lister *l, enum kube_resource resource, const struct reflector_handler *handler,
              struct err *reterr)
{
    struct reflector *r = reflector_new(resource, handler, l->rng);

    reflector_list_in_pages(r);
    return list(l, resource, r, reterr);
}

int kube_list_one(const struct kube_lister *l, enum kube_resource resource, struct str namespace_, struct str name,
                  const struct reflector_handler *handler, struct err *reterr)
{
    struct reflector *r;
    int rc = reflector_new_one(resource, namespace_, name, handler, l->rng, &r, reterr);

    return rc == 0 ? list(l, resource, r, reterr) : rc;
}
