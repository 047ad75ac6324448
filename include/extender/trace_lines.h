/* extender/trace_lines.h - a saved trace (GET /v1/trace, config/trace.schema.json), line by line.
 *
 * Strict about what makes it a trace: the version, numbers without a gap, the last line. What the lines say is read by
 * who wants it. Text is borrowed from the document or in the arena.
 */
#ifndef EXTENDER_TRACE_LINES_H
#define EXTENDER_TRACE_LINES_H

#include "base/json_read.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_head {
    struct str version, started_at, as_of; /* for people: made fit for a terminal */
    uint64_t first, next;                  /* numbers of its lines; next is one too far */
    bool complete;                         /* everything since the start */
};

struct trace_lines {
    struct json_reader *reader; /* the caller's: large */
    struct arena *arena;        /* for heads */
    struct str rest;
    struct trace_head head;
    uint64_t next; /* expected number */
    bool ended;
};

/* What every line has. */
struct trace_line {
    struct str text; /* all of it, without the line end */
    uint64_t seq, generation;
    int64_t at_ms;
    struct str type; /* made fit for a terminal */
};

/* Reads the first line. ERR_INVALID, ERR_PARSE: what is wrong with it. */
WARN_UNUSED int trace_lines_begin(struct trace_lines *t, struct str document, struct json_reader *reader,
                                  struct arena *a, struct err *reterr);
/* The next line; *ret_any false: there is none, and the trace is whole. */
WARN_UNUSED int trace_lines_next(struct trace_lines *t, struct trace_line *ret, bool *ret_any, struct err *reterr);

#endif
