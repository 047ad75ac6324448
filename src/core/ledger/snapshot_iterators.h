/* core/ledger/snapshot_iterators.h - what open iterators are told (core/ledger/snapshot_iterator.h): each is told
 * before anything changes that it may still have to show. The same calls stamp the node, so that a reader can ask for
 * what changed since. Telling twice is harmless, LEDGER_NONE is fine. */
#ifndef CORE_LEDGER_SNAPSHOT_ITERATORS_H
#define CORE_LEDGER_SNAPSHOT_ITERATORS_H

#include <stdint.h>

struct ledger;
struct ledger_op;

void ledger_iterators_op_comes(struct ledger *l, const struct ledger_op *op);
void ledger_iterators_node_changes(struct ledger *l, uint32_t node);
void ledger_iterators_pod_changes(struct ledger *l, uint32_t pod); /* and the node it is attached to */
void ledger_iterators_pod_born(struct ledger *l, uint32_t pod);    /* its slot was free */

#endif
