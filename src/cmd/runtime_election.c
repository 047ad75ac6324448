/* Several replicas, of which one is active (decision 0097). One that follows reads the cluster and writes nothing: what
 * writes is started, or let go on, when it is elected, and the API client asks right before each write. */
#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "base/sync.h"
#include "cmd/telemetry.h"
#include "extender/elector.h"
#include "extender/planner.h"
#include "kube/events.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GIVE_BACK_MS = 2000 };

static const char TEXT_FOLLOWS[] = "fgpu is not ready: it follows, another replica decides";
static const char TEXT_LOST[] = "fgpu is not ready: it has lost its Lease and ends";
static const char TEXT_NO_THREAD[] = "fgpu could not start what it needs to decide";

struct runtime_election {
    struct runtime *of;
    struct kube_client *client; /* for the Lease alone */
    struct elector *elector;
    char host[HOST_NAME_MAX + 1];

    atomic_bool active, lost; /* each becomes true once */

    struct mutex lock;           /* of what the pools are told: */
    const struct config *config; /* that was applied last */
};

static bool follows_scheduler(const struct runtime *s)
{
    return s->options.config->election == ELECTION_FOLLOW_SCHEDULER;
}

static void lost(void *ctx, const char *why)
{
    struct runtime_election *e = ctx;

    (void)why; /* the elector has logged it */
    store_stand_by(e->of->store, TEXT_LOST);
    atomic_store(&e->lost, true);
    if (e->of->options.lost != NULL) {
        e->of->options.lost(e->of->options.lost_ctx);
    }
}

/* Everything below happens once, so the parts need no way back. */
static void elected(void *ctx, int64_t others_until_ns)
{
    struct runtime_election *e = ctx;
    struct runtime *s = e->of;
    struct err err;

    LOG_INFO(s->options.log, "Elected: this replica decides from now on",
             LOG_STR("lease", s->options.config->lease.object));
    events_silence(s->events, false);
    mutex_lock(&e->lock);
    atomic_store(&e->active, true);
    pool_commands_set(s->pool_commands, &e->config->policy);
    mutex_unlock(&e->lock);
    if ((s->planner != NULL && planner_start(s->planner, &err) != 0) ||
        runtime_run_elected(s, others_until_ns, &err) != 0) {
        LOG_ERROR(s->options.log, "Cannot go on as the replica that decides", LOG_CSTR("err", err.msg));
        store_close(s->store, TEXT_NO_THREAD);
        lost(e, TEXT_NO_THREAD);
        return;
    }
    store_stand_by(s->store, NULL);
}

bool runtime_may_write(void *ctx)
{
    const struct runtime *s = ctx;

    return elector_may_write(s->election->elector);
}

bool runtime_is_active(struct runtime *s)
{
    struct runtime_election *e = s->election;

    return e == NULL || (atomic_load(&e->active) && !atomic_load(&e->lost));
}

/* One whose own Lease runs out may have been stopped for long, and does not linger. Of one that follows others have
 * seen nothing for a while yet. */
bool runtime_may_end_in_order(const struct runtime *s)
{
    return follows_scheduler(s);
}

/* There nobody is led to the active one by readiness: the schedulers ask the fgpu beside them, whatever it says. */
const char *runtime_not_ready(struct runtime *s)
{
    const bool waits = s->election != NULL && follows_scheduler(s) && !atomic_load(&s->election->active) &&
                       !atomic_load(&s->election->lost);

    return waits ? store_not_warm(s->store) : store_not_ready(s->store);
}

const char *runtime_not_leader(struct runtime *s)
{
    return runtime_is_active(s) || (follows_scheduler(s) && !runtime_has_lost(s)) ? NULL : "another replica decides";
}

bool runtime_has_lost(struct runtime *s)
{
    return s->election != NULL && atomic_load(&s->election->lost);
}

void runtime_set_pool_commands(struct runtime *s, const struct config *c)
{
    struct runtime_election *e = s->election;

    if (e == NULL) {
        pool_commands_set(s->pool_commands, &c->policy);
        return;
    }
    mutex_lock(&e->lock);
    config_free(e->config);
    e->config = config_ref(c);
    if (atomic_load(&e->active)) {
        pool_commands_set(s->pool_commands, &c->policy);
    }
    mutex_unlock(&e->lock);
}

static void collect(void *ctx, struct metrics *m)
{
    struct runtime *s = ctx;

    metric_set(METRIC(m, FGPU_LEADER), runtime_is_active(s));
}

/* ---- life ---- */

/* As os.Hostname() says it, by which kube-scheduler makes its identity. */
static int name_host(struct runtime_election *e, const struct config_lease *c, struct err *reterr)
{
    if (follows_scheduler(e->of) && c->scheduler_host.n > 0) {
        snprintf(e->host, sizeof(e->host), "%.*s", STR_ARG(c->scheduler_host));
    } else if (gethostname(e->host, sizeof(e->host)) != 0 || e->host[0] == '\0') {
        if (follows_scheduler(e->of)) {
            return err_set(reterr, ERR_INVALID, "this machine has no host name; set lease.schedulerHost");
        }
        snprintf(e->host, sizeof(e->host), "fgpu");
    }
    return 0;
}

/* Before the client of all others, which asks it. */
int runtime_new_election(struct runtime *s, struct err *reterr)
{
    const struct config_lease *c = &s->options.config->lease;
    struct runtime_election *e;
    struct elector_options o = {.clock = s->options.clock,
                                .log = s->options.log,
                                .lease = c->object,
                                .duration_ms = c->duration_ms,
                                .renew_deadline_ms = c->renew_deadline_ms,
                                .retry_ms = c->retry_ms};
    const struct kube_client_options client = {.clock = s->options.clock,
                                               .observe = telemetry_api,
                                               .observe_ctx = s->telemetry,
                                               .connections_max = 2,
                                               .log = s->options.log};
    int rc;

    metrics_add_collector(s->telemetry->metrics, collect, s);
    if (s->options.config->election == ELECTION_NONE || s->options.rehearses) {
        return 0;
    }
    e = xcalloc(1, sizeof(*e));
    e->of = s;
    e->config = config_ref(s->options.config);
    mutex_init(&e->lock, "election");
    s->election = e;
    rc = name_host(e, c, reterr);
    if (rc != 0) {
        return rc;
    }
    rc = kube_client_new(s->options.credentials, &client, &e->client, reterr);
    if (rc == 0) {
        o.client = e->client;
        o.follows = follows_scheduler(s);
        o.host = e->host;
        o.listener = (struct elector_listener){elected, lost, e};
        rc = elector_new(&o, &e->elector, reterr);
    }
    if (rc == 0) {
        store_follow_election(s->store, elector_may_write, e->elector);
        store_stand_by(s->store, TEXT_FOLLOWS);
    }
    return rc;
}

/* When all parts are there. */
int runtime_start_election(struct runtime *s, struct err *reterr)
{
    return s->election != NULL ? elector_start(s->election->elector, reterr) : 0;
}

/* Before any part is stopped. */
void runtime_decline_election(struct runtime *s)
{
    if (s->election != NULL) {
        elector_decline(s->election->elector);
    }
}

/* When nobody is left who would write. */
void runtime_stop_election(struct runtime *s)
{
    struct runtime_election *e = s->election;

    if (e != NULL && e->client != NULL) {
        elector_stop(e->elector, s->drain_ms > 0, GIVE_BACK_MS);
        kube_client_stop(e->client);
    }
}

void runtime_free_election(struct runtime *s)
{
    struct runtime_election *e = s->election;

    if (e == NULL) {
        return;
    }
    elector_free(e->elector);
    kube_client_free(e->client);
    config_free(e->config);
    mutex_destroy(&e->lock);
    free(e);
}
