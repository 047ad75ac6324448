/* sim/whatif_internal.h - the two sides of a dry run, shared by whatif*.c only. */
#ifndef SIM_WHATIF_INTERNAL_H
#define SIM_WHATIF_INTERNAL_H

#include "core/forecast/forecast.h"
#include "core/ledger/mirror.h"
#include "core/ledger/snapshot.h"
#include "core/placement/plan.h"
#include "sim/whatif.h"

enum { BEFORE, AFTER };

struct whatif_side {
    const struct policy *policy;
    struct ledger *ledger;
    struct ledger *own; /* the same if it is ours to free */
    struct mirror mirror;
    struct forecast *forecast;
    struct snapshot snapshot;
    struct pack_plans plans;
};

/* A ledger of the state as this policy would read it, as far as the document tells. */
WARN_UNUSED int whatif_reread(const struct state_file *state, const struct policy *policy, struct arena *a,
                              struct ledger **ret, struct err *reterr);

/* Brings the forecast up to date for a strategy. */
void whatif_look_ahead(struct whatif_side *s, const struct strategy *for_strategy);

/* What differs between two snapshots, and between the tenants of two ledgers. */
void whatif_compare_nodes(const struct whatif_side *sides, struct whatif *ret);
void whatif_compare_pods(const struct whatif_side *sides, struct whatif *ret);
void whatif_compare_tenants(const struct whatif_side *sides, struct whatif *ret);
/* Where pods that wait would go. */
WARN_UNUSED int whatif_compare_pending(struct whatif_side *sides, struct whatif *ret, struct err *reterr);

/* Differences that are none, and what of the others is not judged. */
void whatif_forget_flags(struct config_diff *d, const struct config *next);
void whatif_note_unjudged(const struct whatif_question *q, struct whatif *ret);

#endif
