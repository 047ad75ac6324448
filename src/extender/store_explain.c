/* Why a decision came out as it did: the best node, the next one, and the parts of their scores.
 *
 * The parts are found when the decision is over and its sections have given the lock back: from what is remembered of
 * the two scores (core/placement/score_terms.h), else by a new judgement of the two nodes. What has changed since would
 * be explained wrongly, so parts are kept only if they are those of the scores that were compared.
 */
#include "extender/store_pack_internal.h"

#include "core/fit/choice.h"
#include "core/placement/pack.h"

#include <string.h>

/* What is found out under the lock. */
struct explained {
    struct score_part best[SCORE_PARTS_MAX], next[SCORE_PARTS_MAX];
    size_t best_n, next_n;
    bool holds; /* they are of the scores that were compared */
};

static int64_t sum(const struct score_part *parts, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++) {
        all += parts[i].value;
    }
    return all;
}

/* What it is looked at by, under the lock. */
struct look {
    const struct ledger_view *v;
    const struct pack_plan *plan;
    struct pack_params params;
    struct score_row known; /* what is remembered of this demand */
    bool unchanged;         /* nothing at all, since the decision began */
};

/* The scores of all criteria on a node; false: it does not fit any more. */
static bool score_criteria(const struct look *l, const struct node_state *n, const struct device_state *devices,
                           struct score_part *ret, size_t *ret_n)
{
    struct pack_params params = l->params;
    bool fits = true;

    for (size_t c = 0; c < l->plan->criterion_n && fits; c++) {
        struct placement at;

        params.node_strategy = l->plan->criteria[c];
        ret[c] = (struct score_part){.kind = SCORE_PART_CRITERION, .which = (uint8_t)c};
        fits = choice_make(&params, n, devices, l->v->allowed_models, l->v->pod.demand, &at, &ret[c].value) ==
               VERDICT_FITS;
    }
    *ret_n = l->plan->criterion_n;
    return fits;
}

/* The parts of a new judgement of the node. */
static bool judge_again(const struct look *l, const struct node_state *n, const struct device_state *devices,
                        int64_t *ret_score, struct score_part *ret, size_t *ret_n)
{
    const struct demand *d = l->v->pod.demand;
    struct placement at;

    if (choice_make(&l->params, n, devices, l->v->allowed_models, d, &at, ret_score) != VERDICT_FITS) {
        return false;
    }
    *ret_n = choice_parts(&l->params, n, devices, d, &at, ret);
    return sum(ret, *ret_n) == *ret_score;
}

/* True: the parts are those of the score that `r` has. A normalised score is another number; then nothing at all may
 * have changed, nor where several criteria were combined. */
static bool explain_node(const struct look *l, const struct pack_result *r, struct score_part *ret, size_t *ret_n)
{
    uint32_t node = ledger_view_index(l->v, &r->name);
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct device_state *devices;
    int64_t score;

    if (node == LEDGER_VIEW_NONE) {
        return false;
    }
    if (l->known.terms != NULL) {
        *ret_n = score_terms_parts(l->known.terms, node, l->params.forecast, l->params.prices, ret);
        if (*ret_n > 0 && sum(ret, *ret_n) == r->score) {
            return true;
        }
    }
    devices = ledger_view_devices(l->v, &l->v->nodes[node], buffer);
    if (l->plan->criterion_n > 1) {
        return l->unchanged && score_criteria(l, &l->v->nodes[node], devices, ret, ret_n);
    }
    return judge_again(l, &l->v->nodes[node], devices, &score, ret, ret_n) &&
           (score == r->score || (l->unchanged && l->params.node_strategy->normalise != NULL));
}

/* Under the lock. */
static void explain(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plan *plan,
                    const struct store_pack_answer *answer, struct explained *ret)
{
    struct look l = {.plan = plan, .params = plan->params};
    struct ledger_view v;

    if (ledger_view_unnominated(s->ledger, a, pod, &v, NULL) != 0) {
        return; /* no room: then without parts */
    }
    l.v = &v;
    l.params.forecast = s->forecast;
    l.params.prices = &answer->prices;
    l.known = plan->criterion_n == 1 ? store_remembered(s, &v, &l.params) : (struct score_row){NULL, NULL};
    l.unchanged = v.generation == answer->generation;
    ret->holds = explain_node(&l, &answer->results[0], ret->best, &ret->best_n) &&
                 explain_node(&l, &answer->results[1], ret->next, &ret->next_n);
}

static bool has_parts(const struct pack_plan *plan)
{
    return plan->criterion_n > 1 || plan->criteria[0]->score_parts != NULL;
}

/* 1 + the place of its rule; 0: of none. */
static uint32_t rule_of(const struct pack_plans *plans, const struct pack_plan *plan)
{
    for (size_t i = 0; i < plans->rule_n; i++) {
        if (&plans->rules[i].plan == plan) {
            return (uint32_t)i + 1;
        }
    }
    return 0;
}

struct decision_note *store_explain(struct store *s, struct arena *a, const struct view_pod *pod, struct str pod_name,
                                    const struct pack_plans *plans, const struct store_pack_answer *answer,
                                    size_t fit_n)
{
    struct decision_note d = {.uid = pod->uid, .namespace_ = pod->namespace_, .name = pod_name};
    const struct pack_result *best = &answer->results[0], *next = fit_n > 1 ? &answer->results[1] : NULL;
    struct reason_part parts[REASON_PARTS_MAX];
    struct resolved_plan resolved;
    const struct pack_plan *plan;
    size_t part_n = 0;

    resolved_plan_make(&resolved, plans, pod->namespace_, pod->label_hashes, pod->label_n);
    plan = resolved.steps[best->group].plan;
    d.ranked_n = (uint32_t)fit_n;
    d.rule = rule_of(plans, plan);
    d.criterion_n = (uint32_t)plan->criterion_n;
    memcpy(d.criteria, plan->criteria, sizeof(d.criteria));
    d.weighted = plan->weights_milli[0] != 0;
    d.best = best->name;
    d.reason = pack_reason(best, next);
    if (next != NULL) {
        d.next = next->name;
        d.best_score = best->score;
        d.next_score = next->score;
    }
    if (d.reason == PACK_BY_SCORE && has_parts(plan)) {
        struct explained e;

        e.holds = false;
        mutex_lock(&s->lock);
        explain(s, a, pod, plan, answer, &e);
        mutex_unlock(&s->lock);
        part_n = e.holds ? reason_parts(e.best, e.best_n, e.next, e.next_n, parts) : 0;
    }
    return decision_new(&d, parts, part_n);
}

struct decisions *store_decisions(struct store *s)
{
    return s->decisions;
}
