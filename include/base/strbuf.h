/* base/strbuf.h - a growing buffer that is born with its maximum.
 *
 * On passing `max_bytes` nothing more is added and `overflowed` sticks: build the whole text, check once.
 * The content is always NUL-terminated (the NUL is not counted). Owner: whoever called strbuf_init.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include "base/bug.h"
#include "base/compiler.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct strbuf {
    char *p; /* "" until the first growth, then malloc'ed */
    size_t n;
    size_t cap;
    size_t max_bytes;
    bool overflowed;
};

void strbuf_init(struct strbuf *b, size_t max_bytes);
void strbuf_fini(struct strbuf *b);
void strbuf_reset(struct strbuf *b); /* empty again, memory kept, overflow forgotten */
void strbuf_wipe(struct strbuf *b);  /* the same, and nothing of a secret is left in that memory */

/* strbuf_add, strbuf_add_str, strbuf_add_char: below */
void strbuf_add_cstr(struct strbuf *b, const char *s);
void strbuf_add_u64(struct strbuf *b, uint64_t v);
void strbuf_add_i64(struct strbuf *b, int64_t v);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

struct str strbuf_view(const struct strbuf *b); /* until the next change */
/* Hands the malloc'ed, NUL-terminated text to the caller (free it) and empties the buffer. */
char *strbuf_take(struct strbuf *b, size_t *ret_n);

/* ---- inline, because documents of megabytes are written a few bytes at a time ---- */

/* What strbuf_reserve does when there is no room yet. */
WARN_UNUSED char *strbuf_reserve_slow(struct strbuf *b, size_t n);

/* Room for at least n more bytes at b->p + b->n; the caller writes there and calls strbuf_commit. NULL when
 * that would pass the maximum. */
WARN_UNUSED static inline char *strbuf_reserve(struct strbuf *b, size_t n)
{
    /* An empty buffer has no cap; one that overflowed has to go the slow way. */
    if (!b->overflowed && b->n < b->cap && n < b->cap - b->n && n <= b->max_bytes - b->n) {
        return b->p + b->n;
    }
    return strbuf_reserve_slow(b, n);
}

static inline void strbuf_commit(struct strbuf *b, size_t n)
{
    BUG_ON(b->cap == 0 || n >= b->cap - b->n);
    b->n += n;
    b->p[b->n] = '\0';
}

/* Only the first n bytes stay. */
static inline void strbuf_truncate(struct strbuf *b, size_t n)
{
    BUG_ON(n > b->n);
    b->n = n;
    if (b->cap > 0) {
        b->p[n] = '\0';
    }
}

static inline void strbuf_add(struct strbuf *b, const void *p, size_t n)
{
    char *to = strbuf_reserve(b, n);

    if (to == NULL) {
        return;
    }
    if (n > 0) {
        memcpy(to, p, n);
    }
    strbuf_commit(b, n);
}

static inline void strbuf_add_str(struct strbuf *b, struct str s)
{
    strbuf_add(b, s.p, s.n);
}

static inline void strbuf_add_char(struct strbuf *b, char c)
{
    strbuf_add(b, &c, 1);
}

#endif
