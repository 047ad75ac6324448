/* base/arena.c - bump allocation in chunks; one malloc per object under AddressSanitizer.
 *
 * Both builds count the same bytes against the cap, so a test of the cap holds in both.
 */
#include "base/arena.h"

#include "base/bug.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ONE_MALLOC_EACH 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ONE_MALLOC_EACH 1
#endif
#endif
#ifndef ARENA_ONE_MALLOC_EACH
#define ARENA_ONE_MALLOC_EACH 0
#endif

enum {
    ALIGN = _Alignof(max_align_t),
    CHUNK_MIN_BYTES = 4096,
    /* Chunks double up to here; a larger object has a chunk of its own, and reset gives that back, so one
     * huge request does not pin memory for the life of its thread. */
    CHUNK_MAX_BYTES = 1 << 20,
};

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    size_t used;
    _Alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *a, size_t max_bytes)
{
    *a = (struct arena){.max_bytes = max_bytes};
}

void arena_init_lent(struct arena *a, size_t max_bytes, struct arena_lender *lender, size_t free_bytes)
{
    *a = (struct arena){.max_bytes = max_bytes, .lender = lender, .free_bytes = free_bytes};
}

/* Of `held` bytes, those that the lender knows of. */
static size_t lent(const struct arena *a, size_t held)
{
    return a->lender == NULL || held <= a->free_bytes ? 0 : held - a->free_bytes;
}

static void free_chunks(struct arena *a, struct arena_chunk *c)
{
    const size_t before = lent(a, a->held_bytes);

    while (c != NULL) {
        struct arena_chunk *next = c->next;
        a->held_bytes -= c->size;
        free(c);
        c = next;
    }
    if (before > lent(a, a->held_bytes)) {
        a->lender->give(a->lender, before - lent(a, a->held_bytes));
    }
}

void arena_fini(struct arena *a)
{
    free_chunks(a, a->chunks);
    arena_init_lent(a, a->max_bytes, a->lender, a->free_bytes);
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *kept = NULL;
    struct arena_chunk **link = &a->chunks;
    if (!ARENA_ONE_MALLOC_EACH) {
        for (struct arena_chunk **l = &a->chunks; *l != NULL; l = &(*l)->next) {
            if ((*l)->size <= CHUNK_MAX_BYTES && lent(a, (*l)->size) == 0 &&
                (kept == NULL || (*l)->size > kept->size)) {
                kept = *l;
                link = l;
            }
        }
    }
    if (kept != NULL) {
        *link = kept->next;
        kept->next = NULL;
        kept->used = 0;
    }
    free_chunks(a, a->chunks);
    a->chunks = kept;
    a->used_bytes = 0;
    a->overflowed = false;
    a->refused = false;
}

/* NULL: the lender says no. */
static struct arena_chunk *push_chunk(struct arena *a, size_t size)
{
    const size_t more = lent(a, a->held_bytes + size) - lent(a, a->held_bytes);

    if (more > 0 && !a->lender->take(a->lender, more)) {
        a->overflowed = true;
        a->refused = true;
        return NULL;
    }
    struct arena_chunk *c = xmalloc(sizeof(*c) + size);
    a->held_bytes += size;
    c->next = a->chunks;
    c->size = size;
    c->used = 0;
    a->chunks = c;
    return c;
}

static size_t next_chunk_bytes(const struct arena *a, size_t wanted)
{
    size_t size = CHUNK_MIN_BYTES;
    if (a->chunks != NULL) {
        size = a->chunks->size >= CHUNK_MAX_BYTES / 2 ? CHUNK_MAX_BYTES : 2 * a->chunks->size;
    }
    return size < wanted ? wanted : size;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t rounded;
    if (__builtin_add_overflow(size > 0 ? size : 1, (size_t)(ALIGN - 1), &rounded)) {
        a->overflowed = true;
        return NULL;
    }
    rounded &= ~(size_t)(ALIGN - 1);
    if (a->overflowed || rounded > a->max_bytes - a->used_bytes) {
        a->overflowed = true;
        return NULL;
    }
    a->used_bytes += rounded;

    if (ARENA_ONE_MALLOC_EACH) {
        struct arena_chunk *one = push_chunk(a, size); /* not rounded: a byte too far is seen */
        return one == NULL ? NULL : one->data;
    }
    struct arena_chunk *c = a->chunks;
    if (c == NULL || c->size - c->used < rounded) {
        c = push_chunk(a, next_chunk_bytes(a, rounded));
        if (c == NULL) {
            return NULL;
        }
    }
    void *p = c->data + c->used;
    c->used += rounded;
    return p;
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total)) {
        a->overflowed = true;
        return NULL;
    }
    void *p = arena_alloc(a, total);
    return p ? memset(p, 0, total) : NULL;
}

char *arena_cstr(struct arena *a, struct str s)
{
    size_t size;
    if (__builtin_add_overflow(s.n, (size_t)1, &size)) {
        a->overflowed = true;
        return NULL;
    }
    char *p = arena_alloc(a, size);
    if (p == NULL) {
        return NULL;
    }
    if (s.n > 0) {
        memcpy(p, s.p, s.n);
    }
    p[s.n] = '\0';
    return p;
}

struct str arena_str(struct arena *a, struct str s)
{
    const char *p = arena_cstr(a, s);
    return p ? (struct str){p, s.n} : STR_NULL;
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    BUG_ON(n < 0);
    char *p = arena_alloc(a, (size_t)n + 1);
    if (p == NULL) {
        return STR_NULL;
    }
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return (struct str){p, (size_t)n};
}
