/* core/plan/constraints.h - what a pod wants of nodes, kept and compared.
 */
#ifndef CORE_PLAN_CONSTRAINTS_H
#define CORE_PLAN_CONSTRAINTS_H

#include "core/plan/block.h"
#include "core/plan/waiting_pod.h"

/* Copies of node_selector and node_terms into `w`. */
void constraints_keep(struct block *b, struct waiting_pod *w, const struct pod *pod);

/* Of everything that node_takes() looks at in a pod. */
uint64_t constraints_hash(const struct waiting_pod *p);
bool constraints_equal(const struct waiting_pod *a, const struct waiting_pod *b);

#endif
