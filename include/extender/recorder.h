/* extender/recorder.h - the flight recorder: the last lines of text that were added, in memory of a fixed size.
 *
 * The store (extender/store_trace.h) adds what changes the ledger and what is decided, in that order; what the lines
 * say: config/trace.schema.json. When the memory is full the oldest lines go. Lines are numbered from 1 without a gap,
 * so whoever has number 1 has everything since the start.
 *
 * Memory: what it is born with, touched at once, so that it does not grow later. No lock: it is the owner's, as the
 * order of the lines is.
 */
#ifndef EXTENDER_RECORDER_H
#define EXTENDER_RECORDER_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDER_BYTES_MIN 65536

struct recorder;

struct recorder *recorder_new(size_t bytes); /* at least RECORDER_BYTES_MIN */
void recorder_free(struct recorder *r);      /* NULL is fine */

/* `body` is one JSON object that is not empty and contains no line end; number, time and generation are put in front of
 * its members. One that is larger than a quarter of the memory is replaced by a line of type "omitted". */
void recorder_add(struct recorder *r, int64_t at_ms, uint64_t generation, struct str body);

/* Numbers of the oldest line that is there, and of the next one. Equal: there is none. */
uint64_t recorder_first(const struct recorder *r);
uint64_t recorder_next(const struct recorder *r);

/* A reader of what there is now, the oldest first. */
struct recorder_cursor {
    uint64_t at, end; /* in bytes since the beginning */
};
void recorder_open(const struct recorder *r, struct recorder_cursor *ret);
/* Copies up to `max` bytes; 0 at the end. False: what comes next has been overwritten meanwhile. */
bool recorder_read(const struct recorder *r, struct recorder_cursor *c, char *buf, size_t max, size_t *ret_n);

#endif
