/* config/diagnostics.h - everything that is wrong with one file, told at once and with its place.
 *
 *     fgpu.yaml:12:3: unknown key 'candidtes' in packing; did you mean 'candidates'?
 *       candidtes: 100
 *       ^
 *
 * Readers add findings in any order; the list keeps the DIAGNOSTICS_MAX first ones in file order
 * and counts the rest. A file that holds secrets (a kubeconfig) is marked so, and then no line of
 * it is ever quoted. No I/O. All text lives in the arena given to diagnostics_init.
 */
#ifndef CONFIG_DIAGNOSTICS_H
#define CONFIG_DIAGNOSTICS_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIAGNOSTICS_MAX 20

/* A place in a text. Both count from 1; columns count characters, not bytes (a tab is one). {0, 0}:
 * the file as a whole. */
struct text_pos {
    uint32_t line;
    uint32_t column;
};

struct diagnostic {
    struct text_pos pos;
    struct str message;
};

struct diagnostics {
    struct arena *arena;
    struct str file; /* as the user named it */
    struct str text; /* the whole file, for the quoted lines; borrowed */
    bool secret;     /* never quote a line */
    size_t n;        /* items in use, in file order */
    size_t dropped;  /* found beyond DIAGNOSTICS_MAX */
    struct diagnostic items[DIAGNOSTICS_MAX];
};

void diagnostics_init(struct diagnostics *d, struct arena *arena, struct str file, struct str text);

void diagnostics_add(struct diagnostics *d, struct text_pos pos, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* `s`, or its beginning and "..." when it is long: every word from the file goes into a message
 * this way. */
struct str diagnostics_word(struct diagnostics *d, struct str s);

static inline bool diagnostics_any(const struct diagnostics *d)
{
    return d->n > 0;
}

/* Appends every finding as shown above, then "and N more" when some were dropped. */
void diagnostics_render(const struct diagnostics *d, struct strbuf *out);

/* The first finding as an error object: "FILE:L:C: message (and N more)". There must be one. */
int diagnostics_to_err(const struct diagnostics *d, enum err_code code, struct err *reterr);

#endif
