#include "routes/stream_log.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* More unread text than this wakes the readers in the middle of a batch. */
enum { WAKE_BYTES = 64 * 1024, WAKE_MAX = 64 };

#define NEXT_BATCH UINT64_MAX

void stream_log_init(struct stream_log *l, size_t bytes, size_t place_max)
{
    *l = (struct stream_log){.bytes = bytes, .place_max = place_max};
    BUG_ON(place_max > WAKE_MAX);
    mutex_init(&l->lock, "stream log");
    condvar_init(&l->room, "stream log room");
    condvar_init(&l->readers_changed, "stream log readers");
    LIST_INIT(&l->readers);
}

void stream_log_fini(struct stream_log *l)
{
    BUG_ON(l->place_n > 0);
    free(l->ring);
    condvar_destroy(&l->room);
    condvar_destroy(&l->readers_changed);
    mutex_destroy(&l->lock);
}

void stream_log_close(struct stream_log *l)
{
    mutex_lock(&l->lock);
    l->closed = true;
    condvar_broadcast(&l->room);
    condvar_broadcast(&l->readers_changed);
    mutex_unlock(&l->lock);
}

/* ---- waking ---- */

struct sleepers {
    struct httpd_stream *streams[WAKE_MAX]; /* references */
    size_t n;
};

/* Under the lock. */
static void take_sleepers(struct stream_log *l, struct sleepers *ret)
{
    struct stream_reader *r;

    ret->n = 0;
    LIST_FOREACH (r, &l->readers, link) {
        if (r->stream != NULL) {
            ret->streams[ret->n++] = httpd_stream_ref(r->stream);
        }
    }
    l->unwoken = 0;
}

/* Without it: a stream takes locks of the server. */
static void wake(const struct sleepers *s)
{
    for (size_t i = 0; i < s->n; i++) {
        httpd_stream_wake(s->streams[i]);
        httpd_stream_unref(s->streams[i]);
    }
}

static void unlock_and_wake(struct stream_log *l)
{
    struct sleepers s;

    take_sleepers(l, &s);
    mutex_unlock(&l->lock);
    wake(&s);
}

/* ---- readers ---- */

static uint64_t tail(const struct stream_log *l)
{
    return l->head > l->bytes ? l->head - l->bytes : 0;
}

/* Where a reader that has this generation begins; false: what it needs is not there any more. */
static bool find_place(const struct stream_log *l, uint64_t generation, uint64_t *ret_at)
{
    uint64_t n = l->batch_n < STREAM_BATCHES_MAX ? l->batch_n : STREAM_BATCHES_MAX;

    for (uint64_t i = l->batch_n - n; i < l->batch_n; i++) {
        const struct stream_batch *b = &l->batches[i % STREAM_BATCHES_MAX];

        if (b->to >= generation) {
            *ret_at = b->at;
            return b->from <= generation && b->at >= tail(l);
        }
    }
    *ret_at = NEXT_BATCH;
    return generation >= l->covered;
}

static void join(struct stream_log *l, struct stream_reader *r)
{
    r->log = l;
    LIST_INSERT_HEAD(&l->readers, r, link);
    l->following_n += r->end == UINT64_MAX;
    r->follows = r->end == UINT64_MAX;
    l->joined = l->joined || r->follows;
    condvar_signal(&l->readers_changed);
}

bool stream_log_reserve(struct stream_log *l)
{
    bool free_;

    mutex_lock(&l->lock);
    free_ = l->place_n < l->place_max;
    l->place_n += free_;
    mutex_unlock(&l->lock);
    return free_;
}

void stream_log_release(struct stream_log *l)
{
    mutex_lock(&l->lock);
    l->place_n--;
    mutex_unlock(&l->lock);
}

bool stream_log_join(struct stream_log *l, uint64_t generation, struct stream_reader *r)
{
    bool found = true;

    mutex_lock(&l->lock);
    if (l->ring == NULL) {
        l->ring = xmalloc(l->bytes);
        l->head = l->batch_n = 0;
        l->in_batch = false;
        l->covered = generation;
        r->at = NEXT_BATCH;
    } else {
        found = find_place(l, generation, &r->at);
    }
    if (found) {
        r->end = UINT64_MAX;
        r->generation = generation;
        join(l, r);
    }
    mutex_unlock(&l->lock);
    return found;
}

void stream_log_join_to_end(struct stream_log *l, struct stream_reader *r)
{
    mutex_lock(&l->lock);
    r->at = r->end = 0;
    join(l, r);
    mutex_unlock(&l->lock);
}

void stream_log_leave(struct stream_reader *r)
{
    struct stream_log *l = r->log;

    mutex_lock(&l->lock);
    LIST_REMOVE(r, link);
    l->following_n -= r->follows;
    condvar_broadcast(&l->room);
    mutex_unlock(&l->lock);
}

static size_t copy_out(const struct stream_log *l, uint64_t at, char *buf, size_t n)
{
    size_t place = (size_t)(at % l->bytes);
    size_t first = l->bytes - place < n ? l->bytes - place : n;

    memcpy(buf, l->ring + place, first);
    memcpy(buf + first, l->ring, n - first);
    return n;
}

static ssize_t read_locked(struct stream_log *l, struct stream_reader *r, char *buf, size_t max, int64_t now_ns)
{
    uint64_t end = r->end < l->head ? r->end : l->head;

    if (r->hello_at < r->hello_n) {
        size_t n = r->hello_n - r->hello_at < max ? r->hello_n - r->hello_at : max;

        memcpy(buf, r->hello + r->hello_at, n);
        r->hello_at += n;
        return (ssize_t)n;
    }
    if (r->lost || (r->at < end && r->at < tail(l))) { /* the writer does not wait for who has an end */
        return HTTPD_STREAM_ABORT;
    }
    if (r->at != NEXT_BATCH && r->at < end) {
        size_t n = copy_out(l, r->at, buf, end - r->at < max ? (size_t)(end - r->at) : max);

        r->at += n;
        condvar_signal(&l->room);
        return (ssize_t)n;
    }
    if (r->end != UINT64_MAX || (now_ns >= r->until_ns && !(l->in_batch && r->at == l->head))) {
        return HTTPD_STREAM_END;
    }
    return HTTPD_STREAM_WAIT;
}

ssize_t stream_log_read(struct stream_reader *r, char *buf, size_t max, int64_t now_ns)
{
    struct stream_log *l = r->log;
    ssize_t n;

    mutex_lock(&l->lock);
    n = read_locked(l, r, buf, max, now_ns);
    mutex_unlock(&l->lock);
    return n;
}

/* ---- the writer ---- */

size_t stream_log_wait(struct stream_log *l, int64_t until_ns)
{
    size_t n;

    mutex_lock(&l->lock);
    n = l->following_n;
    if (n == 0) {
        free(l->ring);
        l->ring = NULL;
    }
    while (l->following_n == 0 && !l->closed && condvar_wait_until(&l->readers_changed, &l->lock, until_ns)) {
    }
    mutex_unlock(&l->lock);
    return n;
}

void stream_log_rest(struct stream_log *l, int64_t until_ns)
{
    mutex_lock(&l->lock);
    while (!l->closed && condvar_wait_until(&l->room, &l->lock, until_ns)) {
    }
    mutex_unlock(&l->lock);
}

bool stream_log_is_closed(struct stream_log *l)
{
    bool closed;

    mutex_lock(&l->lock);
    closed = l->closed;
    mutex_unlock(&l->lock);
    return closed;
}

bool stream_log_take_joined(struct stream_log *l)
{
    bool joined;

    mutex_lock(&l->lock);
    joined = l->joined;
    l->joined = false;
    mutex_unlock(&l->lock);
    return joined;
}

size_t stream_log_count(struct stream_log *l, uint64_t *ret_dropped)
{
    size_t n;

    mutex_lock(&l->lock);
    n = l->place_n;
    *ret_dropped = l->dropped_n;
    mutex_unlock(&l->lock);
    return n;
}

uint64_t stream_log_covered(struct stream_log *l)
{
    uint64_t covered;

    mutex_lock(&l->lock);
    covered = l->covered;
    mutex_unlock(&l->lock);
    return covered;
}

void stream_log_begin(struct stream_log *l, uint64_t to)
{
    struct stream_reader *r;

    mutex_lock(&l->lock);
    BUG_ON(l->in_batch);
    l->in_batch = true;
    l->batches[l->batch_n++ % STREAM_BATCHES_MAX] = (struct stream_batch){.at = l->head, .from = l->covered, .to = to};
    l->patient_until_ns = sync_in_ns(STREAM_PATIENCE_MS * NS_PER_MS);
    LIST_FOREACH (r, &l->readers, link) {
        r->at = r->at == NEXT_BATCH && r->generation <= to ? l->head : r->at;
    }
    mutex_unlock(&l->lock);
}

static bool is_reading(const struct stream_reader *r)
{
    return !r->lost && r->at != NEXT_BATCH && r->end == UINT64_MAX;
}

/* How much may be written before somebody loses bytes. */
static size_t room(const struct stream_log *l)
{
    uint64_t oldest = l->head;
    struct stream_reader *r;

    LIST_FOREACH (r, &l->readers, link) {
        oldest = is_reading(r) && r->at < oldest ? r->at : oldest;
    }
    return l->bytes - (size_t)(l->head - oldest);
}

/* Waits for room, or makes it. Returns how much there is; 0: the log is closed, or nobody reads any more. */
static size_t make_room(struct stream_log *l)
{
    struct stream_reader *r;
    size_t n = 0;

    while (!l->closed && l->ring != NULL && (n = room(l)) == 0 &&
           condvar_wait_until(&l->room, &l->lock, l->patient_until_ns)) {
    }
    if (l->closed || l->ring == NULL) {
        return 0;
    }
    LIST_FOREACH (r, &l->readers, link) {
        if (n == 0 && is_reading(r) && l->head - r->at == l->bytes) {
            r->lost = true;
            l->dropped_n++;
        }
    }
    return room(l);
}

static void append(struct stream_log *l, struct str text)
{
    while (text.n > 0) {
        size_t n = make_room(l);
        size_t place = (size_t)(l->head % l->bytes);

        if (n == 0) {
            return;
        }
        n = n < text.n ? n : text.n;
        n = n < l->bytes - place ? n : l->bytes - place;
        memcpy(l->ring + place, text.p, n);
        l->head += n;
        l->unwoken += n;
        text = str_drop(text, n);
    }
}

void stream_log_add(struct stream_log *l, struct str text)
{
    mutex_lock(&l->lock);
    BUG_ON(!l->in_batch);
    while (text.n > 0 && !l->closed) {
        struct str part = {text.p, text.n < WAKE_BYTES ? text.n : WAKE_BYTES};

        append(l, part);
        text = str_drop(text, part.n);
        if (l->unwoken >= WAKE_BYTES) {
            unlock_and_wake(l);
            mutex_lock(&l->lock);
        }
    }
    mutex_unlock(&l->lock);
}

void stream_log_end(struct stream_log *l)
{
    mutex_lock(&l->lock);
    BUG_ON(!l->in_batch);
    l->in_batch = false;
    l->covered = l->batches[(l->batch_n - 1) % STREAM_BATCHES_MAX].to;
    unlock_and_wake(l);
}

void stream_log_remark(struct stream_log *l, struct str text)
{
    mutex_lock(&l->lock);
    BUG_ON(l->in_batch);
    l->patient_until_ns = sync_in_ns(0);
    append(l, text);
    unlock_and_wake(l);
}

static void begin_anew(struct stream_log *l, uint64_t generation)
{
    l->in_batch = false;
    l->batch_n = 0;
    l->covered = generation;
}

void stream_log_finish_all(struct stream_log *l, struct str text, uint64_t generation)
{
    struct stream_reader *r;

    mutex_lock(&l->lock);
    BUG_ON(l->in_batch);
    LIST_FOREACH (r, &l->readers, link) {
        r->at = r->at == NEXT_BATCH ? l->head : r->at;
    }
    l->patient_until_ns = sync_in_ns(0);
    append(l, text);
    LIST_FOREACH (r, &l->readers, link) {
        r->end = r->end == UINT64_MAX ? l->head : r->end;
    }
    begin_anew(l, generation);
    unlock_and_wake(l);
}

void stream_log_cut_all(struct stream_log *l, uint64_t generation)
{
    struct stream_reader *r;

    mutex_lock(&l->lock);
    LIST_FOREACH (r, &l->readers, link) {
        l->dropped_n += !r->lost && r->end == UINT64_MAX;
        r->lost = r->end == UINT64_MAX;
    }
    begin_anew(l, generation);
    unlock_and_wake(l);
}

void stream_log_wake_expired(struct stream_log *l, int64_t now_ns)
{
    bool expired = false;
    struct stream_reader *r;

    mutex_lock(&l->lock);
    LIST_FOREACH (r, &l->readers, link) {
        expired = expired || now_ns >= r->until_ns;
    }
    if (expired) {
        unlock_and_wake(l);
    } else {
        mutex_unlock(&l->lock);
    }
}
