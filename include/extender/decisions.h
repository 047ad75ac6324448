/* extender/decisions.h - the last decisions, with what they were made by, so that a placement can be defended.
 *
 * A decision has three acts: filter finds out which nodes fit, prioritize which of them is the best, bind comes with
 * the node that kube-scheduler chose, which may be another one; why, nobody tells fgpu. With one
 * node left kube-scheduler skips prioritize (contract.md 2.3), so filter has the last word then. Until bind comes, a
 * decision is only considered: the next attempt for the same pod replaces it. Those that were bound are kept,
 * DECISIONS_KEPT of them, the oldest goes first; pods that are never bound push out none of these. Where more than
 * DECISIONS_CONSIDERED pods wait for their bind, the oldest is forgotten; if its bind comes all the same, a note
 * without reasons is kept in its place, as far as the last DECISIONS_LOST of these are remembered. Nobody decides by
 * any of this, and a restart forgets it.
 *
 * Numbers are stored; extender/decision_words.h makes sentences of them.
 *
 * Ownership: a struct decision_note owns its text, and does not change once it is kept; whoever takes a reference gives
 * it back. Memory: about 800 bytes each, 1100 with the words of a rule, so below 1.5 MiB in all. Lock: its own, a leaf;
 * any thread.
 */
#ifndef EXTENDER_DECISIONS_H
#define EXTENDER_DECISIONS_H

#include "base/str.h"
#include "core/placement/plan.h"
#include "core/placement/reason.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECISIONS_KEPT 1024
#define DECISIONS_CONSIDERED 256
#define DECISIONS_LOST 4096

struct decision_note {
    _Atomic uint32_t refs;
    struct str uid, namespace_, name; /* of the pod */
    /* Of bind: */
    int64_t at_ms;
    struct str id;   /* in the pod's record */
    struct str node; /* that bind asked for */
    bool lost;       /* too many pods waited for their bind: nothing of what follows is known any more */
    /* Of filter; 0: it was not seen. */
    uint32_t asked_n; /* nodes that it asked about */
    uint32_t fit_n;
    /* Of prioritize, or of filter where one node fits. */
    uint32_t
        ranked_n;  /* nodes that fit, of which `best` is the best; 0: nobody ranked them, and what follows is empty */
    uint32_t rule; /* 1 + the place of the packing rule that held on the best node; 0: the packing section */
    struct str rule_text; /* packing_rule_words() of it: the configuration may change */
    const struct strategy *criteria[CRITERIA_MAX];
    uint32_t criterion_n;
    int32_t weights_milli[CRITERIA_MAX]; /* of the criteria; all 0: a chain, or one */
    uint32_t decided_by; /* with PACK_BY_SCORE, of a chain: the first criterion in which the two differ */
    struct str best, next;
    enum pack_reason reason;
    int64_t best_score, next_score; /* with PACK_BY_SCORE and PACK_BY_NAME; of a chain by score: of `decided_by` */
    uint32_t part_n; /* with PACK_BY_SCORE; 0: the strategy names no parts, or they are not known any more */
    struct reason_part parts[];
};

/* A copy of all that `from` says but the parts, with its text and without what bind says of it, and `part_n` parts. One
 * reference, the caller's. */
struct decision_note *decision_new(const struct decision_note *from, const struct reason_part *parts, size_t part_n);
void decision_put(struct decision_note *d); /* gives a reference back; NULL is fine */

struct decisions;

struct decisions *decisions_new(void);
void decisions_free(struct decisions *all); /* NULL is fine */

/* Filter or prioritize has decided; takes the reference. In place of what was considered for this pod, whose numbers of
 * filter stay where `d` has none. Names that no pod can have are not kept. */
void decisions_consider(struct decisions *all, struct decision_note *d);
/* Bind has come and devices are reserved: what was considered for the pod is kept, or that it was lost; of a pod of
 * which nothing was considered, nothing. `of` names the pod (uid, namespace_, name) and what bind says (at_ms, id,
 * node). */
void decisions_choose(struct decisions *all, const struct decision_note *of);

/* References to those that are kept, the newest first, into `ret`; of this node or namespace only, if one is given.
 * Returns how many. */
size_t decisions_kept(struct decisions *all, struct str node_name, struct str namespace_,
                      struct decision_note *ret[DECISIONS_KEPT]);
/* How many have been kept since the start, those that are gone too. */
uint64_t decisions_kept_count(struct decisions *all);
/* References to those that came after the first `count`, the oldest first; as many as are still there, at most `max`,
 * the newest. *ret_count: decisions_kept_count() of that moment. */
size_t decisions_kept_after(struct decisions *all, uint64_t count, size_t max,
                            struct decision_note *ret[DECISIONS_KEPT], uint64_t *ret_count);

#endif
