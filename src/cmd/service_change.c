#include "cmd/service_internal.h"

#include "base/bug.h"
#include "cmd/telemetry.h"
#include "cmd/timekeeper.h"
#include "extender/reopener.h"
#include "extender/verifier.h"

#include <stdlib.h>

/* ---- keys ---- */

static void keys_changed(void *ctx)
{
    const struct service *s = ctx;

    LOG_INFO(s->options.log, "Other keys verify the records now; all pods are listed again");
    kube_watcher_relist(s->watchers[KUBE_PODS]);
}

int service_start_verifier(struct service *s, struct err *reterr)
{
    const struct verifier_options o = {
        .book = s->book, .signing = s->options.signing, .keys_changed = keys_changed, .ctx = s};

    return o.signing == NULL ? 0 : verifier_start(&o, &s->verifier, reterr);
}

void service_reload_keys(struct service *s)
{
    if (s->verifier != NULL) {
        verifier_look(s->verifier);
    }
}

void service_stop_verifier(struct service *s)
{
    verifier_stop(s->verifier);
}

/* ---- pools ---- */

int service_start_pool_commands(struct service *s, struct err *reterr)
{
    const struct pool_commands_options o = {.clock = s->options.clock,
                                            .log = s->options.log,
                                            .observe = telemetry_pool_command,
                                            .ctx = s->telemetry};
    int r = pool_commands_new(&o, &s->pool_commands, reterr);

    if (r == 0) {
        pool_commands_set(s->pool_commands, &s->options.config->policy);
        metrics_add_collector(s->telemetry->metrics, telemetry_pool_commands, s->pool_commands);
    }
    return r;
}

void service_free_pool_commands(struct service *s)
{
    pool_commands_free(s->pool_commands);
}

/* ---- time ---- */

/* A list that is on its way is not interrupted: one that takes long would never end. */
static bool list_pods_again(void *ctx)
{
    const struct service *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[KUBE_PODS], &stats);
    if (stats.watching) {
        kube_watcher_relist(s->watchers[KUBE_PODS]);
    }
    return stats.watching;
}

static void each_second(void *ctx)
{
    struct service *s = ctx;

    reopener_tick(s->reopener);
}

int service_start_time(struct service *s, struct err *reterr)
{
    const struct timekeeper_options o = {.changeover = s->changeover,
                                         .slot = s->slot,
                                         .events = s->events,
                                         .clock = s->options.clock,
                                         .log = s->options.log,
                                         .each_second = each_second,
                                         .ctx = s};

    s->reopener = xcalloc(1, sizeof(*s->reopener));
    *s->reopener = (struct reopener){
        .store = s->store, .clock = s->options.clock, .log = s->options.log, .relist = list_pods_again, .ctx = s};
    return timekeeper_start(&o, &s->timekeeper, reterr);
}

void service_stop_time(struct service *s)
{
    timekeeper_stop(s->timekeeper);
    free(s->reopener);
}
