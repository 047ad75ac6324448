#include "demo/apiserver/watch_internal.h"

#include "base/bug.h"
#include "demo/apiserver/fault_internal.h"
#include "demo/doc_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_PER_TURN 128

struct watch {
    struct objects *store;
    struct watch_start start;
    struct selector selector;
    uint64_t cursor;
    struct snapshot *initial; /* ADDED events still to send */
    size_t initial_at;
    int64_t next_bookmark_ns;
    bool ended;
};

struct watch *watch_new(struct objects *s, const struct watch_start *start, struct selector *selector)
{
    struct watch *w = xcalloc(1, sizeof(*w));
    w->store = s;
    w->start = *start;
    w->selector = *selector;
    *selector = (struct selector){0};
    w->cursor = start->after_rv;
    w->next_bookmark_ns = start->now_ns + start->bookmark_interval_ns;
    if (start->initial) {
        w->initial = objects_snapshot(s, start->kind);
        w->cursor = w->initial->rv;
    }
    return w;
}

void watch_free(struct watch *w)
{
    if (w) {
        snapshot_unref(w->initial);
        selector_fini(&w->selector);
        free(w);
    }
}

int64_t watch_due_ns(const struct watch *w)
{
    if (w->start.bookmarks && w->next_bookmark_ns < w->start.until_ns) {
        return w->next_bookmark_ns;
    }
    return w->start.until_ns;
}

static void add_line(const struct watch *w, struct strbuf *out, const char *type, const char *json, size_t json_n)
{
    strbuf_addf(out, "{\"type\":\"%s\",\"object\":", type);
    api_add_object(out, w->start.kind, json, json_n);
    strbuf_add_cstr(out, "}\n");
}

/* The skeleton the real server sends: only its resourceVersion means something. */
static void add_bookmark(struct watch *w, struct strbuf *out, bool initial_end)
{
    char json[256];
    int n =
        snprintf(json, sizeof(json), "{\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"%s},\"spec\":%s,\"status\":{}}",
                 w->cursor, initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "",
                 w->start.kind == APISERVER_PODS ? "{\"containers\":null}" : "{}");
    add_line(w, out, "BOOKMARK", json, (size_t)n);
}

/* An object that left the selector: its previous content under the new resourceVersion. */
static void add_left(const struct watch *w, struct strbuf *out, const struct objects_event *e)
{
    char rv[24];
    snprintf(rv, sizeof(rv), "%" PRIu64, e->rv);
    cJSON *doc = cJSON_Duplicate(e->before->doc, 1);
    doc_set_text(doc_object(doc, "metadata"), "resourceVersion", rv);
    char *json = doc_print(doc);
    add_line(w, out, "DELETED", json, strlen(json));
    free(json);
    cJSON_Delete(doc);
}

static bool is_swallowed(const struct watch *w, const struct objects_event *e, const char *type)
{
    const char *key = e->now->key, *name = strchr(key, '/');
    char path[API_KEY_MAX + 64];
    if (w->start.faults == NULL) {
        return false;
    }
    if (name != NULL) {
        snprintf(path, sizeof(path), "/api/v1/namespaces/%.*s/%s%s", (int)(name - key), key,
                 api_resource_name(w->start.kind), name);
    } else {
        snprintf(path, sizeof(path), "/api/v1/%s/%s", api_resource_name(w->start.kind), key);
    }
    return faults_swallow(w->start.faults, type, str_of(path));
}

static void add_event(const struct watch *w, struct strbuf *out, const struct objects_event *e)
{
    bool was = e->before && selector_matches(&w->selector, e->before->doc);
    bool is = e->type != STORE_DELETED && selector_matches(&w->selector, e->now->doc);
    if ((was || is) && is_swallowed(w, e, was && is ? "MODIFIED" : is ? "ADDED" : "DELETED")) {
        return;
    }
    if (was && is) {
        add_line(w, out, "MODIFIED", e->now->json, e->now->json_n);
    } else if (is) {
        add_line(w, out, "ADDED", e->now->json, e->now->json_n);
    } else if (was && e->type == STORE_DELETED) {
        add_line(w, out, "DELETED", e->now->json, e->now->json_n);
    } else if (was) {
        add_left(w, out, e);
    }
}

static void add_expired(struct watch *w, struct strbuf *out)
{
    char message[96];
    snprintf(message, sizeof(message), "too old resource version: %" PRIu64 " (%" PRIu64 ")", w->cursor,
             objects_rv(w->store));
    strbuf_add_cstr(out, "{\"type\":\"ERROR\",\"object\":");
    api_add_status(out, 410, "Expired", message, -1);
    strbuf_add_cstr(out, "}\n");
    w->ended = true;
}

static void add_initial(struct watch *w, struct strbuf *out, size_t want)
{
    while (w->initial_at < w->initial->n && out->n < want) {
        const struct version *v = w->initial->items[w->initial_at++];
        if (selector_matches(&w->selector, v->doc)) {
            add_line(w, out, "ADDED", v->json, v->json_n);
        }
    }
    if (w->initial_at == w->initial->n) {
        snapshot_unref(w->initial);
        w->initial = NULL;
        if (w->start.end_bookmark) {
            add_bookmark(w, out, true);
        }
    }
}

static void add_history(struct watch *w, struct strbuf *out, size_t want)
{
    size_t n = EVENTS_PER_TURN;
    while (n == EVENTS_PER_TURN && out->n < want) {
        struct objects_event events[EVENTS_PER_TURN];
        if (!objects_events_after(w->store, w->start.kind, &w->cursor, events, EVENTS_PER_TURN, &n)) {
            add_expired(w, out);
            return;
        }
        for (size_t i = 0; i < n; i++) {
            add_event(w, out, &events[i]);
            objects_event_fini(&events[i]);
        }
    }
}

enum watch_next watch_next(struct watch *w, struct strbuf *out, size_t want, int64_t now_ns)
{
    size_t before = out->n;
    if (w->ended) {
        return WATCH_END;
    }
    if (w->initial) {
        add_initial(w, out, want);
    }
    if (!w->initial && out->n < want) {
        add_history(w, out, want);
    }
    bool over = now_ns >= w->start.until_ns;
    if (!w->ended && !w->initial && w->start.bookmarks && (over || now_ns >= w->next_bookmark_ns)) {
        /* whoever asked for what comes after the future hears nothing, not even that */
        if (w->cursor <= objects_rv(w->store)) {
            add_bookmark(w, out, false);
        }
        w->next_bookmark_ns = now_ns + w->start.bookmark_interval_ns;
    }
    if (over) {
        w->ended = true;
    }
    if (out->n > before) {
        return WATCH_LINES;
    }
    return w->ended ? WATCH_END : WATCH_WAIT;
}
