/* core/ledger/node_briefs.h - what is asked of every node that a call names: its name, the version of its numbers, and
 * the order of its name, side by side.
 *
 * A filter call compares thousands of names with ours. The texts that the table of nodes shares with others
 * (base/shared_text.h) lie wherever there was room, so that each comparison would wait for memory, and the numbers of a
 * node (struct node_state) take more than a line each. So there is a copy of these three: briefs by the index of the
 * node, and names as bytes in the order in which nodes came, which is mostly the order in which callers name them; the
 * processor reads ahead. How names are compared is said in core/ledger/view.h.
 *
 * Belongs to the ledger and changes with it, under whatever keeps it from being read meanwhile: views borrow it, and
 * end with the next op. Who changes a row's version or name_order changes the copy (ledger_next_version(), order.c);
 * ledger_check() compares them.
 *
 * Where a place is given to another name, its text is behind all others, until more than half of the text is out of
 * use; then all of it is written anew, in the order of the places. So a name costs O(1) on average, and the text is
 * never larger than a few times the names and NODE_BRIEFS_SLACK.
 */
#ifndef CORE_LEDGER_NODE_BRIEFS_H
#define CORE_LEDGER_NODE_BRIEFS_H

#include "core/ledger/view.h"

#define NODE_BRIEFS_SLACK 4096

/* All zero is one without places. */
struct node_briefs {
    struct node_brief *briefs; /* a free place is all zero */
    uint32_t place_n;
    char *text;
    uint32_t used, cap; /* bytes */
    uint32_t wasted;    /* of those used, of names that are gone */
};

void node_briefs_fini(struct node_briefs *b);
void node_briefs_grow(struct node_briefs *b, uint32_t place_n);               /* never fewer */
void node_briefs_add(struct node_briefs *b, uint32_t place, struct str name); /* of a place that has none */
void node_briefs_remove(struct node_briefs *b, uint32_t place);

/* Borrowed until the next change. */
static inline struct str node_briefs_name(const struct node_briefs *b, uint32_t place)
{
    return (struct str){b->text + b->briefs[place].name_at, b->briefs[place].name_n};
}

#endif
