#include "demo/apiserver/objects_internal.h"

#include "base/bug.h"
#include "base/sync.h"
#include "demo/doc_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAPSHOTS_KEPT 16

struct object_list {
    struct version **items; /* ordered by key */
    size_t n;
    size_t cap;
};

struct objects {
    struct mutex lock;
    uint64_t rv;
    uint64_t compacted_rv; /* events up to here are gone */
    bool dirty;            /* written since the lock was taken */
    struct object_list kinds[APISERVER_KIND__MAX];
    struct objects_event *events; /* ring, ascending by rv */
    uint32_t event_max;
    uint32_t event_first;
    uint32_t event_n;
    struct snapshot *snapshots[SNAPSHOTS_KEPT]; /* ring: of paged lists under way */
    uint32_t snapshot_next;
    void (*changed)(void *ctx);
    void *ctx;
};

struct version *version_ref(struct version *v)
{
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void version_unref(struct version *v)
{
    if (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) {
        cJSON_Delete(v->doc);
        free(v->json);
        free(v->key);
        free(v);
    }
}

static struct version *version_new(const char *key, uint64_t rv, cJSON *doc)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, rv);
    doc_set_text(doc_object(doc, "metadata"), "resourceVersion", text);
    cJSON_DeleteItemFromObjectCaseSensitive(doc, "kind");
    cJSON_DeleteItemFromObjectCaseSensitive(doc, "apiVersion");

    struct version *v = xcalloc(1, sizeof(*v));
    atomic_init(&v->refs, 1);
    v->rv = rv;
    v->key = strdup(key);
    BUG_ON(!v->key);
    v->doc = doc;
    v->json = doc_print(doc);
    v->json_n = strlen(v->json);
    return v;
}

void snapshot_unref(struct snapshot *s)
{
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        for (size_t i = 0; i < s->n; i++) {
            version_unref(s->items[i]);
        }
        free(s);
    }
}

void objects_event_fini(struct objects_event *e)
{
    version_unref(e->now);
    version_unref(e->before);
}

struct objects *objects_new(uint32_t history_max, void (*changed)(void *ctx), void *ctx)
{
    struct objects *s = xcalloc(1, sizeof(*s));
    mutex_init(&s->lock, "demo objects");
    BUG_ON(history_max == 0);
    s->rv = 1; /* 0 means "any" on the wire */
    s->compacted_rv = 1;
    s->event_max = history_max;
    s->events = xcalloc(history_max, sizeof(*s->events));
    s->changed = changed;
    s->ctx = ctx;
    return s;
}

static void forget_history(struct objects *s)
{
    for (; s->event_n > 0; s->event_n--) {
        objects_event_fini(&s->events[s->event_first]);
        s->event_first = (s->event_first + 1) % s->event_max;
    }
    s->compacted_rv = s->rv;
    for (size_t i = 0; i < SNAPSHOTS_KEPT; i++) {
        snapshot_unref(s->snapshots[i]);
        s->snapshots[i] = NULL;
    }
}

void objects_free(struct objects *s)
{
    if (!s) {
        return;
    }
    forget_history(s);
    for (size_t k = 0; k < APISERVER_KIND__MAX; k++) {
        for (size_t i = 0; i < s->kinds[k].n; i++) {
            version_unref(s->kinds[k].items[i]);
        }
        free(s->kinds[k].items);
    }
    free(s->events);
    mutex_destroy(&s->lock);
    free(s);
}

void objects_lock(struct objects *s)
{
    mutex_lock(&s->lock);
    s->dirty = false;
}

void objects_unlock(struct objects *s)
{
    bool dirty = s->dirty;
    mutex_unlock(&s->lock);
    if (dirty && s->changed) {
        s->changed(s->ctx);
    }
}

/* The place of `key`: its index, or where it would be inserted. */
static size_t place_of(const struct object_list *o, const char *key, bool *ret_found)
{
    size_t lo = 0, hi = o->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(o->items[mid]->key, key);
        if (c == 0) {
            *ret_found = true;
            return mid;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *ret_found = false;
    return lo;
}

struct version *objects_find(struct objects *s, enum apiserver_kind kind, const char *key)
{
    bool found;
    size_t i = place_of(&s->kinds[kind], key, &found);
    return found ? s->kinds[kind].items[i] : NULL;
}

static void append_event(struct objects *s, enum apiserver_kind kind, enum objects_event_type type, struct version *now,
                         struct version *before)
{
    if (s->event_n == s->event_max) {
        struct objects_event *oldest = &s->events[s->event_first];
        s->compacted_rv = oldest->rv;
        objects_event_fini(oldest);
        s->event_first = (s->event_first + 1) % s->event_max;
        s->event_n--;
    }
    s->events[(s->event_first + s->event_n) % s->event_max] = (struct objects_event){
        .rv = s->rv,
        .kind = kind,
        .type = type,
        .now = version_ref(now),
        .before = before ? version_ref(before) : NULL,
    };
    s->event_n++;
    s->dirty = true;
}

struct version *objects_put(struct objects *s, enum apiserver_kind kind, const char *key, cJSON *doc)
{
    struct object_list *o = &s->kinds[kind];
    bool found;
    size_t i = place_of(o, key, &found);
    struct version *v = version_new(key, ++s->rv, doc);

    if (found) {
        struct version *before = o->items[i];
        append_event(s, kind, STORE_MODIFIED, v, before);
        o->items[i] = v;
        version_unref(before);
        return v;
    }
    if (o->n == o->cap) {
        o->cap = o->cap ? o->cap * 2 : 64;
        o->items = xreallocarray(o->items, o->cap, sizeof(struct version *));
    }
    memmove(o->items + i + 1, o->items + i, (o->n - i) * sizeof(struct version *));
    o->items[i] = v;
    o->n++;
    append_event(s, kind, STORE_ADDED, v, NULL);
    return v;
}

void objects_remove(struct objects *s, enum apiserver_kind kind, const char *key)
{
    struct object_list *o = &s->kinds[kind];
    bool found;
    size_t i = place_of(o, key, &found);
    BUG_ON(!found);
    struct version *before = o->items[i];
    struct version *last = version_new(before->key, ++s->rv, cJSON_Duplicate(before->doc, 1));

    append_event(s, kind, STORE_DELETED, last, before);
    version_unref(last); /* the event keeps it */
    o->n--;
    memmove(o->items + i, o->items + i + 1, (o->n - i) * sizeof(struct version *));
    version_unref(before);
}

const char *objects_oldest(struct objects *s, enum apiserver_kind kind)
{
    const struct version *oldest = NULL;
    for (size_t i = 0; i < s->kinds[kind].n; i++) {
        const struct version *v = s->kinds[kind].items[i];
        if (!oldest || v->rv < oldest->rv) {
            oldest = v;
        }
    }
    return oldest ? oldest->key : "";
}

size_t objects_count(struct objects *s, enum apiserver_kind kind)
{
    return s->kinds[kind].n;
}

uint64_t objects_rv(struct objects *s)
{
    mutex_lock(&s->lock);
    uint64_t rv = s->rv;
    mutex_unlock(&s->lock);
    return rv;
}

struct snapshot *objects_snapshot(struct objects *s, enum apiserver_kind kind)
{
    struct object_list *o = &s->kinds[kind];
    mutex_lock(&s->lock);
    struct snapshot *p = xcalloc(1, sizeof(*p) + o->n * sizeof(struct version *));
    atomic_init(&p->refs, 1);
    p->kind = kind;
    p->rv = s->rv;
    p->n = o->n;
    for (size_t i = 0; i < o->n; i++) {
        p->items[i] = version_ref(o->items[i]);
    }
    mutex_unlock(&s->lock);
    return p;
}

void objects_snapshot_keep(struct objects *s, struct snapshot *p)
{
    mutex_lock(&s->lock);
    /* A compaction since the snapshot was taken would have forgotten it. */
    if (p->rv >= s->compacted_rv) {
        uint32_t slot = s->snapshot_next++ % SNAPSHOTS_KEPT;
        snapshot_unref(s->snapshots[slot]);
        atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
        s->snapshots[slot] = p;
    }
    mutex_unlock(&s->lock);
}

struct snapshot *objects_snapshot_at(struct objects *s, enum apiserver_kind kind, uint64_t rv)
{
    struct snapshot *ret = NULL;
    mutex_lock(&s->lock);
    for (size_t i = 0; i < SNAPSHOTS_KEPT && !ret; i++) {
        struct snapshot *p = s->snapshots[i];
        if (p && p->kind == kind && p->rv == rv) {
            atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
            ret = p;
        }
    }
    mutex_unlock(&s->lock);
    return ret;
}

bool objects_events_after(struct objects *s, enum apiserver_kind kind, uint64_t *cursor, struct objects_event *events,
                          size_t max, size_t *ret_n)
{
    size_t n = 0;
    mutex_lock(&s->lock);
    bool kept = *cursor >= s->compacted_rv;
    if (kept) {
        uint32_t lo = 0, hi = s->event_n; /* the first event after the cursor */
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (s->events[(s->event_first + mid) % s->event_max].rv <= *cursor) {
                lo = mid + 1;
            } else {
                hi = mid;
            }
        }
        for (; lo < s->event_n && n < max; lo++) {
            const struct objects_event *e = &s->events[(s->event_first + lo) % s->event_max];
            *cursor = e->rv;
            if (e->kind == kind) {
                events[n] = *e;
                version_ref(e->now);
                if (e->before) {
                    version_ref(e->before);
                }
                n++;
            }
        }
    }
    mutex_unlock(&s->lock);
    *ret_n = n;
    return kept;
}

void objects_compact(struct objects *s)
{
    mutex_lock(&s->lock);
    forget_history(s);
    mutex_unlock(&s->lock);
}
