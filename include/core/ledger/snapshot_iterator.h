/* core/ledger/snapshot_iterator.h - everything the ledger knows at one generation, read a few nodes at a time.
 *
 * An iterator shows the ledger as it was when the iterator was opened, whatever is applied meanwhile, without copying
 * all of it at once: what an op is about to change, and the iterator has not come to yet, is copied before the change
 * (ledger_apply sees to it). So an iterator costs its reader short sections, and writers one copy of a node or of a
 * pending pod at its first change.
 *
 * The ledger is the caller's to lock: open, next and close count as calls on it. Bounded by `max_bytes`: an iterator
 * that would have to keep more, because its reader is slow and the ledger busy, is torn and ends without its
 * end. Every open iterator makes ops slower: whoever opens them bounds their number.
 */
#ifndef CORE_LEDGER_SNAPSHOT_ITERATOR_H
#define CORE_LEDGER_SNAPSHOT_ITERATOR_H

#include "base/arena.h"
#include "core/ledger/snapshot.h"

#include <stdbool.h>
#include <stddef.h>

struct snapshot_iterator;

/* What to show; empty: all. Used during the call only. */
struct snapshot_iterator_filter {
    struct str node_name;  /* this node and the pods attached to it */
    struct str namespace_; /* its pods, and all nodes */
    bool nodes_only;       /* no pending pods */
    bool changed;          /* of the nodes those that may show otherwise than at this generation: */
    uint64_t since;
};

/* Nodes come in the order of their names. `ret_totals` as snapshot_totals() says; its generation is that of the
 * iterator. O(devices). */
struct snapshot_iterator *snapshot_iterator_open(struct ledger *l, const struct snapshot_iterator_filter *filter,
                                                 size_t max_bytes, struct snapshot *ret_totals);

enum snapshot_iterator_step {
    SNAPSHOT_ITERATOR_MORE, /* *ret has something, or nothing this time */
    SNAPSHOT_ITERATOR_END,
    SNAPSHOT_ITERATOR_TORN, /* what was kept, or the arena, passed its bound */
};
/* The next nodes, at most `max_nodes` or as many as have 4 * max_nodes pods, with their pods (nodes, pods,
 * first_pod of struct snapshot, no totals); after the last node the pending pods, in no order, without nodes, 64 *
 * max_nodes slots at a time. What *ret shows lives as long as the iterator and `a`. */
enum snapshot_iterator_step snapshot_iterator_next(struct ledger *l, struct snapshot_iterator *it, size_t max_nodes,
                                                   struct arena *a, struct snapshot *ret);

/* With a filter by change: names that may have been shown at its generation and are not now; they live as long as the
 * iterator. False: more nodes have left since than are remembered (NODES_LEFT_MAX), some are missing. */
bool snapshot_iterator_left(const struct snapshot_iterator *it, const struct str **ret, size_t *ret_n);

/* Bytes copied before changes so far, of `max_bytes`. */
size_t snapshot_iterator_kept_bytes(const struct snapshot_iterator *it);

/* Takes the iterator off the ledger; snapshot_iterator_free() then releases it and needs no lock. */
void snapshot_iterator_close(struct ledger *l, struct snapshot_iterator *it);
void snapshot_iterator_free(struct snapshot_iterator *it); /* NULL is fine */

#endif
