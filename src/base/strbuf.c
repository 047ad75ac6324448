/* base/strbuf.c - the growing buffer. */
#include "base/strbuf.h"

#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an empty buffer points at. Never written: the first addition allocates. */
static char empty[1];

enum { FIRST_BYTES = 256 };

void strbuf_init(struct strbuf *b, size_t max_bytes)
{
    *b = (struct strbuf){.p = empty, .max_bytes = max_bytes};
}

void strbuf_fini(struct strbuf *b)
{
    if (b->cap > 0) {
        free(b->p);
    }
    strbuf_init(b, b->max_bytes);
}

void strbuf_reset(struct strbuf *b)
{
    b->n = 0;
    b->overflowed = false;
    if (b->cap > 0) {
        b->p[0] = '\0';
    }
}

void strbuf_wipe(struct strbuf *b)
{
    if (b->cap > 0) {
        explicit_bzero(b->p, b->cap);
    }
    strbuf_reset(b);
}

/* `cap` counts the byte of the NUL. */
static void grow(struct strbuf *b, size_t need)
{
    size_t cap = b->cap > 0 ? b->cap : FIRST_BYTES;
    while (cap < need && cap <= SIZE_MAX / 2) {
        cap *= 2;
    }
    if (cap < need) {
        cap = need;
    }
    b->p = xreallocarray(b->cap > 0 ? b->p : NULL, cap, 1);
    b->cap = cap;
}

char *strbuf_reserve_slow(struct strbuf *b, size_t n)
{
    if (b->overflowed || n > b->max_bytes - b->n) {
        b->overflowed = true;
        return NULL;
    }
    size_t need;
    BUG_ON(__builtin_add_overflow(b->n + n, (size_t)1, &need));
    if (need > b->cap) {
        grow(b, need);
    }
    return b->p + b->n;
}

void strbuf_add_cstr(struct strbuf *b, const char *s)
{
    strbuf_add(b, s, strlen(s));
}

enum { U64_DIGITS = 20 };

/* Digits of v in front of `end`, two at a time; returns the first. */
static char *digits_before(char *end, uint64_t v)
{
    static const char PAIRS[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    while (v >= 100) {
        end -= 2;
        memcpy(end, PAIRS + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        end -= 2;
        memcpy(end, PAIRS + 2 * v, 2);
    } else {
        *--end = (char)('0' + (int)v);
    }
    return end;
}

void strbuf_add_u64(struct strbuf *b, uint64_t v)
{
    char text[U64_DIGITS], *end = text + sizeof(text), *at = digits_before(end, v);
    strbuf_add(b, at, (size_t)(end - at));
}

void strbuf_add_i64(struct strbuf *b, int64_t v)
{
    char text[U64_DIGITS + 1], *end = text + sizeof(text);
    char *at = digits_before(end, v < 0 ? 0 - (uint64_t)v : (uint64_t)v); /* also right for INT64_MIN */
    if (v < 0) {
        *--at = '-';
    }
    strbuf_add(b, at, (size_t)(end - at)); /* one addition: all of it or nothing */
}

void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    BUG_ON(n < 0);
    char *to = strbuf_reserve(b, (size_t)n);
    if (to == NULL) {
        return;
    }
    vsnprintf(to, (size_t)n + 1, fmt, ap);
    strbuf_commit(b, (size_t)n);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(b, fmt, ap);
    va_end(ap);
}

struct str strbuf_view(const struct strbuf *b)
{
    return (struct str){b->p, b->n};
}

char *strbuf_take(struct strbuf *b, size_t *ret_n)
{
    char *text = b->p;
    if (b->cap == 0) {
        text = xcalloc(1, 1);
    }
    if (ret_n != NULL) {
        *ret_n = b->n;
    }
    strbuf_init(b, b->max_bytes);
    return text;
}
