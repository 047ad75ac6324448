#include "demo/apiserver/apiserver_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_MINOR 36
#define TICK_MS 50 /* how exactly bookmarks, watch ends and delays keep their time */

static void on_change(void *ctx)
{
    struct apiserver *a = ctx;
    streams_wake(&a->streams);
}

/* Takes what is due off the list; with `all`, everything. */
static struct late *take_due(struct apiserver *a, int64_t now_ns, bool all)
{
    struct late *due = NULL, **at = &a->late;
    while (*at) {
        struct late *l = *at;
        if (all || l->due_ns <= now_ns) {
            *at = l->next;
            l->next = due;
            due = l;
        } else {
            at = &l->next;
        }
    }
    return due;
}

static int64_t next_wait_ms(const struct apiserver *a, int64_t now_ns)
{
    int64_t wait = TICK_MS;
    for (const struct late *l = a->late; l; l = l->next) {
        int64_t ms = (l->due_ns - now_ns) / NS_PER_MS + 1;
        wait = ms < wait ? ms : wait;
    }
    return wait > 0 ? wait : 1;
}

static void *tick(void *ctx)
{
    struct apiserver *a = ctx;
    bool stopping = false;
    while (!stopping) {
        int64_t now_ns = clock_mono_ns(a->api.clock);
        mutex_lock(&a->late_lock);
        stopping = a->stopping;
        struct late *due = take_due(a, now_ns, stopping);
        if (!due && !stopping) {
            (void)condvar_wait_until(&a->late_cond, &a->late_lock, sync_in_ns(next_wait_ms(a, now_ns) * NS_PER_MS));
        }
        mutex_unlock(&a->late_lock);
        while (due) {
            struct late *next = due->next; /* resuming frees it */
            apiserver_serve_late(a, due);
            due = next;
        }
        streams_tick(&a->streams);
    }
    return NULL;
}

static int listen_on(struct apiserver *a, uint16_t port, struct err *reterr)
{
    char address[32];
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    a->route = (struct httpd_route){.path = "/", .handle = apiserver_handle, .ctx = a, .flags = HTTPD_ROUTE_PREFIX};
    struct httpd_listener_config listener = {
        .name = "apiserver",
        .address = address,
        .routes = &a->route,
        .route_n = 1,
        .thread_n = 2,
    };
    struct httpd_config config = {.listeners = &listener, .listener_n = 1};
    int rc = httpd_server_new(&config, &a->http, reterr);
    if (rc == 0) {
        a->port = httpd_server_port(a->http, 0);
        snprintf(a->url, sizeof(a->url), "http://127.0.0.1:%u", a->port);
        rc = httpd_server_start(a->http, reterr);
    }
    return rc ? err_wrap(reterr, rc, "simulated API server") : 0;
}

int apiserver_start(const struct apiserver_options *options, struct apiserver **ret, struct err *reterr)
{
    struct apiserver_options o = options ? *options : (struct apiserver_options){0};
    struct apiserver *a = xcalloc(1, sizeof(*a));
    a->api.clock = o.clock ? o.clock : clock_system();
    a->api.bookmark_interval_ns = (o.bookmark_interval_ms > 0 ? o.bookmark_interval_ms : 60000) * NS_PER_MS;
    atomic_init(&a->api.watch_list, o.watch_list);
    atomic_init(&a->api.minor, VERSION_MINOR);
    a->api.store = objects_new(o.history_max ? o.history_max : 8192, on_change, a);
    rng_init(&a->api.rng, o.seed);
    faults_init(&a->faults);
    reviews_init(&a->api.reviews);
    a->api.faults = &a->faults;
    streams_init(&a->streams, a->api.clock);
    mutex_init(&a->late_lock, "demo late");
    condvar_init(&a->late_cond, "demo late changed");

    int rc = listen_on(a, o.port, reterr);
    if (rc == 0) {
        rc = thread_start(&a->ticker, "demo-ticker", tick, a, reterr);
    }
    if (rc) {
        apiserver_free(a);
        return rc;
    }
    a->ticking = true;
    *ret = a;
    return 0;
}

void apiserver_free(struct apiserver *a)
{
    if (!a) {
        return;
    }
    if (a->ticking) {
        mutex_lock(&a->late_lock);
        a->stopping = true;
        condvar_signal(&a->late_cond);
        mutex_unlock(&a->late_lock);
        thread_join(&a->ticker);
    }
    httpd_server_free(a->http);
    streams_fini(&a->streams);
    faults_fini(&a->faults);
    reviews_fini(&a->api.reviews);
    api_drop_held(&a->api);
    objects_free(a->api.store);
    condvar_destroy(&a->late_cond);
    mutex_destroy(&a->late_lock);
    free(a);
}

const char *apiserver_url(const struct apiserver *a)
{
    return a->url;
}

uint64_t apiserver_rv(struct apiserver *a)
{
    return objects_rv(a->api.store);
}

void apiserver_stats(struct apiserver *a, struct apiserver_stats *ret)
{
    *ret = (struct apiserver_stats){
        .requests = atomic_load(&a->requests),
        .binds = atomic_load(&a->api.binds),
        .bind_conflicts = atomic_load(&a->api.bind_conflicts),
        .watches = streams_count(&a->streams),
    };
    mutex_lock(&a->late_lock);
    for (const struct late *l = a->late; l; l = l->next) {
        ret->delayed++;
    }
    mutex_unlock(&a->late_lock);
}

int apiserver_fault_add(struct apiserver *a, const struct fault_rule *rule, struct err *reterr)
{
    return faults_add(&a->faults, rule, reterr);
}

void apiserver_faults_clear(struct apiserver *a)
{
    faults_clear(&a->faults);
    mutex_lock(&a->late_lock);
    atomic_fetch_add(&a->clears, 1);
    for (struct late *l = a->late; l; l = l->next) {
        l->due_ns = 0;
    }
    condvar_signal(&a->late_cond);
    mutex_unlock(&a->late_lock);
}

void apiserver_drop_watches(struct apiserver *a)
{
    streams_cut(&a->streams);
}

void apiserver_set_watch_list(struct apiserver *a, enum apiserver_watch_list mode)
{
    atomic_store(&a->api.watch_list, mode);
}

uint32_t apiserver_commit(struct apiserver *a)
{
    return api_commit_held(&a->api);
}

uint32_t apiserver_held(struct apiserver *a)
{
    uint32_t held;
    uint64_t landed;
    api_count_held(&a->api, &held, &landed);
    return held;
}

void apiserver_set_minor(struct apiserver *a, int32_t minor)
{
    atomic_store(&a->api.minor, minor);
}

void apiserver_compact(struct apiserver *a)
{
    objects_compact(a->api.store);
}
