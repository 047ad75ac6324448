/* kube/reflector.c - what comes next: list, watch or wait. */
#include "objects_internal.h"
#include "reflector_internal.h"

#include "base/bug.h"
#include "kube/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WATCH_TIMEOUT_MIN_S = 300,
    WATCH_TIMEOUT_MAX_S = 600,
    WATCH_SILENCE_MS = 120 * 1000, /* bookmarks come once a minute */
    PROBE_SILENCE_MS = 30 * 1000,
    LIST_SILENCE_MS = 60 * 1000,
    FILL_SILENCE_MS = 30 * 1000, /* the server waits for its cache at most a few seconds */
    PATH_MAX_BYTES = 128 * 1024, /* the continue token may grow threefold by escaping */
};

struct reflector *reflector_new(enum kube_resource resource, const struct reflector_handler *handler, struct rng *rng)
{
    struct reflector *r = xcalloc(1, sizeof(*r));
    r->resource = resource;
    r->handler = *handler;
    r->rng = rng;
    r->need_list = true;
    r->not_before_ns = INT64_MIN;
    backoff_init(&r->backoff);
    strbuf_init(&r->path, PATH_MAX_BYTES);
    strbuf_init(&r->continue_, REFLECTOR_CONTINUE_MAX);
    arena_init(&r->arena, KUBE_OBJECT_ARENA_MAX);
    const struct kube_field *fields = resource == KUBE_PODS    ? kube_pod_fields
                                      : resource == KUBE_NODES ? kube_node_fields
                                                               : kube_slice_fields;
    r->list = list_decoder_new(fields, reflector_list_item, r);
    struct watch_sink sink = reflector_watch_sink(r);
    watch_decoder_init(&r->watch, &r->reader, &r->arena, fields, &sink);
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
        free(r->one);
        free(r);
    }
}

int reflector_new_one(enum kube_resource resource, struct str namespace_, struct str name,
                      const struct reflector_handler *handler, struct rng *rng, struct reflector **ret,
                      struct err *reterr)
{
    if (!kube_name_is_subdomain(name) || (resource == KUBE_PODS && !kube_name_is_label(namespace_))) {
        return err_set(reterr, ERR_INVALID, "not the name of one of the %s: %.*s", kube_watched[resource].name,
                       STR_ARG(name));
    }
    struct strbuf b;
    strbuf_init(&b, PATH_MAX_BYTES);
    if (resource == KUBE_PODS) {
        strbuf_addf(&b, "/api/v1/namespaces/%.*s/pods", STR_ARG(namespace_));
    } else {
        strbuf_add_cstr(&b, kube_watched[resource].path);
    }
    strbuf_addf(&b, "?fieldSelector=metadata.name%%3D%.*s", STR_ARG(name));
    BUG_ON(b.overflowed);
    struct reflector *r = reflector_new(resource, handler, rng);
    r->one = xcalloc(1, b.n + 1);
    memcpy(r->one, b.p, b.n);
    strbuf_fini(&b);
    reflector_list_in_pages(r);
    *ret = r;
    return 0;
}

void reflector_list_in_pages(struct reflector *r)
{
    r->watch_list_off = true;
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

static void begin_bracket(struct reflector *r)
{
    if (r->bracket_open) {
        return;
    }
    r->bracket_open = true;
    r->relist_asked = false;
    r->page_failure_n = 0;
    r->list_version[0] = '\0';
    strbuf_reset(&r->continue_);
    if (r->handler.list_begin != NULL) {
        r->handler.list_begin(r->handler.ctx);
    }
}

static void begin_page(struct reflector *r)
{
    begin_bracket(r);
    list_decoder_reset(r->list);
    if (r->one != NULL) {
        strbuf_add_cstr(&r->path, r->one);
    } else {
        strbuf_addf(&r->path, "%s?limit=%d%s", kube_watched[r->resource].path, REFLECTOR_PAGE,
                    kube_watched[r->resource].selector);
    }
    if (r->continue_.n > 0) {
        strbuf_add_cstr(&r->path, "&continue=");
        kube_url_escape(&r->path, strbuf_view(&r->continue_));
    }
    r->busy = BUSY_LISTING;
}

static void begin_stream(struct reflector *r, const char *how)
{
    uint64_t spread_s = WATCH_TIMEOUT_MAX_S - WATCH_TIMEOUT_MIN_S + 1;
    watch_decoder_reset(&r->watch);
    strbuf_addf(&r->path, "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%" PRIu64 "%s%s",
                kube_watched[r->resource].path, WATCH_TIMEOUT_MIN_S + rng_below(r->rng, spread_s),
                kube_watched[r->resource].selector, how);
}

static void begin_fill(struct reflector *r)
{
    begin_bracket(r);
    begin_stream(r, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    r->busy = BUSY_FILLING;
}

static void begin_watch(struct reflector *r)
{
    begin_stream(r, "&resourceVersion=");
    kube_url_escape(&r->path, str_of(r->stats.resource_version));
    r->busy = BUSY_WATCHING;
    r->stats.watching = true;
    r->stats.watch_n++;
}

static void begin_probe(struct reflector *r)
{
    strbuf_addf(&r->path,
                "%s?limit=1%s&resourceVersionMatch=NotOlderThan&resourceVersion=", kube_watched[r->resource].path,
                kube_watched[r->resource].selector);
    kube_url_escape(&r->path, str_of(r->stats.resource_version));
    r->busy = BUSY_PROBING;
    r->stats.probe_n++;
}

static void begin_list(struct reflector *r)
{
    if (r->need_list || r->relist_asked) {
        r->need_list = true;
        if (r->watch_list_off || r->pages_next) {
            begin_page(r);
        } else {
            begin_fill(r);
        }
    } else if (r->need_probe) {
        begin_probe(r);
    } else {
        begin_watch(r);
    }
}

uint32_t reflector_silence_ms(const struct reflector *r)
{
    switch (r->busy) {
    case BUSY_LISTING:
        return LIST_SILENCE_MS;
    case BUSY_FILLING:
        return FILL_SILENCE_MS;
    case BUSY_WATCHING:
        return WATCH_SILENCE_MS;
    case BUSY_PROBING:
        return PROBE_SILENCE_MS;
    case BUSY_NOT:
        break;
    }
    BUG("no exchange is in progress");
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
    r->watch_open = r->check_failed = r->replace = false;
    r->refused.code = ERR_OK;
    strbuf_reset(&r->path);
    begin_list(r);
    BUG_ON(r->path.overflowed);
    bool streams = r->busy == BUSY_FILLING || r->busy == BUSY_WATCHING;
    ret->action = streams ? REFLECTOR_WATCH : REFLECTOR_LIST;
    ret->silence_ms = reflector_silence_ms(r);
    ret->path = r->path.p;
}
