/* sim/csv.h - comma separated tables with a header line, read strictly.
 *
 * Columns are found by name and may stand in any order; others are ignored. Fields may be quoted as
 * in RFC 4180, without line breaks or doubled quotes in them. Every error names file, line and
 * column, and says what should stand there.
 */
#ifndef SIM_CSV_H
#define SIM_CSV_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_COLUMNS_MAX 64
#define CSV_NONE SIZE_MAX

struct csv {
    const char *path; /* for messages */
    struct str rest;  /* lines not read yet */
    unsigned line;    /* of `fields`, from 1 */
    size_t column_n;
    struct str columns[CSV_COLUMNS_MAX];
    struct str fields[CSV_COLUMNS_MAX]; /* of the current line; point into the text */
};

/* Reads the header. `path` and `text` are borrowed as long as `c` is used. */
WARN_UNUSED int csv_begin(struct csv *c, const char *path, struct str text, struct err *reterr);

/* The column of this name; CSV_NONE when there is none. */
size_t csv_find(const struct csv *c, const char *name);

struct csv_column {
    const char *name;
    size_t *ret;
};
/* Finds `n` columns; not having one is an error. */
WARN_UNUSED int csv_columns(const struct csv *c, const struct csv_column *wanted, size_t n, struct err *reterr);

/* The next line that is not empty: 1, 0 at the end, negative when its fields do not fit the header.
 */
WARN_UNUSED int csv_next(struct csv *c, struct err *reterr);

/* A whole number from 0 to max; `meaning` ends the message: "the cores it asks for in milli". */
WARN_UNUSED int csv_number(const struct csv *c, size_t column, int64_t max, const char *meaning, int64_t *ret,
                           struct err *reterr);
/* A text that must not be empty. */
WARN_UNUSED int csv_text(const struct csv *c, size_t column, const char *meaning, struct str *ret, struct err *reterr);

/* A whole file, at most max_bytes, into the arena. */
WARN_UNUSED int csv_read_file(const char *path, size_t max_bytes, struct arena *a, struct str *ret, struct err *reterr);

#endif
