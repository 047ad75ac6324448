/* base/arena.h - memory that is released all at once.
 *
 * One arena per request or per watch event: allocate freely, reset in exactly one place. The arena has a
 * hard cap, because what is allocated from it is driven by other people's input: at the cap an allocation
 * returns NULL and `overflowed` sticks until reset, so a decoder may allocate a few times and check once.
 *
 * Under AddressSanitizer every object is its own malloc, so that an overrun inside a chunk is seen.
 * Not thread-safe: an arena has one user at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/compiler.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

/* A budget that many arenas share, of what they hold from malloc. `take` says no by false: then the allocation
 * fails as at the cap, and `refused` sticks beside `overflowed`. Both are called from any thread that has such an
 * arena. */
struct arena_lender {
    bool (*take)(struct arena_lender *l, size_t bytes);
    void (*give)(struct arena_lender *l, size_t bytes);
};

struct arena {
    struct arena_chunk *chunks; /* newest first */
    size_t used_bytes;          /* handed out since the last reset */
    size_t max_bytes;
    bool overflowed;
    bool refused;
    struct arena_lender *lender; /* NULL: none */
    size_t free_bytes;           /* held without asking the lender */
    size_t held_bytes;           /* in chunks */
};

void arena_init(struct arena *a, size_t max_bytes);
/* The same, with a lender that is asked for all that is held above free_bytes. */
void arena_init_lent(struct arena *a, size_t max_bytes, struct arena_lender *lender, size_t free_bytes);
void arena_fini(struct arena *a);

/* Forgets every object; keeps one chunk for the next use, unless a lender would have to be asked for it. */
void arena_reset(struct arena *a);

/* Aligned for any type, not cleared. NULL when the cap would be passed. */
WARN_UNUSED void *arena_alloc(struct arena *a, size_t size);
/* n objects of `size` bytes, cleared; NULL at the cap or when n * size overflows. */
WARN_UNUSED void *arena_calloc(struct arena *a, size_t n, size_t size);
/* Copies the text and adds a NUL; STR_NULL at the cap (never for an empty text: that has a pointer). */
struct str arena_str(struct arena *a, struct str s);
/* printf into the arena; STR_NULL at the cap. The text is also NUL-terminated. */
struct str arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A NUL-terminated copy; NULL at the cap. */
WARN_UNUSED char *arena_cstr(struct arena *a, struct str s);

#define ARENA_NEW(a, type) ((type *)arena_calloc((a), 1, sizeof(type)))
#define ARENA_ARRAY(a, n, type) ((type *)arena_calloc((a), (n), sizeof(type)))

#endif
