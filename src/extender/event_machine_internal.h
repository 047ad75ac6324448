/* extender/event_machine_internal.h - the series and their queue, shared by event_machine.c and
 * event_series.c. */
#ifndef EXTENDER_EVENT_MACHINE_INTERNAL_H
#define EXTENDER_EVENT_MACHINE_INTERNAL_H

#include "base/hashmap.h"
#include "base/rng.h"
#include "extender/event_machine.h"

#define EVENT_NONE UINT32_MAX
#define EVENT_KEY_BYTES_MAX 4096
#define EVENT_OBJECT_BUCKETS 4096
#define EVENT_NAMESPACE_BUCKETS 1024

/* A series: one Event object of the API server, and what it has been told. */
struct entry {
    char *key; /* event_key.bytes; the texts of `event` point into it */
    size_t key_n;
    uint64_t hash;
    struct event event;
    char name[EVENT_NAME_MAX + 1];
    int64_t first_wall_ms, last_wall_ms;
    int64_t last_ns; /* last occurrence */
    int64_t told_ns;
    uint32_t count; /* occurrences */
    uint32_t told;  /* of them the API server knows; 0: no object there */
    uint32_t next;  /* in the queue, or in the list of free entries */
    uint8_t tries;
    bool queued;
};

struct bucket {
    int64_t empty_ns; /* when the bucket was, or will have been, empty: tokens = age / refill */
};

struct event_machine {
    struct event_machine_options options;
    struct rng rng;
    struct hashmap index;
    struct entry *entries;
    uint32_t entry_n; /* slots ever used */
    uint32_t free;
    uint32_t first, last; /* the queue; the first may be in flight */
    uint32_t queued_n;
    bool flying;
    bool hurry;
    bool was_rejected;
    uint32_t sent_count; /* of the call in flight */
    enum event_call call;
    uint32_t failures; /* in a row */
    int64_t pause_until_ns;
    int64_t sweep_ns;
    struct {
        int64_t until_ns; /* no such call before */
        bool known;       /* the log has it */
    } silence[EVENT_CALL_PATCH + 1];
    struct bucket calls;
    struct bucket objects[EVENT_OBJECT_BUCKETS];
    struct bucket namespaces[EVENT_NAMESPACE_BUCKETS];
};

/* ---- series (event_series.c) ---- */

/* What makes two events equal, in one block; `ret` has its texts in there. */
struct event_key {
    char bytes[EVENT_KEY_BYTES_MAX];
    size_t n;
    struct event event;
};
/* False when a text is longer than any that an API object has. A note is cut. */
bool event_key_make(struct event_key *k, const struct event *e);

/* EVENT_NONE when there is none. */
uint32_t event_series_find(const struct event_machine *m, const struct event_key *k, uint64_t hash);
/* Takes the place of the one that has been quiet longest if there are too many. Not queued yet. */
uint32_t event_series_add(struct event_machine *m, const struct event_key *k, uint64_t hash);
void event_series_drop(struct event_machine *m, uint32_t i); /* not a queued one */

void event_enqueue(struct event_machine *m, uint32_t i);
uint32_t event_dequeue(struct event_machine *m); /* the first */

#endif
