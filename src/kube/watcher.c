#include "kube/watcher.h"

#include "contact_check_internal.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdlib.h>

struct kube_watcher {
    const struct clock *clock;
    struct kube_client *client;
    struct reflector *reflector;
    struct kube_stream *stream;
    struct contact_check *check;
    struct kube_watcher_options options;
    enum kube_resource resource;
    struct reflector_handler handler;
    struct rng rng;
    struct thread thread;

    struct mutex lock; /* of the rest */
    struct condvar changed;
    bool stopping;
    bool relist;
    uint64_t relist_n, relist_taken_n; /* ordered; passed on */
    bool held;
    struct reflector_stats stats;
};

static void publish(struct kube_watcher *w)
{
    mutex_lock(&w->lock);
    w->stats = *reflector_stats(w->reflector);
    mutex_unlock(&w->lock);
    if (w->options.news != NULL) {
        w->options.news(w->options.ctx, w->resource, reflector_stats(w->reflector));
    }
}

static int on_bytes(void *ctx, struct str bytes, struct err *reterr)
{
    struct kube_watcher *w = ctx;
    int64_t now_ns = clock_mono_ns(w->clock);
    int rc = reflector_feed(w->reflector, now_ns, bytes, reterr);
    if (rc == 0) {
        kube_stream_silence(w->stream, reflector_silence_ms(w->reflector));
    }
    publish(w); /* per chunk, not per event: a kilobyte under a lock nobody else holds for long */
    return rc;
}

/* Negative: the check says that the watch is dead. */
static int take_check(struct kube_watcher *w)
{
    struct kube_outcome outcome;
    if (!contact_check_take(w->check, &outcome)) {
        return 0;
    }
    int rc = reflector_checked(w->reflector, clock_mono_ns(w->clock), &outcome, NULL);
    publish(w);
    return rc;
}

static int64_t on_tick(void *ctx, int http_status)
{
    struct kube_watcher *w = ctx;
    if (http_status == 200) {
        reflector_opened(w->reflector);
    }
    int64_t now_ns = clock_mono_ns(w->clock);
    if (reflector_check_due_ns(w->reflector) <= now_ns) {
        contact_check_begin(w->check, reflector_begin_check(w->reflector, now_ns), reflector_check_ms(w->reflector),
                            kube_resource_name(w->resource));
    }
    if (take_check(w) < 0) {
        return -1;
    }
    int64_t due_ns = reflector_check_due_ns(w->reflector);
    return due_ns == INT64_MAX ? INT64_MAX : (due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
}

static void wait_ns(struct kube_watcher *w, int64_t ns)
{
    int64_t until_ns = sync_in_ns(ns);
    bool in_time = true;
    mutex_lock(&w->lock);
    while (!w->stopping && !w->relist && in_time) {
        in_time = condvar_wait_until(&w->changed, &w->lock, until_ns);
    }
    mutex_unlock(&w->lock);
}

static void wait_for_release(struct kube_watcher *w)
{
    mutex_lock(&w->lock);
    while (w->held && !w->stopping) {
        condvar_wait(&w->changed, &w->lock);
    }
    mutex_unlock(&w->lock);
}

static void begin_reflector(struct kube_watcher *w)
{
    w->reflector = reflector_new(w->resource, &w->handler, &w->rng);
    reflector_set_stale_after(w->reflector, w->options.stale_after_ms * NS_PER_MS);
    w->check = contact_check_new(w->client, w->stream);
}

/* A resource that may not be there: is this how one is told? Then the next step is made here. */
static bool take_refusal(struct kube_watcher *w, const struct kube_outcome *o)
{
    bool absent = o->kind == KUBE_ANSWERED && o->http_status == 404;
    bool forbidden = o->kind == KUBE_ANSWERED && o->http_status == 403;

    if (w->resource < KUBE_SLICES_V1 || (!absent && !forbidden)) {
        return false;
    }
    if (absent && w->resource + 1 < KUBE_WATCHED__MAX) {
        w->resource++;
    } else {
        if (w->handler.refused != NULL) {
            w->handler.refused(w->handler.ctx, o->http_status);
        }
        w->resource = absent ? KUBE_SLICES_V1 : w->resource;
        wait_ns(w, (int64_t)(absent ? KUBE_WATCHER_ABSENT_MS : KUBE_WATCHER_FORBIDDEN_MS) * NS_PER_MS);
    }
    reflector_free(w->reflector);
    contact_check_free(
        w->check); /* one that is under way is of the old reflector, and the new one must not hear of it */
    begin_reflector(w);
    return true;
}

/* Passes what other threads want on to the reflector; returns whether to go on. */
static bool take_orders(struct kube_watcher *w)
{
    mutex_lock(&w->lock);
    bool stopping = w->stopping;
    if (w->relist) {
        w->relist = false;
        w->relist_taken_n = w->relist_n;
        reflector_relist(w->reflector);
    }
    mutex_unlock(&w->lock);
    return !stopping;
}

static void *watcher_main(void *ctx)
{
    struct kube_watcher *w = ctx;
    wait_for_release(w);
    while (take_orders(w)) {
        struct reflector_step step;
        (void)take_check(w); /* of a watch that is over */
        int64_t now_ns = clock_mono_ns(w->clock);
        reflector_next(w->reflector, now_ns, &step);
        if (step.action == REFLECTOR_WAIT) {
            wait_ns(w, step.wait_until_ns - now_ns);
            continue;
        }
        const struct kube_stream_request request = {
            .path = step.path,
            .gzip = step.action == REFLECTOR_LIST,
            .silence_ms = step.silence_ms,
            .tick = on_tick,
            .verb = step.action == REFLECTOR_LIST ? "list" : "watch",
            .resource = kube_resource_name(w->resource),
        };
        struct kube_outcome outcome;
        publish(w);
        kube_stream_run(w->stream, &request, on_bytes, w, &outcome);
        if (take_refusal(w, &outcome)) {
            continue;
        }
        now_ns = clock_mono_ns(w->clock);
        reflector_done(w->reflector, now_ns, &outcome);
        publish(w);
    }
    return NULL;
}

static void watcher_free(struct kube_watcher *w)
{
    reflector_free(w->reflector);
    contact_check_free(w->check);
    kube_stream_free(w->stream);
    condvar_destroy(&w->changed);
    mutex_destroy(&w->lock);
    free(w);
}

static struct kube_watcher *watcher_new(struct kube_client *client, enum kube_resource resource,
                                        const struct reflector_handler *handler,
                                        const struct kube_watcher_options *options)
{
    struct kube_watcher *w = xcalloc(1, sizeof(*w));
    w->client = client;
    w->resource = resource;
    w->handler = *handler;
    w->options = options != NULL ? *options : (struct kube_watcher_options){0};
    w->held = w->options.held;
    w->clock = w->options.clock != NULL ? w->options.clock : clock_system();
    mutex_init(&w->lock, "watcher");
    condvar_init(&w->changed, "watcher changed");
    return w;
}

int kube_watcher_start(struct kube_client *client, enum kube_resource resource, const struct reflector_handler *handler,
                       const struct kube_watcher_options *options, struct kube_watcher **ret, struct err *reterr)
{
    struct kube_watcher *w = watcher_new(client, resource, handler, options);
    uint64_t seed;
    int rc = rng_os_bytes(&seed, sizeof(seed), reterr);
    if (rc == 0) {
        rng_init(&w->rng, seed);
        rc = kube_stream_new(client, &w->stream, reterr);
    }
    if (rc == 0) {
        begin_reflector(w);
        rc = thread_start(&w->thread,
                          resource == KUBE_PODS    ? "kube-pods"
                          : resource == KUBE_NODES ? "kube-nodes"
                                                   : "kube-slices",
                          watcher_main, w, reterr);
    }
    if (rc != 0) {
        watcher_free(w);
        return rc;
    }
    *ret = w;
    return 0;
}

static void order(struct kube_watcher *w, bool *what)
{
    mutex_lock(&w->lock);
    *what = true;
    condvar_signal(&w->changed);
    mutex_unlock(&w->lock);
    kube_stream_interrupt(w->stream);
}

void kube_watcher_stop(struct kube_watcher *w)
{
    if (w != NULL) {
        order(w, &w->stopping);
        thread_join(&w->thread);
        watcher_free(w);
    }
}

void kube_watcher_release(struct kube_watcher *w)
{
    mutex_lock(&w->lock);
    w->held = false;
    condvar_signal(&w->changed);
    mutex_unlock(&w->lock);
}

uint64_t kube_watcher_relist(struct kube_watcher *w)
{
    uint64_t n;

    mutex_lock(&w->lock);
    n = ++w->relist_n;
    mutex_unlock(&w->lock);
    order(w, &w->relist);
    return n;
}

uint64_t kube_watcher_relists_taken(struct kube_watcher *w)
{
    uint64_t n;

    mutex_lock(&w->lock);
    n = w->relist_taken_n;
    mutex_unlock(&w->lock);
    return n;
}

void kube_watcher_stats(struct kube_watcher *w, struct reflector_stats *ret)
{
    mutex_lock(&w->lock);
    *ret = w->stats;
    mutex_unlock(&w->lock);
}
