#include "extender/event_machine_internal.h"

#include "base/bug.h"

#include <stdlib.h>

#define SWEEP_NS (10 * INT64_C(1000000000))
#define MS INT64_C(1000000)

const char *event_outcome_name(enum event_outcome f)
{
    static const char *const names[EVENT_OUTCOME__MAX] = {
        [EVENT_POSTED] = "posted",       [EVENT_COUNTED] = "counted",       [EVENT_REPEATED] = "repeated",
        [EVENT_LIMITED] = "limited",     [EVENT_QUEUE_FULL] = "queue_full", [EVENT_SILENCED] = "silenced",
        [EVENT_FORBIDDEN] = "forbidden", [EVENT_REJECTED] = "rejected",     [EVENT_GAVE_UP] = "gave_up",
        [EVENT_NOWHERE] = "nowhere",
    };

    BUG_ON((unsigned)f >= EVENT_OUTCOME__MAX);
    return names[f];
}

struct event_machine *event_machine_new(const struct event_machine_options *o)
{
    struct event_machine *m = xcalloc(1, sizeof(*m));

    m->options = *o;
    rng_init(&m->rng, o->seed);
    hashmap_init(&m->index);
    m->entries = xcalloc(EVENT_SERIES_MAX, sizeof(*m->entries));
    m->free = m->first = m->last = EVENT_NONE;
    m->calls.empty_ns = INT64_MIN / 2;
    for (size_t i = 0; i < EVENT_OBJECT_BUCKETS; i++) {
        m->objects[i].empty_ns = INT64_MIN / 2;
    }
    for (size_t i = 0; i < EVENT_NAMESPACE_BUCKETS; i++) {
        m->namespaces[i].empty_ns = INT64_MIN / 2;
    }
    for (size_t i = 0; i <= EVENT_CALL_PATCH; i++) {
        m->silence[i].until_ns = INT64_MIN;
    }
    m->pause_until_ns = INT64_MIN;
    return m;
}

void event_machine_free(struct event_machine *m)
{
    if (m == NULL) {
        return;
    }
    for (uint32_t i = 0; i < m->entry_n; i++) {
        free(m->entries[i].key);
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

/* ---- buckets ---- */

static int64_t token_at_ns(const struct bucket *b, int64_t refill_ms)
{
    return b->empty_ns + refill_ms * MS;
}

static void take_token(struct bucket *b, int64_t refill_ms, int64_t burst, int64_t now_ns)
{
    int64_t full_ns = now_ns - burst * refill_ms * MS;

    if (b->empty_ns < full_ns) {
        b->empty_ns = full_ns;
    }
    b->empty_ns += refill_ms * MS;
}

/* A token of the object and one of its namespace, or none. */
static bool admit(struct event_machine *m, const struct event_object *o, int64_t now_ns)
{
    uint64_t ns_hash = hash_str(m->options.key, o->namespace_);
    uint64_t hash = hash_str(m->options.key, o->name) ^ (ns_hash * 31);
    struct bucket *object = &m->objects[hash % EVENT_OBJECT_BUCKETS];
    struct bucket *ns = &m->namespaces[ns_hash % EVENT_NAMESPACE_BUCKETS];
    bool limited_ns = o->kind == EVENT_OBJECT_POD;

    if (token_at_ns(object, EVENT_OBJECT_REFILL_MS) > now_ns ||
        (limited_ns && token_at_ns(ns, EVENT_NAMESPACE_REFILL_MS) > now_ns)) {
        return false;
    }
    take_token(object, EVENT_OBJECT_REFILL_MS, EVENT_OBJECT_BURST, now_ns);
    if (limited_ns) {
        take_token(ns, EVENT_NAMESPACE_REFILL_MS, EVENT_NAMESPACE_BURST, now_ns);
    }
    return true;
}

/* ---- recording ---- */

static bool is_silent(const struct event_machine *m, enum event_call call, int64_t now_ns)
{
    return m->silence[call].until_ns > now_ns;
}

static void repeat(struct event_machine *m, uint32_t i, int64_t now_ns, int64_t wall_ms)
{
    struct entry *e = &m->entries[i];

    if (e->count < INT32_MAX) {
        e->count++;
    }
    e->last_ns = now_ns;
    e->last_wall_ms = wall_ms;
    observe(m, e->event.reason, EVENT_REPEATED);
    if (e->told == 1 && !e->queued && m->queued_n < EVENT_PENDING_MAX) {
        event_enqueue(m, i);
    }
}

static void add(struct event_machine *m, const struct event_key *k, uint64_t hash, int64_t now_ns, int64_t wall_ms)
{
    uint32_t i = event_series_add(m, k, hash);
    struct entry *e = &m->entries[i];

    e->first_wall_ms = e->last_wall_ms = wall_ms;
    e->last_ns = now_ns;
    e->count = 1;
    event_enqueue(m, i);
}

void event_machine_record(struct event_machine *m, const struct event *event, int64_t now_ns, int64_t wall_ms)
{
    struct event_key key;
    uint64_t hash;
    uint32_t i;

    if (event_check_object(&event->regarding) != NULL ||
        (event->related.kind != EVENT_OBJECT_NONE && event_check_object(&event->related) != NULL) ||
        !event_key_make(&key, event)) {
        observe(m, event->reason, EVENT_REJECTED);
        return;
    }
    hash = hash_str(m->options.key, (struct str){key.bytes, key.n});
    i = event_series_find(m, &key, hash);
    if (i != EVENT_NONE) {
        repeat(m, i, now_ns, wall_ms);
    } else if (is_silent(m, EVENT_CALL_POST, now_ns)) {
        observe(m, event->reason, EVENT_SILENCED);
    } else if (m->queued_n >= EVENT_PENDING_MAX) {
        observe(m, event->reason, EVENT_QUEUE_FULL);
    } else if (!admit(m, &event->regarding, now_ns)) {
        observe(m, event->reason, EVENT_LIMITED);
    } else {
        add(m, &key, hash, now_ns, wall_ms);
    }
}

/* ---- what to do ---- */

/* Counts that are due to be told, series that are over. */
static void sweep(struct event_machine *m, int64_t now_ns)
{
    for (uint32_t i = 0; i < m->entry_n; i++) {
        struct entry *e = &m->entries[i];
        bool news = e->count > e->told;
        bool quiet = now_ns - e->last_ns >= EVENT_QUIET_MS * MS;

        if (e->key == NULL || e->queued) {
            continue;
        }
        if (news && (quiet || m->hurry || e->told == 1 || now_ns - e->told_ns >= EVENT_REFRESH_MS * MS)) {
            if (m->queued_n < EVENT_PENDING_MAX) {
                event_enqueue(m, i);
            }
        } else if (quiet && !news) {
            event_series_drop(m, i);
        }
    }
    m->sweep_ns = m->index.used_n > 0 ? now_ns + SWEEP_NS : INT64_MAX;
}

static enum event_call call_of(const struct entry *e)
{
    return e->told == 0 ? EVENT_CALL_POST : EVENT_CALL_PATCH;
}

/* Takes the first of the queue out for good. A series whose count cannot be told is kept, as if it
 * had been: to know a repeat. */
static void lose_first(struct event_machine *m, enum event_outcome outcome, bool keep)
{
    uint32_t i = event_dequeue(m);
    struct entry *e = &m->entries[i];

    observe(m, e->event.reason, outcome);
    if (e->told > 0 && keep) {
        e->told = e->count;
    } else {
        event_series_drop(m, i);
    }
}

static bool encode(const struct event_machine *m, const struct entry *e, struct strbuf *path, struct strbuf *body)
{
    struct event_series series = {e->count >= 2 ? e->count : 0, e->last_wall_ms};

    strbuf_reset(path);
    strbuf_reset(body);
    return (m->call == EVENT_CALL_POST
                ? event_post(&e->event, e->name, m->options.instance, e->first_wall_ms, series, path, body, NULL)
                : event_patch(&e->event.regarding, e->name, series, path, body, NULL)) == 0;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

enum event_call event_machine_next(struct event_machine *m, int64_t now_ns, struct strbuf *path, struct strbuf *body,
                                   int64_t *ret_wake_ns)
{
    BUG_ON(m->flying);
    if (m->sweep_ns <= now_ns || (m->sweep_ns == INT64_MAX && m->index.used_n > 0)) {
        sweep(m, now_ns);
    }
    while (m->first != EVENT_NONE) {
        struct entry *e = &m->entries[m->first];
        int64_t ready_ns =
            later(m->pause_until_ns, m->hurry ? INT64_MIN : token_at_ns(&m->calls, EVENT_CALLS_REFILL_MS));

        m->call = call_of(e);
        if (is_silent(m, m->call, now_ns)) {
            lose_first(m, EVENT_SILENCED, true);
            continue;
        }
        if (ready_ns > now_ns) {
            *ret_wake_ns = ready_ns < m->sweep_ns ? ready_ns : m->sweep_ns;
            return EVENT_CALL_NONE;
        }
        if (!encode(m, e, path, body)) {
            lose_first(m, EVENT_REJECTED, false);
            continue;
        }
        take_token(&m->calls, EVENT_CALLS_REFILL_MS, EVENT_CALLS_BURST, now_ns);
        m->sent_count = e->count;
        m->flying = true;
        return m->call;
    }
    *ret_wake_ns = m->sweep_ns;
    return EVENT_CALL_NONE;
}

/* ---- replies ---- */

static enum event_news accepted(struct event_machine *m, int64_t now_ns)
{
    uint32_t i = event_dequeue(m);
    struct entry *e = &m->entries[i];
    bool was_silent = m->silence[m->call].known;

    observe(m, e->event.reason, m->call == EVENT_CALL_POST ? EVENT_POSTED : EVENT_COUNTED);
    m->failures = 0;
    m->silence[m->call].known = false;
    e->told = m->sent_count;
    e->told_ns = now_ns;
    if (e->told == 1 && e->count > 1) { /* happened again meanwhile */
        event_enqueue(m, i);
    }
    return was_silent ? EVENT_NEWS_ALLOWED : EVENT_NEWS_NONE;
}

static enum event_news forbidden(struct event_machine *m, int64_t now_ns)
{
    bool was_known = m->silence[m->call].known;

    m->silence[m->call].until_ns = now_ns + EVENT_SILENCE_MS * MS;
    m->silence[m->call].known = true;
    m->failures = 0;
    lose_first(m, EVENT_FORBIDDEN, true);
    return was_known ? EVENT_NEWS_NONE : EVENT_NEWS_FORBIDDEN;
}

static enum event_news rejected(struct event_machine *m)
{
    bool was_known = m->was_rejected;

    m->was_rejected = true;
    m->failures = 0;
    lose_first(m, EVENT_REJECTED, false);
    return was_known ? EVENT_NEWS_NONE : EVENT_NEWS_REJECTED;
}

/* The Event has expired: a new one takes its place, with another name, because deleted names may
 * still be remembered by somebody who watches. */
static void renew(struct event_machine *m)
{
    struct entry *e = &m->entries[m->first];

    e->told = 0;
    event_name(e->event.regarding.name, rng_u64(&m->rng), e->name);
}

static void unanswered(struct event_machine *m, const struct event_answer *a, int64_t now_ns)
{
    int64_t pause_ms = EVENT_PAUSE_MAX_MS;
    struct entry *e = &m->entries[m->first];

    if (m->hurry) {
        event_machine_abandon(m);
        return;
    }
    if (m->failures < 5) {
        pause_ms = EVENT_PAUSE_MIN_MS << m->failures;
        m->failures++;
    }
    pause_ms = pause_ms > EVENT_PAUSE_MAX_MS ? EVENT_PAUSE_MAX_MS : pause_ms;
    pause_ms += (int64_t)rng_below(&m->rng, (uint64_t)pause_ms);
    pause_ms = later(pause_ms, a->retry_after_ms < EVENT_SILENCE_MS ? a->retry_after_ms : EVENT_SILENCE_MS);
    m->pause_until_ns = now_ns + pause_ms * MS;
    if (++e->tries >= EVENT_TRIES_MAX) {
        lose_first(m, EVENT_GAVE_UP, true);
    }
}

enum event_news event_machine_replied(struct event_machine *m, const struct event_answer *a, int64_t now_ns)
{
    BUG_ON(!m->flying || m->first == EVENT_NONE);
    m->flying = false;
    switch (a->reply) {
    case EVENT_REPLY_ACCEPTED:
        return accepted(m, now_ns);
    case EVENT_REPLY_GONE:
        if (m->call == EVENT_CALL_PATCH) {
            renew(m);
            return EVENT_NEWS_NONE;
        }
        return rejected(m);
    case EVENT_REPLY_FORBIDDEN:
        return forbidden(m, now_ns);
    case EVENT_REPLY_REJECTED:
        return rejected(m);
    case EVENT_REPLY_RETRY:
    case EVENT_REPLY__MAX:
        unanswered(m, a, now_ns);
        break;
    }
    return EVENT_NEWS_NONE;
}

void event_machine_hurry(struct event_machine *m)
{
    m->hurry = true;
    m->sweep_ns = INT64_MIN;
    m->pause_until_ns = INT64_MIN;
}

bool event_machine_is_idle(const struct event_machine *m)
{
    return m->first == EVENT_NONE && !(m->hurry && m->sweep_ns == INT64_MIN);
}

void event_machine_abandon(struct event_machine *m)
{
    m->flying = false;
    while (m->first != EVENT_NONE) {
        lose_first(m, EVENT_GAVE_UP, true);
    }
}
