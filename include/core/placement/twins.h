/* core/placement/twins.h - nodes with the same numbers, of which one is judged for all (decision 0092).
 *
 * A verdict, a score and its terms are a function of the demand, of what is expected, and of the node's own numbers
 * (core/placement/pack.c says what is remembered, and why). Machines come in series, and so do the loads on them: of
 * 5,000 nodes a few dozen to a few hundred are different. A demand that was never seen is therefore judged once for
 * each different state, and what came out is copied to the others.
 *
 * "The same" is no hash: the numbers themselves are compared, of the row and of every device. A hash only says where to
 * look. Nodes are compared when they have changed, not in each decision: the version of a node's numbers says so, and
 * no two changes of any node of a ledger have the same. So twins follow one ledger all their life.
 *
 * What is found is of one decision: nothing is found that was kept for another one. Two decisions that take turns
 * forget each other's; then more is judged, and the answers are the same. Where there are more than TWINS_CLASSES_MAX
 * different nodes, the others are judged by themselves: what nobody shares needs no place.
 *
 * Memory: 20 bytes a node, 120 for each different state, 64 KiB. No lock: whoever serialises the ledger serialises
 * this.
 */
#ifndef CORE_PLACEMENT_TWINS_H
#define CORE_PLACEMENT_TWINS_H

#include "core/fit/verdict.h"
#include "core/forecast/forecast.h"
#include "core/ledger/view.h"

#include <stdint.h>

enum { TWINS_CLASSES_MAX = 8192 };

struct twins;

struct twins *twins_new(void);
void twins_free(struct twins *t); /* NULL is fine */

/* The number of a new decision. As long as it is used, demand, strategies, forecast and prices must stay. */
uint64_t twins_begin(struct twins *t);

/* What came out for the nodes of one state. */
struct twin {
    uint64_t decision; /* that it came out in */
    enum verdict verdict;
    int64_t score;
    struct forecast_terms terms;
};

/* The place of this node's numbers, where what is kept is of such a node if *ret_known, and otherwise must be written:
 * all of what came out. NULL: it has none. Valid until the next call. Not for a view that flags devices for its
 * demand. */
struct twin *twins_at(struct twins *t, uint64_t decision, const struct ledger_view *v, uint32_t node, bool *ret_known);

#endif
