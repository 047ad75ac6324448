/* extender/store_pack_internal.h - one decision over many nodes, in sections short enough for writers to wait.
 *
 * store_pack.c judges names section by section, with the store's lock held for one section at a time, and sees the
 * cluster change in between. What is particular to rules and several criteria (core/placement/plan.h) stands in
 * store_plan.c.
 */
#ifndef EXTENDER_STORE_PACK_INTERNAL_H
#define EXTENDER_STORE_PACK_INTERNAL_H

#include "core/placement/pack.h"
#include "extender/store_internal.h"

struct plan_buffers;

struct store_decision {
    const struct view_pod *pod;
    const struct pack_tentative *tentatives;
    size_t tentative_n;
    const struct str *names;
    size_t name_n;

    const struct resolved_plan *plan;
    const struct strategy *strategies[RESOLVED_PLAN_STRATEGIES_MAX]; /* that it goes by */
    size_t strategy_n;
    struct pack_query *queries;    /* one for each step, and: */
    struct pack_params *params;    /* as planned, with the forecast */
    struct plan_buffers *by_rules; /* NULL: a plain decision */

    /* What is expected, as it was when the decision began: all nodes are judged alike, in whatever sections. Prices are
     * kept by value; what they are prices of, and the typical pods, are made anew after a few percent more pods, and
     * then the decision begins again. */
    struct forecast_prices prices;
    uint64_t typical_version;
    uint64_t names_version;
    size_t done;      /* names answered */
    size_t section_n; /* names of the next section, at most */
    bool at_once;     /* all that are left: sections would not end, or each of them costs a pass over the pods */
    unsigned begun_n;
};

/* What is remembered for this demand by these strategies; none, where other pods' labels decide, too. */
struct score_row store_remembered(struct store *s, const struct ledger_view *v, const struct pack_params *params);

/* Room for what the two below need, in `a`. False: it is full. */
bool store_plan_prepare(struct store_decision *d, struct arena *a);
/* Under the lock: the next `n` names, at least one, from `d->done` on; results go behind those of `ret`. */
void store_plan_judge(struct store_decision *d, struct store *s, const struct ledger_view *v, size_t n,
                      struct store_pack_answer *ret);
/* When all are judged: scores of all criteria become one, and stay beside it for store_explain(). */
void store_plan_combine(struct store_decision *d, struct store_pack_answer *ret);

#endif
