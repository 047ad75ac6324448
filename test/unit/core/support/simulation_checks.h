/* The checks of a simulation (simulation.h): after every op, and at quiet points, where nothing is
 * in flight and the ledger must say what the facts alone say. A failure names seed, step and
 * action.
 */
#ifndef TEST_CORE_SIMULATION_CHECKS_H
#define TEST_CORE_SIMULATION_CHECKS_H

#include "core/support/simulation.h"

/* From now on, after every op: the charge of a pod whose request can be edited never falls while it
 * lives (design.md 3.1, rule 1). One simulation at a time. */
void simulation_watch_charges(struct simulation *s);

/* Settles; then the ledger equals one that lists the model afresh, and the oracle's numbers. */
void simulation_quiet(struct simulation *s, bool relist);

/* Both ledgers know the same, as far as the present facts determine it. `without_editable`: not of
 * nodes with pods whose request can be edited. */
void simulation_same_state(struct simulation *s, const struct ledger *l, const struct ledger *other,
                           bool without_editable);

#endif
