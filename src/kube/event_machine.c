#include "kube/event_machine.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/hashmap.h"
#include "base/rng.h"
#include "kube/event_limits_internal.h"

#include <stdlib.h>

/* One Event of the API server, and what it has been told. */
struct entry {
    uint64_t hash;   /* of what makes two events equal */
    char *path;      /* of the Event; NULL: the place is free */
    size_t parent_n; /* bytes of `path` that it is posted to */
    char *body;      /* of the POST, until that is accepted */
    enum event_reason reason;
    int64_t last_wall_ms, last_ns; /* last occurrence */
    int64_t told_ns;
    uint32_t count; /* occurrences */
    uint32_t told;  /* of them the API server knows; 0: no object there */
    uint8_t tries;
    bool queued;
};

struct event_machine {
    struct event_machine_options options;
    struct rng rng;
    struct hashmap index;
    struct entry *entries;
    uint32_t entry_n;                  /* places ever used */
    uint32_t queue[EVENT_PENDING_MAX]; /* a ring; the first may be in flight */
    uint32_t first, queued_n;
    bool flying;
    bool hurry;
    bool was_rejected;
    uint32_t sent_count; /* of the call in flight */
    enum event_call call;
    uint32_t failures; /* in a row */
    int64_t pause_until_ns;
    struct {
        int64_t until_ns; /* no such call before */
        int64_t ms;       /* how long it is, while known */
        bool known;       /* the log has it */
    } silence[EVENT_CALL_PATCH + 1];
    struct event_limits limits;
};

struct event_machine *event_machine_new(const struct event_machine_options *o)
{
    struct event_machine *m = xcalloc(1, sizeof(*m));

    m->options = *o;
    rng_init(&m->rng, o->seed);
    hashmap_init(&m->index);
    m->entries = xcalloc(EVENT_SERIES_MAX, sizeof(*m->entries));
    return m;
}

void event_machine_free(struct event_machine *m)
{
    if (m == NULL) {
        return;
    }
    for (uint32_t i = 0; i < m->entry_n; i++) {
        free(m->entries[i].path);
        free(m->entries[i].body);
    }
    hashmap_fini(&m->index);
    free(m->entries);
    free(m);
}

static void observe(const struct event_machine *m, enum event_reason reason, enum event_outcome outcome)
{
    if (m->options.observe != NULL) {
        m->options.observe(m->options.observe_ctx, reason, outcome);
    }
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- entries and their queue ---- */

static uint64_t hash_of(const struct event_machine *m, const struct event *e)
{
    const struct str texts[] = {e->regarding.namespace_, e->regarding.name, e->regarding.uid, e->related.namespace_,
                                e->related.name,         e->related.uid,    e->note};
    uint64_t hash = (uint64_t)e->reason << 8 | (uint64_t)e->regarding.kind << 4 | e->related.kind;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        hash = hash_str((struct hash_key){m->options.key.k0, m->options.key.k1 ^ hash}, texts[i]);
    }
    return hash;
}

/* 64 bits under a secret key: what has the same hash is the same. */
static bool is_same(const void *owner, uint32_t value, const void *key)
{
    (void)owner;
    (void)value;
    (void)key;
    return true;
}

static void drop_entry(struct event_machine *m, uint32_t i)
{
    struct entry *e = &m->entries[i];

    BUG_ON(e->queued);
    hashmap_remove(&m->index, e->hash, i);
    free(e->path);
    free(e->body);
    *e = (struct entry){.last_ns = INT64_MIN};
}

/* If all places are taken, the one that has been quiet longest gives way. */
static uint32_t free_place(struct event_machine *m)
{
    uint32_t oldest = HASHMAP_NONE;

    if (m->entry_n < EVENT_SERIES_MAX) {
        return m->entry_n++;
    }
    for (uint32_t i = 0; i < m->entry_n; i++) {
        if (!m->entries[i].queued && (oldest == HASHMAP_NONE || m->entries[i].last_ns < m->entries[oldest].last_ns)) {
            oldest = i;
        }
    }
    BUG_ON(oldest == HASHMAP_NONE); /* fewer can be queued than there are */
    if (m->entries[oldest].path != NULL) {
        drop_entry(m, oldest);
    }
    return oldest;
}

static void enqueue(struct event_machine *m, uint32_t i)
{
    BUG_ON(m->entries[i].queued || m->queued_n == EVENT_PENDING_MAX);
    m->entries[i].queued = true;
    m->entries[i].tries = 0;
    m->queue[(m->first + m->queued_n++) % EVENT_PENDING_MAX] = i;
}

static struct entry *first_queued(const struct event_machine *m)
{
    return &m->entries[m->queue[m->first]];
}

static uint32_t dequeue(struct event_machine *m)
{
    uint32_t i = m->queue[m->first];

    m->first = (m->first + 1) % EVENT_PENDING_MAX;
    m->queued_n--;
    m->entries[i].queued = false;
    return i;
}

/* ---- recording ---- */

static void repeat(struct event_machine *m, uint32_t i, int64_t now_ns, int64_t wall_ms)
{
    struct entry *e = &m->entries[i];

    if (e->count < INT32_MAX) {
        e->count++;
    }
    e->last_ns = now_ns;
    e->last_wall_ms = wall_ms;
    observe(m, e->reason, EVENT_REPEATED);
    if (!e->queued && (e->told == 1 || now_ns - e->told_ns >= EVENT_REFRESH_MS * NS_PER_MS) &&
        m->queued_n < EVENT_PENDING_MAX) {
        enqueue(m, i);
    }
}

/* False: the API server would not have it. */
static bool add(struct event_machine *m, const struct event *event, uint64_t hash, int64_t now_ns, int64_t wall_ms)
{
    char name[EVENT_NAME_MAX + 1];
    struct strbuf path, body;
    bool good;

    strbuf_init(&path, EVENT_PATH_MAX);
    strbuf_init(&body, EVENT_BODY_MAX);
    event_name(event->regarding.name, rng_u64(&m->rng), name);
    good = event_post(event, name, &m->options.source, wall_ms, &path, &body, NULL) == 0;
    if (good) {
        uint32_t i = free_place(m);
        size_t parent_n = path.n;

        strbuf_add_char(&path, '/');
        strbuf_add_cstr(&path, name);
        m->entries[i] = (struct entry){.hash = hash,
                                       .path = strbuf_take(&path, NULL),
                                       .parent_n = parent_n,
                                       .body = strbuf_take(&body, NULL),
                                       .reason = event->reason,
                                       .last_wall_ms = wall_ms,
                                       .last_ns = now_ns,
                                       .count = 1};
        hashmap_insert(&m->index, hash, i);
        enqueue(m, i);
    }
    strbuf_fini(&path);
    strbuf_fini(&body);
    return good;
}

void event_machine_record(struct event_machine *m, const struct event *event, int64_t now_ns, int64_t wall_ms)
{
    uint64_t hash = hash_of(m, event);
    uint32_t i = hashmap_find(&m->index, hash, is_same, NULL, NULL);

    if (i != HASHMAP_NONE && (m->entries[i].queued || now_ns - m->entries[i].last_ns < EVENT_QUIET_MS * NS_PER_MS)) {
        repeat(m, i, now_ns, wall_ms);
        return;
    }
    if (i != HASHMAP_NONE) {
        drop_entry(m, i); /* long ago: an Event of its own */
    }
    if (m->silence[EVENT_CALL_POST].until_ns > now_ns) {
        observe(m, event->reason, EVENT_SILENCED);
    } else if (m->queued_n == EVENT_PENDING_MAX) {
        observe(m, event->reason, EVENT_QUEUE_FULL);
    } else if (!event_limits_admit(&m->limits, m->options.key, &event->regarding, now_ns)) {
        observe(m, event->reason, EVENT_LIMITED);
    } else if (!add(m, event, hash, now_ns, wall_ms)) {
        observe(m, event->reason, EVENT_REJECTED);
    }
}

/* ---- what to do ---- */

/* Takes the first of the queue out for good. One whose count cannot be told is kept, as if it had been: to know a
 * repeat. */
static void lose_first(struct event_machine *m, enum event_outcome outcome, bool keep)
{
    uint32_t i = dequeue(m);
    struct entry *e = &m->entries[i];

    observe(m, e->reason, outcome);
    if (e->told > 0 && keep) {
        e->told = e->count;
        e->told_ns = e->last_ns;
    } else {
        drop_entry(m, i);
    }
}

static void write_call(const struct event_machine *m, const struct entry *e, struct strbuf *path, struct strbuf *body)
{
    strbuf_reset(path);
    strbuf_reset(body);
    if (m->call == EVENT_CALL_POST) {
        strbuf_add_str(path, (struct str){e->path, e->parent_n});
        strbuf_add_cstr(body, e->body);
    } else {
        strbuf_add_cstr(path, e->path);
        event_patch(e->count, e->last_wall_ms, body);
    }
}

enum event_call event_machine_next(struct event_machine *m, int64_t now_ns, struct strbuf *path, struct strbuf *body,
                                   int64_t *ret_wake_ns)
{
    BUG_ON(m->flying);
    *ret_wake_ns = INT64_MAX;
    while (m->queued_n > 0) {
        struct entry *e = first_queued(m);
        int64_t ready_ns = m->hurry ? m->pause_until_ns : later(m->pause_until_ns, event_limits_call_at_ns(&m->limits));

        m->call = e->told == 0 ? EVENT_CALL_POST : EVENT_CALL_PATCH;
        if (m->silence[m->call].until_ns > now_ns) {
            lose_first(m, EVENT_SILENCED, true);
            continue;
        }
        if (ready_ns > now_ns) {
            *ret_wake_ns = ready_ns;
            break;
        }
        write_call(m, e, path, body);
        event_limits_called(&m->limits, now_ns);
        m->sent_count = m->call == EVENT_CALL_POST ? 1 : e->count;
        m->flying = true;
        return m->call;
    }
    return EVENT_CALL_NONE;
}

/* ---- replies ---- */

static enum event_news accepted(struct event_machine *m, int64_t now_ns)
{
    uint32_t i = dequeue(m);
    struct entry *e = &m->entries[i];
    bool was_silent = m->silence[m->call].known;

    observe(m, e->reason, m->call == EVENT_CALL_POST ? EVENT_POSTED : EVENT_COUNTED);
    m->silence[m->call].known = false;
    free(e->body);
    e->body = NULL;
    e->told = m->sent_count;
    e->told_ns = now_ns;
    if (e->count > e->told && (e->told == 1 || m->hurry)) { /* happened again meanwhile */
        enqueue(m, i);
    }
    return was_silent ? EVENT_NEWS_ALLOWED : EVENT_NEWS_NONE;
}

static enum event_news forbidden(struct event_machine *m, int64_t now_ns)
{
    bool was_known = m->silence[m->call].known;

    int64_t ms = was_known ? 2 * m->silence[m->call].ms : EVENT_SILENCE_MIN_MS;

    m->silence[m->call].ms = ms < EVENT_SILENCE_MS ? ms : EVENT_SILENCE_MS;
    m->silence[m->call].until_ns = now_ns + m->silence[m->call].ms * NS_PER_MS;
    m->silence[m->call].known = true;
    lose_first(m, EVENT_FORBIDDEN, true);
    return was_known ? EVENT_NEWS_NONE : EVENT_NEWS_FORBIDDEN;
}

static enum event_news rejected(struct event_machine *m)
{
    bool was_known = m->was_rejected;

    m->was_rejected = true;
    lose_first(m, EVENT_REJECTED, false);
    return was_known ? EVENT_NEWS_NONE : EVENT_NEWS_REJECTED;
}

static void unanswered(struct event_machine *m, const struct event_answer *a, int64_t now_ns)
{
    int64_t pause_ms = EVENT_PAUSE_MAX_MS;

    if (m->hurry) {
        event_machine_abandon(m);
        return;
    }
    if (m->failures < 5) {
        pause_ms = EVENT_PAUSE_MIN_MS << m->failures;
        m->failures++;
    }
    pause_ms += (int64_t)rng_below(&m->rng, (uint64_t)pause_ms);
    pause_ms = later(pause_ms, a->retry_after_ms < EVENT_SILENCE_MS ? a->retry_after_ms : EVENT_SILENCE_MS);
    m->pause_until_ns = now_ns + pause_ms * NS_PER_MS;
    if (++first_queued(m)->tries >= EVENT_TRIES_MAX) {
        lose_first(m, EVENT_GAVE_UP, true);
    }
}

enum event_news event_machine_replied(struct event_machine *m, const struct event_answer *a, int64_t now_ns)
{
    BUG_ON(!m->flying || m->queued_n == 0);
    m->flying = false;
    if (a->reply == EVENT_REPLY_RETRY) {
        unanswered(m, a, now_ns);
        return EVENT_NEWS_NONE;
    }
    m->failures = 0;
    if (a->reply == EVENT_REPLY_ACCEPTED) {
        return accepted(m, now_ns);
    }
    if (a->reply == EVENT_REPLY_FORBIDDEN) {
        return forbidden(m, now_ns);
    }
    if (a->reply == EVENT_REPLY_GONE && m->call == EVENT_CALL_PATCH) {
        drop_entry(m, dequeue(m)); /* it has expired; if it happens again, that is a new Event */
        return EVENT_NEWS_NONE;
    }
    return rejected(m);
}

void event_machine_hurry(struct event_machine *m)
{
    m->hurry = true;
    m->pause_until_ns = 0;
    for (uint32_t i = 0; i < m->entry_n && m->queued_n < EVENT_PENDING_MAX; i++) {
        if (!m->entries[i].queued && m->entries[i].count > m->entries[i].told) {
            enqueue(m, i);
        }
    }
}

bool event_machine_is_idle(const struct event_machine *m)
{
    return m->queued_n == 0;
}

void event_machine_abandon(struct event_machine *m)
{
    m->flying = false;
    while (m->queued_n > 0) {
        lose_first(m, EVENT_GAVE_UP, true);
    }
}
