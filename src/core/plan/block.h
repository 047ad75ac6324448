/* core/plan/block.h - many small things in one malloc'ed block: the same code counts its bytes, then fills it.
 *
 * First it counts, and everything it returns is NULL or empty; then `fills`, with a block of `used` bytes as base.
 */
#ifndef CORE_PLAN_BLOCK_H
#define CORE_PLAN_BLOCK_H

#include "model/kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct block {
    char *base;
    size_t used;
    bool fills;
};

static inline void *block_keep(struct block *b, const void *from, size_t n)
{
    char *to;

    b->used = (b->used + 7) & ~(size_t)7;
    to = b->fills ? b->base + b->used : NULL;
    b->used += n;
    return to == NULL || n == 0 ? (void *)to : memcpy(to, from, n);
}

static inline struct str block_text(struct block *b, struct str s)
{
    char *to = b->fills ? b->base + b->used : NULL;

    b->used += s.n;
    if (to == NULL || s.n == 0) {
        return (struct str){NULL, 0};
    }
    return (struct str){memcpy(to, s.p, s.n), s.n};
}

static inline struct kv_list block_pairs(struct block *b, struct kv_list from)
{
    struct kv *to = block_keep(b, from.items, from.n * sizeof(*to));

    for (size_t i = 0; i < from.n; i++) {
        struct str key = block_text(b, from.items[i].key), value = block_text(b, from.items[i].value);

        if (to != NULL) {
            to[i] = (struct kv){key, value};
        }
    }
    return (struct kv_list){to, to != NULL ? from.n : 0};
}

#endif
