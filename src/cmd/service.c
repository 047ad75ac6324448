#include "cmd/service_internal.h"

#include "base/bug.h"
#include "base/rng.h"
#include "extender/incident_words.h"
#include "extender/notices.h"

#include <stdlib.h>

#define EVENTS_FLUSH_MS 1000
#define UNMEASURED_NAMES 20 /* in one line of the log */

/* ---- what the ledger tells ---- */

static void overcommit_changed(void *ctx, const struct ledger_overcommit *o)
{
    const struct service *s = ctx;

    notice_overcommit(s->events, o);
    if (o->begins) {
        LOG_WARNING(s->options.log, "A GPU is over-committed; it takes no new pods until that is over",
                    LOG_STR("node", o->node_name), LOG_STR("uuid", o->uuid), LOG_I64("index", o->index));
    } else {
        LOG_INFO(s->options.log, "A GPU is not over-committed any more", LOG_STR("node", o->node_name),
                 LOG_STR("uuid", o->uuid), LOG_I64("index", o->index));
    }
}

static void incident_told(void *ctx, const struct incident *in)
{
    const struct service *s = ctx;
    char sentence[INCIDENT_SENTENCE_MAX];

    notice_incident(s->events, in);
    (void)incident_sentence(in, sentence, sizeof(sentence));
    if (in->ends) {
        LOG_INFO(s->options.log, "An incident is over", LOG_CSTR("what", sentence));
    } else {
        LOG_ERROR(s->options.log, "INCIDENT", LOG_CSTR("kind", incident_kind_name(in->kind)),
                  LOG_CSTR("what", sentence), LOG_CSTR("remedy", incident_remedy(in->kind)));
    }
}

static void ledger_is_broken(struct service *s, const char *invariant)
{
    metric_inc(METRIC(s->telemetry.metrics, FGPU_INVARIANT_VIOLATIONS_TOTAL));
    store_close(s->store, "the ledger is broken");
    notice_self(s->events, EVENT_LEDGER_BROKEN, invariant);
}

/* ---- start ---- */

static int start_store(struct service *s, struct err *reterr)
{
    const struct policy *p = &s->options.config->policy;
    struct ledger_limits limits = {.overcommit_milli = p->overcommit_milli,
                                   .overcommit_mem_milli = p->overcommit_mem_milli};
    int r = rng_os_bytes(&limits.hash_key, sizeof(limits.hash_key), reterr);

    if (r != 0) {
        return r;
    }
    s->store = store_new(&limits, s->options.clock);
    s->contact = contact_new(s->options.clock, s->options.log, s->options.config->client.stale_after_ms);
    store_follow_contact(s->store, s->contact);
    s->warnings = warn_limit_new(s->options.clock);
    s->unreadable = unreadable_new();
    service_set_tenants(s, p);
    store_watch_overcommit(s->store, overcommit_changed, s);
    store_watch_incidents(s->store, incident_told, s);
    store_hold_off(s->store, clock_mono_ns(s->options.clock) + s->options.holdoff_ms * 1000000);
    return 0;
}

static int start_events(struct service *s, struct err *reterr)
{
    const struct events_options o = {.instance = s->options.instance,
                                     .self = s->options.self,
                                     .observe = telemetry_event,
                                     .observe_ctx = &s->telemetry};

    return events_new(s->client, s->options.clock, s->options.log, &o, &s->events, reterr);
}

static int start_rules(struct service *s, struct err *reterr)
{
    const struct config *c = s->options.config;
    const struct ingest facts = {
        .store = s->store,
        .policy = &c->policy,
        .log = s->options.log,
        .events = s->events,
        .signing = s->options.signing,
        .accept_unsigned_before_ms = config_accept_unsigned_before_ms(&c->signing),
        .warnings = s->warnings,
    };
    const struct rules *rules;
    int r = rules_new(&facts, c->generation, NULL, NULL, &rules, reterr);

    if (r == 0) {
        r = shadow_new(s->store, &s->shadow, reterr);
        if (r != 0) {
            rules_put(rules);
        }
    }
    if (r == 0) {
        s->book = rulebook_new(rules);
        s->vacancy = vacancy_new(s->store, s->book, s->options.clock);
        service_set_up_changeover(s);
    }
    return r;
}

static int start_binder(struct service *s, struct err *reterr)
{
    const struct kube_client_options client = {
        .clock = s->options.clock,
        .observe = telemetry_api,
        .observe_ctx = &s->telemetry,
        .log = s->options.log};
    const struct binder_options binder = service_binder_options(s->options.config);
    int r = kube_client_new(s->options.credentials, &client, &s->client, reterr);

    if (s->options.credentials->insecure_skip_tls_verify) {
        LOG_WARNING(s->options.log,
                    "INSECURE: the kubeconfig has insecure-skip-tls-verify, so fgpu trusts every server at the "
                    "address of the API server and sends it our credentials. Use certificate-authority instead",
                    LOG_CSTR("server", s->options.credentials->server));
    }
    if (r == 0) {
        telemetry_client(&s->telemetry, s->client);
        r = start_events(s, reterr);
    }
    if (r == 0) {
        r = start_rules(s, reterr);
    }
    if (r == 0) {
        r = binder_new(s->book, s->client, s->options.clock, s->options.log, &binder, &s->binder,
                       reterr);
    }
    return r;
}

static int start_access(struct service *s, struct err *reterr)
{
    if (!config_serving_ops_needs_token(&s->options.config->serving)) {
        return 0;
    }
    return access_new(s->client, s->options.clock, s->options.log, &s->access, reterr);
}

static int start_waker(struct service *s, struct err *reterr)
{
    s->waker_patch = (struct waker_patch){s->client, s->options.clock,
                                          s->options.config->client.wake_object};
    if (s->waker_patch.object.n == 0) {
        return 0;
    }
    if (waker_new(s->store, s->options.clock, s->options.log, waker_patch_send, &s->waker_patch, &s->waker,
                  reterr) != 0) {
        return -1;
    }
    waker_follows(s->waker, s->options.holdoff_ms);
    return 0;
}

/* ---- audits ---- */

/* Rights and versions of the API server change rarely, but they do. */
static void ask_for_slices_again(const struct service *s)
{
    struct slices_status status;

    slices_status(s->slices, &status);
    if (status.standing == SLICES_ABSENT || status.standing == SLICES_FORBIDDEN) {
        kube_watcher_relist(s->slices_watcher);
    }
}

static void audit_finished(void *ctx, const struct audit_report *r)
{
    struct service *s = ctx;

    telemetry_audit(&s->telemetry, r);
    ask_for_slices_again(s);
    if (r->invariant != NULL) {
        ledger_is_broken(s, r->invariant);
    }
}

static void audit_drifted(void *ctx, enum kube_resource resource)
{
    const struct service *s = ctx;

    kube_watcher_relist(s->watchers[resource]);
}

static uint64_t audit_interruptions(void *ctx, enum kube_resource resource, bool *ret_now)
{
    const struct service *s = ctx;
    struct reflector_stats stats;

    kube_watcher_stats(s->watchers[resource], &stats);
    *ret_now = !stats.watching;
    return stats.list_n + stats.list_failed_n + stats.watch_failed_n + stats.probe_n + stats.expired_n;
}

/* After the watchers, whose ledger it audits. */
static int start_audit(struct service *s, struct err *reterr)
{
    const struct config_audit *c = &s->options.config->audit;
    const struct audit_options options = {.interval_ms = c->interval_ms,
                                          .settle_ms = c->settle_ms,
                                          .finished = audit_finished,
                                          .drifted = audit_drifted,
                                          .interruptions = audit_interruptions,
                                          .ctx = s};

    return audit_new(s->book, s->client, s->options.clock, s->options.log, &options, &s->audit, reterr);
}

void service_audit(struct service *s)
{
    audit_request(s->audit, NULL, NULL);
}

static void synced(void *ctx, enum kube_resource resource)
{
    const struct service *s = ctx;
    struct snapshot totals;

    store_totals(s->store, &totals);
    LOG_INFO(s->options.log, "Read the cluster", LOG_CSTR("resource", kube_resource_name(resource)),
             LOG_I64("nodes", (int64_t)totals.node_n), LOG_I64("gpus", (int64_t)totals.device_n),
             LOG_I64("podsWithGPUs", (int64_t)totals.pod_n));
}

/* Those of an earlier version took shares there: whoever updates is told which nodes. */
static void name_unmeasured(const struct service *s)
{
    struct str names[UNMEASURED_NAMES];
    struct snapshot totals;
    struct strbuf text;
    struct arena a;
    size_t n;

    store_totals(s->store, &totals);
    if (totals.unmeasured_n == 0) {
        return;
    }
    arena_init(&a, UNMEASURED_NAMES * 1024);
    strbuf_init(&text, UNMEASURED_NAMES * 1024);
    n = store_unmeasured(s->store, &a, names, UNMEASURED_NAMES);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&text, "%s%.*s", i > 0 ? " " : "", STR_ARG(names[i]));
    }
    LOG_WARNING(s->options.log,
                "Only allocatable says that these nodes have GPUs, and it may count parts of GPUs: no shares are "
                "placed there. To say what they have, see config/README.md, Where the GPUs of a node come from",
                LOG_I64("nodes", (int64_t)totals.unmeasured_n), LOG_STR("first", strbuf_view(&text)));
    strbuf_fini(&text);
    arena_fini(&a);
}

static void listed(void *ctx, enum kube_resource resource, const struct rules *by)
{
    const struct service *s = ctx;

    if (resource == KUBE_NODES) {
        name_unmeasured(s);
    }
    changeover_listed(s->changeover, resource, by);
}

/* Before the others: the store is not ready until it is known which nodes have slices. */
static int start_slices(struct service *s, struct err *reterr)
{
    const struct kube_watcher_options options = {.clock = s->options.clock}; /* readiness does not need fresh slices */
    const struct policy *p = &s->options.config->policy;
    struct reflector_handler handler;
    struct hash_key key;
    int r = p->slice_driver_n == 0 ? 0 : rng_os_bytes(&key, sizeof(key), reterr);

    if (r != 0 || p->slice_driver_n == 0) {
        return r;
    }
    s->slices = slices_new(s->store, s->options.log, p->slice_drivers, p->slice_driver_n, key);
    handler = slices_handler(s->slices);
    return kube_watcher_start(s->client, KUBE_SLICES_V1, &handler, &options, &s->slices_watcher, reterr);
}

static int start_watchers(struct service *s, struct err *reterr)
{
    const struct kube_watcher_options options = {.clock = s->options.clock,
                                                 .stale_after_ms = s->options.config->client.stale_after_ms,
                                                 .news = contact_news,
                                                 .ctx = s->contact};
    int r = start_slices(s, reterr);

    for (size_t i = 0; i < KUBE_RESOURCE__MAX && r == 0; i++) {
        enum kube_resource resource = (enum kube_resource)i;
        struct reflector_handler handler;

        feed_init(&s->feeds[i], s->book, resource);
        s->feeds[i].unreadable = s->unreadable;
        s->feeds[i].clock = s->options.clock;
        s->feeds[i].synced = synced;
        s->feeds[i].listed = listed;
        s->feeds[i].ctx = s;
        handler = feed_handler(&s->feeds[i]);
        if (resource == KUBE_PODS || resource == KUBE_NODES) { /* what the ledger is made of */
            contact_follow(s->contact, resource);
        }
        r = kube_watcher_start(s->client, resource, &handler, &options, &s->watchers[i], reterr);
    }
    return r;
}

int service_start(const struct service_options *o, struct service **ret, struct err *reterr)
{
    struct service *s = xcalloc(1, sizeof(*s));
    int r;

    s->options = *o;
    telemetry_init(&s->telemetry, s->watchers);
    service_set_up_health(s);
    r = start_store(s, reterr);
    if (r == 0) {
        r = start_binder(s, reterr);
    }
    if (r == 0) {
        r = start_waker(s, reterr);
    }
    if (r == 0) {
        r = start_access(s, reterr);
    }
    if (r == 0) {
        r = service_start_pool_commands(s, reterr);
    }
    if (r == 0) {
        r = start_watchers(s, reterr);
    }
    if (r == 0) {
        r = service_start_verifier(s, reterr);
    }
    if (r == 0) {
        r = start_audit(s, reterr);
    }
    if (r == 0) {
        service_set_up_routes(s);
        r = service_start_http(s, reterr);
    }
    if (r == 0) {
        r = service_start_timekeeper(s, reterr);
    }
    if (r != 0) {
        service_stop(s, 0);
        return r;
    }
    for (size_t i = 0; i < SERVICE_LISTENER__MAX; i++) {
        static const char *const names[SERVICE_LISTENER__MAX] = {"verbs", "ops", "health"};

        LOG_INFO(o->log, "Listening", LOG_CSTR("listener", names[i]),
                 LOG_I64("port", httpd_server_port(s->serving.http, i)));
    }
    *ret = s;
    return 0;
}

uint16_t service_port(const struct service *s, enum service_listener l)
{
    return httpd_server_port(s->serving.http, l);
}

const char *service_check(struct service *s)
{
    const char *broken = store_check(s->store);

    if (broken != NULL) {
        ledger_is_broken(s, broken);
    }
    return broken;
}

/* The order matters: callers first (their binds may still end well), then who feeds us, then who answers. */
void service_stop(struct service *s, int64_t drain_ms)
{
    atomic_store(&s->stopping, true);
    timekeeper_stop(s->timekeeper);
    serving_stop(&s->serving, drain_ms);
    waker_stop(s->waker);
    audit_free(s->audit);
    verifier_stop(s->verifier);
    kube_watcher_stop(s->slices_watcher);
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        kube_watcher_stop(s->watchers[i]);
        if (s->feeds[i].book != NULL) {
            feed_fini(&s->feeds[i]);
        }
    }
    if (s->binder != NULL) {
        binder_stop(s->binder);
    }
    events_stop(s->events, EVENTS_FLUSH_MS);
    if (s->client != NULL) {
        kube_client_stop(s->client);
    }
    pool_commands_free(s->pool_commands);
    access_free(s->access);
    waker_free(s->waker);
    binder_free(s->binder);
    events_free(s->events);
    serving_fini(&s->serving);
    kube_client_free(s->client);
    changeover_free(s->changeover);
    shadow_free(s->shadow);
    vacancy_free(s->vacancy);
    slices_free(s->slices);
    rulebook_free(s->book);
    config_slot_free(s->slot);
    store_free(s->store);
    contact_free(s->contact);
    warn_limit_free(s->warnings);
    unreadable_free(s->unreadable);
    telemetry_fini(&s->telemetry);
    free(s);
}
