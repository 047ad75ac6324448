/* extender/shadow.h - shadow strategies: what they would have made of the decisions that were
 * really made.
 *
 * Reports, and influences nothing: an answer of filter is computed and written before the decision
 * is offered here, and nothing here writes to the ledger, to holds, or to what the store remembers.
 *
 * A thread of its own compares one decision at a time on a mirror of the ledger (core/placement/shadow_decision.h), the
 * without the pod's own charges if it has been bound meanwhile: both sides, the strategies in use and the strategies of
 * the shadow, on the same numbers. While it is busy, further decisions are counted and left out, so
 * under load the comparison is a sample; it rests four times as long as it works, which bounds it
 * to a fifth of a core. Left out, too, is what the mirror cannot judge: pods whose place depends on
 * other pods' labels, on single GPUs, or on nominations.
 *
 * Both sides go by rules and criteria as live decisions do. The shadow strategies take the place of those of the
 * packing section, and so of what a rule leaves out; what a rule says itself holds on both sides, so there is no
 * difference for pods and nodes where it says everything.
 *
 * Counting begins anew when either side changes: strategies, criteria, rules.
 */
#ifndef EXTENDER_SHADOW_H
#define EXTENDER_SHADOW_H

#include "core/ledger/view.h"
#include "extender/placement.h"

#include <stdbool.h>
#include <stdint.h>

struct shadow;

WARN_UNUSED int shadow_new(struct store *store, struct shadow **ret, struct err *reterr);
/* Ends the thread. NULL is fine. */
void shadow_free(struct shadow *s);

/* A decision that was made about this pod, as placement_filter() read it: it fits somewhere among `names`. From any
 * thread; copies what it needs, or counts and returns. Without shadow strategies in the policy it does nothing. */
void shadow_offer(struct shadow *s, const struct placement_context *c, const struct view_pod *pod,
                  const struct str *names, size_t name_n);

struct shadow_report {
    bool on;                       /* false: no decision was offered with a shadow yet; all else is 0 */
    uint64_t key;                  /* placement_context.shadow_key */
    struct pack_plan live, shadow; /* of the packing section: what holds where no rule does */
    uint64_t decision_n;           /* that found a place */
    uint64_t compared_n;           /* of these */
    uint64_t ruled_n;              /* of the compared: a rule names the pod */
    uint64_t other_node_n;
    uint64_t other_device_n; /* on the same node */
    /* Sum over the compared: F of the cluster after the shadow's choice less that after the real
     * one. Negative: the shadow fragments less. In thousandths of a milli. */
    int64_t frag_umilli;
};
void shadow_read(struct shadow *s, struct shadow_report *ret);

/* Waits until no decision is being compared: for tests. */
void shadow_drain(struct shadow *s);

#endif
