#include "core/plan/key_heap.h"

#include "base/bug.h"

#include <stdlib.h>

void key_heap_push(struct key_heap *h, struct pack_key item)
{
    size_t i = h->n++;

    if (i == h->cap) {
        h->cap = h->cap == 0 ? 256 : h->cap * 2;
        h->items = xreallocarray(h->items, h->cap, sizeof(*h->items));
    }
    for (; i > 0 && item.merit < h->items[(i - 1) / 2].merit; i = (i - 1) / 2) {
        h->items[i] = h->items[(i - 1) / 2];
    }
    h->items[i] = item;
}

void key_heap_pop(struct key_heap *h)
{
    struct pack_key last = h->items[--h->n];
    size_t i = 0;

    for (;;) {
        size_t best = 2 * i + 1;

        if (best >= h->n) {
            break;
        }
        best += best + 1 < h->n && h->items[best + 1].merit < h->items[best].merit;
        if (last.merit <= h->items[best].merit) {
            break;
        }
        h->items[i] = h->items[best];
        i = best;
    }
    h->items[i] = last;
}
