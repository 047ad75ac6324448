#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "cmd/listeners.h"

#include <stdlib.h>

static int start_telemetry(struct runtime *s, struct err *reterr)
{
    (void)reterr;
    s->telemetry = telemetry_new(s->watchers);
    return 0;
}

static void free_telemetry(struct runtime *s)
{
    telemetry_free(s->telemetry);
}

/* The parts are started in this order; then all are stopped in the reverse order, and then freed in it, so that nobody
 * calls what is gone. That stops callers first (their binds may still end well), then who feeds us, then who answers.
 * A part that others still reach, or that must be quiet before others are, has a row of its own for that. */
static const struct part {
    runtime_start_fn *start;
    runtime_end_fn *stop, *free;
} parts[] = {
    {start_telemetry, NULL, free_telemetry},
    {runtime_start_ledger, NULL, runtime_free_ledger},
    {NULL, NULL, runtime_free_rules}, /* everybody below asks them */
    {NULL, NULL, runtime_free_feeds},
    {runtime_new_election, NULL, runtime_free_election}, /* each write asks it */
    {runtime_new_planner, NULL, runtime_free_planner},   /* its patches are answered by then */
    {runtime_start_client, runtime_stop_client, runtime_free_client},
    {NULL, runtime_stop_election, NULL}, /* the Lease is given back when nobody is left who writes */
    {NULL, NULL, runtime_free_http},     /* a bind that is settled when the binder is freed is answered there */
    {runtime_start_events, runtime_stop_events, runtime_free_events},
    {runtime_start_rules, NULL, NULL},
    {runtime_start_binder, runtime_stop_binder, runtime_free_binder},
    {runtime_prepare_run, NULL, runtime_free_run},
    {runtime_start_requeue_trigger, NULL, runtime_free_requeue_trigger},
    {runtime_start_access, NULL, runtime_free_access},
    {runtime_start_pool_commands, NULL, runtime_free_pool_commands},
    {runtime_start_feeds, runtime_stop_feeds, NULL},
    {runtime_start_verifier, runtime_stop_verifier, NULL}, /* it verifies what the feeds have read */
    {runtime_start_audit, runtime_stop_audit, NULL},       /* of what the feeds have made */
    {runtime_start_planner, runtime_stop_planner, NULL},   /* takes back what it nominated when nobody asks any more */
    {runtime_start_run, runtime_stop_run, NULL},   /* lets the feeds begin; ends while they tell what became of binds */
    {NULL, runtime_stop_requeue_trigger, NULL},    /* nobody is woken for a service that does not answer */
    {runtime_start_http, runtime_stop_http, NULL}, /* everybody whom the routes ask is there */
    {runtime_start_time, runtime_stop_time, NULL}, /* what it changes reaches everybody else */
    {runtime_start_election, runtime_decline_election, NULL}, /* starts the rest of some parts */
};

int runtime_start(const struct runtime_options *o, struct runtime **ret, struct err *reterr)
{
    struct runtime *s = xcalloc(1, sizeof(*s));
    int rc = 0;

    s->options = *o;
    for (size_t i = 0; i < ARRAY_LEN(parts) && rc == 0; i++) {
        rc = parts[i].start != NULL ? parts[i].start(s, reterr) : 0;
    }
    if (rc != 0) {
        runtime_stop(s, 0);
        return rc;
    }
    for (size_t i = 0; i < RUNTIME_LISTENER__MAX; i++) {
        const enum runtime_listener l = (enum runtime_listener)i;
        const uint16_t port = runtime_port(s, l);

        if (port != 0) {
            LOG_INFO(o->log, "Listening", LOG_CSTR("listener", serving_listener_name(l)), LOG_I64("port", port));
        }
    }
    *ret = s;
    return 0;
}

void runtime_stop(struct runtime *s, int64_t drain_ms)
{
    atomic_store(&s->stopping, true);
    s->drain_ms = drain_ms;
    for (size_t i = ARRAY_LEN(parts); i > 0; i--) {
        if (parts[i - 1].stop != NULL) {
            parts[i - 1].stop(s);
        }
    }
    for (size_t i = ARRAY_LEN(parts); i > 0; i--) {
        if (parts[i - 1].free != NULL) {
            parts[i - 1].free(s);
        }
    }
    free(s);
}
