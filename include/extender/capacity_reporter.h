/* extender/capacity_reporter.h - how much room there is and in which pieces: the numbers an administrator
 * watches.
 *
 * Computed when somebody reads them (/state, /metrics), on his thread, from a mirror of the ledger:
 * the store's lock is held for as long as changed nodes take to copy. At most once in
 * CAPACITY_INTERVAL_MS, and only when ledger or configuration have changed; in between, the last
 * report is given again, with its own generation and time.
 *
 * Only nodes that take pods count: described, and not cordoned. Each kind of pod is counted by
 * itself, one after another (core/report/capacity.h); what else would keep pods away (taints, cores,
 * tenants' limits) is not looked at.
 */
#ifndef EXTENDER_CAPACITY_REPORTER_H
#define EXTENDER_CAPACITY_REPORTER_H

#include "base/clock.h"
#include "extender/policy_set.h"
#include "extender/store.h"

#include <stdbool.h>
#include <stdint.h>

#define CAPACITY_INTERVAL_MS 3000
#define CAPACITY_SIZES_MAX 32 /* named sizes, the first ones of the configuration */
#define CAPACITY_WHOLE_N 4    /* 1, 2, 4 and 8 whole GPUs */
#define CAPACITY_NAME_MAX 256

struct capacity_size {
    char name[64];       /* of the configuration, or "1 GPU", "2 GPUs" ... */
    int32_t whole_gpu_n; /* 0: a named size */
    uint64_t more_n;
};

struct capacity_report {
    bool known; /* false: pods and nodes have not been read yet */
    uint64_t generation;
    int64_t at_ms;   /* wall time */
    uint32_t node_n; /* that take pods */
    /* Compute that nobody holds, and how much of that the pods that are expected could not use
     * (core/forecast/fragmentation.h); expected is what pods have asked for so far (core/forecast/forecast.h, typical
     * pods). */
    int64_t idle_milli;
    int64_t fragmented_milli;
    size_t typical_n; /* kinds of pods; 0: none has come yet, and nothing is said */
    /* The GPU with the largest free compute, and among those the largest free memory. */
    int32_t largest_milli;
    int64_t largest_mem_mib;
    uint32_t empty_gpu_n;               /* on the node that has the most of them */
    char empty_node[CAPACITY_NAME_MAX]; /* the first such node by name; "": none */
    struct capacity_size sizes[CAPACITY_SIZES_MAX + CAPACITY_WHOLE_N];
    size_t size_n;
};

/* What is fragmented, in thousandths of what is idle; 0 where nothing is. */
static inline int64_t capacity_permille(const struct capacity_report *r)
{
    return r->idle_milli > 0 ? r->fragmented_milli * 1000 / r->idle_milli : 0;
}

struct capacity_reporter;

struct capacity_reporter *capacity_reporter_new(struct store *store, struct policy_set *policies,
                                                const struct clock *clock);
void capacity_reporter_free(struct capacity_reporter *v); /* NULL is fine */

/* From any thread; readers wait for one that computes. */
void capacity_reporter_read(struct capacity_reporter *v, struct capacity_report *ret);

#endif
