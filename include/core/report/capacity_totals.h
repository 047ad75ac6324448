/* core/report/capacity_totals.h - one look over all nodes of a mirror that take pods: what is idle, how fragmented
 * it is, the largest holes, and how many more pods of one kind would fit.
 */
#ifndef CORE_REPORT_CAPACITY_TOTALS_H
#define CORE_REPORT_CAPACITY_TOTALS_H

#include "core/forecast/forecast.h"
#include "core/ledger/mirror.h"
#include "model/policy.h"

#include <stddef.h>
#include <stdint.h>

struct capacity_totals {
    uint32_t node_n; /* that take pods */
    int64_t idle_milli;
    int64_t fragmented_milli; /* core/forecast/fragmentation.h, for the typical pods of the forecast */
    size_t typical_n;         /* 0: nothing is expected, and nothing is said about fragmentation */
    /* The GPU with the largest free compute, and among those the largest free memory. */
    int32_t largest_milli;
    int64_t largest_mem_mib;
    uint32_t empty_gpu_n;  /* on the node that has the most of them, */
    struct str empty_node; /* the first such by name; empty: none */
};

/* `o` is up to date for the strategy fgd. */
void capacity_totals_take(const struct mirror *m, const struct forecast *o, struct capacity_totals *ret);

/* How many more pods would fit that carry this one annotation of the native vocabulary
 * ("fgpu.io/size", a name): the same request that a pod would write, so it means what it means
 * there. 0 for one that is refused. */
uint64_t capacity_count(const struct mirror *m, const struct policy *p, const char *key, struct str value);

#endif
