#include "cmd/service_internal.h"

#include "base/bug.h"
#include "cmd/serving.h"

#include <stdlib.h>

static int start_telemetry(struct service *s, struct err *reterr)
{
    (void)reterr;
    s->telemetry = telemetry_new(s->watchers);
    return 0;
}

static void free_telemetry(struct service *s)
{
    telemetry_free(s->telemetry);
}

/* The parts are started in this order; then all are stopped in the reverse order, and then freed in it, so that nobody
 * calls what is gone. That stops callers first (their binds may still end well), then who feeds us, then who answers.
 * A part that others still reach, or that must be quiet before others are, has a row of its own for that. */
static const struct part {
    service_start_fn *start;
    service_end_fn *stop, *free;
} parts[] = {
    {start_telemetry, NULL, free_telemetry},
    {service_start_ledger, NULL, service_free_ledger},
    {NULL, NULL, service_free_rules}, /* everybody below asks them */
    {NULL, NULL, service_free_feeds},
    {service_start_client, service_stop_client, service_free_client},
    {NULL, NULL, service_free_http}, /* a bind that is settled when the binder is freed is answered there */
    {service_start_events, service_stop_events, service_free_events},
    {service_start_rules, NULL, NULL},
    {service_start_binder, service_stop_binder, service_free_binder},
    {service_start_requeue_trigger, NULL, service_free_requeue_trigger},
    {service_start_access, NULL, service_free_access},
    {service_start_pool_commands, NULL, service_free_pool_commands},
    {service_start_feeds, service_stop_feeds, NULL},
    {service_start_verifier, service_stop_verifier, NULL}, /* it verifies what the feeds have read */
    {service_start_audit, service_stop_audit, NULL},       /* of what the feeds have made */
    {NULL, service_stop_requeue_trigger, NULL}, /* nobody is woken for a service that does not answer */
    {service_start_http, service_stop_http, NULL}, /* everybody whom the routes ask is there */
    {service_start_time, service_stop_time, NULL}, /* what it changes reaches everybody else */
};

int service_start(const struct service_options *o, struct service **ret, struct err *reterr)
{
    struct service *s = xcalloc(1, sizeof(*s));
    int r = 0;

    s->options = *o;
    for (size_t i = 0; i < ARRAY_LEN(parts) && r == 0; i++) {
        r = parts[i].start != NULL ? parts[i].start(s, reterr) : 0;
    }
    if (r != 0) {
        service_stop(s, 0);
        return r;
    }
    for (size_t i = 0; i < SERVICE_LISTENER__MAX; i++) {
        const enum service_listener l = (enum service_listener)i;

        LOG_INFO(o->log, "Listening", LOG_CSTR("listener", serving_listener_name(l)),
                 LOG_I64("port", service_port(s, l)));
    }
    *ret = s;
    return 0;
}

void service_stop(struct service *s, int64_t drain_ms)
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
