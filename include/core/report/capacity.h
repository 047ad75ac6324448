/* core/report/capacity.h - how much more there is room for: the numbers an administrator watches.
 *
 * Counted as filter would decide, one pod after another on a copy, of one kind at a time: not both
 * a hundred small ones and fifty large ones. Pods that ask for one amount of each of several GPUs
 * are counted in closed form: if GPU i takes n_i of them, k GPUs each, then as many fit as the
 * largest t with sum(min(n_i, t)) >= k t, because one pod never takes a GPU twice, and t pods use
 * each GPU at most t times.
 */
#ifndef CORE_REPORT_CAPACITY_H
#define CORE_REPORT_CAPACITY_H

#include "core/fit/device_state.h"
#include "core/request/demand.h"

#include <stdint.h>

/* How many more pods like `d` the node takes: one GPU request without constraints, or whole GPUs of a
 * plugin. */
uint64_t capacity_node(const struct node_state *n, const struct device_state *devices, const struct demand *d);

/* The largest holes of a node, for pods that share and for those that do not. */
struct capacity_hole {
    int32_t milli;    /* largest free compute of one GPU */
    int64_t mem_mib;  /* free memory of that GPU; among equals, the largest */
    uint32_t empty_n; /* GPUs that nobody uses, which may be given away whole */
};
struct capacity_hole capacity_hole(const struct node_state *n, const struct device_state *devices);

#endif
