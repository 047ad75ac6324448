#include "core/placement/plan.h"

#include "base/bug.h"
#include "base/order.h"
#include "core/placement/pack.h"
#include "core/request/demand.h"

#include <stdlib.h>

#define SPREAD 1000 /* normalised scores are 0..SPREAD */

static int add_criterion(struct pack_plan *plan, struct str name, int32_t weight_milli, struct err *reterr)
{
    const struct strategy *s = strategy_find(name);

    if (s == NULL) {
        return err_set(reterr, ERR_INVALID, "unknown node strategy \"%.*s\"", STR_ARG(name));
    }
    plan->weights_milli[plan->criterion_n] = weight_milli;
    plan->criteria[plan->criterion_n++] = s;
    return 0;
}

static int plan_init(struct pack_plan *plan, struct str node_strategy, const struct criteria *more,
                     struct str device_strategy, struct err *reterr)
{
    int rc = 0;

    *plan = (struct pack_plan){.criterion_n = 0};
    plan->params.device_strategy = strategy_find(device_strategy);
    if (more->n == 0) {
        rc = add_criterion(plan, node_strategy, 0, reterr);
    }
    for (size_t i = 0; i < more->n && rc == 0; i++) {
        rc = add_criterion(plan, more->names[i], more->weights_milli[i], reterr);
    }
    if (rc == 0 && plan->params.device_strategy == NULL) {
        rc = err_set(reterr, ERR_INVALID, "unknown device strategy \"%.*s\"", STR_ARG(device_strategy));
    }
    plan->params.node_strategy = plan->criteria[0];
    return rc;
}

static int rule_init(struct plan_rule *rule, const struct packing_rule *from, const struct policy *policy,
                     struct err *reterr)
{
    bool own = from->node_strategy.n > 0;

    *rule = (struct plan_rule){.namespaces = from->namespaces,
                               .namespace_n = from->namespace_n,
                               .label_n = from->pod_selector.n,
                               .selects_nodes = from->node_selector.n > 0,
                               .from = from};
    BUG_ON(from->pod_selector.n > PACKING_SELECTOR_MAX);
    for (size_t i = 0; i < from->pod_selector.n; i++) {
        const struct kv *label = &from->pod_selector.items[i];

        rule->labels[i] = label_pair_hash(label->key, label->value);
    }
    return plan_init(&rule->plan, own ? from->node_strategy : policy->node_strategy,
                     own ? &from->node_criteria : &policy->node_criteria,
                     from->device_strategy.n > 0 ? from->device_strategy : policy->device_strategy, reterr);
}

int pack_plans_init(struct pack_plans *p, const struct policy *policy, struct err *reterr)
{
    int rc;

    BUG_ON(policy->rule_n > PACKING_RULES_MAX);
    p->rule_n = policy->rule_n;
    rc = plan_init(&p->rest, policy->node_strategy, &policy->node_criteria, policy->device_strategy, reterr);
    for (size_t i = 0; i < policy->rule_n && rc == 0; i++) {
        rc = rule_init(&p->rules[i], &policy->rules[i], policy, reterr);
    }
    return rc;
}

static bool names_pod(const struct plan_rule *rule, struct str namespace_, const uint64_t *label_hashes, size_t label_n)
{
    return (rule->namespace_n == 0 || policy_names_namespace(rule->namespaces, rule->namespace_n, namespace_)) &&
           (rule->label_n == 0 || label_hashes_match(rule->labels, rule->label_n, label_hashes, label_n));
}

void resolved_plan_make(struct resolved_plan *a, const struct pack_plans *p, struct str namespace_,
                        const uint64_t *label_hashes, size_t label_n)
{
    a->plans = p;
    a->n = 0;
    for (size_t i = 0; i < p->rule_n; i++) {
        const struct plan_rule *rule = &p->rules[i];

        if (!names_pod(rule, namespace_, label_hashes, label_n)) {
            continue;
        }
        a->steps[a->n].plan = &rule->plan;
        a->steps[a->n++].node_bit = rule->selects_nodes ? UINT64_C(1) << i : 0;
        if (!rule->selects_nodes) {
            return;
        }
    }
    a->steps[a->n].plan = &p->rest;
    a->steps[a->n++].node_bit = 0;
}

static void add_strategy(const struct strategy *s, const struct strategy **all, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        if (all[i] == s) {
            return;
        }
    }
    BUG_ON(*n == RESOLVED_PLAN_STRATEGIES_MAX); /* there are not that many */
    all[(*n)++] = s;
}

size_t resolved_plan_strategies(const struct resolved_plan *a, const struct strategy *ret[RESOLVED_PLAN_STRATEGIES_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++) {
        const struct pack_plan *plan = a->steps[i].plan;

        add_strategy(plan->params.device_strategy, ret, &n);
        for (size_t c = 0; c < plan->criterion_n; c++) {
            add_strategy(plan->criteria[c], ret, &n);
        }
    }
    return n;
}

uint64_t plan_node_rules(const struct policy *p, struct kv_list node_labels)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < p->rule_n; i++) {
        if (p->rules[i].node_selector.n > 0 && kv_has_all(node_labels, p->rules[i].node_selector)) {
            bits |= UINT64_C(1) << i;
        }
    }
    return bits;
}

/* ---- several criteria ---- */

static int better_first(const void *a, const void *b)
{
    const struct plan_scores *x = a, *y = b;

    for (size_t i = 0; i < CRITERIA_MAX; i++) {
        if (x->by[i] != y->by[i]) {
            return ORDER(y->by[i], x->by[i]);
        }
    }
    return 0;
}

static void chain(struct plan_scores *rows, size_t n)
{
    if (n == 0) {
        return;
    }
    qsort(rows, n, sizeof(*rows), better_first);
    rows[0].combined = 0;
    for (size_t i = 1; i < n; i++) {
        rows[i].combined = rows[i - 1].combined - (better_first(&rows[i - 1], &rows[i]) != 0);
    }
}

/* Scores of strategies may be of any size, so their differences are taken in 128 bits. */
static int64_t spread(int64_t score, int64_t min, int64_t max)
{
    return max == min ? 0 : (int64_t)(((__int128)score - min) * SPREAD / ((__int128)max - min));
}

static void add_weighted(struct plan_scores *rows, size_t n, size_t criterion, int32_t weight_milli)
{
    int64_t min = INT64_MAX, max = INT64_MIN;

    for (size_t i = 0; i < n; i++) {
        min = rows[i].by[criterion] < min ? rows[i].by[criterion] : min;
        max = rows[i].by[criterion] > max ? rows[i].by[criterion] : max;
    }
    for (size_t i = 0; i < n; i++) {
        rows[i].by[criterion] = weight_milli * spread(rows[i].by[criterion], min, max);
        rows[i].combined += rows[i].by[criterion];
    }
}

/* Sets `combined` of every row. */
static void combine(const struct pack_plan *plan, struct plan_scores *rows, size_t n)
{
    if (plan->weights_milli[0] == 0) {
        chain(rows, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        rows[i].combined = 0;
    }
    for (size_t c = 0; c < plan->criterion_n; c++) {
        add_weighted(rows, n, c, plan->weights_milli[c]);
    }
}

static void normalise(const struct pack_plan *plan, struct plan_scores *rows, size_t n, struct pack_result *spare)
{
    for (size_t c = 0; c < plan->criterion_n; c++) {
        if (plan->criteria[c]->normalise == NULL) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            spare[i] = (struct pack_result){.verdict = VERDICT_FITS, .score = rows[i].by[c]};
        }
        plan->criteria[c]->normalise(spare, n);
        for (size_t i = 0; i < n; i++) {
            rows[i].by[c] = spare[i].score;
        }
    }
}

void plan_judge(const struct pack_plan *plan, struct plan_scores *rows, size_t n, struct pack_result *spare)
{
    normalise(plan, rows, n, spare);
    if (plan->criterion_n > 1) {
        combine(plan, rows, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        rows[i].combined = rows[i].by[0];
    }
}
