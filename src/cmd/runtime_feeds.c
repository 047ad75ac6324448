#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "base/rng.h"
#include "extender/contact.h"
#include "extender/feed.h"
#include "extender/slices.h"
#include "kube/watcher.h"

#include <stdlib.h>

#define UNMEASURED_NAMES 20 /* in one line of the log */

static void synced(void *ctx, enum kube_resource resource)
{
    const struct runtime *s = ctx;
    struct snapshot totals;

    store_totals(s->store, &totals);
    LOG_INFO(s->options.log, "Read the cluster", LOG_CSTR("resource", kube_resource_name(resource)),
             LOG_I64("nodes", (int64_t)totals.node_n), LOG_I64("gpus", (int64_t)totals.device_n),
             LOG_I64("podsWithGPUs", (int64_t)totals.pod_n));
}

/* Those of an earlier version took shares there: whoever updates is told which nodes. */
static void name_unmeasured(const struct runtime *s)
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

static void begun(void *ctx, enum kube_resource resource)
{
    if (resource == KUBE_PODS) {
        runtime_run_begun(ctx);
    }
}

static void listed(void *ctx, enum kube_resource resource, const struct rules *by)
{
    struct runtime *s = ctx;

    if (resource == KUBE_NODES) {
        name_unmeasured(s);
    }
    if (resource == KUBE_PODS) {
        runtime_run_listed(s, s->feeds[KUBE_PODS].traces);
    }
    config_apply_listed(s->config_apply, resource, by);
}

/* Before the others: the store is not ready until it is known which nodes have slices. */
static int start_slices(struct runtime *s, struct err *reterr)
{
    const struct kube_watcher_options options = {.clock = s->options.clock}; /* readiness does not need fresh slices */
    const struct policy *p = &s->options.config->policy;
    struct reflector_handler handler;
    struct hash_key key;
    int rc = p->slice_driver_n == 0 ? 0 : rng_os_bytes(&key, sizeof(key), reterr);

    if (rc != 0 || p->slice_driver_n == 0) {
        return rc;
    }
    s->slices = slices_new(s->store, s->options.log, p->slice_drivers, p->slice_driver_n, key);
    handler = slices_handler(s->slices);
    return kube_watcher_start(s->client, KUBE_SLICES_V1, &handler, &options, &s->slices_watcher, reterr);
}

int runtime_start_feeds(struct runtime *s, struct err *reterr)
{
    struct kube_watcher_options options = {.clock = s->options.clock,
                                           .stale_after_ms = s->options.config->client.stale_after_ms,
                                           .news = contact_news,
                                           .ctx = s->contact};
    int rc = start_slices(s, reterr);

    s->feeds = xcalloc(KUBE_RESOURCE__MAX, sizeof(*s->feeds));
    for (size_t i = 0; i < KUBE_RESOURCE__MAX && rc == 0; i++) {
        enum kube_resource resource = (enum kube_resource)i;
        struct reflector_handler handler;

        feed_init(&s->feeds[i], s->policies, resource);
        s->feeds[i].unreadable = s->unreadable;
        s->feeds[i].clock = s->options.clock;
        s->feeds[i].synced = synced;
        s->feeds[i].begun = begun;
        s->feeds[i].listed = listed;
        s->feeds[i].ctx = s;
        handler = feed_handler(&s->feeds[i]);
        if (resource == KUBE_PODS || resource == KUBE_NODES) { /* what the ledger is made of */
            contact_follow(s->contact, resource);
        }
        options.held = resource == KUBE_PODS && runtime_run_is_asked(s) && s->election == NULL;
        rc = kube_watcher_start(s->client, resource, &handler, &options, &s->watchers[i], reterr);
    }
    return rc;
}

void runtime_stop_feeds(struct runtime *s)
{
    kube_watcher_stop(s->slices_watcher);
    for (size_t i = 0; s->feeds != NULL && i < KUBE_RESOURCE__MAX; i++) {
        kube_watcher_stop(s->watchers[i]);
        if (s->feeds[i].policies != NULL) {
            feed_fini(&s->feeds[i]);
        }
    }
}

void runtime_free_feeds(struct runtime *s)
{
    slices_free(s->slices);
    free(s->feeds);
}
