/* kube/reflector.c - what comes next: list, watch or wait. */
#include "reflector_internal.h"

#include "base/bug.h"
#include "kube/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS INT64_C(1000000)
#define WATCH_SHORT_NS (1000 * NS_PER_MS)

enum {
    WATCH_TIMEOUT_MIN_S = 300,
    WATCH_TIMEOUT_MAX_S = 600,
    WATCH_SILENCE_MS = 120 * 1000,
    LIST_SILENCE_MS = 60 * 1000,
    CONTINUE_MAX_BYTES = 32 * 1024,
    PATH_MAX_BYTES = 128 * 1024, /* the continue token may grow threefold by escaping */
    PAGE_FAILURES_MAX = 5,
};

static const struct {
    const char *name;
    const char *path;
    const char *selector; /* already escaped; "" selects all */
} resources[KUBE_RESOURCE__MAX] = {
    [KUBE_PODS] = {"pods", "/api/v1/pods",
                   "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"},
    [KUBE_NODES] = {"nodes", "/api/v1/nodes", ""},
};

const char *kube_resource_name(enum kube_resource resource)
{
    return resources[resource].name;
}

struct reflector *reflector_new(enum kube_resource resource,
                                const struct reflector_handler *handler, struct rng *rng)
{
    struct reflector *r = xcalloc(1, sizeof(*r));
    r->resource = resource;
    r->handler = *handler;
    r->rng = rng;
    r->need_list = true;
    r->not_before_ns = INT64_MIN;
    backoff_init(&r->backoff);
    strbuf_init(&r->path, PATH_MAX_BYTES);
    strbuf_init(&r->continue_, CONTINUE_MAX_BYTES);
    arena_init(&r->arena, REFLECTOR_OBJECT_BYTES_MAX);
    r->list = list_decoder_new(reflector_list_item, r);
    struct watch_sink sink = reflector_watch_sink(r);
    watch_decoder_init(&r->watch, &r->reader, &r->arena, &sink);
    return r;
}

void reflector_free(struct reflector *r)
{
    if (r != NULL) {
        watch_decoder_fini(&r->watch);
        list_decoder_free(r->list);
        arena_fini(&r->arena);
        strbuf_fini(&r->continue_);
        strbuf_fini(&r->path);
        free(r);
    }
}

const struct reflector_stats *reflector_stats(const struct reflector *r)
{
    return &r->stats;
}

void reflector_relist(struct reflector *r)
{
    r->relist_asked = true;
}

/* ---- what comes next ---- */

static void begin_list(struct reflector *r, struct reflector_step *ret)
{
    if (!r->bracket_open) {
        r->bracket_open = true;
        r->relist_asked = false;
        r->page_failure_n = 0;
        r->list_version[0] = '\0';
        strbuf_reset(&r->continue_);
        if (r->handler.list_begin != NULL) {
            r->handler.list_begin(r->handler.ctx);
        }
    }
    list_decoder_reset(r->list);
    strbuf_addf(&r->path, "%s?limit=%d%s", resources[r->resource].path, REFLECTOR_PAGE,
                resources[r->resource].selector);
    if (r->continue_.n > 0) {
        strbuf_add_cstr(&r->path, "&continue=");
        kube_url_escape(&r->path, strbuf_view(&r->continue_));
    }
    r->busy = BUSY_LISTING;
    ret->action = REFLECTOR_LIST;
    ret->silence_ms = LIST_SILENCE_MS;
}

static void begin_watch(struct reflector *r, struct reflector_step *ret)
{
    uint64_t spread_s = WATCH_TIMEOUT_MAX_S - WATCH_TIMEOUT_MIN_S + 1;
    watch_decoder_reset(&r->watch);
    strbuf_addf(&r->path,
                "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%" PRIu64
                "%s&resourceVersion=",
                resources[r->resource].path, WATCH_TIMEOUT_MIN_S + rng_below(r->rng, spread_s),
                resources[r->resource].selector);
    kube_url_escape(&r->path, str_of(r->stats.resource_version));
    r->busy = BUSY_WATCHING;
    r->stats.watch_n++;
    ret->action = REFLECTOR_WATCH;
    ret->silence_ms = WATCH_SILENCE_MS;
}

void reflector_next(struct reflector *r, int64_t now_ns, struct reflector_step *ret)
{
    BUG_ON(r->busy != BUSY_NOT);
    *ret = (struct reflector_step){.action = REFLECTOR_WAIT};
    if (now_ns < r->not_before_ns) {
        ret->wait_until_ns = r->not_before_ns;
        return;
    }
    r->begun_ns = now_ns;
    r->refused.code = ERR_OK;
    strbuf_reset(&r->path);
    if (r->need_list || r->relist_asked) {
        r->need_list = true;
        begin_list(r, ret);
    } else {
        begin_watch(r, ret);
    }
    BUG_ON(r->path.overflowed);
    ret->path = r->path.p;
}

/* ---- how it ended ---- */

static void wait_after_failure(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    int64_t delay_ms = backoff_next_ms(&r->backoff, now_ns, r->rng);
    if (o->retry_after_ms > delay_ms) {
        delay_ms = o->retry_after_ms;
    }
    r->not_before_ns = now_ns + delay_ms * NS_PER_MS;
}

static void note_error(struct reflector *r, const struct kube_outcome *o)
{
    char *text = r->stats.last_error;
    if (r->refused.code != ERR_OK) {
        snprintf(text, ERR_MSG_MAX, "%s", r->refused.msg);
    } else if (o->kind == KUBE_ANSWERED) {
        snprintf(text, ERR_MSG_MAX, "HTTP status %d %s", o->http_status, o->detail);
    } else {
        snprintf(text, ERR_MSG_MAX, "%s: %s", kube_outcome_name(o->kind), o->detail);
    }
}

/* Forgets the list in progress, if any, and lists again. */
static void start_over(struct reflector *r)
{
    r->need_list = true;
    if (r->bracket_open) {
        r->bracket_open = false;
        if (r->handler.list_end != NULL) {
            r->handler.list_end(r->handler.ctx, false, STR_NULL);
        }
    }
}

static void expired(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    r->stats.expired_n++;
    start_over(r);
    if (r->relisted_at_once) {
        wait_after_failure(r, now_ns, o);
    }
    r->relisted_at_once = true;
}

/* A 410 as HTTP status, or as ERROR event inside a watch. */
static bool is_expired(const struct reflector *r, const struct kube_outcome *o)
{
    return (o->kind == KUBE_ANSWERED && o->http_status == 410) || r->refused.code == ERR_EXPIRED;
}

static bool is_passing(const struct kube_outcome *o)
{
    switch (o->kind) {
    case KUBE_ANSWERED:
        return o->http_status == 401 || o->http_status == 429 || o->http_status >= 500;
    case KUBE_NOT_SENT:
    case KUBE_LOST:
    case KUBE_TIMED_OUT:
    case KUBE_SILENT:
        return true;
    case KUBE_ABORTED:
    case KUBE_TOO_LARGE:
    case KUBE_CANCELLED:
    case KUBE_OUTCOME_KIND__MAX:
        break;
    }
    return false;
}

static void list_complete(struct reflector *r, int64_t now_ns)
{
    bool first = !r->stats.synced;
    memcpy(r->stats.resource_version, r->list_version, RV_MAX);
    r->stats.list_n++;
    r->stats.synced = true;
    r->stats.last_heard_ns = now_ns;
    r->stats.last_error[0] = '\0';
    r->bracket_open = false;
    r->need_list = false;
    if (r->handler.list_end != NULL) {
        r->handler.list_end(r->handler.ctx, true, str_of(r->stats.resource_version));
    }
    if (first && r->handler.synced != NULL) {
        r->handler.synced(r->handler.ctx);
    }
}

/* The page is complete: 0, or why it is not acceptable. */
static int page_complete(struct reflector *r, struct list_meta *meta, struct err *reterr)
{
    arena_reset(&r->arena);
    int rc = list_decoder_end(r->list, &r->reader, &r->arena, meta, reterr);
    if (rc != 0) {
        return rc;
    }
    if (meta->resource_version.n >= RV_MAX || meta->continue_.n > CONTINUE_MAX_BYTES) {
        return err_set(reterr, ERR_LIMIT, "resourceVersion or continue token too long");
    }
    if (r->list_version[0] == '\0') {
        memcpy(r->list_version, meta->resource_version.p, meta->resource_version.n);
        r->list_version[meta->resource_version.n] = '\0';
    }
    return 0;
}

static void list_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    struct list_meta meta;
    if (o->kind == KUBE_ANSWERED && o->http_status == 200 && r->refused.code == ERR_OK &&
        page_complete(r, &meta, &r->refused) == 0) {
        r->page_failure_n = 0;
        strbuf_reset(&r->continue_);
        strbuf_add_str(&r->continue_, meta.continue_);
        if (meta.continue_.n == 0) {
            list_complete(r, now_ns);
        }
        return;
    }
    r->stats.list_failed_n++;
    note_error(r, o);
    if (is_expired(r, o)) {
        expired(r, now_ns, o);
        return;
    }
    if (!is_passing(o) || ++r->page_failure_n >= PAGE_FAILURES_MAX) {
        start_over(r);
    }
    wait_after_failure(r, now_ns, o);
}

enum watch_next { WATCH_ON, WATCH_ON_LATER, LIST_LATER };

static enum watch_next after_watch(struct reflector *r, bool futile, const struct kube_outcome *o)
{
    switch (o->kind) {
    case KUBE_ANSWERED:
        if (o->http_status != 200) {
            return o->http_status == 401 || o->http_status == 429 ? WATCH_ON_LATER : LIST_LATER;
        }
        if (watch_decoder_end(&r->watch, &r->refused) != 0) {
            return LIST_LATER;
        }
        if (futile) {
            err_set(&r->refused, ERR_UNAVAILABLE, "the watch ended at once, without an event");
            return LIST_LATER;
        }
        return WATCH_ON;
    case KUBE_NOT_SENT:
        return WATCH_ON_LATER;
    case KUBE_LOST:
    case KUBE_TIMED_OUT:
        return futile ? WATCH_ON_LATER : WATCH_ON;
    case KUBE_SILENT:
        return WATCH_ON;
    case KUBE_ABORTED:
        return r->status.code == 429 ? WATCH_ON_LATER : LIST_LATER;
    case KUBE_TOO_LARGE:
        return LIST_LATER;
    case KUBE_CANCELLED:
    case KUBE_OUTCOME_KIND__MAX:
        break;
    }
    BUG("not an end of a watch");
}

static void watch_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *o)
{
    bool futile = now_ns - r->begun_ns < WATCH_SHORT_NS && r->watch.event_n == 0;
    if (is_expired(r, o)) {
        r->stats.watch_failed_n++;
        note_error(r, o);
        expired(r, now_ns, o);
        return;
    }
    enum watch_next next = after_watch(r, futile, o);
    if (next != WATCH_ON) {
        r->stats.watch_failed_n++;
        note_error(r, o);
        wait_after_failure(r, now_ns, o);
        r->need_list = next == LIST_LATER;
        return;
    }
    r->relisted_at_once = false;
    if (o->kind == KUBE_ANSWERED) {
        r->stats.last_error[0] = '\0';
    } else {
        note_error(r, o);
    }
}

void reflector_done(struct reflector *r, int64_t now_ns, const struct kube_outcome *outcome)
{
    enum reflector_busy was = r->busy;
    BUG_ON(was == BUSY_NOT);
    r->busy = BUSY_NOT;
    if (outcome->kind == KUBE_CANCELLED) {
        return;
    }
    if (was == BUSY_LISTING) {
        list_done(r, now_ns, outcome);
    } else {
        watch_done(r, now_ns, outcome);
    }
    r->status = (struct kube_status){.code = 0};
}
