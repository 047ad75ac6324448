/* core/placement/shadow_decision.h - what one decision would be under another plan: a comparison, never a decision.
 *
 * A plan is that of core/placement/plan.h: rules by pod and node, one criterion or several. Both sides are computed
 * from the same numbers of the same moment, so equal plans never differ. Tentative placements are left out on both.
 * Which of equal GPUs is taken is no difference. It reads a mirror and not the ledger, so it needs no lock of the
 * ledger; the forecast must be the caller's for that time.
 */
#ifndef CORE_PLACEMENT_SHADOW_DECISION_H
#define CORE_PLACEMENT_SHADOW_DECISION_H

#include "core/fit/choice.h"
#include "core/ledger/mirror.h"
#include "core/placement/plan.h"
#include "core/tenancy/tenancy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `nodes`: indexes into the mirror, those that were asked about; names decide between equal scores. All borrowed. */
struct shadow_decision {
    const struct mirror *mirror;
    const uint32_t *nodes;
    size_t node_n;
    const uint8_t *allowed_models; /* core/ledger/view.h */
    const struct demand *demand;
    const struct holding
        *tenant_residual; /* what the pod's tenant may still take; NULL: nothing can be too much for it */
};

struct shadow_choice {
    bool fits;
    uint32_t node; /* into the mirror */
    struct placement at;
};

/* The best node and its GPUs by what the resolved plan says of the pod. `o`: brought up to date for all its strategies
 * (resolved_plan_strategies). Room is taken from `a`; where there is none, nothing fits and `a` says so (overflowed).
 */
struct shadow_choice shadow_choose(const struct shadow_decision *t, const struct resolved_plan *resolved_plan,
                                   const struct forecast *o, struct arena *a);

struct shadow_difference {
    bool node;
    bool devices;      /* on the same node, GPUs that differ in their numbers */
    double frag_milli; /* F of the cluster after b less that after a (core/forecast/fragmentation.h) */
};

/* How `b` differs from `a`; both fit. `o` gives the typical pods: up to date for the strategy fgd. */
struct shadow_difference shadow_compare(const struct shadow_decision *t, const struct forecast *o,
                                        const struct shadow_choice *a, const struct shadow_choice *b);

#endif
