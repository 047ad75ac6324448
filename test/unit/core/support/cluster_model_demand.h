/* Random demands and records, and what they take of a device, computed the plain way: the oracle that the
 * ledger's numbers are compared with. Written from design.md 3.2 and 5, sharing no code with core/request/demand.c.
 */
#ifndef TEST_CORE_CLUSTER_MODEL_DEMAND_H
#define TEST_CORE_CLUSTER_MODEL_DEMAND_H

#include "core/support/cluster_model.h"

struct cluster_model_factors {
    int32_t milli, mem_milli; /* over-commit, in thousandths */
};

/* Cores and memory, in few different amounts. */
struct host_request cluster_model_host(struct cluster_model *w);
/* No GPUs. */
const struct demand *cluster_model_no_demand(struct cluster_model *w, struct host_request host);
const struct demand *cluster_model_demand(struct cluster_model *w, enum demand_source source);
/* The same containers and counts, other amounts. */
const struct demand *cluster_model_demand_like(struct cluster_model *w, const struct demand *d);

/* A record that matches `d`, on random devices of the node; NULL when the node has too few or one of its
 * devices has no UUID while others have. */
const struct assignment *cluster_model_record(struct cluster_model *w, const struct cluster_model_node *n,
                                              const struct demand *d);
/* A deep copy in the model's arena. */
const struct assignment *cluster_model_record_copy(struct cluster_model *w, const struct assignment *as);

/* Is this the device that the record means? */
bool cluster_model_same_device(const struct assigned_device *a, const struct device *d);

/* What pod `p` takes of device `i` of its node `n`. */
struct charge cluster_model_charge(const struct cluster_model_pod *p, const struct cluster_model_node *n, size_t i,
                                   struct cluster_model_factors f);
/* What there is of a device's compute: no factor makes a part larger. */
int32_t cluster_model_capacity_milli(const struct device *d, struct cluster_model_factors f);

#endif
