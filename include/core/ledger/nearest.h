/* core/ledger/nearest.h - how far a pod that fits nowhere is from fitting on one node: what its devices lack, and who
 * would have to end.
 *
 * Who would have to end, of the pods that hold something on the node:
 *   - the smallest pod whose end alone is enough, by compute, then memory that it holds, then name;
 *   - else pods of which none can be left out, found as for a preemption without priorities (core/ledger/preempt.h).
 *     That need not be the fewest possible.
 * Reserved pods are not named: their Binding is under way. Nobody is named where something else may refuse the pod all
 * the same: the limit of its tenant is near, another pod is nominated to the node, the pod does not tolerate a taint.
 *
 * Pure; lock: as the ledger. O(pods of the node ^ 2) at worst; `than` bounds it.
 */
#ifndef CORE_LEDGER_NEAREST_H
#define CORE_LEDGER_NEAREST_H

#include "core/fit/shortfall.h"
#include "core/ledger/view.h"

#include <stddef.h>

/* More pods than that are not named. */
#define NEAREST_LEAVING_MAX 8

/* How much has to end; smaller is nearer. pod_n 0: nobody's end is known to help. */
struct nearest_cost {
    size_t pod_n;
    int64_t milli, mem_mib; /* that they hold here and elsewhere, together */
};

struct nearest_pod {
    struct str namespace_, name, uid;
    enum ledger_pod_state state;
    bool deleting;
    int64_t milli, mem_mib;
};

struct nearest {
    struct str node_name;
    bool untolerated; /* cordoned, or a taint that the pod does not tolerate (ledger_tolerates) */
    struct shortfall lacks;
    struct str uuids[SHORTFALL_DEVICES_MAX], models[SHORTFALL_DEVICES_MAX]; /* of lacks.devices */
    int32_t indexes[SHORTFALL_DEVICES_MAX];
    struct nearest_cost cost;
    struct nearest_pod leaving[NEAREST_LEAVING_MAX]; /* cost.pod_n of them */
};

/* -1: `a` is nearer, 1: `b` is; 0: neither. First by who would have to end, then by what is lacking. */
int nearest_compare(const struct nearest *a, const struct nearest *b);

/* Of a node of the view, for its pod. Nobody is searched for who costs more than `than` (NULL: no bound). All text is
 * borrowed until the next op. `scratch` is used during the call; where it is full nobody is named. */
void ledger_nearest(const struct ledger_view *v, uint32_t node, const struct strategy *device_strategy,
                    const struct nearest_cost *than, struct arena *scratch, struct nearest *ret);

#endif
