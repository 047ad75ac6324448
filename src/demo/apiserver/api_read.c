#include "demo/apiserver/api_internal.h"
#include "demo/apiserver/selector_internal.h"
#include "demo/apiserver/watch_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The server's own choice when a watch gives no timeoutSeconds is 30 to 60 minutes. */
#define WATCH_DEFAULT_S 1800

/* resourceVersion of the query: 0 when absent or "0". */
static bool query_rv(const struct api_request *q, uint64_t *ret, struct api_reply *r)
{
    const char *text = api_query(q, "resourceVersion");
    *ret = 0;
    if (text && text[0] && !str_to_u64(str_of(text), UINT64_MAX, ret)) {
        api_fail(r, 500, "",
                 "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing: invalid "
                 "syntax",
                 text);
        return false;
    }
    return true;
}

static void add_list_head(struct api_reply *r, enum apiserver_kind kind, uint64_t rv, size_t next, size_t remaining)
{
    r->status = 200;
    strbuf_addf(&r->body, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{", api_kind_name(kind),
                api_version_name(kind));
    strbuf_addf(&r->body, "\"resourceVersion\":\"%" PRIu64 "\"", rv);
    if (next > 0) {
        strbuf_addf(&r->body, ",\"continue\":\"%" PRIu64 "-%zu\"", rv, next);
        if (remaining > 0) {
            strbuf_addf(&r->body, ",\"remainingItemCount\":%zu", remaining);
        }
    }
    strbuf_add_cstr(&r->body, "},\"items\":[");
}

/* Finds where the page that starts at `from` ends, then writes it. */
static void add_page(struct api_reply *r, const struct snapshot *p, const struct selector *sel, size_t from,
                     uint64_t limit)
{
    size_t to = from;
    uint64_t n = 0;
    while (to < p->n && (limit == 0 || n < limit)) {
        n += selector_matches(sel, p->items[to++]->doc);
    }
    size_t next = to;
    while (next < p->n && !selector_matches(sel, p->items[next]->doc)) {
        next++; /* a page must not promise a next one that is empty */
    }
    bool more = next < p->n;
    add_list_head(r, p->kind, p->rv, more ? next : 0, more && sel->term_n == 0 && !sel->namespace_ ? p->n - next : 0);
    bool first = true;
    for (size_t i = from; i < to; i++) {
        if (selector_matches(sel, p->items[i]->doc)) {
            if (!first) {
                strbuf_add_char(&r->body, ',');
            }
            first = false;
            strbuf_add(&r->body, p->items[i]->json, p->items[i]->json_n);
        }
    }
    strbuf_add_cstr(&r->body, "]}");
}

static bool parse_continue(const char *token, uint64_t *ret_rv, uint64_t *ret_from)
{
    struct str rest = str_of(token), rv;
    return str_split(&rest, '-', &rv) && str_to_u64(rv, UINT64_MAX, ret_rv) && str_to_u64(rest, UINT32_MAX, ret_from);
}

/* The snapshot to read: a fresh one, or the one of a continue token. NULL: replied. */
static struct snapshot *pick_snapshot(struct api *api, const struct api_request *q, enum apiserver_kind kind,
                                      uint64_t rv, uint64_t *ret_from, struct api_reply *r)
{
    const char *token = api_query(q, "continue");
    *ret_from = 0;
    if (token && token[0]) {
        uint64_t token_rv;
        if (!parse_continue(token, &token_rv, ret_from)) {
            api_fail(r, 400, NULL, "continue key is not valid");
            return NULL;
        }
        struct snapshot *p = objects_snapshot_at(api->store, kind, token_rv);
        if (!p) {
            api_fail(r, 410, NULL,
                     "The provided continue parameter is too old to display a consistent list result. "
                     "You can start a new list without the continue parameter.");
        }
        return p;
    }
    struct snapshot *p = objects_snapshot(api->store, kind);
    if (rv > p->rv) {
        r->retry_after_s = 1;
        api_fail(r, 504, NULL, "Too large resource version: %" PRIu64 ", current: %" PRIu64, rv, p->rv);
        snapshot_unref(p);
        return NULL;
    }
    return p;
}

static void serve_list(struct api *api, const struct api_request *q, enum apiserver_kind kind,
                       const struct selector *sel, struct api_reply *r)
{
    uint64_t rv, limit = 0, from;
    const char *limit_text = api_query(q, "limit"), *rv_text = api_query(q, "resourceVersion");
    if (!query_rv(q, &rv, r)) {
        return;
    }
    if (limit_text && limit_text[0] && !str_to_u64(str_of(limit_text), UINT32_MAX, &limit)) {
        api_fail(r, 400, NULL, "limit: Invalid value: \"%s\"", limit_text);
        return;
    }
    if (rv_text && strcmp(rv_text, "0") == 0) {
        limit = 0; /* served from the watch cache, which ignores it */
    }
    struct snapshot *p = pick_snapshot(api, q, kind, rv, &from, r);
    if (!p) {
        return;
    }
    if (limit > 0 && from == 0) {
        objects_snapshot_keep(api->store, p);
    }
    add_page(r, p, sel, from < p->n ? (size_t)from : p->n, limit);
    snapshot_unref(p);
}

/* sendInitialEvents has rules of its own; true when the watch may go on. */
static bool check_initial(enum apiserver_watch_list mode, const struct api_request *q, struct api_reply *r)
{
    const char *match = api_query(q, "resourceVersionMatch");
    if (!api_query(q, "sendInitialEvents") || mode == APISERVER_WATCH_LIST_IGNORED) {
        return true;
    }
    if (mode == APISERVER_WATCH_LIST_REFUSED) {
        api_fail(r, 422, NULL,
                 "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
                 "sendInitialEvents is forbidden for watch unless the WatchList feature gate "
                 "is enabled");
        return false;
    }
    if (!match || strcmp(match, "NotOlderThan") != 0) {
        api_fail(r, 422, NULL,
                 "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                 "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        return false;
    }
    return true;
}

static void serve_watch(struct api *api, const struct api_request *q, enum apiserver_kind kind, struct selector *sel,
                        struct api_reply *r)
{
    uint64_t rv, timeout_s = WATCH_DEFAULT_S;
    const char *timeout = api_query(q, "timeoutSeconds");
    enum apiserver_watch_list mode = (enum apiserver_watch_list)atomic_load(&api->watch_list);
    if (!query_rv(q, &rv, r) || !check_initial(mode, q, r)) {
        return;
    }
    if (timeout && timeout[0] && !str_to_u64(str_of(timeout), INT32_MAX, &timeout_s)) {
        api_fail(r, 400, NULL, "timeoutSeconds: Invalid value: \"%s\"", timeout);
        return;
    }
    if (timeout_s == 0) {
        timeout_s = WATCH_DEFAULT_S;
    }
    bool list = mode == APISERVER_WATCH_LIST_OFFERED && api_query_true(q, "sendInitialEvents");
    struct watch_start start = {
        .kind = kind,
        .after_rv = rv,
        .initial = list || rv == 0,
        .bookmarks = api_query_true(q, "allowWatchBookmarks"),
        .bookmark_interval_ns = api->bookmark_interval_ns,
        .now_ns = clock_mono_ns(api->clock),
        .faults = api->faults,
    };
    start.end_bookmark = list && start.bookmarks;
    start.until_ns = start.now_ns + (int64_t)timeout_s * NS_PER_S;
    r->status = 200;
    r->watch = watch_new(api->store, &start, sel);
}

void api_list(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r)
{
    struct selector sel;
    const char *why = selector_init(&sel, t->kind, t->namespace_[0] ? t->namespace_ : NULL,
                                    api_query(q, "fieldSelector"), api_query(q, "labelSelector"));
    if (why) {
        api_fail(r, 400, NULL, "Unable to find \"%s\" that match the selector: %s", api_resource_name(t->kind), why);
        return;
    }
    if (api_query_true(q, "watch")) {
        serve_watch(api, q, t->kind, &sel, r);
    } else {
        serve_list(api, q, t->kind, &sel, r);
    }
    selector_fini(&sel);
}

void api_get(struct api *api, const struct api_target *t, struct api_reply *r)
{
    char key[API_KEY_MAX];
    api_key(t, key);
    objects_lock(api->store);
    struct version *v = objects_find(api->store, t->kind, key);
    if (v) {
        api_object(r, 200, t->kind, v);
    }
    objects_unlock(api->store);
    if (!v) {
        api_not_found(r, t);
    }
}
