#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "cmd/telemetry.h"
#include "extender/binder.h"
#include "extender/planner.h"
#include "extender/requeue_trigger.h"

#include <stdlib.h>

#define EVENTS_FLUSH_MS 1000

/* ---- client ---- */

int runtime_start_client(struct runtime *s, struct err *reterr)
{
    const struct credentials *credentials = s->options.credentials;
    const struct kube_client_options client = {
        .clock = s->options.clock,
        .observe = telemetry_api,
        .observe_ctx = s->telemetry,
        .log = s->options.log,
        .read_only = s->options.rehearses,
        .may_write = s->election != NULL ? runtime_may_write : NULL,
        .may_write_ctx = s,
    };
    int rc = kube_client_new(credentials, &client, &s->client, reterr);

    if (credentials->insecure_skip_tls_verify) {
        LOG_WARNING(s->options.log,
                    "INSECURE: the kubeconfig has insecure-skip-tls-verify, so fgpu trusts every server at the "
                    "address of the API server and sends it our credentials. Use certificate-authority instead",
                    LOG_CSTR("server", credentials->server));
    }
    if (rc == 0) {
        telemetry_client(s->telemetry, s->client);
    }
    return rc;
}

void runtime_stop_client(struct runtime *s)
{
    if (s->client != NULL) {
        kube_client_stop(s->client);
    }
}

void runtime_free_client(struct runtime *s)
{
    kube_client_free(s->client);
}

/* ---- Events ---- */

int runtime_start_events(struct runtime *s, struct err *reterr)
{
    const struct events_options o = {.source = {EVENT_CONTROLLER_EXTENDER, s->options.instance},
                                     .self = s->options.self,
                                     .observe = telemetry_event,
                                     .observe_ctx = s->telemetry};
    int rc;

    if (s->options.rehearses) { /* nobody is told; the log tells what happens */
        return 0;
    }
    rc = events_new(s->client, s->options.clock, s->options.log, &o, &s->events, reterr);
    if (rc == 0) {
        events_silence(s->events, s->election != NULL);
    }
    return rc;
}

void runtime_stop_events(struct runtime *s)
{
    events_stop(s->events, EVENTS_FLUSH_MS);
}

void runtime_free_events(struct runtime *s)
{
    events_free(s->events);
}

/* ---- binder ---- */

static struct binder_options binder_options(const struct runtime *s, const struct config *c)
{
    return (struct binder_options){
        .deadline_ms = c->client.bind_deadline_ms,
        .max_in_flight = (uint32_t)c->client.binds_in_flight_max,
        .binds_all_pods = c->serving.binds_all_pods,
        .rehearses = s->options.rehearses,
        .intent_objects = c->policy.consistency == CONSISTENCY_STRICT ? c->client.intent_objects : STR_NULL};
}

int runtime_start_binder(struct runtime *s, struct err *reterr)
{
    const struct binder_options o = binder_options(s, s->options.config);
    const int rc = binder_new(s->policies, s->client, s->options.clock, s->options.log, &o, &s->binder, reterr);

    if (rc == 0) {
        metrics_add_collector(s->telemetry->metrics, telemetry_binder, s->binder);
    }
    return rc;
}

void runtime_stop_binder(struct runtime *s)
{
    if (s->binder != NULL) {
        binder_stop(s->binder);
    }
}

void runtime_free_binder(struct runtime *s)
{
    binder_free(s->binder);
}

/* ---- requeue trigger ---- */

int runtime_start_requeue_trigger(struct runtime *s, struct err *reterr)
{
    const struct str object = s->options.config->client.wake_object;
    int rc;

    if (object.n == 0 || s->options.rehearses) {
        return 0;
    }
    s->requeue_trigger_patch = xcalloc(1, sizeof(*s->requeue_trigger_patch));
    *s->requeue_trigger_patch = (struct requeue_trigger_patch){s->client, s->options.clock, object};
    rc = requeue_trigger_new(s->store, s->options.clock, s->options.log, requeue_trigger_patch_send,
                             s->requeue_trigger_patch, &s->requeue_trigger, reterr);
    if (rc == 0) {
        requeue_trigger_follows(s->requeue_trigger);
        rc = elsewhere_new(s->store, s->policies, s->options.clock, s->options.log, s->requeue_trigger, &s->elsewhere,
                           reterr);
    }
    if (rc == 0) {
        metrics_add_collector(s->telemetry->metrics, telemetry_elsewhere, s->elsewhere);
    }
    return rc;
}

void runtime_stop_requeue_trigger(struct runtime *s)
{
    requeue_trigger_stop(s->requeue_trigger);
}

void runtime_free_requeue_trigger(struct runtime *s)
{
    elsewhere_free(s->elsewhere);
    requeue_trigger_free(s->requeue_trigger);
    free(s->requeue_trigger_patch);
}

void runtime_api_follow(struct runtime *s, const struct config *c)
{
    const struct binder_options o = binder_options(s, c);

    binder_set_options(s->binder, &o);
    planner_enable(s->planner, c->policy.plan_ahead);
    requeue_trigger_capacity(s->requeue_trigger); /* who was refused may fit now */
}

/* ---- access ---- */

int runtime_start_access(struct runtime *s, struct err *reterr)
{
    const struct config_serving *c = &s->options.config->serving;

    if (!config_serving_needs_token(c, &c->ops) && !config_serving_needs_token(c, &c->metrics)) {
        return 0;
    }
    return access_new(s->client, s->options.clock, s->options.log, &s->access, reterr);
}

void runtime_free_access(struct runtime *s)
{
    access_free(s->access);
}
