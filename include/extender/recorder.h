/* extender/recorder.h - the flight recorder: the last lines that were added, in memory of a fixed size.
 *
 * The store (extender/store_trace.h) adds what changes the ledger and what is decided, in that order; what the lines
 * say: config/trace.schema.json. When the memory is full the oldest lines go. Lines are numbered from 1 without a gap,
 * so whoever has number 1 has everything since the start.
 *
 * A line lies in the ring as a frame: its length, time and generation, and a body in one of two forms. Text lines are
 * made by the reader (recorder_line), who alone needs them.
 *
 * Memory: what it is born with, touched at once, so that it does not grow later. No lock: it is the owner's, as the
 * order of the lines is.
 */
#ifndef EXTENDER_RECORDER_H
#define EXTENDER_RECORDER_H

#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDER_BYTES_MIN 65536

struct recorder;

struct recorder *recorder_new(size_t bytes); /* at least RECORDER_BYTES_MIN */
void recorder_free(struct recorder *r);      /* NULL is fine */

enum recorder_form {
    RECORDER_TEXT, /* one JSON object that is not empty and contains no line end */
    RECORDER_OP,   /* op_pack() */
};

/* One that is larger than a quarter of the memory is replaced by a line of type "omitted". */
void recorder_add(struct recorder *r, int64_t at_ms, uint64_t generation, enum recorder_form form, struct str body);

/* Numbers of the oldest line that is there, and of the next one. Equal: there is none. */
uint64_t recorder_first(const struct recorder *r);
uint64_t recorder_next(const struct recorder *r);

/* A reader of what there is now, the oldest first. */
struct recorder_cursor {
    uint64_t at, end; /* in bytes since the beginning */
};
void recorder_open(const struct recorder *r, struct recorder_cursor *ret);
/* Copies up to `max` bytes of frames; 0 at the end. False: what comes next has been overwritten meanwhile. */
bool recorder_read(const struct recorder *r, struct recorder_cursor *c, char *buf, size_t max, size_t *ret_n);

/* Needs no recorder: the first of these frames as a line of text, with its number. Returns the length of the frame; 0:
 * it is not whole yet, and nothing was added. */
size_t recorder_line(struct str frames, uint64_t seq, struct strbuf *to);

#endif
