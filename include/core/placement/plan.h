/* core/placement/plan.h - which strategies hold for a pod and a node: the rules of packing.rules made ready for use.
 *
 * Of the rules that name the pod (namespace, labels) the first that also selects the node holds there; a rule without
 * a nodeSelector holds on every node, so it is the last one looked at. Where none holds, the strategies of the
 * packing section do (`rest`). So one decision may have several groups of nodes, each judged by its own plan.
 *
 * Scores of different plans cannot be compared. The order between groups is that of the rules: whatever fits in an
 * earlier group comes before whatever fits in a later one, the rest is last.
 *
 * A plan has one criterion or several. A chain: each further one decides among equals of those before. Weights: the
 * scores of each criterion are spread over 0..1000, from the worst node of the group that fits to the best, and
 * added up, weighted. So a weighted score depends on which nodes are asked about.
 *
 * Devices are chosen by the device strategy alone: it gives the placement that all criteria judge.
 *
 * Units: a weight is in thousandths; a spread score is 0..1000. Plans are made when the configuration is read, and are
 * only read afterwards. They borrow from the policy.
 *
 * Pod labels are compared as hashes (label_pair_hash), nodes by a bit for each rule (struct ledger_node_fact.rules):
 * the ledger keeps no labels.
 */
#ifndef CORE_PLACEMENT_PLAN_H
#define CORE_PLACEMENT_PLAN_H

#include "base/compiler.h"
#include "base/err.h"
#include "core/fit/choice.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_plan {
    struct pack_params params; /* of the first criterion */
    const struct strategy *criteria[CRITERIA_MAX];
    int32_t weights_milli[CRITERIA_MAX]; /* of weights; a chain has zeroes */
    size_t criterion_n;                  /* 1 and more */
};

struct plan_rule {
    const struct str *namespaces; /* of the policy, which must outlive this */
    size_t namespace_n;           /* 0: all */
    uint64_t labels[PACKING_SELECTOR_MAX];
    size_t label_n; /* 0: all pods */
    bool selects_nodes;
    const struct packing_rule *from;
    struct pack_plan plan;
};

struct pack_plans {
    struct plan_rule rules[PACKING_RULES_MAX];
    size_t rule_n;
    struct pack_plan rest;
    uint64_t generation; /* of the configuration, for records; the caller's */
};

/* ERR_INVALID names an unknown strategy. */
WARN_UNUSED int pack_plans_init(struct pack_plans *p, const struct policy *policy, struct err *reterr);

/* What holds for one pod, in order. */
struct resolved_plan {
    const struct pack_plans *plans;
    struct {
        const struct pack_plan *plan;
        uint64_t node_bit; /* 0: every node; only the last step has it, and it always has */
    } steps[PACKING_RULES_MAX + 1];
    size_t n;
};
void resolved_plan_make(struct resolved_plan *a, const struct pack_plans *p, struct str namespace_,
                        const uint64_t *label_hashes, size_t label_n);
/* The step for a node with these bits. */
static inline size_t resolved_plan_step(const struct resolved_plan *a, uint64_t node_rules)
{
    size_t i = 0;

    while (a->steps[i].node_bit != 0 && (a->steps[i].node_bit & node_rules) == 0) {
        i++;
    }
    return i;
}
/* One group of nodes, one criterion: a decision as it is without rules. */
static inline bool resolved_plan_is_plain(const struct resolved_plan *a)
{
    return a->n == 1 && a->steps[0].plan->criterion_n == 1;
}

/* The strategies that it goes by, each once; returns how many. */
#define RESOLVED_PLAN_STRATEGIES_MAX 32
size_t resolved_plan_strategies(const struct resolved_plan *a,
                                const struct strategy *ret[RESOLVED_PLAN_STRATEGIES_MAX]);

/* The bits of a node with these labels. */
uint64_t plan_node_rules(const struct policy *p, struct kv_list node_labels);

/* The scores of one node that fits, by criterion; those the plan does not have are 0. */
struct plan_scores {
    int64_t by[CRITERIA_MAX];
    uint32_t at; /* the caller's */
    int64_t combined;
};
/* Sets `combined` of every row, from scores as the strategies gave them, and reorders rows. They are all that fit in
 * the group. `by` becomes what was compared: of a chain the scores, of weights what each criterion adds to `combined`,
 * in thousandths of a point. First strategies that want to see all scores of a group do so (strategy.normalise), in
 * `spare`, which has room for `n`. With one criterion `combined` is its score. */
void plan_judge(const struct pack_plan *plan, struct plan_scores *rows, size_t n, struct pack_result *spare);

#endif
