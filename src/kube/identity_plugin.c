/* kube/identity_plugin.c - the thread that runs the exec plugin, and when. */
#include "identity_internal.h"

#include "base/clock.h"

/* A pause follows every run, so that answers that are expired already, or rejected, do not make it
 * run without end; the wall clock may jump, so no wait is longer than a minute. */
enum { PAUSE_S = 1, FAILED_MAX_S = 60, WAIT_MAX_S = 60 };

bool plugin_has_answer(const struct identity *id)
{
    return id->plugin.answered && clock_wall_ms(id->clock) < id->plugin.expires_wall_ms;
}

void plugin_want(struct identity *id)
{
    id->plugin.wanted = true;
    condvar_signal(&id->plugin.wake);
}

bool plugin_is_at_work(const struct identity *id)
{
    const struct plugin *p = &id->plugin;
    return p->running || (p->wanted && clock_mono_ns(id->clock) >= p->not_before_ns);
}

/* ---- what comes of a run ---- */

static void succeeded(struct identity *id, const struct exec_credential *c)
{
    struct plugin *p = &id->plugin;
    int64_t wall_ms = clock_wall_ms(id->clock);
    struct material m;
    material_init(&m);
    strbuf_add_str(&m.token, str_of(c->token));
    strbuf_add_str(&m.cert, str_of(c->cert_pem));
    strbuf_add_str(&m.key, str_of(c->key_pem));
    if (id->material.ca.n > 0) {
        strbuf_add_str(&m.ca, strbuf_view(&id->material.ca));
    } else {
        strbuf_add_str(&m.ca, str_of(id->creds->ca_pem));
    }
    identity_adopt(id, &m);
    p->answered = true;
    p->failed_n = 0;
    p->why.code = ERR_OK;
    p->expires_wall_ms = c->expires_wall_ms;
    p->renew_wall_ms = INT64_MAX;
    if (c->expires_wall_ms != INT64_MAX) {
        p->renew_wall_ms = wall_ms + (c->expires_wall_ms - wall_ms) / 10 * 9;
    }
}

static void failed(struct identity *id, const struct err *why)
{
    struct plugin *p = &id->plugin;
    p->failed_n++;
    p->why = *why;
    id->stats.plugin_failed_n++;
    LOG_ERROR(id->log,
              plugin_has_answer(id) ? "Cannot renew the credentials; the old ones stay in use"
                                    : "No credentials for the API server",
              LOG_CSTR("err", why->msg), LOG_I64("inARow", p->failed_n));
}

static void set_pause(struct identity *id)
{
    struct plugin *p = &id->plugin;
    unsigned doublings = p->failed_n < 7 ? p->failed_n : 6;
    int64_t pause_s = (int64_t)PAUSE_S << doublings;
    int64_t now_ns = clock_mono_ns(id->clock);
    p->not_before_ns = now_ns + (pause_s < FAILED_MAX_S ? pause_s : FAILED_MAX_S) * NS_PER_S;
}

/* A text that could end the header line is no token. */
static int check(const struct exec_credential *c, struct err *reterr)
{
    if (c->token != NULL && (!material_is_token(str_of(c->token)) || str_of(c->token).n > IDENTITY_TOKEN_BYTES_MAX)) {
        return err_set(reterr, ERR_INVALID, "the exec plugin's token is not a bearer token");
    }
    return 0;
}

static void run_once(struct identity *id)
{
    struct plugin *p = &id->plugin;
    struct exec_credential c = {.token = NULL};
    struct err err;
    p->wanted = false;
    p->running = true;
    id->stats.plugin_run_n++;
    mutex_unlock(&id->lock);
    int rc = exec_plugin_run(id->creds->exec, EXEC_PLUGIN_TIMEOUT_MS, &p->stopping, &c, &err);
    if (rc == 0) {
        rc = check(&c, &err);
    }
    mutex_lock(&id->lock);
    p->running = false;
    if (rc == 0) {
        succeeded(id, &c);
    } else if (rc != -ERR_CANCELLED) {
        failed(id, &err);
    }
    set_pause(id);
    exec_credential_fini(&c);
}

/* ---- the thread ---- */

static void wait_ns(struct identity *id, int64_t ns)
{
    ns = ns > WAIT_MAX_S * NS_PER_S ? WAIT_MAX_S * NS_PER_S : ns < NS_PER_MS ? NS_PER_MS : ns;
    (void)condvar_wait_until(&id->plugin.wake, &id->lock, sync_in_ns(ns)); /* in time or not */
}

static int64_t until_renewal_ns(const struct identity *id)
{
    const struct plugin *p = &id->plugin;
    if (!p->answered || p->renew_wall_ms == INT64_MAX) {
        return INT64_MAX;
    }
    int64_t ms = p->renew_wall_ms - clock_wall_ms(id->clock);
    return ms <= 0 ? 0 : ms > WAIT_MAX_S * 1000 ? WAIT_MAX_S * NS_PER_S : ms * NS_PER_MS;
}

static void *plugin_main(void *ctx)
{
    struct identity *id = ctx;
    struct plugin *p = &id->plugin;
    mutex_lock(&id->lock);
    while (!atomic_load(&p->stopping)) {
        int64_t pause_ns = p->not_before_ns - clock_mono_ns(id->clock);
        int64_t renewal_ns = p->wanted ? 0 : until_renewal_ns(id);
        int64_t ns = pause_ns > renewal_ns ? pause_ns : renewal_ns;
        if (ns > 0) {
            wait_ns(id, ns);
        } else {
            run_once(id);
        }
    }
    mutex_unlock(&id->lock);
    return NULL;
}

int plugin_start(struct identity *id, struct err *reterr)
{
    struct plugin *p = &id->plugin;
    condvar_init(&p->wake, "exec plugin wake");
    p->not_before_ns = 0;
    p->wanted = true;
    int rc = thread_start(&p->thread, "kube-exec", plugin_main, id, reterr);
    p->started = rc == 0;
    return rc;
}

void plugin_stop(struct identity *id)
{
    struct plugin *p = &id->plugin;
    if (p->started) {
        atomic_store(&p->stopping, true);
        mutex_lock(&id->lock);
        condvar_signal(&p->wake);
        mutex_unlock(&id->lock);
        thread_join(&p->thread);
        p->started = false;
    }
    if (id->creds->exec != NULL) {
        condvar_destroy(&p->wake);
    }
}
