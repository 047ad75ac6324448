#include "core/ledger/node_briefs.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

void node_briefs_fini(struct node_briefs *b)
{
    free(b->briefs);
    free(b->text);
    *b = (struct node_briefs){0};
}

void node_briefs_grow(struct node_briefs *b, uint32_t place_n)
{
    BUG_ON(place_n < b->place_n);
    b->briefs = xreallocarray(b->briefs, place_n, sizeof(*b->briefs));
    memset(b->briefs + b->place_n, 0, (place_n - b->place_n) * sizeof(*b->briefs));
    b->place_n = place_n;
}

/* All that are in use, in the order of their places. */
static void write_anew(struct node_briefs *b)
{
    char *text = xmalloc(b->cap);
    uint32_t used = 0;

    for (uint32_t i = 0; i < b->place_n; i++) {
        struct node_brief *of = &b->briefs[i];

        if (of->name_n > 0) {
            memcpy(text + used, b->text + of->name_at, of->name_n);
            of->name_at = used;
            used += of->name_n;
        }
    }
    free(b->text);
    b->text = text;
    b->used = used;
    b->wasted = 0;
}

void node_briefs_add(struct node_briefs *b, uint32_t place, struct str name)
{
    uint32_t n = (uint32_t)name.n;

    BUG_ON(place >= b->place_n || b->briefs[place].name_n > 0);
    if (b->wasted > b->used / 2 && b->used > NODE_BRIEFS_SLACK) {
        write_anew(b);
    }
    if (n > b->cap - b->used) {
        b->cap = b->cap * 2 + NODE_BRIEFS_SLACK + n;
        b->text = xreallocarray(b->text, b->cap, 1);
    }
    if (n > 0) {
        memcpy(b->text + b->used, name.p, n);
    }
    b->briefs[place].name_at = b->used;
    b->briefs[place].name_n = n;
    b->used += n;
}

void node_briefs_remove(struct node_briefs *b, uint32_t place)
{
    b->wasted += b->briefs[place].name_n;
    b->briefs[place] = (struct node_brief){0};
}
