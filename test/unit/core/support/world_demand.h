/* Random demands and records, and what they take of a device, computed the plain way: the oracle that the
 * ledger's numbers are compared with. Written from design.md 3.2 and 5, sharing no code with core/request/demand.c.
 */
#ifndef TEST_CORE_WORLD_DEMAND_H
#define TEST_CORE_WORLD_DEMAND_H

#include "core/support/world.h"

struct world_factors {
    int32_t milli, mem_milli; /* over-commit, in thousandths */
};

/* Cores and memory, in few different amounts. */
struct host_request world_host(struct world *w);
/* No GPUs. */
const struct demand *world_no_demand(struct world *w, struct host_request host);
const struct demand *world_demand(struct world *w, enum demand_source source);
/* The same containers and counts, other amounts. */
const struct demand *world_demand_like(struct world *w, const struct demand *d);

/* A record that matches `d`, on random devices of the node; NULL when the node has too few or one of its
 * devices has no UUID while others have. */
const struct assignment *world_record(struct world *w, const struct world_node *n, const struct demand *d);
/* A deep copy in the world's arena. */
const struct assignment *world_record_copy(struct world *w, const struct assignment *as);

/* Is this the device that the record means? */
bool world_same_device(const struct assigned_device *a, const struct device *d);

/* What pod `p` takes of device `i` of its node `n`. */
struct charge world_charge(const struct world_pod *p, const struct world_node *n, size_t i,
                           struct world_factors f);

#endif
