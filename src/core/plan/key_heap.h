/* core/plan/key_heap.h - results by merit, the best on top: a binary heap that grows.
 *
 * Nothing is taken out of the middle: an entry whose node has another merit by now is passed over when it comes to the
 * top, which the caller sees by comparing.
 */
#ifndef CORE_PLAN_KEY_HEAP_H
#define CORE_PLAN_KEY_HEAP_H

#include "core/placement/pack.h"

struct key_heap {
    struct pack_key *items; /* .at: the node; NULL: there is none */
    size_t n, cap;
};

void key_heap_push(struct key_heap *h, struct pack_key item);
void key_heap_pop(struct key_heap *h); /* the best; there is one */

#endif
