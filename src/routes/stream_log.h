/* routes/stream_log.h - the text of all event streams, written once and read by many.
 *
 * One writer (the feed's thread) appends batches of whole events to a ring of bytes; each reader has its place in it,
 * so a reader costs a few hundred bytes however much it has yet to read. Every batch says what changed after generation
 * `from` up to generation `to`, and begins where the one before ended: a reader that has generation N begins with the
 * first batch whose `to` is not below N. A reader for which there is none any more is told to read everything anew.
 *
 * The writer waits for the slowest reader, STREAM_PATIENCE_MS in all for one batch; who still has not made room then is
 * lost: its connection is cut. So is everybody when a batch cannot be completed.
 *
 * Lock: its own, a leaf. Streams are woken without it. The ring is there while somebody reads.
 */
#ifndef ROUTES_STREAM_LOG_H
#define ROUTES_STREAM_LOG_H

#include "base/str.h"
#include "base/sync.h"
#include "httpd/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define STREAM_LOG_BYTES ((size_t)16 << 20)
#define STREAM_BATCHES_MAX 1024
#define STREAM_PATIENCE_MS 2000
#define STREAM_HELLO_MAX 512

struct stream_reader {
    LIST_ENTRY(stream_reader) link; /* of log.readers */
    struct stream_log *log;
    struct httpd_stream *stream; /* to wake it; NULL: nobody is woken */
    char hello[STREAM_HELLO_MAX];
    size_t hello_n, hello_at;
    uint64_t generation; /* that it came with */
    uint64_t at;  /* of all bytes ever written, the next; UINT64_MAX: with the next batch that is not older than it */
    uint64_t end; /* its last byte; UINT64_MAX: none */
    bool lost, follows;
    int64_t until_ns; /* it ends at the first end of a batch after that */
};

struct stream_batch {
    uint64_t at; /* first byte */
    uint64_t from, to;
};

struct stream_log {
    struct mutex lock;
    struct condvar room; /* a reader has read, or the log is closed */
    struct condvar readers_changed;
    LIST_HEAD(, stream_reader) readers;
    size_t place_n, place_max; /* reserved */
    size_t bytes;
    size_t following_n; /* readers that are told more than hello */
    bool closed;
    char *ring;    /* NULL: nobody reads */
    uint64_t head; /* bytes ever written */
    struct stream_batch batches[STREAM_BATCHES_MAX];
    uint64_t batch_n; /* of all time since the first reader came */
    bool in_batch, joined;
    uint64_t covered; /* `to` of the last batch, or where the first one begins */
    uint64_t unwoken; /* bytes that nobody was woken for */
    int64_t patient_until_ns;
    uint64_t dropped_n; /* readers that were lost */
};

void stream_log_init(struct stream_log *l, size_t bytes, size_t place_max);
void stream_log_fini(struct stream_log *l); /* without readers */
/* The writer is to stop: nothing waits any more. */
void stream_log_close(struct stream_log *l);

/* ---- readers, on threads of the server ---- */

/* A place for one reader, given back by stream_log_release(). False: all are taken. */
bool stream_log_reserve(struct stream_log *l);
void stream_log_release(struct stream_log *l);
/* `r` has what its owner set: stream, hello, until_ns. From now to stream_log_leave() somebody else sees to it that
 * `stream` lives. False: what it needs is not there any more. */
WARN_UNUSED bool stream_log_join(struct stream_log *l, uint64_t generation, struct stream_reader *r);
/* A reader that is only told to read anew: its hello is all it gets. */
void stream_log_join_to_end(struct stream_log *l, struct stream_reader *r);
void stream_log_leave(struct stream_reader *r);
/* As httpd_stream_source.read; `now_ns` on the clock of until_ns. */
ssize_t stream_log_read(struct stream_reader *r, char *buf, size_t max, int64_t now_ns);

/* ---- the writer ---- */

/* Waits until somebody follows, at most to `until_ns`. Returns how many did at first: after 0 whoever follows now
 * begins where it says, and what the writer remembers of before is of no use. */
size_t stream_log_wait(struct stream_log *l, int64_t until_ns);
/* Until then, or the log is closed. */
void stream_log_rest(struct stream_log *l, int64_t until_ns);
bool stream_log_is_closed(struct stream_log *l);
/* Has somebody come since the last call? */
bool stream_log_take_joined(struct stream_log *l);
uint64_t stream_log_covered(struct stream_log *l);
/* From what is covered up to `to`. */
void stream_log_begin(struct stream_log *l, uint64_t to);
void stream_log_add(struct stream_log *l, struct str text);
void stream_log_end(struct stream_log *l);
/* Between batches: text that changes nothing (a comment). */
void stream_log_remark(struct stream_log *l, struct str text);
/* Between batches: all who read now get this as their last, and who comes later begins at `generation`. */
void stream_log_finish_all(struct stream_log *l, struct str text, uint64_t generation);
/* In a batch that cannot be completed: all who read now are cut, and who comes later begins at `generation`. */
void stream_log_cut_all(struct stream_log *l, uint64_t generation);
/* How many read, and how many were dropped so far. Any thread. */
size_t stream_log_count(struct stream_log *l, uint64_t *ret_dropped);
/* Streams whose time is over. */
void stream_log_wake_expired(struct stream_log *l, int64_t now_ns);

#endif
