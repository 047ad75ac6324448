/* Series of events: what makes two equal, where they are kept, and the queue of those with news. */
#include "extender/event_machine_internal.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_BYTES_MAX 512 /* of a name or UID; no API object has longer ones */

/* Puts `s` behind what is there, and a NUL. */
static bool put(struct event_key *k, struct str s, size_t max, struct str *ret)
{
    if (s.n > max || s.n + 1 > sizeof(k->bytes) - k->n) {
        return false;
    }
    if (s.n > 0) {
        memcpy(k->bytes + k->n, s.p, s.n);
    }
    *ret = (struct str){k->bytes + k->n, s.n};
    k->bytes[k->n + s.n] = '\0';
    k->n += s.n + 1;
    return true;
}

static bool put_object(struct event_key *k, const struct event_object *o, struct event_object *ret)
{
    ret->kind = o->kind;
    k->bytes[k->n++] = (char)o->kind;
    return put(k, o->namespace_, FIELD_BYTES_MAX, &ret->namespace_) && put(k, o->name, FIELD_BYTES_MAX, &ret->name) &&
           put(k, o->uid, FIELD_BYTES_MAX, &ret->uid);
}

bool event_key_make(struct event_key *k, const struct event *e)
{
    struct str note = e->note;

    if (note.n > EVENT_NOTE_MAX) {
        note.n = EVENT_NOTE_MAX; /* the encoder cuts at a whole character */
    }
    k->n = 0;
    k->event.reason = e->reason;
    k->bytes[k->n++] = (char)e->reason;
    return put_object(k, &e->regarding, &k->event.regarding) && put_object(k, &e->related, &k->event.related) &&
           put(k, note, EVENT_NOTE_MAX, &k->event.note);
}

static bool has_key(const void *owner, uint32_t value, const void *key)
{
    const struct event_machine *m = owner;
    const struct event_key *k = key;
    const struct entry *e = &m->entries[value];

    return e->key_n == k->n && memcmp(e->key, k->bytes, k->n) == 0;
}

uint32_t event_series_find(const struct event_machine *m, const struct event_key *k, uint64_t hash)
{
    return hashmap_find(&m->index, hash, has_key, m, k);
}

void event_series_drop(struct event_machine *m, uint32_t i)
{
    struct entry *e = &m->entries[i];

    BUG_ON(e->queued);
    hashmap_remove(&m->index, e->hash, i);
    free(e->key);
    *e = (struct entry){.next = m->free};
    m->free = i;
}

static uint32_t slot(struct event_machine *m)
{
    uint32_t oldest = EVENT_NONE;

    if (m->free == EVENT_NONE && m->entry_n < EVENT_SERIES_MAX) {
        return m->entry_n++;
    }
    for (uint32_t i = 0; m->free == EVENT_NONE && i < m->entry_n; i++) {
        if (!m->entries[i].queued && (oldest == EVENT_NONE || m->entries[i].last_ns < m->entries[oldest].last_ns)) {
            oldest = i;
        }
    }
    if (oldest != EVENT_NONE) {
        event_series_drop(m, oldest);
    }
    BUG_ON(m->free == EVENT_NONE); /* fewer can be queued than there are */
    oldest = m->free;
    m->free = m->entries[oldest].next;
    return oldest;
}

static void rebase(struct str *s, const char *from, const char *to)
{
    s->p = to + (s->p - from);
}

static void rebase_object(struct event_object *o, const char *from, const char *to)
{
    rebase(&o->namespace_, from, to);
    rebase(&o->name, from, to);
    rebase(&o->uid, from, to);
}

uint32_t event_series_add(struct event_machine *m, const struct event_key *k, uint64_t hash)
{
    uint32_t i = slot(m);
    struct entry *e = &m->entries[i];

    *e = (struct entry){.key_n = k->n, .hash = hash, .event = k->event, .next = EVENT_NONE};
    e->key = xmalloc(k->n);
    memcpy(e->key, k->bytes, k->n);
    rebase_object(&e->event.regarding, k->bytes, e->key);
    rebase_object(&e->event.related, k->bytes, e->key);
    rebase(&e->event.note, k->bytes, e->key);
    event_name(e->event.regarding.name, rng_u64(&m->rng), e->name);
    hashmap_insert(&m->index, hash, i);
    return i;
}

void event_enqueue(struct event_machine *m, uint32_t i)
{
    struct entry *e = &m->entries[i];

    BUG_ON(e->queued);
    e->queued = true;
    e->tries = 0;
    e->next = EVENT_NONE;
    if (m->last == EVENT_NONE) {
        m->first = i;
    } else {
        m->entries[m->last].next = i;
    }
    m->last = i;
    m->queued_n++;
}

uint32_t event_dequeue(struct event_machine *m)
{
    uint32_t i = m->first;

    m->first = m->entries[i].next;
    if (m->first == EVENT_NONE) {
        m->last = EVENT_NONE;
    }
    m->entries[i].queued = false;
    m->queued_n--;
    return i;
}
