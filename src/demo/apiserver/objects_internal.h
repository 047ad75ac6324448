/* demo/apiserver/objects_internal.h - the objects of the simulated API server: current state, history,
 * snapshots.
 *
 * One lock, one global resourceVersion counter, as with etcd. Every write publishes a new immutable
 * version of one object and appends one event; versions are reference counted, so lists and watches
 * print them without the lock. The history is bounded: what falls off its end is "compacted", and a
 * watch from before that point is Expired. No HTTP here and no rules about what a valid object is.
 */
#ifndef DEMO_APISERVER_OBJECTS_INTERNAL_H
#define DEMO_APISERVER_OBJECTS_INTERNAL_H

#include "demo/apiserver/apiserver.h"

#include <cjson/cJSON.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct version { /* immutable once published */
    atomic_uint refs;
    uint64_t rv;
    char *key; /* "namespace/name", or "name" of a node */
    cJSON *doc;
    char *json; /* doc without kind and apiVersion, as list items stand; starts with '{' */
    size_t json_n;
};

struct version *version_ref(struct version *v);
void version_unref(struct version *v); /* NULL is fine */

enum objects_event_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED, STORE_EVENT__MAX };

struct objects_event {
    uint64_t rv;
    enum apiserver_kind kind;
    enum objects_event_type type;
    struct version *now;    /* DELETED: the last content under the RV of the deletion */
    struct version *before; /* NULL for ADDED */
};

/* All objects of one kind at one resourceVersion, ordered by key. */
struct snapshot {
    atomic_uint refs;
    enum apiserver_kind kind;
    uint64_t rv;
    size_t n;
    struct version *items[];
};
void snapshot_unref(struct snapshot *s);

struct objects;

/* `changed` runs after every batch of writes, without the lock. */
struct objects *objects_new(uint32_t history_max, void (*changed)(void *ctx), void *ctx);
void objects_free(struct objects *s);

/* Everything from here to objects_unlock needs the lock. */
void objects_lock(struct objects *s);
void objects_unlock(struct objects *s);
struct version *objects_find(struct objects *s, enum apiserver_kind kind, const char *key); /* borrowed */
/* Publishes `doc` (taken over) as the newest version of `key`; metadata.resourceVersion is set
 * here. */
struct version *objects_put(struct objects *s, enum apiserver_kind kind, const char *key, cJSON *doc);
void objects_remove(struct objects *s, enum apiserver_kind kind, const char *key); /* must exist */
/* The key of the object written longest ago, "" when there is none. */
const char *objects_oldest(struct objects *s, enum apiserver_kind kind);
size_t objects_count(struct objects *s, enum apiserver_kind kind);

/* These take the lock themselves. */
uint64_t objects_rv(struct objects *s);
struct snapshot *objects_snapshot(struct objects *s, enum apiserver_kind kind); /* caller unrefs */
/* Keeps a snapshot for the next pages of a list. */
void objects_snapshot_keep(struct objects *s, struct snapshot *p);
/* A snapshot kept before; NULL once it is forgotten (compacted or too many since). */
struct snapshot *objects_snapshot_at(struct objects *s, enum apiserver_kind kind, uint64_t rv);
/* Copies up to `max` events of `kind` after *cursor and advances the cursor past everything looked
 * at. Returns false when events after the cursor have been compacted. The caller unrefs with
 * objects_event_fini. */
bool objects_events_after(struct objects *s, enum apiserver_kind kind, uint64_t *cursor, struct objects_event *events,
                          size_t max, size_t *ret_n);
void objects_event_fini(struct objects_event *e);
void objects_compact(struct objects *s); /* forgets all history and snapshots */

#endif
