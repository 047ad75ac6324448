/* core/ledger/walk.h - everything the ledger knows at one generation, read a few nodes at a time.
 *
 * A walk shows the ledger as it was when the walk was opened, whatever is applied meanwhile, without copying all
 * of it at once: what an op is about to change, and the walk has not come to yet, is copied before the change
 * (ledger_apply sees to it). So a walk costs its reader short sections, and writers one copy of a node or of a
 * pending pod at its first change.
 *
 * The ledger is the caller's to lock: open, next and close count as calls on it. Bounded by `max_bytes`: a walk
 * that would have to keep more, because its reader is slow and the ledger busy, is torn and ends without its
 * end. Every open walk makes ops slower: whoever opens them bounds their number.
 */
#ifndef CORE_LEDGER_WALK_H
#define CORE_LEDGER_WALK_H

#include "base/arena.h"
#include "core/ledger/snapshot.h"

#include <stdbool.h>
#include <stddef.h>

struct ledger_walk;

/* What to show; empty: all. Used during the call only. */
struct ledger_walk_filter {
    struct str node_name;  /* this node and the pods attached to it */
    struct str namespace_; /* its pods, and all nodes */
};

/* Nodes come in the order of their names. `ret_totals` as snapshot_totals() says; its generation is that of the walk.
 * O(devices). */
struct ledger_walk *ledger_walk_open(struct ledger *l, const struct ledger_walk_filter *filter, size_t max_bytes,
                                     struct snapshot *ret_totals);

enum ledger_walk_step {
    LEDGER_WALK_MORE, /* *ret has something, or nothing this time */
    LEDGER_WALK_END,
    LEDGER_WALK_TORN, /* what was kept, or the arena, passed its bound */
};
/* The next nodes, at most `max_nodes` or as many as have 4 * max_nodes pods, with their pods (nodes, pods,
 * first_pod of struct snapshot, no totals); after the last node the pending pods, in no order, without nodes, 64 *
 * max_nodes slots at a time. What *ret shows lives as long as the walk and `a`. */
enum ledger_walk_step ledger_walk_next(struct ledger *l, struct ledger_walk *w, size_t max_nodes,
                                       struct arena *a, struct snapshot *ret);

/* Bytes copied before changes so far, of `max_bytes`. */
size_t ledger_walk_kept_bytes(const struct ledger_walk *w);

/* Takes the walk off the ledger; ledger_walk_free() then releases it and needs no lock. */
void ledger_walk_close(struct ledger *l, struct ledger_walk *w);
void ledger_walk_free(struct ledger_walk *w); /* NULL is fine */

#endif
