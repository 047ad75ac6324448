/* core/ledger/preempt.h - which pods must leave a node so that a pod of higher priority fits.
 *
 * kube-scheduler's preemption looks at totals of a node and names victims; whether their GPUs are the right ones only
 * the ledger knows. So per node the victims are completed, or the node is dropped (contract.md 3.2, R10):
 *
 *   - victims already named stay: other resources need them;
 *   - further ones have a strictly lower priority than the pod that preempts and hold GPUs of this node;
 *   - of these as few as possible: each is spared, the most important and among equals the smallest first, if the pod
 *     fits all the same. No victim that remains could be left out.
 *
 * So no victim can be taken off the list. That need not be the list with the fewest pods: finding it would mean to try
 * all sets of pods. Here n pods that may leave cost about n searches for devices.
 *
 * A decision changes nothing; kube-scheduler deletes the victims. Lock: as the ledger.
 */
#ifndef CORE_LEDGER_PREEMPT_H
#define CORE_LEDGER_PREEMPT_H

#include "base/arena.h"
#include "core/fit/strategy.h"
#include "core/fit/verdict.h"
#include "core/ledger/ledger.h"

struct preempt_request {
    struct str node_name;
    struct str uid, namespace_; /* of the pod that preempts */
    int32_t priority;
    const struct demand *demand;
    const uint64_t *label_hashes;
    size_t label_n;
    const struct strategy *device_strategy;
    const struct str *victims; /* uids named so far, most important first; may be unknown to the ledger */
    size_t victim_n;
};

/* VERDICT_FITS: *ret_victims (in `a`) are all victims, most important first: those named keep their order among each
 * other. Otherwise why the pod does not fit here, whoever of lower priority leaves; VERDICT_SEARCH_LIMIT if the arena
 * is full. */
enum verdict ledger_preempt(const struct ledger *l, struct arena *a, const struct preempt_request *r,
                            const struct str **ret_victims, size_t *ret_n);

#endif
