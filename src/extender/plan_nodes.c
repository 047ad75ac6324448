#include "extender/plan_nodes.h"

#include "base/bug.h"
#include "base/sync.h"
#include "extender/policy_set.h"

#include <stdlib.h>

enum { STRATEGIES_MAX = 32 }; /* more than there are (core/placement/strategies) */

struct plan_nodes {
    /* Of the one thread that chooses. */
    struct mirror mirror;
    struct plan_sight sight;
    struct forecast *forecast;
    struct plan_head *head;
    struct mutex lock; /* of the facts */
    struct node_facts_table *facts;
};

struct plan_nodes *plan_nodes_new(void)
{
    struct plan_nodes *n = xcalloc(1, sizeof(*n));

    mirror_init(&n->mirror);
    plan_sight_init(&n->sight);
    n->forecast = forecast_new();
    n->head = plan_head_new();
    n->facts = node_facts_table_new();
    mutex_init(&n->lock, "plan nodes");
    return n;
}

void plan_nodes_free(struct plan_nodes *n)
{
    if (n != NULL) {
        mirror_fini(&n->mirror);
        plan_sight_fini(&n->sight);
        forecast_free(n->forecast);
        plan_head_free(n->head);
        node_facts_table_free(n->facts);
        mutex_destroy(&n->lock);
        free(n);
    }
}

/* ---- what is read ---- */

void plan_nodes_observed(struct plan_nodes *n, const struct node *node)
{
    if (n != NULL) {
        mutex_lock(&n->lock);
        (void)node_facts_put(n->facts, node); /* too large: it is not known, and takes part in no plan */
        mutex_unlock(&n->lock);
    }
}

void plan_nodes_gone(struct plan_nodes *n, struct str name)
{
    if (n != NULL) {
        mutex_lock(&n->lock);
        node_facts_remove(n->facts, name);
        mutex_unlock(&n->lock);
    }
}

void plan_nodes_list_begin(struct plan_nodes *n)
{
    if (n != NULL) {
        mutex_lock(&n->lock);
        node_facts_clear(n->facts);
        mutex_unlock(&n->lock);
    }
}

/* ---- choosing ---- */

/* Of a plan, without repeats. */
static size_t add_strategies(const struct pack_plan *plan, const struct strategy *all[STRATEGIES_MAX], size_t n)
{
    for (size_t i = 0; i <= plan->criterion_n; i++) {
        const struct strategy *s = i < plan->criterion_n ? plan->criteria[i] : plan->params.device_strategy;
        size_t at = 0;

        while (at < n && all[at] != s) {
            at++;
        }
        if (at == n && n < STRATEGIES_MAX) {
            all[n++] = s;
        }
    }
    return n;
}

static size_t strategies_of(const struct pack_plans *plans, const struct strategy *all[STRATEGIES_MAX])
{
    size_t n = add_strategies(&plans->rest, all, 0);

    for (size_t i = 0; i < plans->rule_n; i++) {
        n = add_strategies(&plans->rules[i].plan, all, n);
    }
    return n;
}

static size_t choose(struct plan_nodes *n, struct store *store, const struct pack_plans *plans,
                     struct planner_question *q)
{
    size_t kept_n = 0;
    struct plan_choice *chosen = ARENA_ARRAY(q->arena, q->max, struct plan_choice);
    struct plan_answer answer = {.chosen = chosen};
    const struct plan_question question = {.mirror = &n->mirror,
                                           .sight = &n->sight,
                                           .nodes = n->facts,
                                           .plans = plans,
                                           .forecast = n->forecast,
                                           .held = q->held,
                                           .held_n = q->held_n,
                                           .pods = q->pods,
                                           .pod_n = q->pod_n,
                                           .front_n = q->front_n,
                                           .max = q->max,
                                           .work_max = PLAN_NODES_WORK_MAX};

    if (chosen == NULL) {
        return 0;
    }
    mutex_lock(&n->lock);
    plan_head(n->head, &question, &answer);
    mutex_unlock(&n->lock);
    for (size_t i = 0; i < answer.chosen_n; i++) {
        if (!store_is_in_doubt(store, chosen[i].node_name)) { /* a bind would be refused there now */
            q->ret[kept_n++] = (struct planner_choice){chosen[i].pod, arena_str(q->arena, chosen[i].node_name)};
        }
    }
    q->looked_n = answer.looked_n;
    q->differ_n = answer.differ_n;
    return q->arena->overflowed ? 0 : kept_n;
}

size_t plan_nodes_choose(struct plan_nodes *n, struct policy_set *policies, struct planner_question *q)
{
    const struct rules *rules = policy_set_take(policies);
    const struct pack_plans *plans = &rules->placement.plans;
    struct store *store = rules->placement.store;
    size_t chosen_n = 0;

    if (store_not_ready(store) == NULL) {
        const struct strategy *followed[STRATEGIES_MAX];

        store_see(store, &(struct store_sight){.mirror = &n->mirror,
                                               .forecast = n->forecast,
                                               .strategies = followed,
                                               .strategy_n = strategies_of(plans, followed),
                                               .sight = &n->sight,
                                               .held = q->held,
                                               .held_n = q->held_n});
        chosen_n = choose(n, store, plans, q);
    }
    rules_put(rules);
    return chosen_n;
}
