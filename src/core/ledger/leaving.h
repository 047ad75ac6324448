/* core/ledger/leaving.h - would a demand fit on a node if some of its pods had left? Shared by preempt.c and
 * nearest.c. */
#ifndef CORE_LEDGER_LEAVING_H
#define CORE_LEDGER_LEAVING_H

#include "core/fit/strategy.h"
#include "core/fit/verdict.h"
#include "core/ledger/pod_table.h"

/* All borrowed. */
struct leaving {
    const struct ledger *l;
    uint32_t node;
    struct str uid, namespace_; /* of the pod that asks */
    const struct demand *demand;
    const uint64_t *label_hashes;
    size_t label_n;
    const uint8_t *models; /* models_allowed() */
    const struct strategy *device_strategy;
    bool *leaves; /* by place among the pods of the node */
};

/* On devices, and within the limits of its tenant, as feasibility_place() and filter say: VERDICT_FITS, or why not. */
enum verdict leaving_judge(const struct leaving *s);
static inline bool leaving_fits(const struct leaving *s)
{
    return leaving_judge(s) == VERDICT_FITS;
}

/* Compute that a pod holds, in milli; whole GPUs of a plugin count in full. */
int64_t leaving_size(const struct pod_entry *p);

#endif
